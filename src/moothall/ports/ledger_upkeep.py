"""The upkeep port: what a ledger does for verification, backups and archives. A ledger may do without it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from moothall.domain.ids import SessionId
from moothall.domain.records import StorageReport, StoredRecord


@runtime_checkable
class LedgerUpkeep(Protocol):
    """Upkeep of a ledger, beside reading and appending. `moothall_testkit.upkeep_contract` tests it."""

    async def inspect(self, session: SessionId | None = None) -> StorageReport:
        """Check the storage itself, and return the heads that were written down beside the entries.

        For one session nothing but its head is looked at.
        """
        ...

    async def copy_to(self, path: Path) -> None:
        """Write everything as it stands at one moment to a new SQLite ledger file, while others go on writing."""
        ...

    async def remove(self, sessions: Sequence[SessionId]) -> None:
        """Remove the entries of sessions, all or none; their ids stay taken."""
        ...

    async def list_removed(self) -> list[SessionId]:
        """Return the sessions whose ids are taken and whose entries are not here, in any order."""
        ...

    async def reserve(self, heads: Mapping[SessionId, tuple[int, bytes]]) -> None:
        """Take the ids of sessions whose entries are in an archive, with the number and the hash of their last records.

        A session that is known here already stays as it is.
        """
        ...

    async def put_back(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        """Write the entries of a removed session again; raises SeqConflict if they are not those that were removed."""
        ...
