"""The port of a worker: liveness, readiness, metrics."""

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from moothall.app.shared_runner import WorkerStatus
from moothall.errors import LedgerUnavailable
from moothall.memory.tokens import TokenStore
from moothall.surfaces.http.access_control import AccessControl
from moothall.surfaces.http.metrics import HEALTH, LIVE, READY, Metrics, answer_live, build_ready
from moothall.surfaces.http.server_settings import ServerSettings


def build_worker_app(
    status: WorkerStatus, settings: ServerSettings, *, is_local: bool
) -> Starlette:
    """The app of a worker's port. As at a server, metrics need a token."""
    metrics = Metrics(status.telemetry.counts)

    def get_access() -> TokenStore:
        if status.moot is None:
            raise LedgerUnavailable("the worker has lost its database")
        return status.moot.access

    async def handle_ready(request: Request) -> Response:
        return build_ready(await status.explain_unready())

    async def handle_metrics(request: Request) -> Response:
        return Response(
            await metrics.render_metrics(status.runner), media_type=Metrics.content_type
        )

    doors = Middleware(
        AccessControl,
        access=get_access,
        owner=lambda: "",
        is_local=is_local,
        settings=settings,
        on_refused=metrics.count_refusal,
    )
    return Starlette(
        routes=[
            Route(LIVE, answer_live),
            *(Route(path, handle_ready) for path in (READY, HEALTH)),
            Route("/metrics", handle_metrics),
        ],
        middleware=[doors],
    )
