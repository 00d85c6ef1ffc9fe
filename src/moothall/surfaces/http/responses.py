"""OpenAI's newer shapes (`/v1/responses`): a request as the chat request that it is, and an answer as items and events.

Nothing is stored for a client: who goes on with a conversation sends it again, as with chat completions.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from moothall.domain.safe_text import dump_json
from moothall.surfaces.api.chat import ChatAnswer
from moothall.surfaces.api.chat_request import ChatModel, ChatRefused, ChatRequest

_ROLES: Final = frozenset({"user", "assistant", "system", "developer"})

Event = dict[str, str]


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
    said = [{"role": "user", "content": said}] if isinstance(said, str) else said if isinstance(said, list) else ()
    messages = [each for each in said if isinstance(each, dict) and str(each.get("role")) in _ROLES]
    if not messages:
        raise ChatRefused(400, "input holds no message; expected a text, or a list of messages with a role", param="input")
    rules = given.get("instructions")
    taken = ("model", "stream", "user", "seed", "metadata")
    chat = {name: given[name] for name in taken if given.get(name) is not None}
    chat["messages"] = [*([{"role": "system", "content": rules}] if isinstance(rules, str) and rules else []), *messages]
    return json.dumps({**chat, **_rewrite_shape(given), "max_completion_tokens": given.get("max_output_tokens")}).encode()


def _rewrite_shape(given: Mapping[str, Any]) -> dict[str, Any]:
    """The form of the answer, and the function by which it is wanted."""
    text = given.get("text")
    form = text.get("format") if isinstance(text, dict) else None
    if isinstance(form, dict) and form.get("type") == "json_schema":
        form = {"type": "json_schema", "json_schema": {"schema": form.get("schema")}}
    tools = given.get("tools")
    if isinstance(tools, list):
        tools = [{"function": each} for each in tools if isinstance(each, dict) and each.get("type") == "function"]
    choice = given.get("tool_choice")
    if isinstance(choice, dict) and "name" in choice:
        choice = {"type": "function", "function": {"name": choice["name"]}}
    return {"response_format": form, "tools": tools, "tool_choice": choice}


class ResponseShape:
    """The shapes of one answer: as a whole, and as the events of a stream."""

    def __init__(self, name: str, created: int, chat: ChatRequest, model: ChatModel) -> None:
        self._name = name
        self._tool = chat.answer_tool
        self._spoken: list[str] = []
        self._number = 0
        self._head = {"id": f"resp_{name}", "object": "response", "created_at": created, "model": model.id}

    def build_whole(self, reasoning: str, answer: ChatAnswer) -> dict[str, Any]:
        output = [*([self._build_reasoning(reasoning)] if reasoning else []), self._build_item(answer)]
        return self._build_response("completed", output, answer)

    def begin(self) -> Iterator[Event]:
        for kind in ("response.created", "response.in_progress"):
            yield self._build_event(kind, response=self._build_response("in_progress", [], None))

    def tell(self, text: str) -> Iterator[Event]:
        place = {"item_id": f"rs_{self._name}", "output_index": 0, "summary_index": 0}
        if not self._spoken:
            yield self._build_event("response.output_item.added", output_index=0, item=self._build_reasoning(""))
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
            yield self._build_event("response.output_item.done", output_index=0, item=self._build_reasoning(reasoning))
            index = 1
        yield from self._stream_item(answer, parts, index)
        yield self._build_event("response.completed", response=self.build_whole(reasoning, answer))

    def end(self) -> Iterator[Event]:
        return iter(())

    def _stream_item(self, answer: ChatAnswer, parts: list[str], index: int) -> Iterator[Event]:
        item = self._build_item(answer)
        place: dict[str, Any] = {"item_id": item["id"], "output_index": index}
        if item["type"] == "function_call":
            yield self._build_event("response.output_item.added", output_index=index, item={**item, "arguments": ""})
            yield self._build_event("response.function_call_arguments.delta", **place, delta=answer.text)
            yield self._build_event("response.function_call_arguments.done", **place, arguments=answer.text, name=self._tool)
        else:
            yield self._build_event("response.output_item.added", output_index=index, item={**item, "content": []})
            (content,) = item["content"]
            kind, key = ("refusal", "refusal") if answer.is_refusal else ("output_text", "text")
            place["content_index"] = 0
            yield self._build_event("response.content_part.added", **place, part={**content, key: ""})
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
            call = {"type": "function_call", "id": f"fc_{self._name}", "call_id": f"call_{self._name}", "status": "completed"}
            return {**call, "name": self._tool, "arguments": answer.text}
        content: dict[str, Any] = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        if answer.is_refusal:
            content = {"type": "refusal", "refusal": answer.text}
        message = {"type": "message", "id": f"msg_{self._name}", "role": "assistant", "status": "completed"}
        return {**message, "content": [content]}

    def _build_response(self, status: str, output: list[dict[str, Any]], answer: ChatAnswer | None) -> dict[str, Any]:
        usage = None
        if answer is not None:
            usage = {
                "input_tokens": answer.spent.tokens_in,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": answer.spent.tokens_out,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": answer.spent.tokens,
            }
        absent = dict.fromkeys(("error", "incomplete_details", "instructions", "temperature", "top_p"))
        fixed: dict[str, Any] = {"metadata": {}, "parallel_tool_calls": False, "tool_choice": "auto", "tools": [], "store": False}
        return {**self._head, "status": status, "output": output, "usage": usage, **absent, **fixed}

    def _build_event(self, kind: str, **fields: Any) -> Event:
        event = {"type": kind, "sequence_number": self._number, **fields}
        self._number += 1
        return {"event": kind, "data": dump_json(event)}
