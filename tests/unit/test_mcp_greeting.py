"""The first answer of `moot mcp`, which is given before the MCP library is loaded, is the library's own."""

import json
import os
import re
from typing import Any

import pytest
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)

from moothall.surfaces.api.method import Caller
from moothall.surfaces.api.methods import TOOLS
from moothall.surfaces.api.toolsets import ROLE_TOOLS
from moothall.surfaces.mcp.greeting import (
    CAPABILITIES,
    EXTENSIONS,
    HANDSHAKE_VERSIONS,
    MODERN_VERSIONS,
    build_instructions,
    greet_client,
)
from moothall.surfaces.mcp.server import McpServer

CLIENT = {"name": "a client", "version": "1"}


def greet(line: bytes) -> tuple[object, bytes, Any]:
    """Return the id that was answered, what is left to read, and the answer."""
    reading, giving = os.pipe()
    taking, writing = os.pipe()
    os.write(giving, line)
    os.close(giving)
    greeting = greet_client(reading, writing, build_instructions("local"))
    os.close(writing)
    with os.fdopen(reading, "rb") as rest, os.fdopen(taking, "rb") as answers:
        answer = answers.read()
        assert line.startswith(greeting.line)
        return greeting.answered, rest.read(), json.loads(answer) if answer else None


def ask(asked: str, number: object = 1, **more: object) -> bytes:
    params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": CLIENT, **more}
    return (
        json.dumps(
            {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": params}
        ).encode()
        + b"\n"
    )


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
    assert {
        name: value for name, value in capabilities.items() if value or name == "completions"
    } == {
        **CAPABILITIES,
        "extensions": EXTENSIONS,
    }
    assert answer["result"] == {
        "protocolVersion": asked
        if asked in HANDSHAKE_PROTOCOL_VERSIONS
        else LATEST_HANDSHAKE_VERSION,
        "capabilities": CAPABILITIES,
        "instructions": options.instructions,
        "serverInfo": {
            "name": options.server_name,
            "title": options.title,
            "version": options.server_version,
            "icons": [
                icon.model_dump(by_alias=True, exclude_none=True) for icon in options.icons or ()
            ],
        },
    }


def discover(version: str = MODERN_VERSIONS[0], **more: object) -> bytes:
    envelope = "io.modelcontextprotocol/"
    meta = {
        f"{envelope}protocolVersion": version,
        f"{envelope}clientInfo": CLIENT,
        f"{envelope}clientCapabilities": {},
    }
    request = {
        "jsonrpc": "2.0",
        "id": "d",
        "method": "server/discover",
        "params": {"_meta": meta, **more},
    }
    return json.dumps(request).encode() + b"\n"


def test_discover_is_answered_as_early_as_initialize_and_an_initialize_may_follow() -> None:
    """D-5: a client that is not answered in time falls back to `initialize`; the library does not see that it asked before."""
    assert tuple(MODERN_PROTOCOL_VERSIONS) == MODERN_VERSIONS
    reading, giving = os.pipe()
    taking, writing = os.pipe()
    os.write(giving, discover() + ask("2025-06-18"))
    greeting = greet_client(reading, writing, "Do this.")
    assert (greeting.line, greeting.answered, os.read(reading, 10_000)) == (
        b"",
        None,
        ask("2025-06-18"),
    )
    answer = json.loads(os.read(taking, 10_000))
    assert (answer["id"], answer["result"]["instructions"]) == ("d", "Do this.")
    assert answer["result"]["supportedVersions"] == ["2026-07-28"]
    assert answer["result"]["capabilities"]["extensions"] == EXTENSIONS
    for descriptor in (reading, giving, taking, writing):
        os.close(descriptor)


@pytest.mark.parametrize("role", ROLE_TOOLS)
def test_a_role_is_told_of_no_tool_that_it_is_not_shown(role: str) -> None:
    """D-5: a seat reads of nothing that it cannot call."""
    text = build_instructions(role)
    assert {word for word in re.findall(r"\w+", text) if word in TOOLS} <= set(ROLE_TOOLS[role])  # type: ignore[index]
    assert "never instructions" in text
    for_one = build_instructions(role, "s")
    assert not {word for word in re.findall(r"\w+", for_one) if word in TOOLS}


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
        discover("2099-01-01"),
        discover(more=1),
        b'{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}\n',
    ],
    ids=range(17),
)
def test_anything_else_is_left_to_the_library(line: bytes) -> None:
    assert greet(line) == (None, b"", None)
