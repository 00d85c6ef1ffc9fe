"""A call that answers at once is answered with JSON, one that waits or shows progress with a stream."""

import json
from typing import Any

import pytest

from moothall.surfaces.mcp.transport import SHORT_TOOLS, is_short_call


def call(name: str, method: str = "tools/call", **more: Any) -> bytes:
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"name": name, **more}}
    ).encode()


@pytest.mark.parametrize(
    ("body", "is_short"),
    [
        (call("get_deliberation"), True),
        (call("get_deliberation", _meta={}), True),
        (call("get_deliberation", _meta={"progressToken": 1}), False),
        (call("wait_for_turn"), False),
        (call("no_such_tool"), False),
        (call("get_deliberation", method="prompts/get"), False),
        (b"[]", False),
        (b"{", False),
        (b"", False),
    ],
)
def test_only_a_call_of_a_tool_that_waits_for_nobody_is_short(body: bytes, is_short: bool) -> None:
    assert is_short_call(body) is is_short


def test_tools_that_wait_are_not_short() -> None:
    assert "get_deliberation" in SHORT_TOOLS
    assert not {"wait_for_turn", "join_conference", "swarm_round"} & SHORT_TOOLS
