"""The calls on what outlives a session: decisions and their outcomes, trust, amplification, threads."""

from dataclasses import replace
from typing import Any, Final

from moothall.memory.lineage import Lineage
from moothall.memory.obligations import RememberedObligation, describe_obligations, has_open_obligations
from moothall.memory.obligations import list_obligations as list_obligations_of
from moothall.memory.remembered_decision import ALONE, RememberedDecision
from moothall.memory.threads import ThreadView
from moothall.surfaces.api.memory_shapes import (
    AmplificationsOut,
    AskThreadParams,
    CreateThreadParams,
    DecisionOut,
    DecisionParams,
    DecisionsOut,
    DecisionsParams,
    FoundOut,
    ObligationsOut,
    ObligationsParams,
    ReviewOut,
    ReviewParams,
    SearchOut,
    SearchParams,
    SearchWithin,
    SessionFoundOut,
    SetThreadParams,
    SettleObligationParams,
    SettleThreadParams,
    SourceFoundOut,
    SourcesOut,
    ThreadFoundOut,
    ThreadParams,
    ThreadsOut,
    TrustOut,
    TrustParams,
)
from moothall.surfaces.api.method import Call, Method, NoParams, build_method

_SETTLE: Final = "Report it with settle_obligation."


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
        decision=record.text,
        choice=record.choice,
        strength=record.strength,
        confidence=record.confidence,
        consensus_type=record.consensus_type,
        members=list(record.members),
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
        obligations=list(list_obligations_of(kept)),
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
    if call.caller.role == "observer":
        # Who decides may look into memory (D-16); who only watches one session sees that one.
        call.caller.check_unbound("cstp.searchDecisions")
    memory, query, limit = await call.moot.recall(), params.query, params.limit

    def is_wanted(kind: SearchWithin) -> bool:
        return params.within in {"all", kind}

    hits = await memory.search(query, limit=limit, category=params.category) if is_wanted("decisions") else []
    threads = await call.moot.remembering.search_threads(query) if is_wanted("threads") else []
    sources = await memory.search_sources(query) if is_wanted("trust") else []
    # A token for one session does not show that others go on.
    lines = await call.moot.session_list.search(query) if is_wanted("deliberations") and not call.caller.session else []
    return SearchOut(
        decisions=[found for hit in hits if (found := await find_search_hit(call, hit.decision, hit.score, hit.snippet))],
        threads=[
            ThreadFoundOut(
                thread=each.thread,
                title=each.title,
                status=each.status,
                decisions=len(each.decisions),
                open_questions=[question.text for question in each.open_questions],
            )
            for each in threads[:limit]
        ],
        sources=[SourceFoundOut.model_validate(each) for each in sources[:limit]],
        deliberations=[
            SessionFoundOut(session_id=line.session, protocol=line.protocol, topic=line.topic, status=line.status)
            for line in [line for line in lines if line.status in {"thinking", "parked"}][:limit]
        ],
    )


async def find_search_hit(call: Call, decision: str, score: float, snippet: str) -> FoundOut | None:
    kept = await call.moot.memory.get(decision)
    if kept is None:
        return None
    return FoundOut(
        decision_id=decision,
        score=round(score, 3),
        snippet=snippet,
        topic=kept.record.topic,
        decision=kept.record.text,
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


async def list_obligations(call: Call, params: ObligationsParams) -> ObligationsOut:
    if params.decision_id is None:
        call.caller.check_unbound("listing the obligations of all decisions")
    else:
        call.caller.check_session(params.decision_id)
    memory = await call.moot.recall()
    found = await memory.list_obligations(decision=params.decision_id, only_open=params.only_open, limit=params.limit)
    return ObligationsOut(obligations=list(found))


async def settle_obligation(call: Call, params: SettleObligationParams) -> RememberedObligation:
    call.caller.check_session(params.decision_id)
    memory = await call.moot.recall()
    return await memory.settle_obligation(
        params.decision_id,
        params.number,
        params.state,
        note=params.note,
        by=call.caller.name,
        key=params.idempotency_key,
    )


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
        categories=[] if record is None else list(record.categories),
    )


async def list_sources(call: Call, params: NoParams) -> SourcesOut:
    return SourcesOut(sources=list(await (await call.moot.recall()).sources()))


async def get_amplification_stats(call: Call, params: NoParams) -> AmplificationsOut:
    found = await (await call.moot.recall()).amplification()
    return AmplificationsOut(protocols=[each for each in found if each.protocol != ALONE])


async def get_amplification_chain(call: Call, params: DecisionParams) -> Lineage:
    return await (await call.moot.recall()).find_lineage(params.decision_id)


async def create_thread(call: Call, params: CreateThreadParams) -> ThreadView:
    return await call.moot.memory.create_thread(
        params.title, category=params.category, by=call.caller.name, thread=params.thread, key=params.idempotency_key
    )


async def get_thread_status(call: Call, params: ThreadParams) -> ThreadView:
    return await (await call.moot.recall()).thread_status(params.thread)


async def set_thread_status(call: Call, params: SetThreadParams) -> ThreadView:
    return await call.moot.memory.set_thread_status(
        params.thread, params.status, note=params.note, by=call.caller.name, key=params.idempotency_key
    )


async def ask_in_thread(call: Call, params: AskThreadParams) -> ThreadView:
    return await call.moot.memory.ask_in_thread(params.thread, params.question, by=call.caller.name, key=params.idempotency_key)


async def settle_question(call: Call, params: SettleThreadParams) -> ThreadView:
    return await call.moot.memory.settle_question(params.thread, params.number, by=call.caller.name, key=params.idempotency_key)


async def list_threads(call: Call, params: NoParams) -> ThreadsOut:
    return ThreadsOut(threads=list(await (await call.moot.recall()).threads()))


_METHODS: tuple[Method[Any, Any], ...] = (
    build_method(
        "cstp.reviewDecision",
        "Report how a decision turned out: success, partial, failure or abandoned. Trust, amplification and circuit breakers follow. "
        "The answer lists the obligations still open.",
        review_decision,
        "review_decision",
    ),
    build_method(
        "cstp.searchDecisions",
        "Search past decisions with their outcomes, threads, trust in sources and open deliberations, by words and by meaning (also "
        "Chinese). Do this before you decide or open a new one.",
        search_decisions,
        "search_decisions",
    ),
    build_method("cstp.listDecisions", "List past decisions, the newest first.", list_decisions),
    build_method(
        "cstp.listObligations",
        "The conditions that decisions were carried with: who set each, what must hold, by when, and whether it is open.",
        list_obligations,
        "list_obligations",
    ),
    build_method(
        "cstp.settleObligation",
        "Report what became of a decision's condition: met, waived or failed.",
        settle_obligation,
        "settle_obligation",
    ),
    build_method(
        "cstp.getSourceTrust",
        "The trust in a participant or model, computed from its stated confidences and the outcomes; 0.5 without a record.",
        get_source_trust,
        "get_source_trust",
    ),
    build_method("cstp.listSources", "Every participant and model with a track record.", list_sources),
    build_method(
        "cstp.getAmplificationStats",
        "Whether groups did better than their members alone, per protocol, with the counts behind each figure.",
        get_amplification_stats,
    ),
    build_method(
        "cstp.getAmplificationChain",
        "The decisions that a decision builds on, those that build on it, and which of them failed.",
        get_amplification_chain,
    ),
    build_method(
        "cstp.createThread",
        "Create a thread: a line of reasoning over several deliberations.",
        create_thread,
        "create_thread",
    ),
    build_method("cstp.getThreadStatus", "The state of a thread: active, paused, completed or blocked.", get_thread_status),
    build_method("cstp.setThreadStatus", "Pause, complete, block or reactivate a thread.", set_thread_status),
    build_method("cstp.askInThread", "Add an open question to a thread.", ask_in_thread),
    build_method("cstp.settleQuestion", "Mark a thread's question as answered.", settle_question),
    build_method("cstp.listThreads", "All threads, the most recently changed first.", list_threads),
)

_OF_ONE: Final = {search_decisions, list_obligations, settle_obligation}

MEMORY_METHODS: tuple[Method[Any, Any], ...] = tuple(
    each if each.handler in _OF_ONE else replace(each, needs_unbound_token=True) for each in _METHODS
)
"""What outlives sessions is of all of them; one decision is its own session's, and every seat may search."""
