"""Stigmergy: the effect of marks on a shared board (response, deposit, evaporation, inhibition, diversity), and convergence.

The formulas are those of the swarm protocol, version 2.4; each names the section of its source.
"""

import math
from collections.abc import Collection, Mapping, Sequence, Set
from typing import Final, Literal

from moothall.domain.replace import copy_fields, dataclass

MAX_CONCENTRATION: Final = 1.0
"""The highest possible concentration of a direction."""

PERSPECTIVES: Final = 6
"""The number of distinct perspectives that make full coverage (9.0.6)."""


DIGITS: Final = 12
"""Digits of results that use logarithms or powers: machines differ in the last bit of those."""


def compute_response(stimulus: float, threshold: float) -> float:
    """Return P(S, θ) = S² / (S² + θ²), the probability of a response (5.1, 9.0.7); 0 without a stimulus, at any threshold."""
    # `not ... >` instead of `<=` also catches NaN.
    if not stimulus > 0:
        return 0.0
    if not threshold > 0:
        return 1.0
    # The same fraction, divided by the larger square: S² and θ² themselves could overflow or underflow.
    if stimulus >= threshold:
        return 1.0 / (1.0 + (threshold / stimulus) ** 2)
    square = (stimulus / threshold) * (stimulus / threshold)
    return square / (square + 1.0)


def add_deposit(concentration: float, amount: float) -> float:
    """Return the concentration after a deposit, at most 1 (3.2, 9.0.3)."""
    return min(concentration + max(amount, 0.0), MAX_CONCENTRATION)


def evaporate(concentration: float, rate: float, floor: float) -> float:
    """Return the concentration after one round: × (1 − rate), but never reduced below the floor (9.0.3).

    A concentration that is already below the floor (a small deposit, several stop signals) stays: evaporation never raises one.
    """
    return max(concentration * (1.0 - rate), min(concentration, floor))


def apply_stop_signal(concentration: float, strength: float) -> float:
    """Return the concentration after a stop signal: × (1 − strength), applied once, when it is sent (9.0.3 of version 2.2)."""
    return concentration * (1.0 - strength)


def compute_inhibition(signals: int, strength: float, most: float) -> float:
    """Return the total strength of the active signals on one direction, limited to `most` (6.1)."""
    return min(max(signals, 0) * strength, most)


def compute_effective_concentration(concentration: float, inhibited: float) -> float:
    """Return the concentration that an agent responds to while signals are active: S × (1 − strength) (6.1)."""
    return concentration * (1.0 - inhibited)


def compute_coverage(perspectives: int) -> float:
    """Return the number of distinct perspectives divided by six, at most 1 (9.0.6)."""
    return min(max(perspectives, 0) / PERSPECTIVES, 1.0)


def compute_orthogonality(distinct: int, stated: int) -> float:
    """Return the number of distinct ideas divided by all stated ones; 0 if none was stated (9.0.6)."""
    return distinct / max(stated, 1)


def compute_entropy(concentrations: Collection[float]) -> float:
    """Return the normalized entropy of the concentrations, 0 to 1; 0 for nothing, or for a single direction (9.0.6)."""
    total = math.fsum(concentrations)
    if not total > 0:
        return 0.0
    shares = [value / total for value in concentrations]
    # Shannon entropy H = −Σ p·log₂ p, divided by its maximum log₂ n; `max(..., 2)` avoids dividing by log₂ 1 = 0.
    # The share of a positive concentration can still underflow to 0, and log2(0) is undefined.
    bits = math.fsum(-share * math.log2(share) for share in shares if share > 0)
    return round(min(max(bits / math.log2(max(len(concentrations), 2)), 0.0), 1.0), DIGITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiversityInputs:
    """What the diversity of a swarm is computed from: perspectives, distinct ideas, all stated ones, concentrations."""

    perspectives: int
    distinct: int
    stated: int
    concentrations: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diversity(DiversityInputs):
    """The diversity of a swarm, with its parts and their inputs."""

    coverage: float
    orthogonality: float
    entropy: float
    diversity: float


def compute_diversity(inputs: DiversityInputs) -> Diversity:
    """Return the mean of coverage, orthogonality and entropy (9.0.6)."""
    coverage, orthogonality = (
        compute_coverage(inputs.perspectives),
        compute_orthogonality(inputs.distinct, inputs.stated),
    )
    entropy = compute_entropy(inputs.concentrations)
    mean = round(math.fsum((coverage, orthogonality, entropy)) / 3, DIGITS)
    return copy_fields(
        Diversity,
        inputs,
        coverage=coverage,
        orthogonality=orthogonality,
        entropy=entropy,
        diversity=mean,
    )


QuorumOf = Literal["all", "independent"]
Shortfall = Literal["", "min_rounds", "not_stable", "no_quorum", "diversity", "consensus_too_fast"]

_ROUNDING: Final = 1e-9
"""Shares that differ by less are equal: a rounding error in a division must not decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvergenceBounds:
    """The conditions of convergence."""

    min_rounds: int = 3
    beta: int = 2
    min_diversity: float = 0.4
    max_consensus: float = 0.9
    fast_before: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvergenceVerdict(Diversity):
    """The figures of one round and the verdict; `reason` is the first condition that fails, or empty."""

    round: int
    enough_rounds: bool
    stable: bool
    has_quorum: bool
    is_diverse: bool
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


def find_quorum_ideas(
    backers: Mapping[int, Collection[object]], active: int, threshold: float
) -> tuple[int, ...]:
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
    diversity: Diversity,
    bounds: ConvergenceBounds,
) -> ConvergenceVerdict:
    """Check all conditions: enough rounds, β-stable, quorum, diverse, and not too fast."""
    enough = round_number >= bounds.min_rounds
    stable = is_stable(history, bounds.beta)
    diverse = diversity.diversity >= bounds.min_diversity - _ROUNDING
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
    return copy_fields(
        ConvergenceVerdict,
        diversity,
        round=round_number,
        enough_rounds=enough,
        stable=stable,
        has_quorum=has_quorum,
        is_diverse=diverse,
        too_fast=too_fast,
        consensus_rate=consensus_rate,
        converged=not reason,
        reason=reason,
    )
