"""Chooses an answer by what its readers say of it, not by how many hold it (S-30, S-34).

Every reader has one reading of an answer, however often it looked. What one reader means by 0.7 is another's 0.4, and one that
rates everything 0 or 1 is not surer than one that rates carefully: so each reading is centred on its reader's own mean, measured
in the reader's own spread, and cut at one spread. No reader can then move an answer further than any other, and one liar among
seven does not decide. What a reader holds is its word, too: who gives one value to everything is read by that, and where one
rates another answer above what it holds, each of the two words counts half. An answer's value is the mean of these readings with
ten ordinary ones put to it, so that a few lucky looks do not win. Where fewer than half of the readers tell answers apart by
their values, a mean says nothing: then each reader's order of the answers that it read counts, pair by pair.

How sure that is follows D-12: a reading one spread above its reader's mean is worth one vote of a source without a record, beside
the others that err with it, and all answers share one probability.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal, TypeVar

from moothall.domain.replace import dataclass
from moothall.scoring.independence import count_effective_votes, presume_correlation
from moothall.scoring.posterior import compute_posterior, compute_record_weight
from moothall.scoring.trust import PRIOR_ACCURACY

Method = Literal["ratings", "pairs"]

ORDINARY: Final = 0.5
"""The value of a reading that is its reader's average."""
ORDINARY_READINGS: Final = 10.0
"""How many ordinary readings are put to those of each answer: what one reading errs by over what answers differ by, both squared.

A source that is right in 65 of 100 cases says +1 or -1 with the mean 0.3 and the variance 0.91, and 0.91 / 0.3² is ten.
"""
CLEAR_Z: Final = 0.5
"""Below so many standard errors the readings do not tell the first answer from the second (S-35)."""
DIGITS: Final = 12
_MIN_SPREAD: Final = 0.05
"""The least spread of a reader, and of readings: readers who agree to the digit have rounded."""
_ROUNDING: Final = 1e-9
Cell = TypeVar("Cell")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReading:
    """What one reader says of one answer."""

    answer: str
    reader: str
    value: float
    """From 0 to 1."""
    weight: float = 1.0
    """How much of it counts: less where reviewers doubt what it rests on, 0 where that was refuted."""
    rank: float = 0.0
    """Orders the answers of one reader by what it holds and what it warned of: the higher comes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerEvidence:
    """What the readings of one answer come to."""

    answer: str
    value: float
    """From 0 to 1; 0.5 is ordinary."""
    readings: float
    """How many readings it rests on: less than their number where reviewers challenged what they rest on."""
    readers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceVerdict:
    """What all readings come to."""

    method: Method
    """By the values of the readings, or by pairs where these say nothing."""
    ranked: tuple[AnswerEvidence, ...]
    """The answers, the best first."""
    margin: float = 0.0
    """The distance from the first to the second."""
    z: float | None = None
    """The same in standard errors; None if it cannot be computed."""
    sureness: float | None = None
    """The chance that the first is the best of all; None if it cannot be computed."""
    needed: int | None = None
    """How many more readers with the highest value the second would need to come first; None if no number would do."""
    decisive: tuple[str, ...] = ()
    """The readers without whose readings another answer would lead."""

    @property
    def is_distinct(self) -> bool:
        """Whether the readings tell the first answer from the second."""
        return self.z is not None and self.z >= CLEAR_Z


def judge_evidence(
    readings: Iterable[AnswerReading],
    correlations: Callable[[str, str], float] = presume_correlation,
) -> EvidenceVerdict | None:
    """Rank answers by their readings; None without any reading that counts. The order of the readings does not matter.

    `correlations` says how far two readers err together; without it each is a family of its own.
    """
    counted = sorted(
        (each for each in readings if each.weight > 0), key=lambda each: (each.answer, each.reader)
    )
    if not counted:
        return None
    method: Method = "ratings" if _have_values_meaning(counted) else "pairs"
    ranked, spread = _rank(counted, method)
    if len(ranked) == 1:
        return EvidenceVerdict(method=method, ranked=ranked)
    first, second = ranked[0], ranked[1]
    margin = first.value - second.value
    verdict = EvidenceVerdict(
        method=method,
        ranked=ranked,
        margin=round(margin, DIGITS),
        needed=_count_needed(ranked),
        decisive=_find_decisive(counted, method, first.answer),
    )
    error = math.hypot(_compute_error(first, spread), _compute_error(second, spread))
    if not error > 0:
        return verdict
    readers = sorted(_group(counted, "reader"))
    return replace(
        verdict,
        z=round(margin / error, DIGITS),
        sureness=_compute_sureness(ranked, readers, correlations),
    )


def _compute_error(evidence: AnswerEvidence, spread: float) -> float:
    """Return the standard error of an answer's value."""
    return spread * math.sqrt(evidence.readings) / (evidence.readings + ORDINARY_READINGS)


def _list_values(readings: Sequence[AnswerReading]) -> list[float]:
    return [each.value for each in readings]


def _have_values_meaning(readings: Sequence[AnswerReading]) -> bool:
    """Whether at least half of those who read several answers tell them apart; or, if nobody read several, values differ."""
    several = [own for own in _group(readings, "reader").values() if len(own) > 1]
    if not several:
        return _vary(_list_values(readings))
    return 2 * sum(_vary(_list_values(own)) for own in several) >= len(several)


def _group(
    readings: Sequence[AnswerReading], by: Literal["answer", "reader"]
) -> dict[str, list[AnswerReading]]:
    groups: dict[str, list[AnswerReading]] = {}
    for each in readings:
        groups.setdefault(getattr(each, by), []).append(each)
    return groups


def _vary(values: Sequence[float]) -> bool:
    return max(values) - min(values) > _ROUNDING


def _rank(
    readings: Sequence[AnswerReading], method: Method
) -> tuple[tuple[AnswerEvidence, ...], float]:
    """Return the answers, the best first, and the standard deviation of one reading."""
    if method == "ratings":
        compared = _compare_within_readers(readings)
    else:
        compared = _order_within_readers(readings)
    ranked, spread = _rank_by_values(compared), _compute_spread(compared)
    # The name breaks ties, so that every machine chooses the same.
    return tuple(
        sorted(ranked, key=lambda each: (-each.value, -each.readings, each.answer))
    ), spread


def _compare_within_readers(readings: Sequence[AnswerReading]) -> list[AnswerReading]:
    """Return the readings by how far each is above or below its reader's mean: 0 and 1 are one spread away, and the most."""
    readers = _group(readings, "reader").values()
    # One that read a single answer compares nothing: its reading is its mean. Where most did, all are compared with each other.
    are_single = 2 * sum(len(own) > 1 for own in readers) < len(readers)
    everything = _list_values(readings)
    compared = []
    for own in readers:
        scale = _list_values(own)
        if are_single and len(own) == 1:
            scale = everything
        for each, step in zip(own, _measure_reader(own, scale), strict=True):
            compared.append(replace(each, value=ORDINARY + ORDINARY * step))
    return compared


def _measure_reader(own: Sequence[AnswerReading], scale: Sequence[float]) -> list[float]:
    """Return how many spreads each reading of one reader is above the mean, by its value and by what the reader holds."""
    values, ranks = _list_values(own), [each.rank for each in own]
    steps = _measure_steps(values, scale)
    held = max(each.value for each in own if each.rank == max(ranks))
    if not _vary(ranks) or (held >= max(values) and _vary(values)):
        return steps
    # A constant value says nothing, so that what it holds counts whole; else it contradicts itself.
    share = 0.5 if _vary(values) else 1.0
    by_rank = _measure_steps(ranks, ranks)
    return [(1 - share) * one + share * other for one, other in zip(steps, by_rank, strict=True)]


def _measure_steps(values: Sequence[float], scale: Sequence[float]) -> list[float]:
    """Return how many spreads of the scale each value is above its mean, one at the most."""
    mean, spread = math.fsum(scale) / len(scale), max(_MIN_SPREAD, _compute_deviation(scale))
    return [max(-1.0, min(1.0, (value - mean) / spread)) for value in values]


def _compute_deviation(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))


def _rank_by_values(readings: Sequence[AnswerReading]) -> list[AnswerEvidence]:
    ranked = []
    for answer, own in _group(readings, "answer").items():
        weight = math.fsum(each.weight for each in own)
        total = math.fsum(each.value * each.weight for each in own) + ORDINARY * ORDINARY_READINGS
        value = round(total / (weight + ORDINARY_READINGS), DIGITS)
        ranked.append(
            AnswerEvidence(
                answer=answer, value=value, readings=round(weight, DIGITS), readers=len(own)
            )
        )
    return ranked


def _compute_spread(readings: Sequence[AnswerReading]) -> float:
    """Return the standard deviation of one reading, from how far the readers of one answer are apart; 0 if nobody shares one."""
    groups = [own for own in _group(readings, "answer").values() if len(own) > 1]
    if not groups:
        return 0.0
    freedom = sum(len(own) - 1 for own in groups)
    squares = math.fsum(len(own) * _compute_deviation(_list_values(own)) ** 2 for own in groups)
    return max(_MIN_SPREAD, math.sqrt(squares / freedom))


def _order_within_readers(readings: Sequence[AnswerReading]) -> list[AnswerReading]:
    """Return the readings by the share of its reader's other answers that each comes before; half of those level with it."""
    compared = []
    for own in _group(readings, "reader").values():
        marks = _list_values(own)
        if not _vary(marks):
            marks = [each.rank for each in own]
        for each, mark in zip(own, marks, strict=True):
            share = ORDINARY
            if len(own) > 1:
                behind = sum(mark > other for other in marks)
                # Its own mark is among those that are level.
                level = sum(mark == other for other in marks) - 1
                share = (behind + level / 2) / (len(own) - 1)
            compared.append(replace(each, value=share))
    return compared


def _compute_sureness(
    ranked: Sequence[AnswerEvidence],
    readers: Sequence[str],
    correlations: Callable[[str, str], float],
) -> float:
    """Return the chance that the first is the best of all: the posterior of D-12, with readings for votes."""
    effective = count_effective_votes(
        [1.0] * len(readers), lambda one, other: correlations(readers[one], readers[other])
    )
    weight = compute_record_weight(PRIOR_ACCURACY, len(ranked)) * effective / len(readers)
    scores = {
        each.answer: weight * (2 * each.value - 1) * (each.readings + ORDINARY_READINGS)
        for each in ranked
    }
    return round(compute_posterior(scores, len(ranked))[ranked[0].answer], DIGITS)


def _count_needed(ranked: Sequence[AnswerEvidence]) -> int | None:
    """Return how many more readings of the highest value the second would need to overtake the first."""
    if len(ranked) < 2 or ranked[0].value >= 1.0 - _ROUNDING:
        return None
    first, second = ranked[0], ranked[1]
    held = second.readings + ORDINARY_READINGS
    # (held · second + n) / (held + n) > first, solved for n.
    return max(
        1, math.floor(held * (first.value - second.value) / (1.0 - first.value) + _ROUNDING) + 1
    )


def _find_decisive(
    readings: Sequence[AnswerReading], method: Method, leader: str
) -> tuple[str, ...]:
    """Return the readers without whom another answer would lead."""
    decisive = []
    for reader in sorted({each.reader for each in readings}):
        rest = [each for each in readings if each.reader != reader]
        if not rest or _rank(rest, method)[0][0].answer != leader:
            decisive.append(reader)
    return tuple(decisive)


def scale_deposits(
    amounts: Mapping[Cell, tuple[int, float]], ratings: Mapping[Cell, float], most: float
) -> float:
    """Return the factor that makes a deposit comparable with a rating; both are given by answer and reader.

    It is the ratio of both where a reader gave both; where nobody did, the highest deposit counts as the highest rating.
    """
    both = [(key, amounts[key]) for key in ratings if key in amounts]
    given = math.fsum(total for _, (_, total) in both)
    if not given > 0:
        return 1.0 / most
    rated = math.fsum(ratings[key] * count for key, (count, _) in both)
    return rated / given if rated > 0 else 1.0 / most
