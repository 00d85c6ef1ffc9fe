"""What answers are evidence for: weights in log-odds, and the posterior over the options (D-12).

A source that is right with the probability a among K options weighs

    w = max(0, ln(a · (K − 1) / (1 − a)))        nothing at chance, and nothing below it

and the posterior of an option is softmax(Σ b · w · f) over the options, where f is what an answer is worth beside the others that
err with it (`independence.compute_independence`) and b the seat's bias weight over the heaviest. An option that nobody named
counts exp(0). Where the options are named, the record counts as it is; for open answers, where being right in one case of three
is skill, as a ratio: the mean weight at the table is that of a source without a record.

Only what was answered before anyone read anyone is such evidence: agreement that comes from reading is right far less often.

A seat that states how sure it is says more than its choice, as far as it has shown that it knows: with n reviewed cases its
statement c counts κ = n / (n + 10), and the presumption the rest.

    score = (1 − κ) · b · w · f + κ · l · b · w · f / Σ b · w · f        l = ln(c · (K − 1) / (1 − c))

A statement above STATED_CEILING counts no more than that. Nothing above CEILING is claimed: there are too few recorded cases to
show it. `bench/decisions` measures this rule beside others.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal, TypeVar

from moothall.domain.either_or import YES_OR_NO
from moothall.domain.ids import SeatId
from moothall.domain.replace import dataclass
from moothall.domain.roster import Seat
from moothall.domain.topic import Topic, normalize_label
from moothall.scoring.independence import build_seat_correlations, compute_independence
from moothall.scoring.trust import PRIOR_ACCURACY, find_accuracy

CEILING: Final = 0.99
"""The most that is claimed."""

STATED_CEILING: Final = 0.95
"""The most that a stated confidence counts as: one seat that claims to be certain must not outweigh all others."""

STATED_CASES: Final = 10.0
"""How many reviewed cases make a stated confidence count half."""

MOTION_OPTIONS: Final = 2
OPEN_OPTIONS: Final = 20
"""How many options an open answer is presumed to have been chosen from."""

MIN_BLIND: Final = 2
"""Fewer answers than this are one voice, not a group's."""

_DIGITS: Final = 9
"""Scores are compared to this many digits: the order of floating-point additions must not break a tie."""

Name = TypeVar("Name")


@lru_cache(maxsize=256)
def compute_record_weight(accuracy: float, options: int = MOTION_OPTIONS) -> float:
    """Return the weight of a source that is right this often among so many options, in log-odds."""
    share = min(max(accuracy, 0.0), CEILING)
    odds = share * (max(options, MOTION_OPTIONS) - 1) / (1 - share)
    return math.log(odds) if odds > 1 else 0.0


def compute_posterior(scores: Mapping[Name, float], options: int) -> dict[Name, float]:
    """Return the probability of each named option, at most CEILING; the unnamed ones of all `options` count exp(0)."""
    if not scores:
        return {}
    # Shifted by the largest score, which changes no ratio and cannot overflow.
    top = max(0.0, *scores.values())
    shares = {name: math.exp(score - top) for name, score in scores.items()}
    total = math.fsum(shares.values()) + max(options - len(scores), 0) * math.exp(-top)
    return {name: min(share / total, CEILING) for name, share in shares.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindAnswer:
    """What one seat chose before it read anyone."""

    choice: str
    accuracy: float = PRIOR_ACCURACY
    """How often the seat is right, by its record."""
    worth: float = 1.0
    """What it is worth beside the others that err with it."""
    weight: float = 1.0
    """Its bias weight over that of the heaviest."""
    stated: float | None = None
    """How sure it says it is."""
    cases: float = 0.0
    """How many of its statements were reviewed."""


def score_choices(answers: Sequence[BlindAnswer], options: int | None) -> dict[str, float]:
    """Return the score of each choice in log-odds; `options` is None for open answers."""
    count = options or OPEN_OPTIONS
    records = [compute_record_weight(each.accuracy, count) for each in answers]
    if options is None and (mean := math.fsum(records) / (len(records) or 1)) > 0:
        records = [
            record * compute_record_weight(PRIOR_ACCURACY, count) / mean for record in records
        ]
    sources = [
        each.weight * record * each.worth for each, record in zip(answers, records, strict=True)
    ]
    total = math.fsum(sources)
    parts: dict[str, list[float]] = {}
    for each, source in zip(answers, sources, strict=True):
        share = (
            0.0 if each.stated is None or total <= 0 else each.cases / (each.cases + STATED_CASES)
        )
        stated = compute_record_weight(min(each.stated or 0.0, STATED_CEILING), count)
        score = source * (1 - share) + (share * stated * source / total if share else 0.0)
        parts.setdefault(each.choice, []).append(score)
    # `fsum` is exact, so that the result does not depend on the order of the seats.
    return {choice: math.fsum(scores) for choice, scores in parts.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindEvidence:
    """What the answers of a table say that nobody had read: how many gave each choice, and what that is worth."""

    counts: Mapping[str, int]
    """The seats behind each choice."""
    scores: dict[str, float]
    """The log-odds of each choice."""
    options: int
    """How many options there are, or are presumed."""
    is_listed: bool = False
    """Whether the options were named: then every label is one of them."""

    def is_comparable(self, choice: str) -> bool:
        """Whether the answers say anything of a choice: of one that was worded later, code cannot tell what it means (Q-10)."""
        label = normalize_label(choice)
        return self.is_listed or label in self.counts or YES_OR_NO.issuperset({label, *self.counts})

    def find_confidence(self, choice: str) -> float | None:
        """Return how likely what was decided is right; None without a choice to compare, or with one answer alone."""
        label = normalize_label(choice)
        if not label or not self.is_comparable(label) or sum(self.counts.values()) < MIN_BLIND:
            return None
        return self.compute_posterior(label)

    def compute_posterior(self, choice: str) -> float:
        """Return the chance that a choice is right; one that nobody gave shares what is left."""
        return compute_posterior({choice: 0.0, **self.scores}, self.options)[choice]

    @property
    def majority(self) -> str | None:
        """The choice of more than half of them, and at least two; None if there is none."""
        choice, count = Counter(self.counts).most_common(1)[0]
        return choice if count >= MIN_BLIND and 2 * count > sum(self.counts.values()) else None

    @property
    def leader(self) -> str | None:
        """The likeliest choice; of equals the one of more seats, None if two have as many."""
        ranked = sorted(self.scores, key=self._rate, reverse=True)
        return (
            None
            if len(ranked) > 1 and self._rate(ranked[0]) == self._rate(ranked[1])
            else ranked[0]
        )

    def count_lead(self, choice: str) -> int:
        """Return how many more seats gave this choice than any other."""
        return self.counts[choice] - max(
            (count for other, count in self.counts.items() if other != choice), default=0
        )

    def _rate(self, choice: str) -> tuple[float, int]:
        return round(self.scores[choice], _DIGITS), self.counts[choice]


def weigh_blind_answers(
    seats: Sequence[Seat], answers: Mapping[SeatId, tuple[str, float | None]], subject: Topic
) -> BlindEvidence | None:
    """Return what the blind answers say, each a choice and how sure its seat says it is; None if nobody named a choice."""
    named: dict[SeatId, tuple[str, float | None]] = {}
    for seat_id, (choice, stated) in answers.items():
        label = normalize_label(choice)
        if label:
            named[seat_id] = label, stated
    voters = [seat for seat in seats if seat.id in named]
    if not voters:
        return None
    correlations = build_seat_correlations(subject.error_correlations, voters)
    worths = compute_independence(
        len(voters), lambda i, j: correlations(voters[i].id, voters[j].id)
    )
    heaviest = max(seat.weight for seat in voters)
    counts = Counter(named[seat.id][0] for seat in voters)
    options = _count_options(subject, counts)
    listed: list[BlindAnswer] = []
    for seat, worth in zip(voters, worths, strict=True):
        label, stated = named[seat.id]
        listed.append(
            BlindAnswer(
                choice=label,
                accuracy=find_accuracy(seat),
                worth=worth,
                weight=seat.weight / heaviest,
                stated=stated,
                cases=seat.cases,
            )
        )
    return BlindEvidence(
        counts=counts,
        scores=score_choices(listed, options),
        options=options or OPEN_OPTIONS,
        is_listed=bool(subject.options),
    )


Agreement = Literal["blind", "after_reading", "alone"]
"""`alone`: one seat was asked and nobody else."""


def find_agreement(
    choice: str, siding: Iterable[SeatId], answers: Mapping[SeatId, str]
) -> Agreement:
    """Return whether all who agree on a choice had answered so before they read each other."""
    label = normalize_label(choice)
    is_blind = label and all(normalize_label(answers.get(seat, "")) == label for seat in siding)
    return "blind" if is_blind else "after_reading"


def _count_options(subject: Topic, labels: Mapping[str, int]) -> int | None:
    if subject.options:
        return max(len(subject.options), MOTION_OPTIONS)
    # A question that all answer with yes or no has two answers, also where nobody listed them.
    return MOTION_OPTIONS if YES_OR_NO.issuperset(labels) else None
