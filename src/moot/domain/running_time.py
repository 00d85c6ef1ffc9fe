"""Which time of a session counts: that in which a process ran it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from moot.domain.facts import (
    AsksPut,
    AsksWithdrawn,
    CloseCalled,
    Closed,
    Entry,
    Fact,
    InputGiven,
    Reply,
    SeatLost,
    SessionCancelled,
    SessionForked,
    SessionResumed,
)
from moot.domain.ids import AskId


@dataclass(frozen=True, slots=True)
class PendingAsk:
    """An ask that was put and not yet answered. `attempts` counts the processes that put it."""

    deadline: datetime | None
    outside: bool = False
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class RunningTime:
    """The time since a process was last seen to run the session, and when it was seen now (`at`).

    `seconds` it ran; for `parked` seconds only seats elsewhere were waited for.
    """

    at: datetime
    seconds: float = 0.0
    parked: float = 0.0


def is_parked(pending: Mapping[AskId, PendingAsk]) -> bool:
    """Whether only seats elsewhere are waited for: then nobody need run the session."""
    return bool(pending) and all(each.outside for each in pending.values())


def compute_running_time(ran_at: datetime, pending: Mapping[AskId, PendingAsk], entry: Entry) -> RunningTime:
    """What an entry tells of the time before it, given what was outstanding then."""
    gap = (entry.at - ran_at).total_seconds()
    if is_parked(pending):
        return RunningTime(entry.at, parked=gap)
    if _is_from_outside(pending, entry.fact):
        return RunningTime(ran_at)
    return RunningTime(entry.at, seconds=0.0 if isinstance(entry.fact, SessionResumed) else gap)


def update_pending(pending: Mapping[AskId, PendingAsk], fact: Fact) -> Mapping[AskId, PendingAsk]:
    """What is outstanding after a fact."""
    match fact:
        case Reply(ask=ask) | SeatLost(ask=ask):
            return remove_asks(pending, (ask,))
        case AsksPut(asks=asks, deadline=deadline, outside=outside):
            return {**pending, **dict.fromkeys(asks, PendingAsk(deadline, outside))}
        case AsksWithdrawn(asks=asks):
            return remove_asks(pending, asks)
        case SessionForked() | Closed():
            return {}
        case _:
            return pending


def remove_asks(pending: Mapping[AskId, PendingAsk], asks: tuple[AskId, ...]) -> dict[AskId, PendingAsk]:
    return {key: value for key, value in pending.items() if key not in asks}


def _is_from_outside(pending: Mapping[AskId, PendingAsk], fact: Fact) -> bool:
    """Whether an entry can come from a process that does not run the session."""
    if isinstance(fact, Reply):
        put = pending.get(fact.ask)
        return put is not None and put.outside
    return isinstance(fact, InputGiven | CloseCalled | SessionCancelled | SessionForked)
