"""Whether the answer to an MCP call is one JSON body or a stream of events.

Clients before the newest revision take either. A stream carries progress and keeps a waiting connection open, and costs several
tasks; so calls that do not wait, and whose progress nobody asks for, are answered plainly. For clients of the newest revision the
library chooses by itself.
"""

import json
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moothall.surfaces.api.methods import TOOLS
from moothall.surfaces.mcp.cancellation import is_modern

SHORT_TOOLS: Final = frozenset(
    name for name, method in TOOLS.items() if not method.waits and "timeout_seconds" not in method.params.model_fields
)
"""The tools that answer without waiting for anybody."""


class PlainAnswers:
    """An ASGI app in front of two MCP transports: one that answers with JSON, and one that answers with a stream."""

    def __init__(self, plain: ASGIApp, streaming: ASGIApp, largest_body: int) -> None:
        self._plain = plain
        self._streaming = streaming
        self._largest_body = largest_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_modern(Headers(scope=scope)):
            await self._streaming(scope, receive, send)
            return
        read, body = list[Message](), bytearray()
        # A body that is too large is not read to its end here: the transport refuses it.
        while len(body) <= self._largest_body and (not read or read[-1].get("more_body")):
            read.append(await receive())
            body += read[-1].get("body", b"")
        waiting = iter(read)

        async def receive_again() -> Message:
            return next(waiting, None) or await receive()

        app = self._plain if len(body) <= self._largest_body and is_short_call(bytes(body)) else self._streaming
        await app(scope, receive_again, send)


def is_short_call(body: bytes) -> bool:
    """Whether a request calls one tool that does not wait, without asking for progress; what is not a request is not one."""
    try:
        request: Any = json.loads(body)
        params = request["params"] if request["method"] == "tools/call" else {}
        return params.get("name") in SHORT_TOOLS and "progressToken" not in (params.get("_meta") or ())
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return False
