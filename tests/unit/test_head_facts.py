"""The register of heads: what its facts fold to."""

from datetime import UTC, datetime

from moothall.domain.facts import Entry, Fact
from moothall.domain.ids import SessionId
from moothall.domain.records import (
    HeadsRegistered,
    HeadsSigned,
    RegisteredHead,
    SessionsArchived,
    SessionsReturned,
)
from moothall.memory.register import ArchivedSession, HeadBook, evolve_heads

AT = datetime(2026, 1, 1, tzinfo=UTC)
ONE = SessionId("one")
THREE, FIVE = RegisteredHead(ONE, 3, "00" * 32), RegisteredHead(ONE, 5, "ff" * 32)
SAMPLES: tuple[Fact, ...] = (
    HeadsRegistered(heads=(THREE, RegisteredHead(SessionId("_memory"), 1, "ab" * 32))),
    HeadsRegistered(heads=(FIVE,)),
    SessionsArchived(file="/archive/2026.db", heads=(FIVE,)),
    SessionsReturned(sessions=(ONE,)),
    HeadsSigned(document='{"moot": "heads"}\n'),
)


def fold(*facts: Fact) -> HeadBook:
    book = HeadBook()
    for seq, fact in enumerate(facts, 1):
        evolve_heads(book, Entry(seq=seq, at=AT, fact=fact))
    return book


def test_a_head_that_is_registered_late_takes_nothing_back() -> None:
    """Processes register what each has written, in any order."""
    assert fold(HeadsRegistered(heads=(FIVE,)), HeadsRegistered(heads=(THREE,))).heads == {
        ONE: FIVE
    }
    assert fold(HeadsRegistered(heads=(THREE,)), HeadsRegistered(heads=(FIVE,))).heads == {
        ONE: FIVE
    }


def test_an_archived_session_is_archived_until_it_returns() -> None:
    book = fold(*SAMPLES[:3])
    assert book.archived == {ONE: ArchivedSession(file="/archive/2026.db", at=AT, head=FIVE)}
    assert (fold(*SAMPLES).archived, fold(*SAMPLES).signed) == ({}, '{"moot": "heads"}\n')
