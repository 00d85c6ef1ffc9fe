"""The calls on what outlives a session: decisions and their outcomes, trust, amplification, threads, circuit breakers."""

from dataclasses import replace
from hashlib import sha256
from secrets import token_hex
from typing import Any, Final

from moot.domain.ids import SeatId, parse_seat_id
from moot.domain.roster import MAILBOX, Seat
from moot.domain.topic import build_topic
from moot.errors import BadName, SessionExists, UnknownDecision, UnknownSession
from moot.memory.obligations import describe_obligations, has_open_obligations
from moot.memory.obligations import list_obligations as list_obligations_of
from moot.memory.remembered_decision import ALONE, RememberedDecision
from moot.protocols.consultation.timeline import unwrap_timeline
from moot.protocols.council.timeline import CouncilTimeline
from moot.surfaces.api.memory_shapes import (
    AmplificationOut,
    AmplificationsOut,
    AskThreadParams,
    BreakersOut,
    CategoryTrustOut,
    ChainOut,
    CircuitOut,
    CircuitParams,
    CountOut,
    CreateThreadParams,
    DecisionOut,
    DecisionParams,
    DecisionsOut,
    DecisionsParams,
    DecisionTraceOut,
    FoundOut,
    HappeningOut,
    MemberOut,
    ObligationsOut,
    ObligationsParams,
    PolicyOut,
    RecordOut,
    RecordParams,
    ResetParams,
    ResumedOut,
    ResumeThreadParams,
    ReviewOut,
    ReviewParams,
    SearchOut,
    SearchParams,
    SetThreadParams,
    SettleObligationParams,
    SettleThreadParams,
    SourcesOut,
    ThreadOut,
    ThreadParams,
    ThreadsOut,
    TrustOut,
    TrustParams,
)
from moot.surfaces.api.method import Call, Method, Nothing, build_method
from moot.surfaces.api.shapes import ObligationOut
from moot.surfaces.api.views import build_candidates, build_result, build_trace_lines, build_votes, find_motion_id

_SETTLE: Final = "Report it with settle_obligation."
MOST_INVITED: Final = 2
REVIEWER: Final = "reviewer"
"""The seat that is held free for whoever reviews, where nobody with a record is known."""


def build_decision_out(kept: RememberedDecision) -> DecisionOut:
    """A decision as it crosses the wire."""
    record = kept.record
    return DecisionOut(
        decision_id=kept.decision,
        protocol=record.protocol,
        topic=record.topic,
        category=record.category,
        stakes=record.stakes,
        tags=list(record.tags),
        thread=record.thread,
        decision=record.decided,
        choice=record.choice,
        strength=record.strength,
        confidence=record.confidence,
        consensus_type=record.consensus_type,
        members=[MemberOut.model_validate(member) for member in record.members],
        dissent=list(record.dissent),
        open_questions=list(record.open_questions),
        built_on=list(record.built_on),
        opened_at=record.opened_at,
        closed_at=record.closed_at,
        outcome=kept.outcome,
        reviews=[
            ReviewOut(at=review.at, outcome=review.outcome, choice=review.choice, note=review.note, by=review.by)
            for review in kept.reviews
        ],
        options=list(record.options),
        obligations=[ObligationOut.model_validate(each) for each in list_obligations_of(kept)],
        note=" ".join(filter(None, (describe_obligations(kept), _SETTLE if has_open_obligations(kept) else ""))),
    )


async def review_decision(call: Call, params: ReviewParams) -> DecisionOut:
    memory = await call.moot.recall()
    return build_decision_out(
        await memory.review(
            params.decision_id,
            params.outcome,
            choice=params.choice,
            note=params.note,
            by=call.caller.name,
            key=params.idempotency_key,
        )
    )


async def search_decisions(call: Call, params: SearchParams) -> SearchOut:
    memory = await call.moot.recall()
    hits = await memory.search(params.query, limit=params.limit, category=params.category)
    return SearchOut(
        decisions=[found for hit in hits if (found := await _find_search_hit(call, hit.decision, hit.score, hit.snippet))]
    )


async def _find_search_hit(call: Call, decision: str, score: float, snippet: str) -> FoundOut | None:
    kept = await call.moot.memory.get(decision)
    if kept is None:
        return None
    return FoundOut(
        decision_id=decision,
        score=round(score, 3),
        snippet=snippet,
        topic=kept.record.topic,
        decision=kept.record.decided,
        strength=kept.record.strength,
        outcome=kept.outcome,
    )


async def list_decisions(call: Call, params: DecisionsParams) -> DecisionsOut:
    memory = await call.moot.recall()
    found = await memory.list_decisions(
        category=params.category,
        protocol=params.protocol,
        outcome=params.outcome,
        source=params.source,
        before=params.before,
        limit=params.limit,
    )
    return DecisionsOut(decisions=[build_decision_out(kept) for kept in found])


async def get_decision(call: Call, params: DecisionParams) -> DecisionTraceOut:
    call.caller.check_session(params.decision_id)
    kept = await (await call.moot.recall()).get(params.decision_id)
    if kept is None:
        raise UnknownDecision(f"no decision {params.decision_id!r} is stored; search_decisions finds those that are")
    return DecisionTraceOut(**dict(build_decision_out(kept)), **await _build_trace(call, kept))


async def _build_trace(call: Call, kept: RememberedDecision) -> dict[str, Any]:
    """The fields of `DecisionTraceOut`; none for a decision that no session of this ledger led to."""
    if kept.is_alone:
        return {}
    try:
        plugin, timeline = await call.moot.load_plugin(kept.decision), await call.moot.load_timeline(kept.decision)
    except UnknownSession:
        return {}
    inner = unwrap_timeline(timeline)
    lines, more = build_trace_lines(inner)
    found = {"contributions": lines, "more": more, "participant_votes": build_votes(plugin.decision(timeline), inner)}
    result = build_result(inner) if isinstance(inner, CouncilTimeline) else None
    if result is not None:
        place = await call.deliberations.load_state(kept.decision)
        found |= {"candidates": build_candidates(place, None), "motion": find_motion_id(place)}
        found |= {"tally": result.tally, "changed_minds": result.changed_minds}
    return found


async def list_obligations(call: Call, params: ObligationsParams) -> ObligationsOut:
    if params.decision_id is None:
        call.caller.check_unbound("listing the obligations of all decisions")
    else:
        call.caller.check_session(params.decision_id)
    memory = await call.moot.recall()
    found = await memory.list_obligations(decision=params.decision_id, only_open=params.only_open, limit=params.limit)
    return ObligationsOut(obligations=[ObligationOut.model_validate(each) for each in found])


async def settle_obligation(call: Call, params: SettleObligationParams) -> ObligationOut:
    call.caller.check_session(params.decision_id)
    memory = await call.moot.recall()
    settled = await memory.settle_obligation(
        params.decision_id,
        params.number,
        params.state,
        note=params.note,
        by=call.caller.name,
        key=params.idempotency_key,
    )
    return ObligationOut.model_validate(settled)


async def record_decision(call: Call, params: RecordParams) -> RecordOut:
    """Record a decision that an agent took alone, or open the deliberation that is required instead (D-17)."""
    memory = await call.moot.recall()
    participants = await _choose_participants(call, params)
    found = await memory.decide_alone(
        params.agent,
        params.topic,
        params.decision,
        params.confidence,
        category=params.category,
        stakes=params.stakes,
        tags=params.tags,
        built_on=params.built_on,
        key=params.idempotency_key,
        deliberation=_build_session_id(params),
    )
    if found.is_allowed:
        note = "Recorded. Report how it turned out with review_decision."
        return RecordOut(status="recorded", decision_id=found.decision, probe_for=list(found.probes), note=note)
    await _open_required(call, params, found.deliberation, participants)
    return RecordOut(
        status="deliberation_required",
        deliberation_id=found.deliberation,
        participants=list(participants),
        open_circuits=list(found.scopes),
        rules=list(found.rules),
        note=(
            f"{params.agent!r} may not decide this alone ({', '.join((*found.scopes, *found.rules))}). The deliberation "
            f"{found.deliberation} is open for: {', '.join(participants)}. Next: join_deliberation."
        ),
    )


def _build_session_id(params: RecordParams) -> str:
    """The id of the deliberation that would be required: the same for the same key, so that a retry opens no second one."""
    seed = "\x1f".join((params.agent, params.idempotency_key)) if params.idempotency_key else token_hex(16)
    return f"required_{sha256(seed.encode()).hexdigest()[:20]}"


async def _choose_participants(call: Call, params: RecordParams) -> list[SeatId]:
    """The agent, and those who are named; else the outside participants with the best record in the category."""
    named = [parse_seat_id(name) for name in params.participants]
    if not named:
        ranked = sorted(await call.moot.memory.sources(), key=lambda record: -record.trust)
        named = [seat for record in ranked if (seat := _parse_seat(record.source)) and seat != params.agent][:MOST_INVITED]
    agent = _parse_seat(params.agent) or SeatId("proposer")
    others = [seat for seat in dict.fromkeys(named) if seat != agent]
    return [agent, *(others or [SeatId(REVIEWER)])]


def _parse_seat(source: str) -> SeatId | None:
    try:
        return parse_seat_id(source)
    except BadName:
        return None


async def _open_required(call: Call, params: RecordParams, session: str, participants: list[SeatId]) -> None:
    try:
        await call.deliberations.open(
            params.topic,
            seats=[Seat(id=seat, platform=MAILBOX) for seat in participants],
            protocol="debate",
            session=session,
            subject=build_topic(
                category=params.category,
                stakes=params.stakes,
                tags=params.tags,
                built_on=params.built_on,
            ),
            hosted=True,
        )
    except SessionExists:
        return


async def get_source_trust(call: Call, params: TrustParams) -> TrustOut:
    memory = await call.moot.recall()
    records = {record.source: record for record in await memory.sources()}
    record = records.get(params.source)
    standing = (await memory.compute_standings([params.source], params.category))[params.source]
    return TrustOut(
        source=params.source,
        category=params.category,
        trust=round(standing.trust, 4),
        accuracy=round(standing.accuracy, 4),
        cases=0 if record is None else record.cases,
        brier=None if record is None else record.brier,
        categories=[] if record is None else [CategoryTrustOut.model_validate(each) for each in record.categories],
    )


async def list_sources(call: Call, params: Nothing) -> SourcesOut:
    found = await (await call.moot.recall()).sources()
    return SourcesOut(sources=[TrustOut.model_validate(record) for record in found])


async def get_amplification_stats(call: Call, params: Nothing) -> AmplificationsOut:
    found = await (await call.moot.recall()).amplification()
    return AmplificationsOut(protocols=[AmplificationOut.model_validate(each) for each in found if each.protocol != ALONE])


async def get_amplification_chain(call: Call, params: DecisionParams) -> ChainOut:
    return ChainOut.model_validate(await (await call.moot.recall()).find_lineage(params.decision_id))


async def create_thread(call: Call, params: CreateThreadParams) -> ThreadOut:
    found = await call.moot.memory.create_thread(
        params.title, category=params.category, by=call.caller.name, thread=params.thread
    )
    return ThreadOut.model_validate(found)


async def resume_thread(call: Call, params: ResumeThreadParams) -> ResumedOut:
    memory = await call.moot.recall()
    found = await memory.resume_thread(params.thread, params.participant)
    inside = {decision.decision for decision in found.view.decisions}
    hits = [hit for hit in await memory.find_similar(found.view.title) if hit.decision not in inside]
    return ResumedOut(
        thread=ThreadOut.model_validate(found.view),
        last_visit=found.last_visit,
        missed=[HappeningOut.model_validate(each) for each in found.missed],
        counts=[CountOut.model_validate(each) for each in found.counts],
        like=[each for hit in hits if (each := await _find_search_hit(call, hit.decision, hit.score, hit.snippet))],
    )


async def get_thread_status(call: Call, params: ThreadParams) -> ThreadOut:
    return ThreadOut.model_validate(await (await call.moot.recall()).thread_status(params.thread))


async def set_thread_status(call: Call, params: SetThreadParams) -> ThreadOut:
    found = await call.moot.memory.set_thread_status(params.thread, params.status, note=params.note, by=call.caller.name)
    return ThreadOut.model_validate(found)


async def ask_in_thread(call: Call, params: AskThreadParams) -> ThreadOut:
    return ThreadOut.model_validate(await call.moot.memory.ask_in_thread(params.thread, params.question, by=call.caller.name))


async def settle_question(call: Call, params: SettleThreadParams) -> ThreadOut:
    return ThreadOut.model_validate(await call.moot.memory.settle_question(params.thread, params.number, by=call.caller.name))


async def list_threads(call: Call, params: Nothing) -> ThreadsOut:
    return ThreadsOut(threads=[ThreadOut.model_validate(each) for each in await (await call.moot.recall()).threads()])


async def get_circuit_state(call: Call, params: CircuitParams) -> CircuitOut:
    return CircuitOut.model_validate(await (await call.moot.recall()).circuit(params.scope))


async def list_breakers(call: Call, params: Nothing) -> BreakersOut:
    memory = await call.moot.recall()
    return BreakersOut(
        breakers=[CircuitOut.model_validate(each) for each in await memory.breakers()],
        policy=PolicyOut.model_validate(await memory.policy()),
    )


async def reset_circuit(call: Call, params: ResetParams) -> CircuitOut:
    memory = await call.moot.recall()
    return CircuitOut.model_validate(await memory.reset_circuit(params.scope, by=call.caller.name, note=params.note))


_METHODS: tuple[Method[Any, Any], ...] = (
    build_method(
        "cstp.recordDecision",
        "Record a decision that one agent takes alone. Where a circuit is open or the stakes forbid it, nothing is recorded: the answer "
        "is 'deliberation_required', and the deliberation is open for you to join.",
        record_decision,
        "own",
        "record_decision",
    ),
    build_method(
        "cstp.reviewDecision",
        "Report how a decision turned out: success, partial, failure or abandoned. Trust, amplification and circuit breakers follow. "
        "The answer lists the obligations still open.",
        review_decision,
        "own",
        "review_decision",
    ),
    build_method(
        "cstp.searchDecisions",
        "Search past decisions by words (also Chinese) in topic, decision and arguments. Do this before you open a new one.",
        search_decisions,
        "read",
        "search_decisions",
    ),
    build_method("cstp.listDecisions", "List past decisions, the newest first.", list_decisions, "read"),
    build_method(
        "cstp.getDecision",
        "A past decision and what led to it: who argued what, candidates, votes and what moved them, dissent, obligations, reviews.",
        get_decision,
        "read",
        "get_decision",
    ),
    build_method(
        "cstp.listObligations",
        "The conditions that decisions were carried with: who set each, what must hold, by when, and whether it is open.",
        list_obligations,
        "read",
        "list_obligations",
    ),
    build_method(
        "cstp.settleObligation",
        "Report what became of a decision's condition: met, waived or failed.",
        settle_obligation,
        "own",
        "settle_obligation",
    ),
    build_method(
        "cstp.getSourceTrust",
        "The trust in a participant or model, computed from its stated confidences and the outcomes; 0.5 without a record.",
        get_source_trust,
        "read",
        "get_source_trust",
    ),
    build_method("cstp.listSources", "Every participant and model with a track record.", list_sources, "read"),
    build_method(
        "cstp.getAmplificationStats",
        "Whether groups did better than their members alone, per protocol, with the counts behind each figure.",
        get_amplification_stats,
        "read",
    ),
    build_method(
        "cstp.getAmplificationChain",
        "The decisions that a decision builds on, those that build on it, and which of them failed.",
        get_amplification_chain,
        "read",
    ),
    build_method(
        "cstp.createThread",
        "Create a thread: a line of reasoning over several deliberations.",
        create_thread,
        "own",
        "create_thread",
    ),
    build_method(
        "cstp.resumeThread",
        "Return to a thread: its state, what you missed since your last visit, the open questions.",
        resume_thread,
        "own",
        "resume_thread",
    ),
    build_method(
        "cstp.getThreadStatus", "The state of a thread: active, paused, completed or blocked.", get_thread_status, "read"
    ),
    build_method("cstp.setThreadStatus", "Pause, complete, block or reactivate a thread.", set_thread_status, "own"),
    build_method("cstp.askInThread", "Add an open question to a thread.", ask_in_thread, "own"),
    build_method("cstp.settleQuestion", "Mark a thread's question as answered.", settle_question, "own"),
    build_method("cstp.listThreads", "All threads, the most recently changed first.", list_threads, "read"),
    build_method(
        "cstp.getCircuitState",
        "Whether one may decide alone in a scope: closed (yes), open (no) or half_open (one probe).",
        get_circuit_state,
        "read",
        "get_circuit_state",
    ),
    build_method(
        "cstp.listBreakers", "Every circuit that is not closed or counts a failure, and the rules.", list_breakers, "read"
    ),
    build_method("cstp.resetCircuit", "Close a circuit and delete its failure count.", reset_circuit, "own"),
)

_OF_ONE: Final = {get_decision, list_obligations, settle_obligation}

MEMORY_METHODS: tuple[Method[Any, Any], ...] = tuple(
    each if each.handler in _OF_ONE else replace(each, is_of_all=True) for each in _METHODS
)
"""What outlives sessions is of all of them; one decision is its own session's."""
