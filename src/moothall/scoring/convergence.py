"""Decides whether a swarm has converged, and returns every figure of that decision (swarm protocol 2.4, 9.0.6)."""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final, Literal

QuorumOf = Literal["all", "independent"]
Shortfall = Literal["", "min_rounds", "not_stable", "no_quorum", "diversity", "consensus_too_fast"]

_ROUNDING: Final = 1e-9
"""Shares that differ by less are equal: a rounding error in a division must not decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvergenceBounds:
    """The conditions of convergence."""

    min_rounds: int = 3
    beta: int = 2
    quorum: float = 0.67
    diversity: float = 0.4
    max_consensus: float = 0.9
    fast_before: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvergenceVerdict:
    """The figures of one round and the verdict; `reason` is the first condition that fails, or empty."""

    round: int
    enough_rounds: bool
    stable: bool
    quorum: bool
    diverse: bool
    too_fast: bool
    consensus_rate: float
    converged: bool
    reason: Shortfall


def is_stable(history: Sequence[Set[int]], beta: int) -> bool:
    """Whether the last `beta` rounds held the same set of ideas; rounds without any idea do not count as agreement."""
    if beta < 1 or len(history) < beta:
        return False
    last = history[-1]
    return bool(last) and all(ideas == last for ideas in history[-beta:])


def compute_share(backers: int, active: int) -> float:
    """Return the share of the active agents that back an idea; 0 if no agent is active."""
    return backers / active if active > 0 else 0.0


def find_quorum_ideas(backers: Mapping[int, Collection[object]], active: int, threshold: float) -> tuple[int, ...]:
    """Return the ideas that enough of the active agents back, the best backed first."""
    rates = {idea: compute_share(len(seats), active) for idea, seats in backers.items()}
    reached = [idea for idea, rate in rates.items() if active > 0 and rate >= threshold - _ROUNDING]
    # The idea's number breaks ties, so that the order is the same on every machine.
    return tuple(sorted(reached, key=lambda idea: (-rates[idea], idea)))


def is_too_fast(rate: float, round_number: int, bounds: ConvergenceBounds) -> bool:
    """Whether nearly all agents agree before they had time to explore (9.0.6, version 2.2)."""
    return rate > bounds.max_consensus + _ROUNDING and round_number < bounds.fast_before


def judge_convergence(
    *,
    round_number: int,
    history: Sequence[Set[int]],
    has_quorum: bool,
    consensus_rate: float,
    diversity: float,
    bounds: ConvergenceBounds,
) -> ConvergenceVerdict:
    """Check all conditions: enough rounds, β-stable, quorum, diverse, and not too fast."""
    enough = round_number >= bounds.min_rounds
    stable = is_stable(history, bounds.beta)
    diverse = diversity >= bounds.diversity - _ROUNDING
    too_fast = is_too_fast(consensus_rate, round_number, bounds)
    # The order decides which reason is reported when several conditions fail.
    failed: tuple[tuple[bool, Shortfall], ...] = (
        (not enough, "min_rounds"),
        (not stable, "not_stable"),
        (not has_quorum, "no_quorum"),
        (not diverse, "diversity"),
        (too_fast, "consensus_too_fast"),
    )
    reason: Shortfall = next((name for fails, name in failed if fails), "")
    return ConvergenceVerdict(
        round=round_number,
        enough_rounds=enough,
        stable=stable,
        quorum=has_quorum,
        diverse=diverse,
        too_fast=too_fast,
        consensus_rate=consensus_rate,
        converged=not reason,
        reason=reason,
    )
