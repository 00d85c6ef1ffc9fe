"""The desk: what every session has in common, whatever its protocol: what is outstanding and spent, and whether it is over."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from moot.domain.budget import BudgetKind, Spent
from moot.domain.facts import (
    AsksPut,
    AsksWithdrawn,
    BudgetExhausted,
    CloseCalled,
    Closed,
    Entry,
    Fact,
    InputGiven,
    Opened,
    Reply,
    SeatLost,
    SessionCancelled,
    SessionForked,
    SessionResumed,
)
from moot.domain.ids import AskId, SeatId
from moot.domain.roster import HOUSE, Seat, swapped
from moot.domain.values import changed

MOST_ATTEMPTS: Final = 10
"""How often an ask may be put again because the process died over it."""

REMEMBERED_KEYS: Final = 64
REMEMBERED_ANSWERS: Final = 1_024
"""Keys of answers, the newest of all seats together."""


@dataclass(frozen=True, slots=True)
class Pending:
    """An ask that was put and not yet answered. `attempts` counts the processes that put it."""

    deadline: datetime | None
    outside: bool = False
    attempts: int = 1


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
        return bool(self.pending) and all(pending.outside for pending in self.pending.values())

    def seat(self, name: str) -> Seat:
        return next(seat for seat in (*self.seats, HOUSE) if seat.id == name)


def opened_desk(entry: Entry, opened: Opened) -> Desk:
    """The desk after the first entry."""
    return Desk(opened=opened, seats=opened.seats, seq=entry.seq, at=entry.at, ran_at=entry.at)


def kept(desk: Desk, entry: Entry) -> Desk:
    """The desk after one more entry."""
    fact = entry.fact
    ran_at, spent = desk.ran_at, desk.spent
    gap = (entry.at - ran_at).total_seconds()
    if desk.is_parked or not _is_from_outside(desk, fact):
        ran_at = entry.at
        if not desk.is_parked and not isinstance(fact, SessionResumed):
            spent = spent.ticked(gap)
    match fact:
        case Reply(ask=ask, usage=usage) | SeatLost(ask=ask, usage=usage):
            pending = _without(desk.pending, (ask,))
            after = changed(desk, seq=entry.seq, at=entry.at, ran_at=ran_at, pending=pending, spent=spent.plus(usage))
            return _with_key(after, fact) if isinstance(fact, Reply) and fact.key else after
        case AsksPut(asks=asks, deadline=deadline, outside=outside):
            pending = {**desk.pending, **dict.fromkeys(asks, Pending(deadline, outside))}
            return changed(desk, seq=entry.seq, at=entry.at, ran_at=ran_at, pending=pending, spent=spent)
        case _:
            return _kept_rarely(changed(desk, seq=entry.seq, at=entry.at, ran_at=ran_at, spent=spent), fact, gap)


def _is_from_outside(desk: Desk, fact: Fact) -> bool:
    """Whether an entry can come from a process that does not run the session."""
    if isinstance(fact, Reply):
        pending = desk.pending.get(fact.ask)
        return pending is not None and pending.outside
    return isinstance(fact, InputGiven | CloseCalled | SessionCancelled | SessionForked)


def _with_key(desk: Desk, fact: Reply) -> Desk:
    keys = {**desk.answer_keys, (fact.seat, fact.key): desk.seq}
    if len(keys) > REMEMBERED_ANSWERS:
        del keys[next(iter(keys))]
    return changed(desk, answer_keys=keys)


def _kept_rarely(desk: Desk, fact: Fact, gap: float) -> Desk:
    match fact:
        case AsksWithdrawn(asks=asks):
            return changed(desk, pending=_without(desk.pending, asks))
        case SessionResumed():
            return changed(desk, pending={key: _put_again(value, gap) for key, value in desk.pending.items()})
        case InputGiven(key=key) if key:
            return changed(desk, input_keys=(*desk.input_keys, key)[-REMEMBERED_KEYS:])
        case BudgetExhausted(budget=budget):
            return changed(desk, exhausted=budget)
        case SessionForked(swaps=swaps):
            return changed(desk, seats=swapped(desk.seats, swaps), pending={})
        case Closed():
            return changed(desk, pending={}, closed=fact)
        case _:
            return desk


def _without(pending: Mapping[AskId, Pending], asks: tuple[AskId, ...]) -> dict[AskId, Pending]:
    return {key: value for key, value in pending.items() if key not in asks}


def _put_again(pending: Pending, gap: float) -> Pending:
    if pending.outside:
        return pending
    # Nobody was asking while no process ran: the deadline moves by the gap, the allowance does not grow.
    deadline = None if pending.deadline is None else pending.deadline + timedelta(seconds=max(0.0, gap))
    return Pending(deadline, False, pending.attempts + 1)
