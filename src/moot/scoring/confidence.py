"""How sure a group may be that its motion is right, from who stands on which side (D-12).

A vote counts in ordinary votes: bias weight × stated confidence × trust, where one of bias weight 1, ordinary confidence and
neutral trust counts 1. A side's strength is the sum W of its votes, times what they are worth together:

    strength = W · (ALONE + JOINED · ln n)      n = effective number of independent votes on that side
    log-odds = (strength for − strength against) / (sum of the bias weights of those who took a side)

Measured: ALONE and JOINED, on recorded votes (`bench/decisions`). They fit best over groups of every size drawn from the votes of
seven personas (who alone would give 0.7 and 1.1) and of ten judges (0.5 and 1.9), both files counting alike. One ordinary vote is
right in 65 cases of 100, which is e^0.6 to 1. Where answers are open, as in mathematics, they understate what agreement is worth.

Chosen: that the two sides mirror each other (an even split is one half), and that stated confidence and trust scale a vote in
proportion. The recorded votes state no confidence, so that nothing about it could be measured. Trust as a scale improved the
calibration on no file; it is kept because a proven source should count for more.

With the presumed correlations, a supporting vote that becomes surer or earns trust never lowers the result, and one more
opposing vote never raises that of a motion which leads. Nothing above CEILING is claimed: recorded cases are too few to show it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from moot.scoring.independence import count_effective_votes

ALONE: Final = 0.6
"""The log-odds that one ordinary vote gives."""

JOINED: Final = 1.6
"""What they gain for every e-fold more independent votes on the same side."""

ORDINARY_CONFIDENCE: Final = 0.8
"""The stated confidence of an ordinary vote, and what a vote without one is presumed to state."""

CEILING: Final = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaning:
    """What ALONE and JOINED multiply: the net votes, and the net votes times the logarithm of how many they are worth."""

    net: float
    joint: float


def compute_leaning(
    support: Sequence[float], oppose: Sequence[float], heads: float, correlations: Callable[[int, int], float]
) -> Leaning:
    """Where a group leans; `support` and `oppose` give each voice's ordinary votes, `heads` the sum of the bias weights."""
    if heads <= 0:
        return Leaning(net=0.0, joint=0.0)
    sides = ((1.0, support), (-1.0, oppose))
    return Leaning(
        net=math.fsum(sign * math.fsum(side) for sign, side in sides) / heads,
        joint=math.fsum(sign * _compute_joint(side, correlations) for sign, side in sides) / heads,
    )


def compute_probability(found: Leaning, *, alone: float = ALONE, joined: float = JOINED) -> float:
    """The probability that a motion with this leaning is right."""
    log_odds = alone * found.net + joined * found.joint
    limit = math.log(CEILING / (1 - CEILING))
    return 1 / (1 + math.exp(-min(max(log_odds, -limit), limit)))


def _compute_joint(side: Sequence[float], correlations: Callable[[int, int], float]) -> float:
    worth = count_effective_votes(side, correlations)
    return math.fsum(side) * math.log(worth) if worth > 0 else 0.0
