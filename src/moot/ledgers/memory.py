"""A ledger in memory: for tests, benchmarks and sessions that nobody needs to keep."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from moot.domain.ids import SessionId
from moot.domain.records import Head, StoredRecord, WrittenSessions
from moot.errors import SessionBusy
from moot.ledgers.validation import check_head, check_order


class MemoryLedger:
    def __init__(self) -> None:
        self._records: dict[SessionId, list[StoredRecord]] = {}
        self._claimed: set[SessionId] = set()
        self._waiting: dict[SessionId, asyncio.Event] = {}
        self._writes: list[SessionId] = []

    async def append(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        if not records:
            return
        check_order(session, records)
        held = self._records.get(session, [])
        # No await between this check and the write: on one event loop nobody else can append in between.
        check_head(session, records, len(held))
        self._records.setdefault(session, held).extend(records)
        self._writes.append(session)
        waiting = self._waiting.pop(session, None)
        if waiting is not None:
            waiting.set()

    async def read(self, session: SessionId, after: int = 0, limit: int | None = None) -> list[StoredRecord]:
        until = None if limit is None else after + limit
        return self._records.get(session, [])[after:until]

    async def heads(self, prefix: str = "") -> list[Head]:
        return [
            Head(session, records[0], records[-1])
            for session, records in sorted(self._records.items())
            if session.startswith(prefix)
        ]

    async def changed(self, session: SessionId, after: int) -> int:
        while len(self._records.get(session, [])) <= after:
            await self._waiting.setdefault(session, asyncio.Event()).wait()
        return len(self._records[session])

    async def written(self, after: int | None = None) -> WrittenSessions:
        now = len(self._writes)
        return WrittenSessions(now, frozenset() if after is None else frozenset(self._writes[after:now]))

    @asynccontextmanager
    async def claim(self, session: SessionId) -> AsyncIterator[None]:
        if session in self._claimed:
            raise SessionBusy(f"session {session!r} is already being run; watch it instead")
        self._claimed.add(session)
        try:
            yield
        finally:
            self._claimed.discard(session)
