"""The sessions that this process knows: loads their snapshots and appends to them."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from weakref import WeakValueDictionary

from moothall import errors
from moothall.codec.stored import FactCodec
from moothall.domain import facts
from moothall.domain.budget import FREE
from moothall.domain.ids import SessionId
from moothall.domain.records import StoredRecord
from moothall.engine.context import EngineContext, EventHub, PauseWatch
from moothall.engine.given_texts import GivenTexts, list_hashes, prepare_search
from moothall.engine.outages import OutageLog
from moothall.engine.session_log import log_entries
from moothall.engine.session_loop import NEW_SECONDS, SessionRun
from moothall.engine.snapshot import AnyRulebook, FindRules, RecordWriter, Snapshot, WrittenEntry
from moothall.engine.step import StepResult, find_exceeded_budget, step
from moothall.ports.ledger import Clock, Ledger, is_claimed
from moothall.ports.telemetry import Telemetry

KNOWN_SESSIONS = 256
PAGE = 500
"""How many records are read at once where all of a session is needed, one after the other."""

ExplainAbsence = Callable[[SessionId], Awaitable[str]]
"""Says where a session went that the ledger does not have; empty if nobody knows it."""


class Sessions:
    """The shared base of the engine's operations. Its state is a cache only: everything is in the ledger."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        rulebooks: Sequence[AnyRulebook] | FindRules,
        codec: FactCodec,
        clock: Clock,
        explain_absence: ExplainAbsence | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        self._explain_absence = explain_absence
        self.texts = GivenTexts(ledger, clock)
        self._writer = RecordWriter(codec, rulebooks, self.texts.find)
        parts = (
            ledger,
            self._writer,
            clock,
            EventHub(),
            PauseWatch(clock),
            OutageLog(),
            telemetry or Telemetry(),
        )
        self.context = EngineContext(*parts)
        self._known: OrderedDict[SessionId, Snapshot] = OrderedDict()
        # What follows from a known snapshot, where nothing is to be written: all who ask for it get the same.
        self._steps: dict[SessionId, StepResult] = {}
        self._runs: dict[SessionId, SessionRun] = {}
        self._numbers: dict[str, int] = {}
        # Writers of one session in this process wait here for each other; otherwise many at once would keep losing append races.
        # Weak values: a lock disappears when nobody holds it or waits for it.
        self._queues: WeakValueDictionary[SessionId, asyncio.Lock] = WeakValueDictionary()
        self._reads: WeakValueDictionary[SessionId, asyncio.Lock] = WeakValueDictionary()

    def compute_wait(self, snapshot: Snapshot) -> float | None:
        """In how many seconds the first open ask is overdue, by the clock that judges it; None if none has a deadline."""
        # The asks that were put together are one value: among many seats there are few different ones.
        pending = {id(each): each for each in snapshot.session_state.pending.values()}.values()
        extended = [self.context.pauses.extend_deadline(each) for each in pending]
        deadlines = [deadline for deadline in extended if deadline is not None]
        if not deadlines:
            return None
        return max(0.0, (min(deadlines) - self.context.clock.now()).total_seconds())

    async def is_running(self, session: SessionId) -> bool:
        """Whether any process runs the session now."""
        return session in self._runs or await is_claimed(self.context.ledger, session)

    async def load_snapshot(self, session: SessionId) -> Snapshot:
        """Return the current snapshot of a session; folds only the records since the last call; raises UnknownSession."""
        snapshot = self._known.get(session)
        if snapshot is None:
            async for page in self.read_pages(session):
                snapshot, _ = self._writer.read_on(session, snapshot, page)
            assert snapshot is not None
            await prepare_search(snapshot.session_state.opened)
        else:
            snapshot, _ = self._writer.read_on(
                session, snapshot, await self.context.ledger.read(session, snapshot.seq)
            )
        self._cache_snapshot(snapshot)
        return snapshot

    def offer_snapshot(self, snapshot: Snapshot) -> None:
        """Take over the snapshot that a reader has folded: the first who writes need not fold a long session once more."""
        if (
            not snapshot.is_closed
            and snapshot.session not in self._known
            and len(self._known) < KNOWN_SESSIONS
        ):
            self._cache_snapshot(snapshot)

    async def read_on(
        self, session: SessionId, known: Snapshot | None = None, limit: int | None = None
    ) -> tuple[Snapshot, list[facts.Entry]]:
        """Return what follows a snapshot (None: all of it), validated, in one read of the ledger; raises UnknownSession."""
        records = await self._read(session, known.seq if known else 0, limit)
        if known is None and not records:
            raise await self.build_unknown(session)
        snapshot, entries = self._writer.read_on(session, known, records)
        if known is None:
            await prepare_search(snapshot.session_state.opened)
        return snapshot, entries

    async def load_recent(self, session: SessionId) -> Snapshot:
        """Return the snapshot that this process saw last, without a look at the ledger: for a caller that has just used it."""
        return self._known.get(session) or await self.load_snapshot(session)

    async def load_after(self, session: SessionId, after: int) -> Snapshot:
        """Return the snapshot of a session that has changed after an entry: one read for all who ask for it at once."""
        async with self._reads.setdefault(session, asyncio.Lock()):
            known = self._known.get(session)
            return (
                known
                if known is not None and known.seq > after
                else await self.load_snapshot(session)
            )

    async def entries(
        self, session: SessionId, after: int = 0, limit: int | None = None
    ) -> list[facts.Entry]:
        return [self._writer.entry(record) for record in await self._read(session, after, limit)]

    async def read_pages(self, session: SessionId) -> AsyncIterator[list[StoredRecord]]:
        """Yield a session's records page by page: a long one is never in memory as a whole; raises UnknownSession."""
        page = await self._read(session, 0, PAGE)
        if not page:
            raise await self.build_unknown(session)
        while page:
            yield page
            # One that is not full is the last: most sessions are read at once.
            page = (
                await self.context.ledger.read(session, page[-1].seq, PAGE)
                if len(page) == PAGE
                else []
            )

    async def records(self, session: SessionId) -> list[StoredRecord]:
        """Return the records exactly as the ledger stores them; raises UnknownSession."""
        records = await self._read(session)
        if not records:
            raise await self.build_unknown(session)
        return records

    async def _read(
        self, session: SessionId, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        """Return records, after making ready the texts that their opening names by hash."""
        records = await self.context.ledger.read(session, after, limit)
        if after == 0 and records:
            await self.texts.load(list_hashes(records[0].body))
        return records

    def list_texts(self, opening: StoredRecord) -> dict[str, str]:
        """The texts of an opening that was just read, by their hashes."""
        texts: dict[str, str] = {}
        for digest in list_hashes(opening.body):
            text = self.texts.find(digest)
            if text is not None:
                texts[digest] = text
        return texts

    async def build_unknown(self, session: SessionId) -> errors.UnknownSession:
        where = await self._explain_absence(session) if self._explain_absence is not None else ""
        if where:
            return errors.UnknownSession(where)
        return errors.UnknownSession(
            f"no session is called {session!r}", command=errors.LIST_SESSIONS
        )

    def entry(self, record: StoredRecord) -> facts.Entry:
        return self._writer.entry(record)

    async def wait_for_change(self, session: SessionId, after: int) -> int:
        """Wait until the session's head is past `after`, whichever process appended; returns the head."""
        known = self._known.get(session)
        if known is not None and known.seq > after:
            return known.seq
        return await self.context.ledger.wait_for_change(session, after)

    async def _append(
        self, session: SessionId, choose: Callable[[Snapshot], facts.Fact | None]
    ) -> facts.Entry | None:
        """Append what `choose` returns for the newest snapshot, if anything; after each lost race it is called again."""
        while True:
            snapshot = await self.load_snapshot(session)
            fact = choose(snapshot)
            if fact is None:
                return None
            if snapshot.is_closed:
                raise errors.SessionClosed(
                    f"session {session!r} has ended",
                    command="`moot fork` goes on from an earlier entry",
                )
            after, written = self._writer.write(snapshot, self.context.clock.now(), fact)
            if await self._commit(after, [written]):
                return written.entry

    async def _commit(self, after: Snapshot, written: Sequence[WrittenEntry]) -> bool:
        parked = after.session_state.parked
        if parked is not None and not isinstance(written[-1].entry.fact, facts.SessionParked):
            # Lists of sessions read the last entry alone: it must say that the session is still parked.
            after, again = self._writer.write(
                after, self.context.clock.now(), replace(parked, usage=FREE)
            )
            written = [*written, again]
        try:
            await self.context.append(after.session, [each.record for each in written])
        except errors.SeqConflict:
            return False
        self.context.telemetry.counts.ended += after.is_closed
        log_entries(after.session, [each.entry for each in written])
        self._cache_snapshot(after)
        run = self._runs.get(after.session)
        if run is not None:
            # Wakes the loop at once; without this it would notice the entry at the next poll of the ledger.
            run.notify_appended()
        return True

    def _compute_step(self, snapshot: Snapshot, *, is_left: bool = True) -> StepResult:
        """Return the state after everything that follows from the entries; nothing is written here.

        If no process has run the session for a while (`is_left`), that time does not count.
        """
        if snapshot.is_closed:
            return StepResult(snapshot, [])
        now = self.context.clock.now()
        known = self._steps.get(snapshot.session)
        if (
            known is not None
            and known.snapshot is snapshot
            and find_exceeded_budget(snapshot, now, now) is None
        ):
            return known
        outside = frozenset([seat.id for seat in snapshot.session_state.seats if seat.is_outside])
        is_late = (
            is_left
            and not snapshot.session_state.is_waiting_outside
            and snapshot.session_state.parked is None
            and (now - snapshot.session_state.ran_at).total_seconds() > NEW_SECONDS
        )
        batch = step(self._writer, snapshot, (), now, outside, since=now)
        # SessionResumed is only written together with another entry: looking at a session must not write to it.
        if not batch.written:
            if self._known.get(snapshot.session) is snapshot:
                self._steps[snapshot.session] = batch
            return batch
        if not is_late:
            return batch
        return step(self._writer, snapshot, [facts.SessionResumed()], now, outside, since=now)

    def _queue(self, session: SessionId) -> asyncio.Lock:
        return self._queues.setdefault(session, asyncio.Lock())

    def _cache_snapshot(self, snapshot: Snapshot) -> None:
        self._known[snapshot.session] = snapshot
        self._known.move_to_end(snapshot.session)
        if snapshot.is_closed:
            self._steps.pop(snapshot.session, None)
        if len(self._known) > KNOWN_SESSIONS:
            oldest, _ = self._known.popitem(last=False)
            self._steps.pop(oldest, None)
