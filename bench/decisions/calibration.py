"""Calibration: whether stated probabilities come true, by the Brier score and the reliability table."""

from collections.abc import Sequence
from dataclasses import dataclass

from moothall.scoring.trust import compute_brier


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityBin:
    """The forecasts within [low, high): how many, their mean, and the share that came true."""

    low: float
    high: float
    cases: int
    stated: float
    true: float


def compute_brier_score(pairs: Sequence[tuple[float, bool]]) -> float | None:
    """Return the mean Brier score of (forecast, came true); None without forecasts."""
    if not pairs:
        return None
    return sum(compute_brier(forecast, float(outcome)) for forecast, outcome in pairs) / len(pairs)


def build_reliability_table(
    pairs: Sequence[tuple[float, bool]], bins: int = 10
) -> tuple[ReliabilityBin, ...]:
    """Build the reliability table of (forecast, came true) over equal bins; empty bins are omitted, and 1 belongs to the last."""
    sorted_in: dict[int, list[tuple[float, bool]]] = {}
    for forecast, outcome in pairs:
        # A forecast of exactly 1 would open a bin of its own.
        sorted_in.setdefault(min(int(forecast * bins), bins - 1), []).append((forecast, outcome))
    return tuple(_build_bin(number, bins, each) for number, each in sorted(sorted_in.items()))


def compute_calibration_gap(table: Sequence[ReliabilityBin]) -> float | None:
    """Return the expected calibration error: the mean |stated − true|, weighted by cases; None for an empty table."""
    cases = sum(each.cases for each in table)
    # ECE = Σ nₖ·|statedₖ − trueₖ| / Σ nₖ over the bins k.
    return (
        sum(each.cases * abs(each.stated - each.true) for each in table) / cases if cases else None
    )


def _build_bin(number: int, bins: int, pairs: Sequence[tuple[float, bool]]) -> ReliabilityBin:
    return ReliabilityBin(
        low=number / bins,
        high=(number + 1) / bins,
        cases=len(pairs),
        stated=sum(forecast for forecast, _ in pairs) / len(pairs),
        true=sum(outcome for _, outcome in pairs) / len(pairs),
    )
