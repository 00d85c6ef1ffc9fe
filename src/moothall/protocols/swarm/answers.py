"""The shapes of the answers in a swarm. On the wire their fields are in camelCase; both spellings are accepted.

Pydantic copies a class docstring into the JSON schema that models receive, so those docstrings are prompt text.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from annotated_types import Ge, Gt, Le, MaxLen, MinLen, Predicate

from moothall.domain.replace import dataclass
from moothall.domain.topic import MAX_LABEL_LENGTH, InputReplies
from moothall.protocols.swarm.json_fields import to_camel_case
from moothall.scoring.positions import VotePosition

MAX_OPERATIONS: Final = 20
MAX_FINDINGS: Final = 10
MAX_HELD: Final = 24
MAX_DIRECTION_LENGTH: Final = 500
MAX_VOTES: Final = 40

Number = Annotated[float, Predicate(math.isfinite)]
Share = Annotated[float, Ge(0), Le(1)]
Line = Annotated[str, MaxLen(MAX_DIRECTION_LENGTH)]
Text = Annotated[str, MaxLen(4_000)]
Words = Annotated[str, MinLen(1), MaxLen(500)]
Evidence = Annotated[str, MinLen(1), MaxLen(4_000)]
Direction = Annotated[str, MinLen(1), MaxLen(MAX_DIRECTION_LENGTH)]
Amount = Annotated[float, Gt(0)]
SignalReason = Literal["contradictory_evidence", "better_alternative", "resource_conflict"]
Confidence = Literal["high", "medium", "low"]
Scalar = Text | bool | int | Number | None
Param = Scalar | tuple[Scalar, ...] | dict[str, Scalar | tuple[Scalar, ...]]
Action = Literal["challenge", "support", "extend", "synthesize", "pass"]
CheckVerdict = Literal["confirmed", "refuted", "unclear"]
Measure = Annotated[str, MinLen(1), MaxLen(64)]
"""The name of what compares texts: "meaning" and "words" are Moot's own, others come with plugins."""


_WIRE: Final[dict[str, Any]] = {"alias_generator": to_camel_case, "populate_by_name": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedIdea:
    """One finding. `confidence`, `needs_validation` and `search_attempted` mark one that was made without looking things up.

    `rating` is how good an answer it is by its evidence; `option` is the option of the question that it is about.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = _WIRE
    core_idea: Words
    perspective: Annotated[str, MaxLen(100)] = ""
    details: Text = ""
    agrees_with: Annotated[tuple[Line, ...], MaxLen(10)] = ()
    confidence: Confidence | None = None
    needs_validation: bool = False
    search_attempted: bool | None = None
    """None where its author did not say."""
    rating: Share | None = None
    option: Line = ""

    def mark_unverified(self) -> Self:
        # Never "high" without a search, and never raised from "low".
        confidence: Confidence = "low" if self.confidence == "low" else "medium"
        return replace(self, confidence=confidence, needs_validation=True, search_attempted=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What an agent wants done on the blackboard. Anything fits in: whether it can be done is for the blackboard to say."""

    operation: Annotated[str, MaxLen(100)]
    params: Annotated[Mapping[str, Param], MaxLen(32)] | None = None
    summary: Line = ""
    by_moot: bool = False
    """Whether Moot made it of a plain answer (S-39)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A direction that an agent weighed."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _WIRE
    direction: Line
    concentration: Number | None = None
    response_prob: Number | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionReport:
    """How an agent came to its direction."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _WIRE
    threshold: Number | None = None
    candidates: Annotated[tuple[Candidate, ...], MaxLen(20)] | None = None
    selected_direction: Line = ""
    selection_reason: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictReview:
    """What contradicts, as an agent sees it; 0 where nothing does."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _WIRE
    conflicts_found: Annotated[int, Ge(0), Le(1_000)] = 0
    details: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundReport:
    """What an explorer brings back from a round. Every finding is also an `update_finding`.

    `confirmed_operations` are operations that it says were carried out for it. `choice` is its answer in a few words; it counts
    in the first round, in which nobody has read anything yet. `holds` are the numbers of known ideas that it stands behind.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = _WIRE
    direction: Line = ""
    findings: Annotated[tuple[StatedIdea, ...], MaxLen(MAX_FINDINGS)] = ()
    operations: Annotated[tuple[Operation, ...], MaxLen(MAX_OPERATIONS)] = ()
    decision_report: DecisionReport | None = None
    conflict_review: ConflictReview | None = None
    random_explore_forced: bool | None = None
    confirmed_operations: Annotated[tuple[Line, ...], MaxLen(40)] = ()
    choice: Annotated[str, MaxLen(MAX_LABEL_LENGTH)] = ""
    own_choice: Annotated[str, MaxLen(MAX_LABEL_LENGTH)] = ""
    """Its answer in a few words, where the choice is none of the listed ones; it becomes the choice."""
    holds: Annotated[tuple[Annotated[int, Ge(1)], ...], MaxLen(MAX_HELD)] = ()

    @property
    def is_silent(self) -> bool:
        return not self.findings and not self.operations

    def mark_unverified(self) -> Self:
        """Return the report with every finding marked as unverified, because the search of its author failed (S-27)."""
        return replace(self, findings=tuple(finding.mark_unverified() for finding in self.findings))


@dataclass(frozen=True, slots=True, kw_only=True)
class Collision:
    """What an idle agent says to a finding of another."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _WIRE
    action: Action
    target_finding_id: Annotated[str, MaxLen(40)] = ""
    content: Text = ""
    new_insights: Annotated[tuple[Line, ...], MaxLen(5)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingCheck:
    """The validator's word on one finding."""

    finding: Annotated[str, MaxLen(40)]
    verdict: CheckVerdict
    reason: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """The validator's words on the findings that need it."""

    verdicts: Annotated[tuple[FindingCheck, ...], MaxLen(50)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPair:
    """How like the new text `one` is to the text `other`; both are places in the list of what was compared."""

    one: Annotated[int, Ge(0)]
    other: Annotated[int, Ge(0)]
    likeness: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityReport:
    """The result of a measure: the pairs that are like at all."""

    by: Measure
    pairs: Annotated[tuple[ComparedPair, ...], MaxLen(20_000)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerVote:
    """What an agent says of one answer: its position on it, and how good it is by what the agent read itself."""

    answer: Annotated[int, Ge(1)]
    position: VotePosition | None = None
    condition: Text = ""
    confidence: Share = 0.0
    rating: Share | None = None
    reason: Text = ""

    @property
    def words(self) -> str:
        return (
            f"{self.condition} ({self.reason})"
            if self.condition and self.reason
            else self.condition or self.reason
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SwarmBallot:
    """The votes of one agent; an idea without one is abstained on."""

    votes: Annotated[tuple[AnswerVote, ...], MinLen(1), MaxLen(MAX_VOTES)]
    to_user: InputReplies = ()
    """What it answers to the user's later words."""

    def has_vote_on(self, answer: int) -> bool:
        return any(vote.answer == answer for vote in self.votes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """What a parallel exploration comes to, in words."""

    content: Annotated[str, MinLen(1), MaxLen(20_000)]

    @classmethod
    def from_text(cls, text: str) -> Self:
        return cls(content=text.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutdownReply:
    """The answer to a request to shut down."""

    acknowledged: bool = True
    words: Line = ""
