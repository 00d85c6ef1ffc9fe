"""The end of a swarm: the votes on its consensus ideas, the state sync, and the termination of every agent (S-23, S-29)."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Final

from moothall.domain.ids import SeatId
from moothall.domain.replace import copy_fields, fast_replace
from moothall.protocols.swarm.facts import MIN_AGENTS, EndReason, IdeaResolution, SwarmCompleted, Termination
from moothall.protocols.swarm.rules.evidence import AnswerIndex, build_choice
from moothall.protocols.swarm.state import Agent, Swarm
from moothall.scoring.independence import build_seat_correlations
from moothall.scoring.positions import VotePosition
from moothall.scoring.resolution import build_vote, resolve_open_vote
from moothall.scoring.stigmergy import DIGITS

MAX_VOTED_ON: Final = 5
MAX_WRITERS: Final = 2
"""So many are asked for a synthesis, one after another; in the classic mode, where it is the result, all."""


def list_ballot_ideas(state: Swarm) -> tuple[int, ...]:
    """Return the ideas to vote on: those with a quorum, the best backed first; none if too few agents are left.

    By evidence the ballot is always held: ideas without a quorum follow those that have it.
    """
    if not _is_ballot_held(state) or state.measured is None:
        return ()
    if not state.by_evidence:
        return state.consensus[:MAX_VOTED_ON]
    backed = sorted(state.measured.backing, key=lambda each: (-len(each.backers), each.idea))
    return tuple(dict.fromkeys((*state.consensus, *(each.idea for each in backed))))[:MAX_VOTED_ON]


def _is_ballot_held(state: Swarm) -> bool:
    left = state.measured.active if state.measured is not None else 0
    return state.settings.vote and left >= MIN_AGENTS


def list_missing_voters(state: Swarm) -> tuple[SeatId, ...]:
    """Return who still has to vote. A stopped run spends nothing more."""
    if state.stop is not None or not _is_ballot_held(state):
        return ()
    missing = tuple(seat for seat in state.active if seat not in state.ballots)
    if list_ballot_ideas(state):
        return missing
    return tuple(seat for seat in missing if state.by_evidence and AnswerIndex(state).list_read(seat))


def find_synthesis_writer(state: Swarm) -> SeatId | None:
    """Return who writes the synthesis, once all have voted: a synthesizer first, else the first who reported."""
    if state.synthesis or state.stop is not None or list_missing_voters(state):
        return None
    left = [seat for seat in state.explorers if seat in state.answered and seat not in state.writers_lost]
    if state.settings.mode != "classic":
        if state.settings.synthesis != "always" or len(state.writers_lost) >= MAX_WRITERS:
            return None
        left = [seat for seat in left if state.agents[seat].is_asked and state.agents[seat].findings]
        left.sort(key=lambda seat: state.agents[seat].role != "SYNTHESIZER")
    return next(iter(left), None)


def find_vote(state: Swarm, seat: SeatId, idea: int) -> tuple[VotePosition | None, float | None]:
    """Return a seat's vote on an idea, and its stated confidence; an idea that its ballot leaves out counts as abstained."""
    ballot = state.ballots.get(seat)
    if ballot is None:
        # No ballot at all is a missing vote, not an abstention: it counts for `outcome_uncertain`.
        return None, None
    vote = next((vote for vote in ballot.votes if vote.idea == idea), None)
    if vote is None or vote.position == "abstain":
        return "abstain", None
    # A vote that takes a side with no confidence at all did not state one (M-2).
    return vote.position, vote.confidence or None


def build_resolutions(state: Swarm) -> tuple[IdeaResolution, ...]:
    """Return the results of the votes, idea by idea; nothing if nobody was asked."""
    if not state.ballots:
        return ()
    correlations, resolutions = build_seat_correlations(state.opened.subject.error_correlations, state.seats), []
    for idea in list_ballot_ideas(state):
        votes = [build_vote(state.seat(name), *find_vote(state, name, idea)) for name in state.explorers]
        resolution = resolve_open_vote(votes, correlations=correlations)
        figures = {each.name: getattr(resolution, each.name) for each in fields(resolution)}
        rounded = {name: round(value, DIGITS) for name, value in figures.items() if isinstance(value, float)}
        resolutions.append(copy_fields(IdeaResolution, resolution, idea=idea, **rounded))
    return tuple(resolutions)


def build_completion(state: Swarm, reason: EndReason) -> SwarmCompleted:
    """Build the state sync: every agent that was still working becomes `completed`."""
    measured = state.measured
    return SwarmCompleted(
        round=state.round,
        reason=reason,
        converged=reason == "converged" and measured is not None and measured.converged,
        resolved=build_resolutions(state),
        synced=tuple(seat for seat, agent in state.agents.items() if agent.is_asked),
        choice=build_choice(state) if state.by_evidence else None,
    )


def apply_completion(state: Swarm, fact: SwarmCompleted) -> Swarm:
    agents = {
        seat: fast_replace(agent, status="completed") if seat in fact.synced else agent for seat, agent in state.agents.items()
    }
    return fast_replace(state, agents=agents, completed=fact)


def list_awaited_seats(state: Swarm) -> tuple[SeatId, ...]:
    """Return the agents that are asked to say goodbye: outside agents.

    Participants that Moot calls hold nothing between two calls.
    """
    return tuple(
        seat
        for seat, agent in state.agents.items()
        if agent.status == "completed" and state.seat(seat).is_outside and not agent.missed
    )


def build_agent_ends(state: Swarm) -> dict[SeatId, Termination]:
    return {seat: _find_termination(state, agent) for seat, agent in state.agents.items()}


def _find_termination(state: Swarm, agent: Agent) -> Termination:
    if agent.ended is not None:
        return agent.ended
    if agent.seat in state.awaited:
        # Asked for a goodbye and silent: gone, whatever it did before.
        is_gone = not state.goodbyes.get(agent.seat, False)
    else:
        is_gone = agent.missed or agent.status == "removed"
    if not is_gone:
        return "graceful"
    return "auto_forced" if state.clock - agent.active_at > state.settings.silent_seconds else "forced"


def apply_termination(state: Swarm, ends: Mapping[SeatId, Termination]) -> Swarm:
    """Return the swarm with every agent terminated, each with its reason."""
    ended = {seat: fast_replace(state.agents[seat], status="terminated", ended=reason) for seat, reason in ends.items()}
    return fast_replace(state, agents={**state.agents, **ended})
