"""The end of a swarm: the votes on its consensus ideas, the state sync, and how every agent ends (S-23, S-29)."""

from collections.abc import Iterable
from typing import Final

from moot.domain.ids import SeatId
from moot.domain.replace import fast_replace
from moot.protocols.swarm.facts import FEWEST_AGENTS, AgentEnd, EndReason, IdeaResolution, SwarmCompleted, Termination
from moot.protocols.swarm.state import Agent, Swarm
from moot.scoring.independence import build_seat_correlations, detect_family
from moot.scoring.positions import VotePosition
from moot.scoring.resolution import SeatVote, resolve_open_vote
from moot.scoring.stigmergy import DIGITS

MOST_VOTED_ON: Final = 5


def list_ballot_ideas(state: Swarm) -> tuple[int, ...]:
    """The ideas that are voted on: those with a quorum, the best backed first; none where nobody is left to agree with."""
    is_held = state.settings.vote and state.settings.mode != "classic"
    left = state.measured.active if state.measured is not None else 0
    return state.consensus[:MOST_VOTED_ON] if is_held and left >= FEWEST_AGENTS else ()


def list_missing_voters(state: Swarm) -> tuple[SeatId, ...]:
    """Who has still to vote. A run that was stopped spends nothing more."""
    if state.stop is not None or not list_ballot_ideas(state):
        return ()
    return tuple(seat for seat in state.active if seat not in state.ballots)


def find_synthesis_writer(state: Swarm) -> SeatId | None:
    """Who is to write the synthesis of a classic run: the first who brought something and has not failed at it."""
    if state.settings.mode != "classic" or state.synthesis or state.stop is not None:
        return None
    return next((seat for seat in state.explorers if seat in state.answered and seat not in state.writers_lost), None)


def find_vote(state: Swarm, seat: SeatId, idea: int) -> tuple[VotePosition | None, float]:
    """How a seat voted on an idea; one that left it out abstained."""
    ballot = state.ballots.get(seat)
    if ballot is None:
        return None, 0.0
    vote = next((vote for vote in ballot.votes if vote.idea == idea), None)
    return ("abstain", 0.0) if vote is None else (vote.position, vote.confidence)


def build_resolutions(state: Swarm) -> tuple[IdeaResolution, ...]:
    """What the votes came to, idea by idea; nothing where nobody was asked."""
    if not state.ballots:
        return ()
    return tuple(_build_resolution(state, idea) for idea in list_ballot_ideas(state))


def _build_resolution(state: Swarm, idea: int) -> IdeaResolution:
    voices = []
    for name in state.explorers:
        seat = state.seat(name)
        position, confidence = find_vote(state, name, idea)
        voices.append(
            SeatVote(
                seat=name,
                position=position,
                confidence=confidence,
                weight=seat.weight,
                trust=seat.trust,
                family=detect_family(seat.platform, seat.id),
            )
        )
    found = resolve_open_vote(voices, correlations=build_seat_correlations(state.opened.subject.bonds, state.seats))
    return IdeaResolution(
        idea=idea,
        consensus_type=found.consensus_type,
        carried=found.carried,
        support=_round_figure(found.support),
        turnout=round(found.turnout, DIGITS),
        confidence=_round_figure(found.confidence),
        heads=found.heads,
        effective=round(found.effective, DIGITS),
        could_differ=found.could_differ,
    )


def _round_figure(figure: float | None) -> float | None:
    return None if figure is None else round(figure, DIGITS)


def build_completion(state: Swarm, reason: EndReason, fault: str = "") -> SwarmCompleted:
    """The state sync: whoever was at work is `completed`."""
    found = state.measured
    return SwarmCompleted(
        round=state.round,
        reason=reason,
        converged=reason == "converged" and found is not None and found.converged,
        resolved=build_resolutions(state),
        synced=tuple(seat for seat, agent in state.agents.items() if agent.is_asked),
        fault=fault,
    )


def apply_completion(state: Swarm, found: SwarmCompleted) -> Swarm:
    agents = {
        seat: fast_replace(agent, status="completed") if seat in found.synced else agent for seat, agent in state.agents.items()
    }
    return fast_replace(state, agents=agents, completed=found)


def list_awaited_seats(state: Swarm) -> tuple[SeatId, ...]:
    """Who is asked to say goodbye: agents elsewhere. What Moot calls itself holds nothing between two calls."""
    return tuple(
        seat
        for seat, agent in state.agents.items()
        if agent.status == "completed" and state.seat(seat).is_outside and not agent.missed
    )


def build_agent_ends(state: Swarm) -> tuple[AgentEnd, ...]:
    """How every agent ends."""
    return tuple(AgentEnd(seat=seat, reason=_find_termination(state, agent)) for seat, agent in state.agents.items())


def _find_termination(state: Swarm, agent: Agent) -> Termination:
    if agent.ended is not None:
        return agent.ended
    if agent.seat in state.awaited:
        is_gone = not state.goodbyes.get(agent.seat, False)
    else:
        is_gone = agent.missed or agent.status == "removed"
    if not is_gone:
        return "graceful"
    return "auto_forced" if state.clock - agent.active_at > state.settings.silent_seconds else "forced"


def apply_termination(state: Swarm, reasons: Iterable[AgentEnd]) -> Swarm:
    """Everyone ended, each with its reason."""
    agents = {each.seat: fast_replace(state.agents[each.seat], status="terminated", ended=each.reason) for each in reasons}
    agents = {seat: agents.get(seat, agent) for seat, agent in state.agents.items()}
    return fast_replace(state, agents=agents)
