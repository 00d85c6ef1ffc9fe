"""One participant of a deliberation, as a program of its own. Not a test: `mcp_doors.py` starts it.

    MOOT_TOKEN=… python mcp_participant.py URL auto|legacy PLAN          over HTTP
    MOOT_TOKEN=… python mcp_participant.py COMMAND auto|legacy PLAN      over the standard streams of `COMMAND mcp`

PLAN is JSON: {"session": …, "says": {PHASE: the arguments of `contribute`}}. A contribution with `"answers": "challenge"`
answers every challenge that has been read, one with `"refersTo": "propose"` is about the first proposal. Whoever plays this
knows its session and its token, no name: the seat is the token's. Prints, as JSON, what it came to.
"""

import asyncio
import json
import os
import sys
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

WAIT_SECONDS = 5

Json = dict[str, Any]


class Refused(Exception):
    """A tool would not do what it was called for."""


class Player:
    """Joins, waits for its turns, and says what its plan has for each phase."""

    def __init__(self, client: Client, plan: Json) -> None:
        self._client = client
        self._session = plan["session"]
        self._says: Json = plan["says"]
        self._read: dict[int, Json] = {}
        self._turns: list[Json] = []

    async def play(self) -> Json:
        turn = await self._call("join_deliberation")
        while turn["status"] != "closed":
            self._keep(turn)
            if turn["status"] == "your_turn":
                await self._answer(turn["ask"])
            turn = await self._wait(turn["cursor"])
        self._keep(turn)
        return {
            "revision": self._client.protocol_version,
            "turns": self._turns,
            "read": list(self._read.values()),
            "result": turn["result"],
        }

    async def _wait(self, cursor: int) -> Json:
        try:
            return await self._call("wait_for_turn", cursor=cursor, timeoutSeconds=WAIT_SECONDS)
        except Refused as cause:
            if "has ended" not in str(cause):
                raise
            # A wait at the very moment of the close is refused now and then; made again it gives the result.
            return await self._call("wait_for_turn", cursor=cursor)

    def _keep(self, turn: Json) -> None:
        self._read |= {line["id"]: line for line in turn["new"]}

    async def _answer(self, ask: Json) -> None:
        said = dict(self._says[ask["phase"]])
        if said.get("answers") == "challenge":
            said["answers"] = [
                line["id"] for line in self._read.values() if line["type"] == "challenge"
            ]
        if "refersTo" in said:
            said["refersTo"] = next(
                line["id"] for line in self._read.values() if line["type"] == said["refersTo"]
            )
        self._turns.append(
            {"phase": ask["phase"], "expected": ask["expected"], "type": said["type"]}
        )
        await self._call("contribute", **said, idempotencyKey=ask["id"])

    async def _call(self, tool: str, **arguments: Any) -> Json:
        found = await self._client.call_tool(tool, {"deliberationId": self._session, **arguments})
        if found.is_error:
            raise Refused(f"{tool} {arguments}: {found.content}")
        assert found.structured_content is not None
        content: Json = found.structured_content
        return content


async def taken_part(where: str, mode: str, plan: Json) -> Json:
    """Take part to the end."""
    token = os.environ["MOOT_TOKEN"]
    if not where.startswith("http"):
        environ = {name: os.environ[name] for name in ("MOOT_HOME", "MOOT_TOKEN", "PATH")}
        async with Client(
            StdioServerParameters(command=where, args=["mcp"], env=environ), mode=mode
        ) as client:
            return await Player(client, plan).play()
    headers = {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(120, read=600)) as http,
        Client(streamable_http_client(where, http_client=http), mode=mode) as client,
    ):
        return await Player(client, plan).play()


if __name__ == "__main__":
    print(json.dumps(asyncio.run(taken_part(sys.argv[1], sys.argv[2], json.loads(sys.argv[3])))))
