"""The calls on a decision with all that led to it, and on a thread to which a participant returns."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import AliasChoices, Field

from moothall.domain.ids import parse_session_id
from moothall.errors import CallerError, UnknownDecision, UnknownSession, WorldError
from moothall.memory.facts import RequiredName
from moothall.memory.remembered_decision import RememberedDecision
from moothall.memory.threads import EventCount, ThreadEvent, ThreadView
from moothall.memory.track_records import Lineage
from moothall.protocols.council.timeline import CouncilTimeline
from moothall.surfaces.api.deliberation import build_session_standing
from moothall.surfaces.api.fields import DecisionRef, IdempotencyKey
from moothall.surfaces.api.memory import DecisionOut, FoundOut, ThreadRef, build_decision_out, find_decisions
from moothall.surfaces.api.method import ApiModel, Call, Operations
from moothall.surfaces.api.shapes import CandidateOut, ContributionOut, MovedOut, StandingOut, TallyOut, VoteOut
from moothall.surfaces.api.views import build_candidates, build_result, build_trace_lines, build_votes, find_motion_id

METHODS = Operations()


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


@METHODS.add("cstp.getDecision", "read", tool="get_decision")
async def get_decision(call: Call, decision_id: DecisionRef) -> DecisionTraceOut:
    """A past decision and what led to it: who argued what, candidates, votes and what moved them, dissent, obligations, reviews."""
    memory = await call.moot.recall()
    remembered = await memory.get(decision_id)
    if remembered is None:
        raise UnknownDecision(f"no decision {decision_id!r} is stored; list or search the decisions to find those that are")
    # A token for one session does not show what other sessions decided.
    chain = None if call.caller.session else await memory.find_lineage(decision_id)
    (whole,) = await memory.load_whole([remembered])
    trace = await _build_trace(call, remembered)
    out = build_decision_out(remembered, await memory.reliability())
    return DecisionTraceOut.collect(out, **trace, head=whole.record.head, chain=chain)


async def _build_trace(call: Call, remembered: RememberedDecision) -> dict[str, Any]:
    """The fields of `DecisionTraceOut`; none for a decision that no session of this ledger led to."""
    if remembered.is_alone:
        return {}
    try:
        plugin, timeline = await call.moot.load_plugin(remembered.decision), await call.moot.load_timeline(remembered.decision)
    except UnknownSession:
        return {}
    lines, more = build_trace_lines(timeline)
    trace = {"contributions": lines, "more": more, "participant_votes": build_votes(plugin.decision(timeline), timeline)}
    result = build_result(timeline) if isinstance(timeline, CouncilTimeline) else None
    if result is not None:
        place = await call.deliberations.load_state(remembered.decision)
        trace |= {"candidates": build_candidates(place, None), "motion": find_motion_id(place)}
        trace |= {"tally": result.tally, "changed_minds": result.changed_minds}
    return trace


@METHODS.add("cstp.resumeThread", "run", tool="resume_thread", unbound=True)
async def resume_thread(
    call: Call,
    thread: ThreadRef,
    participant: Annotated[RequiredName, Field(validation_alias=AliasChoices("participant", "agent", "seat"))],
    idempotency_key: IdempotencyKey = "",
) -> ResumedOut:
    """Return to a thread: its state, what you missed since your last visit, the open questions."""
    memory = await call.moot.recall()
    caught_up = await memory.resume_thread(thread, participant, key=idempotency_key)
    decisions = caught_up.view.decisions
    inside = {each.decision_id for each in decisions}
    hits = [hit for hit in await memory.find_similar(caught_up.view.title) if hit.decision not in inside]
    running = [await _find_running(call, each.decision_id) for each in decisions if not each.is_decided]
    return ResumedOut.collect(
        caught_up,
        thread=caught_up.view,
        like=await find_decisions(call, hits),
        running=[standing for standing in running if standing is not None],
    )


async def _find_running(call: Call, session: str) -> StandingOut | None:
    """Where a session of a thread stands that goes on; None if it has ended without a decision, or cannot be read."""
    try:
        name = parse_session_id(session)
        snapshot = await call.moot.engine.load_snapshot(name)
        return None if snapshot.is_closed else await build_session_standing(call, name)
    except (CallerError, WorldError):
        return None
