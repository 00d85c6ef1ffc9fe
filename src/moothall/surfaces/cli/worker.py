"""`moot worker`: runs the sessions of a shared ledger, beside any number of others."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import click

from moothall.app.environment import resolve_home
from moothall.app.owner_key import is_loopback
from moothall.app.shared_runner import CONCURRENCY, LEASE_SECONDS, WorkerStatus, resolve_shared_ledger, run_worker
from moothall.app.traces import open_tracer
from moothall.errors import BadSetting
from moothall.ledgers.temporal_settings import NAMESPACE, TASK_QUEUE, TEMPORAL
from moothall.ports.telemetry import Telemetry
from moothall.surfaces.cli import output as out
from moothall.surfaces.cli.serve import open_socket

if TYPE_CHECKING:
    from moothall.surfaces.http.server_settings import ServerSettings


@click.command()
@click.option(
    "--sessions",
    "concurrency",
    type=click.IntRange(1, 10_000),
    default=CONCURRENCY,
    show_default=True,
    help="How many sessions this worker runs at once.",
)
@click.option(
    "--lease",
    type=click.FloatRange(1.0, 600.0),
    default=LEASE_SECONDS,
    show_default=True,
    help="After how many seconds of silence others take over the sessions of this worker.",
)
@click.option("--temporal", metavar="HOST:PORT", help=f"Let this Temporal server hand out sessions (as {TEMPORAL} does).")
@click.option("--namespace", metavar="NAME", help=f"The namespace there. Default: {NAMESPACE}, or default.")
@click.option("--task-queue", metavar="NAME", help=f"The task queue there, one for each ledger. Default: {TASK_QUEUE}, or moot.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), help="Serve /livez, /readyz and /metrics on this port; 0 chooses a free one."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address of that port.")
@click.option("--log-level", type=click.Choice(["error", "warning", "info", "debug"]), default="warning", show_default=True)
def worker(
    *,
    concurrency: int,
    lease: float,
    temporal: str | None,
    namespace: str | None,
    task_queue: str | None,
    port: int | None,
    host: str,
    log_level: str,
) -> None:
    """Run sessions of a PostgreSQL ledger.

    MOOT_LEDGER names the ledger; workers run on any number of machines. A server (`moot serve --workers`) takes the calls;
    whichever worker is free runs what was opened. A worker that is killed, frozen or cut off loses nothing: after its lease
    others go on with its sessions. Ctrl-C hands them over at once.

    With --port it tells a supervisor how it stands (`moot ready http://127.0.0.1:8761`), and its metrics to whoever has a token.

    \b
    export MOOT_LEDGER=postgresql://moot@db/moot
    moot worker
    moot worker --port 8761
    moot worker --sessions 500 --log-level info
    moot worker --temporal temporal:7233 --namespace meetings
    """
    given = {TEMPORAL: temporal, NAMESPACE: namespace, TASK_QUEUE: task_queue}
    os.environ.update({name: value for name, value in given.items() if value is not None})
    logging.basicConfig(level=log_level.upper(), format="%(levelname)s %(name)s: %(message)s")
    if log_level != "debug":
        quiet_libraries()

    async def work() -> None:
        from moothall.surfaces.http.server_settings import load_server_settings

        if not os.environ.get(TEMPORAL) and (temporal is not None or namespace is not None or task_queue is not None):
            raise BadSetting("--namespace and --task-queue are those of a Temporal server; name it: --temporal HOST:PORT")
        resolve_shared_ledger(os.environ)
        settings = load_server_settings(resolve_home(os.environ))
        listening = None if port is None else open_socket(host, port)
        where = "" if listening is None else f"  ·  http://{_show_address(listening)}  /livez  /readyz  /metrics"

        def tell() -> None:
            out.print_line(f"Moot runs sessions of this ledger{where}  ·  Ctrl-C stops")

        async with AsyncExitStack() as stack:
            tracer = stack.enter_context(open_tracer(os.environ, settings.traces))
            status = WorkerStatus(Telemetry(tracer=tracer))
            if listening is not None:
                await stack.enter_async_context(_serve_status(listening, status, settings, is_local=is_loopback(host)))
            await run_worker(os.environ, concurrency=concurrency, lease=lease, on_start=tell, status=status)

    out.run(work)


def _show_address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@asynccontextmanager
async def _serve_status(
    listening: socket.socket, status: WorkerStatus, settings: "ServerSettings", *, is_local: bool
) -> AsyncIterator[None]:
    """Serve how a worker stands while it works, also while it waits for its database."""
    import uvicorn

    from moothall.surfaces.http.worker_app import build_worker_app

    class StatusServer(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            # The worker is told to stop, and ends this with itself.
            yield

    app = build_worker_app(status, settings, is_local=is_local)
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1, server_header=False, proxy_headers=False)
    server = StatusServer(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield
    finally:
        server.should_exit = True
        await asyncio.wait([serving])


def quiet_libraries() -> None:
    """Whatever happens to a session or to the database is told by Moot itself, in one sentence."""
    for name in ("procrastinate", "psycopg", "asyncpg", "temporalio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
