"""The jobs of one worker, in procrastinate's tables: fetched several at once and run side by side.

procrastinate's own worker takes several turns of the event loop for each job, and its connector several round trips: a worker
that has hundreds of sessions would need many seconds to take over those of another one.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import cache
from typing import Any, Final

import asyncpg
from procrastinate.connector import BaseAsyncConnector, Notify
from procrastinate.jobs import Notification
from procrastinate.manager import JobManager

from moothall.domain.ids import SessionId
from moothall.domain.safe_text import compile_late
from moothall.errors import LedgerUnavailable
from moothall.ledgers.migrations import load_queries
from moothall.ledgers.postgres_upkeep import translate_errors

QUERIES: Final = load_queries(__name__)

TASK: Final = "moot.advance"
MAX_FETCHED: Final = 16
"""How many jobs are fetched at once: few enough that the other workers get their share."""
RETURN_SECONDS: Final = 3.0
"""How often a worker returns jobs that it has and does not run."""
LOOK_SECONDS: Final = 1.0
"""How long a worker relies on notifications before it looks for jobs by itself."""
QUERY_SECONDS: Final = 30.0

_PARAMETER: Final = compile_late(r"%\((\w+)\)s")

RunSession = Callable[[SessionId, int], Awaitable[bool]]
"""Runs the session of a job, whose number it gets; whether the job is deleted already."""


@cache
def number_parameters(query: str) -> tuple[str, tuple[str, ...]]:
    """A query with numbers in place of named parameters, and the names in the order of their numbers."""
    names = tuple(dict.fromkeys(_PARAMETER.findall(query)))
    return _PARAMETER.sub(lambda match: f"${names.index(match[1]) + 1}", query), names


class QueueConnector(BaseAsyncConnector):
    """Lets procrastinate use an open pool, one round trip for each query; `connect` opens the connection that listens."""

    def __init__(self, pool: "asyncpg.Pool[Any]", connect: Callable[[], Any]) -> None:
        self._pool = pool
        self._connect = connect

    async def fetch(self, query: str, *values: object) -> list[dict[str, Any]]:
        with translate_errors():
            return [
                dict(row) for row in await self._pool.fetch(query, *values, timeout=QUERY_SECONDS)
            ]

    async def execute_query_all_async(self, query: str, **arguments: Any) -> list[dict[str, Any]]:
        numbered, names = number_parameters(query)
        return await self.fetch(numbered, *(arguments[name] for name in names))

    async def execute_query_one_async(self, query: str, **arguments: Any) -> dict[str, Any]:
        return (await self.execute_query_all_async(query, **arguments))[0]

    async def execute_query_async(self, query: str, **arguments: Any) -> None:
        await self.execute_query_all_async(query, **arguments)

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        # A thousand sessions that are opened at once are one reason to look.
        heard: dict[str, tuple[str, str]] = {}
        has_heard = asyncio.Event()

        def on_heard(connection: Any, process: int, channel: str, payload: object) -> None:
            text = str(payload)
            heard["inserted" if "job_inserted" in text else text] = (channel, text)
            has_heard.set()

        while True:
            with translate_errors():
                connection = await self._connect()
                try:
                    connection.add_termination_listener(lambda _: has_heard.set())
                    for channel in channels:
                        await connection.add_listener(channel, on_heard)
                    while not connection.is_closed():
                        await has_heard.wait()
                        has_heard.clear()
                        for channel, payload in [heard.pop(key) for key in list(heard)]:
                            await on_notification(channel=channel, payload=payload)
                finally:
                    connection.terminate()


class QueueWorker:
    """Runs the jobs of some queues, `concurrency` at once at most; `register` comes first, `stop` last."""

    def __init__(
        self,
        connector: QueueConnector,
        queues: list[str],
        run: RunSession,
        *,
        concurrency: int,
        beat: float,
    ) -> None:
        self._connector = connector
        self._manager = JobManager(connector)
        self._queues = queues
        self._run = run
        self._concurrency = concurrency
        self._beat = beat
        self._number = 0
        self._running: dict[int, asyncio.Task[None]] = {}
        self._has_news = asyncio.Event()
        self._return_at = 0.0
        self._is_stopping = False

    async def register(self) -> int:
        """The number of this worker in procrastinate's tables."""
        self._number = await self._manager.register_worker()
        return self._number

    async def listen(self) -> None:
        await self._manager.listen_for_jobs(
            on_notification=self._on_notification, queues=self._queues
        )

    async def beat(self) -> None:
        """Show that this worker lives, and end what was cancelled without a word being heard of it."""
        while True:
            await asyncio.sleep(self._beat)
            await self._manager.update_heartbeat(self._number)
            for job in await self._manager.list_jobs_to_abort_async() if self._running else ():
                self._cancel(job)

    async def fetch(self) -> None:
        while True:
            self._has_news.clear()
            if asyncio.get_running_loop().time() >= self._return_at:
                # Not beside a fetch: what that brings is not in `_running` yet.
                await self._connector.fetch(
                    QUERIES["return"], self._number, list(self._running), TASK
                )
                self._return_at = asyncio.get_running_loop().time() + RETURN_SECONDS
            wanted = min(MAX_FETCHED, self._concurrency - len(self._running))
            rows = (
                await self._connector.fetch(
                    QUERIES["fetch"], self._queues, self._number, wanted, TASK
                )
                if wanted
                else []
            )
            for row in rows:
                session = SessionId(json.loads(row["args"])["session"])
                self._running[row["id"]] = asyncio.create_task(
                    self._run_job(row["id"], session), name=f"session {session}"
                )
            if not wanted or len(rows) < wanted:
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self._has_news.wait()

    async def stop(self, seconds: float) -> None:
        """Let jobs end for so long, then interrupt the others; they stay in the queue as those of this worker."""
        if self._running:
            await asyncio.wait(self._running.values(), timeout=seconds)
        self._is_stopping = True
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _run_job(self, job: int, session: SessionId) -> None:
        is_deleted = False
        try:
            is_deleted = await self._run(session, job)
        finally:
            if not is_deleted and not self._is_stopping:
                # A job whose worker was taken for dead is gone already; one that cannot be deleted now is returned later.
                with suppress(LedgerUnavailable):
                    await self._connector.fetch(
                        "DELETE FROM procrastinate_jobs WHERE id = $1 AND status = 'doing'", job
                    )
            if len(self._running) >= self._concurrency:
                self._has_news.set()
            del self._running[job]

    async def _on_notification(self, *, channel: str, notification: Notification) -> None:
        if notification["type"] == "job_inserted":
            self._has_news.set()
        elif notification["type"] == "abort_job_requested":
            self._cancel(notification["job_id"])

    def _cancel(self, job: int) -> None:
        if job in self._running:
            self._running[job].cancel()
