"""A ledger that counts what is read from another one."""

from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from moothall.domain.ids import SessionId
from moothall.domain.records import Head, NewestSessions, StoredRecord, WrittenSessions
from moothall.ports.ledger import Ledger


class CountingLedger:
    """Passes every call on, and counts the reads of each session."""

    def __init__(self, inner: Ledger) -> None:
        self._inner = inner
        self.reads: Counter[str] = Counter()

    async def append(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        await self._inner.append(session, records)

    async def read(
        self, session: SessionId, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        self.reads[session] += 1
        return await self._inner.read(session, after, limit)

    async def heads(self, prefix: str = "") -> list[Head]:
        self.reads[f"heads {prefix}"] += 1
        return await self._inner.heads(prefix)

    async def list_newest(self, count: int, after: int = 0) -> NewestSessions:
        self.reads["newest"] += 1
        return await self._inner.list_newest(count, after)

    async def wait_for_change(self, session: SessionId, after: int) -> int:
        return await self._inner.wait_for_change(session, after)

    async def list_written(self, after: int | None = None) -> WrittenSessions:
        return await self._inner.list_written(after)

    def claim(self, session: SessionId) -> AbstractAsyncContextManager[None]:
        return self._inner.claim(session)
