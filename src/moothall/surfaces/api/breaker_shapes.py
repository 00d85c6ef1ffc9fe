"""What the calls on deciding alone, circuit breakers and their policy take and give."""

from typing import Annotated, Literal

from pydantic import AliasChoices, Field

from moothall.domain.topic import Stakes
from moothall.memory.breakers import CircuitView, Policy
from moothall.memory.validation import MAX_WINDOW
from moothall.surfaces.api.fields import IdempotencyKey, Score, Short
from moothall.surfaces.api.memory_shapes import Note
from moothall.surfaces.api.method import ApiModel

Seconds = Annotated[float | None, Field(gt=0, le=MAX_WINDOW)]
Scope = Annotated[
    str,
    Field(
        max_length=120,
        description="global, category:NAME, stakes:NAME, agent:NAME or tag:NAME",
        examples=["category:architecture"],
    ),
]


AgentName = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=100,
        validation_alias=AliasChoices("agent", "source", "participant"),
        serialization_alias="agent",
        description="Who decides; may be omitted with an agent's token.",
    ),
]


class MayParams(ApiModel):
    agent: AgentName = None
    confidence: Score
    category: Short = ""
    stakes: Stakes = "medium"
    tags: Annotated[list[Short], Field(max_length=32)] = []


class MayOut(ApiModel):
    agent: str
    allowed: bool
    open_circuits: list[str] = []
    rules: list[str] = []
    probe_for: list[str] = Field(default=[], description="Half-open circuits that the decision would try out.")
    reviewers: list[str] = Field(default=[], description="Who would review it, the most trusted in the category first.")
    note: str


class RecordParams(ApiModel):
    agent: AgentName = None
    topic: Annotated[str, Field(min_length=1, max_length=4_000)]
    decision: Annotated[str, Field(min_length=1, max_length=20_000)]
    confidence: Score
    category: Short = ""
    stakes: Stakes = "medium"
    tags: Annotated[list[Short], Field(max_length=32)] = []
    built_on: Annotated[list[Short], Field(max_length=32)] = []
    participants: Annotated[
        list[Annotated[str, Field(max_length=64)]],
        Field(
            max_length=63,
            description="Who takes part if a deliberation is required. Default: those with the best record in the category. Not with an agent's token.",
        ),
    ] = []
    idempotency_key: IdempotencyKey = ""


class RecordOut(ApiModel):
    status: Literal["recorded", "deliberation_required"]
    decision_id: str | None = None
    deliberation_id: str | None = None
    participants: list[str] = []
    reviewers: list[str] = Field(default=[], description="The participants who review; empty where none is known.")
    open_circuits: list[str] = []
    rules: list[str] = []
    probe_for: list[str] = Field(default=[], description="Half-open circuits that this decision tries out.")
    note: str


class CircuitParams(ApiModel):
    scope: Scope = "global"


class ResetParams(ApiModel):
    scope: Scope
    note: Note = ""
    idempotency_key: IdempotencyKey = ""


class CategoryConfidenceIn(ApiModel):
    category: Annotated[str, Field(min_length=1, max_length=100)]
    min_confidence: Score


class PolicyParams(ApiModel):
    """What is left out stays as it is; an empty list clears."""

    failures: Annotated[int | None, Field(ge=1, le=1_000, description="Failures in the window that open a circuit.")] = None
    window_seconds: Annotated[Seconds, Field(description="The sliding window.")] = None
    cooldown_seconds: Annotated[Seconds, Field(description="How long a circuit stays open before a probe.")] = None
    probe_seconds: Annotated[Seconds, Field(description="Deadline for the review of a probe.")] = None
    deliberate_stakes: Annotated[list[Stakes] | None, Field(max_length=4, description="Stakes never decided alone.")] = None
    min_confidence: Annotated[Score | None, Field(description="For deciding alone at high stakes.")] = None
    deliberate_categories: Annotated[list[Short] | None, Field(max_length=200, description="Never decided alone.")] = None
    category_confidence: Annotated[
        list[CategoryConfidenceIn] | None,
        Field(max_length=200, description="Minimum confidence for deciding alone in a category."),
    ] = None
    scope_sources: Annotated[
        int | None, Field(ge=2, le=1_000, description="Different sources that must fail before a category or a tag opens.")
    ] = None
    stakes_sources: Annotated[int | None, Field(ge=2, le=1_000, description="The same for a level of stakes.")] = None
    global_sources: Annotated[int | None, Field(ge=2, le=1_000, description="The same for the global circuit.")] = None
    idempotency_key: IdempotencyKey = ""


class BreakersOut(ApiModel):
    breakers: list[CircuitView]
    policy: Policy
