"""Votes that state a confidence, made up because none of the recordings has any: what the confidences should count for (D-12).

The truth of a motion is a fair coin, +1 or −1. A seat reads it with noise, x = d · truth + e, where e has the variance 1 and the
correlation LATENT with the others'. It votes for the sign of x, and is right with the probability Φ(d). What it may rightly say
is σ(2 · d · |x|): this is how often it is right when it reads x. What it does say depends on its kind:

calibrated      what it may rightly say
overconfident   0.80 to 1.00 in steps of 0.05, hardly higher where it is right, as language models are known to do
constant        always 0.8
noise           anything from 0.5 to 1, whatever it reads
mixed           each seat another of these

The records are learned as in Moot: from earlier cases, right or wrong, beside the prior; each group draws its own. Everything
follows from the seed.
"""

import functools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Final, Literal, get_args

from bench.decisions.blind_rules import (
    TableAnswer,
    forecast_by_agreement,
    forecast_by_whole_table,
)
from bench.decisions.earlier import (
    TrustedVote,
    average_stated,
    compute_in_proportion,
    compute_motion_posterior,
)
from moothall.scoring.independence import compute_independence, presume_correlation
from moothall.scoring.posterior import (
    CEILING,
    compute_record_weight,
)
from moothall.scoring.trust import TrackRecord, compute_accuracy, compute_brier, compute_trust

GROUPS: Final = 40
CASES: Final = 40
"""How many cases each group decides, after EARLIER ones that made its seats' records."""

EARLIER: Final = 40
SEED: Final = 12
ACCURACIES: Final = (0.55, 0.6, 0.65, 0.7, 0.8)

Kind = Literal["calibrated", "overconfident", "constant", "noise", "mixed"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
Panel = Literal["one family", "five families"]
LATENT: Final[dict[Panel, float]] = {"one family": 0.72, "five families": 0.4}
"""The correlation of the noises; that of the errors, right or wrong, comes out near SAME_FAMILY and OTHER_FAMILY."""

Pairs = list[tuple[float, bool]]
Pool = Callable[[Sequence[TrustedVote]], float]
"""The probability that a motion is right, by the votes on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """One panel with one kind of stated confidences: its forecasts by each way of pooling, and how its seats erred together."""

    panel: Panel
    kind: Kind
    correlation: float
    forecasts: dict[str, Pairs]


def simulate_panels() -> list[Simulation]:
    """Every panel with every kind of confidences."""
    return [simulate(panel, kind) for panel in LATENT for kind in KINDS]


def simulate(panel: Panel, kind: Kind) -> Simulation:
    """One panel with one kind of confidences."""
    # The same readings for every kind: only what the seats say of them differs.
    readings, words = random.Random(f"{SEED} {panel}"), random.Random(f"{SEED} {panel} {kind}")
    forecasts: dict[str, Pairs] = {name: [] for name in POOLS}
    errors: list[tuple[bool, ...]] = []
    for _ in range(GROUPS):
        records = [TrackRecord()] * len(ACCURACIES)
        for _ in range(EARLIER):
            truth, found = _read(readings, LATENT[panel])
            records = [
                record.plus(
                    compute_brier(_state(kind, seat, x, words), float(x * truth > 0)),
                    float(x * truth > 0),
                )
                for seat, (record, x) in enumerate(zip(records, found, strict=True))
            ]
        for _ in range(CASES):
            truth, found = _read(readings, LATENT[panel])
            votes = [
                TrustedVote(
                    seat=str(seat),
                    position="support" if x > 0 else "oppose",
                    confidence=_state(kind, seat, x, words),
                    trust=compute_trust(record),
                    accuracy=compute_accuracy(record),
                    family="one" if panel == "one family" else str(seat),
                )
                for seat, (record, x) in enumerate(zip(records, found, strict=True))
            ]
            errors.append(tuple(x * truth > 0 for x in found))
            for name, pool in POOLS.items():
                forecasts[name].append(_turn(pool(votes), truth))
    return Simulation(panel=panel, kind=kind, correlation=_correlate(errors), forecasts=forecasts)


def _read(rng: random.Random, latent: float) -> tuple[int, list[float]]:
    truth = rng.choice((1, -1))
    shared = rng.gauss() * math.sqrt(latent)
    return truth, [
        truth * NormalDist().inv_cdf(right) + shared + rng.gauss() * math.sqrt(1 - latent)
        for right in ACCURACIES
    ]


def _state(kind: Kind, seat: int, x: float, rng: random.Random) -> float:
    rightly = 1 / (1 + math.exp(-2 * NormalDist().inv_cdf(ACCURACIES[seat]) * abs(x)))
    match kind:
        case "calibrated":
            return rightly
        case "overconfident":
            return min(
                max(round((0.85 + 0.15 * (rightly - 0.5) + rng.gauss(0, 0.04)) * 20) / 20, 0.8), 1.0
            )
        case "constant":
            return 0.8
        case "noise":
            return rng.uniform(0.5, 1.0)
        case "mixed":
            return _state(KINDS[seat % 4], seat, x, rng)


def _turn(forecast: float, truth: int) -> tuple[float, bool]:
    """What the group holds for more likely, how likely it says that this is, and whether it is right."""
    chosen = 1 if forecast > 0.5 else -1
    return max(forecast, 1 - forecast), chosen == truth


def _correlate(errors: Sequence[Sequence[bool]]) -> float:
    """The mean correlation of being right between two seats."""
    count, seats = len(errors), range(len(errors[0]))
    shares = [sum(each[seat] for each in errors) / count for seat in seats]
    found = []
    for one in seats:
        for two in range(one):
            together = sum(each[one] and each[two] for each in errors) / count
            spread = math.sqrt(shares[one] * (1 - shares[one]) * shares[two] * (1 - shares[two]))
            found.append((together - shares[one] * shares[two]) / spread)
    return sum(found) / len(found)


@functools.cache
def _find_worths(families: tuple[str, ...]) -> list[float]:
    return compute_independence(
        len(families), lambda i, j: presume_correlation(families[i], families[j])
    )


def _find_log_odds(vote: TrustedVote) -> float:
    """The log-odds that a vote states, above nought for the motion."""
    share = min(vote.confidence, CEILING)
    return math.log(share / (1 - share)) * (1 if vote.position == "support" else -1)


def _list_answers(votes: Sequence[TrustedVote]) -> list[TableAnswer]:
    return [
        TableAnswer(
            choice=str(vote.position),
            family=vote.family,
            accuracy=vote.accuracy,
            stated=vote.confidence if vote.stated else None,
            cases=EARLIER,
        )
        for vote in votes
    ]


def _weigh_statements(votes: Sequence[TrustedVote]) -> float:
    """The shipped rule: a statement counts by the cases behind it, the presumption the rest."""
    return forecast_by_agreement(_list_answers(votes), "support", 2)


def _weigh_by_whole_table(votes: Sequence[TrustedVote]) -> float:
    return forecast_by_whole_table(_list_answers(votes), "support", 2)


def _ignore_confidences(votes: Sequence[TrustedVote]) -> float:
    return _weigh_statements([replace(vote, stated=False) for vote in votes])


def _mix(votes: Sequence[TrustedVote]) -> float:
    sides = [
        math.log(each / (1 - each)) for each in (average_stated(votes), _ignore_confidences(votes))
    ]
    return compute_motion_posterior(math.fsum(sides) / 2)


def _sum_log_odds(votes: Sequence[TrustedVote]) -> float:
    worths = _find_worths(tuple(vote.family for vote in votes))
    return compute_motion_posterior(
        math.fsum(_find_log_odds(v) * f for v, f in zip(votes, worths, strict=True))
    )


def _sum_by_record(votes: Sequence[TrustedVote]) -> float:
    worths = _find_worths(tuple(vote.family for vote in votes))
    weights = [
        compute_record_weight(vote.accuracy) * worth
        for vote, worth in zip(votes, worths, strict=True)
    ]
    mean = math.fsum(_find_log_odds(v) * w for v, w in zip(votes, weights, strict=True)) / (
        math.fsum(weights) or 1.0
    )
    return compute_motion_posterior(mean * math.fsum(worths))


def _average_probabilities(votes: Sequence[TrustedVote]) -> float:
    return math.fsum(
        v.confidence if v.position == "support" else 1 - v.confidence for v in votes
    ) / len(votes)


OURS: Final = "by the cases behind it (ours)"
WHOLE_TABLE: Final = "by the whole table (the rule before)"
PROPORTION: Final = "in proportion (the first rule)"
POOLS: Final[dict[str, Pool]] = {
    OURS: _weigh_statements,
    WHOLE_TABLE: _weigh_by_whole_table,
    "mean of log-odds, by record": average_stated,
    "the mean times the effective votes": _sum_by_record,
    "sum of log-odds × n_eff/n": _sum_log_odds,
    "mean of probabilities": _average_probabilities,
    "confidences ignored": _ignore_confidences,
    "half the mean, half ignored": _mix,
    PROPORTION: compute_in_proportion,
}
