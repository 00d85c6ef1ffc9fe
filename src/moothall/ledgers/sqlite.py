"""A ledger in one SQLite file: WAL, durable on return, group commits.

Appends that arrive in one iteration of the event loop share a transaction; one with a stale head fails alone. While the disk is
fast, the commit runs on the event loop: handing it to a thread and back would cost as much as the commit itself. When commits
take longer than `QUICK_SECONDS`, or another process holds the file, they run on a thread, and the appends that arrive meanwhile
form the next group. A session that is the only one to write holds up nobody but itself: its appends may take `ALONE_SECONDS`.
Reads have their own connection and thread, but for the few records that are new since the last one.

Each append also writes down its session's head, and the register of heads grows in the same transaction: at every opening, and
at least once a second while something is written. A file that may only be read is opened for reading.
"""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, TypeVar

from moothall.codec.chain import EMPTY_REGISTER, HEADS, ChainEnd
from moothall.disk.private import hold_lock
from moothall.domain.ids import SessionId
from moothall.domain.records import (
    Head,
    NewestSessions,
    StorageReport,
    StoredRecord,
    WrittenSessions,
)
from moothall.errors import LedgerUnavailable, MootError
from moothall.ledgers import append_checks, sqlite_file
from moothall.ledgers.migrations import load_queries
from moothall.ledgers.sqlite_file import WriteTurns

QUICK_SECONDS: Final = 0.002
"""How long commits may block the event loop, on average, before the next ones run on a thread."""
ALONE_SECONDS: Final = 0.02
"""The same for a session that is the only one to write, and how long its appends may follow each other without a pause."""
SLOWEST_COUNTED: Final = 0.05
"""What one commit counts for at most in the average: a disk that has slept for seconds is quick again afterwards."""
BUSY_PAUSE: Final = 1.0
"""How long commits stay on the thread after another process held the file, and appends in groups after a second session wrote."""
POLL_SECONDS: Final = 0.2
MAX_GROUP: Final = 1_000
MAX_HEADS: Final = 4_096

QUERIES: Final = load_queries(__name__)
# Several rows in one statement: each statement gives Python's lock away and has to wait for it again.
_INSERTS = {
    rows: QUERIES["insert"] + ", (?, ?, ?, ?, ?)" * (rows - 1) for rows in (64, 16, 4, 2, 1)
}
FEW_RECORDS: Final = 16
"""How many new records are read in place, on the event loop."""

T = TypeVar("T")


_Wanted = tuple[SessionId, Sequence[StoredRecord]]


class _SessionHead(NamedTuple):
    """The row number of a session, and its newest entry that this process knows of."""

    number: int
    seq: int


class _Busy(Exception):
    """Another process holds the write lock of the file."""


class SqliteLedger:
    """A ledger in one SQLite file. Use as an async context manager, on one event loop."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        self._turns = WriteTurns(path)
        self._threads = {
            name: ThreadPoolExecutor(1, f"moot-ledger-{name}") for name in ("reader", "writer")
        }
        self._pending: list[append_checks.QueuedAppend] = []
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_closed = False
        # A thread has the connection that writes.
        self._is_handed_over = False
        # Commits run on the thread until then: another process held the file.
        self._busy_until = 0.0
        # The mean time of the last commits, and the session that wrote last; until then several sessions write.
        self._pace = 0.0
        self._last_session: SessionId | None = None
        self._shared_until = 0.0
        self._yielded_at = 0.0
        # To spare a query per append: an entry which was there is there, unless its session was archived.
        # Forgotten all at once when they are many.
        self._heads: dict[SessionId, _SessionHead] = {}
        self._waiters = append_checks.ChangeWaiters()
        self._poller: asyncio.Task[None] | None = None
        self._unregistered = append_checks.PendingHeads()
        self._register_timer: asyncio.TimerHandle | None = None
        self._is_read_only = read_only

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._is_read_only = self._is_read_only or sqlite_file.is_read_only(self._path)
        if self._is_read_only:
            self._reader = await self._loop.run_in_executor(
                self._threads["reader"], sqlite_file.open_read_only, self._path
            )
            self._writer = self._reader
            return self
        self._writer = await self._loop.run_in_executor(
            self._threads["writer"], sqlite_file.open_connection, self._path
        )
        self._reader = await self._loop.run_in_executor(
            self._threads["reader"], sqlite_file.open_connection, self._path
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._poller is not None:
            self._poller.cancel()
        # All queued appends are written before the connections close, and their heads after them.
        await self._idle.wait()
        if self._register_timer is not None:
            self._register_timer.cancel()
            self._queue_register()
            await self._idle.wait()
        self._is_closed = True
        self._waiters.fail(LedgerUnavailable(f"the ledger {self._path} was closed"))
        await self._loop.run_in_executor(self._threads["reader"], self._reader.close)
        await self._loop.run_in_executor(self._threads["writer"], self._writer.close)
        self._turns.close()
        for thread in self._threads.values():
            thread.shutdown(wait=False)

    async def append(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        if not records:
            return
        self._check_open()
        if self._is_read_only:
            raise sqlite_file.refuse_writing(self._path)
        append_checks.check_order(session, records)
        if self._is_alone(session) and self._loop.time() >= self._yielded_at + ALONE_SECONDS:
            # Whoever else can run comes first: a caller that only appends must not keep the others out.
            await asyncio.sleep(0)
            self._yielded_at = self._loop.time()
        if self._is_alone(session) and self._idle.is_set() and self._pace <= ALONE_SECONDS:
            self._check_open()
            try:
                (error,) = self._commit([(session, records)], wait=False)
            except _Busy:
                self._busy_until = self._loop.time() + BUSY_PAUSE
            else:
                self._schedule_register()
                if error is not None:
                    raise error
                self._waiters.wake(session, records[-1].seq)
                return
        future: asyncio.Future[None] = self._loop.create_future()
        self._queue(append_checks.QueuedAppend(session, records, future))
        await future

    def _queue(self, append: append_checks.QueuedAppend) -> None:
        self._pending.append(append)
        # `call_soon` and not at once: the appends of all tasks that run in this iteration join the group.
        if self._idle.is_set():
            self._idle.clear()
            self._loop.call_soon(self._flush)

    def _queue_register(self) -> None:
        """Have the pending heads registered by a commit of their own: one without records."""
        self._register_timer = None
        future: asyncio.Future[None] = self._loop.create_future()
        # Nobody waits for it; what fails is due again with the next commit.
        future.add_done_callback(lambda done: done.exception())
        self._queue(append_checks.QueuedAppend(HEADS, (), future))

    def _schedule_register(self) -> None:
        if self._unregistered.heads and self._register_timer is None and not self._is_closed:
            self._register_timer = self._loop.call_later(
                append_checks.REGISTER_SECONDS, self._queue_register
            )

    def _is_alone(self, session: SessionId) -> bool:
        """Whether this session is the only one that has written here for a while, and nobody else holds the file."""
        now = self._loop.time()
        if session != self._last_session:
            # The first session of a process has no other before it.
            self._shared_until = now + BUSY_PAUSE if self._last_session is not None else 0.0
            self._last_session = session
        return now >= self._shared_until and now >= self._busy_until

    async def read(
        self, session: SessionId, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        few = (
            self._read_few(session, after)
            if after and (limit is None or limit > FEW_RECORDS)
            else None
        )
        if few is not None:
            return few
        values = (session, after, -1 if limit is None else limit)
        return await self._run_query(
            lambda connection: [
                StoredRecord(*row) for row in connection.execute(QUERIES["read"], values)
            ]
        )

    def _read_few(self, session: SessionId, after: int) -> list[StoredRecord] | None:
        """Return what is new, in place: most often nothing is. None if that may be much, or the thread has the connection."""
        if self._is_closed or self._is_handed_over or self._is_read_only:
            return None
        try:
            head = self._heads.get(session) or self._find_head(session)
            if head is None or after < head.seq - FEW_RECORDS:
                return None
            rows = self._writer.execute(QUERIES["read_new"], (head.number, after)).fetchmany(
                FEW_RECORDS + 1
            )
        except sqlite3.Error:
            # Whatever it is, the thread may wait for it, and translates it.
            return None
        return [StoredRecord(*row) for row in rows] if len(rows) <= FEW_RECORDS else None

    def _find_head(self, session: SessionId) -> _SessionHead | None:
        """Look up the head of a session that this process has only read: many calls read one, and a thread costs each more."""
        row = self._writer.execute(QUERIES["number"], (session,)).fetchone()
        newest = None if row is None else self._writer.execute(QUERIES["newest"], row).fetchone()
        # One that was archived has no entry, and its id stays taken: only an append looks into that.
        return (
            None
            if newest is None
            else self._remember_head(session, _SessionHead(row[0], newest[0]))
        )

    def _remember_head(self, session: SessionId, head: _SessionHead) -> _SessionHead:
        if len(self._heads) >= MAX_HEADS:
            self._heads.clear()
        self._heads[session] = head
        return head

    async def heads(self, prefix: str = "") -> list[Head]:
        # The range uses the index on `id`; ids are ASCII, so U+10FFFF sorts after every id with this prefix.
        values = (prefix, prefix + "\U0010ffff", HEADS)

        def select(connection: sqlite3.Connection) -> list[Head]:
            return list(map(_build_head, connection.execute(QUERIES["read_heads"], values)))

        return await self._run_query(select)

    async def list_newest(self, count: int, after: int = 0) -> NewestSessions:
        def select(connection: sqlite3.Connection) -> NewestSessions:
            (total,) = connection.execute(QUERIES["count_sessions"]).fetchone()
            rows = connection.execute(QUERIES["list_newest"], (count, after)).fetchall()
            return NewestSessions(total, list(map(_build_head, rows)))

        return await self._run_query(select)

    async def wait_for_change(self, session: SessionId, after: int) -> int:
        self._check_open()
        with self._waiters.wait(session, after) as woken:
            if self._poller is None or self._poller.done():
                self._poller = asyncio.create_task(self._poll())
            return await woken

    async def list_written(self, after: int | None = None) -> WrittenSessions:
        return await self._run_query(partial(_select_written, after=after))

    @asynccontextmanager
    async def claim(self, session: SessionId) -> AsyncIterator[None]:
        if self._is_read_only:
            raise sqlite_file.refuse_writing(self._path)
        lock = self._path.with_name(self._path.name + ".locks") / f"{session}.lock"
        busy = f"session {session!r} is being run already"
        with hold_lock(lock, busy, command=f"follow it with `moot watch {session}`"):
            yield

    async def inspect(self, session: SessionId | None = None) -> StorageReport:
        return await self._run_query(partial(sqlite_file.inspect, session=session))

    async def copy_to(self, path: Path) -> None:
        try:
            await self._run_query(partial(sqlite_file.copy_database, path=path))
        except OSError as cause:
            raise LedgerUnavailable(f"{path} cannot be written ({cause.strerror})") from cause

    async def remove(self, sessions: Sequence[SessionId]) -> None:
        for session in sessions:
            self._heads.pop(session, None)
        await self._run_change(partial(sqlite_file.remove, sessions=sessions))

    async def list_removed(self) -> list[SessionId]:
        return await self._run_query(sqlite_file.list_removed)

    async def reserve(self, heads: Mapping[SessionId, tuple[int, bytes]]) -> None:
        await self._run_change(partial(sqlite_file.reserve, heads=heads))

    async def put_back(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        await self._run_change(partial(sqlite_file.put_back, session=session, records=records))

    async def _run_change(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Run a rare change on a connection of its own, so that it never meets the transaction of a commit."""
        if self._is_read_only:
            raise sqlite_file.refuse_writing(self._path)

        def change() -> None:
            connection = sqlite_file.open_connection(self._path)
            try:
                connection.execute("PRAGMA busy_timeout = 30000")
                connection.execute("BEGIN IMMEDIATE")
                work(connection)
                connection.execute("COMMIT")
            except sqlite3.Error as cause:
                raise sqlite_file.translate_error(cause, self._path) from cause
            finally:
                # What was not committed is rolled back.
                connection.close()

        await asyncio.to_thread(change)

    def _check_open(self) -> None:
        if self._is_closed:
            raise LedgerUnavailable(f"the ledger {self._path} was closed")

    async def _run_query(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return await self._loop.run_in_executor(self._threads["reader"], work, self._reader)
        except sqlite3.Error as cause:
            raise sqlite_file.translate_error(cause, self._path) from cause

    async def _poll(self) -> None:
        try:
            await self._poll_heads()
        except MootError as error:
            self._waiters.fail(error)

    async def _poll_heads(self) -> None:
        # The first query runs at once; later ones only when the file changes, whichever process changes it, or a waiter is new.
        seen = (-1, 0)
        while sessions := self._waiters.sessions:
            joined = self._waiters.joined
            # data_version counts only the commits of other connections; this one never writes, so it sees every commit.
            (version,) = await self._run_query(
                lambda connection: connection.execute("PRAGMA data_version").fetchone()
            )
            if (version, joined) != seen:
                seen = (version, joined)
                for session, head in (
                    await self._run_query(partial(_select_last_seqs, sessions=sessions))
                ).items():
                    self._waiters.wake(session, head)
            await asyncio.sleep(POLL_SECONDS)

    def _flush(self) -> None:
        """Commit the pending appends: on the event loop if the disk is fast, else on the writer's thread."""
        group, self._pending = self._pending[:MAX_GROUP], self._pending[MAX_GROUP:]
        wanted = [(each.session, each.records) for each in group]
        is_quick = self._pace <= QUICK_SECONDS and self._loop.time() >= self._busy_until
        # A large group would block the loop even on a fast disk.
        if is_quick and sum(len(each.records) for each in group) <= MAX_GROUP:
            try:
                results = self._commit(wanted, wait=False)
            except _Busy:
                self._busy_until = self._loop.time() + BUSY_PAUSE
            else:
                self._settle(group, results)
                return
        self._is_handed_over = True
        work = self._loop.run_in_executor(
            self._threads["writer"], partial(self._commit, wanted, wait=True)
        )
        work.add_done_callback(lambda done: self._settle(group, done.result()))

    def _settle(
        self, group: list[append_checks.QueuedAppend], results: list[MootError | None]
    ) -> None:
        self._is_handed_over = False
        append_checks.settle_appends(group, results)
        for each, error in zip(group, results, strict=True):
            if error is None and each.records:
                self._waiters.wake(each.session, each.records[-1].seq)
        self._schedule_register()
        # `_idle` stays cleared until nothing is pending, so only one flush is under way at a time.
        if self._pending:
            self._loop.call_soon(self._flush)
        else:
            self._idle.set()

    def _commit(self, group: list[_Wanted], *, wait: bool) -> list[MootError | None]:
        """Write the group in one transaction; returns the error of each append, or None.

        Without `wait` it raises _Busy if the file is locked.
        """
        connection, started = self._writer, time.monotonic()
        try:
            # SQLite has one writer: BEGIN IMMEDIATE makes the second wait here, not at COMMIT.
            self._turns.begin(connection, wait=wait)
            results = self._append_group(connection, group, wait=wait)
            registered = self._register_heads(connection, group, results)
            connection.execute("COMMIT")
        except Exception as cause:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            # What this transaction wrote does not exist.
            self._heads.clear()
            # The low byte is SQLite's primary error code; the rest is the extended code.
            if not wait and getattr(cause, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                raise _Busy from cause
            return [sqlite_file.translate_error(cause, self._path) for _ in group]
        finally:
            self._pace += (min(time.monotonic() - started, SLOWEST_COUNTED) - self._pace) / 8
        self._unregistered = registered
        return results

    def _register_heads(
        self, connection: sqlite3.Connection, group: list[_Wanted], results: list[MootError | None]
    ) -> append_checks.PendingHeads:
        """Write what the register is due within the transaction; returns what is pending after it, should it be committed."""
        pending = replace(self._unregistered, heads=dict(self._unregistered.heads))
        for (session, records), error in zip(group, results, strict=True):
            if error is None:
                pending.add(session, records)
        if pending.is_due or (pending.heads and any(not records for _, records in group)):
            row = connection.execute(QUERIES["register_end"], (HEADS,)).fetchone()
            records = append_checks.seal_now(
                EMPTY_REGISTER if row is None else ChainEnd(*row), pending.take()
            )
            self._append_records(connection, HEADS, records)
        return pending

    def _append_group(
        self, connection: sqlite3.Connection, group: list[_Wanted], *, wait: bool
    ) -> list[MootError | None]:
        """Insert what follows the heads that are known in few statements, and the rest one by one."""
        results: list[MootError | None] = []
        rows: list[tuple[int, int, int, bytes, bytes]] = []
        moved: list[tuple[int, bytes, int]] = []
        for session, records in group:
            head = self._heads.get(session)
            if head is not None and records and records[0].seq == head.seq + 1:
                rows += [(head.number, *record) for record in records]
                moved.append((records[-1].seq, records[-1].hash, head.number))
                self._heads[session] = _SessionHead(head.number, records[-1].seq)
                results.append(None)
            else:
                results.append(self._try_append(connection, session, records))
        try:
            _insert_rows(connection, rows)
            connection.executemany(QUERIES["move_head"], moved)
        except sqlite3.IntegrityError:
            # Another process has written to one of these sessions, so that its next number is taken.
            connection.execute("ROLLBACK")
            self._heads.clear()
            self._turns.begin(connection, wait=wait)
            return [self._try_append(connection, session, records) for session, records in group]
        return results

    def _try_append(
        self, connection: sqlite3.Connection, session: SessionId, records: Sequence[StoredRecord]
    ) -> MootError | None:
        try:
            return self._append_records(connection, session, records)
        except UnicodeError as cause:  # a name that cannot be written, found before anything was
            return sqlite_file.translate_error(cause, self._path)

    def _append_records(
        self, connection: sqlite3.Connection, session: SessionId, records: Sequence[StoredRecord]
    ) -> MootError | None:
        if not records:
            return None
        row = connection.execute(QUERIES["number"], (session,)).fetchone()
        number = None if row is None else row[0]
        newest = (
            None if number is None else connection.execute(QUERIES["newest"], (number,)).fetchone()
        )
        if number is not None and newest is None:
            # Archived: its id stays taken.
            newest = connection.execute(QUERIES["head"], (number,)).fetchone()
        try:
            append_checks.check_head(session, records, 0 if newest is None else newest[0])
        except MootError as error:
            return error
        head = (records[-1].seq, records[-1].hash)
        if number is None:
            number = connection.execute(QUERIES["add_session"], (session, *head)).lastrowid
        else:
            connection.execute(QUERIES["move_head"], (*head, number))
        assert number is not None
        _insert_rows(connection, [(number, *record) for record in records])
        self._remember_head(session, _SessionHead(number, records[-1].seq))
        return None


def _insert_rows(
    connection: sqlite3.Connection, rows: Sequence[tuple[int, int, int, bytes, bytes]]
) -> None:
    at = 0
    for most, statement in _INSERTS.items():
        while len(rows) - at >= most:
            connection.execute(statement, [*chain.from_iterable(rows[at : at + most])])
            at += most


def _build_head(row: Sequence[Any]) -> Head:
    """Return the ends of a session from a row: its id, its first and its last record."""
    return Head(SessionId(row[0]), StoredRecord(*row[1:5]), StoredRecord(*row[5:9]))


def _select_last_seqs(
    connection: sqlite3.Connection, sessions: Sequence[SessionId]
) -> dict[SessionId, int]:
    return {
        session: connection.execute(QUERIES["last_seq"], (session,)).fetchone()[0] or 0
        for session in sessions
    }


def _select_written(connection: sqlite3.Connection, after: int | None) -> WrittenSessions:
    # Row ids grow in the order of the commits: only archived entries are deleted, and the record of that is newer than they are.
    (now,) = connection.execute("SELECT max(rowid) FROM entries").fetchone()
    now = now or 0
    if after is None or now <= after:
        return WrittenSessions(now, frozenset())
    names = frozenset(
        SessionId(row[0]) for row in connection.execute(QUERIES["written"], (after, now))
    )
    return WrittenSessions(now, names - {HEADS})
