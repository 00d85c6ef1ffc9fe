"""What answers are evidence for: weights in log-odds, and the posterior over the options (D-12).

A source that is right with the probability a among K options weighs

    w = max(0, ln(a · (K − 1) / (1 − a)))        nothing at chance, and nothing below it

What speaks for an option is what its sources are worth together, `independence.pool_agreeing`: those that err together count for
less than their number, one mind on several seats counts once. The posterior is softmax over the options; one that nobody named
counts exp(0). Only those who gave an answer say what is worth how much for it. So one more of them never makes it less likely, and
one that answers otherwise never more (Q-11). Bias weights say who decides and never who is right: they are not in it.

Where the options are named, the record counts as it is. Open answers are one of OPEN_OPTIONS, and of OPEN_MORE more for every
further answer that was given: the more answers there are, the more there could have been. Among so many, being right in one case
of four is skill: a record between OPEN_SKILL and that of a source without one counts as the latter.

Only what was answered before anyone read anyone is such evidence: agreement that comes from reading is right far less often.

A seat that states how sure it is says more than its choice, as far as it has shown that it knows: with n reviewed cases its
statement c counts κ = n / (n + 10), and the presumption, that it is as sure as ORDINARY_STATEMENT, the rest:

    w · (1 − κ + κ · l(c) / l(ORDINARY_STATEMENT))        l(c) = max(0, ln(c · (K − 1) / (1 − c)))

A statement above STATED_CEILING counts no more than that. Nothing above CEILING is claimed: there are too few recorded cases to
show it. `bench/decisions` measures this rule beside others.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Final, Literal, TypeVar

from moothall.domain.frame import YES_OR_NO
from moothall.domain.groups import NO_GROUPS, Groups
from moothall.domain.ids import SeatId
from moothall.domain.replace import dataclass
from moothall.domain.roster import Seat
from moothall.domain.topic import Topic, normalize_label
from moothall.scoring.independence import (
    AGREED_OTHER_FAMILY,
    PairCorrelations,
    build_seat_correlations,
    pool_agreeing,
)
from moothall.scoring.trust import PRIOR_ACCURACY, find_accuracy

CEILING: Final = 0.99
"""The most that is claimed."""

STATED_CEILING: Final = 0.95
"""The most that a stated confidence counts as: one seat that claims to be certain must not outweigh all others."""

STATED_CASES: Final = 10.0
"""How many reviewed cases make a stated confidence count half."""

ORDINARY_STATEMENT: Final = 0.85
"""Who states this much says what its record says."""

MOTION_OPTIONS: Final = 2
OPEN_OPTIONS: Final = 20
"""How many options an open answer is presumed to have been chosen from, where all gave the same."""
OPEN_MORE: Final = 40
"""How many more for every further answer."""
OPEN_SKILL: Final = 0.25
"""How often a source is right in open questions that is worth as much there as one without a record."""

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
    stated: float | None = None
    """How sure it says it is."""
    cases: float = 0.0
    """How many of its statements were reviewed."""


def score_choices(
    answers: Sequence[BlindAnswer], options: int | None, correlations: PairCorrelations
) -> dict[str, float]:
    """Return the score of each choice in log-odds; `options` is None for open answers, `correlations` are by place in the list."""
    places: dict[str, list[int]] = {}
    for place, each in enumerate(answers):
        places.setdefault(each.choice, []).append(place)
    weights = [_weigh_answer(each, options) for each in answers]
    scores: dict[str, float] = {}
    for choice, agreeing in places.items():

        def correlate(i: int, j: int, agreeing: Sequence[int] = agreeing) -> float:
            return correlations(agreeing[i], agreeing[j])

        scores[choice] = pool_agreeing([weights[place] for place in agreeing], correlate)
    return scores


def _weigh_answer(answer: BlindAnswer, options: int | None) -> float:
    """Return what one answer weighs alone: by the record, and by what its seat states as far as it has shown that it knows."""
    count = options or OPEN_OPTIONS
    record = compute_record_weight(answer.accuracy, count)
    if options is None:
        ordinary = compute_record_weight(PRIOR_ACCURACY, count)
        skill = record / compute_record_weight(OPEN_SKILL, count)
        record = max(record, ordinary * min(1.0, skill))
    if answer.stated is None:
        return record
    share = answer.cases / (answer.cases + STATED_CASES)
    stated = compute_record_weight(min(answer.stated, STATED_CEILING), count)
    return record * (1 - share + share * stated / compute_record_weight(ORDINARY_STATEMENT, count))


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindEvidence:
    """What the answers of a table say that nobody had read: how many gave each choice, and what that is worth."""

    counts: Mapping[str, int]
    """The seats behind each choice."""
    scores: dict[str, float]
    """The log-odds of each choice."""
    options: int
    """How many options there are; OPEN_OPTIONS for open answers."""
    listed: frozenset[str] = frozenset()
    """The options that were named."""
    of_two: Mapping[str, float] = field(default_factory=dict)
    """The log-odds among two options, where some answered yes or no and others named something else."""
    groups: Groups = NO_GROUPS
    """Which words are one choice."""

    def is_comparable(self, choice: str) -> bool:
        """Whether it is known if a choice is one of those that were given: of one that was worded later, only a judge knows."""
        label = self.groups.find(choice)
        return (
            label in self.listed
            or label in self.counts
            or self.groups.is_judged(choice)
            or YES_OR_NO.issuperset({label, *self.counts})
        )

    def is_given(self, choice: str) -> bool:
        """Whether a seat gave this answer; what only talking brought has no chance from the blind answers (Q-10)."""
        return self.groups.find(choice) in self.counts

    def find_confidence(self, choice: str) -> float | None:
        """Return how likely what was decided is right; None for a choice that nobody gave, or with one answer alone."""
        label = self.groups.find(choice)
        if not label or not self.is_given(label) or sum(self.counts.values()) < MIN_BLIND:
            return None
        return self.compute_posterior(label)

    def compute_posterior(self, choice: str) -> float:
        """Return the chance that a choice is right; one that nobody gave shares what is left."""
        options = self.options
        if options == OPEN_OPTIONS and not self.listed:
            options += OPEN_MORE * (len(self.counts) - 1)
        chance = compute_posterior({choice: 0.0, **self.scores}, options)[choice]
        if self.of_two and choice in YES_OR_NO:
            # That somebody names a third answer does not make yes surer than among two.
            among_two = compute_posterior({choice: 0.0, **self.of_two}, MOTION_OPTIONS)[choice]
            chance = min(chance, among_two)
        return chance

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
    seats: Sequence[Seat],
    answers: Mapping[SeatId, tuple[str, float | None]],
    subject: Topic,
    groups: Groups = NO_GROUPS,
) -> BlindEvidence | None:
    """Return what the blind answers say, each a choice and how sure its seat says it is; None if nobody named a choice."""
    named: dict[SeatId, tuple[str, float | None]] = {}
    for seat_id, (choice, stated) in answers.items():
        label = groups.find(choice)
        if label:
            named[seat_id] = label, stated
    voters = [seat for seat in seats if seat.id in named]
    if not voters:
        return None
    correlations = build_seat_correlations(
        subject.error_correlations, seats, other_family=AGREED_OTHER_FAMILY
    )

    def correlate(i: int, j: int) -> float:
        return correlations(voters[i].id, voters[j].id)

    listed: list[BlindAnswer] = []
    for seat in voters:
        label, stated = named[seat.id]
        listed.append(
            BlindAnswer(choice=label, accuracy=find_accuracy(seat), stated=stated, cases=seat.cases)
        )
    counts = Counter(each.choice for each in listed)
    options = _count_options(subject, counts)
    of_two: dict[str, float] = {}
    if options is None and not YES_OR_NO.isdisjoint(counts):
        of_two = score_choices(listed, MOTION_OPTIONS, correlate)
    return BlindEvidence(
        counts=counts,
        scores=score_choices(listed, options, correlate),
        options=options or OPEN_OPTIONS,
        listed=frozenset(map(normalize_label, subject.options)),
        of_two=of_two,
        groups=groups,
    )


Agreement = Literal["blind", "after_reading", "alone"]
"""`alone`: one seat was asked and nobody else."""


def find_agreement(
    choice: str, siding: Iterable[SeatId], answers: Mapping[SeatId, str], groups: Groups = NO_GROUPS
) -> Agreement:
    """Return whether all who agree on a choice had answered so before they read each other."""
    label = groups.find(choice)
    is_blind = label and all(groups.find(answers.get(seat, "")) == label for seat in siding)
    return "blind" if is_blind else "after_reading"


def list_first_holders(
    choice: str, answers: Mapping[SeatId, str], evidence: BlindEvidence | None
) -> tuple[SeatId, ...] | None:
    """Return the seats that gave an answer before they read anybody; None where nobody can tell.

    An answer that was worded later may be one of the blind ones in other words.
    """
    if evidence is None or not choice.strip():
        return None
    groups = evidence.groups
    holders = tuple(seat for seat, said in answers.items() if groups.is_same(said, choice))
    if not holders and not evidence.is_comparable(choice):
        return None
    return holders


def _count_options(subject: Topic, labels: Mapping[str, int]) -> int | None:
    if subject.options:
        return max(len(subject.options), MOTION_OPTIONS)
    # A question that all answer with yes or no has two answers, also where nobody listed them.
    return MOTION_OPTIONS if YES_OR_NO.issuperset(labels) else None
