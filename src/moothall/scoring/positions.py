"""Positions in a vote, their weight and balance, and choices as labels."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

_DIGITS: Final = 9
"""Sums are compared to this many digits: the order of floating-point additions must not break a tie."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The choices by weight, the heaviest first; among equals the one that was cast first."""

    ranking: tuple[tuple[str, float], ...]

    @property
    def winner(self) -> str | None:
        """The heaviest choice; None if there are no votes."""
        return self.ranking[0][0] if self.ranking else None

    @property
    def runner_up(self) -> str | None:
        """The second heaviest choice; None if fewer than two were named."""
        return self.ranking[1][0] if len(self.ranking) > 1 else None

    @property
    def share(self) -> float | None:
        """The winner's share of the total weight; None if the total is 0."""
        total = sum(weight for _, weight in self.ranking)
        return self.ranking[0][1] / total if total > 0 else None


def tally_votes(votes: Sequence[tuple[str, float]]) -> Tally:
    """Tally (choice, weight) pairs in the order in which they were cast; with equal weights this is a plurality vote."""
    sums: dict[str, float] = {}
    for choice, weight in votes:
        sums[choice] = sums.get(choice, 0.0) + weight
    # `sorted` is stable and the dict keeps the order of casting, so equal sums stay in that order.
    return Tally(ranking=tuple(sorted(sums.items(), key=lambda item: -round(item[1], _DIGITS))))


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
