"""Stigmergy: the effect of marks on a shared board (response, deposit, evaporation, inhibition, diversity).

The formulas are those of the swarm protocol, version 2.4; each names the section of its source.
"""

import math
from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

MAX_CONCENTRATION: Final = 1.0
"""The highest possible concentration of a direction."""

PERSPECTIVES: Final = 6
"""The number of distinct perspectives that make full coverage (9.0.6)."""


DIGITS: Final = 12
"""Digits kept of results that use logarithms or powers: machines differ in the last bit of those."""


def compute_response(stimulus: float, threshold: float) -> float:
    """Return P(S, θ) = S² / (S² + θ²), the probability of a response (5.1, 9.0.7); 0 without a stimulus, at any threshold."""
    # `not ... >` instead of `<=` also catches NaN.
    if not stimulus > 0:
        return 0.0
    if not threshold > 0:
        return 1.0
    # The same fraction, divided by the larger square: S² and θ² themselves could overflow or underflow.
    return 1.0 / (1.0 + (threshold / stimulus) ** 2) if stimulus >= threshold else _compute_small_response(stimulus / threshold)


def _compute_small_response(ratio: float) -> float:
    return ratio * ratio / (ratio * ratio + 1.0)


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
    # The share of a positive concentration can still underflow to 0, and log2(0) is undefined.
    shares = [share for value in concentrations if (share := value / total) > 0]
    # Shannon entropy H = −Σ p·log₂ p, divided by its maximum log₂ n; `max(..., 2)` avoids dividing by log₂ 1 = 0.
    bits = math.fsum(-share * math.log2(share) for share in shares)
    return round(min(max(bits / math.log2(max(len(concentrations), 2)), 0.0), 1.0), DIGITS)


class Diversity(NamedTuple):
    """The diversity of a swarm, with the parts that it is computed from."""

    coverage: float
    orthogonality: float
    entropy: float
    overall: float


def compute_diversity(*, perspectives: int, distinct: int, stated: int, concentrations: Iterable[float]) -> Diversity:
    """Return the mean of coverage, orthogonality and entropy (9.0.6)."""
    parts = (compute_coverage(perspectives), compute_orthogonality(distinct, stated), compute_entropy(list(concentrations)))
    return Diversity(*parts, round(math.fsum(parts) / 3, DIGITS))
