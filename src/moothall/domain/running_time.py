"""Computes how long a session has run: only time in which a process runs it counts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from moothall.domain import facts
from moothall.domain.facts import Entry, Fact
from moothall.domain.ids import AskId

_FROM_OUTSIDE: Final = (
    facts.InputGiven,
    facts.CloseCalled,
    facts.SeatsSwapped,
    facts.FamilyStated,
    facts.SessionCancelled,
    facts.SessionForked,
)
"""Facts that a process which does not run the session may write, beside answers."""


@dataclass(frozen=True, slots=True)
class PendingAsk:
    """An ask that was sent and is not yet answered. `attempts` counts the processes that have sent it, last `put_at`."""

    deadline: datetime | None
    outside: bool = False
    attempts: int = 1
    put_at: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class RunningTime:
    """The time between the last known sign of a running process and this entry (`at`).

    The session ran for `seconds`; for `waited` seconds it waited only for outside seats.
    """

    at: datetime
    seconds: float = 0.0
    waited: float = 0.0


def is_waiting_outside(pending: Mapping[AskId, PendingAsk]) -> bool:
    """Whether the session waits only for outside seats; no process needs to run it then."""
    # A plain loop, for it runs several times with every entry and mostly ends at the first ask.
    for each in pending.values():
        if not each.outside:
            return False
    # Without pending asks it does not wait: the session then has work to compute, and a process must run it.
    return bool(pending)


def compute_running_time(ran_at: datetime, pending: Mapping[AskId, PendingAsk], entry: Entry) -> RunningTime:
    """Return what an entry says about the time before it, given the asks that were pending then."""
    gap = (entry.at - ran_at).total_seconds()
    if is_waiting_outside(pending):
        return RunningTime(entry.at, waited=gap)
    # Such an entry can be written while no process runs the session, so it proves nothing: the interval stays open until the next
    # entry that only a running process writes.
    if _is_from_outside(pending, entry.fact):
        return RunningTime(ran_at)
    # SessionResumed is the first entry after a pause: the gap before it is time without a process.
    return RunningTime(entry.at, seconds=0.0 if isinstance(entry.fact, facts.SessionResumed) else gap)


def update_pending(pending: Mapping[AskId, PendingAsk], fact: Fact, at: datetime | None = None) -> Mapping[AskId, PendingAsk]:
    """Return the pending asks after a fact that was recorded `at` a time."""
    # The facts of every turn come first, and without a pattern.
    if isinstance(fact, facts.Reply):
        left = dict(pending)
        left.pop(fact.ask, None)
        return left
    if isinstance(fact, facts.AsksSent):
        return {**pending, **dict.fromkeys(fact.asks, PendingAsk(fact.deadline, fact.outside, put_at=at))}
    match fact:
        case facts.SeatLost(ask=ask):
            return remove_asks(pending, (ask,))
        case facts.AsksWithdrawn(asks=asks):
            return remove_asks(pending, asks)
        # No process holds them any more: whoever resumes the session puts them again, with deadlines of its own.
        case facts.SessionParked():
            return {key: value for key, value in pending.items() if value.outside}
        case facts.SeatsSwapped(swaps=swaps):
            swapped = {swap.seat for swap in swaps}
            return {key: value for key, value in pending.items() if key.split(".", 2)[-1] not in swapped}
        # A fork does not inherit its source's asks: its own process sends them again, with deadlines of its own.
        case facts.SessionForked() | facts.Closed():
            return {}
        case _:
            return pending


def remove_asks(pending: Mapping[AskId, PendingAsk], asks: tuple[AskId, ...]) -> dict[AskId, PendingAsk]:
    return {key: value for key, value in pending.items() if key not in asks}


def _is_from_outside(pending: Mapping[AskId, PendingAsk], fact: Fact) -> bool:
    """Whether a process that does not run the session may have written this entry."""
    if isinstance(fact, facts.Reply):
        put = pending.get(fact.ask)
        return put is not None and put.outside
    return isinstance(fact, _FROM_OUTSIDE)
