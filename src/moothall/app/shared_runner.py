"""Sessions of one PostgreSQL ledger that any number of workers share: what wakes them, and the worker that runs them."""

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from moothall import errors
from moothall.app.environment import is_postgres, open_ledger, resolve_ledger_address
from moothall.app.loop_watch import watch_loop
from moothall.app.outages import ReadinessProbe
from moothall.app.plugins import load_plugins
from moothall.app.protocols import list_protocol_names, load_protocols
from moothall.app.runner import AdvancingRunner
from moothall.app.version import VERSION
from moothall.domain.ids import SessionId
from moothall.engine.outages import OutageLog
from moothall.engine.snapshot import Snapshot
from moothall.ledgers.temporal_settings import read_temporal_settings
from moothall.ports.runner import RunnerStats, Settled
from moothall.ports.telemetry import Telemetry

if TYPE_CHECKING:
    from moothall.app.moot import Moot
    from moothall.app.seats import GivenParticipant
    from moothall.ledgers.postgres_queue import PostgresQueue

CONCURRENCY: Final = 200
LEASE_SECONDS: Final = 10.0
RECONNECT_SECONDS: Final = 1.0
LEAVE_SECONDS: Final = 10.0
"""How long a worker that lost its database may take to let go of what it held."""

log = logging.getLogger("moot")


@dataclass(eq=False)
class SharedRunner(AdvancingRunner):
    """Wakes sessions for the workers of a ledger, and runs them where `run` is called. Use as an async context manager."""

    queue: "PostgresQueue" = field(kw_only=True)
    concurrency: int = CONCURRENCY
    lease: float = LEASE_SECONDS
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when `run` has lost the database, before what it held is let go."""
    _woken: dict[SessionId, bool] = field(default_factory=dict, init=False)
    _has_woken: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _sender: "asyncio.Task[None] | None" = field(default=None, init=False)

    async def __aenter__(self) -> Self:
        self._sender = asyncio.create_task(self._send_wakes())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._sender is not None
        self._sender.cancel()
        await asyncio.gather(self._sender, return_exceptions=True)
        with suppress(errors.LedgerUnavailable):
            await self._send()

    def wake(self, session: SessionId, *, at_once: bool = False) -> None:
        # An append wakes its session by itself, in its transaction. This is for what no append tells.
        self._woken[session] = self._woken.get(session, False) or at_once
        self._has_woken.set()

    async def run(self) -> None:
        await self.queue.work(
            self.advance, self.over, concurrency=self.concurrency, lease=self.lease
        )

    async def cancel(self, session: SessionId) -> None:
        self._woken.pop(session, None)
        await self.queue.cancel(session)

    async def stats(self) -> RunnerStats:
        return await self.queue.count()

    async def check(self) -> None:
        await self.queue.check()

    async def _send_wakes(self) -> None:
        while True:
            await self._has_woken.wait()
            self._has_woken.clear()
            try:
                await self._send()
            except errors.LedgerUnavailable as error:
                self.engine.context.outages.tell(error)
                self._has_woken.set()
                await asyncio.sleep(RECONNECT_SECONDS)

    async def _send(self) -> None:
        woken, self._woken = self._woken, {}
        if not woken:
            return
        try:
            await self.queue.wake(woken, [session for session, at_once in woken.items() if at_once])
        except errors.LedgerUnavailable:
            self._woken = {**woken, **self._woken}
            raise

    async def _advance(self, snapshot: Snapshot) -> Settled:
        if not snapshot.session_state.opened.hosted:
            return Settled(status="foreign", seen=snapshot.seq)
        if snapshot.is_closed and await self.queue.has_ended(snapshot.session):
            return Settled(status="closed", seen=snapshot.seq)
        return await super()._advance(snapshot)

    async def _find_parked(self, session: SessionId) -> Settled:
        return await self.queue.find_parked(session)


def describe_build(participants: Iterable[str] = ()) -> str:
    """What this Moot can run: workers of the same version with the same plugins and participants have the same build."""
    names = [
        *list_protocol_names(),
        "/",
        *sorted([*(kind.name for kind in load_plugins().kinds), *participants]),
    ]
    return f"{VERSION}-{hashlib.sha256(' '.join(names).encode()).hexdigest()[:8]}"


def resolve_shared_ledger(environ: Mapping[str, str]) -> str:
    """The address of the ledger that workers share; raises BadSetting if it is none, MissingExtra without the packages."""
    address = resolve_ledger_address(environ)
    if not is_postgres(address):
        raise errors.BadSetting(
            "workers share a PostgreSQL ledger; name it: MOOT_LEDGER=postgresql://USER@HOST/DATABASE "
            f"(the ledger here is {address!r})"
        )
    try:
        import moothall.ledgers.postgres_queue  # noqa: F401
    except ImportError as cause:
        extra = "temporal" if read_temporal_settings(environ) else "workers"
        raise errors.MissingExtra(
            f"workers need extra packages: {errors.describe_install(extra)}"
        ) from cause
    return address


def build_queue(environ: Mapping[str, str], *, name: str, build: str) -> "PostgresQueue":
    """The queue that a worker takes sessions from, to be entered; raises BadSetting or MissingExtra."""
    address = resolve_shared_ledger(environ)
    settings = read_temporal_settings(environ)
    if settings is None:
        from moothall.ledgers.postgres_queue import PostgresQueue

        return PostgresQueue(address, name=name, build=build)
    try:
        from moothall.ledgers.temporal_queue import TemporalQueue
    except ImportError as cause:
        raise errors.MissingExtra(
            f"Temporal needs an extra package: {errors.describe_install('temporal')}"
        ) from cause
    return TemporalQueue(address, settings, name=name, build=build)


@asynccontextmanager
async def open_shared_runner(moot: "Moot") -> AsyncIterator[SharedRunner]:
    """The runner of a server that only wakes sessions: workers run them. Raises BadSetting, MissingExtra or WorldError."""
    address = resolve_shared_ledger(moot.environ)
    from moothall.ledgers.postgres_queue import PostgresQueue

    async with (
        PostgresQueue(address, build=describe_build()) as queue,
        SharedRunner(
            moot.engine, moot.seating, moot.remembering.remember_if_possible, queue=queue
        ) as runner,
    ):
        yield runner


@dataclass(slots=True)
class WorkerStatus:
    """Worker status for its health port. `moot` and `runner` are None while it has no database."""

    telemetry: Telemetry = field(default_factory=Telemetry)
    moot: "Moot | None" = None
    runner: SharedRunner | None = None
    _probe: ReadinessProbe | None = None

    def begin(self, moot: "Moot", runner: SharedRunner) -> None:
        self.moot, self.runner, self._probe = (
            moot,
            runner,
            ReadinessProbe(moot.ledger, moot.engine, runner),
        )

    def end(self) -> None:
        self.moot, self.runner, self._probe = None, None, None

    async def explain_unready(self) -> str:
        """Return why no sessions are run now, in one sentence; empty if they are."""
        return (
            "the worker has lost its database, and starts again"
            if self._probe is None
            else await self._probe.explain()
        )


async def run_worker(
    environ: Mapping[str, str],
    *,
    participants: "Mapping[str, GivenParticipant] | None" = None,
    concurrency: int = CONCURRENCY,
    lease: float = LEASE_SECONDS,
    on_start: Callable[[], None] | None = None,
    status: WorkerStatus | None = None,
) -> None:
    """Run sessions of the shared ledger until cancelled. A database that goes away is waited for, and so is Temporal.

    `on_start` is called once, when they were reached. `participants` are the program's own, as `Moot` takes them: sessions
    with others are left to workers that have them. `status` stays up to date.

    Raises BadSetting, MissingExtra, LedgerNewer, and LedgerUnavailable or SchedulerUnavailable if the database or Temporal cannot
    be reached at the start.
    """
    address = resolve_shared_ledger(environ)
    # A wrong setting is told before anything is waited for.
    build_queue(environ, name="", build="")
    status = status or WorkerStatus()
    has_worked, outages = False, OutageLog()
    while True:
        life = _WorkerLife(
            environ=environ,
            address=address,
            status=status,
            participants=participants,
            concurrency=concurrency,
            lease=lease,
            on_start=None if has_worked else on_start,
        )
        living = asyncio.create_task(life.live())
        over = asyncio.create_task(life.is_over.wait())
        try:
            with watch_loop(status.telemetry.counts):
                await asyncio.wait([living, over], return_when=asyncio.FIRST_COMPLETED)
        finally:
            status.end()
            over.cancel()
            if not life.is_over.is_set():
                living.cancel()
            # Bounded: a database behind a cut cable does not answer when a connection is closed.
            await asyncio.wait([living], timeout=LEAVE_SECONDS)
        has_worked = has_worked or life.has_worked
        ended = living.exception() if living.done() else None
        error = ended or errors.LedgerUnavailable("the PostgreSQL ledger does not answer")
        if not (
            has_worked and isinstance(error, errors.LedgerUnavailable | errors.SchedulerUnavailable)
        ):
            raise error
        outages.tell(error, f"starting again every {RECONNECT_SECONDS:g} s")
        living.cancel()
        await asyncio.sleep(RECONNECT_SECONDS)


@dataclass(eq=False, kw_only=True)
class _WorkerLife:
    """One life of a worker, under a name of its own: it ends when it loses the database, or is taken for dead."""

    environ: Mapping[str, str]
    address: str
    status: WorkerStatus
    participants: "Mapping[str, GivenParticipant] | None"
    concurrency: int
    lease: float
    on_start: Callable[[], None] | None
    has_worked: bool = False
    is_over: asyncio.Event = field(default_factory=asyncio.Event)

    async def live(self) -> None:
        from moothall.app.moot import Moot
        from moothall.ledgers.postgres_queue import PostgresLimits, build_worker_name

        # Before others rely on this worker's signs of life: imports hold up everything else in the process.
        await asyncio.to_thread(load_protocols)
        name = build_worker_name()
        async with (
            open_ledger(self.address, name=name) as ledger,
            build_queue(
                self.environ, name=name, build=describe_build(self.participants or ())
            ) as queue,
            Moot(
                environ=self.environ,
                ledger=ledger,
                participants=self.participants,
                limits=PostgresLimits(queue),
                telemetry=self.status.telemetry,
            ) as moot,
            SharedRunner(
                moot.engine,
                moot.seating,
                partial(_remember, moot),
                queue=queue,
                concurrency=self.concurrency,
                lease=self.lease,
                over=self.is_over,
            ) as runner,
        ):
            self.has_worked = True
            self.status.begin(moot, runner)
            if self.on_start is not None:
                self.on_start()
            log.info("%s runs sessions", name)
            await runner.run()


async def _remember(moot: "Moot", session: SessionId) -> None:
    """Add an ended session to decision memory. While the ledger is away it is tried again; nothing else stops its end."""
    try:
        await moot.remembering.remember(session)
    except errors.WorldError:
        raise
    except errors.MootError as error:
        log.warning("session %s cannot be remembered: %s", session, error)
