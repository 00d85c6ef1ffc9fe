"""The queue of the sessions that workers share: tables of procrastinate and of Moot beside a PostgreSQL ledger.

A session needs a worker as long as its head is past `moot_runs.seen`. Triggers of the ledger's table put a job into the queue in
the transaction of each append; deadlines are rows with a date. Both are hints: the query `quiet` lists what they miss.

The limits of providers are in tables beside it: all workers of one database share them.
"""

import asyncio
import json
import logging
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Collection
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from functools import partial
from importlib.resources import files
from types import TracebackType
from typing import Any, Final, Self

import asyncpg

from moothall.domain.ids import SessionId
from moothall.engine.grouped_calls import GroupedCalls
from moothall.engine.outages import OutageLog
from moothall.errors import LedgerUnavailable
from moothall.ledgers.migrations import load_migrations, load_queries, migrate
from moothall.ledgers.postgres_upkeep import PostgresTables, translate_errors
from moothall.ledgers.queue_jobs import QueueConnector, QueueWorker
from moothall.ports.participant import PLACE_SECONDS, Allowance, LimitReport
from moothall.ports.runner import RunnerStats, Settled

QUERIES: Final = load_queries(__name__)

COMMON_QUEUE: Final = "moot"
SWEEP_SECONDS: Final = 1.0
QUIET_SECONDS: Final = 5.0
"""How often sessions are looked for that need a worker and have no job."""
RETRY_SECONDS: Final = 1.0
OUTAGE_RETRY_SECONDS: Final = 0.25
STOP_SECONDS: Final = 1.0
"""How long running sessions may go on when a worker stops; they are interrupted then, and others go on with them."""

Advance = Callable[[SessionId], Awaitable[Settled]]
"""Runs a session as far as it goes; raises LedgerUnavailable."""

_COUNT_ENDED: Final = (
    "SELECT status, count(*) FROM moot_runs WHERE status IN ('closed', 'foreign') GROUP BY 1"
)
ENDED_SHARE: Final = 0.01
"""Which part of the time may be spent with counting what has ended: of a million sessions it is counted every few seconds."""

log = logging.getLogger("moot")


def build_worker_name() -> str:
    """A name that no other worker has, for all connections of this one."""
    return f"moot worker {socket.gethostname()[:24]} {os.getpid()} {secrets.token_hex(3)}"


class PostgresQueue(PostgresTables):
    """The shared queue of one database. Use as an async context manager; the ledger must have been opened before.

    `name` is that of this worker's connections, `build` says which sessions it can read.
    """

    query_seconds = 30.0

    def __init__(self, address: str, *, name: str = "moot", build: str = "") -> None:
        super().__init__(address, name=name)
        self._name = name
        self._outages = OutageLog()
        self._queue = f"{COMMON_QUEUE}:{build}"
        self._stack = AsyncExitStack()
        self._settles = GroupedCalls(self._settle_all)
        self._ended: dict[str, int] = {}
        self._ended_until = 0.0

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            with translate_errors():
                self._pool = await stack.enter_async_context(self._build_pool())
                async with self._open_pool().acquire() as connection:
                    await _install(connection)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None and self._pool is not None:
            # A database that is out of reach answers no farewell.
            self._pool.terminate()
        await self._stack.aclose()

    async def wake(
        self, sessions: Collection[SessionId], at_once: Collection[SessionId] = ()
    ) -> None:
        """Have sessions run that have changed, and those `at_once` in any case."""
        await self.execute(QUERIES["wake"], [*{*sessions, *at_once}], list(at_once))

    async def settle(self, session: SessionId, settled: Settled, job: int = 0) -> bool:
        """Record how a worker leaves a session; whether something happened to it meanwhile, so that it is to be run again.

        Unless it is, the job that ran it is deleted.
        """
        return await self._settles.call((session, settled, job))

    async def _settle_all(self, given: list[tuple[SessionId, Settled, int]]) -> list[bool]:
        values = [
            (session, s.seen, s.status, s.due, s.tries, s.asks, job) for session, s, job in given
        ]
        columns = [list(column) for column in zip(*values, strict=True)]
        again = {row[0] for row in await self.fetch(QUERIES["settle"], *columns, self._name)}
        return [session in again for session, _, _ in given]

    async def leave(self, session: SessionId) -> None:
        """Leave a session to workers of another build: this one cannot read it."""
        await self.execute(QUERIES["leave"], session, self._queue)

    async def cancel(self, session: SessionId) -> None:
        """Forget the deadlines of a session, and the job that waits for it."""
        await self.execute(
            "DELETE FROM procrastinate_jobs WHERE status = 'todo' AND queueing_lock = 'moot/' || $1",
            session,
        )
        query = (
            "UPDATE moot_runs r SET due = NULL, seen = s.head FROM moot_sessions s WHERE s.number = r.session AND s.id = $1 "
            "RETURNING (SELECT id FROM procrastinate_jobs WHERE status = 'doing' AND lock = 'moot/' || $1)"
        )
        job = await self.fetch_value(query, session)
        if job is not None:
            await self.execute("SELECT procrastinate_cancel_job_v1($1, true, false)", job)

    async def has_ended(self, session: SessionId) -> bool:
        """Whether a worker has already settled this session as ended: a wake that came at its last moment wants nothing more."""
        query = "SELECT r.status = 'closed' FROM moot_runs r JOIN moot_sessions s ON s.number = r.session WHERE s.id = $1"
        return bool(await self.fetch_value(query, session))

    async def find_parked(self, session: SessionId) -> Settled:
        """Return how a worker left a parked session: it may be looked at again now unless it is `due` later."""
        rows = await self.fetch(QUERIES["look"], session)
        return (
            Settled(status="parked", tries=rows[0][0], due=rows[0][1])
            if rows
            else Settled(status="parked")
        )

    async def count(self) -> RunnerStats:
        [row] = await self.fetch(QUERIES["count"])
        statuses: dict[str, int] = {**await self._count_ended(), **json.loads(row[0])}
        return RunnerStats(
            running=row[4],
            parked=statuses.get("parked", 0),
            runnable=row[5],
            oldest=row[6],
            workers=row[1],
            calls=row[2],
            provider_waits=row[3],
            statuses=statuses,
            asks=row[7],
        )

    async def _count_ended(self) -> dict[str, int]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        if began >= self._ended_until:
            self._ended = dict(await self.fetch(_COUNT_ENDED))
            self._ended_until = loop.time() + (loop.time() - began) / ENDED_SHARE
        return self._ended

    async def check(self) -> None:
        """Raise LedgerUnavailable if the tables of the queue are not there, or older than this Moot."""
        version = await self.fetch_value(
            "SELECT coalesce(max(version), 0) FROM moot_workers_schema", timeout=RETRY_SECONDS
        )
        if version < load_migrations("workers")[-1].version or not await self.fetch_value(
            "SELECT to_regclass('procrastinate_jobs') IS NOT NULL AND to_regclass('moot_runs') IS NOT NULL",
            timeout=RETRY_SECONDS,
        ):
            raise LedgerUnavailable(
                "the tables of the workers are missing; start a server or a worker again"
            )

    async def work(
        self, advance: Advance, over: asyncio.Event, *, concurrency: int, lease: float
    ) -> None:
        """Run the sessions of the queue until cancelled; raises LedgerUnavailable when this worker has to start anew.

        `over` is set as soon as that is known: to let go of what was held can take long.
        """
        try:
            await self._run_jobs(advance, over, concurrency=concurrency, lease=lease)
        except OSError as cause:
            why = str(cause) or type(cause).__name__
            raise LedgerUnavailable(
                f"the queue of the PostgreSQL ledger failed ({why}); check the server"
            ) from cause
        finally:
            with suppress(LedgerUnavailable):
                await self.execute(QUERIES["bow_out"], self._name)
                await self.execute(QUERIES["hand_over"])

    async def _run_jobs(
        self, advance: Advance, over: asyncio.Event, *, concurrency: int, lease: float
    ) -> None:
        """Run the jobs that wait in procrastinate's tables, and sweep."""
        connect = partial(asyncpg.connect, self._address, server_settings=self._settings)
        worker = QueueWorker(
            QueueConnector(self._open_pool(), connect),
            [COMMON_QUEUE, self._queue],
            partial(self._run_session, advance),
            concurrency=concurrency,
            beat=lease / 5,
        )
        await self._enlist(await worker.register(), lease)
        try:
            works = (worker.fetch, worker.listen, worker.beat, partial(self._keep, lease))
            await run_together(over, *(insist(work, lease) for work in works))
        finally:
            await worker.stop(0.0 if over.is_set() else STOP_SECONDS)

    async def _enlist(self, number: int, lease: float) -> None:
        """Enter this worker, with its number in the queue: jobs of one whose number nobody knows are lost when it dies."""
        query = "INSERT INTO moot_workers (name, queue, worker, lease) VALUES ($1, $2, $3, $4)"
        await self.execute(query, self._name, self._queue, number, timedelta(seconds=lease))

    async def _run_session(self, advance: Advance, session: SessionId, job: int) -> bool:
        try:
            while (settled := await advance(session)).status != "left":
                if not await self.settle(session, settled, job):
                    return True
            await self.leave(session)
        except LedgerUnavailable as error:
            self._outages.tell(error)
            with suppress(LedgerUnavailable):
                await self.settle(session, Settled(status="failing", due=RETRY_SECONDS))
        return False

    async def _keep(self, lease: float) -> None:
        """Look after what no job announces: deadlines, dead workers, lost jobs, sessions that others cannot read."""
        loop = asyncio.get_running_loop()
        pause = min(SWEEP_SECONDS, lease / 4)
        quiet_at = loop.time()
        while True:
            is_quiet = loop.time() >= quiet_at
            # Around all of it, too: behind a cut cable the driver waits without end for a query to be called off.
            async with asyncio.timeout(2 * lease):
                await self._sweep(lease, is_quiet=is_quiet)
            if is_quiet:
                quiet_at = loop.time() + QUIET_SECONDS
            await asyncio.sleep(pause)

    async def _sweep(self, lease: float, *, is_quiet: bool) -> None:
        if (
            await self.fetch_value(
                "SELECT 1 FROM moot_workers WHERE name = $1", self._name, timeout=lease
            )
            is None
        ):
            raise _Replaced(
                "another worker took over the sessions of this one, which was silent for too long"
            )
        dead = await self.fetch(QUERIES["bury"], timedelta(seconds=lease), timeout=lease)
        for name, cut in dead:
            log.warning(
                "%s is silent: its sessions are handed over (%d connections cut)", name, cut
            )
        queries = [QUERIES["hand_over"], QUERIES["due"]] if dead else [QUERIES["due"]]
        for query in (
            [*queries, QUERIES["hand_over"], QUERIES["orphaned"], QUERIES["quiet"]]
            if is_quiet
            else queries
        ):
            await self.execute(query, timeout=lease)
        await self.execute(QUERIES["take_left"], self._queue, timeout=lease)


class _Replaced(LedgerUnavailable):
    """This worker was taken for dead: it holds nothing any more."""


async def insist(work: Callable[[], Awaitable[None]], patience: float) -> None:
    """Do endless work again when the database went away, until it has been away for so long; raises what ended it then.

    Sessions go on as soon as it is back: their asks are still under way, and nobody is asked twice.
    """
    loop = asyncio.get_running_loop()
    began = failed_at = loop.time()
    while True:
        try:
            await work()
        except LedgerUnavailable as error:
            # Behind a cut cable nothing answers, and others take the sessions over.
            if isinstance(error, _Replaced) or isinstance(error.__cause__, TimeoutError):
                raise
            now = loop.time()
            if now - failed_at > patience:
                began = now
            if now - began > patience:
                raise
            failed_at = now
        await asyncio.sleep(OUTAGE_RETRY_SECONDS)


async def run_together(over: asyncio.Event, *works: Awaitable[None]) -> None:
    """Run until one of them fails, set `over`, and raise that failure alone."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        over.set()
    finally:
        failed = [task for task in tasks if task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in failed:
        task.result()


async def _install(connection: Any) -> None:
    """Create or migrate the tables of the queue.

    Raises LedgerNewer when a newer Moot made them, LedgerOlder when one from before the first release did.
    """
    async with connection.transaction():
        # Here already: several processes must not install procrastinate at once.
        await connection.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('moot/workers', 0))"
        )
        if await connection.fetchval("SELECT to_regclass('procrastinate_jobs')") is None:
            await connection.execute(
                (files("procrastinate.sql") / "schema.sql").read_text(encoding="utf-8")
            )
        await migrate(
            connection, "workers", "moot_workers_schema", "moot/workers", what="the workers' tables"
        )


_TAKE_SLOT = "SELECT moot_take_slot($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"


class PostgresLimits:
    """Implements `ProviderLimits` with the tables of an open queue."""

    def __init__(self, queue: PostgresQueue) -> None:
        self._queue = queue

    async def take(
        self,
        account: str,
        call: str,
        *,
        tokens: int,
        allowance: Allowance,
        lasts: float,
        session: str = "",
    ) -> float:
        values = (
            account,
            call,
            float(tokens),
            allowance.requests,
            allowance.tokens,
            allowance.at_once,
            lasts,
        )
        if not session or allowance.sessions is None:
            return float(
                await self._queue.fetch_value(
                    "SELECT moot_take($1, $2, $3, $4, $5, $6, $7)", *values
                )
            )
        place = (session, allowance.sessions, PLACE_SECONDS)
        return float(await self._queue.fetch_value(_TAKE_SLOT, *place, *values))

    async def finish(self, account: str, call: str, *, tokens: int) -> None:
        await self._queue.execute(QUERIES["finish"], account, call, float(tokens), PLACE_SECONDS)

    async def report(self, account: str, report: LimitReport) -> None:
        values = (
            report.requests,
            report.tokens,
            report.requests_left,
            report.tokens_left,
            report.closed_for,
        )
        await self._queue.execute(QUERIES["report"], account, *values)
