"""Checks whether a recorded step can be applied: it must be of this round, and name existing seats and ideas.

Figures are not checked. A step that fails was not written by any rulebook, and applying it could only raise an error.
"""

from collections.abc import Iterator
from typing import Final

from moothall.domain.facts import Fact
from moothall.protocols.swarm.facts import ConvergenceMeasured, IdeasSorted, RoundBegun, SwarmFormed
from moothall.protocols.swarm.state import Swarm

_PARTS_WITH_SEATS: Final = ("orders", "violations", "changes", "results", "opinions", "roles", "ends")
_SEATS: Final = ("synced", "awaited", "acknowledged")


def is_valid_step(state: Swarm, fact: Fact) -> bool:
    """Whether a computed step belongs to this swarm and this round."""
    if isinstance(fact, SwarmFormed):
        return tuple(each.seat for each in fact.agents) == state.explorers
    if isinstance(fact, IdeasSorted) and not _is_numbered(state, fact):
        return False
    expected = state.round + 1 if isinstance(fact, RoundBegun) else state.round
    # The steps of the shutdown have no round.
    return getattr(fact, "round", expected) == expected and all(seat in state.agents for seat in _list_seats(fact))


def _is_numbered(state: Swarm, fact: IdeasSorted) -> bool:
    """Whether ideas are numbered without gaps: a new idea takes the next number, any other has an existing one."""
    count = len(state.board.ideas)
    for each in fact.placed:
        count += each.reason == "new"
        if not 1 <= each.idea <= count or (each.reason == "new" and each.idea != count):
            return False
    return True


def _list_seats(fact: Fact) -> Iterator[str]:
    """Yield every seat that a fact changes."""
    for name in _PARTS_WITH_SEATS:
        yield from (part.seat for part in getattr(fact, name, ()))
    for name in _SEATS:
        yield from getattr(fact, name, ())
    if isinstance(fact, ConvergenceMeasured) and fact.debater is not None:
        yield fact.debater.seat
