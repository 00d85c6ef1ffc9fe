"""A decision with all that led to it, its published JSON schema, and the shape in which a chat client asks for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Final

from pydantic import AliasChoices, Field

from moothall.domain.ids import SeatId, parse_session_id
from moothall.domain.safe_text import dump_json, name_field
from moothall.domain.topic import MAX_LABELS, normalize_label
from moothall.errors import CallerError, UnknownDecision, UnknownSession, WorldError
from moothall.memory.facts import RequiredName
from moothall.memory.remembered_decision import RememberedDecision
from moothall.memory.threads import EventCount, ThreadEvent, ThreadView
from moothall.memory.track_records import Lineage
from moothall.ports.plugin import CastVote
from moothall.reports.decision import Decision
from moothall.reports.memo import encode_with_memo
from moothall.surfaces.api.deliberation import build_session_standing
from moothall.surfaces.api.fields import DecisionRef, IdempotencyKey
from moothall.surfaces.api.memo_shape import MemoOut
from moothall.surfaces.api.memory import (
    DecisionHitOut,
    DecisionOut,
    ThreadRef,
    build_decision_out,
    find_decisions,
)
from moothall.surfaces.api.method import ApiModel, Call, Operations, build_output_schema
from moothall.surfaces.api.shapes import (
    CandidateOut,
    ContributionOut,
    MovedOut,
    StandingOut,
    TallyOut,
    VoteOut,
)
from moothall.surfaces.api.views import (
    build_candidates,
    build_tallies,
    build_trace_lines,
    build_votes,
    collect_changes,
)

METHODS = Operations()


class DecisionTraceOut(DecisionOut):
    """A decision with all that led to it, in one answer."""

    contributions: list[ContributionOut] = Field(
        default=[], description="Who argued what, in order."
    )
    more: bool = Field(
        default=False, description="There is more than this answer holds: see getDeliberation."
    )
    candidates: list[CandidateOut] = []
    motion: int | None = None
    tally: list[TallyOut] = []
    participant_votes: dict[str, VoteOut] = {}
    changed_minds: list[MovedOut] = []
    head: str = Field(default="", description="The hash of the session's last entry when it ended.")
    chain: Lineage | None = Field(
        default=None, description="The decisions that it builds on, and those that build on it."
    )


class ResumedOut(ApiModel):
    thread: ThreadView
    last_visit: datetime | None = None
    missed: list[ThreadEvent]
    counts: list[EventCount]
    like: list[DecisionHitOut] = Field(
        description="Decisions on similar topics outside this thread."
    )
    running: list[StandingOut] = Field(
        default=[], description="The thread's sessions that go on, and whom they wait for."
    )


@METHODS.add("cstp.getDecision", "read", tool="get_decision")
async def get_decision(call: Call, decision_id: DecisionRef) -> DecisionTraceOut:
    """A past decision and what led to it: who argued what, candidates, votes and what moved them, dissent, obligations, reviews."""
    memory = await call.moot.recall()
    remembered = await memory.get(decision_id)
    if remembered is None:
        raise UnknownDecision(
            f"no decision {decision_id!r} is stored; list or search the decisions to find those that are"
        )
    # A token for one session does not show what other sessions decided.
    chain = None
    if not call.caller.session:
        chain = await memory.find_lineage(decision_id)
    (whole,) = await memory.load_whole([remembered])
    trace = await _build_trace(call, remembered)
    out = build_decision_out(remembered, await memory.reliability())
    return DecisionTraceOut.collect(out, **trace, head=whole.record.head, chain=chain)


async def _build_trace(call: Call, remembered: RememberedDecision) -> dict[str, Any]:
    """The fields of `DecisionTraceOut`; none for a decision that no session of this ledger led to."""
    if remembered.is_alone:
        return {}
    try:
        plugin, timeline = (
            await call.moot.load_plugin(remembered.decision),
            await call.moot.load_timeline(remembered.decision),
        )
    except UnknownSession:
        return {}
    lines, more = build_trace_lines(plugin, timeline)
    decision = plugin.decision(timeline)
    votes: Mapping[SeatId, CastVote] = {}
    if plugin.votes is not None:
        votes = plugin.votes(timeline)
    trace: dict[str, Any] = {
        "contributions": lines,
        "more": more,
        "participant_votes": build_votes(decision, votes),
    }
    ballot = None
    if plugin.ballot is not None:
        ballot = plugin.ballot(timeline, None)
    if ballot is not None:
        trace["candidates"] = build_candidates(ballot)
        trace["motion"] = ballot.motion
        trace["tally"] = build_tallies(ballot.tally)
        trace["changed_minds"] = collect_changes(decision, ballot.motion_choice)
    return trace


@METHODS.add("cstp.resumeThread", "run", tool="resume_thread", unbound=True)
async def resume_thread(
    call: Call,
    thread: ThreadRef,
    participant: Annotated[
        RequiredName, Field(validation_alias=AliasChoices("participant", "agent", "seat"))
    ],
    idempotency_key: IdempotencyKey = "",
) -> ResumedOut:
    """Return to a thread: its state, what you missed since your last visit, the open questions."""
    memory = await call.moot.recall()
    caught_up = await memory.resume_thread(thread, participant, key=idempotency_key)
    decisions = caught_up.view.decisions
    inside = {each.decision_id for each in decisions}
    hits = [
        hit for hit in await memory.find_similar(caught_up.view.title) if hit.decision not in inside
    ]
    running = []
    for each in decisions:
        if not each.has_ended:
            standing = await _find_running(call, each.decision_id)
            if standing is not None:
                running.append(standing)
    return ResumedOut.collect(
        caught_up,
        thread=caught_up.view,
        like=await find_decisions(call, hits),
        running=running,
    )


async def _find_running(call: Call, session: str) -> StandingOut | None:
    """Where a session of a thread stands that goes on; None if it has ended without a decision, or cannot be read."""
    try:
        name = parse_session_id(session)
        snapshot = await call.moot.engine.load_snapshot(name)
        if snapshot.is_closed:
            return None
        return await build_session_standing(call, name)
    except (CallerError, WorldError):
        return None


_JSON_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


@cache
def build_decision_schema() -> dict[str, Any]:
    """Return the schema of a decision: `moot show --json` and the chat endpoint give it with its memo, `to_json` without."""
    shape = build_output_schema(Decision)
    memo = build_output_schema(MemoOut)
    parts = {**memo.pop("$defs"), **shape["$defs"]}
    fields = {
        "memo": memo,
        **shape["properties"],
        "decision": {
            "type": ["string", "null"],
            "description": "What was decided; null where nothing was, or not yet.",
        },
        "decisionEntries": {
            "type": "array",
            "items": {"type": "integer"},
            "description": "The entries that it rests on.",
        },
    }
    always = [
        "sessionId",
        "topic",
        "status",
        "decision",
        "decisionEntries",
        "confidence",
        "choice",
        "strength",
    ]
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **shape,
        "description": "The outcome of a session.",
    }
    return {
        **head,
        "properties": fields,
        "required": always,
        "$defs": {name: _relax(each) for name, each in parts.items()},
    }


def _relax(shape: dict[str, Any]) -> dict[str, Any]:
    """The schema of a part, in which what has no value is left out."""
    required = [
        name
        for name in shape.get("required", ())
        if {"type": "null"} not in shape["properties"][name].get("anyOf", ())
    ]
    return {**shape, "required": required} if "required" in shape else shape


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerShape:
    """The shape in which a client wants a decision: all its fields, or those that its own schema names."""

    wanted: Mapping[str, Mapping[str, Any]] | None = None
    """The fields by the client's names, each with its schema; None: all."""

    @property
    def options(self) -> tuple[str, ...]:
        """What the client's schema allows as `choice`: the options of the meeting."""
        allowed = _list_allowed((self.wanted or {}).get("choice", {})) or ()
        options = tuple(each for each in allowed if isinstance(each, str) and normalize_label(each))
        if len(options) < 2:
            return ()
        return options[:MAX_LABELS]

    def render(self, decision: Decision) -> str | None:
        """Return the decision as JSON text; None where it does not fit the client's schema."""
        given = encode_with_memo(decision)
        if self.wanted is None:
            return dump_json(given)
        chosen = {}
        for name, schema in self.wanted.items():
            value = given.get(name_field(name))
            allowed = _list_allowed(schema)
            if allowed is not None:
                known = {normalize_label(str(each)): each for each in allowed}
                if normalize_label(str(value)) not in known:
                    return None
                value = known[normalize_label(str(value))]
            if not _is_of_type(value, schema):
                return None
            chosen[name] = value
        return dump_json(chosen)


def parse_answer_shape(given: Any) -> AnswerShape | None:
    """Return the shape that a `response_format` asks for; None for text. Raises ValueError where a decision has no such shape."""
    if given is None:
        return None
    if isinstance(given, dict):
        kind = given.get("type")
        if kind in (None, "text"):
            return None
        if kind == "json_object":
            return AnswerShape()
    schema, fields = _read_object_schema(given)
    if not fields:
        raise ValueError(
            "expected the type text, json_object or json_schema with the properties of an object"
        )
    known = build_decision_schema()["properties"]
    for name in fields:
        if name_field(str(name)) not in known:
            raise ValueError(
                f"a decision has no field {str(name)[:60]!r}; it has: {', '.join(known)}"
            )
    return AnswerShape(
        wanted={name: _resolve(each, schema.get("$defs")) for name, each in fields.items()}
    )


def _read_object_schema(given: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The schema of a `response_format` of the type json_schema, and its properties; empty where it has none."""
    match given:
        case {
            "type": "json_schema",
            "json_schema": {"schema": {"properties": dict(fields)} as schema},
        }:
            return schema, fields
    return {}, {}


def _resolve(schema: Any, shared: Any) -> Mapping[str, Any]:
    """A field's schema, which may stand among the shared ones."""
    if isinstance(schema, dict) and isinstance(shared, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str):
            schema = shared.get(reference.removeprefix("#/$defs/"))
    if isinstance(schema, dict):
        return schema
    return {}


def _list_allowed(schema: Mapping[str, Any]) -> list[Any] | None:
    allowed = schema.get("enum")
    if isinstance(allowed, list):
        return allowed
    if "const" in schema:
        return [schema["const"]]
    return None


def _is_of_type(value: Any, schema: Mapping[str, Any]) -> bool:
    branches = schema.get("anyOf")
    if isinstance(branches, list):
        return any(isinstance(each, dict) and _is_of_type(value, each) for each in branches)
    kinds = schema.get("type")
    if isinstance(kinds, str):
        kinds = [kinds]
    elif not isinstance(kinds, list):
        kinds = list(_JSON_TYPES)
    if isinstance(value, bool):
        return "boolean" in kinds
    return any(isinstance(value, _JSON_TYPES[kind]) for kind in kinds if kind in _JSON_TYPES)
