"""The door for agents that speak Agent2Agent: a card at the well-known place, and `/a2a`, where a session is a task.

A task has the id of its session and nothing of its own: what is asked about it is read from the ledger, so that it outlives the
process and can be looked at through every other door. Where the session waits for seats from outside, or is parked, the task
needs input: the next message answers, or has it tried again.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from functools import cache, partial
from importlib import import_module
from typing import Any, Final

from pydantic import ValidationError
from sse_starlette.sse import EventSourceResponse
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from moothall.app.version import VERSION
from moothall.codec.settings import explain_validation_error
from moothall.domain.ids import SessionId
from moothall.domain.safe_text import dump_json
from moothall.errors import (
    MissingExtra,
    MootError,
    NotAllowed,
    SessionClosed,
    UnknownSession,
    describe_install,
)
from moothall.participants.a2a import CARD_PATH
from moothall.surfaces.api import errors
from moothall.surfaces.api.asks import AsksOut
from moothall.surfaces.api.chat import ChatMeeting, Reasoning, follow_meeting
from moothall.surfaces.api.chat_request import DEFAULT_PANEL, list_models
from moothall.surfaces.api.method import Call, encode_json
from moothall.surfaces.api.methods import TABLE
from moothall.surfaces.api.sessions import SessionDecisionOut
from moothall.surfaces.http.access_control import SafeJSONResponse, build_call, read_body
from moothall.surfaces.http.chat import PING_SECONDS, STREAM_SECONDS, WAIT_SECONDS
from moothall.surfaces.rpc import Fault, build_error, decode_json, find_id

log = logging.getLogger("moot")

PATH: Final = "/a2a"
INPUT_MODES: Final = ["text/plain", "application/json"]
OUTPUT_MODES: Final = ["text/markdown", "application/json"]
NO_TASK: Final = -32001
NOT_CANCELABLE: Final = -32002
NOT_SUPPORTED: Final = -32004
WRONG_CONTENT: Final = -32005
STATES: Final = {
    "thinking": "working",
    "parked": "input-required",
    "concluded": "completed",
    "cancelled": "canceled",
}
MAX_ASKS: Final = 20


def _load_library() -> tuple[Any, Any]:
    try:
        return import_module("fasta2a.jsonrpc_v1"), import_module("fasta2a.schema")
    except ImportError as cause:
        raise MissingExtra(
            f"Agent2Agent needs an extra package: {describe_install('a2a')}"
        ) from cause


async def handle_card(request: Request) -> Response:
    try:
        _load_library()
    except MissingExtra as error:
        return SafeJSONResponse({"error": str(error)}, 404)
    return SafeJSONResponse(build_card(f"{request.url.scheme}://{request.url.netloc}{PATH}"))


async def handle_call(request: Request) -> Response:
    body = await read_body(request)
    if body is None:
        return SafeJSONResponse(
            build_error(None, Fault(errors.INVALID_REQUEST, "the request is too large")), 413
        )
    link = f"{request.url.scheme}://{request.url.netloc}/s/"
    name: object = None
    try:
        wire, schema = _load_library()
        given = decode_json(body)
        if not isinstance(given, dict) or not isinstance(given.get("params", {}), dict):
            raise Fault(
                errors.INVALID_REQUEST,
                "a request is an object with jsonrpc, method, params (an object) and id",
            )
        name = find_id(given)
        asked = wire.from_v1_request(given)
        write: Callable[[Any], Any] = wire.to_v1 if asked is not None else lambda result: result
        checked = schema.a2a_request_ta.validate_python(given if asked is None else asked)
        answer = _Tasks(build_call(request), link)
        method, params = checked["method"], checked["params"]
        if method in {"message/stream", "tasks/resubscribe"}:
            session = (
                params["id"] if method == "tasks/resubscribe" else await answer.take_message(params)
            )
            first = await answer.load_task(session)
            return EventSourceResponse(
                _encode_events(answer.stream(session, first), name, write),
                ping=PING_SECONDS,
                sep="\n",
            )
        result = await answer.perform(
            method, params, is_blocking=method == "message/send" and _wants_end(given)
        )
        return SafeJSONResponse({"jsonrpc": "2.0", "id": name, "result": write(result)})
    except NotAllowed as error:
        return SafeJSONResponse(build_error(name, Fault(errors.INVALID_REQUEST, str(error))), 403)
    except (Fault, MootError, ValidationError) as error:
        return SafeJSONResponse(build_error(name, _explain(error)))
    except ClientDisconnect:
        raise
    except Exception:
        log.exception("a call of another agent cannot be answered")
        return SafeJSONResponse(
            build_error(name, Fault(errors.INTERNAL, "the server failed; see its log")), 500
        )


def _wants_end(given: Any) -> bool:
    """Whether a message is answered at the end of its task; then at once is the exception that a caller asks for."""
    configuration = given.get("params", {}).get("configuration") or {}
    return (
        configuration.get("blocking", not configuration.get("returnImmediately", False))
        is not False
    )


def _explain(error: Exception) -> Fault:
    match error:
        case UnknownSession():
            return Fault(NO_TASK, f"no such task: {error.sentence}")
        case Fault():
            return error
        case ValidationError():
            first = error.errors(include_url=False)[0]
            if first["type"] == "union_tag_invalid":
                method = str(first["ctx"].get("tag"))[:100]
                return Fault(
                    errors.NO_METHOD,
                    f"the method {method} is not one of A2A 1.0 that this server answers",
                )
            return Fault(errors.INVALID_PARAMS, explain_validation_error(error))
        case _:
            return Fault(errors.INVALID_PARAMS, str(error))


async def _encode_events(
    events: AsyncIterator[dict[str, Any]], name: object, write: Callable[[Any], Any]
) -> AsyncIterator[str]:
    try:
        async for event in events:
            yield dump_json({"jsonrpc": "2.0", "id": name, "result": write(event)})
    except MootError as error:
        yield dump_json(build_error(name, _explain(error)))


@cache
def build_card(url: str) -> dict[str, Any]:
    """What Moot is to another agent; each protocol is a skill."""
    protocols = [model.protocol for model in list_models() if model.panel == DEFAULT_PANEL]
    skills = [
        {
            "id": name,
            "name": f"Decide by {name}",
            "description": f"Puts the question before a panel that holds a {name} and gives back a decision with its record.",
            "tags": ["decision", "deliberation", name],
            "examples": ["Should we ship on Friday?"],
            "inputModes": INPUT_MODES,
            "outputModes": OUTPUT_MODES,
        }
        for name in protocols
    ]
    return {
        "name": "Moot",
        "description": "Puts a question before a group of minds and hands back a decision that can be audited. The data "
        "of a message, or metadata.moot, may hold what moot.openSession takes (protocol, panel, options, seats …).",
        "version": VERSION,
        "supportedInterfaces": [
            {"protocolBinding": "JSONRPC", "url": url, "protocolVersion": "1.0"}
        ],
        "capabilities": {"streaming": True, "pushNotifications": False},
        "defaultInputModes": INPUT_MODES,
        "defaultOutputModes": OUTPUT_MODES,
        "securitySchemes": {"token": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"token": {"list": []}}}],
        "skills": skills,
    }


class _Tasks:
    """The tasks of one caller: its sessions, by the operations that every door has, so that their rights hold here too."""

    def __init__(self, call: Call, link: str) -> None:
        self._call = call
        self._link = link

    async def perform(
        self, method: str, params: dict[str, Any], *, is_blocking: bool
    ) -> dict[str, Any]:
        """The result of a call that does not stream; raises MootError, Fault or ValidationError."""
        match method:
            case "message/send":
                session = await self.take_message(params)
                task = await self.load_task(session)
                ends = asyncio.get_running_loop().time() + WAIT_SECONDS
                if is_blocking:
                    async with aclosing(self._follow(session, ends)) as pieces:
                        async for _ in pieces:
                            pass
                    task = await self.load_task(session)
                return {"task": task}
            case "tasks/get":
                return await self.load_task(params["id"])
            case "tasks/cancel":
                try:
                    await self._do("moot.cancelSession", sessionId=params["id"])
                except SessionClosed as error:
                    raise Fault(NOT_CANCELABLE, f"Task not cancelable: {error}") from None
                return await self.load_task(params["id"])
            case _:
                raise Fault(NOT_SUPPORTED, f"This operation is not supported: {method}")

    async def _do(self, name: str, /, **params: Any) -> Any:
        return await TABLE[name].perform(self._call, params)

    async def take_message(self, params: dict[str, Any]) -> SessionId:
        """The session that a message opens, answers or resumes."""
        message = params["message"]
        texts, data = _read_parts(message["parts"])
        key = f"a2a {message['message_id']}"[:200]
        if not message.get("task_id"):
            settings = (
                data or (message.get("metadata") or params.get("metadata") or {}).get("moot") or {}
            )
            if not isinstance(settings, dict):
                raise Fault(
                    errors.INVALID_PARAMS,
                    "metadata.moot: expected an object with the parameters of moot.openSession",
                )
            opened = await self._do(
                "moot.openSession",
                **{"topic": "\n\n".join(texts), **settings, "idempotencyKey": key},
            )
            return SessionId(opened.session_id)
        session = SessionId(message["task_id"])
        shown: SessionDecisionOut = await self._do("moot.getSession", sessionId=session)
        if shown.status == "parked":
            await self._do("moot.resumeSession", sessionId=session, idempotencyKey=key)
            return session
        asks = (await self._list_asks(session)).asks
        given: dict[str, Any] = data or {"answer": "\n\n".join(texts)}
        if "ask" not in given:
            if len(asks) != 1:
                raise Fault(
                    errors.INVALID_PARAMS, _describe_asks(asks) or "the task needs no input now"
                )
            given = {"seat": asks[0].seat, "ask": asks[0].ask, "answer": given.get("answer", given)}
        await self._do("moot.answer", **{**given, "sessionId": session, "idempotencyKey": key})
        return session

    async def _list_asks(self, session: SessionId) -> AsksOut:
        asks: AsksOut = await self._do("moot.getAsks", sessionId=session)
        return asks

    async def load_task(self, name: str) -> dict[str, Any]:
        session = SessionId(name)
        shown: SessionDecisionOut = await self._do("moot.getSession", sessionId=session)
        state, said = (
            STATES[shown.status],
            shown.parked and f"{shown.parked} Send a message to try again.",
        )
        if (
            shown.status == "thinking"
            and self._call.caller.may("speak")
            and (asks := (await self._list_asks(session)).asks)
        ):
            state, said = "input-required", _describe_asks(asks)
        status: dict[str, Any] = {"state": state, "timestamp": datetime.now(UTC).isoformat()}
        if said:
            status["message"] = self._build_message(session, said)
        task: dict[str, Any] = {
            "id": session,
            "contextId": session,
            "status": status,
            "metadata": {"link": f"{self._link}{session}"},
        }
        if shown.status == "concluded":
            task["artifacts"] = [await self._build_artifact(session, shown)]
        return task

    async def _build_artifact(
        self, session: SessionId, shown: SessionDecisionOut
    ) -> dict[str, Any]:
        minutes = await self._do("moot.exportSession", sessionId=session, form="minutes")
        parts = [
            {"text": shown.memo.text, "mediaType": "text/plain"},
            {"data": encode_json(shown), "mediaType": "application/json"},
            {"text": minutes.text, "mediaType": "text/markdown", "filename": f"{session}.md"},
        ]
        return {"artifactId": "decision", "name": "decision", "parts": parts}

    def _build_message(self, session: SessionId, text: str) -> dict[str, Any]:
        parts = [{"text": text}]
        return {
            "messageId": f"{session}.status",
            "role": "agent",
            "parts": parts,
            "taskId": session,
            "contextId": session,
        }

    async def stream(self, name: str, first: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """A task as it is now, what happens, and how it ends; raises MootError."""
        session = SessionId(name)
        place = {"taskId": session, "contextId": session}
        yield {"task": first}
        if first["status"]["state"] != "working":
            return
        ends = asyncio.get_running_loop().time() + STREAM_SECONDS
        async with aclosing(self._follow(session, ends)) as pieces:
            async for text in pieces:
                status = {"state": "working", "timestamp": datetime.now(UTC).isoformat()}
                yield {
                    "statusUpdate": {
                        **place,
                        "status": {**status, "message": self._build_message(session, text)},
                    }
                }
        task = await self.load_task(session)
        for artifact in task.get("artifacts", ()):
            yield {"artifactUpdate": {**place, "artifact": artifact, "lastChunk": True}}
        yield {"statusUpdate": {**place, "status": task["status"], "metadata": task["metadata"]}}

    async def _follow(self, session: SessionId, ends: float) -> AsyncGenerator[str, None]:
        """What is said in a session, until it ends, is parked, needs an answer from outside, or the time is over."""
        is_asked = partial(self._is_interrupted, session)
        meeting, link = ChatMeeting(session=session), f"{self._link}{session}"
        async with aclosing(
            follow_meeting(self._call, meeting, link, ends, is_asked=is_asked)
        ) as pieces:
            async for piece in pieces:
                if isinstance(piece, Reasoning):
                    yield piece.text

    async def _is_interrupted(self, session: SessionId) -> bool:
        """Whether a session waits for what only a message brings."""
        if (await self._call.moot.engine.load_snapshot(session)).session_state.parked is not None:
            return True
        return self._call.caller.may("speak") and bool(
            await self._call.moot.engine.list_outstanding(session)
        )


def _read_parts(parts: list[dict[str, Any]]) -> tuple[list[str], dict[str, Any] | None]:
    """The texts of a message, and its data; raises Fault for what Moot does not read."""
    for part in parts:
        if "text" not in part and not isinstance(part.get("data"), dict):
            raise Fault(
                WRONG_CONTENT,
                "Incompatible content types: a message holds text, and data as an object",
            )
    data = [part["data"] for part in parts if "data" in part]
    return [part["text"] for part in parts if "text" in part], (data[0] if data else None)


def _describe_asks(asks: list[Any]) -> str:
    """What is asked of seats from outside, for the one who answers with the next message."""
    lines = [
        json.dumps(
            {"seat": ask.seat, "ask": ask.ask, "form": ask.form, "answerSchema": ask.answer_schema},
            ensure_ascii=False,
        )
        for ask in asks[:MAX_ASKS]
    ]
    one = f"{asks[0].briefing}\n\n{asks[0].instructions}\n\n" if len(asks) == 1 else ""
    return f"{one}Answer with data of seat, ask and answer:\n" + "\n".join(lines) if asks else ""


A2A_ROUTES: Final = [
    Route(CARD_PATH, handle_card, methods=["GET"]),
    # With a slash, too: some clients put one after the address of the card.
    *(Route(path, handle_call, methods=["POST"]) for path in (PATH, f"{PATH}/")),
]
