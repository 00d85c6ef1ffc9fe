"""A ledger in PostgreSQL: group commits, waiting by LISTEN/NOTIFY, claims by advisory locks."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import asyncpg

from moot.codec.head_records import EMPTY_REGISTER, HEADS, ChainEnd
from moot.domain.ids import SessionId
from moot.domain.records import Head, StorageReport, StoredRecord, WrittenSessions
from moot.errors import LedgerFull, LedgerUnavailable, MootError, SeqConflict, SessionBusy
from moot.ledgers import postgres_upkeep
from moot.ledgers.migrations import migrate
from moot.ledgers.pending_heads import REGISTER_SECONDS, PendingHeads, seal_now
from moot.ledgers.validation import check_order

CHANNEL: Final = "moot_changed"
POLL_SECONDS: Final = 5.0
"""How long a waiter relies on a notification before it queries the database itself."""
LARGEST_GROUP: Final = 1_000
MOST_NAMED: Final = 50
"""How many sessions one notification names: PostgreSQL allows 8,000 bytes, and a name has at most 80."""
MOST_NOTIFIED: Final = 10_000
"""How many sessions are remembered with the position of their last notification."""
COMMAND_SECONDS: Final = 60.0

MOST_DEADLOCKS: Final = 10
SESSION_CHECK: Final = "moot_entries_session_fkey"
GATHER_SECONDS: Final = 0.02
"""How long a due registration waits for others that are due at the same time."""

# One statement and so one transaction and one round trip: the sessions whose head is where the batch begins move on, and only
# their records are written. Where another process was faster the condition is checked again on the row that it wrote. Notified at
# commit: a listener never hears of an entry that it cannot read yet; one notification names many sessions, because each wakes
# every listening process.
_APPEND: Final = """
WITH given AS (SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $10::bytea[]) AS g (id, first, last, hash)),
opened AS (
    INSERT INTO moot_sessions AS s (id, head, hashed, head_hash)
    SELECT id, last, last, hash FROM given WHERE first = 1 ORDER BY id
    ON CONFLICT (id) DO UPDATE SET head = excluded.head, hashed = excluded.hashed, head_hash = excluded.head_hash WHERE s.head = 0
    RETURNING id, number
),
moved AS (
    UPDATE moot_sessions s SET head = g.last, hashed = g.last, head_hash = g.hash
    FROM given g WHERE s.id = g.id AND g.first > 1 AND s.head = g.first - 1
    RETURNING s.id, s.number
),
written AS (SELECT * FROM opened UNION ALL SELECT * FROM moved),
stored AS (
    INSERT INTO moot_entries (session, seq, at, body, hash)
    SELECT w.number, r.seq, r.at, r.body, r.hash
    FROM unnest($4::text[], $5::bigint[], $6::bigint[], $7::bytea[], $8::bytea[]) AS r (id, seq, at, body, hash)
    JOIN written w ON w.id = r.id
)
SELECT array_agg(id) AS ids, pg_notify($9, string_agg(id, chr(10))) FROM (
    SELECT id, (row_number() OVER () - 1) / $11::bigint AS part FROM written
) AS w GROUP BY part
"""

# Advisory locks are numbers: the session id is hashed to 64 bits. The prefix keeps clear of other programs in the same database.
_LOCK = "hashtextextended('moot/' || $1, 0)"


@dataclass(slots=True)
class _QueuedAppend:
    session: SessionId
    records: Sequence[StoredRecord]
    future: "asyncio.Future[None]"


class PostgresLedger:
    """A ledger in one PostgreSQL database. Use as an async context manager. `name` is what its connections are called there."""

    def __init__(self, address: str, *, name: str = "moot") -> None:
        self._address = address
        self._settings = {"application_name": name}
        self._stack = AsyncExitStack()
        self._pool: asyncpg.Pool[Any] | None = None
        self._ear: asyncpg.Connection[Any] | None = None
        self._pen: asyncpg.Connection[Any] | None = None
        self._ear_lock = asyncio.Lock()
        self._queue: asyncio.Queue[_QueuedAppend] = asyncio.Queue()
        self._writer: asyncio.Task[None] | None = None
        self._waiting: dict[SessionId, asyncio.Event] = {}
        self._claimed: set[SessionId] = set()
        self._forfeited: set[SessionId] = set()
        self._mending: asyncio.Task[None] | None = None
        self._is_closing = False
        # What was notified, by the position of its last notification; positions up to `_deaf_until` may be incomplete.
        self._notified: OrderedDict[SessionId, int] = OrderedDict()
        self._position = 0
        self._deaf_until = 0
        self._heads = PendingHeads()
        self._registrar: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            with _translate_errors():
                self._pool = await asyncpg.create_pool(
                    self._address,
                    # None in reserve: the driver would log each try to restore it while the server is away.
                    min_size=0,
                    max_size=4,
                    command_timeout=COMMAND_SECONDS,
                    server_settings=self._settings,
                    reset=keep_connection,
                )
                stack.push_async_callback(self._pool.close)
                stack.push_async_callback(self._close_writer)
                stack.push_async_callback(self._close_listener)
                await self._open_listener()
            # Started last and so stopped first: queued appends are written while the pool is still open.
            self._writer = asyncio.create_task(self._write())
            stack.push_async_callback(self._stop_writing)
            stack.push_async_callback(self._stop_registering)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._stack.aclose()

    async def _stop_writing(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(COMMAND_SECONDS):
                await self._queue.join()
        if self._writer is not None:
            self._writer.cancel()
            with suppress(asyncio.CancelledError):
                await self._writer
        while not self._queue.empty():
            self._queue.get_nowait().future.cancel()

    async def _stop_registering(self) -> None:
        with suppress(TimeoutError, MootError):
            async with asyncio.timeout(COMMAND_SECONDS):
                await self._queue.join()
                if self._registrar is not None:
                    self._registrar.cancel()
                    await asyncio.wait([self._registrar])
                await self._register_heads()

    async def _register_due_heads(self) -> None:
        # Beside the appends and not within them: all processes append to one register, and must not wait for each other there.
        while self._heads.heads:
            await asyncio.sleep(GATHER_SECONDS if self._heads.is_due else REGISTER_SECONDS)
            with suppress(LedgerUnavailable):  # tried again a moment later
                await self._register_heads()

    async def _register_heads(self) -> None:
        """Append what is pending to the register of heads."""
        query = (
            "SELECT seq, at, hash FROM moot_entries JOIN moot_sessions ON session = number "
            "WHERE id = $1 ORDER BY seq DESC LIMIT 1"
        )
        taken = self._heads.take()
        try:
            while taken:
                with _translate_errors():
                    row = await self._open_pool().fetchrow(query, HEADS)
                with suppress(SeqConflict):  # another process registered its heads first
                    return await self.append(HEADS, seal_now(ChainEnd(*row) if row else EMPTY_REGISTER, taken))
        except BaseException:
            self._heads.put_back(taken)
            raise

    async def _open_listener(self) -> "asyncpg.Connection[Any]":
        """Return the connection for notifications and claims; reopen it and retake all claims if it was cut."""
        if self._ear is None or self._ear.is_closed():
            self._ear = await asyncpg.connect(self._address, server_settings=self._settings)
            await _migrate(self._ear)
            await self._ear.add_listener(CHANNEL, self._on_notification)
            # What was written while nobody listened was not notified.
            self._position += 1
            self._deaf_until = self._position
            self._ear.add_termination_listener(self._on_disconnect)
            # A copy: sessions end meanwhile.
            for session in list(self._claimed):
                # Another process claimed the session while we were disconnected: `append` refuses to write to it from now on.
                if not await self._ear.fetchval(f"SELECT pg_try_advisory_lock({_LOCK})", session):
                    self._forfeited.add(session)
        return self._ear

    def _on_disconnect(self, connection: Any) -> None:
        """Reconnect at once when the listening connection ends, and retake the claims before another process does."""
        if not self._is_closing:
            self._mending = asyncio.get_running_loop().create_task(self._reconnect())

    async def _reconnect(self) -> None:
        with suppress(LedgerUnavailable):  # tried again with the next claim
            async with self._ear_lock:
                with _translate_errors():
                    await self._open_listener()

    async def _close_listener(self) -> None:
        self._is_closing = True
        if self._mending is not None:
            self._mending.cancel()
        if self._ear is not None:
            await self._ear.close()

    async def append(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        if not records:
            return
        # Without this check two processes would run one session: each would ask its participants, and pay for them.
        if session in self._claimed & self._forfeited:
            raise SessionBusy(f"session {session!r} was taken over by another process while the database was out of reach")
        check_order(session, records)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait(_QueuedAppend(session, records, future))
        await future

    async def read(self, session: SessionId, after: int = 0, limit: int | None = None) -> list[StoredRecord]:
        query = (
            "SELECT seq, at, body, hash FROM moot_entries JOIN moot_sessions ON session = number "
            "WHERE id = $1 AND seq > $2 ORDER BY seq LIMIT $3"
        )
        with _translate_errors():
            rows = await self._open_pool().fetch(query, session, after, limit)
        return [StoredRecord(*row) for row in rows]

    async def heads(self, prefix: str = "") -> list[Head]:
        query = (
            "SELECT s.id, a.seq, a.at, a.body, a.hash, z.seq, z.at, z.body, z.hash FROM moot_sessions s "
            "JOIN moot_entries a ON a.session = s.number "
            # min(seq) and not 1: a session whose first record is missing is still listed.
            "AND a.seq = (SELECT min(seq) FROM moot_entries WHERE session = s.number) "
            "JOIN moot_entries z ON z.session = s.number AND z.seq = s.head "
            "WHERE starts_with(s.id, $1) AND s.id <> $2 ORDER BY s.id"
        )
        with _translate_errors():
            rows = await self._open_pool().fetch(query, prefix, HEADS)
        return [Head(SessionId(row[0]), StoredRecord(*row[1:5]), StoredRecord(*row[5:9])) for row in map(tuple, rows)]

    async def changed(self, session: SessionId, after: int) -> int:
        while True:
            # Registered before the query: a notification between the query and the wait would otherwise be lost.
            event = self._waiting.setdefault(session, asyncio.Event())
            with _translate_errors():
                head = await self._open_pool().fetchval("SELECT head FROM moot_sessions WHERE id = $1", session)
            if head is not None and head > after:
                return int(head)
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await event.wait()

    async def written(self, after: int | None = None) -> WrittenSessions:
        async with self._ear_lock:
            with _translate_errors():
                await self._open_listener()
        if after is None:
            return WrittenSessions(self._position, frozenset())
        if after < self._deaf_until:
            return WrittenSessions(self._position, None)
        found = []
        for session, position in reversed(self._notified.items()):
            if position <= after:
                break
            found.append(session)
        return WrittenSessions(self._position, frozenset(found))

    async def inspect(self, session: SessionId | None = None) -> StorageReport:
        with _translate_errors():
            return await postgres_upkeep.inspect(self._open_pool(), session)

    async def copy_to(self, path: Path) -> None:
        with _translate_errors():
            await postgres_upkeep.copy_to(self._open_pool(), path)

    async def remove(self, sessions: Sequence[SessionId]) -> None:
        with _translate_errors():
            await postgres_upkeep.remove(self._open_pool(), sessions)

    async def list_removed(self) -> list[SessionId]:
        with _translate_errors():
            return await postgres_upkeep.list_removed(self._open_pool())

    async def reserve(self, heads: Mapping[SessionId, tuple[int, bytes]]) -> None:
        with _translate_errors():
            await postgres_upkeep.reserve(self._open_pool(), heads)

    async def put_back(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        with _translate_errors():
            await postgres_upkeep.put_back(self._open_pool(), session, records)

    @asynccontextmanager
    async def claim(self, session: SessionId) -> AsyncIterator[None]:
        # An advisory lock belongs to its connection: all claims of this process share one, which ends with the process.
        async with self._ear_lock:
            # One connection may take the same advisory lock twice, so claims within this process are compared first.
            taken = session not in self._claimed and await self._query_listener(f"SELECT pg_try_advisory_lock({_LOCK})", session)
        if not taken:
            raise SessionBusy(f"session {session!r} is being run by another process; follow it with `moot watch {session}`")
        self._claimed.add(session)
        try:
            yield
        finally:
            self._claimed.discard(session)
            self._forfeited.discard(session)
            with suppress(LedgerUnavailable):  # a server that is gone holds no locks
                async with self._ear_lock:
                    await self._query_listener(f"SELECT pg_advisory_unlock({_LOCK})", session)

    async def _query_listener(self, query: str, value: str) -> bool:
        with _translate_errors():
            return bool(await (await self._open_listener()).fetchval(query, value))

    def _open_pool(self) -> "asyncpg.Pool[Any]":
        assert self._pool is not None, "use the ledger as an async context manager"
        return self._pool

    def _on_notification(self, connection: Any, process: int, channel: str, payload: object) -> None:
        for name in str(payload).split("\n"):
            if name != HEADS:
                self._note_written(SessionId(name))

    def _note_written(self, session: SessionId) -> None:
        self._position += 1
        self._notified[session] = self._position
        self._notified.move_to_end(session)
        if len(self._notified) > MOST_NOTIFIED:
            _, self._deaf_until = self._notified.popitem(last=False)
        event = self._waiting.pop(session, None)
        if event is not None:
            event.set()

    async def _write(self) -> None:
        while True:
            # Group commit: everything that queued during the last transaction shares the next one, so one fsync serves many
            # appends.
            group = [await self._queue.get()]
            while len(group) < LARGEST_GROUP and not self._queue.empty():
                group.append(self._queue.get_nowait())
            try:
                with _translate_errors():
                    results = await self._commit(group)
            except MootError as error:
                results = [error for _ in group]
            except asyncio.CancelledError:
                for each in group:
                    each.future.cancel()
                raise
            if self._heads.heads and (self._registrar is None or self._registrar.done()):
                self._registrar = asyncio.create_task(self._register_due_heads())
            for each, result in zip(group, results, strict=True):
                self._queue.task_done()
                # The caller was cancelled while it waited; its records may be durable all the same.
                if each.future.done():
                    continue
                if result is None:
                    each.future.set_result(None)
                else:
                    each.future.set_exception(result)

    async def _commit(self, group: list[_QueuedAppend]) -> list[MootError | None]:
        """Write the appends; one with a stale head fails alone."""
        results: list[MootError | None] = [None] * len(group)
        left = list(range(len(group)))
        while left:
            left = await self._commit_batches(group, left, results)
        return results

    async def _commit_batches(self, group: list[_QueuedAppend], left: list[int], results: list[MootError | None]) -> list[int]:
        """Write one batch for each session, all with one statement; return the appends that could not join one."""
        batches: dict[SessionId, list[int]] = {}
        later: list[int] = []
        for at in left:
            joined = batches.setdefault(group[at].session, [])
            # Appends that continue each other are one batch: without its predecessor the second would continue nothing.
            if not joined or group[joined[-1]].records[-1].seq + 1 == group[at].records[0].seq:
                joined.append(at)
            else:
                later.append(at)
        records = {name: [r for at in joined for r in group[at].records] for name, joined in batches.items()}
        written = await self._insert(records)
        for name in written:
            self._heads.add(name, records[name])
        # Another process was faster: rare, so that its own look at the head costs nothing in the common case.
        stale = [name for name in batches if name not in written]
        if stale:
            query = "SELECT id, head FROM moot_sessions WHERE id = ANY($1::text[])"
            heads = {row["id"]: row["head"] for row in await self._open_pool().fetch(query, stale)}
            for name in stale:
                for at in batches[name]:
                    expected = group[at].records[0].seq - 1
                    results[at] = SeqConflict(name, expected, heads.get(name, 0))
        return later

    async def _insert(self, batches: dict[SessionId, list[StoredRecord]]) -> set[SessionId]:
        """Write the batches that start directly after their session's head; return their sessions."""
        # Sorted: two processes that write to the same sessions in different order could wait for each other.
        names = sorted(batches)
        # Columns and not rows: `unnest` inserts any number of records with few parameters.
        records = [(name, *record) for name in names for record in batches[name]]
        columns = [list(column) for column in zip(*records, strict=True)]
        firsts, lasts = [batches[name][0].seq for name in names], [batches[name][-1].seq for name in names]
        hashes = [batches[name][-1].hash for name in names]
        for _ in range(MOST_DEADLOCKS):
            with suppress(asyncpg.exceptions.DeadlockDetectedError):
                writer = await self._open_writer()
                rows = await writer.fetch(_APPEND, names, firsts, lasts, *columns, CHANNEL, hashes, MOST_NAMED)
                return {SessionId(name) for row in rows for name in row["ids"]}
        raise LedgerUnavailable("the PostgreSQL ledger is written to by too many processes at once; repeat the call")

    async def _open_writer(self) -> "asyncpg.Connection[Any]":
        """Return the connection for appends: one of its own, because a pool's connection is reset after each use."""
        if self._pen is None or self._pen.is_closed():
            self._pen = await asyncpg.connect(self._address, command_timeout=COMMAND_SECONDS, server_settings=self._settings)
        return self._pen

    async def _close_writer(self) -> None:
        if self._pen is not None:
            await self._pen.close()


async def keep_connection(connection: Any) -> None:
    """Leave a pool's connection as it is: nothing here changes its state, and a reset costs a round trip for each query."""


async def _migrate(connection: Any) -> None:
    newer = "the ledger has version {version}, this Moot knows {known}; upgrade Moot, or point MOOT_LEDGER to another database"
    async with connection.transaction():
        version = await migrate(connection, "postgres", "moot_schema", "moot/schema", newer=newer)
        # The statement that writes entries writes their sessions, too; looking up the session of each entry again took two thirds
        # of its time. No version of its own: older versions of Moot work with the constraint and without it, beside this one.
        if await connection.fetchval("SELECT EXISTS (SELECT FROM pg_constraint WHERE conname = $1)", SESSION_CHECK):
            await connection.execute(f"ALTER TABLE moot_entries DROP CONSTRAINT {SESSION_CHECK}")
        if version == postgres_upkeep.WITHOUT_REGISTER:
            await postgres_upkeep.adopt_heads(connection)


class _translate_errors:  # noqa: N801 - reads as a verb where it is used
    """Translates the driver's errors into Moot's, in one place."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, asyncpg.exceptions.DiskFullError):
            raise LedgerFull(f"the ledger has no room to write ({error}); free disk space on the database server") from error
        # InternalClientError: the driver's own state after a connection was cut in the middle of an answer.
        if isinstance(error, asyncpg.PostgresError | asyncpg.InterfaceError | asyncpg.InternalClientError | OSError):
            why = (str(error) or type(error).__name__).splitlines()[0]
            raise LedgerUnavailable(f"the PostgreSQL ledger failed ({why}); check MOOT_LEDGER and the server") from error


translate_errors = _translate_errors
"""For the other modules that speak to the same server."""
