"""A remembered decision, by a group or alone, with its later reviews."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from moothall.memory.facts import DecisionRecorded, Member, ObligationSettled, Outcome, SoloDecided
from moothall.scoring.positions import VotePosition
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
    key: str = ""


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

    @property
    def decision(self) -> str:
        return self.record.session

    @property
    def review(self) -> OutcomeReview | None:
        return self.reviews[-1] if self.reviews else None

    @property
    def outcome(self) -> Outcome | None:
        return self.reviews[-1].outcome if self.reviews else None

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources that took part, each once."""
        return tuple(dict.fromkeys(member.source for member in self.record.members))

    @property
    def backers(self) -> tuple[str, ...]:
        """The sources that stood behind the decision when it was made; all that took part where nobody's support is recorded."""
        supported = (member.source for member in self.record.members if member.position in BACKING)
        return tuple(dict.fromkeys(supported)) or self.sources


def build_solo_record(solo: SoloDecided, at: datetime) -> DecisionRecorded:
    """Convert a solo decision into the form of a group's."""
    return DecisionRecorded(
        session=solo.decision_id,
        protocol=ALONE,
        topic=solo.topic,
        category=solo.category,
        stakes=solo.stakes,
        tags=solo.tags,
        text=solo.text,
        confidence=solo.confidence,
        members=(Member(source=solo.source, seat=solo.source, position="support", confidence=solo.confidence),),
        built_on=solo.built_on,
        opened_at=at,
        closed_at=at,
        strength=rate_strength(is_decided=True, confidence=solo.confidence, voters=1).strength,
    )
