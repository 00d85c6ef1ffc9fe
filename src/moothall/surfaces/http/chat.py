"""The door for chat clients: `/v1/models` and `/v1/chat/completions` in OpenAI's shapes."""

import asyncio
import logging
import math
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, Final

from sse_starlette.sse import EventSourceResponse
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from moothall.domain.budget import Spent
from moothall.errors import KeyReused, MootError, NotAllowed, WorldError
from moothall.memory.tokens import AccessDenied
from moothall.reports.json_text import dump_json
from moothall.surfaces.api import chat_request
from moothall.surfaces.api.chat import ChatAnswer, ChatPieces, Reasoning, find_or_open_meeting, follow_meeting
from moothall.surfaces.api.method import TRACE_HEADER, Call, Caller, ServerContext
from moothall.surfaces.http.refusals import build_chat_error, build_error_body

log = logging.getLogger("moot")

PING_SECONDS: Final = 10
WAIT_SECONDS: Final = 540.0
"""How long a request that does not stream waits for the end: most clients give up after ten minutes."""
STREAM_SECONDS: Final = 3_600.0
SPARE_SECONDS: Final = 3.0
"""How long before a client gives up it is answered, where it says when that is."""
CREATED: Final = 1_767_225_600
"""Models have no date of their own; every client expects one."""

Handler = Callable[[Request], Awaitable[Response]]


class ChatDoor:
    """Answers chat clients. `read_body` gives None for a body that is too large."""

    def __init__(self, context: Callable[[], ServerContext], read_body: Callable[[Request], Awaitable[bytes | None]]) -> None:
        self._context = context
        self._read_body = read_body

    @property
    def routes(self) -> list[Route]:
        return [
            Route("/v1/models", _answer_errors(self.handle_models), methods=["GET"]),
            Route("/v1/models/{model:path}", _answer_errors(self.handle_model), methods=["GET"]),
            Route("/v1/chat/completions", _answer_errors(self.handle_completion), methods=["POST"]),
            Route("/v1/{path:path}", _answer_errors(self.handle_unknown), methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
        ]

    async def handle_models(self, request: Request) -> Response:
        _check_caller(request)
        return JSONResponse({"object": "list", "data": [_build_model(model) for model in chat_request.list_models()]})

    async def handle_model(self, request: Request) -> Response:
        _check_caller(request)
        return JSONResponse(_build_model(chat_request.find_model(request.path_params["model"])))

    async def handle_unknown(self, request: Request) -> Response:
        what = f"{request.method} {request.url.path[:100]}"
        raise chat_request.ChatRefused(
            404, f"{what} is not served; Moot has GET /v1/models and POST /v1/chat/completions", "unknown_url"
        )

    async def handle_completion(self, request: Request) -> Response:
        came = asyncio.get_running_loop().time()
        caller = _check_caller(request)
        body = await self._read_body(request)
        if body is None:
            largest = request.state.largest_body
            raise chat_request.ChatRefused(413, f"the request is too large; the limit is {largest} bytes", "request_too_large")
        chat = chat_request.parse_chat_request(body)
        model = chat_request.find_model(chat.model)
        aside = chat_request.answer_side_question(chat)
        if aside is not None:
            shape = _Shape(f"chatcmpl-{secrets.token_hex(12)}", int(time.time()), chat, model)
            return await self._answer(request, shape, _say_aside(aside), {})
        question = chat_request.read_question(chat)
        call = Call(context=self._context(), caller=caller, trace=request.headers.get(TRACE_HEADER, ""))
        key = request.headers.get("idempotency-key", "").strip()
        meeting = await find_or_open_meeting(call, chat, model, question, key)
        shape = _Shape(f"chatcmpl-{meeting.session}", int(meeting.opened_at.timestamp()), chat, model)
        link = f"{request.url.scheme}://{request.url.netloc}/s/{meeting.session}"
        # Counted from when the request came: the opening, which tries every seat, takes its time.
        ends = came + (STREAM_SECONDS if chat.stream else _read_patience(request.headers))
        pieces = follow_meeting(call, meeting, link, ends, question.shape)
        return await self._answer(request, shape, pieces, {"X-Moot-Session": meeting.session})

    async def _answer(self, request: Request, shape: "_Shape", pieces: ChatPieces, headers: Mapping[str, str]) -> Response:
        if shape.chat.stream:
            chunks = self._stream(request, shape, pieces)
            return EventSourceResponse(chunks, ping=PING_SECONDS, sep="\n", headers={**headers, "X-Accel-Buffering": "no"})
        told: list[str] = []
        async with aclosing(pieces), aclosing(_read_while_connected(request, pieces)) as read:
            async for piece in read:
                match piece:
                    case Reasoning(text=text):
                        told.append(text)
                    case ChatAnswer():
                        return JSONResponse(shape.build_whole("".join(told), piece), headers=dict(headers))
        # Nobody reads it: the client went away. The meeting goes on.
        return Response(status_code=499)

    async def _stream(self, request: Request, shape: "_Shape", pieces: ChatPieces) -> AsyncIterator[dict[str, str]]:
        yield shape.build_chunk({"role": "assistant", "content": ""})
        try:
            async for piece in pieces:
                if not await self._is_allowed(request):
                    return
                match piece:
                    case Reasoning(text=text):
                        yield shape.build_chunk({"reasoning_content": text})
                    case ChatAnswer(text=text, is_refusal=is_refusal):
                        for part in _split_paragraphs(text):
                            yield shape.build_chunk({"refusal" if is_refusal else "content": part})
                        yield shape.build_chunk({}, "stop")
                        if shape.wants_usage:
                            yield shape.build_usage_chunk(piece)
        except MootError as error:
            # The status is sent already: the error is an event of the stream, as in OpenAI's API.
            log.warning("a chat breaks off: %s", error)
            yield {"data": dump_json(build_error_body(503, str(error), "unavailable"))}
        finally:
            await pieces.aclose()
        yield {"data": "[DONE]"}

    async def _is_allowed(self, request: Request) -> bool:
        """Whether the token that began a stream is still good: it may be revoked, or its time may be over."""
        return not isinstance(await self._context().moot.access.identify(request.state.secret), AccessDenied)


class _Shape:
    """The shapes of one answer."""

    def __init__(self, name: str, created: int, chat: chat_request.ChatRequest, model: chat_request.ChatModel) -> None:
        self.chat = chat
        self._head = {"id": name, "created": created, "model": model.id}

    @property
    def wants_usage(self) -> bool:
        return self.chat.stream_options is not None and bool(self.chat.stream_options.include_usage)

    def build_whole(self, told: str, answer: ChatAnswer) -> dict[str, Any]:
        message: dict[str, str | None] = {"role": "assistant", "content": answer.text, "refusal": None}
        if answer.is_refusal:
            message |= {"content": None, "refusal": answer.text}
        if told:
            message["reasoning_content"] = told
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return {**self._head, "object": "chat.completion", "choices": [choice], "usage": _build_usage(answer)}

    def build_chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> dict[str, str]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {"data": dump_json({**self._head, "object": "chat.completion.chunk", "choices": [choice]})}

    def build_usage_chunk(self, answer: ChatAnswer) -> dict[str, str]:
        chunk = {**self._head, "object": "chat.completion.chunk", "choices": [], "usage": _build_usage(answer)}
        return {"data": dump_json(chunk)}


def _check_caller(request: Request) -> Caller:
    """The caller, if it may open sessions; raises NotAllowed."""
    caller: Caller = request.state.caller
    caller.check("run")
    caller.check_unbound("a chat")
    return caller


def _build_model(model: chat_request.ChatModel) -> dict[str, Any]:
    return {"id": model.id, "object": "model", "created": CREATED, "owned_by": "moot", "name": model.describe()}


def _build_usage(answer: ChatAnswer) -> dict[str, int]:
    spent = answer.spent
    return {"prompt_tokens": spent.tokens_in, "completion_tokens": spent.tokens_out, "total_tokens": spent.tokens}


async def _say_aside(text: str) -> ChatPieces:
    yield ChatAnswer(text, Spent())


def _split_paragraphs(text: str) -> list[str]:
    """The text in pieces that make the whole again: a client shows each as it comes."""
    parts = text.split("\n\n")
    return [f"{part}\n\n" for part in parts[:-1]] + parts[-1:]


def _read_patience(headers: Mapping[str, str]) -> float:
    """How long to wait for the end: a little less than the client does, where it says so as the official library does."""
    try:
        given = float(headers.get("x-stainless-read-timeout", "nan"))
    except ValueError:
        given = math.nan
    return min(WAIT_SECONDS, max(1.0, given - SPARE_SECONDS)) if math.isfinite(given) else WAIT_SECONDS


async def _read_while_connected(request: Request, pieces: ChatPieces) -> ChatPieces:
    """The pieces of an answer, until its client goes away."""
    gone = asyncio.create_task(_wait_for_disconnect(request))
    piece: asyncio.Task[Reasoning | ChatAnswer | None] | None = None
    try:
        while True:
            piece = asyncio.create_task(_take(pieces))
            await asyncio.wait({piece, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not piece.done() or (found := piece.result()) is None:
                return
            yield found
    finally:
        waits = [gone] if piece is None else [gone, piece]
        for task in waits:
            task.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


async def _take(pieces: ChatPieces) -> Reasoning | ChatAnswer | None:
    return await anext(pieces, None)


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _answer_errors(handler: Handler) -> Handler:
    """Answer errors in OpenAI's shape."""

    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except chat_request.ChatRefused as error:
            return build_chat_error(error.status, str(error), error.code, error.param)
        except NotAllowed as error:
            return build_chat_error(403, str(error), "permission_denied")
        except KeyReused as error:
            return build_chat_error(409, str(error), "idempotency_key_reused")
        except WorldError as error:
            log.warning("a chat cannot be answered: %s", error)
            return build_chat_error(503, str(error), "unavailable")
        except MootError as error:
            return build_chat_error(400, str(error), "invalid_request")
        except ClientDisconnect:
            raise
        except Exception:
            log.exception("a chat cannot be answered")
            return build_chat_error(500, "an internal error of the server; see its log", "internal_error")

    return handle
