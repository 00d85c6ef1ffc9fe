"""The door for chat clients: `/v1/models`, `/v1/chat/completions` and `/v1/responses` in OpenAI's shapes."""

import asyncio
import logging
import math
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Final, Protocol

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
from moothall.surfaces.http.responses import Event, ResponseShape, rewrite_response_request

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
            Route("/v1/responses", _answer_errors(self.handle_response), methods=["POST"]),
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
            404, f"{what} is not served; Moot has GET /v1/models, POST /v1/chat/completions and POST /v1/responses", "unknown_url"
        )

    async def handle_completion(self, request: Request) -> Response:
        return await self._hold_meeting(request, await self._read(request), _build_chat_shape)

    async def handle_response(self, request: Request) -> Response:
        return await self._hold_meeting(request, rewrite_response_request(await self._read(request)), _build_response_shape)

    async def _read(self, request: Request) -> bytes:
        body = await self._read_body(request)
        if body is None:
            largest = request.state.largest_body
            raise chat_request.ChatRefused(413, f"the request is too large; the limit is {largest} bytes", "request_too_large")
        return body

    async def _hold_meeting(self, request: Request, body: bytes, build_shape: "BuildShape") -> Response:
        came = asyncio.get_running_loop().time()
        caller = _check_caller(request)
        chat = chat_request.parse_chat_request(body)
        model = chat_request.find_model(chat.model)
        aside = chat_request.answer_side_question(chat)
        if aside is not None:
            shape = build_shape(secrets.token_hex(12), int(time.time()), chat, model)
            return await self._answer(request, chat, shape, _say_aside(aside), {})
        question = chat_request.read_question(chat)
        call = Call(context=self._context(), caller=caller, trace=request.headers.get(TRACE_HEADER, ""))
        key = request.headers.get("idempotency-key", "").strip()
        meeting = await find_or_open_meeting(call, chat, model, question, key)
        shape = build_shape(meeting.session, int(meeting.opened_at.timestamp()), chat, model)
        link = f"{request.url.scheme}://{request.url.netloc}/s/{meeting.session}"
        # Counted from when the request came: the opening, which tries every seat, takes its time.
        ends = came + (STREAM_SECONDS if chat.stream else _read_patience(request.headers))
        pieces = follow_meeting(call, meeting, link, ends, question.shape)
        return await self._answer(request, chat, shape, pieces, {"X-Moot-Session": meeting.session})

    async def _answer(
        self,
        request: Request,
        chat: chat_request.ChatRequest,
        shape: "AnswerWriter",
        pieces: ChatPieces,
        headers: Mapping[str, str],
    ) -> Response:
        if chat.stream:
            chunks = self._stream(request, shape, pieces)
            return EventSourceResponse(chunks, ping=PING_SECONDS, sep="\n", headers={**headers, "X-Accel-Buffering": "no"})
        reasoning: list[str] = []
        async with aclosing(pieces), aclosing(_read_while_connected(request, pieces)) as read:
            async for piece in read:
                match piece:
                    case Reasoning(text=text):
                        reasoning.append(text)
                    case ChatAnswer():
                        return JSONResponse(shape.build_whole("".join(reasoning), piece), headers=dict(headers))
        # Nobody reads it: the client went away. The meeting goes on.
        return Response(status_code=499)

    async def _stream(self, request: Request, shape: "AnswerWriter", pieces: ChatPieces) -> AsyncIterator[Event]:
        for event in shape.begin():
            yield event
        try:
            async for piece in pieces:
                if not await self._is_allowed(request):
                    return
                match piece:
                    case Reasoning(text=text):
                        events = shape.tell(text)
                    case ChatAnswer(text=text):
                        events = shape.finish(piece, _split_paragraphs(text))
                for event in events:
                    yield event
        except MootError as error:
            # The status is sent already: the error is an event of the stream, as in OpenAI's API.
            log.warning("a chat breaks off: %s", error)
            yield {"data": dump_json(build_error_body(503, str(error), "unavailable"))}
        finally:
            await pieces.aclose()
        for event in shape.end():
            yield event

    async def _is_allowed(self, request: Request) -> bool:
        """Whether the token that began a stream is still good: it may be revoked, or its time may be over."""
        return not isinstance(await self._context().moot.access.identify(request.state.secret), AccessDenied)


class AnswerWriter(Protocol):
    """The shapes of one answer: as a whole, and as the events of a stream."""

    def build_whole(self, reasoning: str, answer: ChatAnswer) -> dict[str, Any]: ...

    def begin(self) -> Iterator[Event]: ...

    def tell(self, text: str) -> Iterator[Event]: ...

    def finish(self, answer: ChatAnswer, parts: list[str]) -> Iterator[Event]: ...

    def end(self) -> Iterator[Event]: ...


BuildShape = Callable[[str, int, chat_request.ChatRequest, chat_request.ChatModel], AnswerWriter]


class CompletionShape:
    """Implements `AnswerWriter` for chat completions."""

    def __init__(self, name: str, created: int, model: str, *, has_usage: bool, tool: str) -> None:
        self._name = name
        self._has_usage = has_usage
        self._tool = tool
        self._head = {"id": f"chatcmpl-{name}", "created": created, "model": model}

    def build_whole(self, reasoning: str, answer: ChatAnswer) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": answer.text, "refusal": None}
        if answer.is_refusal:
            message |= {"content": None, "refusal": answer.text}
        elif self._tool:
            message |= {"content": None, "tool_calls": [self._build_call(answer)]}
        if reasoning:
            message["reasoning_content"] = reasoning
        choice = {"index": 0, "message": message, "finish_reason": self._name_finish(answer), "logprobs": None}
        return {**self._head, "object": "chat.completion", "choices": [choice], "usage": _build_usage(answer)}

    def begin(self) -> Iterator[Event]:
        yield self._build_chunk({"role": "assistant", "content": ""})

    def tell(self, text: str) -> Iterator[Event]:
        yield self._build_chunk({"reasoning_content": text})

    def finish(self, answer: ChatAnswer, parts: list[str]) -> Iterator[Event]:
        if self._tool and not answer.is_refusal:
            yield self._build_chunk({"tool_calls": [{"index": 0, **self._build_call(answer)}]})
        else:
            yield from (self._build_chunk({"refusal" if answer.is_refusal else "content": part}) for part in parts)
        yield self._build_chunk({}, self._name_finish(answer))
        if self._has_usage:
            chunk = {**self._head, "object": "chat.completion.chunk", "choices": [], "usage": _build_usage(answer)}
            yield {"data": dump_json(chunk)}

    def end(self) -> Iterator[Event]:
        yield {"data": "[DONE]"}

    def _name_finish(self, answer: ChatAnswer) -> str:
        return "tool_calls" if self._tool and not answer.is_refusal else "stop"

    def _build_call(self, answer: ChatAnswer) -> dict[str, Any]:
        return {"id": f"call_{self._name}", "type": "function", "function": {"name": self._tool, "arguments": answer.text}}

    def _build_chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {"data": dump_json({**self._head, "object": "chat.completion.chunk", "choices": [choice]})}


def _build_chat_shape(name: str, created: int, chat: chat_request.ChatRequest, model: chat_request.ChatModel) -> CompletionShape:
    has_usage = chat.stream_options is not None and bool(chat.stream_options.include_usage)
    return CompletionShape(name, created, model.id, has_usage=has_usage, tool=_name_tool(chat))


def _build_response_shape(
    name: str, created: int, chat: chat_request.ChatRequest, model: chat_request.ChatModel
) -> ResponseShape:
    return ResponseShape(name, created, model.id, _name_tool(chat))


def _name_tool(chat: chat_request.ChatRequest) -> str:
    tool = chat_request.find_answer_tool(chat)
    return "" if tool is None else tool["name"]


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
            piece = asyncio.ensure_future(anext(pieces, None))
            await asyncio.wait({piece, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not piece.done() or (text := piece.result()) is None:
                return
            yield text
    finally:
        waits = [gone] if piece is None else [gone, piece]
        for task in waits:
            task.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


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
