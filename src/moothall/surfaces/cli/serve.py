"""`moot serve` and `moot worker`: the processes that serve a ledger's sessions, and that run them."""

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import click

from moothall.app.environment import resolve_home, save_server_url
from moothall.app.moot import Moot
from moothall.app.runner import RUNNER, is_run_by_workers
from moothall.app.shared_runner import (
    CONCURRENCY,
    LEASE_SECONDS,
    WorkerStatus,
    resolve_shared_ledger,
    run_worker,
)
from moothall.app.traces import open_tracer
from moothall.errors import BadSetting, LedgerUnavailable, MootError, NotAllowed
from moothall.ledgers.temporal_settings import NAMESPACE, TASK_QUEUE, TEMPORAL
from moothall.memory.tokens import OWNER_NOTE, parse_token_id
from moothall.participants.hosts import is_loopback
from moothall.ports.telemetry import Telemetry
from moothall.surfaces.cli import output as out
from moothall.surfaces.cli.stopping import EndWatch
from moothall.surfaces.invitations.agent_clients import build_login_link

if TYPE_CHECKING:
    from moothall.surfaces.http.server_settings import ServerSettings

PORT: Final = 8760
BACKLOG: Final = 2_048
BROWSER_NOTE: Final = "for the browser that `moot serve` signs in"
"""The note of the tokens that are made for browsers."""

log_level_option = click.option(
    "--log-level",
    type=click.Choice(["error", "warning", "info", "debug"]),
    default="warning",
    show_default=True,
)


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=PORT,
    show_default=True,
    help="0 chooses a free port.",
)
@click.option(
    "--unix",
    metavar="PATH",
    help="Listen on this Unix socket instead; you and your group can connect to it.",
)
@click.option(
    "--certificate",
    type=click.Path(dir_okay=False),
    help="Speak TLS with this certificate (PEM, with its chain).",
)
@click.option(
    "--certificate-key",
    type=click.Path(dir_okay=False),
    help="The certificate's private key, if in another file.",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@click.option(
    "--workers",
    is_flag=True,
    help="Leave the running of sessions to `moot worker` (as MOOT_RUNNER=workers does).",
)
@log_level_option
def serve(
    *,
    host: str,
    port: int,
    unix: str | None,
    opens: bool,
    workers: bool,
    log_level: str,
    **certificates: str | None,
) -> None:
    """Serve the page, JSON-RPC, MCP and events on one port.

    The page is at /; programs call /rpc (JSON-RPC 2.0), /mcp (MCP), /v1 (OpenAI's chat API), /events (a stream), /livez, /readyz
    and /metrics.

    The link that is printed opens the page and signs a browser in; it works once, within a quarter of an hour.

    Every request needs a token, also from this machine. Yours is the key of MOOT_HOME, which nobody else can read: the printed
    link signs your browser in with it, `moot connect` writes it into your agents' settings, `moot access key` prints it. On an
    address that other machines reach, the server does not start while no other valid token exists (`moot invite --owner`).

    server.toml in MOOT_HOME says which programs the server may start for seats, and how much each token may ask.

    \b
    moot serve
    moot serve --open
    moot invite --owner && moot serve --host 0.0.0.0 --certificate server.pem --certificate-key server.key
    moot serve --unix /run/user/1000/moot.sock
    MOOT_LEDGER=postgresql://moot@db/moot moot serve --workers
    """
    if workers:
        os.environ[RUNNER] = "workers"
    is_local = unix is not None or is_loopback(host)

    async def prepare() -> tuple[str, "ServerSettings"]:
        from moothall.surfaces.http.server_settings import load_server_settings

        if is_run_by_workers(os.environ):
            resolve_shared_ledger(os.environ)
        settings = load_server_settings(resolve_home(os.environ))
        return await _prepare_login(is_local, host), settings

    tls = _check_certificate(**certificates)
    ticket, settings = out.run(prepare)
    listening = open_socket(host, port) if unix is None else open_unix_socket(Path(unix))
    from moothall.surfaces.http.app import build_app

    logging.basicConfig(level=log_level.upper(), format="%(levelname)s %(name)s: %(message)s")
    traces = ExitStack()
    try:
        telemetry = Telemetry(tracer=traces.enter_context(open_tracer(os.environ, settings.traces)))
    except MootError as error:
        out.fail(error)
    address, scheme = _show_address(listening), "https" if tls else "http"
    where = f"{scheme}://{address}" if unix is None else address
    out.print_line(
        f"Moot serves on {where}  ·  /rpc  /mcp  /v1  /events/SESSION  /readyz  /metrics  ·  Ctrl-C stops"
    )
    if unix is None:
        _show_login(f"{scheme}://{_name_for_browser(address)}", ticket, opens=opens)
    app = build_app(Moot(telemetry=telemetry), is_local=is_local, settings=settings)
    _run_server(app, listening, settings, traces, log_level=log_level, **tls)


def _show_login(url: str, ticket: str, *, opens: bool) -> None:
    save_server_url(os.environ, url)
    link = build_login_link(url, ticket)
    out.print_line(f"Open in a browser: {link}")
    if opens and not _open_browser(link):
        out.print_note("no browser could be opened here; open the link above yourself")


def _run_server(
    app: Any, listening: socket.socket, settings: "ServerSettings", traces: ExitStack, **given: Any
) -> None:
    """Serve until a signal stops it; streams end first, and what was traced is sent."""
    from moothall.surfaces.http.connections import LimitedServer

    watch = EndWatch(lambda: None)

    class Server(LimitedServer):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            await super().shutdown(sockets)
            # Here and not at the end: the signal that stopped the server is raised again before that.
            await asyncio.to_thread(traces.close)

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            watch.begin(128 + sig)
            app.state.site.stop()
            super().handle_exit(sig, frame)

    # Otherwise every answer is described to a logger that does not want it.
    access_log = given["log_level"] in {"debug", "info"}
    server = Server(
        app, settings.proxies, access_log=access_log, timeout_graceful_shutdown=3, **given
    )
    try:
        server.run(sockets=[listening])
    finally:
        watch.end()


def _name_for_browser(where: str) -> str:
    """A server on all addresses is reached from here by the name of this machine to itself."""
    host, _, port = where.rpartition(":")
    here = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - compared, not bound
    return f"{here.get(host, host)}:{port}"


def _open_browser(link: str) -> bool:
    """Whether a browser was started with the page."""
    import webbrowser

    try:
        return webbrowser.open(link)
    except (webbrowser.Error, OSError):
        return False


async def _prepare_login(is_local: bool, host: str) -> str:
    """A ticket of an owner for the first browser, after a check that anyone may come in; raises NotAllowed if nobody may."""
    async with Moot() as moot:
        now = datetime.now(UTC)
        live = [
            token
            for token in await moot.access.tokens()
            if token.revoked_at is None and token.expires > now
        ]
        # The key lets only this machine's user in, and the secret of an older browser's token is lost.
        if not is_local and all(token.note in {BROWSER_NOTE, OWNER_NOTE} for token in live):
            raise NotAllowed(
                f"{host} can be reached from other machines, and no valid token exists; create one (moot invite --owner), "
                "or serve on 127.0.0.1"
            )
        key = await moot.access.adopt_owner_key(resolve_home(moot.environ))
        return (await moot.access.issue_ticket(parse_token_id(key))).secret


def _check_certificate(
    certificate: str | None, certificate_key: str | None
) -> dict[str, str | None]:
    """What the server speaks TLS with, nothing without a certificate; ends with one sentence when that cannot be used."""
    if certificate is None:
        if certificate_key is not None:
            out.fail(
                BadSetting(
                    "--certificate-key belongs to a certificate; give that too: --certificate FILE"
                )
            )
        return {}
    try:
        # An encrypted key is refused here: a server would wait at its start for its password.
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
            certificate, certificate_key, password=""
        )
    except (OSError, ValueError) as cause:
        files = " and ".join(each for each in (certificate, certificate_key) if each)
        why = getattr(cause, "reason", None) or getattr(cause, "strerror", None) or str(cause)
        out.fail(
            BadSetting(
                f"{files} cannot be used for TLS ({why}); expected PEM files of a certificate and its unencrypted key"
            )
        )
    return {"ssl_certfile": certificate, "ssl_keyfile": certificate_key}


@contextmanager
def _open_listening(
    family: socket.AddressFamily, where: str, other: str
) -> Iterator[socket.socket]:
    """A socket that listens once it is bound; ends with one sentence, which names the `other` choice, when it cannot be had."""
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        yield listening
        # From here on a client waits for the server instead of being refused.
        listening.listen(BACKLOG)
    except OSError as cause:
        listening.close()
        out.fail(
            LedgerUnavailable(
                f"{where} cannot be bound: {cause.strerror or cause}; choose another {other}"
            )
        )


def open_unix_socket(path: Path) -> socket.socket:
    """A Unix socket to serve on, for this user and its group."""
    with _open_listening(socket.AF_UNIX, str(path), "--unix PATH") as listening:
        with (
            suppress(FileNotFoundError, ConnectionRefusedError),
            socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other,
        ):
            other.connect(str(path))
            raise OSError("another server listens there")
        if path.is_socket():
            # Nobody listens on it: what a server left that was killed.
            path.unlink()
        before = os.umask(0o117)
        try:
            listening.bind(str(path))
        finally:
            os.umask(before)
    return listening


def open_socket(host: str, port: int) -> socket.socket:
    """The socket to serve on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with _open_listening(family, f"{host}:{port}", "--host or --port") as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    return listening


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
@click.option(
    "--temporal",
    metavar="HOST:PORT",
    help=f"Let this Temporal server hand out sessions (as {TEMPORAL} does).",
)
@click.option(
    "--namespace", metavar="NAME", help=f"The namespace there. Default: {NAMESPACE}, or default."
)
@click.option(
    "--task-queue",
    metavar="NAME",
    help=f"The task queue there, one for each ledger. Default: {TASK_QUEUE}, or moot.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    help="Serve /livez, /readyz and /metrics on this port; 0 chooses a free one.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address of that port.")
@log_level_option
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

    With --port it tells a supervisor how it stands (`moot ready http://127.0.0.1:8761`), and its metrics to callers with a token.

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

        if not os.environ.get(TEMPORAL) and (
            temporal is not None or namespace is not None or task_queue is not None
        ):
            raise BadSetting(
                "--namespace and --task-queue are those of a Temporal server; name it: --temporal HOST:PORT"
            )
        resolve_shared_ledger(os.environ)
        settings = load_server_settings(resolve_home(os.environ))
        listening = None if port is None else open_socket(host, port)
        where = (
            ""
            if listening is None
            else f"  ·  http://{_show_address(listening)}  /livez  /readyz  /metrics"
        )

        def tell() -> None:
            out.print_line(f"Moot runs sessions of this ledger{where}  ·  Ctrl-C stops")

        async with AsyncExitStack() as stack:
            tracer = stack.enter_context(open_tracer(os.environ, settings.traces))
            status = WorkerStatus(Telemetry(tracer=tracer))
            if listening is not None:
                await stack.enter_async_context(
                    _serve_status(listening, status, settings, is_local=is_loopback(host))
                )
            await run_worker(
                os.environ, concurrency=concurrency, lease=lease, on_start=tell, status=status
            )

    out.run(work)


def _show_address(listening: socket.socket) -> str:
    if listening.family == socket.AF_UNIX:
        return f"unix:{listening.getsockname()}"
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@asynccontextmanager
async def _serve_status(
    listening: socket.socket, status: WorkerStatus, settings: "ServerSettings", *, is_local: bool
) -> AsyncIterator[None]:
    """Serve how a worker stands while it works, also while it waits for its database."""
    from moothall.surfaces.http.connections import LimitedServer
    from moothall.surfaces.http.worker_app import build_worker_app

    class StatusServer(LimitedServer):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            # The worker gets the signal to stop, and ends this with itself.
            yield

    app = build_worker_app(status, settings, is_local=is_local)
    server = StatusServer(app, log_level="error", timeout_graceful_shutdown=1)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield
    finally:
        server.should_exit = True
        await asyncio.wait([serving])


def quiet_libraries() -> None:
    """Silence libraries: what happens to a session or to the database is reported by Moot itself, in one sentence."""
    for name in ("procrastinate", "psycopg", "asyncpg", "temporalio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
