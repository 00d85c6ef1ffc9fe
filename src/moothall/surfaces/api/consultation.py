"""`moot.consult`: ask another mind through the director, from a seat of a session or on its own."""

import time
from typing import Annotated, Literal

from pydantic import Field

from moothall.app.special_sessions import build_consultation_options, parse_seats
from moothall.domain.consult import ConsultKind, ConsultText
from moothall.domain.ids import MAX_SEAT_LENGTH, SeatId, SessionId, parse_seat_id, parse_session_id
from moothall.domain.safe_text import strip_control
from moothall.errors import BadSetting
from moothall.ports.runner import MAX_WAIT_SECONDS
from moothall.protocols.consultation.state import Consultation
from moothall.protocols.consultation.timeline import get_consultations
from moothall.surfaces.api.asks import Wait, wait_until
from moothall.surfaces.api.fields import IdempotencyKey, SeatRef
from moothall.surfaces.api.method import ApiModel, Call, Operations
from moothall.surfaces.api.session_options import (
    ConsultationParams,
    Opening,
    collect_options,
    open_once,
)

METHODS = Operations()


class ConsultParams(ConsultationParams):
    session_id: Annotated[
        str | None,
        Field(
            max_length=80,
            description="The session in which you are asked something now. Omitted: a question outside any session.",
        ),
    ] = None
    seat: SeatRef = None
    to: Annotated[
        str,
        Field(min_length=1, max_length=MAX_SEAT_LENGTH, description="Whom to ask: a seat's name."),
    ]
    question: Annotated[str, Field(min_length=1, max_length=8_000)]
    background: ConsultText = ""
    understanding: Annotated[
        str,
        Field(
            max_length=8_000, description="What you believe so far, to be confirmed or corrected."
        ),
    ] = ""
    kind: ConsultKind = "knowledge"
    timeout_seconds: Annotated[
        float, Field(ge=0, le=MAX_WAIT_SECONDS, description="How long to wait for the reply.")
    ] = 45.0
    idempotency_key: IdempotencyKey = ""


class ConsultOut(ApiModel):
    session_id: str
    status: Literal["answered", "unknown", "failed", "refused", "pending"] = Field(
        description="unknown: the participant that was asked does not know."
    )
    answer: str = ""
    notes: str = ""
    unsure_of: str = ""
    ask_instead: str = ""
    reason: str = Field(default="", description="Why it was refused or failed.")
    record: str = Field(default="", description="The file with the record, within the project.")
    note: str = Field(description="What to do next.")


@METHODS.add("moot.consult", "speak", tool="consult", waits=True)
async def consult(call: Call, params: ConsultParams) -> ConsultOut:
    """Ask another participant when you are not sure, instead of guessing. In a session that asks you something (get_asks,
    wait_for_turn), the director puts your question to another seat, records it and hands you the reply; then you are asked
    again. Without a session: a single question to one of `seats`.
    """
    work = (
        _open_consultation(call, params)
        if params.session_id is None
        else _request_consultation(call, params, params.session_id)
    )
    began = time.monotonic()
    session, seat, after = await call.context.run_shielded(work)
    left = max(0.0, params.timeout_seconds - (time.monotonic() - began))

    async def find_reply() -> Wait[Consultation | None]:
        snapshot = await call.moot.engine.load_snapshot(session)
        line = await _find_line(call, session, seat, after)
        is_settled = line is not None and bool(
            line.refusal or line.filed is not None or line.failure == "unrecorded"
        )
        return Wait(snapshot, line, is_over=is_settled or snapshot.is_closed)

    ready = await wait_until(call, session, left, find_reply)
    is_over = ready.snapshot.is_closed
    return _build_consult_out(
        session, ready.result, is_over=is_over, is_in_session=params.session_id is not None
    )


async def _request_consultation(
    call: Call, params: ConsultParams, session: str
) -> tuple[SessionId, SeatId, int]:
    """A seat asks in place of the answer that it is asked for."""
    given = list((await collect_options(call, params)).keys() - {"hosted"})
    if given:
        raise BadSetting(
            f"{sorted(given)[0]}: an option for a question outside any session; within {session!r} leave it out"
        )
    name = parse_session_id(session)
    seat = parse_seat_id(call.caller.resolve_speaker(params.seat, "seat"))
    opened = (await call.moot.engine.load_snapshot(name)).session_state.opened
    if opened.consult is None:
        raise BadSetting(
            f"session {name!r} does not allow consultations; open a session with consult = true"
        )
    wanted = params.model_dump(include={"to", "question", "background", "understanding", "kind"})
    entry = await call.moot.engine.contribute(
        name,
        seat,
        {"consult": wanted},
        params.idempotency_key,
        via=await call.find_door(name, seat),
    )
    call.context.runner.wake(name)
    return name, seat, entry.seq


async def _open_consultation(call: Call, params: ConsultParams) -> tuple[SessionId, SeatId, int]:
    """A question on its own is a session of its own."""
    call.caller.check("run")
    call.caller.check_unbound("a consultation without a session")
    asker = parse_seat_id(params.seat or "caller")

    async def plan() -> Opening:
        return await _plan_consultation(call, params, asker)

    session = await open_once(call, "moot.consult", params, params.idempotency_key, plan)
    return session, asker, 0


async def _plan_consultation(call: Call, params: ConsultParams, asker: SeatId) -> Opening:
    given = await collect_options(call, params)
    named = [seat.id for seat in parse_seats(given)]
    if params.to not in named and not given.get("panel") and not given.get("models"):
        raise BadSetting(
            f"to = {params.to!r} has no seat; name its participant in 'seats' (given: {', '.join(named) or 'none'}), or give models"
        )
    settings = params.model_dump(include={"background", "understanding", "kind"})
    options = build_consultation_options(
        asker, params.to, params.question, given, settings, environ=call.moot.environ
    )
    return Opening(params.question, options)


async def load_consultation(call: Call, session: SessionId) -> ConsultOut:
    """The reply to a question outside any session, as it stands; raises BadSetting for a session of another kind."""
    if (await call.moot.load_plugin(session)).name != "consultation":
        raise BadSetting(f"{session!r} is not a consultation")
    snapshot, line = (
        await call.moot.engine.load_snapshot(session),
        await _find_line(call, session, None, 0),
    )
    reply = _build_consult_out(session, line, is_over=snapshot.is_closed, is_in_session=False)
    parked = snapshot.session_state.parked
    if parked is None or reply.status != "pending":
        return reply
    note = "The session is parked; it goes on when resume_session succeeds."
    return ConsultOut(
        session_id=session, status="failed", reason=strip_control(parked.reason), note=note
    )


async def _find_line(
    call: Call, session: SessionId, seat: SeatId | None, after: int
) -> Consultation | None:
    log = get_consultations(await call.moot.load_timeline(session))
    lines = sorted((*log.consultations, *log.refusals), key=lambda line: line.seq)
    return next((line for line in lines if seat in {None, line.seat} and line.seq > after), None)


def _build_consult_out(
    session: str, line: Consultation | None, *, is_over: bool, is_in_session: bool
) -> ConsultOut:
    on = (
        "You are asked again: get_asks, then answer_ask."
        if is_in_session
        else "The question is settled."
    )
    if line is None or line.status == "open" or not (line.refusal or line.failure or line.filed):
        lost = "The session has ended; there will be no reply." if is_over else None
        wait = (
            "No reply yet; you are asked again when it comes: get_asks."
            if is_in_session
            else "No reply yet: get_session."
        )
        return ConsultOut(
            session_id=session, status="failed" if is_over else "pending", note=lost or wait
        )
    record = "" if line.filed is None else line.filed.path
    if line.refusal:
        return ConsultOut(
            session_id=session, status="refused", reason=line.refusal, note=f"Answer directly. {on}"
        )
    if line.failure or line.advice is None:
        return ConsultOut(
            session_id=session, status="failed", reason=line.failure, record=record, note=on
        )
    advice = line.advice
    return ConsultOut.collect(
        advice,
        session_id=session,
        status="unknown" if advice.is_unknown else "answered",
        record=record,
        note=f"Consider asking {advice.ask_instead!r}. {on}" if advice.ask_instead else on,
    )
