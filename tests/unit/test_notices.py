"""Ids of notices, and what their register remembers of them."""

from datetime import UTC, datetime, timedelta

from moothall.domain.facts import Entry
from moothall.features.notices.delivery import _list_last_openings
from moothall.features.notices.register import (
    HookProgress,
    NoticeBook,
    NoticeId,
    NoticeSettled,
    evolve_notices,
)

AT = datetime(2026, 12, 1, 12, tzinfo=UTC)


def settle(*notices: NoticeId) -> HookProgress:
    book = NoticeBook(HookProgress)
    for seq, notice in enumerate(notices, 1):
        fact = NoticeSettled(hook="h", notice=notice)
        book = evolve_notices(book, Entry(seq=seq, at=AT, fact=fact))
    return book["h"]


def test_ids_differ_by_what_happened_and_fit_into_a_header() -> None:
    """G-2: a receiver acts on an id once, so two notices never share one."""
    ids = [
        NoticeId(event="turn", session="s", seq=12, seat="ada"),
        NoticeId(event="turn", session="s", seq=12, seat="文"),
        NoticeId(event="turn", session="s", seq=13, seat="ada"),
        NoticeId(event="parked", session="s", seq=12),
        NoticeId(event="obligation_due", session="s", obligation=1, due="2026-12-01"),
        NoticeId(event="obligation_due", session="s", obligation=2, due="2026-12-01"),
        NoticeId(event="breaker_opened", scope="tag:a b", at=AT),
        NoticeId(event="breaker_opened", scope="tag:a b", at=AT + timedelta(microseconds=1)),
        NoticeId(event="breaker_closed", scope="tag:a b", at=AT),
    ]
    texts = [each.text for each in ids]
    assert texts[0] == "s.12.turn.ada"
    assert texts[6] == "breaker_opened.20261201T120000.000000.tag%3Aa%20b"
    assert len(set(texts)) == len(ids)
    assert all(text.isascii() and " " not in text for text in texts)


def test_the_register_remembers_the_last_entry_of_a_session_with_all_its_notices() -> None:
    """G-2: after a restart an entry that caused two notices is not taken for settled with one."""
    first = NoticeId(event="turn", session="s", seq=4, seat="ada")
    second = NoticeId(event="turn", session="s", seq=4, seat="bob")
    later = NoticeId(event="decided", session="s", seq=9)
    due = NoticeId(event="obligation_due", session="s", obligation=1, due="2026-12-01")
    assert settle(first, second, due).sessions == {"s": (4, frozenset({first, second}))}
    progress = settle(first, second, later, first, due)
    assert progress.sessions == {"s": (9, frozenset({later}))}
    assert progress.others == {due}
    assert progress.delivered == 5


def test_the_last_opening_of_a_breaker_counts() -> None:
    """G-2: the notice that it closed follows from the last one that it opened."""
    first = NoticeId(event="breaker_opened", scope="global", at=AT)
    last = NoticeId(event="breaker_opened", scope="global", at=AT + timedelta(hours=1))
    other = NoticeId(event="breaker_opened", scope="tag:release.2027", at=AT)
    closed = NoticeId(event="breaker_closed", scope="global", at=AT + timedelta(hours=2))
    openings = _list_last_openings({closed, last, other, first})
    assert sorted(each.scope for each in openings) == ["global", "tag:release.2027"]
    assert last in openings
