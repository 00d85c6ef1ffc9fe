"""The door for chat clients: `/v1/models`, `/v1/chat/completions` and `/v1/responses` in OpenAI's shapes.

Nothing is stored for a client: who goes on with a conversation sends it again, also by the newer `/v1/responses`.
"""

import asyncio
import json
import logging
import math
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any, Final

from sse_starlette.sse import EventSourceResponse
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from moothall.app.reading_threads import run_on_own_thread
from moothall.domain.budget import Spent
from moothall.domain.safe_text import dump_json
from moothall.errors import KeyReused, MootError, NotAllowed, WorldError
from moothall.memory.tokens import AccessDenied
from moothall.surfaces.api import chat_request
from moothall.surfaces.api.chat import (
    ChatAnswer,
    ChatPieces,
    EventReader,
    Reasoning,
    find_or_open_meeting,
    follow_meeting,
)
from moothall.surfaces.api.chat_request import ChatModel, ChatRefused, ChatRequest
from moothall.surfaces.api.method import Call
from moothall.surfaces.http.access_control import (
    SafeJSONResponse,
    build_call,
    build_chat_error,
    build_error_body,
    read_body,
)

log = logging.getLogger("moot")

PING_SECONDS: Final = 10
WAIT_SECONDS: Final = 540.0
"""How long a request that does not stream waits for the end: most clients give up after ten minutes."""
STREAM_SECONDS: Final = 3_600.0
SPARE_SECONDS: Final = 3.0
"""How long before a client gives up it is answered, where it says when that is."""
CREATED: Final = 1_767_225_600
"""Models have no date of their own; every client expects one."""

_ROLES: Final = frozenset({"user", "assistant", "system", "developer"})

Event = dict[str, str]
Handler = Callable[[Request], Awaitable[Response]]


async def handle_models(request: Request) -> Response:
    _check_caller(request)
    return JSONResponse(
        {"object": "list", "data": [_build_model(model) for model in chat_request.list_models()]}
    )


async def handle_model(request: Request) -> Response:
    _check_caller(request)
    return JSONResponse(_build_model(chat_request.find_model(request.path_params["model"])))


async def handle_unknown(request: Request) -> Response:
    what = f"{request.method} {request.url.path[:100]}"
    raise ChatRefused(
        404,
        f"{what} is not served; Moot has GET /v1/models, POST /v1/chat/completions and POST /v1/responses",
        "unknown_url",
    )


async def handle_completion(request: Request) -> Response:
    return await _hold_meeting(request, await _read(request), CompletionShape)


async def handle_response(request: Request) -> Response:
    return await _hold_meeting(
        request, rewrite_response_request(await _read(request)), ResponseShape
    )


async def _read(request: Request) -> bytes:
    body = await read_body(request)
    if body is None:
        largest = request.state.largest_body
        raise ChatRefused(
            413, f"the request is too large; the limit is {largest} bytes", "request_too_large"
        )
    return body


async def _hold_meeting(
    request: Request, body: bytes, build_shape: "type[CompletionShape | ResponseShape]"
) -> Response:
    came = asyncio.get_running_loop().time()
    call = _check_caller(request)
    chat = chat_request.parse_chat_request(body)
    model = chat_request.find_model(chat.model)
    aside = chat_request.answer_side_question(chat)
    if aside is not None:
        shape = build_shape(secrets.token_hex(12), chat, model)
        return await _answer(request, chat, shape, _say_aside(aside), {})
    question = await run_on_own_thread(lambda: chat_request.read_question(chat))
    key = request.headers.get("idempotency-key", "").strip()
    meeting = await find_or_open_meeting(call, chat, model, question, key)
    shape = build_shape(meeting.session, chat, model)
    link = f"{request.url.scheme}://{request.url.netloc}/s/{meeting.session}"
    # Counted from when the request came: the opening, which tries every seat, takes its time.
    ends = came + (STREAM_SECONDS if chat.stream else _read_patience(request.headers))
    pieces = follow_meeting(call, meeting, link, ends, question.shape)
    return await _answer(request, chat, shape, pieces, {"X-Moot-Session": meeting.session})


async def _answer(
    request: Request,
    chat: ChatRequest,
    shape: "CompletionShape | ResponseShape",
    pieces: ChatPieces,
    headers: Mapping[str, str],
) -> Response:
    if chat.stream:
        chunks = _stream(request, shape, pieces)
        return EventSourceResponse(
            chunks, ping=PING_SECONDS, sep="\n", headers={**headers, "X-Accel-Buffering": "no"}
        )
    reasoning: list[str] = []
    reader = EventReader(pieces, _wait_for_disconnect(request))
    try:
        while (piece := await reader.read()) is not None:
            match piece:
                case Reasoning(text=text):
                    reasoning.append(text)
                case ChatAnswer():
                    return SafeJSONResponse(
                        shape.build_whole("".join(reasoning), piece), headers=dict(headers)
                    )
    finally:
        await reader.close()
    # Nobody reads it: the client went away. The meeting goes on.
    return Response(status_code=499)


async def _stream(
    request: Request, shape: "CompletionShape | ResponseShape", pieces: ChatPieces
) -> AsyncIterator[Event]:
    for event in shape.begin():
        yield event
    try:
        async for piece in pieces:
            # The token that began it may be revoked, or its time may be over.
            if isinstance(
                await build_call(request).moot.access.identify(request.state.secret), AccessDenied
            ):
                return
            match piece:
                case Reasoning(text=text):
                    events = shape.tell(text)
                case ChatAnswer(text=text):
                    # In pieces that make the whole again: a client shows each as it comes.
                    *firsts, last = text.split("\n\n")
                    events = shape.finish(piece, [*(f"{each}\n\n" for each in firsts), last])
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


class CompletionShape:
    """The shapes of one answer of chat completions, as `ResponseShape` has those of the newer API."""

    def __init__(self, name: str, chat: ChatRequest, model: ChatModel) -> None:
        self._name = name
        self._has_usage = chat.stream_options is not None and bool(
            chat.stream_options.include_usage
        )
        self._tool = chat.answer_tool
        self._head = {"id": f"chatcmpl-{name}", "created": int(time.time()), "model": model.id}

    def build_whole(self, reasoning: str, answer: ChatAnswer) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": answer.text, "refusal": None}
        if answer.is_refusal:
            message |= {"content": None, "refusal": answer.text}
        elif self._tool:
            message |= {"content": None, "tool_calls": [self._build_call(answer)]}
        if reasoning:
            message["reasoning_content"] = reasoning
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": self._name_finish(answer),
            "logprobs": None,
        }
        return {
            **self._head,
            "object": "chat.completion",
            "choices": [choice],
            "usage": _build_usage(answer),
        }

    def begin(self) -> Iterator[Event]:
        yield self._build_chunk({"role": "assistant", "content": ""})

    def tell(self, text: str) -> Iterator[Event]:
        yield self._build_chunk({"reasoning_content": text})

    def finish(self, answer: ChatAnswer, parts: list[str]) -> Iterator[Event]:
        if self._tool and not answer.is_refusal:
            yield self._build_chunk({"tool_calls": [{"index": 0, **self._build_call(answer)}]})
        else:
            yield from (
                self._build_chunk({"refusal" if answer.is_refusal else "content": part})
                for part in parts
            )
        yield self._build_chunk({}, self._name_finish(answer))
        if self._has_usage:
            chunk = {
                **self._head,
                "object": "chat.completion.chunk",
                "choices": [],
                "usage": _build_usage(answer),
            }
            yield {"data": dump_json(chunk)}

    def end(self) -> Iterator[Event]:
        yield {"data": "[DONE]"}

    def _name_finish(self, answer: ChatAnswer) -> str:
        return "tool_calls" if self._tool and not answer.is_refusal else "stop"

    def _build_call(self, answer: ChatAnswer) -> dict[str, Any]:
        return {
            "id": f"call_{self._name}",
            "type": "function",
            "function": {"name": self._tool, "arguments": answer.text},
        }

    def _build_chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {
            "data": dump_json(
                {**self._head, "object": "chat.completion.chunk", "choices": [choice]}
            )
        }


def rewrite_response_request(body: bytes) -> bytes:
    """The same request as chat completions have it; raises ChatRefused. What is not valid is left to who reads it."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if not isinstance(given, dict):
        return body
    for name in ("previous_response_id", "conversation", "background"):
        if given.get(name):
            message = f"{name}: Moot stores no conversations; send what was said before in `input`"
            raise ChatRefused(400, message, "unsupported_parameter", name)
    said = given.get("input")
    if isinstance(said, str):
        said = [{"role": "user", "content": said}]
    elif not isinstance(said, list):
        said = []
    messages = [each for each in said if isinstance(each, dict) and str(each.get("role")) in _ROLES]
    if not messages:
        raise ChatRefused(
            400,
            "input holds no message; expected a text, or a list of messages with a role",
            param="input",
        )
    rules = given.get("instructions")
    taken = ("model", "stream", "user", "seed", "metadata")
    chat = {name: given[name] for name in taken if given.get(name) is not None}
    chat["messages"] = [
        *([{"role": "system", "content": rules}] if isinstance(rules, str) and rules else []),
        *messages,
    ]
    return json.dumps(
        {**chat, **_rewrite_shape(given), "max_completion_tokens": given.get("max_output_tokens")}
    ).encode()


def _rewrite_shape(given: Mapping[str, Any]) -> dict[str, Any]:
    """The form of the answer, and the function by which it is wanted."""
    text = given.get("text")
    form = text.get("format") if isinstance(text, dict) else None
    if isinstance(form, dict) and form.get("type") == "json_schema":
        form = {"type": "json_schema", "json_schema": {"schema": form.get("schema")}}
    tools = given.get("tools")
    if isinstance(tools, list):
        tools = [
            {"function": each}
            for each in tools
            if isinstance(each, dict) and each.get("type") == "function"
        ]
    choice = given.get("tool_choice")
    if isinstance(choice, dict) and "name" in choice:
        choice = {"type": "function", "function": {"name": choice["name"]}}
    return {"response_format": form, "tools": tools, "tool_choice": choice}


class ResponseShape:
    """The shapes of one answer: as a whole, and as the events of a stream."""

    def __init__(self, name: str, chat: ChatRequest, model: ChatModel) -> None:
        self._name = name
        self._tool = chat.answer_tool
        self._spoken: list[str] = []
        self._number = 0
        self._head = {
            "id": f"resp_{name}",
            "object": "response",
            "created_at": int(time.time()),
            "model": model.id,
        }

    def build_whole(self, reasoning: str, answer: ChatAnswer) -> dict[str, Any]:
        output = [
            *([self._build_reasoning(reasoning)] if reasoning else []),
            self._build_item(answer),
        ]
        return self._build_response("completed", output, answer)

    def begin(self) -> Iterator[Event]:
        for kind in ("response.created", "response.in_progress"):
            yield self._build_event(kind, response=self._build_response("in_progress", [], None))

    def tell(self, text: str) -> Iterator[Event]:
        place = {"item_id": f"rs_{self._name}", "output_index": 0, "summary_index": 0}
        if not self._spoken:
            yield self._build_event(
                "response.output_item.added", output_index=0, item=self._build_reasoning("")
            )
            part = {"type": "summary_text", "text": ""}
            yield self._build_event("response.reasoning_summary_part.added", **place, part=part)
        self._spoken.append(text)
        yield self._build_event("response.reasoning_summary_text.delta", **place, delta=text)

    def finish(self, answer: ChatAnswer, parts: list[str]) -> Iterator[Event]:
        reasoning, index = "".join(self._spoken), 0
        if reasoning:
            place = {"item_id": f"rs_{self._name}", "output_index": 0, "summary_index": 0}
            yield self._build_event("response.reasoning_summary_text.done", **place, text=reasoning)
            part = {"type": "summary_text", "text": reasoning}
            yield self._build_event("response.reasoning_summary_part.done", **place, part=part)
            yield self._build_event(
                "response.output_item.done", output_index=0, item=self._build_reasoning(reasoning)
            )
            index = 1
        yield from self._stream_item(answer, parts, index)
        yield self._build_event("response.completed", response=self.build_whole(reasoning, answer))

    def end(self) -> Iterator[Event]:
        return iter(())

    def _stream_item(self, answer: ChatAnswer, parts: list[str], index: int) -> Iterator[Event]:
        item = self._build_item(answer)
        place: dict[str, Any] = {"item_id": item["id"], "output_index": index}
        if item["type"] == "function_call":
            yield self._build_event(
                "response.output_item.added", output_index=index, item={**item, "arguments": ""}
            )
            yield self._build_event(
                "response.function_call_arguments.delta", **place, delta=answer.text
            )
            yield self._build_event(
                "response.function_call_arguments.done",
                **place,
                arguments=answer.text,
                name=self._tool,
            )
        else:
            yield self._build_event(
                "response.output_item.added", output_index=index, item={**item, "content": []}
            )
            (content,) = item["content"]
            kind, key = ("refusal", "refusal") if answer.is_refusal else ("output_text", "text")
            place["content_index"] = 0
            yield self._build_event(
                "response.content_part.added", **place, part={**content, key: ""}
            )
            for part in parts:
                yield self._build_event(f"response.{kind}.delta", **place, delta=part)
            yield self._build_event(f"response.{kind}.done", **place, **{key: answer.text})
            yield self._build_event("response.content_part.done", **place, part=content)
        yield self._build_event("response.output_item.done", output_index=index, item=item)

    def _build_reasoning(self, reasoning: str) -> dict[str, Any]:
        summary = [{"type": "summary_text", "text": reasoning}] if reasoning else []
        return {"type": "reasoning", "id": f"rs_{self._name}", "summary": summary}

    def _build_item(self, answer: ChatAnswer) -> dict[str, Any]:
        if self._tool and not answer.is_refusal:
            call = {
                "type": "function_call",
                "id": f"fc_{self._name}",
                "call_id": f"call_{self._name}",
                "status": "completed",
            }
            return {**call, "name": self._tool, "arguments": answer.text}
        content: dict[str, Any] = {
            "type": "output_text",
            "text": answer.text,
            "annotations": [],
            "logprobs": [],
        }
        if answer.is_refusal:
            content = {"type": "refusal", "refusal": answer.text}
        message = {
            "type": "message",
            "id": f"msg_{self._name}",
            "role": "assistant",
            "status": "completed",
        }
        return {**message, "content": [content]}

    def _build_response(
        self, status: str, output: list[dict[str, Any]], answer: ChatAnswer | None
    ) -> dict[str, Any]:
        usage = None
        if answer is not None:
            usage = {
                "input_tokens": answer.spent.tokens_in,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": answer.spent.tokens_out,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": answer.spent.tokens,
            }
        absent = dict.fromkeys(
            ("error", "incomplete_details", "instructions", "temperature", "top_p")
        )
        fixed: dict[str, Any] = {
            "metadata": {},
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "store": False,
        }
        return {**self._head, "status": status, "output": output, "usage": usage, **absent, **fixed}

    def _build_event(self, kind: str, **fields: Any) -> Event:
        event = {"type": kind, "sequence_number": self._number, **fields}
        self._number += 1
        return {"event": kind, "data": dump_json(event)}


def _check_caller(request: Request) -> Call:
    """The call, if its caller may open sessions; raises NotAllowed."""
    call = build_call(request)
    call.caller.check("run")
    call.caller.check_unbound("a chat")
    return call


def _build_model(model: ChatModel) -> dict[str, Any]:
    return {
        "id": model.id,
        "object": "model",
        "created": CREATED,
        "owned_by": "moot",
        "name": model.describe(),
    }


def _build_usage(answer: ChatAnswer) -> dict[str, int]:
    spent = answer.spent
    return {
        "prompt_tokens": spent.tokens_in,
        "completion_tokens": spent.tokens_out,
        "total_tokens": spent.tokens,
    }


async def _say_aside(text: str) -> ChatPieces:
    yield ChatAnswer(text, Spent())


def _read_patience(headers: Mapping[str, str]) -> float:
    """How long to wait for the end: a little less than the client does, where it says so as the official library does."""
    try:
        given = float(headers.get("x-stainless-read-timeout", "nan"))
    except ValueError:
        given = math.nan
    return (
        min(WAIT_SECONDS, max(1.0, given - SPARE_SECONDS)) if math.isfinite(given) else WAIT_SECONDS
    )


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _answer_errors(handler: Handler) -> Handler:
    """Answer errors in OpenAI's shape."""

    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except ChatRefused as error:
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
            return build_chat_error(
                500, "an internal error of the server; see its log", "internal_error"
            )

    return handle


CHAT_ROUTES: Final = [
    Route("/v1/models", _answer_errors(handle_models), methods=["GET"]),
    Route("/v1/models/{model:path}", _answer_errors(handle_model), methods=["GET"]),
    Route("/v1/chat/completions", _answer_errors(handle_completion), methods=["POST"]),
    Route("/v1/responses", _answer_errors(handle_response), methods=["POST"]),
    Route(
        "/v1/{path:path}",
        _answer_errors(handle_unknown),
        methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
    ),
]
