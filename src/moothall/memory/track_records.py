"""Track records: how each source's forecasts compare with outcomes that were reported later, overall and by category (D-14).

A vote is a forecast that the decision will succeed. A success counts 1, a partial success a half, a failure 0; an abandoned
decision was never tested and is not scored. A source that decides alone supports its decision.

Error amplification: whether a group was better or worse than its members alone (D-15).

A member alone is its blind first choice. That choice is right if it equals the choice that proved right: the one that the review
names; else the group's own, if it succeeded; else, of two options, the one that the group did not take, if it failed. Otherwise
the right choice is unknown, and so is the member's result. Group and members are compared on the same cases, those whose right
choice is known.

Choices are compared by their words, and nothing is guessed: what is none of the options, or too long for a label, is no choice.

The lineage of a decision is what it was built on and what was built on it, each with its outcome.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from moothall.domain.dictionaries import group_pairs
from moothall.domain.replace import dataclass
from moothall.domain.topic import normalize_label
from moothall.memory.breakers import FAILED
from moothall.memory.facts import Outcome
from moothall.memory.remembered_decision import RememberedDecision
from moothall.scoring.trust import (
    TrackRecord,
    compute_accuracy,
    compute_brier,
    compute_category_accuracy,
    compute_category_trust,
    compute_forecast,
    compute_trust,
)

CAME_TRUE: Final[Mapping[Outcome, float]] = {"success": 1.0, "partial": 0.5, "failure": 0.0}
MIN_SHARED: Final = 3
"""With fewer shared cases a correlation says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How one source did on one decision: its Brier score, None if it stated no confidence, and 1 where it was right."""

    decision: str
    category: str
    brier: float | None
    right: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryTrust:
    category: str
    cases: int
    trust: float
    accuracy: float
    brier: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTrust:
    """A source's record: the number of scored forecasts, their mean Brier score (None without any), and the trust in it.

    `accuracy` is how often it is on the side that proves right, shrunk towards what one vote of an unknown source is worth.
    """

    source: str
    category: str = ""
    """The one in which the trust and the accuracy are, where it was asked for."""
    cases: int = 0
    brier: float | None = None
    trust: float = 0.5
    accuracy: float = 0.5
    categories: tuple[CategoryTrust, ...] = ()
    quotations: int = 0
    """How many of its quotations and citations were checked, in all decisions, reviewed or not."""
    quotations_held: int = 0
    """How many of them stand where they are said to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStanding:
    """What a source's votes count by, within a category if one was asked for."""

    trust: float
    accuracy: float
    cases: float
    """How many of its stated confidences were reviewed."""


def compute_score(source: str, remembered: RememberedDecision) -> Score | None:
    """Return the score of a source on a decision; None if it made no forecast, or none that can be scored.

    A source with several seats counts as one case: the mean over its seats.
    """
    if remembered.outcome is None or not remembered.is_decision:
        return None
    came_true = CAME_TRUE.get(remembered.outcome)
    if came_true is None:
        return None
    briers, rights = [], []
    for member in remembered.record.members:
        if member.source != source:
            continue
        # What a vote against it says of the motion, it says of the outcome too.
        right = compute_forecast(member.position, came_true)
        if right is not None:
            rights.append(right)
        if member.confidence is not None:
            forecast = compute_forecast(member.position, member.confidence)
            if forecast is not None:
                briers.append(compute_brier(forecast, came_true))
    if not rights:
        return None
    return Score(
        decision=remembered.decision,
        category=normalize_label(remembered.record.category),
        brier=_compute_mean(briers),
        right=_compute_mean(rights),
    )


def collect_scores(source: str, decisions: Iterable[RememberedDecision]) -> tuple[Score, ...]:
    scores = []
    for each in decisions:
        score = compute_score(source, each)
        if score is not None:
            scores.append(score)
    return tuple(scores)


def build_source_trust(
    source: str, scores: Iterable[Score], quoted: tuple[int, int] = (0, 0)
) -> SourceTrust:
    listed = tuple(scores)
    overall = _build_record(listed)
    by_category = group_pairs((one.category, one) for one in listed if one.category)
    categories = tuple(
        _build_category_trust(name, _build_record(by_category[name]), overall)
        for name in sorted(by_category)
    )
    return SourceTrust(
        source=source,
        cases=int(overall.sides),
        brier=_compute_mean_brier(overall),
        trust=compute_trust(overall),
        accuracy=compute_accuracy(overall),
        categories=categories,
        quotations=quoted[0],
        quotations_held=quoted[1],
    )


def _build_category_trust(name: str, record: TrackRecord, overall: TrackRecord) -> CategoryTrust:
    return CategoryTrust(
        category=name,
        cases=int(record.sides),
        trust=compute_category_trust(record, overall),
        accuracy=compute_category_accuracy(record, overall),
        brier=_compute_mean_brier(record),
    )


def _compute_mean_brier(record: TrackRecord) -> float | None:
    return record.brier_sum / record.cases if record.cases else None


def compute_standing(scores: Iterable[Score], category: str = "") -> SourceStanding:
    """Return what these scores earn, within a category if one is given."""
    listed = tuple(scores)
    overall, wanted = _build_record(listed), normalize_label(category)
    if not wanted:
        return SourceStanding(
            trust=compute_trust(overall), accuracy=compute_accuracy(overall), cases=overall.cases
        )
    own = _build_record(one for one in listed if one.category == wanted)
    return SourceStanding(
        trust=compute_category_trust(own, overall),
        accuracy=compute_category_accuracy(own, overall),
        cases=own.cases,
    )


def compute_pair_correlation(
    one: Iterable[Score], other: Iterable[Score]
) -> tuple[int, float | None]:
    """Return how many scored cases two sources share, and the correlation of their errors.

    It is the correlation of their Brier scores, not of their signed errors: those share the outcome, and would make unrelated
    sources look similar. None with too few cases, or if the error of either never varies.
    """
    theirs = {score.decision: score.brier for score in other if score.brier is not None}
    shared = [
        (score.brier, theirs[score.decision])
        for score in one
        if score.brier is not None and score.decision in theirs
    ]
    if len(shared) < MIN_SHARED:
        return len(shared), None
    return len(shared), _compute_pearson(shared)


def _compute_pearson(pairs: list[tuple[float, float]]) -> float | None:
    # Pearson's r = Σ(x−x̄)(y−ȳ) / √(Σ(x−x̄)² · Σ(y−ȳ)²), clamped against rounding errors.
    mean_x = math.fsum(x for x, _ in pairs) / len(pairs)
    mean_y = math.fsum(y for _, y in pairs) / len(pairs)
    over_x = math.fsum((x - mean_x) ** 2 for x, _ in pairs)
    over_y = math.fsum((y - mean_y) ** 2 for _, y in pairs)
    if min(over_x, over_y) < 1e-12:
        return None
    together = math.fsum((x - mean_x) * (y - mean_y) for x, y in pairs)
    return max(-1.0, min(1.0, together / math.sqrt(over_x * over_y)))


def _compute_mean(values: list[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _build_record(scores: Iterable[Score]) -> TrackRecord:
    record = TrackRecord()
    for one in scores:
        record = record.plus(one.brier, one.right)
    return record


MAX_CHOICE_LENGTH: Final = 60
"""Characters of a choice that is compared; members are asked for one to five words, and an essay equals nothing."""
_YES_OR_NO: Final = {"是": "yes", "是的": "yes", "否": "no", "不": "no", "不是": "no"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A count out of a total; `rate` is None if the total is 0."""

    right: float
    of: int

    @property
    def rate(self) -> float | None:
        return self.right / self.of if self.of else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Amplification:
    """What a protocol did with its members' errors.

    `cases` were decided and reviewed; `partial` of them count neither as right nor as wrong, the rest is `group.of`. `compared`
    is the group on the cases where members can be compared with it. `members` covers the same cases, each with the same weight:
    its `right` is the sum over the cases of the share of members that were right. `majority` covers the cases with a blind
    majority. `amplification` is the group's error rate divided by its members': below 1 the group corrected them. None if they
    made no errors. `members_blank` of the `members_unknown` have no blind choice on record, and in `cases_blank` cases nobody
    has: their protocol keeps none, or nobody gave one.
    """

    protocol: str
    cases: int
    partial: int
    group: Share
    compared: Share
    members: Share
    members_known: int
    members_right: int
    members_unknown: int
    majority: Share
    corrections: int
    subversions: int
    amplification: float | None
    cases_blank: int = 0
    members_blank: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """One case that counts. `members` says for each member whether it was right alone, None if unknown; `blank` have none."""

    is_right: bool
    members: tuple[bool | None, ...]
    majority: bool | None
    blank: int

    @property
    def known(self) -> tuple[bool, ...]:
        return tuple(right for right in self.members if right is not None)

    @property
    def is_correction(self) -> bool:
        """Whether the group was right where most of its members were not."""
        return self.is_right and self.majority is False

    @property
    def is_subversion(self) -> bool:
        """Whether the group was wrong where most of its members were right."""
        return not self.is_right and self.majority is True


@dataclass(slots=True)
class _MemberCount:
    """The members of several cases: how many results are known, how many of these were right, and who gave no choice."""

    known: int = 0
    right: int = 0
    unknown: int = 0
    blank: int = 0
    cases_blank: int = 0

    def add(self, case: _Case) -> None:
        known = case.known
        self.known += len(known)
        self.right += sum(known)
        self.unknown += len(case.members) - len(known)
        self.blank += case.blank
        if case.blank == len(case.members):
            self.cases_blank += 1


def compute_amplification(decisions: Iterable[RememberedDecision]) -> tuple[Amplification, ...]:
    """Return the figures of every protocol with a reviewed decision, by name."""
    counted = [
        each
        for each in decisions
        if each.review is not None and each.is_decision and not each.is_alone
    ]
    by_protocol = group_pairs((each.record.protocol, each) for each in counted)
    return tuple(
        _compute_figures(protocol, by_protocol[protocol]) for protocol in sorted(by_protocol)
    )


def find_right_choice(remembered: RememberedDecision) -> str | None:
    """Return the label of the choice that proved right; None if unknown."""
    review, options = remembered.review, _list_options(remembered)
    own = _read_choice(remembered.record.choice, options)
    if review is None:
        return None
    if review.choice:
        # A reviewer may know better than all options.
        return _read_choice(review.choice, frozenset()) or None
    if review.outcome == "success":
        return own or None
    others = options - {own}
    # A failure says only what was wrong. With exactly two options that determines what was right.
    if review.outcome in FAILED and len(options) == 2 and len(others) == 1:
        return next(iter(others))
    return None


def _list_options(remembered: RememberedDecision) -> frozenset[str]:
    return frozenset(_fold_label(option) for option in remembered.record.options)


def _read_choice(text: str, options: frozenset[str]) -> str:
    """Return the label that a choice is compared by; "" if it is none."""
    label = _fold_label(text)
    is_choice = label in options if options else len(label) <= MAX_CHOICE_LENGTH
    return label if is_choice else ""


def _fold_label(text: str) -> str:
    label = normalize_label(text)
    return _YES_OR_NO.get(label, label)


def _compute_figures(protocol: str, decided: Sequence[RememberedDecision]) -> Amplification:
    cases = [_build_case(each) for each in decided if each.outcome != "partial"]
    compared = [case for case in cases if case.known]
    with_majority = [case for case in cases if case.majority is not None]
    count = _MemberCount()
    for case in cases:
        count.add(case)
    group = _count_right(compared)
    # The mean per case and not over all members: a large group must not outweigh a small one.
    members = Share(
        right=sum(sum(case.known) / len(case.known) for case in compared), of=len(compared)
    )
    wrong = members.of - members.right
    amplification = None
    if wrong > 1e-9:
        # Both cover the same number of cases, so the quotient of the error counts equals that of the error rates.
        amplification = (group.of - group.right) / wrong
    majority_right = sum(case.majority is True for case in with_majority)
    return Amplification(
        protocol=protocol,
        cases=len(decided),
        partial=len(decided) - len(cases),
        group=_count_right(cases),
        compared=group,
        members=members,
        members_known=count.known,
        members_right=count.right,
        members_unknown=count.unknown,
        majority=Share(right=majority_right, of=len(with_majority)),
        corrections=sum(case.is_correction for case in cases),
        subversions=sum(case.is_subversion for case in cases),
        amplification=amplification,
        cases_blank=count.cases_blank,
        members_blank=count.blank,
    )


def _count_right(cases: Sequence[_Case]) -> Share:
    return Share(right=sum(case.is_right for case in cases), of=len(cases))


def _build_case(remembered: RememberedDecision) -> _Case:
    right, options = find_right_choice(remembered), _list_options(remembered)
    firsts = [
        _read_choice(member.first_choice, options)
        for member in remembered.record.members
        if not member.is_neutral
    ]
    # One of many who named a choice does not speak for the many.
    is_most = firsts.count("") * 2 < len(firsts)
    majority = _find_majority([first for first in firsts if first]) if is_most else None
    return _Case(
        is_right=remembered.outcome == "success",
        members=tuple(_is_same_choice(first, right) for first in firsts),
        majority=_is_same_choice(majority, right),
        blank=firsts.count(""),
    )


def _is_same_choice(choice: str | None, right: str | None) -> bool | None:
    """Whether a choice was the right one; None where either is not known."""
    if not choice or not right:
        return None
    return choice == right


def _find_majority(firsts: Sequence[str]) -> str | None:
    """Return the most frequent first choice; None if two share that place."""
    ranking = Counter(firsts).most_common(2)
    if not ranking or (len(ranking) > 1 and ranking[0][1] == ranking[1][1]):
        return None
    return ranking[0][0]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedDecision:
    decision_id: str
    steps: int
    """Its distance."""
    is_known: bool = False
    """Whether it is in memory."""
    topic: str = ""
    decision: str | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """The decisions that a decision builds on, and those that build on it, nearest first."""

    decision_id: str
    built_on: tuple[LinkedDecision, ...]
    basis_of: tuple[LinkedDecision, ...]
    failed: tuple[str, ...]
    """The failed decisions that it builds on."""
    stands_on_failure: bool


def build_lineage(
    decision: str,
    decisions: Mapping[str, RememberedDecision],
    children: Mapping[str, Sequence[str]],
) -> Lineage:
    """Follow both directions from a decision; cycles are followed only once."""
    above = _collect_reachable(
        decision,
        decisions,
        lambda name: decisions[name].record.built_on if name in decisions else (),
    )
    failed = tuple(link.decision_id for link in above if link.outcome in FAILED)
    return Lineage(
        decision_id=decision,
        built_on=above,
        basis_of=_collect_reachable(decision, decisions, lambda name: children.get(name, ())),
        failed=failed,
        stands_on_failure=bool(failed),
    )


def _collect_reachable(
    start: str,
    decisions: Mapping[str, RememberedDecision],
    following: Callable[[str], Sequence[str]],
) -> tuple[LinkedDecision, ...]:
    steps = {start: 0}
    queue = [start]
    # Breadth first, and the list grows while it is read: so the nearest decisions come first.
    for name in queue:
        for after in following(name):
            if after not in steps:
                steps[after] = steps[name] + 1
                queue.append(after)
    return tuple(_build_link(name, steps[name], decisions.get(name)) for name in queue[1:])


def _build_link(name: str, steps: int, decision: RememberedDecision | None) -> LinkedDecision:
    if decision is None:
        return LinkedDecision(decision_id=name, steps=steps)
    record, outcome = decision.record, decision.outcome
    return LinkedDecision(
        decision_id=name,
        steps=steps,
        is_known=True,
        topic=record.topic,
        decision=record.text,
        outcome=outcome,
    )
