"""A ledger in PostgreSQL: group commits, waiting by LISTEN/NOTIFY, claims by advisory locks."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

import asyncpg

from moothall.codec.chain import EMPTY_REGISTER, HEADS, ChainEnd
from moothall.domain.ids import SessionId
from moothall.domain.records import Head, NewestSessions, StoredRecord, WrittenSessions
from moothall.engine.grouped_calls import GroupedCalls
from moothall.errors import LedgerUnavailable, MootError, SeqConflict, SessionBusy
from moothall.ledgers.append_checks import (
    REGISTER_SECONDS,
    UNKNOWN,
    ChangeWaiters,
    PendingHeads,
    QueuedAppend,
    check_order,
    seal_now,
    settle_appends,
)
from moothall.ledgers.migrations import load_queries, migrate
from moothall.ledgers.postgres_upkeep import PostgresUpkeep, build_columns, translate_errors

QUERIES: Final = load_queries(__name__)

CHANNEL: Final = "moot_changed"
POLL_SECONDS: Final = 5.0
"""How long waiters rely on notifications before the database is queried for all of them."""
MAX_GROUP: Final = 1_000
MAX_NAMED: Final = 50
"""How many sessions one notification names: PostgreSQL allows 8,000 bytes, and a name has at most 80."""
MAX_NOTIFIED: Final = 10_000
"""How many sessions are remembered with the position of their last notification."""
COMMAND_SECONDS: Final = 60.0
RECONNECT_SECONDS: Final = 0.5

MAX_DEADLOCKS: Final = 10
GATHER_SECONDS: Final = 0.02
"""How long a due registration waits for others that are due at the same time."""

_UNLOCK: Final = QUERIES["lock"].replace("pg_try_advisory_lock", "pg_advisory_unlock")
_HEADS: Final = "SELECT id, head FROM moot_sessions WHERE id = ANY ($1::text[])"


class PostgresLedger(PostgresUpkeep):
    """A ledger in one PostgreSQL database. Use as an async context manager. `name` is what its connections are called there."""

    def __init__(self, address: str, *, name: str = "moot") -> None:
        super().__init__(address, name=name)
        self._stack = AsyncExitStack()
        self._ear: asyncpg.Connection[Any] | None = None
        self._pen: asyncpg.Connection[Any] | None = None
        self._ear_lock = asyncio.Lock()
        self._queue: list[QueuedAppend] = []
        self._has_queued, self._is_settled = asyncio.Event(), asyncio.Event()
        self._is_settled.set()
        self._writer: asyncio.Task[None] | None = None
        self._waiters = ChangeWaiters()
        self._poller: asyncio.Task[None] | None = None
        self._head_queries = GroupedCalls(self._fetch_heads)
        self._claimed: set[SessionId] = set()
        self._claiming: set[SessionId] = set()
        self._locks = GroupedCalls(partial(self._query_listener, QUERIES["lock"]))
        self._unlocks = GroupedCalls(partial(self._query_listener, _UNLOCK))
        self._written: list[tuple[SessionId, int]] = []
        # The heads of claimed sessions that this process wrote last, as far as notifications tell.
        self._own_heads: dict[SessionId, int] = {}
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
            with translate_errors():
                self._pool = await self._build_pool(COMMAND_SECONDS)
                stack.push_async_callback(self._pool.close)
                stack.push_async_callback(self._close_connections)
                await self._open_listener()
            # Started last and so stopped first: queued appends are written while the pool is still open.
            self._writer = asyncio.create_task(self._write())
            stack.push_async_callback(self._stop_writing)
            stack.push_async_callback(self._stop_registering)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    async def _stop_writing(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(COMMAND_SECONDS):
                await self._is_settled.wait()
        if self._writer is not None:
            self._writer.cancel()
            with suppress(asyncio.CancelledError):
                await self._writer
        for each in self._queue:
            each.future.cancel()

    async def _stop_registering(self) -> None:
        with suppress(TimeoutError, MootError):
            async with asyncio.timeout(COMMAND_SECONDS):
                await self._is_settled.wait()
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
        taken = self._heads.take()
        try:
            while taken:
                rows = await self.fetch(QUERIES["read_end"], HEADS)
                with suppress(SeqConflict):  # another process registered its heads first
                    return await self.append(
                        HEADS, seal_now(ChainEnd(*rows[0]) if rows else EMPTY_REGISTER, taken)
                    )
        except BaseException:
            self._heads.put_back(taken)
            raise

    async def _open_listener(self) -> "asyncpg.Connection[Any]":
        """Return the connection for notifications and claims; reopen it and retake all claims if it was cut."""
        if self._ear is None or self._ear.is_closed():
            self._ear = await asyncpg.connect(self._address, server_settings=self._settings)
            async with self._ear.transaction():
                await migrate(
                    self._ear, "postgres", "moot_schema", "moot/schema", what="the ledger"
                )
            await self._ear.add_listener(CHANNEL, self._on_notification)
            # What was written while nobody listened was not notified.
            self._miss_notifications()
            self._ear.add_termination_listener(self._on_disconnect)
            # A copy: sessions end meanwhile.
            claimed = list(self._claimed)
            for session, (taken,) in zip(
                claimed, await self._ear.fetch(QUERIES["lock"], claimed), strict=True
            ):
                # Another process claimed the session while we were disconnected: `append` refuses to write to it from now on.
                if not taken:
                    self._forfeited.add(session)
        return self._ear

    def _miss_notifications(self) -> None:
        self._position += 1
        self._deaf_until = self._position
        self._own_heads.clear()

    def _on_disconnect(self, connection: Any) -> None:
        """Reconnect at once when the listening connection ends, and retake the claims before another process does."""
        if not self._is_closing:
            self._mending = asyncio.get_running_loop().create_task(self._reconnect())

    async def _reconnect(self) -> None:
        while not self._is_closing:
            with suppress(LedgerUnavailable):
                async with self._ear_lock:
                    with translate_errors():
                        await self._open_listener()
                        return
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _close_connections(self) -> None:
        self._is_closing = True
        for task in (self._mending, self._poller):
            if task is not None:
                task.cancel()
        for connection in (self._ear, self._pen):
            if connection is not None:
                await connection.close()

    async def append(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        if not records:
            return
        # Without this check two processes would run one session: each would ask its participants, and pay for them.
        if session in self._forfeited and session in self._claimed:
            raise SessionBusy(
                f"session {session!r} was taken over by another process while the database was out of reach"
            )
        check_order(session, records)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(QueuedAppend(session, records, future))
        self._has_queued.set()
        self._is_settled.clear()
        await future

    async def read(
        self, session: SessionId, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        return [
            StoredRecord(*row) for row in await self.fetch(QUERIES["read"], session, after, limit)
        ]

    async def heads(self, prefix: str = "") -> list[Head]:
        rows = await self.fetch(QUERIES["read_heads"], prefix, HEADS)
        return list(map(_build_head, rows))

    async def list_newest(self, count: int, after: int = 0) -> NewestSessions:
        counted = await self.fetch(QUERIES["count_sessions"])
        rows = await self.fetch(QUERIES["list_newest"], count, after)
        return NewestSessions(counted[0][0], list(map(_build_head, rows)))

    async def wait_for_change(self, session: SessionId, after: int) -> int:
        if self._poller is None or self._poller.done():
            self._poller = asyncio.create_task(self._poll_heads())
        while True:
            # Registered before the query: a notification between the query and the wait would otherwise be lost.
            with self._waiters.wait(session, after) as woken:
                # What this process wrote itself is still the head: nobody has notified anything else.
                head = (
                    after
                    if self._own_heads.get(session) == after
                    else await self._head_queries.call(session)
                )
                head = head if head > after else await woken
            if head > after:
                return head

    async def _poll_heads(self) -> None:
        while names := self._waiters.sessions:
            await asyncio.sleep(POLL_SECONDS)
            try:
                heads = await self._fetch_heads(names)
            except LedgerUnavailable as error:
                self._waiters.fail(error)
            else:
                for name, head in zip(names, heads, strict=True):
                    self._waiters.wake(name, head)

    async def _fetch_heads(self, names: list[SessionId]) -> list[int]:
        heads = dict(await self.fetch(_HEADS, names))
        return [heads.get(name, 0) for name in names]

    async def list_written(self, after: int | None = None) -> WrittenSessions:
        async with self._ear_lock:
            with translate_errors():
                await self._open_listener()
        if after is None:
            return WrittenSessions(self._position, frozenset())
        if after < self._deaf_until:
            return WrittenSessions(self._position, None)
        sessions = []
        for session, position in reversed(self._notified.items()):
            if position <= after:
                break
            sessions.append(session)
        return WrittenSessions(self._position, frozenset(sessions))

    @asynccontextmanager
    async def claim(self, session: SessionId) -> AsyncIterator[None]:
        # An advisory lock belongs to its connection: all claims of this process share one, which ends with the process.
        if not await self._try_claim(session):
            raise SessionBusy(
                f"session {session!r} is being run already",
                command=f"follow it with `moot watch {session}`",
            )
        try:
            yield
        finally:
            self._claimed.discard(session)
            self._forfeited.discard(session)
            self._own_heads.pop(session, None)
            with suppress(LedgerUnavailable):  # a server that is gone holds no locks
                await self._unlocks.call(session)

    async def _try_claim(self, session: SessionId) -> bool:
        # One connection may take the same advisory lock twice, so claims within this process are compared first.
        if session in self._claimed or session in self._claiming:
            return False
        self._claiming.add(session)
        taking = asyncio.ensure_future(self._finish_claim(session))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            # Whoever wanted it does not wait any more: what is taken all the same is given back.
            taking.add_done_callback(lambda taken: self._give_back(session, taken))
            raise

    async def _finish_claim(self, session: SessionId) -> bool:
        try:
            taken = await self._locks.call(session)
            if taken:
                self._claimed.add(session)
            return taken
        finally:
            self._claiming.discard(session)

    def _give_back(self, session: SessionId, taken: "asyncio.Future[bool]") -> None:
        if not taken.cancelled() and taken.exception() is None and taken.result():
            self._claimed.discard(session)
            self._unlocks.call(session).add_done_callback(
                lambda done: done.cancelled() or done.exception()
            )

    async def _query_listener(self, query: str, names: list[SessionId]) -> list[bool]:
        async with self._ear_lock:
            with translate_errors():
                return [row[0] for row in await (await self._open_listener()).fetch(query, names)]

    def _on_notification(
        self, connection: Any, process: int, channel: str, payload: object
    ) -> None:
        # What this process wrote is noted when the append returns.
        if (
            self._pen is not None
            and not self._pen.is_closed()
            and process == self._pen.get_server_pid()
        ):
            return
        for name in str(payload).split("\n"):
            self._own_heads.pop(SessionId(name), None)
            self._note_written(SessionId(name), UNKNOWN)

    def _note_written(self, session: SessionId, head: int) -> None:
        if session == HEADS:
            return
        self._position += 1
        self._notified[session] = self._position
        self._notified.move_to_end(session)
        if len(self._notified) > MAX_NOTIFIED:
            _, self._deaf_until = self._notified.popitem(last=False)
        self._waiters.wake(session, head)

    async def _write(self) -> None:
        while True:
            if not self._queue:
                self._is_settled.set()
                self._has_queued.clear()
                await self._has_queued.wait()
            # Group commit: everything that queued during the last transaction shares the next one, so one fsync serves many
            # appends.
            group, self._queue = self._queue[:MAX_GROUP], self._queue[MAX_GROUP:]
            try:
                with translate_errors():
                    results = await self._commit(group)
            except MootError as error:
                results = [error for _ in group]
            except asyncio.CancelledError:
                for each in group:
                    each.future.cancel()
                raise
            if self._heads.heads and (self._registrar is None or self._registrar.done()):
                self._registrar = asyncio.create_task(self._register_due_heads())
            settle_appends(group, results)
            # Those who wait for a change come after those who made it: a run would take its own entries for another's.
            written, self._written = self._written, []
            for name, head in written:
                self._note_written(name, head)

    async def _commit(self, group: list[QueuedAppend]) -> list[MootError | None]:
        """Write the appends; one with a stale head fails alone."""
        results: list[MootError | None] = [None] * len(group)
        left = list(range(len(group)))
        while left:
            left = await self._commit_batches(group, left, results)
        return results

    async def _commit_batches(
        self, group: list[QueuedAppend], left: list[int], results: list[MootError | None]
    ) -> list[int]:
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
        records = {
            name: group[joined[0]].records
            if len(joined) == 1
            else [r for at in joined for r in group[at].records]
            for name, joined in batches.items()
        }
        position = self._position
        written = await self._insert(records)
        for name in written:
            self._heads.add(name, records[name])
            head = records[name][-1].seq
            # Unless another process wrote to it since this append was sent: which of both is the head is then not known.
            if name in self._claimed and self._notified.get(name, 0) <= position:
                self._own_heads[name] = head
            self._written.append((name, head))
        # Another process was faster: rare, so that its own look at the head costs nothing in the common case.
        stale = [name for name in batches if name not in written]
        if stale:
            heads = dict(zip(stale, await self._fetch_heads(stale), strict=True))
            for name in stale:
                for at in batches[name]:
                    expected = group[at].records[0].seq - 1
                    results[at] = SeqConflict(name, expected, heads[name])
        return later

    async def _insert(self, batches: Mapping[SessionId, Sequence[StoredRecord]]) -> set[SessionId]:
        """Write the batches that start directly after their session's head; return their sessions."""
        columns = build_columns(batches)
        for _ in range(MAX_DEADLOCKS):
            try:
                writer = await self._open_writer()
                rows = await writer.fetch(QUERIES["append"], *columns, CHANNEL, MAX_NAMED)
                return {SessionId(name) for row in rows for name in row["ids"].split("\n")}
            except asyncpg.exceptions.DeadlockDetectedError:
                continue
            except BaseException:
                # It may be durable all the same, and its own notification is not listened to.
                self._miss_notifications()
                raise
        raise LedgerUnavailable(
            "the PostgreSQL ledger is written to by too many processes at once; repeat the call"
        )

    async def _open_writer(self) -> "asyncpg.Connection[Any]":
        """Return the connection for appends: one of its own, because a pool's connection is reset after each use."""
        if self._pen is None or self._pen.is_closed():
            self._pen = await asyncpg.connect(
                self._address, command_timeout=COMMAND_SECONDS, server_settings=self._settings
            )
        return self._pen


def _build_head(row: Sequence[Any]) -> Head:
    """Return the ends of a session from a row: its id, its first and its last record."""
    columns = tuple(row)
    return Head(SessionId(columns[0]), StoredRecord(*columns[1:5]), StoredRecord(*columns[5:9]))
