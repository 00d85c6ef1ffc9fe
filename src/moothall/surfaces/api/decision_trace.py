"""The calls on a decision with all that led to it, and on a thread to which a participant returns."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from pydantic import Field

from moothall.domain.ids import parse_session_id
from moothall.errors import CallerError, UnknownDecision, UnknownSession, WorldError
from moothall.memory.lineage import Lineage
from moothall.memory.remembered_decision import RememberedDecision
from moothall.memory.threads import EventCount, ThreadEvent, ThreadView
from moothall.protocols.consultation.timeline import unwrap_timeline
from moothall.protocols.council.timeline import CouncilTimeline
from moothall.surfaces.api.deliberation import build_session_standing
from moothall.surfaces.api.memory import build_decision_out, find_search_hit
from moothall.surfaces.api.memory_shapes import DecisionOut, DecisionParams, FoundOut, ResumeThreadParams
from moothall.surfaces.api.method import ApiModel, Call, Method, build_method
from moothall.surfaces.api.shapes import CandidateOut, ContributionOut, MovedOut, StandingOut, TallyOut, VoteOut
from moothall.surfaces.api.views import build_candidates, build_result, build_trace_lines, build_votes, find_motion_id


class DecisionTraceOut(DecisionOut):
    """A decision with all that led to it, in one answer."""

    contributions: list[ContributionOut] = Field(default=[], description="Who argued what, in order.")
    more: bool = Field(default=False, description="There is more than this answer holds: see getDeliberation.")
    candidates: list[CandidateOut] = []
    motion: int | None = None
    tally: list[TallyOut] = []
    participant_votes: dict[str, VoteOut] = {}
    changed_minds: list[MovedOut] = []
    head: str = Field(default="", description="The hash of the session's last entry when it ended.")
    chain: Lineage | None = Field(default=None, description="The decisions that it builds on, and those that build on it.")


class ResumedOut(ApiModel):
    thread: ThreadView
    last_visit: datetime | None = None
    missed: list[ThreadEvent]
    counts: list[EventCount]
    like: list[FoundOut] = Field(description="Decisions on similar topics outside this thread.")
    running: list[StandingOut] = Field(default=[], description="The thread's sessions that go on, and whom they wait for.")


async def get_decision(call: Call, params: DecisionParams) -> DecisionTraceOut:
    call.caller.check_session(params.decision_id)
    memory = await call.moot.recall()
    kept = await memory.get(params.decision_id)
    if kept is None:
        raise UnknownDecision(
            f"no decision {params.decision_id!r} is stored; list or search the decisions to find those that are"
        )
    # A token for one session does not show what other sessions decided.
    chain = None if call.caller.session else await memory.find_lineage(params.decision_id)
    (whole,) = await memory.load_whole([kept])
    trace = await _build_trace(call, kept)
    return DecisionTraceOut(**dict(build_decision_out(kept)), **trace, head=whole.record.head, chain=chain)


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


async def resume_thread(call: Call, params: ResumeThreadParams) -> ResumedOut:
    memory = await call.moot.recall()
    found = await memory.resume_thread(params.thread, params.participant, key=params.idempotency_key)
    inside = {each.decision_id for each in found.view.decisions}
    hits = [hit for hit in await memory.find_similar(found.view.title) if hit.decision not in inside]
    return ResumedOut(
        thread=found.view,
        last_visit=found.last_visit,
        missed=list(found.missed),
        counts=list(found.counts),
        like=[each for hit in hits if (each := await find_search_hit(call, hit.decision, hit.score, hit.snippet))],
        running=[
            running
            for each in found.view.decisions
            if not each.is_decided and (running := await _find_running(call, each.decision_id))
        ],
    )


async def _find_running(call: Call, session: str) -> StandingOut | None:
    """Where a session of a thread stands that goes on; None if it has ended without a decision, or cannot be read."""
    try:
        name = parse_session_id(session)
        snapshot = await call.moot.engine.load_snapshot(name)
        return None if snapshot.is_closed else StandingOut(**await build_session_standing(call, name))
    except (CallerError, WorldError):
        return None


TRACE_METHODS: tuple[Method[Any, Any], ...] = (
    build_method(
        "cstp.getDecision",
        "A past decision and what led to it: who argued what, candidates, votes and what moved them, dissent, obligations, reviews.",
        get_decision,
        "get_decision",
    ),
    replace(
        build_method(
            "cstp.resumeThread",
            "Return to a thread: its state, what you missed since your last visit, the open questions.",
            resume_thread,
            "resume_thread",
        ),
        needs_unbound_token=True,
    ),
)
