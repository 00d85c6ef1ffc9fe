"""Positions in a vote, their weight and balance."""

from collections.abc import Iterable
from typing import Literal

from moothall.domain.replace import dataclass

VoteSide = Literal["support", "conditional", "oppose", "abstain"]
VotePosition = Literal["support", "conditional_support", "oppose", "abstain"]
"""The same sides, by their names in votes on a motion."""


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
    return bias * confidence * trust


def compute_balance(positions: Iterable[tuple[VoteSide, float]]) -> Balance:
    """Sum the positions into the two sides. A conditional support is support: its condition is an obligation."""
    listed = list(positions)
    return Balance(
        support=sum(value for side, value in listed if side in {"support", "conditional"}),
        oppose=sum(value for side, value in listed if side == "oppose"),
    )


def is_outcome_uncertain(balance: Balance, missing: float) -> bool:
    """Whether the winning side could have lost if all missing weight had been against it."""
    # A margin equal to the missing weight counts: a tie is not a win.
    return missing > 0 and abs(balance.support - balance.oppose) <= missing
