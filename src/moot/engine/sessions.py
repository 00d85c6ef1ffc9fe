"""Sessions as this process knows them: where each stands, and how it is written on."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from weakref import WeakValueDictionary

from moot.codec.stored import FactCodec
from moot.domain.facts import (
    Entry,
    Fact,
    SessionResumed,
)
from moot.domain.ids import SessionId
from moot.domain.records import Head, StoredRecord
from moot.engine.events import EventHub
from moot.engine.session_loop import NEW_SECONDS, EngineContext, SessionRun
from moot.engine.snapshot import AnyRulebook, RecordWriter, Snapshot, Wrap, WrittenEntry, use_own_rules
from moot.engine.step import StepResult, step
from moot.errors import (
    SeqConflict,
    SessionBusy,
    SessionClosed,
    UnknownSession,
)
from moot.ports.clock import Clock
from moot.ports.ledger import Ledger

KNOWN_SESSIONS = 256


class Sessions:
    """One per process and ledger. All of its state can be lost: the ledger has everything."""

    def __init__(
        self, *, ledger: Ledger, rulebooks: Sequence[AnyRulebook], codec: FactCodec, clock: Clock, wrap: Wrap = use_own_rules
    ) -> None:
        self._writer = RecordWriter(codec, rulebooks, wrap)
        self._world = EngineContext(ledger, self._writer, clock, EventHub())
        self._known: OrderedDict[SessionId, Snapshot] = OrderedDict()
        self._runs: dict[SessionId, SessionRun] = {}
        self._numbers: dict[str, int] = {}
        # Writers of one session queue here, so that many at once do not spoil each other's appends.
        self._queues: WeakValueDictionary[SessionId, asyncio.Lock] = WeakValueDictionary()

    async def is_running(self, session: SessionId) -> bool:
        """Whether some process runs the session now."""
        if session in self._runs:
            return True
        try:
            async with self._world.ledger.claim(session):
                return False
        except SessionBusy:
            return True

    async def load_snapshot(self, session: SessionId) -> Snapshot:
        """Where a session stands now; folds only what is new since the last look; raises UnknownSession."""
        known = self._known.get(session)
        records = await self._world.ledger.read(session, known.seq if known else 0)
        if known is None and not records:
            raise UnknownSession(f"no session is called {session!r}; `moot list` shows those that exist")
        snapshot = self._writer.apply_records(known, records) if known else self._writer.load(session, records)
        self._cache_snapshot(snapshot)
        return snapshot

    async def entries(self, session: SessionId, after: int = 0, limit: int | None = None) -> list[Entry]:
        """The entries behind `after`."""
        return [self._writer.entry(record) for record in await self._world.ledger.read(session, after, limit)]

    async def records(self, session: SessionId) -> list[StoredRecord]:
        """The records as they lie in the ledger; raises UnknownSession."""
        found = await self._world.ledger.read(session)
        if not found:
            raise UnknownSession(f"no session is called {session!r}; `moot list` shows those that exist")
        return found

    async def heads(self, prefix: str = "") -> list[Head]:
        return await self._world.ledger.heads(prefix)

    def entry(self, record: StoredRecord) -> Entry:
        return self._writer.entry(record)

    async def wait_for_change(self, session: SessionId, after: int) -> int:
        """Wait until the session's head is past `after`, whoever appended; returns the head."""
        return await self._world.ledger.changed(session, after)

    async def _append(self, snapshot: Snapshot, fact: Fact) -> Entry | None:
        """Write a fact; None when somebody else wrote first."""
        if snapshot.is_closed:
            raise SessionClosed(f"session {snapshot.session!r} has ended; `moot fork` goes on from an earlier entry")
        after, written = self._writer.write(snapshot, self._world.clock.now(), fact)
        return written.entry if await self._commit(after, [written]) else None

    async def _commit(self, after: Snapshot, written: Sequence[WrittenEntry]) -> bool:
        try:
            await self._world.ledger.append(after.session, [each.record for each in written])
        except SeqConflict:
            return False
        self._cache_snapshot(after)
        run = self._runs.get(after.session)
        if run is not None:
            run.notify_appended()
        return True

    def _compute_step(self, snapshot: Snapshot, *, is_left: bool = True) -> StepResult:
        """Where the session stands once all that follows from its entries is written; nothing is written here.

        Where no process ran it for a while (`is_left`), that time does not count.
        """
        if snapshot.is_closed:
            return StepResult(snapshot, [])
        now = self._world.clock.now()
        outside = frozenset(seat.id for seat in snapshot.session_state.seats if seat.is_outside)
        is_late = (
            is_left
            and not snapshot.session_state.is_parked
            and (now - snapshot.session_state.ran_at).total_seconds() > NEW_SECONDS
        )
        batch = step(self._writer, snapshot, (), now, outside, since=now)
        if not is_late or not batch.written:
            return batch
        return step(self._writer, snapshot, [SessionResumed()], now, outside, since=now)

    def _queue(self, session: SessionId) -> asyncio.Lock:
        return self._queues.setdefault(session, asyncio.Lock())

    def _cache_snapshot(self, snapshot: Snapshot) -> None:
        self._known[snapshot.session] = snapshot
        self._known.move_to_end(snapshot.session)
        if len(self._known) > KNOWN_SESSIONS:
            self._known.popitem(last=False)
