"""An agent that does what an invitation's prompt says, with the tools that the prompt names and no others."""

import re
from collections.abc import Generator
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from mcp import Client
from tests.acceptance.mcp_doors import Json, plain

from moothall.surfaces.api.methods import TOOLS

_WORD = re.compile(r"[a-z_]+")
STATES = {"your_turn"}
"""Words of a prompt that look like tools and are states."""
SAYS: dict[str, Json] = {
    "propose": {"text": "Ship it behind a flag.", "choice": "yes", "confidence": 0.7},
    "support": {"text": "The tests pass.", "refersTo": 2, "confidence": 0.7},
    "synthesize": {
        "text": "Ship it behind a flag, with a way back.",
        "choice": "yes",
        "confidence": 0.8,
    },
    "vote": {"position": "support", "text": "It holds.", "confidence": 0.8},
}
SPEECH = (
    "## Summary\nBoth are for it.\n## Consensus reached\nShip.\n## Disagreements left open\nNone.\n## Action items\nada ships.\n"
    "## Stance\nFor it.\n## Analysis\nIt is small.\n## Response and questions\nWho watches it?"
)


def find_tools(prompt: str) -> set[str]:
    """The tools that a prompt names, and whatever else looks like one."""
    return {word for word in _WORD.findall(prompt) if word in TOOLS or "_" in word} - STATES


Steps = Generator[tuple[str, Json], Json, Json]
"""Tools to call with their arguments; it is sent what each gave, and returns what it found out."""


def follow(prompt: str) -> Steps:
    """Do what a prompt says, to the end of the session."""
    named = find_tools(prompt)
    if "join_deliberation" in named:
        return _deliberate()
    if "swarm_round" in named:
        return _explore()
    return _confer() if "join_conference" in named else _meet()


def _deliberate() -> Steps:
    turn = yield "join_deliberation", {}
    while turn["status"] != "closed":
        if turn["status"] == "your_turn":
            assert "refers_to" not in turn["ask"]["instructions"]
            assert "moved_by" not in turn["ask"]["instructions"]
            kind = next(each for each in turn["ask"]["expected"] if each in SAYS)
            yield "contribute", {"type": kind, **SAYS[kind]}
        turn = yield "wait_for_turn", {"cursor": turn["cursor"]}
    found: Json = turn["result"]
    return found


def _meet() -> Steps:
    while (found := (yield "get_asks", {"timeoutSeconds": 45}))["status"] != "ended":
        for ask in found["asks"]:
            answer = SPEECH if ask["form"] == "text" else fill(ask["answerSchema"])
            yield "answer_ask", {"ask": ask["ask"], "answer": answer}
    return (yield "get_session", {})


def _explore() -> Steps:
    while (found := (yield "swarm_round", {"timeoutSeconds": 45}))["status"] != "ended":
        if found["status"] == "your_turn":
            ask = found["ask"]
            yield "swarm_report", {"ask": ask["ask"], "report": fill(ask["answerSchema"])}
    return (yield "swarm_status", {})


def _confer() -> Steps:
    while (found := (yield "join_conference", {"timeoutSeconds": 20}))["status"] != "closed":
        if found["isYourTurn"]:
            yield "say_in_conference", {"text": SPEECH}
    return (yield "conference_minutes", {})


async def follow_prompt(client: Client, prompt: str) -> tuple[set[str], Json]:
    """Follow a prompt with a real client, by the schemas that it was shown: the tools that were called, and what came of it."""
    schemas = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
    named, called = find_tools(prompt), set()
    assert named <= set(schemas), (named, set(schemas))
    steps = follow(prompt)
    tool, arguments = next(steps)
    while True:
        assert tool in named, (tool, named)
        Draft202012Validator(schemas[tool]).validate(arguments)
        called.add(tool)
        try:
            tool, arguments = steps.send(plain(await client.call_tool(tool, arguments)))
        except StopIteration as end:
            return called, end.value


def fill(schema: Any, whole: Any = None) -> Any:
    """A value that fits a schema: the first of what it allows, with every field that it requires."""
    whole = schema if whole is None else whole
    if "$ref" in schema:
        return fill(whole["$defs"][schema["$ref"].rpartition("/")[2]], whole)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return fill(schema[key][0], whole)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            fields = schema.get("properties", {})
            wanted = [
                name
                for name in fields
                if name in schema.get("required", fields) or name == "entries"
            ]
            return {name: fill(fields[name], whole) for name in wanted}
        case "array":
            # Numbers are entries that something rests on: the first one is always there.
            fewest = 1 if schema["items"].get("type") == "integer" else 0
            return [fill(schema["items"], whole) for _ in range(schema.get("minItems", fewest))]
        case "integer" | "number":
            return schema.get("minimum", 1 if schema["type"] == "integer" else 0.7)
        case "boolean":
            return True
        case "null":
            return None
        case _:
            return "Ship it behind a flag."[: schema.get("maxLength", 100)]
