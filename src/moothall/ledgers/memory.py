"""A ledger in memory: for tests, benchmarks and sessions that nobody needs to keep."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from moothall.codec.chain import EMPTY_REGISTER, HEADS, ChainEnd
from moothall.domain.ids import SessionId, is_register
from moothall.domain.records import (
    Head,
    NewestSessions,
    StorageReport,
    StoredRecord,
    WrittenSessions,
)
from moothall.errors import SeqConflict, SessionBusy
from moothall.ledgers.append_checks import (
    ChangeWaiters,
    PendingHeads,
    check_head,
    check_order,
    seal_now,
)


class MemoryLedger:
    def __init__(self) -> None:
        self._records: dict[SessionId, list[StoredRecord]] = {}
        self._claimed: set[SessionId] = set()
        self._waiters = ChangeWaiters()
        self._writes: list[SessionId] = []
        self._heads = PendingHeads()
        self._removed: dict[SessionId, tuple[int, bytes]] = {}

    async def append(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        if not records:
            return
        check_order(session, records)
        held = self._records.get(session, [])
        # No await between this check and the write: on one event loop nobody else can append in between.
        check_head(
            session, records, self._removed[session][0] if session in self._removed else len(held)
        )
        self._records.setdefault(session, held).extend(records)
        self._heads.add(session, records)
        if self._heads.is_due:
            register = self._records.setdefault(HEADS, [])
            end = (
                ChainEnd(register[-1].seq, register[-1].at, register[-1].hash)
                if register
                else EMPTY_REGISTER
            )
            register.extend(seal_now(end, self._heads.take()))
        if session != HEADS:
            self._writes.append(session)
        self._waiters.wake(session, records[-1].seq)

    async def read(
        self, session: SessionId, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        until = None if limit is None else after + limit
        return self._records.get(session, [])[after:until]

    async def heads(self, prefix: str = "") -> list[Head]:
        return [
            Head(session, records[0], records[-1])
            for session, records in sorted(self._records.items())
            if session.startswith(prefix) and session != HEADS
        ]

    async def list_newest(self, count: int, after: int = 0) -> NewestSessions:
        heads = [head for head in await self.heads() if not is_register(head.session)]
        heads.sort(key=lambda head: (head.last.at, head.session), reverse=True)
        return NewestSessions(len(heads), heads[after : after + count])

    async def wait_for_change(self, session: SessionId, after: int) -> int:
        head = len(self._records.get(session, []))
        if head > after:
            return head
        with self._waiters.wait(session, after) as woken:
            return await woken

    async def list_written(self, after: int | None = None) -> WrittenSessions:
        now = len(self._writes)
        return WrittenSessions(
            now, frozenset() if after is None else frozenset(self._writes[after:now])
        )

    async def inspect(self, session: SessionId | None = None) -> StorageReport:
        heads = {
            name: (records[-1].seq, records[-1].hash) for name, records in self._records.items()
        } | self._removed
        return StorageReport(
            [], {name: head for name, head in heads.items() if session in {None, name}}
        )

    async def copy_to(self, path: Path) -> None:
        from moothall.ledgers.sqlite_file import write_copy

        with write_copy(path) as add:
            for session, records in self._records.items():
                add(session, records)

    async def remove(self, sessions: Sequence[SessionId]) -> None:
        for session in sessions:
            last = self._records.pop(session)[-1]
            self._removed[session] = (last.seq, last.hash)

    async def list_removed(self) -> list[SessionId]:
        return list(self._removed)

    async def reserve(self, heads: Mapping[SessionId, tuple[int, bytes]]) -> None:
        self._removed |= {
            session: head for session, head in heads.items() if session not in self._records
        }

    async def put_back(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        head = self._removed.get(session, (0, b""))
        if head != (records[-1].seq, records[-1].hash):
            raise SeqConflict(session, records[-1].seq, head[0])
        del self._removed[session]
        self._records[session] = list(records)

    @asynccontextmanager
    async def claim(self, session: SessionId) -> AsyncIterator[None]:
        if session in self._claimed:
            raise SessionBusy(
                f"session {session!r} is being run already",
                command=f"follow it with `moot watch {session}`",
            )
        self._claimed.add(session)
        try:
            yield
        finally:
            self._claimed.discard(session)
