"""What MCP over stateless HTTP needs beside the library: cancelling by notification, and plain answers.

Clients of the newest revision cancel by closing the response; those before it send a `notifications/cancelled`, which stateless
HTTP takes in on another transport than the call. `SessionIdMiddleware` hands out session ids that nobody checks, so that a
restart spoils none, and `CancelMiddleware` remembers the running calls by caller, session id and request id.

Clients before the newest revision take one JSON body or a stream of events. A stream carries progress and keeps a waiting
connection open, and costs several tasks; so calls that do not wait, and whose progress nobody asks for, are answered plainly.
For clients of the newest revision the library chooses by itself.
"""

import json
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moothall.surfaces.api.methods import TOOLS

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp.server.context import CallNext, HandlerResult

SESSION_HEADER: Final = "mcp-session-id"
CANCELLED: Final = -32800

Running = dict[tuple[str, str, str], anyio.CancelScope]


class CancelMiddleware:
    """A middleware of the MCP server."""

    def __init__(self) -> None:
        self._running: Running = {}

    async def __call__(
        self, ctx: "ServerRequestContext[Any, Any]", call_next: "CallNext"
    ) -> "HandlerResult":
        request = ctx.request
        session = request.headers.get(SESSION_HEADER) if request is not None else None
        if request is None or session is None:
            return await call_next(ctx)
        caller = request.state.caller
        owner = (f"{caller.role}/{caller.token}", session)
        if ctx.request_id is None:
            if ctx.method == "notifications/cancelled":
                scope = self._running.get((*owner, str((ctx.params or {}).get("requestId"))))
                if scope is not None:
                    # Before the first await: the transport that carries the notification is torn down at once.
                    scope.cancel()
            return await call_next(ctx)
        key = (*owner, str(ctx.request_id))
        with anyio.CancelScope() as scope:
            self._running[key] = scope
            try:
                return await call_next(ctx)
            finally:
                if self._running.get(key) is scope:
                    del self._running[key]
        raise MCPError(code=CANCELLED, message="the call was cancelled")


class SessionIdMiddleware:
    """An ASGI app in front of the stateless MCP transport."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            # There is no stream to listen to and no session to end.
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if is_modern(headers) or SESSION_HEADER in headers:
            await self._app(scope, receive, send)
            return
        session = uuid4().hex

        async def send_with_session_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[SESSION_HEADER] = session
            await send(message)

        await self._app(scope, receive, send_with_session_id)


def is_modern(headers: Headers) -> bool:
    """Whether a request is of a revision that begins without `initialize`."""
    revision = headers.get("mcp-protocol-version")
    return revision is not None and revision not in HANDSHAKE_PROTOCOL_VERSIONS


SHORT_TOOLS: Final = frozenset(
    name
    for name, method in TOOLS.items()
    if not method.waits and "timeout_seconds" not in method.params.model_fields
)
"""The tools that answer without waiting for anybody."""


class PlainAnswers:
    """An ASGI app in front of two MCP transports: one that answers with JSON, and one that answers with a stream."""

    def __init__(self, plain: ASGIApp, streaming: ASGIApp) -> None:
        self._plain = plain
        self._streaming = streaming

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        read, body, largest = list[Message](), bytearray(), scope["state"]["largest_body"]
        while len(body) <= largest and (not read or read[-1].get("more_body")):
            read.append(await receive())
            body += read[-1].get("body", b"")
        if len(body) > largest:
            await PlainTextResponse(
                f"the request is too large; the limit is {largest} bytes\n", 413
            )(scope, receive, send)
            return
        waiting = iter(read)

        async def receive_again() -> Message:
            return next(waiting, None) or await receive()

        app = (
            self._plain
            if not is_modern(Headers(scope=scope)) and is_short_call(bytes(body))
            else self._streaming
        )
        await app(scope, receive_again, send)


def is_short_call(body: bytes) -> bool:
    """Whether a request calls one tool that does not wait, without asking for progress; what is not a request is not one."""
    try:
        request: Any = json.loads(body)
        params = request["params"] if request["method"] == "tools/call" else {}
        return params.get("name") in SHORT_TOOLS and "progressToken" not in (
            params.get("_meta") or ()
        )
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return False
