"""Peer: a loop written by hand over the standard library's ``sqlite3``, one row per turn.

The yardstick: the least that keeps a meeting on disk. WAL and ``synchronous=FULL``; the window shown to a seat is kept
in memory, and nothing is ever read back while the meeting runs.

Variants:

``commit``
    One INSERT and one COMMIT per turn. In the scenario ``single`` on the main thread; in ``crowd`` on one connection
    owned by a single worker thread, which commits each turn by itself.
``group`` (``crowd`` only)
    The same worker thread, but everything that waits goes into one COMMIT. Still durable: a session goes on only after
    the commit that holds its turn has returned.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import common

Row = tuple[int, int, int, str]
Append = Callable[[Row], Awaitable[None]]

_SCHEMA = """
CREATE TABLE message (
    session INTEGER NOT NULL, turn INTEGER NOT NULL, seat INTEGER NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (session, turn)
) WITHOUT ROWID
"""
_INSERT = "INSERT INTO message (session, turn, seat, text) VALUES (?, ?, ?, ?)"


def connect(path: Path | str, *, any_thread: bool = False) -> sqlite3.Connection:
    connection = common.open_durable(path, any_thread=any_thread)
    connection.execute(_SCHEMA)
    connection.commit()
    return connection


def append(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    connection.executemany(_INSERT, rows)
    connection.commit()


def instant_reply(seat: int, turn: int, window: Sequence[str]) -> str:
    return common.text_of(seat, turn)


def hold_session(connection: sqlite3.Connection, turns: int) -> None:
    window: deque[str] = deque(maxlen=common.WINDOW)
    for turn in range(turns):
        seat = common.seat_of(turn)
        text = instant_reply(seat, turn, list(window))
        connection.execute(_INSERT, (0, turn, seat, text))
        connection.commit()
        window.append(text)


async def slow_reply(seat: int, turn: int, window: Sequence[str]) -> str:
    await asyncio.sleep(common.REPLY_SECONDS)
    return common.text_of(seat, turn)


async def hold_slow_session(session: int, turns: int, put: Append) -> None:
    window: deque[str] = deque(maxlen=common.WINDOW)
    for turn in range(turns):
        seat = common.seat_of(turn)
        text = await slow_reply(seat, turn, list(window))
        await put((session, turn, seat, text))
        window.append(text)


class GroupCommit:
    """Puts rows on disk through one worker thread, all that wait in one commit."""

    def __init__(self, connection: sqlite3.Connection, worker: ThreadPoolExecutor) -> None:
        self._connection = connection
        self._worker = worker
        self._waiting: list[Row] = []
        self._next: asyncio.Future[None] | None = None
        self._flusher: asyncio.Task[None] | None = None

    async def put(self, row: Row) -> None:
        loop = asyncio.get_running_loop()
        self._waiting.append(row)
        if self._next is None:
            self._next = loop.create_future()
        committed = self._next
        if self._flusher is None:
            self._flusher = loop.create_task(self._flush())
        await committed

    async def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        while self._next is not None:
            rows, self._waiting = self._waiting, []
            committed, self._next = self._next, None
            try:
                await loop.run_in_executor(self._worker, append, self._connection, rows)
            except sqlite3.Error as error:
                committed.set_exception(error)
            else:
                committed.set_result(None)
        self._flusher = None


def one_by_one(connection: sqlite3.Connection, worker: ThreadPoolExecutor) -> Append:
    """Puts rows on disk through one worker thread, each in its own commit."""

    async def put(row: Row) -> None:
        await asyncio.get_running_loop().run_in_executor(worker, append, connection, [row])

    return put


async def hold_crowd(
    connection: sqlite3.Connection, job: common.Job, worker: ThreadPoolExecutor
) -> None:
    put = (
        GroupCommit(connection, worker).put
        if job.variant == "group"
        else one_by_one(connection, worker)
    )
    await asyncio.gather(
        *(hold_slow_session(session, job.turns, put) for session in range(job.sessions))
    )


def warm_up(job: common.Job) -> None:
    connection = connect(":memory:", any_thread=True)
    measure(connection, replace(job, turns=common.WARM_UP_TURNS, sessions=1))
    connection.close()


def measure(connection: sqlite3.Connection, job: common.Job) -> common.Meter:
    with ThreadPoolExecutor(1) as worker, common.Meter() as meter:
        if job.scenario == "single":
            hold_session(connection, job.turns)
        else:
            asyncio.run(hold_crowd(connection, job, worker))
    return meter


def check(path: Path, job: common.Job) -> None:
    connection = sqlite3.connect(path)
    for session in range(job.sessions):
        rows = connection.execute(
            "SELECT text FROM message WHERE session = ? ORDER BY turn", (session,)
        )
        common.check_transcript((text for (text,) in rows), job.turns)
    connection.close()


def main() -> None:
    job = common.job_from_command_line("loop")
    warm_up(job)
    path = common.fresh_database(job)
    connection = connect(path, any_thread=True)
    meter = measure(connection, job)
    connection.close()
    disk = common.disk_bytes(path)
    check(path, job)
    common.print_row(job, meter, disk=disk, durable=True)


if __name__ == "__main__":
    main()
