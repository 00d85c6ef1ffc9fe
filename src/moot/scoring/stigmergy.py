"""What marks on a shared board do: response to a stimulus, deposit, evaporation, inhibition, diversity.

The formulas are those of the swarm protocol, version 2.4; each names the section of its source. All of them are total: what lies
outside their range is brought to its edge, and what is no number (NaN) counts as nothing.
"""

import math
from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

MOST: Final = 1.0
"""The concentration that no direction can exceed."""

PERSPECTIVES: Final = 6
"""Distinct perspectives that make full coverage (9.0.6)."""


DIGITS: Final = 12
"""To how many places a figure is kept that was reckoned with logarithms or powers: machines differ in the last bit of those."""


def compute_response(stimulus: float, threshold: float) -> float:
    """P(S, θ) = S² / (S² + θ²), the probability to respond (5.1, 9.0.7); 0 where the stimulus is 0, whatever the threshold."""
    if not stimulus > 0:
        return 0.0
    if not threshold > 0:
        return 1.0
    # The same fraction, safe from squares that overflow or vanish.
    return 1.0 / (1.0 + (threshold / stimulus) ** 2) if stimulus >= threshold else _compute_small_response(stimulus / threshold)


def _compute_small_response(ratio: float) -> float:
    return ratio * ratio / (ratio * ratio + 1.0)


def add_deposit(concentration: float, amount: float) -> float:
    """The concentration after a deposit, at most 1 (3.2, 9.0.3)."""
    return min(concentration + max(amount, 0.0), MOST)


def evaporate(concentration: float, rate: float, floor: float) -> float:
    """The concentration after a round: × (1 − rate), never taken below the floor (9.0.3).

    One that lies below the floor already (a small deposit, several stop signals) stays: evaporation lifts nothing.
    """
    return max(concentration * (1.0 - rate), min(concentration, floor))


def apply_stop_signal(concentration: float, strength: float) -> float:
    """The concentration after a stop signal: its strength is taken off, at once and once (9.0.3 of version 2.2)."""
    return concentration * (1.0 - strength)


def compute_inhibition(signals: int, strength: float, most: float) -> float:
    """The total strength of the signals that are active on one direction (6.1)."""
    return min(max(signals, 0) * strength, most)


def compute_effective_concentration(concentration: float, inhibited: float) -> float:
    """The concentration that an agent responds to while signals are active: S × (1 − strength) (6.1)."""
    return concentration * (1.0 - inhibited)


def compute_coverage(perspectives: int) -> float:
    """Distinct perspectives by six, at most 1 (9.0.6)."""
    return min(max(perspectives, 0) / PERSPECTIVES, 1.0)


def compute_orthogonality(distinct: int, stated: int) -> float:
    """Distinct ideas by all that were stated; 0 where none was (9.0.6)."""
    return distinct / max(stated, 1)


def compute_entropy(concentrations: Collection[float]) -> float:
    """The entropy of the concentrations, normalised to 0 … 1; 0 where there is nothing, or one direction alone (9.0.6)."""
    total = math.fsum(concentrations)
    if not total > 0:
        return 0.0
    # A share can be too small for a number, though its concentration is not.
    shares = [share for value in concentrations if (share := value / total) > 0]
    bits = math.fsum(-share * math.log2(share) for share in shares)
    return round(min(max(bits / math.log2(max(len(concentrations), 2)), 0.0), 1.0), DIGITS)


class Diversity(NamedTuple):
    """How varied a swarm is, and what that was reckoned from."""

    coverage: float
    orthogonality: float
    entropy: float
    overall: float


def compute_diversity(*, perspectives: int, distinct: int, stated: int, concentrations: Iterable[float]) -> Diversity:
    """The mean of coverage, orthogonality and entropy (9.0.6)."""
    parts = (compute_coverage(perspectives), compute_orthogonality(distinct, stated), compute_entropy(list(concentrations)))
    return Diversity(*parts, round(math.fsum(parts) / 3, DIGITS))
