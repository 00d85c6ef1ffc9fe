"""A ledger in one SQLite file: WAL, durable on return, group commits.

Appends that arrive in one iteration of the event loop share a transaction. Each is validated by itself, so that one with a stale
head fails alone. While the disk is fast, the commit runs on the event loop: handing it to a thread and back would cost as much as
the commit itself. When a commit takes longer than `QUICK_SECONDS`, or another process holds the file, commits run on a thread for
a while, and the appends that arrive meanwhile form the next group. Reads have their own connection and thread.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self, TypeVar

from moot.disk.locks import hold_lock
from moot.domain.ids import SessionId
from moot.domain.records import Head, StoredRecord, WrittenSessions
from moot.errors import LedgerUnavailable, MootError
from moot.ledgers.sqlite_file import open_connection, translate_error
from moot.ledgers.validation import check_head, check_order

QUICK_SECONDS: Final = 0.002
"""The longest time that a commit may block the event loop before the next ones run on a thread."""
CAUTIOUS_SECONDS: Final = 1.0
"""How long commits stay on the thread after a slow one."""
POLL_SECONDS: Final = 0.2
LARGEST_GROUP: Final = 1_000
MOST_NUMBERS: Final = 4_096

_NUMBER = "SELECT number FROM sessions WHERE id = ?"
_NEWEST = "SELECT seq FROM entries WHERE session = ? ORDER BY seq DESC LIMIT 1"
_INSERT = "INSERT INTO entries (session, seq, at, body, hash) VALUES (?, ?, ?, ?, ?)"

T = TypeVar("T")


class _Append(NamedTuple):
    session: SessionId
    records: Sequence[StoredRecord]
    future: "asyncio.Future[None]"


class _Busy(Exception):
    """Another process holds the write lock of the file."""


class SqliteLedger:
    """A ledger in one SQLite file. Use as an async context manager, on one event loop."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = {name: ThreadPoolExecutor(1, f"moot-ledger-{name}") for name in ("reader", "writer")}
        self._pending: list[_Append] = []
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_closed = False
        self._cautious_until = 0.0
        # Row numbers of sessions, to spare a query per append; forgotten all at once when they are many.
        self._numbers: dict[SessionId, int] = {}
        self._waiters: dict[asyncio.Future[int], tuple[SessionId, int]] = {}
        self._poller: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._writer = await self._loop.run_in_executor(self._threads["writer"], open_connection, self._path)
        self._reader = await self._loop.run_in_executor(self._threads["reader"], open_connection, self._path)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._poller is not None:
            self._poller.cancel()
        # All queued appends are written before the connections close.
        await self._idle.wait()
        self._is_closed = True
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(LedgerUnavailable(f"the ledger {self._path} was closed"))
        await self._loop.run_in_executor(self._threads["reader"], self._reader.close)
        await self._loop.run_in_executor(self._threads["writer"], self._writer.close)
        for thread in self._threads.values():
            thread.shutdown(wait=False)

    async def append(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        if not records:
            return
        self._check_open()
        check_order(session, records)
        future: asyncio.Future[None] = self._loop.create_future()
        self._pending.append(_Append(session, records, future))
        # `call_soon` and not at once: the appends of all tasks that run in this iteration join the group.
        if self._idle.is_set():
            self._idle.clear()
            self._loop.call_soon(self._flush)
        await future

    async def read(self, session: SessionId, after: int = 0, limit: int | None = None) -> list[StoredRecord]:
        query = (
            "SELECT seq, at, body, hash FROM entries JOIN sessions ON session = number "
            "WHERE id = ? AND seq > ? ORDER BY seq LIMIT ?"
        )
        values = (session, after, -1 if limit is None else limit)
        return await self._run_query(lambda connection: [StoredRecord(*row) for row in connection.execute(query, values)])

    async def heads(self, prefix: str = "") -> list[Head]:
        return await self._run_query(partial(_select_heads, prefix=prefix))

    async def changed(self, session: SessionId, after: int) -> int:
        self._check_open()
        waiter: asyncio.Future[int] = self._loop.create_future()
        self._waiters[waiter] = (session, after)
        if self._poller is None or self._poller.done():
            self._poller = asyncio.create_task(self._poll())
        try:
            return await waiter
        finally:
            self._waiters.pop(waiter, None)

    async def written(self, after: int | None = None) -> WrittenSessions:
        return await self._run_query(partial(_select_written, after=after))

    @asynccontextmanager
    async def claim(self, session: SessionId) -> AsyncIterator[None]:
        busy = f"session {session!r} is being run by another process; follow it with `moot watch {session}`"
        with hold_lock(self._path.with_name(self._path.name + ".locks") / f"{session}.lock", busy):
            yield

    def _check_open(self) -> None:
        if self._is_closed:
            raise LedgerUnavailable(f"the ledger {self._path} was closed")

    async def _run_query(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return await self._loop.run_in_executor(self._threads["reader"], work, self._reader)
        except sqlite3.Error as cause:
            raise translate_error(cause, self._path) from cause

    async def _poll(self) -> None:
        try:
            await self._poll_heads()
        except MootError as error:
            for waiter in self._waiters:
                if not waiter.done():
                    waiter.set_exception(error)

    async def _poll_heads(self) -> None:
        # The first query runs at once; later ones only when the file changes, whichever process changes it, or a waiter is new.
        seen = -1
        asked: set[asyncio.Future[int]] = set()
        while self._waiters:
            version = await self._run_query(_read_version)
            if version != seen or self._waiters.keys() - asked:
                seen, asked = version, set(self._waiters)
                wanted = {session for session, _ in self._waiters.values()}
                heads = await self._run_query(partial(_select_last_seqs, sessions=wanted))
                for waiter, (session, after) in list(self._waiters.items()):
                    if heads.get(session, 0) > after and not waiter.done():
                        waiter.set_result(heads[session])
            await asyncio.sleep(POLL_SECONDS)

    def _flush(self) -> None:
        """Commit the pending appends: on the event loop if the disk is fast, else on the writer's thread."""
        group, self._pending = self._pending[:LARGEST_GROUP], self._pending[LARGEST_GROUP:]
        started = self._loop.time()
        # A large group would block the loop even on a fast disk.
        if started >= self._cautious_until and sum(len(each.records) for each in group) <= LARGEST_GROUP:
            try:
                results = self._commit(group, wait=False)
            except _Busy:
                self._cautious_until = started + CAUTIOUS_SECONDS
            else:
                if self._loop.time() - started > QUICK_SECONDS:
                    self._cautious_until = self._loop.time() + CAUTIOUS_SECONDS
                self._settle(group, results)
                return
        work = self._loop.run_in_executor(self._threads["writer"], partial(self._commit, group, wait=True))
        work.add_done_callback(lambda done: self._finish_commit(group, done.result(), started))

    def _finish_commit(self, group: list[_Append], results: list[MootError | None], started: float) -> None:
        if self._loop.time() - started > QUICK_SECONDS:
            self._cautious_until = self._loop.time() + CAUTIOUS_SECONDS
        self._settle(group, results)

    def _settle(self, group: list[_Append], results: list[MootError | None]) -> None:
        for each, error in zip(group, results, strict=True):
            if each.future.done():
                continue
            if error is None:
                each.future.set_result(None)
            else:
                each.future.set_exception(error)
        # `_idle` stays cleared until nothing is pending, so only one flush is under way at a time.
        if self._pending:
            self._loop.call_soon(self._flush)
        else:
            self._idle.set()

    def _commit(self, group: list[_Append], *, wait: bool) -> list[MootError | None]:
        """Write the group in one transaction; returns the error of each append, or None.

        Without `wait` it raises _Busy if the file is locked.
        """
        connection = self._writer
        try:
            if wait:
                connection.execute("PRAGMA busy_timeout = 30000")
            # SQLite has one writer: BEGIN IMMEDIATE makes the second wait here, not at COMMIT.
            connection.execute("BEGIN IMMEDIATE")
            results = [self._try_append(connection, each) for each in group]
            connection.execute("COMMIT")
        except Exception as cause:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            # Row numbers that this transaction assigned do not exist any more.
            self._numbers.clear()
            # The low byte is SQLite's primary error code; the rest is the extended code.
            if not wait and getattr(cause, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                raise _Busy from cause
            return [translate_error(cause, self._path) for _ in group]
        finally:
            if wait:
                connection.execute("PRAGMA busy_timeout = 0")
        return results

    def _try_append(self, connection: sqlite3.Connection, append: _Append) -> MootError | None:
        try:
            return self._append_records(connection, append)
        except UnicodeError as cause:  # a name that cannot be written, found before anything was
            return translate_error(cause, self._path)

    def _append_records(self, connection: sqlite3.Connection, append: _Append) -> MootError | None:
        session, records = append.session, append.records
        number = self._numbers.get(session)
        if number is None:
            row = connection.execute(_NUMBER, (session,)).fetchone()
            number = None if row is None else row[0]
        newest = None if number is None else connection.execute(_NEWEST, (number,)).fetchone()
        try:
            check_head(session, records, 0 if newest is None else newest[0])
        except MootError as error:
            return error
        if number is None:
            number = connection.execute("INSERT INTO sessions (id) VALUES (?)", (session,)).lastrowid
        assert number is not None
        if len(self._numbers) >= MOST_NUMBERS:
            self._numbers.clear()
        self._numbers[session] = number
        for record in records:
            connection.execute(_INSERT, (number, *record))
        return None


def _select_heads(connection: sqlite3.Connection, prefix: str) -> list[Head]:
    query = (
        "SELECT s.id, a.seq, a.at, a.body, a.hash, z.seq, z.at, z.body, z.hash FROM sessions s "
        "JOIN entries a ON a.session = s.number "
        "AND a.seq = (SELECT min(seq) FROM entries WHERE session = s.number) "
        "JOIN entries z ON z.session = s.number "
        "AND z.seq = (SELECT max(seq) FROM entries WHERE session = s.number) "
        "WHERE s.id >= ? AND s.id < ? ORDER BY s.id"
    )
    # The range uses the index on `id`; ids are ASCII, so U+10FFFF sorts after every id with this prefix.
    rows = connection.execute(query, (prefix, prefix + "\U0010ffff"))
    return [Head(SessionId(row[0]), StoredRecord(*row[1:5]), StoredRecord(*row[5:9])) for row in rows]


def _select_last_seqs(connection: sqlite3.Connection, sessions: set[SessionId]) -> dict[SessionId, int]:
    query = "SELECT max(seq) FROM entries WHERE session = (SELECT number FROM sessions WHERE id = ?)"
    return {session: connection.execute(query, (session,)).fetchone()[0] or 0 for session in sessions}


def _select_written(connection: sqlite3.Connection, after: int | None) -> WrittenSessions:
    # Entries are never deleted, so their row ids grow in the order of the commits.
    (now,) = connection.execute("SELECT max(rowid) FROM entries").fetchone()
    now = now or 0
    if after is None or now <= after:
        return WrittenSessions(now, frozenset())
    query = "SELECT DISTINCT id FROM entries JOIN sessions ON session = number WHERE entries.rowid > ? AND entries.rowid <= ?"
    return WrittenSessions(now, frozenset(SessionId(row[0]) for row in connection.execute(query, (after, now))))


def _read_version(connection: sqlite3.Connection) -> int:
    # data_version counts only the commits of other connections; this one never writes, so it sees every commit.
    (version,) = connection.execute("PRAGMA data_version").fetchone()
    return int(version)
