"""What the engine works with: its ports, and what all sessions of a process share."""

from collections.abc import Sequence
from dataclasses import dataclass

from moot.domain.ids import SessionId
from moot.domain.records import StoredRecord
from moot.engine.events import EventHub
from moot.engine.outage_log import OutageLog
from moot.engine.pauses import PauseWatch
from moot.engine.snapshot import RecordWriter
from moot.errors import SeqConflict
from moot.ports.clock import Clock
from moot.ports.ledger import Ledger
from moot.ports.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class EngineContext:
    """The ports and services that the engine works with."""

    ledger: Ledger
    writer: RecordWriter
    clock: Clock
    hub: EventHub
    pauses: PauseWatch
    outages: OutageLog
    telemetry: Telemetry

    async def append(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        """Append to the ledger, and count it; raises SeqConflict, LedgerUnavailable."""
        counts = self.telemetry.counts
        with self.telemetry.tracer.span("moot.append", session=session, entries=len(records)):
            try:
                await self.ledger.append(session, records)
            except SeqConflict:
                counts.conflicts += 1
                raise
        counts.appends += 1
        counts.entries += len(records)
