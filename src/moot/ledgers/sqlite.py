"""A ledger in one SQLite file: WAL, durable on return, appends of many sessions in one commit.

One thread owns the connection. It takes every job that is waiting; the appends among them share a transaction, and each is
checked by itself, so that one that comes too late fails alone.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

from moot.domain.ids import SessionId
from moot.domain.records import Head, Stored
from moot.errors import LedgerFull, LedgerNewer, LedgerUnavailable, MootError
from moot.ledgers.checks import check_head, check_order
from moot.ledgers.locks import held_file
from moot.ledgers.migrations import migrations

APPLICATION_ID: Final = 0x4D4F4F54
"""Marks the file as a Moot ledger."""

POLL_SECONDS: Final = 0.2
BUSY_SECONDS: Final = 30.0
LARGEST_GROUP: Final = 1_000

_NEWEST = "SELECT seq FROM entries WHERE session = ? ORDER BY seq DESC LIMIT 1"
_INSERT = "INSERT INTO entries (session, seq, at, body, hash) VALUES (?, ?, ?, ?, ?)"

T = TypeVar("T")


@dataclass(slots=True)
class _Job(Generic[T]):
    work: Callable[[sqlite3.Connection], T]
    future: "asyncio.Future[T]"
    loop: asyncio.AbstractEventLoop
    writes: bool


class SqliteLedger:
    """Use as an async context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._jobs: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        self._numbers: dict[SessionId, int] = {}
        self._waiters: dict[asyncio.Future[int], tuple[SessionId, int]] = {}
        self._poller: asyncio.Task[None] | None = None
        self._thread: Thread | None = None

    async def __aenter__(self) -> Self:
        started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._thread = Thread(target=self._run, args=(started, started.get_loop()), name="moot-ledger", daemon=True)
        self._thread.start()
        await started
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._poller is not None:
            self._poller.cancel()
        self._jobs.put(None)
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    async def append(self, session: SessionId, records: Sequence[Stored]) -> None:
        if not records:
            return
        check_order(session, records)
        await self._do(lambda connection: self._append(connection, session, records), writes=True)

    async def read(self, session: SessionId, after: int = 0, limit: int | None = None) -> list[Stored]:
        query = (
            "SELECT seq, at, body, hash FROM entries JOIN sessions ON session = number "
            "WHERE id = ? AND seq > ? ORDER BY seq LIMIT ?"
        )
        values = (session, after, -1 if limit is None else limit)
        return await self._do(lambda connection: [Stored(*row) for row in connection.execute(query, values)])

    async def heads(self, prefix: str = "") -> list[Head]:
        return await self._do(lambda connection: _heads(connection, prefix))

    async def changed(self, session: SessionId, after: int) -> int:
        waiter: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiters[waiter] = (session, after)
        if self._poller is None or self._poller.done():
            self._poller = asyncio.create_task(self._poll())
        try:
            return await waiter
        finally:
            self._waiters.pop(waiter, None)

    @asynccontextmanager
    async def claim(self, session: SessionId) -> AsyncIterator[None]:
        busy = f"session {session!r} is being run by another process; follow it with `moot watch {session}`"
        with held_file(self._path.with_name(self._path.name + ".locks") / f"{session}.lock", busy):
            yield

    async def _poll(self) -> None:
        # Answers the first look at once, and again at every change of the file, by this process or by another.
        seen = -1
        asked: set[asyncio.Future[int]] = set()
        while self._waiters:
            version = await self._do(_version)
            if version != seen or self._waiters.keys() - asked:
                seen, asked = version, set(self._waiters)
                wanted = {session for session, _ in self._waiters.values()}
                heads = await self._do(partial(_seqs, sessions=wanted))
                for waiter, (session, after) in list(self._waiters.items()):
                    if heads.get(session, 0) > after and not waiter.done():
                        waiter.set_result(heads[session])
            await asyncio.sleep(POLL_SECONDS)

    def _do(self, work: Callable[[sqlite3.Connection], T], *, writes: bool = False) -> "asyncio.Future[T]":
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put(_Job(work, future, loop, writes))
        return future

    def _append(self, connection: sqlite3.Connection, session: SessionId, records: Sequence[Stored]) -> None:
        number = self._numbers.get(session)
        if number is None:
            found = connection.execute("SELECT number FROM sessions WHERE id = ?", (session,)).fetchone()
            number = None if found is None else found[0]
        head = 0
        if number is not None:
            found = connection.execute(_NEWEST, (number,)).fetchone()
            head = 0 if found is None else found[0]
        check_head(session, records, head)
        if number is None:
            number = connection.execute("INSERT INTO sessions (id) VALUES (?)", (session,)).lastrowid
            assert number is not None
        else:
            self._numbers[session] = number
        for record in records:
            connection.execute(_INSERT, (number, *record))

    def _run(self, started: "asyncio.Future[None]", loop: asyncio.AbstractEventLoop) -> None:
        try:
            connection = _opened(self._path)
        except MootError as error:
            loop.call_soon_threadsafe(started.set_exception, error)
            return
        loop.call_soon_threadsafe(started.set_result, None)
        try:
            while (jobs := self._taken()) is not None:
                self._perform(connection, jobs)
        finally:
            connection.close()

    def _taken(self) -> list[_Job[Any]] | None:
        first = self._jobs.get()
        if first is None:
            return None
        jobs = [first]
        while len(jobs) < LARGEST_GROUP and not self._jobs.empty():
            job = self._jobs.get()
            if job is None:
                self._jobs.put(None)
                break
            jobs.append(job)
        return jobs

    def _perform(self, connection: sqlite3.Connection, jobs: list[_Job[Any]]) -> None:
        writes = [job for job in jobs if job.writes]
        settled = self._committed(connection, writes) if writes else []
        settled += [(job, *_tried(connection, job)) for job in jobs if not job.writes]
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any, MootError | None]]] = {}
        for job, value, error in settled:
            by_loop.setdefault(job.loop, []).append((job.future, value, error))
        for loop, results in by_loop.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle, results)

    def _committed(self, connection: sqlite3.Connection, jobs: list[_Job[Any]]) -> list[tuple[_Job[Any], Any, MootError | None]]:
        """Do the jobs in one transaction. A job that is refused leaves no trace and does not touch the others."""
        try:
            # SQLite has one writer: BEGIN IMMEDIATE makes the second wait here, not at COMMIT.
            connection.execute("BEGIN IMMEDIATE")
            results = [(job, *_tried(connection, job)) for job in jobs]
            worldly = next((error for _, _, error in results if isinstance(error, LedgerUnavailable)), None)
            if worldly is not None:
                raise worldly
            connection.execute("COMMIT")
        except (sqlite3.Error, LedgerUnavailable) as cause:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            self._numbers.clear()
            error = cause if isinstance(cause, LedgerUnavailable) else _translated(cause)
            return [(job, None, error) for job in jobs]
        return results


def _tried(connection: sqlite3.Connection, job: _Job[Any]) -> tuple[Any, MootError | None]:
    try:
        return job.work(connection), None
    except MootError as error:
        return None, error
    except sqlite3.Error as cause:
        return None, _translated(cause)


def _settle(results: "list[tuple[asyncio.Future[Any], Any, MootError | None]]") -> None:
    for future, value, error in results:
        if future.done():
            continue
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)


def _heads(connection: sqlite3.Connection, prefix: str) -> list[Head]:
    query = (
        "SELECT s.id, a.seq, a.at, a.body, a.hash, z.seq, z.at, z.body, z.hash FROM sessions s "
        "JOIN entries a ON a.session = s.number AND a.seq = 1 "
        "JOIN entries z ON z.session = s.number "
        "AND z.seq = (SELECT max(seq) FROM entries WHERE session = s.number) "
        "WHERE s.id >= ? AND s.id < ? ORDER BY s.id"
    )
    rows = connection.execute(query, (prefix, prefix + "\U0010ffff"))
    return [Head(SessionId(row[0]), Stored(*row[1:5]), Stored(*row[5:9])) for row in rows]


def _seqs(connection: sqlite3.Connection, sessions: set[SessionId]) -> dict[SessionId, int]:
    query = "SELECT max(seq) FROM entries WHERE session = (SELECT number FROM sessions WHERE id = ?)"
    return {session: connection.execute(query, (session,)).fetchone()[0] or 0 for session in sessions}


def _version(connection: sqlite3.Connection) -> int:
    (foreign,) = connection.execute("PRAGMA data_version").fetchone()
    return int(foreign) * 1_000_000_007 + connection.total_changes


def _opened(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, isolation_level=None, timeout=BUSY_SECONDS)
    except (OSError, sqlite3.Error) as cause:
        raise LedgerUnavailable(f"the ledger {path} cannot be opened ({cause}); check MOOT_HOME and its rights") from cause
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        _migrate(connection, path)
    except sqlite3.Error as cause:
        connection.close()
        raise _translated(cause, path) from cause
    except MootError:
        connection.close()
        raise
    return connection


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if tables and application != APPLICATION_ID:
            raise LedgerUnavailable(f"{path} is an SQLite file of another program; point MOOT_HOME elsewhere")
        steps = migrations("sqlite")
        if version > steps[-1].version:
            raise LedgerNewer(
                f"the ledger {path} has version {version}, this Moot knows {steps[-1].version}; upgrade Moot, "
                "or point MOOT_HOME to another folder"
            )
        for step in steps:
            if step.version > version:
                for statement in step.sql.split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {step.version}")
        if application != APPLICATION_ID:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _translated(cause: sqlite3.Error, path: Path | None = None) -> LedgerUnavailable:
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    where = f"the ledger {path}" if path else "the ledger"
    if code == sqlite3.SQLITE_FULL:
        return LedgerFull(
            f"{where} has no room to write ({cause}); free disk space, then `moot resume`: nothing acknowledged is lost"
        )
    if code == sqlite3.SQLITE_NOTADB:
        return LedgerUnavailable(f"{where} is no SQLite file; move it away or point MOOT_HOME elsewhere")
    if code == sqlite3.SQLITE_READONLY:
        return LedgerUnavailable(f"{where} cannot be written ({cause}); check the rights of its file and folder")
    if code == sqlite3.SQLITE_BUSY:
        return LedgerUnavailable(f"{where} was locked by another program for {BUSY_SECONDS:.0f} s; try again")
    return LedgerUnavailable(f"{where} failed ({cause}); check the disk, then `moot verify`")
