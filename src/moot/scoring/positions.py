"""How last words are weighed: bias weight × confidence × trust.

A seat that supports adds its weight to the one side, one that opposes to the other, a conditional one half to each; an abstention
adds to neither. `support` is the share of the one side in both.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

VoteSide = Literal["support", "conditional", "oppose", "abstain"]
VotePosition = Literal["support", "conditional_support", "oppose", "abstain"]
"""The same sides, as votes on a motion name them."""

_FOR: dict[VoteSide, float] = {"support": 1.0, "conditional": 0.5, "oppose": 0.0, "abstain": 0.0}
_AGAINST: dict[VoteSide, float] = {"support": 0.0, "conditional": 0.5, "oppose": 1.0, "abstain": 0.0}


@dataclass(frozen=True, slots=True)
class Balance:
    """The two sides of a question."""

    support: float
    oppose: float

    @property
    def share(self) -> float | None:
        """The supporting side's share, None when nobody is on either side."""
        total = self.support + self.oppose
        return self.support / total if total > 0 else None


def compute_weight(bias: float, confidence: float, trust: float) -> float:
    """What one position weighs."""
    return bias * confidence * trust


def compute_balance(positions: Iterable[tuple[VoteSide, float]]) -> Balance:
    """The sides that these positions make."""
    listed = list(positions)
    return Balance(
        support=sum(_FOR[side] * value for side, value in listed),
        oppose=sum(_AGAINST[side] * value for side, value in listed),
    )


def could_differ(found: Balance, missing: float) -> bool:
    """Whether the side that won could have lost with the missing weight against it."""
    return missing > 0 and abs(found.support - found.oppose) <= missing
