"""What was delivered to each receiver: a register of the ledger, so that after a crash nothing is left out."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from moothall.memory.facts import Line, RequiredLine, RequiredName
from moothall.memory.register import Register
from moothall.plugins import Entry, Fact, add_kind
from moothall.ports.ledger import Clock, Ledger

KINDS: Final[dict[str, type[Fact]]] = {}


@add_kind(KINDS, "notice.settled")
class NoticeSettled(Fact):
    """A notice reached its receiver, or was given up for the reason in `detail`; `seq` is 0 for one that no entry caused."""

    hook: RequiredName
    id: RequiredLine
    session: str = ""
    seq: int = 0
    is_delivered: bool = True
    detail: Line = ""


NAME: Final = "_notices"


@dataclass(slots=True)
class HookProgress:
    """What was settled for one receiver."""

    delivered: int = 0
    lost: int = 0
    sessions: dict[str, tuple[int, frozenset[str]]] = field(default_factory=dict)
    """The last entry of each session that a notice was settled for, and the ids of those notices."""
    others: set[str] = field(default_factory=set)
    """The ids of notices that no entry of a session caused."""


NoticeBook = defaultdict[str, HookProgress]


def open_notice_register(ledger: Ledger, clock: Clock) -> Register[NoticeBook]:
    return Register(
        ledger, clock, NAME, kinds=KINDS, initial=NoticeBook(HookProgress), evolve=evolve_notices
    )


def evolve_notices(book: NoticeBook, entry: Entry) -> NoticeBook:
    if isinstance(fact := entry.fact, NoticeSettled):
        progress = book[fact.hook]
        progress.delivered += fact.is_delivered
        progress.lost += not fact.is_delivered
        seq, ids = progress.sessions.get(fact.session, (0, frozenset()))
        if not fact.seq:
            progress.others.add(fact.id)
        elif fact.seq >= seq:
            progress.sessions[fact.session] = (
                fact.seq,
                frozenset({fact.id}) | (ids if fact.seq == seq else frozenset()),
            )
    return book
