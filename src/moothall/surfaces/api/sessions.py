"""The calls on sessions of every protocol: `moot.*`."""

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from moothall.app.protocols import load_protocols
from moothall.app.session_list import SessionLine
from moothall.app.verification import LedgerVerifier, VerifiedSession
from moothall.domain.ids import KeyedCall, SessionId
from moothall.domain.safe_text import name_field
from moothall.domain.topic import MAX_TOPIC_LENGTH
from moothall.errors import NotAllowed
from moothall.ports.runner import MAX_WAIT_SECONDS
from moothall.reports.memo import encode_with_memo
from moothall.scoring.strength import Strength
from moothall.surfaces.api import fields
from moothall.surfaces.api.asks import Wait, wait_until
from moothall.surfaces.api.entries import (
    SaidSearch,
    SaidWords,
    build_entry_out,
    has_sealed_words,
    is_sealed,
)
from moothall.surfaces.api.memo_shape import MemoOut
from moothall.surfaces.api.method import ApiModel, Call, Operations, load_newest_sessions
from moothall.surfaces.api.page import export_text
from moothall.surfaces.api.session_options import (
    Opening,
    RunParams,
    build_seat,
    collect_options,
    open_once,
)

METHODS = Operations()


class SessionsOut(ApiModel):
    sessions: list[SessionLine]
    total: int = Field(description="How many there are with those that were left out.")


class SessionDecisionOut(ApiModel):
    """A session's current decision, as `Decision.to_json` has it, with positions, dissent, losses and costs."""

    model_config = ConfigDict(extra="allow")

    session_id: str
    topic: str
    status: Literal["thinking", "parked", "concluded", "cancelled"]
    parked: str = Field(
        default="", description="Why a parked session cannot go on now; resume_session tries again."
    )
    decision: str | None = Field(default=None, description="What was decided.")
    confidence: float | None = None
    choice: str = Field(description="The same in a few words; empty where nothing was decided.")
    strength: Strength = Field(description="What the decision is worth, in one word.")
    cursor: int
    waiting_for: list[str] = Field(
        default=[], description="The seats of which something is asked now."
    )
    memo: MemoOut = Field(
        description="What a person reads first: the result, who is for it, one reservation, what is next."
    )


class EntriesOut(ApiModel):
    session_id: str
    entries: list[dict[str, Any]]
    head: int


class ExportOut(ApiModel):
    session_id: str
    form: str
    text: str


class ProtocolsOut(ApiModel):
    protocols: list[str]


class OpenSessionParams(RunParams):
    topic: Annotated[str, Field(min_length=1, max_length=MAX_TOPIC_LENGTH)]
    idempotency_key: fields.IdempotencyKey = ""


@METHODS.add("moot.openSession", "run", tool="open_session", unbound=True)
async def open_session(call: Call, params: OpenSessionParams) -> SessionDecisionOut:
    """Put a question before a group and have it decided: topic alone asks Moot's default panel, panel='board' a board. Seats
    with a platform are models that Moot asks; those without come from outside and use get_asks and answer_ask. Next:
    get_session while status is 'thinking'.
    """

    async def plan() -> Opening:
        return Opening(params.topic, await collect_options(call, params))

    session = await open_once(call, "moot.openSession", params, params.idempotency_key, plan)
    return await get_session(call, session)


@METHODS.add("moot.listSessions", "read", tool="list_sessions")
async def list_sessions(
    call: Call,
    *,
    status: Literal[
        "thinking", "parked", "concluded", "cancelled", "damaged", "newer", "not_installed", "all"
    ] = "all",
    query: Annotated[
        str,
        Field(max_length=1_000, description="Only those on such a topic, or in which it was said."),
    ] = "",
    protocol: Annotated[fields.Short, Field(description="Only those of this protocol.")] = "",
    tag: Annotated[fields.Short, Field(description="Only those that have this tag.")] = "",
    limit: fields.Limit = 100,
    after: Annotated[
        int, Field(ge=0, le=10_000_000, description="Leave out so many: the next page.")
    ] = 0,
) -> SessionsOut:
    """All sessions, the most recently active first."""
    is_filtered = status != "all" or bool(protocol or tag or query.strip())
    if not is_filtered:
        newest = await load_newest_sessions(call, limit, after)
        shown = await call.moot.session_list.add_outcomes(newest.lines)
        return SessionsOut(sessions=shown, total=newest.total)
    # A token for one session finds nothing of another.
    lines = []
    for each in reversed(await call.moot.sessions()):
        if (
            call.caller.session in {"", each.session}
            and status in {"all", each.status}
            and protocol in {"", each.protocol}
        ):
            lines.append(each)
    if tag:
        labelled = await call.moot.session_list.add_labels(lines)
        pairs = zip(lines, labelled, strict=True)
        lines = [line for line, label in pairs if tag in label.tags]
    said: dict[SessionId, SaidWords] = {}
    if query.strip():
        known = {line.session: line for line in lines}
        said = await call.context.get_or_create(SaidSearch).search(query, lines)
        # Those on such a topic come first.
        names = dict.fromkeys(line.session for line in await call.moot.session_list.search(query))
        names.update(dict.fromkeys(said))
        lines = [known[name] for name in names if name in known]
    shown = await call.moot.session_list.add_outcomes(lines[after : after + limit])
    sessions = []
    for each in shown:
        words = said.get(each.session)
        if words:
            sessions.append(
                replace(each, said=words.excerpt, said_marks=words.marks, said_entry=words.entry)
            )
        else:
            sessions.append(each)
    return SessionsOut(sessions=sessions, total=len(lines))


@METHODS.add("moot.labelSession", "run", unbound=True)
async def label_session(
    call: Call,
    session_id: fields.SessionRef,
    tags: Annotated[
        list[fields.Short] | None,
        Field(description="All of its tags from now on. Default: as they are."),
    ] = None,
    is_away: Annotated[
        bool | None, Field(description="Put it away, or bring it back. Default: as it is.")
    ] = None,
) -> SessionLine:
    """Give a session tags, or put it away: lists show it then to those who ask. Everybody who uses this server sees the same."""
    return await call.moot.session_list.label(session_id, tags, is_away=is_away)


@METHODS.add("moot.getSession", "read", tool="get_session")
async def get_session(
    call: Call,
    session_id: fields.SessionRef,
    timeout_seconds: Annotated[
        float, Field(ge=0, le=MAX_WAIT_SECONDS, description="Wait this long for the end.")
    ] = 0.0,
    at: fields.EntryNumber = None,
) -> SessionDecisionOut:
    """A session's current decision: who decided what, how sure, who dissents, who was lost, what it cost. With timeoutSeconds it
    waits for the end. 'thinking': call again; 'parked', or waitingFor a seat that nobody fills: tell the user.
    """

    async def has_ended() -> Wait[None]:
        snapshot = await call.moot.engine.load_snapshot(session_id)
        return Wait(snapshot, None, is_over=snapshot.is_closed)

    if at is None:
        await wait_until(call, session_id, timeout_seconds, has_ended)
        plugin, timeline = (
            await call.moot.load_plugin(session_id),
            await call.moot.load_timeline(session_id),
        )
        state = (await call.moot.engine.load_snapshot(session_id)).state
    else:
        folded = await call.context.folded.load_at(session_id, at)
        plugin, timeline, state = folded.plugin, folded.timeline, folded.snapshot.state
    from moothall.app.session_reader import ReadSession

    shown = encode_with_memo(ReadSession(plugin, timeline).decide())
    if is_sealed(state) and timeline.closed is None:
        # What seats have written so far may show in any of the other figures.
        always = {name_field(name) for name in SessionDecisionOut.model_fields} | {
            "decisionEntries"
        }
        shown = {name: value for name, value in shown.items() if name in always} | {
            "confidence": None
        }
    return SessionDecisionOut(**shown)


@METHODS.add("moot.getEntries", "read")
async def get_entries(
    call: Call,
    session_id: fields.SessionRef,
    after: Annotated[int, Field(ge=0, le=fields.MAX_ENTRIES)] = 0,
    limit: fields.Limit = fields.PAGE,
) -> EntriesOut:
    """The entries of a session's ledger, by page."""
    snapshot = await call.moot.engine.load_snapshot(session_id)
    entries = await call.moot.engine.entries(session_id, after, limit)
    return EntriesOut(
        session_id=session_id,
        entries=[build_entry_out(entry, snapshot.state, call.caller.seat) for entry in entries],
        head=snapshot.seq,
    )


@METHODS.add("moot.resumeSession", "run", tool="resume_session")
async def resume_session(
    call: Call,
    session_id: fields.SessionRef,
    swaps: fields.SwapsRef = None,
    idempotency_key: fields.IdempotencyKey = "",
) -> SessionDecisionOut:
    """Resume a session that an outage parked, after a check that every seat can be asked; swaps fill seats anew."""
    checked = check_swaps(call, swaps)
    words = (session_id, *sorted(checked.items()))
    keyed = KeyedCall(call="resume_session", by=call.caller.name, key=idempotency_key, words=words)

    async def resume() -> str:
        await call.moot.prepare_resume(session_id, swaps=checked)
        call.context.runner.wake(session_id, at_once=True)
        return ""

    await call.moot.memory.perform_once(keyed, resume)
    return await get_session(call, session_id)


def check_swaps(call: Call, swaps: dict[str, str] | None) -> dict[str, str]:
    """Return the swaps; raises BadRoster for a platform that the caller may not give a seat."""
    for seat, platform in (swaps or {}).items():
        build_seat(call, fields.ParticipantIn(id=seat, platform=platform))
    return swaps or {}


@METHODS.add("moot.exportSession", "read")
async def export_session(
    call: Call, session_id: fields.SessionRef, form: fields.Short = "minutes"
) -> ExportOut:
    """A session as text: minutes or html, or another form of its protocol."""
    if form == "jsonl" and call.caller.role != "local":
        raise NotAllowed(
            "the ledger itself can be exported only on the server's own machine; ask for minutes or html"
        )
    if form == "jsonl" and has_sealed_words(
        (await call.moot.engine.load_snapshot(session_id)).state
    ):
        raise NotAllowed(
            "answers are sealed until all seats have written; export the ledger after that"
        )
    return ExportOut(
        session_id=session_id, form=form, text=await export_text(call.moot, session_id, form)
    )


@METHODS.add("moot.verifySession", "read")
async def verify_session(call: Call, session_id: fields.SessionRef) -> VerifiedSession:
    """Verify a session's hash chain, and that nothing is missing; `head` is its last hash where there is no fault."""
    return await LedgerVerifier(call.moot.ledger, call.moot.clock).verify_named(
        call.moot.engine, session_id
    )


@METHODS.add("moot.listProtocols", "read")
async def list_protocols(call: Call) -> ProtocolsOut:
    """The protocols that are installed."""
    return ProtocolsOut(protocols=sorted(load_protocols()))
