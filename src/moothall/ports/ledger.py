"""The ledger port: append-only records per session, numbered from 1 without gaps."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path
from typing import Protocol, runtime_checkable

from moothall.domain.ids import SessionId
from moothall.domain.records import (
    Head,
    NewestSessions,
    StorageReport,
    StoredRecord,
    WrittenSessions,
)
from moothall.errors import LedgerReadOnly, SessionBusy


class Ledger(Protocol):
    """A store of records. `moothall_testkit.ledger_contract` tests every implementation against this contract."""

    async def append(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        """Append records after the head, all or none; they are durable on return.

        The first record's seq must be head + 1, and the numbers must be consecutive; otherwise raises SeqConflict.
        """

    async def read(
        self, session: SessionId, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        """Return the records after `after`, in order; empty for an unknown session."""

    async def heads(self, prefix: str = "") -> list[Head]:
        """Return the first and last record of every session whose id begins with `prefix`, ordered by id.

        The register of heads, which the ledger writes itself, is not listed. Neither is it in `list_written`.
        """

    async def list_newest(self, count: int, after: int = 0) -> NewestSessions:
        """Return the sessions whose last record is the newest, the newest first, without the first `after` of them.

        Registers are not listed. Of equally old ones the last by id comes first.
        """

    async def wait_for_change(self, session: SessionId, after: int) -> int:
        """Wait until the session's head is past `after`, whichever process appended; returns the head."""

    async def list_written(self, after: int | None = None) -> WrittenSessions:
        """Return at once which sessions were written to since a position, whichever process appended, and the position now.

        Its cost depends on what was written since, not on how much there is. A position is good while this ledger is open; None
        asks for the position alone. `sessions` is None when the ledger cannot tell: anything may have been written.
        """

    def claim(self, session: SessionId) -> AbstractAsyncContextManager[None]:
        """Hold the exclusive right to run the session; raises SessionBusy. Released when the holder's process dies."""


async def is_claimed(ledger: Ledger, session: SessionId) -> bool:
    """Whether any process runs the session now: a claim is the only sign of that which all processes of a ledger share."""
    try:
        async with ledger.claim(session):
            return False
    except SessionBusy:
        return True
    except LedgerReadOnly:
        # Whoever may write to it runs it elsewhere; here it stands still.
        return False


@runtime_checkable
class LedgerUpkeep(Protocol):
    """Upkeep of a ledger, beside reading and appending. `moothall_testkit.upkeep_contract` tests it."""

    async def inspect(self, session: SessionId | None = None) -> StorageReport:
        """Check the storage itself, and return the heads that were written down beside the entries.

        For one session nothing but its head is looked at.
        """

    async def copy_to(self, path: Path) -> None:
        """Write everything as it stands at one moment to a new SQLite ledger file, while others go on writing."""

    async def remove(self, sessions: Sequence[SessionId]) -> None:
        """Remove the entries of sessions, all or none; their ids stay taken."""

    async def list_removed(self) -> list[SessionId]:
        """Return the sessions whose ids are taken and whose entries are not here, in any order."""

    async def reserve(self, heads: Mapping[SessionId, tuple[int, bytes]]) -> None:
        """Take the ids of sessions whose entries are in an archive, with the number and the hash of their last records.

        A session that is known here already stays as it is.
        """

    async def put_back(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        """Write the entries of a removed session again; raises SeqConflict if they are not those that were removed."""


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the time in UTC; never earlier than a time that it returned before."""
