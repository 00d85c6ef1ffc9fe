"""The desk: what every session has in common, whatever its protocol: what is outstanding and spent, and whether it is over."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from moot.domain.budget import BudgetKind, Spent
from moot.domain.facts import (
    BudgetExhausted,
    Closed,
    Entry,
    Fact,
    InputGiven,
    Opened,
    Reply,
    SeatLost,
    SessionForked,
    SessionResumed,
)
from moot.domain.ids import AskId, SeatId
from moot.domain.roster import HOUSE, Seat, swapped
from moot.domain.running import Pending, is_parked, outstanding, ran
from moot.domain.values import changed

MOST_ATTEMPTS: Final = 10
"""How often an ask may be put again because the process died over it."""

REMEMBERED_KEYS: Final = 64
REMEMBERED_ANSWERS: Final = 1_024
"""Keys of answers, the newest of all seats together."""


@dataclass(frozen=True, kw_only=True)
class Desk:
    """A fold of the shared facts, bounded by what is outstanding. Without slots, for `changed`.

    `ran_at` is the time of the last entry that a running process wrote; inputs and answers may also come while none runs.
    """

    opened: Opened
    seats: tuple[Seat, ...]
    seq: int
    at: datetime
    ran_at: datetime
    pending: Mapping[AskId, Pending] = field(default_factory=dict)
    spent: Spent = Spent()
    exhausted: BudgetKind | None = None
    input_keys: tuple[str, ...] = ()
    answer_keys: Mapping[tuple[SeatId, str], int] = field(default_factory=dict)
    closed: Closed | None = None

    @property
    def is_parked(self) -> bool:
        """Whether only seats elsewhere are waited for: then no time counts."""
        return is_parked(self.pending)

    def seat(self, name: str) -> Seat:
        return next(seat for seat in (*self.seats, HOUSE) if seat.id == name)


def opened_desk(entry: Entry, opened: Opened) -> Desk:
    """The desk after the first entry."""
    return Desk(opened=opened, seats=opened.seats, seq=entry.seq, at=entry.at, ran_at=entry.at)


def kept(desk: Desk, entry: Entry) -> Desk:
    """The desk after one more entry."""
    fact = entry.fact
    time = ran(desk.ran_at, desk.pending, entry)
    spent = desk.spent.ticked(time.seconds) if time.seconds else desk.spent
    pending = outstanding(desk.pending, fact)
    gap = (entry.at - desk.ran_at).total_seconds()
    if isinstance(fact, Reply | SeatLost):
        spent = spent.plus(fact.usage)
    after = changed(desk, seq=entry.seq, at=entry.at, ran_at=time.at, pending=pending, spent=spent)
    return _kept_rarely(after, fact, gap)


def _with_key(desk: Desk, fact: Reply) -> Desk:
    keys = {**desk.answer_keys, (fact.seat, fact.key): desk.seq}
    if len(keys) > REMEMBERED_ANSWERS:
        del keys[next(iter(keys))]
    return changed(desk, answer_keys=keys)


def _kept_rarely(desk: Desk, fact: Fact, gap: float) -> Desk:
    match fact:
        case Reply(key=key) if key:
            return _with_key(desk, fact)
        case SessionResumed():
            return changed(desk, pending={key: _put_again(value, gap) for key, value in desk.pending.items()})
        case InputGiven(key=key) if key:
            return changed(desk, input_keys=(*desk.input_keys, key)[-REMEMBERED_KEYS:])
        case BudgetExhausted(budget=budget):
            return changed(desk, exhausted=budget)
        case SessionForked(swaps=swaps):
            return changed(desk, seats=swapped(desk.seats, swaps))
        case Closed():
            return changed(desk, closed=fact)
        case _:
            return desk


def _put_again(pending: Pending, gap: float) -> Pending:
    if pending.outside:
        return pending
    # Nobody was asking while no process ran: the deadline moves by the gap, the allowance does not grow.
    deadline = None if pending.deadline is None else pending.deadline + timedelta(seconds=max(0.0, gap))
    return Pending(deadline, False, pending.attempts + 1)
