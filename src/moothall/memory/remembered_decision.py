"""A remembered decision, by a group or alone, with its later reviews and what became of its obligations."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from moothall.domain.facts import Fact
from moothall.domain.frame import YES, YES_OR_NO, read_plain_number
from moothall.domain.replace import copy_fields, dataclass
from moothall.domain.roster import UNREMEMBERED, StandIn, compare_stand_ins
from moothall.domain.topic import normalize_label
from moothall.errors import BadSetting
from moothall.memory.facts import (
    DecisionRecorded,
    Member,
    ObligationSettled,
    ObligationState,
    Outcome,
    RecordedNumber,
    SoloDecided,
)
from moothall.scoring.positions import VotePosition
from moothall.scoring.reliability import DecisionKind, name_agreement
from moothall.scoring.reservations import WorthFigures
from moothall.scoring.strength import rate_strength

BACKING: Final[frozenset[VotePosition | None]] = frozenset({"support", "conditional_support"})
ALONE: Final = "alone"
"""The protocol name under which solo decisions are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeReview:
    """A report of how a decision turned out."""

    at: datetime
    outcome: Outcome
    choice: str = ""
    note: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObligationReport:
    """A report of what became of an obligation."""

    at: datetime
    fact: ObligationSettled


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberedDecision:
    """A decision. A solo one has its source as its only member, who supports it. The last review counts.

    `record` lacks what was argued and the hash of the session (`search_text`, `head`): `DecisionMemory.load_whole` reads them.
    """

    number: int
    at: datetime
    record: DecisionRecorded
    is_alone: bool = False
    reviews: tuple[OutcomeReview, ...] = ()
    settlements: tuple[ObligationReport, ...] = ()
    stand_in: StandIn = ""
    """What spoke in place of minds; "" where minds spoke."""

    @property
    def decision(self) -> str:
        return self.record.session

    @property
    def is_decision(self) -> bool:
        return is_decision(self.record, self.stand_in)

    @property
    def review(self) -> OutcomeReview | None:
        return self.reviews[-1] if self.reviews else None

    @property
    def outcome(self) -> Outcome | None:
        return self.reviews[-1].outcome if self.reviews else None

    @property
    def forecast_case(self) -> tuple[float, bool] | None:
        """The chance that was forecast, and whether it happened; None without a forecast, or while that is not known.

        What happened is the review's choice where it names one; else the outcome says whether the answer was right.
        """
        review = self.review
        if review is None or self.record.forecast is None:
            return None
        # A review may say what happened, whatever was decided.
        named = normalize_label(review.choice)
        if named in YES_OR_NO:
            return self.record.forecast, named in YES
        decided = normalize_label(self.record.choice)
        if decided not in YES_OR_NO or review.outcome not in {"success", "failure"}:
            return None
        return self.record.forecast, (decided in YES) == (review.outcome == "success")

    @property
    def number_case(self) -> tuple[RecordedNumber, float] | None:
        """The number that was estimated, and what it proved to be, which the review's choice says; None where that is not known."""
        review = self.review
        if review is None or self.record.number is None:
            return None
        actual = read_plain_number(review.choice, self.record.number.unit)
        return None if actual is None else (self.record.number, actual)

    @property
    def kind(self) -> DecisionKind:
        """What it is counted with, when it is held against its outcome."""
        families = {
            member.family
            for member in self.record.members
            if member.family and not member.is_neutral
        }
        agreement = name_agreement(self.record.agreement, self.record.consensus_type)
        return DecisionKind(
            self.record.protocol, agreement, "mixed" if len(families) > 1 else "".join(families)
        )

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources that took part, each once."""
        return tuple(dict.fromkeys(member.source for member in self.record.members))

    @property
    def backers(self) -> tuple[str, ...]:
        """The sources that stood behind the decision when it was made; all that took part where nobody's support is recorded."""
        supported = (member.source for member in self.record.members if member.position in BACKING)
        return tuple(dict.fromkeys(supported)) or self.sources


def find_recorded_stand_in(record: DecisionRecorded) -> StandIn:
    """Return what spoke in a recorded session in place of minds; "" where minds spoke."""
    platforms = []
    for member in record.members:
        # The source of an answer file is its seat: the family names the file.
        is_seat = member.source == member.seat
        platforms.append(member.family if is_seat else member.source)
    return compare_stand_ins(platforms)


def is_decision(record: DecisionRecorded, stand_in: StandIn) -> bool:
    """Whether a record may be shown and counted as a decision: it names one, and the embedded model did not speak alone (M-17)."""
    return record.text is not None and stand_in not in UNREMEMBERED


def is_precedent(record: DecisionRecorded, stand_in: StandIn) -> bool:
    """Whether seats and openers read of a record unasked, as a decision on a similar question: not of what an answer file says."""
    return is_decision(record, stand_in) and not stand_in


def build_solo_record(solo: SoloDecided, at: datetime) -> DecisionRecorded:
    """Convert a solo decision into the form of a group's."""
    figures = WorthFigures(is_decided=True, confidence=solo.confidence, voters=1)
    return copy_fields(
        DecisionRecorded,
        solo,
        session=solo.decision_id,
        protocol=ALONE,
        members=(
            Member(
                source=solo.source, seat=solo.source, position="support", confidence=solo.confidence
            ),
        ),
        opened_at=at,
        closed_at=at,
        strength=rate_strength(figures),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberedObligation:
    """A condition of a decision that was carried, as it stands."""

    decision_id: str
    number: int
    """Its number within the decision."""
    by: str
    """Who set it."""
    text: str
    """What must hold."""
    due: str
    state: ObligationState = "open"
    note: str = ""
    settled_by: str = ""
    settled_at: datetime | None = None
    """None while nothing was reported."""
    topic: str = ""
    """The question that was decided."""


def list_obligations(decision: RememberedDecision) -> tuple[RememberedObligation, ...]:
    """Return the obligations of a decision, each with what was last reported of it."""
    last = {settled.fact.number: settled for settled in decision.settlements}
    obligations = []
    for number, each in enumerate(decision.record.obligations, 1):
        obligation = RememberedObligation(
            decision_id=decision.decision,
            number=number,
            by=each.by,
            text=each.text,
            due=each.due,
            topic=decision.record.topic,
        )
        if number in last:
            at, fact = last[number].at, last[number].fact
            obligation = replace(
                obligation, state=fact.state, note=fact.note, settled_by=fact.by, settled_at=at
            )
        obligations.append(obligation)
    return tuple(obligations)


def build_obligation_facts(
    remembered: RememberedDecision, fact: ObligationSettled
) -> Sequence[Fact]:
    """Return the fact, or nothing if it says what is recorded already; raises BadSetting when there is no such obligation."""
    listed = list_obligations(remembered)
    if not 1 <= fact.number <= len(listed):
        has = f"it has 1 to {len(listed)}" if listed else "it has none"
        raise BadSetting(f"{fact.decision_id!r} has no obligation {fact.number}; {has}")
    now = listed[fact.number - 1]
    return () if (now.state, now.note) == (fact.state, fact.note) else (fact,)


def describe_obligations(remembered: RememberedDecision) -> str:
    """Say what a review must know: which obligations are open, and which failed although it is called a success."""
    listed = list_obligations(remembered)
    open_ones = [
        f"{each.number} ({each.by}: {each.text})" for each in listed if each.state == "open"
    ]
    failed = [
        f"{each.number} ({each.by}: {each.text})" for each in listed if each.state == "failed"
    ]
    sentences = (
        [f"Obligations still open: {'; '.join(open_ones)}. Was each met, waived or failed?"]
        if open_ones
        else []
    )
    if failed and remembered.outcome == "success":
        sentences.append(
            f"Reviewed as a success, although an obligation failed: {'; '.join(failed)}."
        )
    return " ".join(sentences)
