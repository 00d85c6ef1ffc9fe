"""The ledger port: append-only records per session, gapless from 1."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from moot.domain.ids import SessionId
from moot.domain.records import Head, StoredRecord


class Ledger(Protocol):
    """What every ledger does; `moot.testing.ledger_contract` says it in tests."""

    async def append(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        """Add records behind the head, all or none; durable on return.

        The first record's seq must be head + 1, and they must follow each other; raises SeqConflict.
        """
        ...

    async def read(self, session: SessionId, after: int = 0, limit: int | None = None) -> list[StoredRecord]:
        """The records behind `after`, in order; empty for a session that does not exist."""
        ...

    async def heads(self, prefix: str = "") -> list[Head]:
        """Both ends of every session whose id begins with `prefix`, ordered by id."""
        ...

    async def changed(self, session: SessionId, after: int) -> int:
        """Wait until the session's head is past `after`, whoever appended; returns the head."""
        ...

    def claim(self, session: SessionId) -> AbstractAsyncContextManager[None]:
        """Hold the sole right to run the session; raises SessionBusy. Freed when the holder's process dies."""
        ...
