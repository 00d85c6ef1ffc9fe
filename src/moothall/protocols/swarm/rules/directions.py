"""Directions as an agent sees them: their keys, its response to them under stop signals, and how it reports that (S-9, S-15)."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from moothall.domain.topic import normalize_label
from moothall.protocols.swarm.answers import Candidate, DecisionReport
from moothall.protocols.swarm.state import Agent, Board, Swarm
from moothall.scoring.stigmergy import compute_effective_concentration, compute_inhibition, compute_response

TOP: Final = 3
"""How many of the strongest directions an agent is shown with its response to them."""


def direction_key(direction: str) -> str:
    """Normalize a direction for comparison: without case, width and surrounding punctuation."""
    # A direction of punctuation only has an empty label: then its text is the key, so that such directions stay distinct.
    return normalize_label(direction) or direction


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighedDirection:
    """A direction with the response of one agent to it."""

    key: str
    direction: str
    raw: float
    effective: float
    probability: float
    signals: int


def weigh_directions(state: Swarm, agent: Agent, most: int | None = None) -> list[WeighedDirection]:
    """Return the directions of the blackboard with the response of this agent, the strongest first."""
    board, settings = state.board, state.settings
    counts = count_active_signals(board)
    weighed = []
    for key, each in board.pheromones.items():
        strength = compute_inhibition(counts[key], settings.signal_strength, settings.max_inhibition)
        value = compute_effective_concentration(each.concentration, strength)
        # Negated for the sort: the strongest first, and the key in ascending order breaks ties.
        weighed.append((-value, key, each, strength))
    weighed.sort(key=lambda each: each[:2])
    return [
        WeighedDirection(
            key=key,
            direction=each.direction,
            raw=each.concentration,
            effective=-negative,
            probability=compute_response(-negative, agent.threshold),
            signals=counts[key],
        )
        for negative, key, each, _ in weighed[:most]
    ]


def count_active_signals(board: Board) -> Counter[str]:
    """Return how many signals are active on each direction."""
    return Counter(signal.target for signal in board.signals)


def build_decision_report(state: Swarm, agent: Agent, direction: str, reason: str) -> DecisionReport:
    """Build what code knows of a decision: the threshold, and the strongest directions with their probabilities."""
    candidates = tuple(
        Candidate(direction=each.direction, concentration=each.effective, response_prob=each.probability)
        for each in weigh_directions(state, agent, TOP)
    )
    return DecisionReport(threshold=agent.threshold, candidates=candidates, selected_direction=direction, selection_reason=reason)
