"""What was delivered to each receiver: a register of the ledger, so that after a crash nothing is left out."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Final, Literal
from urllib.parse import quote

from annotated_types import Ge

from moothall.memory.facts import Line, RequiredName
from moothall.memory.register import Register
from moothall.plugins import Entry, Fact, add_kind
from moothall.ports.ledger import Clock, Ledger

EventKind = Literal[
    "turn",
    "parked",
    "decided",
    "changed",
    "obligation_due",
    "obligation_overdue",
    "review_due",
    "breaker_opened",
    "breaker_closed",
]
TEST: Final = "test"
"""The event of a notice that only tries a receiver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeId:
    """What makes a notice the same one, on every server and however often it is sent. Each event fills what it has."""

    event: RequiredName
    session: str = ""
    seq: Annotated[int, Ge(0)] = 0
    """The entry that caused it; 0 if none did."""
    seat: str = ""
    obligation: Annotated[int, Ge(0)] = 0
    """The number of an obligation of the session's decision, from 1 on."""
    due: Line = ""
    scope: Line = ""
    """The breaker's."""
    at: datetime | None = None
    """When the breaker opened, or the test was sent: both may happen again."""

    @property
    def text(self) -> str:
        """The id as receivers see it: parts that are not empty, fit for a header. It is never parsed."""
        number = str(self.seq or self.obligation or "")
        moment = "" if self.at is None else f"{self.at:%Y%m%dT%H%M%S.%f}"
        # What may hold a dot comes last.
        parts = (self.session, number, self.event, self.seat, moment, self.due, self.scope)
        return quote(".".join(filter(None, parts)))


KINDS: Final[dict[str, type[Fact]]] = {}


@add_kind(KINDS, "notice.settled")
class NoticeSettled(Fact):
    """A notice reached its receiver, or was given up for the reason in `detail`."""

    hook: RequiredName
    notice: NoticeId
    is_delivered: bool = True
    detail: Line = ""


NAME: Final = "_notices"


@dataclass(slots=True)
class HookProgress:
    """What was settled for one receiver."""

    delivered: int = 0
    lost: int = 0
    sessions: dict[str, tuple[int, frozenset[NoticeId]]] = field(default_factory=dict)
    """The last entry of each session that a notice was settled for, and the ids of those notices."""
    others: set[NoticeId] = field(default_factory=set)
    """The ids of notices that no entry of a session caused."""


NoticeBook = defaultdict[str, HookProgress]


def open_notice_register(ledger: Ledger, clock: Clock) -> Register[NoticeBook]:
    return Register(
        ledger, clock, NAME, kinds=KINDS, initial=NoticeBook(HookProgress), evolve=evolve_notices
    )


def evolve_notices(book: NoticeBook, entry: Entry) -> NoticeBook:
    if isinstance(fact := entry.fact, NoticeSettled):
        _count_notice(book[fact.hook], fact)
    return book


def _count_notice(progress: HookProgress, fact: NoticeSettled) -> None:
    progress.delivered += fact.is_delivered
    progress.lost += not fact.is_delivered
    notice = fact.notice
    if not notice.seq:
        progress.others.add(notice)
        return
    last, ids = progress.sessions.get(notice.session, (0, frozenset()))
    if notice.seq == last:
        progress.sessions[notice.session] = last, ids | {notice}
    elif notice.seq > last:
        progress.sessions[notice.session] = notice.seq, frozenset({notice})
