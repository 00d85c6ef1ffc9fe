"""The calls by which seats and users speak in a session of any protocol, and end it: `moot.getAsks`, `answer`, `giveInput` and their kin.

A module of its own, since commands of the terminal make these calls too: it brings no protocol.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import Field

from moothall.codec.answers import as_json
from moothall.codec.schemas import build_brief_schema
from moothall.domain.facts import RequiredInput, list_worded_choices
from moothall.domain.ids import SessionId, find_asked_seat, parse_seat_id
from moothall.domain.safe_text import strip_control
from moothall.engine.outside_answers import OutstandingAsk
from moothall.engine.snapshot import Snapshot
from moothall.errors import NotAllowed, UnknownSeat
from moothall.ports.runner import MAX_WAIT_SECONDS, PROGRESS_SECONDS
from moothall.surfaces.api import fields
from moothall.surfaces.api.method import ApiModel, Call, Operations, Source

METHODS = Operations()

T = TypeVar("T")


class AskOut(ApiModel):
    ask: str
    seat: str
    kind: str
    deadline: datetime | None = None
    form: Literal["text", "json"]
    answer_schema: dict[str, Any]
    instructions: str
    briefing: str
    brief: Source


class AsksOut(ApiModel):
    session_id: str
    status: Literal["thinking", "parked", "ended"]
    asks: list[AskOut]
    note: str


class WrittenOut(ApiModel):
    session_id: str
    entry: int | None = Field(default=None, description="The entry that was written; none where nothing changed.")


@METHODS.add("moot.getAsks", "speak", tool="get_asks", waits=True)
async def get_asks(
    call: Call,
    session_id: fields.SessionRef,
    seat: fields.SeatRef = None,
    timeout_seconds: Annotated[float, Field(ge=0, le=MAX_WAIT_SECONDS, description="Wait this long for an ask to come.")] = 0.0,
) -> AsksOut:
    """What a session asks of your seat, with the form of the answer; it waits for an ask to come. No asks: call it again, until
    status is 'ended'; 'parked': tell the user why, and stop. Next: answer_ask.
    """
    wanted = call.caller.resolve_speaker(seat) if call.caller.is_named or seat is not None else None

    async def find_asks() -> Wait[list[OutstandingAsk]]:
        snapshot = await call.moot.engine.load_snapshot(session_id)
        if wanted is not None:
            check_seat(snapshot, wanted)
        asks = [each for each in await call.moot.engine.list_outstanding(session_id) if wanted in {None, each.ask.seat}]
        return Wait(snapshot, asks, is_over=bool(asks) or snapshot.is_closed)

    if timeout_seconds:
        # The process that ran the session may be gone: somebody must run it while we wait.
        call.context.runner.wake(session_id)
    ready = await wait_until(call, session_id, timeout_seconds, find_asks)
    is_closed, parked = ready.snapshot.is_closed, ready.snapshot.session_state.parked
    awaited = sorted({find_asked_seat(ask) for ask in ready.snapshot.session_state.pending})
    waiting = f"Nothing yet; waiting for: {', '.join(awaited)}. Call again." if awaited else "Nothing yet: call again."
    note = "Answer with answer_ask." if ready.result else "The session has ended." if is_closed else waiting
    if parked is not None and not ready.result:
        note = f"The session is parked: {strip_control(parked.reason)}. It goes on when resume_session succeeds."
    return AsksOut(
        session_id=session_id,
        status="ended" if is_closed else "thinking" if parked is None else "parked",
        asks=[build_ask_out(each) for each in ready.result],
        note=note,
    )


def check_seat(snapshot: Snapshot, seat: str) -> None:
    """Raises UnknownSeat, with the seats that there are, when a session does not have this one."""
    known = [each.id for each in snapshot.session_state.seats]
    if seat not in known:
        raise UnknownSeat(f"{seat!r} has no seat in {snapshot.session!r}; the seats are: {', '.join(known)}")


@dataclass(frozen=True, slots=True)
class Wait(Generic[T]):
    """The result of a look at a session, and whether to wait no longer."""

    snapshot: Snapshot
    result: T
    is_over: bool


async def wait_until(call: Call, name: SessionId, seconds: float, look: Callable[[], Awaitable[Wait[T]]]) -> Wait[T]:
    """Look again whenever the session changes, until it is over or the time is up."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    while True:
        ready = await look()
        left = ends - loop.time()
        if ready.is_over or left <= 0 or call.deliberations.stopping.is_set():
            return ready
        if call.progress is not None:
            await call.progress(seconds - left, seconds)
        await call.deliberations.wait_for_change(name, ready.snapshot.seq, min(left, PROGRESS_SECONDS))


def build_ask_out(each: OutstandingAsk) -> AskOut:
    """An ask as programs get it."""
    return AskOut(
        ask=each.ask.id,
        seat=each.ask.seat,
        kind=each.ask.kind,
        deadline=each.pending.deadline,
        form=each.brief.form.form,
        answer_schema=build_brief_schema(each.brief),
        instructions=strip_control(each.brief.own),
        briefing=strip_control(each.brief.shared),
        brief=each.brief,
    )


@METHODS.add("moot.answer", "speak", tool="answer_ask")
async def answer_ask(
    call: Call,
    session_id: fields.SessionRef,
    *,
    seat: fields.SeatRef = None,
    ask: fields.AskRef = None,
    answer: Annotated[str | dict[str, Any], Field(description="Text for the form `text`, else the fields of the answer.")],
    idempotency_key: fields.IdempotencyKey = "",
) -> WrittenOut:
    """Answer what get_asks gave you."""
    speaker = parse_seat_id(call.caller.resolve_speaker(seat, "seat"))
    door = await call.find_door(session_id, speaker)
    if call.caller.family:
        # Imported here: it brings the rules of the deliberations.
        from moothall.surfaces.api.deliberation import state_family

        await state_family(call, session_id, speaker)
    if ask is None:
        entry = await call.moot.engine.contribute(session_id, speaker, answer, idempotency_key, via=door)
    else:
        if ask.split(".", 2)[-1] != speaker:
            raise NotAllowed(f"the ask {ask!r} is not put to the seat {speaker!r}")
        entry = await call.moot.answer(session_id, ask, answer, idempotency_key, via=door)
    call.context.runner.wake(session_id)
    return WrittenOut(session_id=session_id, entry=entry.seq)


class AnswerPreviewOut(ApiModel):
    session_id: str
    fields: Any = Field(description="What the answer would be recorded as.")
    from_words: list[str] = Field(description="Each choice that was taken from a sentence, with its words.")


@METHODS.add("moot.previewAnswer", "speak")
async def preview_answer(
    call: Call,
    session_id: fields.SessionRef,
    *,
    seat: fields.SeatRef = None,
    answer: Annotated[str | dict[str, Any], Field(description="As for moot.answer.")],
) -> AnswerPreviewOut:
    """What an answer to the open ask of a seat would be read as. Nothing is recorded. Next: moot.answer."""
    speaker = parse_seat_id(call.caller.resolve_speaker(seat, "seat"))
    read = await call.moot.engine.preview_answer(session_id, speaker, answer)
    return AnswerPreviewOut(session_id=session_id, fields=as_json(read.said), from_words=list_worded_choices(read.mends))


@METHODS.add("moot.giveInput", "run")
async def give_input(
    call: Call,
    session_id: fields.SessionRef,
    text: RequiredInput,
    idempotency_key: fields.IdempotencyKey = "",
) -> WrittenOut:
    """Add an input of the user's."""
    entry = await call.moot.give_input(session_id, text, idempotency_key)
    call.context.runner.wake(session_id)
    return WrittenOut(session_id=session_id, entry=None if entry is None else entry.seq)


@METHODS.add("moot.closeSession", "run")
async def close_session(call: Call, session_id: fields.SessionRef, idempotency_key: fields.IdempotencyKey = "") -> WrittenOut:
    """Ask for the end: the session concludes with what was said so far."""

    async def close() -> str:
        entry = await call.moot.engine.call_close(session_id, call.caller.name)
        call.context.runner.wake(session_id)
        return str(entry.seq)

    return await _end_once(call, "close_session", idempotency_key, (session_id,), close)


async def _end_once(
    call: Call, name: str, key: str, words: tuple[SessionId, *tuple[str, ...]], end: Callable[[], Awaitable[str]]
) -> WrittenOut:
    """End a session, unless the key says that it was ended by an earlier try of this call; the entry that does."""
    # Imported here: it brings the rules of decision memory, which few commands of the terminal need.
    from moothall.memory.memory_state import KeyedCall

    keyed = KeyedCall(call=name, by=call.caller.name, key=key, words=words)
    seq = await call.moot.memory.perform_once(keyed, end)
    return WrittenOut(session_id=words[0], entry=int(seq))


@METHODS.add("moot.cancelSession", "run")
async def cancel_session(
    call: Call,
    session_id: fields.SessionRef,
    reason: Annotated[str, Field(max_length=2_000)] = "",
    idempotency_key: fields.IdempotencyKey = "",
) -> WrittenOut:
    """End a session without a conclusion; its record stays."""

    async def cancel() -> str:
        entry = await call.moot.cancel(session_id, reason)
        # Whoever is asked at this moment is let go at once; then its end is noted like any other.
        await call.context.runner.cancel(session_id)
        call.context.runner.wake(session_id, at_once=True)
        return str(entry.seq)

    return await _end_once(call, "cancel_session", idempotency_key, (session_id, reason), cancel)
