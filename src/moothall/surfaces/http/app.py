"""The server: one app, one port."""

import asyncio
import gzip
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from moothall.app.environment import resolve_home
from moothall.app.loop_watch import watch_loop
from moothall.app.moot import Moot
from moothall.app.outages import ReadinessProbe
from moothall.app.plugins import load_services
from moothall.app.runner import is_run_by_workers
from moothall.domain.ids import SessionId, parse_session_id
from moothall.errors import LedgerUnavailable, MootError, NotAllowed, WorldError
from moothall.memory.tokens import TokenStore, parse_token_id
from moothall.surfaces.api.errors import find_error_code
from moothall.surfaces.api.method import Caller, RateLimiter, ServerContext
from moothall.surfaces.api.methods import TABLE, open_server_context
from moothall.surfaces.api.views import build_token_prompt
from moothall.surfaces.http.a2a import A2A_ROUTES
from moothall.surfaces.http.access_control import (
    AccessControl,
    Known,
    build_call,
    build_too_large,
    build_unavailable,
    find_invitations,
    read_body,
)
from moothall.surfaces.http.browser_grants import REASON_HEADER
from moothall.surfaces.http.chat import CHAT_ROUTES
from moothall.surfaces.http.entry_stream import EntryHub
from moothall.surfaces.http.login import Login, RefusalLog
from moothall.surfaces.http.metrics import HEALTH, LIVE, READY, Metrics, answer_live, build_ready
from moothall.surfaces.http.page_files import PageFiles, accepts_gzip
from moothall.surfaces.http.server_settings import ServerSettings
from moothall.surfaces.http.stream import MAX_SESSIONS, ViewHub
from moothall.surfaces.rpc import Dispatcher, build_document, build_refusal

STREAM_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
MIN_ZIPPED: Final = 1_000
"""Answers of so many bytes are gzipped where the caller takes it."""
MIN_APART: Final = 200_000
"""Answers of so many bytes are gzipped in a thread."""
ZIP_LEVEL: Final = 5
LOOK_SECONDS: Final = 5.0
"""How often the server looks what other processes have written."""
TAKE_UP_SECONDS: Final = 0.01
WARM_UP_SECONDS: Final = 1.0
"""How long after the start a server leaves to its first callers."""


@dataclass
class ServerState:
    """The state of one server: what it is built on, once it has started."""

    moot: Moot
    is_local: bool
    settings: ServerSettings = field(default_factory=ServerSettings)
    metrics: Metrics = field(init=False)
    context: ServerContext | None = None
    dispatcher: Dispatcher = field(init=False)
    owner: str = ""
    """The id of the token that is the key of this server's home."""
    readiness: ReadinessProbe | None = None

    def __post_init__(self) -> None:
        self.mcp = McpEndpoint()
        self.refusals = RefusalLog(self.get_access)
        self.metrics = Metrics(self.moot.telemetry.counts)
        self.dispatcher = Dispatcher(TABLE, lambda: self.document, self.metrics.count_call)

    @cached_property
    def document(self) -> dict[str, Any]:
        return build_document(TABLE)

    @property
    def server_context(self) -> ServerContext:
        assert self.context is not None, "the server has not started"
        return self.context

    def stop(self) -> None:
        """The server is about to end: all who wait are answered now."""
        if self.context is not None:
            self.context.deliberations.stopping.set()
            for kind in (ViewHub, EntryHub):
                self.context.get_or_create(kind).stop()

    def get_access(self) -> TokenStore:
        return self.server_context.moot.access

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        async with open_server_context(self.moot) as self.context, asyncio.TaskGroup() as group:
            self.owner = parse_token_id(
                await self.moot.access.adopt_owner_key(resolve_home(self.moot.environ))
            )
            self.moot.seating.limit_programs(self.settings.select_programs(is_local=self.is_local))
            self.moot.seating.list_servers(self.settings.providers, is_local=self.is_local)
            self.readiness = ReadinessProbe(self.moot.ledger, self.moot.engine, self.context.runner)
            work = [self.context.get_or_create(ViewHub).run()]
            if not is_run_by_workers(self.moot.environ):
                work.append(_follow_sessions(self.context))
            work += [self.context.get_or_create(EntryHub).run(), self.refusals.run()]
            work += [service(self.moot) for service in load_services()]
            work += [
                _warm_up_memory(self.context),
                self.mcp.run(self.context, self.settings.largest_body),
            ]
            tasks = [group.create_task(each) for each in work]
            with watch_loop(self.moot.telemetry.counts):
                yield
            for task in tasks:
                task.cancel()

    async def handle_rpc(self, request: Request) -> Response:
        body = await read_body(request)
        if body is None:
            return build_too_large(request.state.largest_body)
        with self.metrics.open_calls.track_inprogress():
            answer = await self.dispatcher.answer(build_call(request), body, request.state.take)
        if answer is None:
            return Response(status_code=204)
        return await _build_answer(request, answer.encode())

    async def handle_events(self, request: Request) -> Response:
        caller: Caller = request.state.caller
        try:
            caller.check("read")
            session = parse_session_id(request.path_params["session"])
            caller.check_session(session)
            snapshot = await self.server_context.moot.engine.load_snapshot(session)
        except MootError as error:
            return _refuse_stream(error)
        after = _read_last_event(request) or "0"
        if not after.isdecimal() or len(after) > 12:
            return PlainTextResponse(
                "after (or Last-Event-ID) must be the number of the last entry seen\n", 400
            )
        return self._build_stream(
            self.server_context.get_or_create(EntryHub).read(
                snapshot, int(after), caller, request.state.secret
            )
        )

    async def handle_stream(self, request: Request) -> Response:
        """The page's one stream, over all sessions that the caller may see (W-9)."""
        holder: Known = request.state.holder
        caller = holder.caller
        try:
            caller.check("read")
            names = {parse_session_id(name) for name in request.query_params.getlist("session")}
            invited = find_invitations(request, holder, names)
        except MootError as error:
            return _refuse_stream(error)
        ended = list(invited.ended.values())
        # It is refused as a whole only where nothing is left of it: the other tabs go on.
        if ended and len(ended) == len(names):
            refused = _refuse_stream(NotAllowed(ended[0]["why"]))
            refused.headers[REASON_HEADER] = ended[0]["reason"]
            return refused
        names -= invited.ended.keys()
        if len(names) > MAX_SESSIONS:
            return PlainTextResponse(
                f"at most {MAX_SESSIONS} sessions can be viewed on one stream\n", 400
            )
        if caller.session:
            names |= invited.callers.keys()
        hub = self.server_context.get_or_create(ViewHub)
        after = _read_last_event(request)
        return self._build_stream(
            hub.read(caller, request.state.secret, frozenset(names), after, invited)
        )

    def _build_stream(self, events: AsyncGenerator[bytes, None]) -> Response:
        async def count_and_read() -> AsyncIterator[bytes]:
            with self.metrics.watchers.track_inprogress():
                async with aclosing(events):
                    async for data in events:
                        yield data

        return StreamingResponse(
            count_and_read(), headers=STREAM_HEADERS, media_type="text/event-stream"
        )

    async def handle_ready(self, request: Request) -> Response:
        assert self.readiness is not None, "the server has not started"
        if self.server_context.deliberations.stopping.is_set():
            return build_ready("the server is stopping")
        return build_ready(await self.readiness.explain())

    async def handle_metrics(self, request: Request) -> Response:
        return Response(
            await self.metrics.render_metrics(self.server_context.runner),
            media_type=Metrics.content_type,
        )

    async def handle_description(self, request: Request) -> Response:
        return JSONResponse(self.document)


def build_app(
    moot: Moot,
    *,
    is_local: bool,
    settings: ServerSettings | None = None,
    rates: RateLimiter | None = None,
) -> Starlette:
    """The app of a server; it opens and closes `moot` itself. `is_local`: only this machine reaches it.

    `app.state.site.stop` makes it answer all who wait, before it ends.
    """
    site = ServerState(moot, is_local, settings or ServerSettings())
    page = PageFiles()
    doors = Middleware(
        AccessControl,
        access=site.get_access,
        owner=lambda: site.owner,
        is_local=is_local,
        settings=site.settings,
        rates=rates,
        on_denied=site.refusals.note,
        on_refused=site.metrics.count_refusal,
        build_page=page.build_index,
    )
    app = Starlette(
        routes=[
            Route("/rpc", site.handle_rpc, methods=["POST"]),
            Route("/mcp", site.mcp),
            Route("/events", site.handle_stream),
            Route("/events/{session}", site.handle_events),
            Route(LIVE, answer_live),
            *(Route(path, site.handle_ready) for path in (READY, HEALTH)),
            Route("/metrics", site.handle_metrics),
            Route("/openrpc.json", site.handle_description),
            *Login(
                site.get_access, site.refusals, lambda token: build_token_prompt(site.moot, token)
            ).build_routes(),
            *CHAT_ROUTES,
            *A2A_ROUTES,
            *page.build_routes(),
        ],
        exception_handlers={404: page.get_index, WorldError: _answer_outage},
        middleware=[doors],
        lifespan=site.lifespan,
    )
    app.state.site = site
    return app


class McpEndpoint:
    """Serves MCP from its first request on: its library takes longer to load than all the rest of the server."""

    def __init__(self) -> None:
        self._is_wanted = asyncio.Event()
        self._is_ready = asyncio.Event()
        self._app: ASGIApp | None = None

    async def run(self, context: ServerContext, largest_body: int) -> None:
        await self._is_wanted.wait()
        app_of = await asyncio.to_thread(_load_mcp, largest_body)
        async with app_of(context) as self._app:
            self._is_ready.set()
            await asyncio.Event().wait()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._is_wanted.set()
        await self._is_ready.wait()
        assert self._app is not None
        await self._app(scope, receive, send)


def _load_mcp(largest_body: int) -> Callable[[ServerContext], AbstractAsyncContextManager[ASGIApp]]:
    """Import the MCP library; what makes its app, which is to be entered and left by one task."""
    from mcp.server.streamable_http_manager import (
        StreamableHTTPASGIApp,
        StreamableHTTPSessionManager,
    )

    from moothall.surfaces.mcp.server import McpServer
    from moothall.surfaces.mcp.transport import PlainAnswers, SessionIdMiddleware

    @asynccontextmanager
    async def app_of(context: ServerContext) -> AsyncIterator[ASGIApp]:
        session_state = McpServer(context, _find_caller).build_server()
        plain, streaming = (
            StreamableHTTPSessionManager(
                session_state,
                stateless=True,
                json_response=each,
                max_request_body_size=largest_body,
            )
            for each in (True, False)
        )
        async with plain.run(), streaming.run():
            apps = StreamableHTTPASGIApp(plain), StreamableHTTPASGIApp(streaming)
            yield SessionIdMiddleware(PlainAnswers(*apps))

    return app_of


async def _find_caller(request: Any) -> Caller:
    caller: Caller = request.state.caller
    return caller


async def _follow_sessions(context: ServerContext) -> None:
    """Go on with the sessions that a server is to run and that have not ended, also where another process wrote to one."""
    position: int | None = None
    while True:
        try:
            # First all of them, then those alone that were written to: a look costs nothing where nothing happens.
            written = await context.moot.ledger.list_written(position)
            is_all = position is None or written.sessions is None
            # The names alone: what is held while it waits grows with the sessions that go on, not with those that there are.
            open_sessions = [
                line.session
                for line in (
                    await context.moot.sessions()
                    if is_all
                    else await context.moot.session_list.load_some(written.sessions or ())
                )
                if line.is_hosted and line.status in {"thinking", "parked"}
            ]
            position = written.position
            for session in open_sessions:
                context.runner.wake(session)
                # Not all at once: each holds a lock while it is looked at.
                await asyncio.sleep(TAKE_UP_SECONDS)
        except WorldError as error:
            context.moot.engine.context.outages.tell(error)
        await asyncio.sleep(LOOK_SECONDS)


async def _warm_up_memory(context: ServerContext) -> None:
    """Load what finds similar decisions once there is one: the encoder takes seconds, and the first session would wait."""
    await asyncio.sleep(WARM_UP_SECONDS)
    from moothall.memory.decision_memory import NAME

    head = 0
    while True:
        try:
            if await context.moot.memory.list_decisions(limit=1):
                await context.moot.memory.find_similar("warm-up")
                return
            head = await context.moot.engine.wait_for_change(SessionId(NAME), head)
        except WorldError as error:
            context.moot.engine.context.outages.tell(error)
            await asyncio.sleep(LOOK_SECONDS)


async def _answer_outage(request: Request, error: Exception) -> Response:
    assert isinstance(error, WorldError)
    return build_unavailable(error)


def _refuse_stream(error: MootError) -> Response:
    if isinstance(error, LedgerUnavailable):
        return build_unavailable(error)
    refusal = build_refusal(find_error_code(error), str(error), type(error).__name__)
    return Response(
        refusal, 403 if isinstance(error, NotAllowed) else 404, media_type="application/json"
    )


def _read_last_event(request: Request) -> str:
    """The number of the event that a client saw last, as it says when it comes back; empty where it says nothing."""
    return request.headers.get("last-event-id") or request.query_params.get("after", "")


async def _build_answer(request: Request, answer: bytes) -> Response:
    """An answer that nobody stores on the way; a large one is gzipped, beside the loop that serves the others."""
    headers = {"Cache-Control": "no-store", "Vary": "Accept-Encoding"}
    if len(answer) >= MIN_ZIPPED and accepts_gzip(request):
        headers["Content-Encoding"] = "gzip"
        zipped = (
            gzip.compress(answer, ZIP_LEVEL)
            if len(answer) < MIN_APART
            else await asyncio.to_thread(gzip.compress, answer, ZIP_LEVEL)
        )
        return Response(zipped, headers=headers, media_type="application/json")
    return Response(answer, headers=headers, media_type="application/json")
