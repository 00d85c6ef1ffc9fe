"""What procrastinate's worker needs of a database, by the pool that the queue has already: one round trip for each query.

Its own connector checks a connection and opens a transaction around each query. Jobs are fetched several at once, and the end of
most jobs is written together with what the session is left with (`PostgresQueue.settle`).
"""

import asyncio
import json
import re
from collections import deque
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final

import asyncpg
from procrastinate.connector import BaseAsyncConnector, Notify
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager

from moot.ledgers.postgres import translate_errors

MOST_FETCHED: Final = 8
"""How many jobs are fetched at once: few enough that the other workers get their share."""
QUERY_SECONDS: Final = 30.0

# A job waits as long as one with its lock is running. Jobs of the queue have no date: deadlines are rows of `moot_runs`.
_FETCH: Final = """
WITH found AS (
    SELECT id FROM procrastinate_jobs j
    WHERE status = 'todo' AND task_name = $4 AND queue_name = ANY ($1::text[])
    AND NOT EXISTS (SELECT FROM procrastinate_jobs o WHERE o.status = 'doing' AND o.lock = j.lock)
    ORDER BY priority DESC, id LIMIT $3 FOR UPDATE SKIP LOCKED
)
UPDATE procrastinate_jobs j SET status = 'doing', worker_id = $2 FROM found WHERE j.id = found.id RETURNING j.*
"""

_PARAMETER: Final = re.compile(r"%\((\w+)\)s")


@cache
def number_parameters(query: str) -> tuple[str, tuple[str, ...]]:
    """A query with numbers in place of named parameters, and the names in the order of their numbers."""
    names = tuple(dict.fromkeys(_PARAMETER.findall(query)))
    return _PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", query), names


class QueueConnector(BaseAsyncConnector):
    """Implements procrastinate's connector with an open pool; `connect` opens the connection that listens."""

    def __init__(self, pool: "asyncpg.Pool[Any]", connect: Callable[[], Any]) -> None:
        self._pool = pool
        self._connect = connect

    async def open_async(self, pool: object = None) -> None:
        return None

    async def close_async(self) -> None:
        return None

    async def fetch(self, query: str, *values: object) -> list[dict[str, Any]]:
        with translate_errors():
            return [dict(row) for row in await self._pool.fetch(query, *values, timeout=QUERY_SECONDS)]

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


class QueueJobs(JobManager):
    """The jobs of one worker, which runs `concurrency` of them at most."""

    def __init__(self, connector: QueueConnector, task: str, concurrency: int) -> None:
        super().__init__(connector)
        self._connector = connector
        self._task = task
        self._free = concurrency
        self._fetched: deque[Job] = deque()
        self._ended: set[int] = set()

    def note_ended(self, job: int) -> None:
        """Note a job that is deleted already, with something else."""
        self._ended.add(job)

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        if not self._fetched:
            most = max(1, min(MOST_FETCHED, self._free))
            rows = await self._connector.fetch(_FETCH, list(queues or ()), worker_id, most, self._task)
            self._free -= len(rows)
            self._fetched += [Job.from_row({**row, "args": json.loads(row["args"])}) for row in rows]
        return self._fetched.popleft() if self._fetched else None

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        self._free += 1
        if job.id in self._ended:
            self._ended.discard(job.id)
            return
        # One whose worker was taken for dead is gone already.
        await self._connector.fetch("DELETE FROM procrastinate_jobs WHERE id = $1 AND status = 'doing'", job.id)
