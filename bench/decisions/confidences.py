"""Whether the confidence of the rule in proportion to trust comes true, with its constants and with fitted ones."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.decisions.data import Case, Recording
from bench.decisions.earlier import (
    Leaning,
    TrustedVote,
    compute_in_proportion,
    compute_leaning,
    compute_probability,
)
from bench.decisions.tallies import Trust, folds, learned, neutral, own_order, weighed
from moothall.scoring.independence import presume_correlation
from moothall.scoring.positions import VotePosition
from moothall.scoring.resolution import ORDINARY_CONFIDENCE, resolve_open_vote

Pairs = list[tuple[float, bool]]
"""What was forecast, and whether it came true."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasts:
    """The same cases, forecast in several ways."""

    shipped: Pairs
    """With learned trust."""
    neutral: Pairs
    """With neutral trust for all."""
    fitted: Pairs
    """With neutral trust and ALONE and JOINED fitted on the other four fifths."""
    base_rate: Pairs
    """Always how often the group was right on the other four fifths."""
    fits: tuple[tuple[float, float], ...]
    """ALONE and JOINED as each of the five fits found them."""


def forecasts(recording: Recording) -> Forecasts:
    """The group's confidence in the winner of the tally, over all cases in which somebody chose."""
    shipped: Pairs = []
    plain: Pairs = []
    fitted: Pairs = []
    base_rate: Pairs = []
    fits: list[tuple[float, float]] = []
    for known, scored in folds(list_chosen(recording.cases)):
        trusts = learned(known)
        shipped += [_forecast(case, recording, trusts.of) for case in scored]
        plain += [_forecast(case, recording, neutral) for case in scored]
        examples = [_leaning(case, recording) for case in known]
        alone, joined = _fit(examples)
        fits.append((alone, joined))
        rate = sum(right for _, right in examples) / len(examples)
        for case in scored:
            found, right = _leaning(case, recording)
            fitted.append((compute_probability(found, alone=alone, joined=joined), right))
            base_rate.append((rate, right))
    return Forecasts(
        shipped=shipped, neutral=plain, fitted=fitted, base_rate=base_rate, fits=tuple(fits)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Groups of every size, drawn from the recorded ones: what fits them, and what the shipped constants say of them."""

    count: int
    alone: float
    joined: float
    fitted: Pairs
    shipped: Pairs


def groups(recording: Recording) -> Groups:
    """The fit over groups of every size, from one seat to all; this is where ALONE and JOINED come from."""
    examples = [_leaning(case, recording) for case in _smaller(recording.cases)]
    alone, joined = _fit(examples)
    return Groups(
        count=len(examples),
        alone=alone,
        joined=joined,
        fitted=[
            (compute_probability(found, alone=alone, joined=joined), right)
            for found, right in examples
        ],
        shipped=[(compute_probability(found), right) for found, right in examples],
    )


def mean_effective(recording: Recording) -> tuple[float, float]:
    """How many seats took a side on average, and how many independent votes they were worth."""
    found = [
        resolve_open_vote(_voices(case, recording, neutral))
        for case in list_chosen(recording.cases)
    ]
    return sum(one.voters for one in found) / len(found), sum(one.effective for one in found) / len(
        found
    )


def measured_correlations(recording: Recording) -> tuple[float | None, float | None]:
    """The mean error correlation of two seats, of one family and of different ones; None where there is no such pair."""
    same: list[float] = []
    other: list[float] = []
    seats = sorted(recording.families)
    for number, one in enumerate(seats):
        for two in seats[number + 1 :]:
            # One judge under two orders of presentation is one mind twice: neither a pair of a family nor of strangers.
            if one.split()[0] == two.split()[0]:
                continue
            (same if recording.families[one] == recording.families[two] else other).append(
                _phi(recording.cases, one, two)
            )
    return (sum(same) / len(same) if same else None), (sum(other) / len(other) if other else None)


def list_chosen(cases: Sequence[Case]) -> list[Case]:
    return [case for case in cases if any(case.blind.values())]


def _smaller(cases: Sequence[Case]) -> list[Case]:
    """For each case, the first seat of an order of the case's own, the first two, and so on."""
    found = []
    for case in cases:
        chosen = [
            (seat, case.blind[seat]) for seat in own_order(case) if case.blind[seat] is not None
        ]
        found += [
            replace(case, rounds=(dict(chosen[:size]),)) for size in range(1, len(chosen) + 1)
        ]
    return found


def _voices(case: Case, recording: Recording, trusted: Trust) -> list[TrustedVote]:
    winner = weighed(case, trusted)

    def position(choice: str | None) -> VotePosition:
        if choice is None:
            return "abstain"
        return "support" if choice == winner else "oppose"

    return [
        TrustedVote(
            seat=seat,
            position=position(choice),
            confidence=ORDINARY_CONFIDENCE,
            trust=trusted(seat, case.category),
            family=recording.families[seat],
        )
        for seat, choice in case.blind.items()
    ]


def _forecast(case: Case, recording: Recording, trusted: Trust) -> tuple[float, bool]:
    return compute_in_proportion(_voices(case, recording, trusted)), weighed(
        case, trusted
    ) == case.truth


def _leaning(case: Case, recording: Recording) -> tuple[Leaning, bool]:
    voices = [voice for voice in _voices(case, recording, neutral) if voice.position != "abstain"]
    found = compute_leaning(
        [float(voice.position == "support") for voice in voices],
        [float(voice.position == "oppose") for voice in voices],
        len(voices),
        lambda i, j: presume_correlation(voices[i].family, voices[j].family),
    )
    return found, weighed(case, neutral) == case.truth


def _fit(
    examples: Sequence[tuple[Leaning, bool]], steps: int = 12, ridge: float = 1.0
) -> tuple[float, float]:
    """ALONE and JOINED by logistic regression without an intercept: Newton's steps, drawn slightly towards nought."""
    alone = joined = 0.0
    for _ in range(steps):
        down, across = -ridge * alone, -ridge * joined
        aa, aj, jj = ridge, 0.0, ridge
        for found, right in examples:
            chance = 1 / (1 + math.exp(-(alone * found.net + joined * found.joint)))
            error, slope = right - chance, chance * (1 - chance)
            down += error * found.net
            across += error * found.joint
            aa += slope * found.net**2
            aj += slope * found.net * found.joint
            jj += slope * found.joint**2
        determinant = aa * jj - aj * aj
        alone += (jj * down - aj * across) / determinant
        joined += (aa * across - aj * down) / determinant
    return alone, joined


def _phi(cases: Sequence[Case], one: str, two: str) -> float:
    both = [
        (case.blind[one] == case.truth, case.blind[two] == case.truth)
        for case in cases
        if case.blind.get(one) is not None and case.blind.get(two) is not None
    ]
    first = sum(right for right, _ in both) / len(both)
    second = sum(right for _, right in both) / len(both)
    together = sum(left and right for left, right in both) / len(both)
    return (together - first * second) / math.sqrt(first * (1 - first) * second * (1 - second))
