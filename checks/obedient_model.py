"""A loopback model that does what an invitation's prompt says, behind OpenAI's Responses and Anthropic's Messages."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from tests.acceptance.outside_agents.obedient_agent import Steps, find_tools, follow

from moothall_testkit.stub_server import Raw, Request, Step, StubReply

SEAT = re.compile(r"Take the seat (\w+) in the Moot \w+ [\w-]+ with the tools")
SERVER = "mcp__moot"
Json = dict[str, Any]


@dataclass
class Follower:
    """One seat's way through its session."""

    prompt: str
    steps: Steps
    called: list[tuple[str, Json]] = field(default_factory=list)
    heard: int = 0
    result: Json | None = None

    def take_next(self, results: list[str]) -> tuple[str, Json] | None:
        """The next tool to call, or None at the end; a request that is repeated gets the same one."""
        if not self.called:
            self.called.append(next(self.steps))
        elif len(results) > self.heard:
            self.heard = len(results)
            try:
                self.called.append(self.steps.send(read_result(results[-1])))
            except StopIteration as end:
                self.result = end.value
                return None
        return self.called[-1] if self.result is None else None


class ObedientModel:
    """The model of all agents of a session, told apart by the seat in the prompt."""

    def __init__(self) -> None:
        self.followers: dict[str, Follower] = {}
        self.shown: dict[str, set[str]] = {}

    def __call__(self, request: Request) -> Step:
        sent = json.dumps(request.body.get("input", request.body.get("messages")), ensure_ascii=False)
        found = SEAT.search(sent)
        if found is None:
            # What an agent asks beside its work, such as a title.
            return StubReply(text="ok") if request.is_responses else _say_anthropic("ok")
        seat = found[1]
        follower = self.followers.setdefault(seat, self._begin(seat, sent))
        answer = self._answer_openai if request.is_responses else self._answer_claude
        return answer(request, seat, follower)

    def _begin(self, seat: str, sent: str) -> Follower:
        prompt = next(text for text in re.findall(r'"((?:[^"\\]|\\.)*)"', sent) if f"Take the seat {seat} " in text)
        return Follower(json.loads(f'"{prompt}"'), follow(prompt))

    def _answer_openai(self, request: Request, seat: str, follower: Follower) -> Step:
        spaces = [tool for tool in request.body["tools"] if tool.get("name") == SERVER]
        self.shown[seat] = {tool["name"] for space in spaces for tool in space["tools"]}
        results = [_text_of(item["output"]) for item in request.body["input"] if item.get("type") == "function_call_output"]
        step = follower.take_next(results)
        if step is None:
            return StubReply(text="The session has ended.")
        name, arguments = step
        item = {
            "id": f"fc_{len(results)}",
            "type": "function_call",
            "status": "completed",
            "call_id": f"call_{len(results)}",
            "namespace": SERVER,
            "name": name,
            "arguments": json.dumps(arguments),
        }
        head = {"id": "resp_1", "object": "response", "created_at": 1, "model": "stub"}
        response: Json = {**head, "status": "completed", "output": [item]}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        return _send_events(
            {"type": "response.created", "response": response | {"status": "in_progress", "output": []}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response | {"usage": usage}},
        )

    def _answer_claude(self, request: Request, seat: str, follower: Follower) -> Step:
        names = [tool["name"] for tool in request.body.get("tools", [])]
        shown = {name.removeprefix(f"{SERVER}__") for name in names if name.startswith(SERVER)}
        results = _list_tool_results(request.body["messages"])
        if not find_tools(follower.prompt) <= shown:
            # It starts servers beside its first turn, and offers a tool to wait for them.
            assert "WaitForMcpServers" in names, names
            return _call_anthropic("WaitForMcpServers", {}, "wait")
        self.shown[seat] = shown
        step = follower.take_next([text for name, text in results if name.startswith(SERVER)])
        if step is None:
            return _say_anthropic("The session has ended.")
        name, arguments = step
        return _call_anthropic(f"{SERVER}__{name}", arguments, str(len(results)))


def read_result(text: str) -> Json:
    """What a tool gave, as an agent hands it on: with words of its own round it, or wrapped once more."""
    start = text.find("{")
    assert start >= 0, f"a tool refused: {text}"
    value, _ = json.JSONDecoder().raw_decode(text[start:])
    inner = value.get("content")
    if isinstance(inner, list) and inner and "text" in inner[0]:
        value = json.loads(inner[0]["text"])
    found: Json = value
    return found


def _list_tool_results(messages: list[Json]) -> list[tuple[str, str]]:
    parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
    names = {part["id"]: part["name"] for part in parts if part.get("type") == "tool_use"}
    return [(names[part["tool_use_id"]], _text_of(part["content"])) for part in parts if part.get("type") == "tool_result"]


def _text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _call_anthropic(name: str, arguments: Json, number: str) -> Step:
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
    return _send_anthropic(block, {"type": "input_json_delta", "partial_json": json.dumps(arguments)}, "tool_use")


def _say_anthropic(text: str) -> Step:
    return _send_anthropic({"type": "text", "text": ""}, {"type": "text_delta", "text": text}, "end_turn")


def _send_anthropic(block: Json, delta: Json, reason: str) -> Step:
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "stub", "content": [], "usage": usage}
    return _send_events(
        {"type": "message_start", "message": {**head, "stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    )


def _send_events(*events: Json) -> Raw:
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return Raw(body=body.encode(), content_type="text/event-stream")
