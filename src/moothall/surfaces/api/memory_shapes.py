"""What the calls on what outlives a session take and give."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AliasChoices, Field

from moothall.memory.amplification import Amplification
from moothall.memory.facts import Member, ObligationState, Outcome, ThreadStatus
from moothall.memory.obligations import RememberedObligation
from moothall.memory.threads import ThreadView
from moothall.memory.track_records import CategoryTrust, SourceTrust
from moothall.surfaces.api.fields import IdempotencyKey, Short
from moothall.surfaces.api.method import ApiModel

DecisionRef = Annotated[
    str,
    Field(
        max_length=100,
        validation_alias=AliasChoices("decisionId", "decision_id", "deliberationId", "id"),
        serialization_alias="decisionId",
        description="A deliberation's id, or the id that record_decision returned.",
    ),
]
AgentRef = Annotated[
    str,
    Field(
        min_length=1,
        max_length=500,
        validation_alias=AliasChoices("source", "agent", "participant"),
        serialization_alias="source",
        description="A participant by its name, a model by its platform.",
    ),
]
Note = Annotated[str, Field(max_length=4_000)]


class ReviewOut(ApiModel):
    at: datetime
    outcome: Outcome
    choice: str = ""
    note: str = ""
    by: str = ""


class DecisionOut(ApiModel):
    decision_id: str
    protocol: str
    topic: str
    category: str
    stakes: str
    tags: list[str]
    thread: str
    decision: str | None = None
    choice: str
    strength: str = Field(description="What it is worth in one word; empty in records older than this field.")
    confidence: float | None = None
    consensus_type: str
    members: list[Member]
    dissent: list[str]
    open_questions: list[str]
    built_on: list[str]
    opened_at: datetime
    closed_at: datetime
    outcome: Outcome | None = None
    reviews: list[ReviewOut]
    options: list[str] = []
    obligations: list[RememberedObligation] = Field(
        default=[], description="The conditions it was carried with, and their state."
    )
    note: str = Field(default="", description="What is still open: obligations that nobody reported on.")


class ObligationsParams(ApiModel):
    decision_id: Annotated[
        str | None,
        Field(
            max_length=100, validation_alias=AliasChoices("decisionId", "decision_id", "deliberationId"), description="Only its."
        ),
    ] = None
    only_open: Annotated[bool, Field(validation_alias=AliasChoices("onlyOpen", "only_open", "open"))] = False
    limit: Annotated[int, Field(ge=1, le=1_000)] = 200


class ObligationsOut(ApiModel):
    obligations: list[RememberedObligation]


class SettleObligationParams(ApiModel):
    decision_id: DecisionRef
    number: Annotated[int, Field(ge=1, description="Its number within the decision.")]
    state: Annotated[ObligationState, Field(description="met, waived or failed; open takes it back.")]
    note: Note = ""
    idempotency_key: IdempotencyKey = ""


class ReviewParams(ApiModel):
    decision_id: DecisionRef
    outcome: Outcome
    choice: Annotated[Short, Field(description="The choice that proved right, if known.")] = ""
    note: Note = ""
    idempotency_key: IdempotencyKey = ""


SearchWithin = Literal["all", "decisions", "threads", "trust", "deliberations"]


class SearchParams(ApiModel):
    query: Annotated[str, Field(min_length=1, max_length=1_000)]
    within: SearchWithin = "all"
    category: Short | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 10


class SessionFoundOut(ApiModel):
    session_id: str
    protocol: str
    topic: str
    status: str


class FoundOut(ApiModel):
    decision_id: str
    score: float
    snippet: str
    topic: str
    decision: str | None = None
    strength: str = ""
    outcome: Outcome | None = None


class ThreadFoundOut(ApiModel):
    thread: str
    title: str
    status: ThreadStatus
    decisions: int
    open_questions: list[str]


class SourceFoundOut(ApiModel):
    source: str
    trust: float
    cases: int


class SearchOut(ApiModel):
    decisions: list[FoundOut]
    threads: list[ThreadFoundOut] = []
    sources: list[SourceFoundOut] = Field(
        default=[], description="The trust in participants and models of that name or category."
    )
    deliberations: list[SessionFoundOut] = Field(default=[], description="Sessions that go on.")


class DecisionsParams(ApiModel):
    category: Short | None = None
    protocol: Short | None = None
    outcome: Outcome | Literal["unreviewed"] | None = None
    source: Annotated[str | None, Field(max_length=500)] = None
    before: Annotated[Short | None, Field(description="Continue after this decision.")] = None
    limit: Annotated[int, Field(ge=1, le=1_000)] = 50


class DecisionsOut(ApiModel):
    decisions: list[DecisionOut]


class DecisionParams(ApiModel):
    decision_id: DecisionRef


class TrustParams(ApiModel):
    source: AgentRef
    category: Short = ""


class TrustOut(ApiModel):
    source: str
    category: str = ""
    trust: float = Field(description="0 to 1; 0.5 without a record.")
    accuracy: float = Field(description="How often it is right, by its record: what its votes weigh by.")
    cases: int = Field(description="Reviewed forecasts behind it, in all categories.")
    brier: float | None = Field(default=None, description="Their mean Brier score: 0 is perfect, 0.25 is knowing nothing.")
    categories: list[CategoryTrust] = []


class SourcesOut(ApiModel):
    sources: list[SourceTrust]


class AmplificationsOut(ApiModel):
    protocols: list[Amplification]


class ThreadParams(ApiModel):
    thread: Annotated[Short, Field(validation_alias=AliasChoices("thread", "threadId"), serialization_alias="thread")]


class CreateThreadParams(ApiModel):
    title: Annotated[str, Field(min_length=1, max_length=4_000)]
    category: Short = ""
    thread: Annotated[Short, Field(description="A name of your choice. Default: thread-N. The same name is the same thread.")] = (
        ""
    )
    idempotency_key: IdempotencyKey = ""


class ResumeThreadParams(ThreadParams):
    participant: Annotated[str, Field(max_length=64, validation_alias=AliasChoices("participant", "agent", "seat"))]
    idempotency_key: IdempotencyKey = ""


class SetThreadParams(ThreadParams):
    status: ThreadStatus
    note: Note = ""
    idempotency_key: IdempotencyKey = ""


class AskThreadParams(ThreadParams):
    question: Annotated[str, Field(min_length=1, max_length=4_000)]
    idempotency_key: IdempotencyKey = ""


class SettleThreadParams(ThreadParams):
    number: Annotated[int, Field(ge=1)]
    idempotency_key: IdempotencyKey = ""


class ThreadsOut(ApiModel):
    threads: list[ThreadView]
