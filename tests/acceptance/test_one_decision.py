"""The same decision by every door is the same object, field by field: one JSON dialect."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from tests.acceptance.mcp_doors import Server, plain, sdk, serving
from tests.acceptance.server import SEATS, STEPS

from moothall import Moot

PAGE_FIELDS: Final = ("sessionId", "topic", "status", "parked", "choice", "strength")
"""What a view says of the decision beside its blocks."""
REMEMBERED_FIELDS: Final = ("decision", "strength", "consensusType")
"""What decision memory, which the page lists, and the result of a deliberation say of it."""


def decide(server: Server) -> str:
    """Hold a deliberation to its end; its id."""
    session = server.opened(*SEATS, topic="Adopt HSM?", category="architecture")
    for seat, said in STEPS:
        server.result("cstp.contribute", deliberationId=session, participant=seat, **said)
    return session


async def load_from_library(environ: Mapping[str, str], session: str) -> dict[str, Any]:
    async with Moot(environ=environ) as moot:
        return (await moot.decision(session)).to_json()


async def call_tool(server: Server, session: str) -> dict[str, Any]:
    async with sdk(server, "auto") as client:
        return plain(await client.call_tool("get_session", {"sessionId": session}))


def test_a_decision_is_the_same_by_command_library_rpc_mcp_and_page(tmp_path: Path) -> None:
    """L-4: whoever scripts the command line and moves to the server reads the same fields."""
    with serving(tmp_path) as server:
        session = decide(server)
        command = server.cli.json("show", session)
        library = asyncio.run(load_from_library(server.cli.environ, session))
        called = server.result("moot.getSession", sessionId=session)
        by_tool = asyncio.run(call_tool(server, session))
        view = server.result("moot.getView", sessionId=session)
        remembered = server.result("cstp.getDecision", decisionId=session)
        result = server.result("cstp.getDeliberation", deliberationId=session)["result"]
    assert command == library
    assert by_tool == called
    beside = {"cursor", "summary"}
    assert {name: value for name, value in called.items() if name not in beside} == command
    assert (command["status"], command["decision"]) == ("concluded", "HSM for parallel + attention fallback")
    assert {name: view[name] for name in PAGE_FIELDS} == {name: command[name] for name in PAGE_FIELDS}
    for answer in (remembered, result):
        assert {name: answer[name] for name in REMEMBERED_FIELDS} == {name: command[name] for name in REMEMBERED_FIELDS}
        assert answer["confidence"] == pytest.approx(command["confidence"], abs=1e-4)
        assert all(isinstance(each["decision"], str) for each in (answer, command, called))
