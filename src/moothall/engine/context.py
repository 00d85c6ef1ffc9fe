"""What the engine works with: its ports, and what all sessions of a process share."""

from collections.abc import Sequence
from dataclasses import dataclass

from moothall.domain.ids import SessionId
from moothall.domain.records import StoredRecord
from moothall.engine.events import EventHub
from moothall.engine.outage_log import OutageLog
from moothall.engine.pauses import PauseWatch
from moothall.engine.snapshot import RecordWriter
from moothall.errors import SeqConflict
from moothall.ports.ledger import Clock, Ledger
from moothall.ports.telemetry import Telemetry


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
