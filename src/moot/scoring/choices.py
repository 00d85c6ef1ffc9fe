"""A tally over named choices: who leads, by how much, and who comes next."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_DIGITS: Final = 9
"""Sums that differ beyond these are equal: the order of adding must not break a tie."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The choices that were named, the heaviest first; ties go to the one that was first cast."""

    ranking: tuple[tuple[str, float], ...]

    @property
    def winner(self) -> str | None:
        """The heaviest choice, None when nobody chose."""
        return self.ranking[0][0] if self.ranking else None

    @property
    def runner_up(self) -> str | None:
        """The next heaviest, None when fewer than two choices were named."""
        return self.ranking[1][0] if len(self.ranking) > 1 else None

    @property
    def share(self) -> float | None:
        """The winner's share of all the weight, None when nothing weighs anything."""
        total = sum(weight for _, weight in self.ranking)
        return self.ranking[0][1] / total if total > 0 else None


def tally_votes(votes: Sequence[tuple[str, float]]) -> Tally:
    """The tally of (choice, weight) in the order in which they were cast; with equal weights, the plurality."""
    sums: dict[str, float] = {}
    for choice, weight in votes:
        sums[choice] = sums.get(choice, 0.0) + weight
    return Tally(ranking=tuple(sorted(sums.items(), key=lambda item: -round(item[1], _DIGITS))))
