"""The tags of sessions, and which of them were put away: a fold of the register `_labels`."""

from typing import NamedTuple

from moothall.domain.facts import Entry
from moothall.domain.records import LABELS
from moothall.memory.facts import LABEL_KINDS, SessionLabelled
from moothall.memory.register import Register
from moothall.ports.ledger import Clock, Ledger


class SessionLabel(NamedTuple):
    """What was said of a session; without `tags` it has those that it was opened with."""

    tags: tuple[str, ...] | None = None
    is_away: bool = False


LabelBook = dict[str, SessionLabel]


def open_label_register(ledger: Ledger, clock: Clock) -> Register[LabelBook]:
    return Register(ledger, clock, LABELS, kinds=LABEL_KINDS, initial={}, evolve=evolve)


def evolve(book: LabelBook, entry: Entry) -> LabelBook:
    """Return the book after one more entry, which may be this one."""
    if isinstance(fact := entry.fact, SessionLabelled):
        known = book.get(fact.session, SessionLabel())
        tags, is_away = known.tags if fact.tags is None else fact.tags, known.is_away if fact.is_away is None else fact.is_away
        book[fact.session] = SessionLabel(tags, is_away)
    return book
