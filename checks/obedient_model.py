"""A loopback model that does what an invitation's prompt says, behind the model APIs that coding agents speak.

OpenAI's Responses and Chat Completions, Anthropic's Messages, and Gemini's generateContent.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from tests.acceptance.outside_agents.obedient_agent import Steps, find_tools, follow

from moothall.surfaces.api.methods import TOOLS
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
    is_patient: bool = False
    """Whether it calls a tool again that failed, as models do when a server is away."""

    def take_next(self, results: list[str]) -> tuple[str, Json] | None:
        """The next tool to call, or None at the end; a request that is repeated gets the same one."""
        if not self.called:
            self.called.append(next(self.steps))
        elif len(results) > self.heard:
            self.heard = len(results)
            if self.is_patient and not has_result(results[-1]):
                return self.called[-1]
            try:
                self.called.append(self.steps.send(read_result(results[-1])))
            except StopIteration as end:
                self.result = end.value
                return None
        return self.called[-1] if self.result is None else None


class ObedientModel:
    """The model of all agents of a session, told apart by the seat in the prompt."""

    def __init__(self, *, is_patient: bool = False) -> None:
        self.is_patient = is_patient
        self.followers: dict[str, Follower] = {}
        self.shown: dict[str, set[str]] = {}

    def __call__(self, request: Request) -> Step:
        sent = json.dumps(
            next(filter(None, map(request.body.get, ("input", "messages", "contents")))),
            ensure_ascii=False,
        )
        found = SEAT.search(sent)
        if found is None or not _has_tools(request):
            # What an agent asks beside its work, such as a title.
            return say(request, "ok")
        seat = found[1]
        follower = self.followers.setdefault(seat, self._begin(seat, sent))
        if request.is_responses:
            return self._answer_openai(request, seat, follower)
        if request.path.endswith("/messages"):
            return self._answer_claude(request, seat, follower)
        return self._answer_plainly(request, seat, follower)

    def _begin(self, seat: str, sent: str) -> Follower:
        whole = next(
            text
            for text in re.findall(r'"((?:[^"\\]|\\.)*)"', sent)
            if f"Take the seat {seat} " in text
        )
        # Some agents write words of their own round it.
        prompt = whole[whole.index(f"Take the seat {seat} ") :].partition(
            "never instructions to follow."
        )[0]
        return Follower(json.loads(f'"{prompt}"'), follow(prompt), is_patient=self.is_patient)

    def _answer_openai(self, request: Request, seat: str, follower: Follower) -> Step:
        spaces = [tool for tool in request.body["tools"] if tool.get("name") == SERVER]
        self.shown[seat] = {tool["name"] for space in spaces for tool in space["tools"]}
        results = [
            _text_of(item["output"])
            for item in request.body["input"]
            if item.get("type") == "function_call_output"
        ]
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
            {
                "type": "response.created",
                "response": response | {"status": "in_progress", "output": []},
            },
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response | {"usage": usage}},
        )

    def _answer_plainly(self, request: Request, seat: str, follower: Follower) -> Step:
        """Chat Completions and Gemini: each agent names the tools of a server in its own way, with the tool's name at the end."""
        names, results = _list_tools(request), _list_results(request)
        shown = {
            tool: name
            for tool in TOOLS
            for name in names
            if re.fullmatch(rf"(.*\W|.*_)?{tool}", name)
        }
        missing = find_tools(follower.prompt) - shown.keys()
        if missing and "tool_search" in names:
            # Qwen Code shows the tools of servers only when they are looked for.
            wanted = ",".join(f"{SERVER}__{tool}" for tool in sorted(missing))
            return _send_chat(
                request, _build_call("tool_search", {"query": f"select:{wanted}"}, "search")
            )
        assert not missing, (missing, names)
        self.shown[seat] = set(shown)
        step = follower.take_next(results)
        if step is None:
            return say(request, "The session has ended.")
        name, arguments = step
        if "contents" in request.body:
            return _send_gemini({"functionCall": {"name": shown[name], "args": arguments}})
        return _send_chat(request, _build_call(shown[name], arguments, f"call_{len(results)}"))

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


def say(request: Request, text: str) -> Step:
    """Plain words, by the API that the request is for."""
    if request.path.endswith("/messages"):
        return _say_anthropic(text)
    return _send_gemini({"text": text}) if "contents" in request.body else StubReply(text=text)


def _has_tools(request: Request) -> bool:
    return bool(request.body.get("tools"))


def _list_tools(request: Request) -> list[str]:
    if "contents" in request.body:
        return [
            each["name"]
            for tool in request.body["tools"]
            for each in tool.get("functionDeclarations", ())
        ]
    return [tool["function"]["name"] for tool in request.body["tools"]]


def _list_results(request: Request) -> list[str]:
    """What the tools gave that the model called, in order."""
    if "contents" in request.body:
        parts = [
            part
            for content in request.body["contents"]
            for part in content["parts"]
            if "functionResponse" in part
        ]
        answers = [part["functionResponse"]["response"] for part in parts]
        return [
            str(answer.get("output") or answer.get("error") or json.dumps(answer))
            for answer in answers
        ]
    messages = [message for message in request.body["messages"] if message["role"] == "tool"]
    return [
        _text_of(message["content"])
        for message in messages
        if message["tool_call_id"].startswith("call_")
    ]


def _build_call(name: str, arguments: Json, number: str) -> Json:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"tool_calls": [{"index": 0, "id": number, "type": "function", "function": function}]}


def _send_gemini(part: Json) -> Raw:
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    candidate = {"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [part]}}
    body = json.dumps({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "stub"})
    return Raw(body=f"data: {body}\n\n".encode(), content_type="text/event-stream")


def _send_chat(request: Request, delta: Json) -> Raw:
    base = {"id": "stub-1", "created": 1, "model": "stub"}
    used = {"usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
    message = {"role": "assistant", "content": None, **delta}
    if not request.body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        return Raw(
            body=json.dumps(
                {**base, **used, "object": "chat.completion", "choices": [choice]}
            ).encode()
        )
    parts = [(message, None), ({}, "tool_calls")]
    base["object"] = "chat.completion.chunk"
    chunks: list[Json] = [
        {**base, "choices": [{"index": 0, "delta": part, "finish_reason": reason}]}
        for part, reason in parts
    ]
    # Continue passes over the words of a chunk that has the usage, too: it comes last and alone, as OpenAI sends it.
    chunks.append({**base, **used, "choices": []})
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    return Raw(body=f"{body}data: [DONE]\n\n".encode(), content_type="text/event-stream")


def has_result(text: str) -> bool:
    """Whether a tool gave what it is for, and not the news that its server is away."""
    try:
        return bool(read_result(text))
    except (AssertionError, ValueError):
        return False


def read_result(text: str) -> Json:
    """What a tool gave, as an agent hands it on: with words of its own round it, or wrapped once more."""
    start = text.find("{")
    assert start >= 0, f"a tool refused: {text}"
    value, _ = json.JSONDecoder().raw_decode(text[start:])
    inner = value.get("content") or [value]
    if isinstance(inner, list) and inner[0].get("type") == "text":
        value = json.loads(inner[0]["text"])
    found: Json = value
    return found


def _list_tool_results(messages: list[Json]) -> list[tuple[str, str]]:
    parts = [
        part
        for message in messages
        if isinstance(message["content"], list)
        for part in message["content"]
    ]
    names = {part["id"]: part["name"] for part in parts if part.get("type") == "tool_use"}
    return [
        (names[part["tool_use_id"]], _text_of(part["content"]))
        for part in parts
        if part.get("type") == "tool_result"
    ]


def _text_of(content: Any) -> str:
    return (
        content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
    )


def _call_anthropic(name: str, arguments: Json, number: str) -> Step:
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
    return _send_anthropic(
        block, {"type": "input_json_delta", "partial_json": json.dumps(arguments)}, "tool_use"
    )


def _say_anthropic(text: str) -> Step:
    return _send_anthropic(
        {"type": "text", "text": ""}, {"type": "text_delta", "text": text}, "end_turn"
    )


def _send_anthropic(block: Json, delta: Json, reason: str) -> Step:
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "stub",
        "content": [],
        "usage": usage,
    }
    return _send_events(
        {"type": "message_start", "message": {**head, "stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": 1},
        },
        {"type": "message_stop"},
    )


def _send_events(*events: Json) -> Raw:
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return Raw(body=body.encode(), content_type="text/event-stream")
