"""An agent that does what an invitation's prompt says, with the tools that the prompt names and no others."""

import re
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from mcp import Client
from tests.acceptance.mcp_doors import Json, plain

from moot.surfaces.api.methods import TOOLS

_WORD = re.compile(r"[a-z_]+")
STATES = {"your_turn"}
"""Words of a prompt that look like tools and are states."""
SAYS: dict[str, Json] = {
    "propose": {"text": "Ship it behind a flag.", "choice": "yes", "confidence": 0.7},
    "support": {"text": "The tests pass.", "refersTo": 2, "confidence": 0.7},
    "synthesize": {"text": "Ship it behind a flag, with a way back.", "choice": "yes", "confidence": 0.8},
    "vote": {"position": "support", "text": "It holds.", "confidence": 0.8},
}
SPEECH = (
    "## Summary\nBoth are for it.\n## Consensus reached\nShip.\n## Disagreements left open\nNone.\n## Action items\nada ships.\n"
    "## Stance\nFor it.\n## Analysis\nIt is small.\n## Response and questions\nWho watches it?"
)


def find_tools(prompt: str) -> set[str]:
    """The tools that a prompt names, and whatever else looks like one."""
    return {word for word in _WORD.findall(prompt) if word in TOOLS or "_" in word} - STATES


class ObedientAgent:
    """Follows one prompt to the end of the session."""

    def __init__(self, client: Client, prompt: str) -> None:
        self._client = client
        self._named = find_tools(prompt)
        self._schemas: dict[str, Any] = {}
        self.called: set[str] = set()

    async def follow(self) -> Json:
        """Take part to the end; what the last tool that the prompt names gave."""
        listed = (await self._client.list_tools()).tools
        self._schemas = {tool.name: tool.input_schema for tool in listed}
        assert self._named <= set(self._schemas), (self._named, set(self._schemas))
        if "join_deliberation" in self._named:
            return await self._deliberate()
        if "swarm_round" in self._named:
            return await self._explore()
        if "join_conference" in self._named:
            return await self._confer()
        return await self._meet()

    async def call(self, tool: str, **arguments: Any) -> Json:
        """Call a tool that the prompt names, with arguments that its schema allows."""
        assert tool in self._named, (tool, self._named)
        Draft202012Validator(self._schemas[tool]).validate(arguments)
        self.called.add(tool)
        return plain(await self._client.call_tool(tool, arguments))

    async def _deliberate(self) -> Json:
        turn = await self.call("join_deliberation")
        while turn["status"] != "closed":
            if turn["status"] == "your_turn":
                assert "refers_to" not in turn["ask"]["instructions"]
                assert "moved_by" not in turn["ask"]["instructions"]
                kind = next(each for each in turn["ask"]["expected"] if each in SAYS)
                await self.call("contribute", type=kind, **SAYS[kind])
            turn = await self.call("wait_for_turn", cursor=turn["cursor"])
        found: Json = turn["result"]
        return found

    async def _meet(self) -> Json:
        while (found := await self.call("get_asks", timeoutSeconds=45))["status"] != "ended":
            for ask in found["asks"]:
                answer = SPEECH if ask["form"] == "text" else fill(ask["answerSchema"])
                await self.call("answer_ask", ask=ask["ask"], answer=answer)
        return await self.call("get_session")

    async def _explore(self) -> Json:
        while (found := await self.call("swarm_round", timeoutSeconds=45))["status"] != "ended":
            if found["status"] == "your_turn":
                await self.call("swarm_report", ask=found["ask"]["ask"], report=fill(found["ask"]["answerSchema"]))
        return await self.call("swarm_status")

    async def _confer(self) -> Json:
        while (found := await self.call("join_conference", timeoutSeconds=20))["status"] != "closed":
            if found["isYourTurn"]:
                await self.call("say_in_conference", text=SPEECH)
        return await self.call("conference_minutes")


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
            wanted = [name for name in fields if name in schema.get("required", fields) or name == "entries"]
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
