"""The shipped rule for blind answers beside the one before it, which weighed each answer beside all others at the table (D-12).

    before: score = Σ (1 − κ) · w · f + κ · l · w · f / Σ w · f over the table        f = R⁻¹·1 over all who answered

There a supporter took worth from its fellows, one more answer of another kind could lower the second answer less than the third,
and the mean of open records moved with whoever joined: one more supporter could lower a chance (Q-11).
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from moothall.scoring.independence import (
    AGREED_OTHER_FAMILY,
    compute_independence,
    presume_correlation,
)
from moothall.scoring.posterior import (
    OPEN_OPTIONS,
    STATED_CASES,
    STATED_CEILING,
    BlindAnswer,
    BlindEvidence,
    compute_posterior,
    compute_record_weight,
    score_choices,
)
from moothall.scoring.trust import PRIOR_ACCURACY


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAnswer:
    """What one seat of a family answered."""

    choice: str
    family: str
    accuracy: float = PRIOR_ACCURACY
    stated: float | None = None
    cases: float = 0.0


BlindRule = Callable[[Sequence[TableAnswer], int], BlindEvidence]
"""What the answers say among so many options; OPEN_OPTIONS: they were open."""


def score_by_agreement(answers: Sequence[TableAnswer], options: int) -> BlindEvidence:
    """The shipped rule: those who agree are pooled, whoever else answered."""
    listed = [
        BlindAnswer(
            choice=each.choice, accuracy=each.accuracy, stated=each.stated, cases=each.cases
        )
        for each in answers
    ]

    def correlate(i: int, j: int) -> float:
        return presume_correlation(answers[i].family, answers[j].family, AGREED_OTHER_FAMILY)

    scores = score_choices(listed, _name_options(options), correlate)
    return _build_evidence(answers, scores, options)


def score_by_whole_table(answers: Sequence[TableAnswer], options: int) -> dict[str, float]:
    """The rule before."""
    worths = _find_worths(tuple(each.family for each in answers))
    records = [compute_record_weight(each.accuracy, options) for each in answers]
    mean = math.fsum(records) / (len(records) or 1)
    if _name_options(options) is None and mean > 0:
        ordinary = compute_record_weight(PRIOR_ACCURACY, options)
        records = [record * ordinary / mean for record in records]
    sources = [record * worth for record, worth in zip(records, worths, strict=True)]
    total = math.fsum(sources)
    scores: dict[str, float] = {}
    for each, source in zip(answers, sources, strict=True):
        share = 0.0
        if each.stated is not None and total > 0:
            share = each.cases / (each.cases + STATED_CASES)
        stated = compute_record_weight(min(each.stated or 0.0, STATED_CEILING), options)
        score = source * (1 - share)
        if share:
            score += share * stated * source / total
        scores[each.choice] = scores.get(each.choice, 0.0) + score
    return scores


def forecast_by_agreement(answers: Sequence[TableAnswer], choice: str, options: int) -> float:
    """How likely a choice is right by the shipped rule."""
    return score_by_agreement(answers, options).compute_posterior(choice)


def forecast_by_whole_table(answers: Sequence[TableAnswer], choice: str, options: int) -> float:
    """How likely a choice is right by the rule before."""
    scores = {choice: 0.0, **score_by_whole_table(answers, options)}
    return compute_posterior(scores, options)[choice]


def _name_options(options: int) -> int | None:
    return None if options == OPEN_OPTIONS else options


def _build_evidence(
    answers: Sequence[TableAnswer], scores: dict[str, float], options: int
) -> BlindEvidence:
    counts: dict[str, int] = {}
    for each in answers:
        counts[each.choice] = counts.get(each.choice, 0) + 1
    return BlindEvidence(counts=counts, scores=scores, options=options)


@functools.cache
def _find_worths(families: tuple[str, ...]) -> list[float]:
    return compute_independence(
        len(families), lambda i, j: presume_correlation(families[i], families[j])
    )
