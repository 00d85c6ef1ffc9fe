"""The weight of final positions: bias weight × confidence × trust.

A supporting seat adds its weight to one side, an opposing seat to the other, a conditional one half to each; an abstention adds
to neither. `support` is the share of the supporting side in both.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

VoteSide = Literal["support", "conditional", "oppose", "abstain"]
VotePosition = Literal["support", "conditional_support", "oppose", "abstain"]
"""The same sides, by their names in votes on a motion."""

_FOR: dict[VoteSide, float] = {"support": 1.0, "conditional": 0.5, "oppose": 0.0, "abstain": 0.0}
_AGAINST: dict[VoteSide, float] = {"support": 0.0, "conditional": 0.5, "oppose": 1.0, "abstain": 0.0}


@dataclass(frozen=True, slots=True)
class Balance:
    """The weights of the two sides of a question."""

    support: float
    oppose: float

    @property
    def share(self) -> float | None:
        """The supporting side's share; None if nobody is on either side."""
        total = self.support + self.oppose
        return self.support / total if total > 0 else None


def compute_weight(bias: float, confidence: float, trust: float) -> float:
    """Return the weight of one position."""
    return bias * confidence * trust


def compute_balance(positions: Iterable[tuple[VoteSide, float]]) -> Balance:
    """Sum the positions into the two sides."""
    listed = list(positions)
    return Balance(
        support=sum(_FOR[side] * value for side, value in listed),
        oppose=sum(_AGAINST[side] * value for side, value in listed),
    )


def is_outcome_uncertain(balance: Balance, missing: float) -> bool:
    """Whether the winning side could have lost if all missing weight had been against it."""
    # A margin equal to the missing weight counts: a tie is not a win.
    return missing > 0 and abs(balance.support - balance.oppose) <= missing
