"""Chooses a direction by what explorers read of it, not by how many hold it (S-30).

Every explorer has at most one reading of a direction, which stands for `count` looks. The value of a direction is the mean of its
readings with two readings of the overall mean put to it, so that one lucky look does not win. Where explorers give the same
amount whatever they read, a mean says nothing: then each explorer's order of the directions that it read counts, pair by pair.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

Method = Literal["mean", "pairs"]

ORDINARY_READINGS: Final = 2.0
"""How many readings of the overall mean are put to those of each direction."""
DIGITS: Final = 12
_MIN_SPREAD: Final = 0.05
"""Readers who agree to the digit have rounded: their error is not taken for less."""
_HIGHEST: Final = 1.0
_ROUNDING: Final = 1e-9
Cell = TypeVar("Cell")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplorerReading:
    """What one explorer read of one direction.

    `value` is from 0 to 1, `count` how many looks it stands for, less where reviewers doubt it. `rank` orders the directions of
    one explorer where its values say nothing: the higher comes first.
    """

    direction: str
    reader: str
    value: float
    count: float = 1.0
    rank: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectionEvidence:
    """What the readings of one direction come to."""

    direction: str
    value: float
    """From 0 to 1."""
    readings: float
    """How many readings it rests on: less than their number where reviewers challenged them or the validator refuted them."""
    readers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceVerdict:
    """What all readings come to."""

    method: Method
    """The mean of the readings, or pairs where the amounts say nothing."""
    ranked: tuple[DirectionEvidence, ...]
    """The directions, the best first."""
    margin: float = 0.0
    """The distance from the first to the second."""
    z: float | None = None
    """The same in standard errors; None if it cannot be computed."""
    needed: int | None = None
    """How many more readings of the highest value the second would need to come first; None if no number would do."""
    decisive: tuple[str, ...] = ()
    """The readers without whose readings another direction would lead."""


def judge_evidence(readings: Iterable[ExplorerReading]) -> EvidenceVerdict | None:
    """Rank directions by their readings; None without any reading that counts. The order of the readings does not matter."""
    counted = sorted((each for each in readings if each.count > 0), key=lambda each: (each.direction, each.reader))
    if not counted:
        return None
    method: Method = "mean" if _have_values_meaning(counted) else "pairs"
    ranked, error = _rank(counted, method)
    margin = ranked[0].value - ranked[1].value if len(ranked) > 1 else 0.0
    return EvidenceVerdict(
        method=method,
        ranked=ranked,
        margin=round(margin, DIGITS),
        z=round(margin / error, DIGITS) if error and len(ranked) > 1 else None,
        needed=_count_needed(ranked, method),
        decisive=_find_decisive(counted, method, ranked[0].direction) if len(ranked) > 1 else (),
    )


def _have_values_meaning(readings: Sequence[ExplorerReading]) -> bool:
    """Whether somebody who read several directions tells them apart by its values; or, if nobody read several, values differ."""
    of_reader = _group_values(readings)
    several = [values for values in of_reader.values() if len(values) > 1]
    return any(_vary(values) for values in several or [[each.value for each in readings]])


def _group_values(readings: Sequence[ExplorerReading]) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {}
    for each in readings:
        values.setdefault(each.reader, []).append(each.value)
    return values


def _vary(values: Sequence[float]) -> bool:
    return max(values) - min(values) > _ROUNDING


def _rank(readings: Sequence[ExplorerReading], method: Method) -> tuple[tuple[DirectionEvidence, ...], float]:
    """Return the directions, the best first, and the standard error of the difference between the first two."""
    ranked = _rank_by_mean(readings) if method == "mean" else _rank_by_pairs(readings)
    # The label breaks ties, so that every machine chooses the same.
    ranked.sort(key=lambda each: (-each.value, -each.readings, each.direction))
    spread = _compute_spread(readings) if method == "mean" else 0.5
    first_two = [spread**2 / (each.readings + ORDINARY_READINGS) for each in ranked[:2]]
    return tuple(ranked), math.sqrt(math.fsum(first_two))


def _rank_by_mean(readings: Sequence[ExplorerReading]) -> list[DirectionEvidence]:
    told = _leave_out_constant(readings)
    overall = _mean(told)
    return [
        DirectionEvidence(
            direction=direction,
            value=round(
                (math.fsum(each.value * each.count for each in own) + ORDINARY_READINGS * overall)
                / (math.fsum(each.count for each in own) + ORDINARY_READINGS),
                DIGITS,
            ),
            readings=round(math.fsum(each.count for each in own), DIGITS),
            readers=len(own),
        )
        for direction, own in _group(told).items()
    ]


def _leave_out_constant(readings: Sequence[ExplorerReading]) -> Sequence[ExplorerReading]:
    """Leave out whoever gave several directions one and the same value: it tells nothing apart, and moves means it read."""
    constant = {reader for reader, values in _group_values(readings).items() if len(values) > 1 and not _vary(values)}
    told = [each for each in readings if each.reader not in constant]
    covered = {each.direction for each in told}
    # A direction that nobody else read would drop out altogether: there the constant word is all there is.
    return [each for each in readings if each.reader not in constant or each.direction not in covered]


def _mean(readings: Sequence[ExplorerReading]) -> float:
    return math.fsum(each.value * each.count for each in readings) / math.fsum(each.count for each in readings)


def _group(readings: Sequence[ExplorerReading]) -> dict[str, list[ExplorerReading]]:
    groups: dict[str, list[ExplorerReading]] = {}
    for each in readings:
        groups.setdefault(each.direction, []).append(each)
    return groups


def _compute_spread(readings: Sequence[ExplorerReading]) -> float:
    """Return the standard deviation of one look, from how far the readers of one direction are apart; 0 if nobody shares one."""
    groups = _group(_leave_out_constant(readings))
    freedom = sum(len(own) - 1 for own in groups.values())
    if freedom < 1:
        return 0.0
    squares = math.fsum(each.count * (each.value - _mean(own)) ** 2 for own in groups.values() for each in own)
    return max(_MIN_SPREAD, math.sqrt(squares / freedom))


def _rank_by_pairs(readings: Sequence[ExplorerReading]) -> list[DirectionEvidence]:
    """Score each direction by the share of comparisons that it wins, two drawn ones put to them."""
    wins: dict[str, float] = dict.fromkeys(_group(readings), 0.0)
    fought: dict[str, float] = dict.fromkeys(wins, 0.0)
    by_reader: dict[str, list[ExplorerReading]] = {}
    for each in readings:
        by_reader.setdefault(each.reader, []).append(each)
    for own in by_reader.values():
        for at, one in enumerate(own):
            for other in own[at + 1 :]:
                weight = min(one.count, other.count, 1.0)
                share = 0.5 if one.rank == other.rank else float(one.rank > other.rank)
                wins[one.direction] += weight * share
                wins[other.direction] += weight * (1 - share)
                fought[one.direction] += weight
                fought[other.direction] += weight
    groups = _group(readings)
    return [
        DirectionEvidence(
            direction=direction,
            value=round((wins[direction] + 0.5 * ORDINARY_READINGS) / (fought[direction] + ORDINARY_READINGS), DIGITS),
            readings=round(fought[direction], DIGITS),
            readers=len(own),
        )
        for direction, own in groups.items()
    ]


def _count_needed(ranked: Sequence[DirectionEvidence], method: Method) -> int | None:
    """Return how many more readings of the highest value the second would need to overtake the first."""
    if len(ranked) < 2 or ranked[0].value >= _HIGHEST - _ROUNDING:
        return None
    first, second = ranked[0], ranked[1]
    held = second.readings + ORDINARY_READINGS
    # (held · second + n) / (held + n) > first, solved for n.
    return max(1, math.floor(held * (first.value - second.value) / (_HIGHEST - first.value) + _ROUNDING) + 1)


def compute_assurance(z: float) -> float:
    """Return how probable it is that the first is really better than the second, if errors are normally distributed: Φ(z)."""
    return round(0.5 * (1.0 + math.erf(z / math.sqrt(2.0))), DIGITS)


def _find_decisive(readings: Sequence[ExplorerReading], method: Method, leader: str) -> tuple[str, ...]:
    """Return the readers without whom another direction would lead."""
    decisive = []
    for reader in sorted({each.reader for each in readings}):
        rest = [each for each in readings if each.reader != reader]
        if not rest or _rank(rest, method)[0][0].direction != leader:
            decisive.append(reader)
    return tuple(decisive)


def scale_deposits(amounts: Mapping[Cell, tuple[int, float]], ratings: Mapping[Cell, float], most: float) -> float:
    """Return the factor that makes a deposit comparable with a rating; both are given by direction and reader.

    It is the ratio of both where somebody gave both; where nobody did, the highest deposit counts as the highest rating.
    """
    both = [(key, amounts[key]) for key in ratings if key in amounts]
    given = math.fsum(total for _, (_, total) in both)
    if not given > 0:
        return 1.0 / most
    rated = math.fsum(ratings[key] * count for key, (count, _) in both)
    return rated / given if rated > 0 else 1.0 / most
