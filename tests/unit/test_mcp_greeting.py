"""The first answer of `moot mcp`, which is given before the MCP library is loaded, is the library's own."""

import json
import os
from typing import Any

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION

from moothall.surfaces.api.method import Caller
from moothall.surfaces.mcp.greeting import CAPABILITIES, HANDSHAKE_VERSIONS, greet_client
from moothall.surfaces.mcp.server import McpServer

CLIENT = {"name": "a client", "version": "1"}


def greet(line: bytes) -> tuple[object, bytes, Any]:
    """Return the id that was answered, what is left to read, and the answer."""
    reading, giving = os.pipe()
    taking, writing = os.pipe()
    os.write(giving, line)
    os.close(giving)
    greeting = greet_client(reading, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as rest, os.fdopen(taking, "rb") as answers:
        answer = answers.read()
        assert line.startswith(greeting.line)
        return greeting.answered, rest.read(), json.loads(answer) if answer else None


def ask(asked: str, number: object = 1, **more: object) -> bytes:
    params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": CLIENT, **more}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "initialize", "params": params}).encode() + b"\n"


async def _nobody(request: object) -> Caller:
    raise AssertionError("nobody calls")


@pytest.mark.parametrize("asked", [*HANDSHAKE_PROTOCOL_VERSIONS, "1999-01-01"])
def test_the_first_answer_is_what_the_library_would_say(asked: str) -> None:
    """D-5: capabilities, instructions, name and revision."""
    options = McpServer(None, _nobody).build_server().create_initialization_options()  # type: ignore[arg-type]  # nothing is called
    answered, _, answer = greet(ask(asked))
    assert answered == 1
    assert tuple(HANDSHAKE_PROTOCOL_VERSIONS) == HANDSHAKE_VERSIONS
    capabilities = options.capabilities.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert {name: value for name, value in capabilities.items() if value} == CAPABILITIES
    assert answer["result"] == {
        "protocolVersion": asked if asked in HANDSHAKE_PROTOCOL_VERSIONS else LATEST_HANDSHAKE_VERSION,
        "capabilities": CAPABILITIES,
        "instructions": options.instructions,
        "serverInfo": {"name": options.server_name, "title": options.title, "version": options.server_version},
    }


def test_what_follows_the_first_line_is_left_for_the_library() -> None:
    second = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    assert greet(ask("2025-06-18", "a") + second)[:2] == ("a", second)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"hello\n",
        b"\xff\xfe\n",
        b"[1]\n",
        b"[" * 50_000,
        b"x" * 50_000,
        ask("2025-06-18", None),
        ask("2025-06-18", True),
        ask("2025-06-18", _meta={"progressToken": 1}),
        ask("2025-06-18", clientInfo={"name": 5}),
        ask("2025-06-18", capabilities=[]),
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"initialize"}\n',
    ],
    ids=range(14),
)
def test_anything_else_is_left_to_the_library(line: bytes) -> None:
    assert greet(line) == (None, b"", None)
