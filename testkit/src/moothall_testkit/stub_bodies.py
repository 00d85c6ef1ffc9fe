"""What the stub server sends, and the JSON of it: OpenAI's chat completions and responses, whole or as events."""

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

Json = dict[str, Any]

BREAK: Final[Json] = {}
"""Stands among the events where a stream is to break off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StubReply:
    """A well-formed answer: text, calls of tools (each a name and its arguments, of chat completions alone), or a refusal.

    `searches` are what the server searched the web for itself, of responses alone.

    `tokens_in` None reports no usage, as some local servers do. `chosen` are candidates for the first token and their
    probabilities, told to a client that asks; without them none are told. `chunk` is the size of a streamed piece in
    characters, `delay` the seconds before the first byte and `chunk_delay` before each piece. `stop_after` breaks a stream off
    after so many pieces, in the way of `then`.
    """

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    searches: tuple[str, ...] = ()
    refusal: str | None = None
    reasoning: str | None = None
    finish_reason: str | None = None
    tokens_in: int | None = 10
    tokens_out: int = 5
    tokens_cached: int = 0
    chosen: tuple[tuple[str, float], ...] = ()
    chunk: int = 8
    delay: float = 0.0
    chunk_delay: float = 0.0
    stop_after: int | None = None
    then: Literal["drop", "hang", "garbage", "error"] = "drop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """An HTTP error with OpenAI's error body."""

    status: int
    message: str = "scripted failure"
    code: str | None = None
    retry_after: str | float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """These very bytes, for malformed answers."""

    body: bytes = b"<html>not json</html>"
    status: int = 200
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Hang:
    """Accept the request and say nothing."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Close the connection without an answer."""


Step = StubReply | Fail | Raw | Hang | Drop


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request as it came in; the names of headers are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: Json
    at: float

    @property
    def is_responses(self) -> bool:
        return self.path.endswith("/responses")

    @property
    def text(self) -> str:
        """All the text that the client sent, joined, for a scripted function to look into."""
        sent = _collect_strings(self.body.get("messages", self.body.get("input", "")))
        return "\n".join([*sent, *_collect_strings(self.body.get("instructions") or "")])


def build_error_body(fail: Fail) -> Json:
    return {
        "error": {"message": fail.message, "type": "stub_error", "param": None, "code": fail.code}
    }


def build_models_body(names: Sequence[str]) -> Json:
    listed = [{"id": name, "object": "model", "created": 0, "owned_by": "stub"} for name in names]
    return {"object": "list", "data": listed}


def build_body(reply: StubReply, request: Request) -> Json:
    """The whole answer."""
    return (
        _build_response(reply, request, "completed")
        if request.is_responses
        else _build_completion(reply, request)
    )


def stream_events(reply: StubReply, request: Request) -> AsyncIterator[Json]:
    """The answer as events, in its time."""
    return (
        _stream_response_events(reply, request)
        if request.is_responses
        else _stream_completion_events(reply, request)
    )


def _collect_strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in value for text in _collect_strings(item)]
    if isinstance(value, dict):
        return [
            text
            for key in ("content", "text")
            if key in value
            for text in _collect_strings(value[key])
        ]
    return []


async def _stream_pieces(reply: StubReply) -> AsyncIterator[str | None]:
    """The pieces in time, with None where the stream is to break off."""
    text = "" if reply.refusal else reply.text
    for number, start in enumerate(range(0, len(text), reply.chunk)):
        if number == reply.stop_after:
            yield None
            return
        await asyncio.sleep(reply.chunk_delay)
        yield text[start : start + reply.chunk]
    if reply.stop_after is not None:
        yield None


def _build_logprobs(reply: StubReply, most: int) -> Json:
    told = [
        {"token": token, "logprob": math.log(share), "bytes": list(token.encode())}
        for token, share in reply.chosen
    ]
    return {"content": [told[0] | {"top_logprobs": told[:most]}]}


def _build_chat_usage(reply: StubReply) -> Json | None:
    if reply.tokens_in is None:
        return None
    return {
        "prompt_tokens": reply.tokens_in,
        "completion_tokens": reply.tokens_out,
        "total_tokens": reply.tokens_in + reply.tokens_out,
        "prompt_tokens_details": {"cached_tokens": reply.tokens_cached},
    }


def _build_completion(reply: StubReply, request: Request) -> Json:
    message: Json = {"role": "assistant", "content": None if reply.refusal else reply.text}
    if reply.refusal:
        message["refusal"] = reply.refusal
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            for number, (name, arguments) in enumerate(reply.calls)
        ]
    finish = reply.finish_reason or ("tool_calls" if reply.calls else "stop")
    choice: Json = {"index": 0, "message": message, "finish_reason": finish}
    if _name_gateway(request):
        choice["native_finish_reason"] = finish
    if reply.chosen and request.body.get("logprobs"):
        choice["logprobs"] = _build_logprobs(reply, request.body.get("top_logprobs") or 0)
    usage = _build_chat_usage(reply)
    told = {} if usage is None else {"usage": usage}
    return {
        "id": "stub-1",
        "object": "chat.completion",
        "created": 1,
        "model": request.body.get("model"),
        "choices": [choice],
        **told,
        **_name_gateway(request),
    }


def _name_gateway(request: Request) -> Json:
    """What OpenRouter adds to a completion, where it is asked by its own name."""
    is_gateway = request.headers.get("host", "").startswith("openrouter.ai")
    return {"provider": "Stub"} if is_gateway else {}


async def _stream_completion_events(reply: StubReply, request: Request) -> AsyncIterator[Json]:
    base: Json = {
        "id": "stub-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": request.body.get("model"),
        **_name_gateway(request),
    }

    def chunk(delta: Json, finish: str | None = None) -> Json:
        choice: Json = {"index": 0, "delta": delta, "finish_reason": finish}
        if _name_gateway(request):
            choice["native_finish_reason"] = finish
        return base | {"choices": [choice]}

    yield chunk({"role": "assistant", "content": ""})
    if reply.reasoning:
        yield chunk({"reasoning_content": reply.reasoning})
    if reply.refusal:
        yield chunk({"refusal": reply.refusal})
    async for piece in _stream_pieces(reply):
        yield BREAK if piece is None else chunk({"content": piece})
    yield chunk({}, reply.finish_reason or "stop")
    if (usage := _build_chat_usage(reply)) is not None and (
        request.body.get("stream_options") or {}
    ).get("include_usage"):
        yield base | {"choices": [], "usage": usage}


def _build_message(reply: StubReply) -> Json:
    part: Json = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
    if reply.refusal:
        part = {"type": "refusal", "refusal": reply.refusal}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def _build_searches(reply: StubReply) -> list[Json]:
    sources = [{"type": "url", "url": "https://example.org/rent"}]
    return [
        {
            "id": f"ws_{number}",
            "type": "web_search_call",
            "status": "completed",
            "action": {"type": "search", "query": query, "sources": sources},
        }
        for number, query in enumerate(reply.searches)
    ]


def _build_response(reply: StubReply, request: Request, status: str) -> Json:
    is_done = status == "completed"
    if is_done and reply.finish_reason == "length":
        status = "incomplete"
    usage: Json | None = None
    if reply.tokens_in is not None and is_done:
        usage = {
            "input_tokens": reply.tokens_in,
            "input_tokens_details": {"cached_tokens": reply.tokens_cached},
            "output_tokens": reply.tokens_out,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": reply.tokens_in + reply.tokens_out,
        }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": request.body.get("model"),
        "status": status,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "output": [*_build_searches(reply), _build_message(reply)] if is_done else [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }


async def _stream_response_events(reply: StubReply, request: Request) -> AsyncIterator[Json]:
    number = -1

    def event(kind: str, **rest: Any) -> Json:
        nonlocal number
        number += 1
        return {"type": kind, "sequence_number": number, **rest}

    where: Json = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    part: Json = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    yield event("response.created", response=_build_response(reply, request, "in_progress"))
    item = _build_message(reply) | {"status": "in_progress", "content": []}
    yield event("response.output_item.added", output_index=0, item=item)
    if reply.refusal:
        yield event("response.refusal.delta", **where, delta=reply.refusal)
        yield event("response.refusal.done", **where, refusal=reply.refusal)
    else:
        yield event("response.content_part.added", **where, part=part)
    async for piece in _stream_pieces(reply):
        yield (
            BREAK
            if piece is None
            else event("response.output_text.delta", **where, delta=piece, logprobs=[])
        )
    if not reply.refusal:
        yield event("response.output_text.done", **where, text=reply.text, logprobs=[])
        yield event("response.content_part.done", **where, part=part | {"text": reply.text})
    yield event("response.output_item.done", output_index=0, item=_build_message(reply))
    body = _build_response(reply, request, "completed")
    yield event(f"response.{body['status']}", response=body)
