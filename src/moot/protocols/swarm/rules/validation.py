"""Checks whether a recorded step can be applied: it must be of this round, and name existing seats and ideas.

Figures are not checked. A step that fails was not written by any rulebook, and applying it could only raise an error.
"""

from collections.abc import Iterator

from moot.domain.facts import Fact
from moot.domain.ids import SeatId
from moot.protocols.swarm.facts import (
    AgentsTerminated,
    BarrierPassed,
    ConvergenceMeasured,
    IdeasSorted,
    OperationsProcessed,
    RoundBegun,
    RoundSettled,
    ShutdownAnswered,
    ShutdownNoticed,
    SwarmCompleted,
    SwarmFormed,
)
from moot.protocols.swarm.state import Swarm


def is_valid_step(state: Swarm, fact: Fact) -> bool:
    """Whether a computed step belongs to this swarm and this round."""
    if isinstance(fact, SwarmFormed):
        return tuple(each.seat for each in fact.agents) == state.explorers
    if isinstance(fact, IdeasSorted) and not _is_numbered(state, fact):
        return False
    return _is_of_round(state, fact) and all(seat in state.agents for seat in _list_seats(fact))


def _is_of_round(state: Swarm, fact: Fact) -> bool:
    match fact:
        case RoundBegun(round=number):
            return number == state.round + 1
        case (
            BarrierPassed(round=number)
            | OperationsProcessed(round=number)
            | IdeasSorted(round=number)
            | RoundSettled(round=number)
            | ConvergenceMeasured(round=number)
            | SwarmCompleted(round=number)
        ):
            return number == state.round
        case _:
            return True


def _is_numbered(state: Swarm, fact: IdeasSorted) -> bool:
    """Whether ideas are numbered without gaps: a new idea takes the next number, any other has an existing one."""
    count = len(state.board.ideas)
    for each in fact.placed:
        count += each.reason == "new"
        if not 1 <= each.idea <= count or (each.reason == "new" and each.idea != count):
            return False
    return True


def _list_seats(fact: Fact) -> Iterator[SeatId]:
    """Yield every seat that a fact changes."""
    match fact:
        case RoundBegun(orders=orders):
            yield from (order.seat for order in orders)
        case BarrierPassed(violations=violations, changes=changes):
            yield from (each.seat for each in violations)
            yield from (each.seat for each in changes)
        case OperationsProcessed(results=results):
            yield from (each.seat for each in results)
        case RoundSettled(opinions=opinions, roles=roles):
            yield from (each.seat for each in opinions)
            yield from (each.seat for each in roles)
        case ConvergenceMeasured(debater=debater) if debater is not None:
            yield debater.seat
        case SwarmCompleted(synced=seats) | ShutdownNoticed(awaited=seats) | ShutdownAnswered(acknowledged=seats):
            yield from seats
        case AgentsTerminated(ends=ends):
            yield from (each.seat for each in ends)
        case _:
            return
