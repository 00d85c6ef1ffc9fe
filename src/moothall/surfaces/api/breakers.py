"""The calls on deciding alone: asking for permission, recording, circuit breakers and their policy (D-17)."""

from typing import Annotated, Any, Literal

from pydantic import Field

from moothall.domain.limits import Count
from moothall.domain.topic import MAX_LABELS, Stakes
from moothall.errors import NotAllowed
from moothall.memory.breakers import CircuitView
from moothall.memory.facts import (
    MAX_NAMES,
    CategoryConfidence,
    Policy,
    Proposal,
    RequiredLine,
    SourceCount,
)
from moothall.memory.facts import Seconds as RequiredSeconds
from moothall.surfaces.api.fields import AgentName, IdempotencyKey, Note, Score, Short
from moothall.surfaces.api.method import ApiModel, Call, Operations

METHODS = Operations()

Seconds = RequiredSeconds | None
Scope = Annotated[
    str,
    Field(
        max_length=120,
        description="global, category:NAME, stakes:NAME, agent:NAME or tag:NAME",
        examples=["category:architecture"],
    ),
]


class MayParams(ApiModel):
    agent: AgentName = None
    confidence: Score
    category: Short = ""
    stakes: Stakes = "medium"
    tags: Annotated[list[Short], Field(max_length=MAX_LABELS)] = []


class MayOut(ApiModel):
    agent: str
    allowed: bool
    open_circuits: list[str] = []
    rules: list[str] = []
    probe_for: list[str] = Field(
        default=[], description="Half-open circuits that the decision would try out."
    )
    reviewers: list[str] = Field(
        default=[], description="Who would review it, the most trusted in the category first."
    )
    note: str


class RecordParams(MayParams):
    topic: RequiredLine
    decision: Proposal
    built_on: Annotated[list[Short], Field(max_length=MAX_LABELS)] = []
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
    reviewers: list[str] = Field(
        default=[], description="The participants who review; empty where none is known."
    )
    open_circuits: list[str] = []
    rules: list[str] = []
    probe_for: list[str] = Field(
        default=[], description="Half-open circuits that this decision tries out."
    )
    note: str


class PolicyParams(ApiModel):
    """What is left out stays as it is; an empty list clears."""

    failures: Annotated[
        Count | None, Field(description="Failures in the window that open a circuit.")
    ] = None
    window_seconds: Annotated[Seconds, Field(description="The sliding window.")] = None
    cooldown_seconds: Annotated[
        Seconds, Field(description="How long a circuit stays open before a probe.")
    ] = None
    probe_seconds: Annotated[Seconds, Field(description="Deadline for the review of a probe.")] = (
        None
    )
    deliberate_stakes: Annotated[
        list[Stakes] | None, Field(max_length=4, description="Stakes never decided alone.")
    ] = None
    min_confidence: Annotated[
        Score | None, Field(description="For deciding alone at high stakes.")
    ] = None
    deliberate_categories: Annotated[
        list[Short] | None, Field(max_length=MAX_NAMES, description="Never decided alone.")
    ] = None
    category_confidence: Annotated[
        list[CategoryConfidence] | None,
        Field(
            max_length=MAX_NAMES, description="Minimum confidence for deciding alone in a category."
        ),
    ] = None
    scope_sources: Annotated[
        SourceCount | None,
        Field(description="Different sources that must fail before a category or a tag opens."),
    ] = None
    stakes_sources: Annotated[
        SourceCount | None, Field(description="The same for a level of stakes.")
    ] = None
    global_sources: Annotated[
        SourceCount | None, Field(description="The same for the global circuit.")
    ] = None
    idempotency_key: IdempotencyKey = ""


class BreakersOut(ApiModel):
    breakers: list[CircuitView]
    policy: Policy


@METHODS.add("cstp.mayDecideAlone", "read", tool="may_decide_alone", unbound=True)
async def may_decide_alone(call: Call, params: MayParams) -> MayOut:
    """Ask whether an agent may decide something alone, and who would review it if not. Nothing is recorded."""
    agent = call.caller.resolve_speaker(params.agent, "agent")
    from moothall.app.solo_decisions import SoloDecision, SoloDecisions, list_reviewers

    wanted = SoloDecision(topic="", decision="", **_list_terms(params, agent))
    permission = await SoloDecisions(call.moot, call.deliberations).ask(wanted)
    verdict = permission.verdict
    why = ", ".join((*verdict.scopes, *verdict.rules))
    note = f"{agent!r} may not decide this alone ({why}). Nothing was recorded; record_decision would open a deliberation."
    if verdict.is_allowed:
        note = f"{agent!r} may decide this alone. Nothing was recorded; next: record_decision."
    return MayOut(
        agent=agent,
        allowed=verdict.is_allowed,
        open_circuits=list(verdict.scopes),
        rules=list(verdict.rules),
        probe_for=list(verdict.probes),
        reviewers=list(list_reviewers(permission)),
        note=note,
    )


def _list_terms(params: MayParams, agent: str) -> dict[str, Any]:
    """What the rules and the circuits look at."""
    return {
        **params.model_dump(include={"confidence", "category", "stakes"}),
        "agent": agent,
        "tags": tuple(params.tags),
    }


@METHODS.add("cstp.recordDecision", "decide", tool="record_decision", unbound=True)
async def record_decision(call: Call, params: RecordParams) -> RecordOut:
    """Record a decision that one agent takes alone. Where a circuit is open or a rule forbids it, nothing is recorded: the
    answer is 'deliberation_required', and a deliberation is open with your decision as the first proposal.
    """
    from moothall.app.solo_decisions import SoloDecision, SoloDecisions

    caller = call.caller
    agent = caller.resolve_speaker(params.agent, "agent")
    if caller.role in {"agent", "recorder"} and params.participants:
        raise NotAllowed(
            "participants: who records a decision does not choose its own reviewers; leave them out"
        )
    wanted = SoloDecision(
        **_list_terms(params, agent),
        topic=params.topic,
        decision=params.decision,
        built_on=tuple(params.built_on),
        reviewers=tuple(params.participants),
        key=params.idempotency_key,
    )
    # An owner's word for an agent that holds a token of its own is marked as the owner's.
    done = await SoloDecisions(call.moot, call.deliberations).decide(
        wanted, via=await call.find_door("", agent)
    )
    result = done.result
    if result.is_allowed:
        then = (
            "Whoever owns it reports how it turned out"
            if caller.role == "agent"
            else "Report how it turned out"
        )
        note = f"Recorded. {then} with review_decision."
        return RecordOut(
            status="recorded", decision_id=result.decision, probe_for=list(result.probes), note=note
        )
    waits = f"Reviewers: {', '.join(done.reviewers)}."
    if not done.reviewers:
        free = done.participants[-1]
        waits = (
            f"No reviewer with a record is known, so the seat {free!r} is held free: whoever runs the server invites somebody to it "
            f"(`moot invite {result.deliberation} --seat {free}`)."
        )
    why = ", ".join((*result.scopes, *result.rules))
    note = (
        f"{agent!r} may not decide this alone ({why}). The deliberation "
        f"{result.deliberation} is open, with the decision as the first proposal. {waits} Next: get_asks as "
        f"{done.participants[0]!r}."
    )
    return RecordOut(
        status="deliberation_required",
        deliberation_id=result.deliberation,
        participants=list(done.participants),
        reviewers=list(done.reviewers),
        open_circuits=list(result.scopes),
        rules=list(result.rules),
        note=note,
    )


@METHODS.add("cstp.getCircuitState", "read", tool="get_circuit_state", unbound=True)
async def get_circuit_state(call: Call, scope: Scope = "global") -> CircuitView:
    """Whether one may decide alone in a scope: closed (yes), open (no) or half_open (one probe)."""
    return await (await call.moot.recall()).circuit(scope)


@METHODS.add("cstp.listBreakers", "read", unbound=True)
async def list_breakers(call: Call) -> BreakersOut:
    """Every circuit that is not closed or counts a failure, and the rules."""
    memory = await call.moot.recall()
    return BreakersOut(breakers=list(await memory.breakers()), policy=await memory.policy())


@METHODS.add("cstp.resetCircuit", "own", unbound=True)
async def reset_circuit(
    call: Call, scope: Scope, note: Note = "", idempotency_key: IdempotencyKey = ""
) -> CircuitView:
    """Close a circuit and delete its failure count."""
    memory = await call.moot.recall()
    return await memory.reset_circuit(scope, by=call.caller.name, note=note, key=idempotency_key)


@METHODS.add("cstp.getPolicy", "read", unbound=True)
async def get_policy(call: Call) -> Policy:
    """The rules for deciding alone."""
    return await call.moot.memory.policy()


@METHODS.add("cstp.setPolicy", "own", unbound=True)
async def set_policy(call: Call, params: PolicyParams) -> Policy:
    """Change the rules for deciding alone from now on; what is left out stays."""
    given = {
        name: value for name, value in params if value is not None and name != "idempotency_key"
    }
    changes = {
        name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
    }
    memory = await call.moot.recall()
    return await memory.change_policy(changes, by=call.caller.name, key=params.idempotency_key)
