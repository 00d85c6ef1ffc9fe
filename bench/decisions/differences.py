"""How sure a difference is: paired differences of Brier scores, and bootstrap standard errors of calibration gaps.

Cases that share a record, `cluster` of them in a row, count as one: what they have in common must not pass for evidence.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from moothall.scoring.trust import compute_brier

RESAMPLES: Final = 100
SEED: Final = 12
BINS: Final = 10

Forecasts = Sequence[tuple[float, bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A figure and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:+.4f} ± {self.error:.4f}"

    def unsigned(self) -> str:
        return f"{self.value:.3f} ± {self.error:.3f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """The calibration gap of some forecasts, and how it differs from that of the baseline on the same cases."""

    gap: Estimate
    against: Estimate


def compare_brier(found: Forecasts, baseline: Forecasts, cluster: int = 1) -> Estimate:
    """The mean difference of the Brier scores, case by case: below nought, `found` is better."""
    differences = [
        compute_brier(one, float(right)) - compute_brier(other, float(came))
        for (one, right), (other, came) in zip(found, baseline, strict=True)
    ]
    return estimate_mean(
        [
            math.fsum(differences[start : start + cluster]) / cluster
            for start in range(0, len(found), cluster)
        ]
    )


def estimate_mean(values: Sequence[float]) -> Estimate:
    """The mean of independent values, with its standard error."""
    mean = math.fsum(values) / len(values)
    spread = math.fsum((value - mean) ** 2 for value in values)
    return Estimate(value=mean, error=math.sqrt(spread / max(len(values) - 1, 1) / len(values)))


def compare_gaps(ways: Mapping[str, Forecasts], baseline: str, cluster: int = 1) -> dict[str, Gap]:
    """The gap of each way of forecasting the same cases; the errors by drawing the cases again, the same draws for all ways."""
    binned = {
        name: [(_find_bin(stated), stated - right) for stated, right in pairs]
        for name, pairs in ways.items()
    }
    count = len(ways[baseline])
    everyone = range(count)
    whole = {name: _compute_gap(each, everyone) for name, each in binned.items()}
    rng = random.Random(SEED)
    draws = []
    for _ in range(RESAMPLES):
        starts = rng.choices(everyone[::cluster], k=count // cluster)
        drawn = (
            starts if cluster == 1 else [start + at for start in starts for at in range(cluster)]
        )
        draws.append({name: _compute_gap(each, drawn) for name, each in binned.items()})
    return {
        name: Gap(
            gap=Estimate(value=gap, error=_spread([draw[name] for draw in draws])),
            against=Estimate(
                value=gap - whole[baseline],
                error=_spread([draw[name] - draw[baseline] for draw in draws]),
            ),
        )
        for name, gap in whole.items()
    }


def _find_bin(stated: float) -> int:
    # The bins of `bench.decisions.calibration.build_reliability_table`.
    return min(int(stated * BINS), BINS - 1)


def _compute_gap(binned: Sequence[tuple[int, float]], drawn: Sequence[int]) -> float:
    # Σ nₖ·|statedₖ − trueₖ| / Σ nₖ: within a bin, nₖ cancels against the means.
    sums = [0.0] * BINS
    for index in drawn:
        place, difference = binned[index]
        sums[place] += difference
    return sum(map(abs, sums)) / len(drawn)


def _spread(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
