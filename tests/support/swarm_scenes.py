"""What the tests of the swarm's rules share: explorers and runs."""

from collections.abc import Callable
from typing import Any

from tests.support.play_swarm import (
    ABSTAINS,
    Says,
    SwarmRun,
    build_deposit,
    build_swarm_plan,
    build_valid_report,
)

from moothall.domain.effects import Ask, Brief
from moothall.domain.ids import SeatId
from moothall.protocols.swarm.answers import (
    AnswerVote,
    Collision,
    SwarmBallot,
)
from moothall.protocols.swarm.json_fields import agent_name
from moothall.protocols.swarm.state import Swarm

ADA, BOB, EVE = SeatId("TanWei"), SeatId("SuYuan"), SeatId("DongCha")


CACHE, BUY = "Put a cache at the edge.", "Buy faster machines."


BALLOT = SwarmBallot(votes=(AnswerVote(answer=1, position="support", confidence=0.7),))


def explorer(*ideas: str, direction: str = "caching", vote: str = "support") -> Says:
    """A seat that keeps every rule and holds the same ideas all the time."""

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore":
            return build_valid_report(
                state, ask.seat, direction, *ideas, operations=(build_deposit(direction),)
            )
        if ask.kind == "collide":
            return Collision(action="pass")
        if ask.kind == "ballot":
            return SwarmBallot(votes=tuple(_vote(number, vote) for number in range(1, 4)))
        return NotImplemented

    return says


def _vote(number: int, position: str) -> AnswerVote:
    return AnswerVote(answer=number, position=position, confidence=0.8, reason="So it is.")  # type: ignore[arg-type]  # a position


def five(**chosen: Any) -> SwarmRun:
    """Five explorers, four of one mind."""
    run = SwarmRun(build_swarm_plan(5, **chosen))
    says: dict[str, Says] = {
        agent_name(at): explorer(CACHE, direction=f"way {at}") for at in range(1, 5)
    }
    return run.play({**says, agent_name(5): explorer(BUY, direction="hardware", vote="oppose")})


def exploring(report: Callable[[Ask, Swarm], object]) -> Says:
    """A seat that is told what to bring, and passes otherwise."""

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore":
            return report(ask, state)
        if ask.kind == "collide":
            return Collision(action="pass")
        return ABSTAINS if ask.kind == "ballot" else NotImplemented

    return says


def status(run: SwarmRun, seat: str = "TanWei") -> str:
    return run.state.agents[SeatId(seat)].status
