"""The calls on deciding alone: asking for permission, recording, circuit breakers and their policy (D-17)."""

from dataclasses import replace
from typing import Any

from moothall.errors import NotAllowed
from moothall.memory.breakers import CircuitView, Policy
from moothall.memory.facts import CategoryConfidence
from moothall.surfaces.api.breaker_shapes import (
    BreakersOut,
    CircuitParams,
    MayOut,
    MayParams,
    PolicyParams,
    RecordOut,
    RecordParams,
    ResetParams,
)
from moothall.surfaces.api.method import Call, Method, NoParams, build_method


async def may_decide_alone(call: Call, params: MayParams) -> MayOut:
    agent = call.caller.resolve_speaker(params.agent, "agent")
    from moothall.app.solo_decisions import SoloDecision, SoloDecisions, list_reviewers

    wanted = SoloDecision(
        agent=agent,
        topic="",
        decision="",
        confidence=params.confidence,
        category=params.category,
        stakes=params.stakes,
        tags=tuple(params.tags),
    )
    found = await SoloDecisions(call.moot, call.deliberations).ask(wanted)
    verdict = found.verdict
    why = ", ".join((*verdict.scopes, *verdict.rules))
    return MayOut(
        agent=agent,
        allowed=found.is_allowed,
        open_circuits=list(verdict.scopes),
        rules=list(verdict.rules),
        probe_for=list(verdict.probes),
        reviewers=list(list_reviewers(found)),
        note=f"{agent!r} may decide this alone. Nothing was recorded; next: record_decision."
        if found.is_allowed
        else f"{agent!r} may not decide this alone ({why}). Nothing was recorded; record_decision would open a deliberation.",
    )


async def record_decision(call: Call, params: RecordParams) -> RecordOut:
    """Record a decision that an agent took alone, or open the deliberation that is required instead (D-17)."""
    from moothall.app.solo_decisions import SoloDecision, SoloDecisions

    caller = call.caller
    agent = caller.resolve_speaker(params.agent, "agent")
    if caller.role in {"agent", "recorder"} and params.participants:
        raise NotAllowed("participants: who records a decision does not choose its own reviewers; leave them out")
    wanted = SoloDecision(
        agent=agent,
        topic=params.topic,
        decision=params.decision,
        confidence=params.confidence,
        category=params.category,
        stakes=params.stakes,
        tags=tuple(params.tags),
        built_on=tuple(params.built_on),
        reviewers=tuple(params.participants),
        key=params.idempotency_key,
    )
    # An owner's word for an agent that holds a token of its own is marked as the owner's.
    done = await SoloDecisions(call.moot, call.deliberations).decide(wanted, via=await call.find_door("", agent))
    found = done.result
    if found.is_allowed:
        then = "Whoever owns it reports how it turned out" if caller.role == "agent" else "Report how it turned out"
        note = f"Recorded. {then} with review_decision."
        return RecordOut(status="recorded", decision_id=found.decision, probe_for=list(found.probes), note=note)
    waits = f"Reviewers: {', '.join(done.reviewers)}."
    if not done.reviewers:
        free = done.participants[-1]
        waits = (
            f"No reviewer with a record is known, so the seat {free!r} is held free: whoever runs the server invites somebody to it "
            f"(`moot invite {found.deliberation} --seat {free}`)."
        )
    return RecordOut(
        status="deliberation_required",
        deliberation_id=found.deliberation,
        participants=list(done.participants),
        reviewers=list(done.reviewers),
        open_circuits=list(found.scopes),
        rules=list(found.rules),
        note=(
            f"{agent!r} may not decide this alone ({', '.join((*found.scopes, *found.rules))}). The deliberation "
            f"{found.deliberation} is open, with the decision as the first proposal. {waits} Next: wait_for_turn as "
            f"{done.participants[0]!r}."
        ),
    )


async def get_circuit_state(call: Call, params: CircuitParams) -> CircuitView:
    return await (await call.moot.recall()).circuit(params.scope)


async def list_breakers(call: Call, params: NoParams) -> BreakersOut:
    memory = await call.moot.recall()
    return BreakersOut(
        breakers=list(await memory.breakers()),
        policy=await memory.policy(),
    )


async def reset_circuit(call: Call, params: ResetParams) -> CircuitView:
    memory = await call.moot.recall()
    return await memory.reset_circuit(params.scope, by=call.caller.name, note=params.note, key=params.idempotency_key)


async def get_policy(call: Call, params: NoParams) -> Policy:
    return await call.moot.memory.policy()


async def set_policy(call: Call, params: PolicyParams) -> Policy:
    given = params.model_dump(exclude_none=True, exclude={"idempotency_key"})
    changes = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    if params.category_confidence is not None:
        changes["category_confidence"] = tuple(
            CategoryConfidence(category=each.category, min_confidence=each.min_confidence) for each in params.category_confidence
        )
    memory = await call.moot.recall()
    return await memory.change_policy(changes, by=call.caller.name, key=params.idempotency_key)


_METHODS: tuple[Method[Any, Any], ...] = (
    build_method(
        "cstp.recordDecision",
        "Record a decision that one agent takes alone. Where a circuit is open or a rule forbids it, nothing is recorded: the answer is "
        "'deliberation_required', and a deliberation is open with your decision as the first proposal.",
        record_decision,
        "record_decision",
    ),
    build_method(
        "cstp.mayDecideAlone",
        "Ask whether an agent may decide something alone, and who would review it if not. Nothing is recorded.",
        may_decide_alone,
        "may_decide_alone",
    ),
    build_method(
        "cstp.getCircuitState",
        "Whether one may decide alone in a scope: closed (yes), open (no) or half_open (one probe).",
        get_circuit_state,
        "get_circuit_state",
    ),
    build_method("cstp.listBreakers", "Every circuit that is not closed or counts a failure, and the rules.", list_breakers),
    build_method("cstp.resetCircuit", "Close a circuit and delete its failure count.", reset_circuit),
    build_method("cstp.getPolicy", "The rules for deciding alone.", get_policy),
    build_method("cstp.setPolicy", "Change the rules for deciding alone from now on; what is left out stays.", set_policy),
)

BREAKER_METHODS: tuple[Method[Any, Any], ...] = tuple(replace(each, needs_unbound_token=True) for each in _METHODS)
"""Rules and circuits are of all sessions."""
