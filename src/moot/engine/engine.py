"""The engine's doors: open, run, answer, give input, cancel, watch, fork, replay, verify."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from moot.codec.chain import find_chain_fault
from moot.domain.facts import (
    Closed,
    Entry,
    InputGiven,
    Opened,
    SessionCancelled,
    SessionForked,
)
from moot.domain.ids import SessionId, daily_id, daily_prefix
from moot.domain.records import StoredRecord
from moot.domain.roster import HELPING_SEATS, MOST_SEATS, Swap, validate_swaps
from moot.domain.roster import validate_seats as checked_seats
from moot.domain.safe_text import fix_surrogates
from moot.engine.events import EntryAdded, Event, EventQueue
from moot.engine.outside_answers import LONGEST_KEY, LONGEST_REASON, OutsideAnswers
from moot.engine.replay import ReplayResult, replay_records
from moot.engine.session_loop import ParticipantFactory, SessionRun
from moot.engine.snapshot import Snapshot
from moot.errors import (
    BadSetting,
    SeqConflict,
    SessionExists,
)

LONGEST_INPUT = 20_000


class Engine(OutsideAnswers):
    """All of the doors. One per process and ledger."""

    async def open(
        self, opened: Opened, session: SessionId | None = None, then: Sequence[Entry] = (), at: datetime | None = None
    ) -> SessionId:
        """Record a new session, under `session` or the next free id of the day; raises SessionExists.

        `then` are entries that belong to it from the beginning: all of it is written, or nothing. `at` is the opening's time.
        """
        self._writer.rules_for(opened)
        now = self._world.clock.now()
        while True:
            name = session or await self._next_id(now)
            snapshot, written = self._writer.write_opening(name, opened, at or now)
            records = [written.record]
            for entry in then:
                snapshot, line = self._writer.write(snapshot, entry.at, entry.fact)
                records.append(line.record)
            try:
                await self._world.ledger.append(name, records)
            except SeqConflict as cause:
                if session is not None:
                    raise SessionExists(f"session {session!r} exists already; choose another id") from cause
                self._numbers.clear()
                continue
            self._cache_snapshot(snapshot)
            return name

    async def _next_id(self, now: datetime) -> SessionId:
        prefix = daily_prefix(now)
        if prefix not in self._numbers:
            taken = [head.session[len(prefix) :] for head in await self._world.ledger.heads(prefix)]
            self._numbers[prefix] = max((int(number) for number in taken if number.isdigit() and len(number) < 10), default=0)
        self._numbers[prefix] += 1
        return daily_id(now, self._numbers[prefix])

    async def run(self, session: SessionId, seating: ParticipantFactory, *, wait_outside: bool = False) -> Snapshot:
        """Run a session until it is closed or waits for seats outside only; raises SessionBusy."""
        async with self._world.ledger.claim(session):
            run = SessionRun(self._world, await self.load_snapshot(session), seating, wait_outside=wait_outside)
            self._runs[session] = run
            try:
                return await run.run()
            except* Exception as group:  # noqa: BLE001
                # The loop's own failure (a full disk, say), not the group that carried it out.
                raise group.exceptions[0] from None
            finally:
                del self._runs[session]
                self._cache_snapshot(run.snapshot)

    async def give_input(self, session: SessionId, text: str, key: str = "") -> Entry | None:
        """Put in a word of the user's; None when an input with this key is on record already. Raises SessionClosed."""
        if not text.strip():
            raise BadSetting("the input is empty; say what the meeting should hear")
        if len(text) > LONGEST_INPUT:
            raise BadSetting(f"the input has {len(text)} characters; at most {LONGEST_INPUT} are taken")
        if len(key) > LONGEST_KEY:
            raise BadSetting(f"the key has {len(key)} characters; at most {LONGEST_KEY} are taken")
        while True:
            snapshot = await self.load_snapshot(session)
            if key and key in snapshot.session_state.input_keys:
                return None
            entry = await self._append(snapshot, InputGiven(text=fix_surrogates(text).strip(), key=fix_surrogates(key)))
            if entry is not None:
                return entry

    async def cancel(self, session: SessionId, reason: str = "") -> Entry:
        """End a session without a conclusion; raises SessionClosed when it has ended already."""
        while True:
            entry = await self._append(
                await self.load_snapshot(session), SessionCancelled(reason=fix_surrogates(reason)[:LONGEST_REASON])
            )
            if entry is not None:
                return entry

    async def watch(self, session: SessionId, after: int = 0) -> AsyncIterator[Event]:
        """Every entry behind `after`, and, while this process runs the session, text as it is produced; ends at the close."""
        snapshot = await self.load_snapshot(session)
        if snapshot.is_closed and snapshot.seq <= after:
            return
        bag = self._world.hub.subscribe(session)
        tail = asyncio.create_task(self._follow_ledger(session, after, bag))
        try:
            while True:
                event = await _get_next_event(bag, tail)
                if isinstance(event, EntryAdded):
                    if event.entry.seq <= after:
                        continue
                    if event.entry.seq > after + 1:
                        for entry in await self.entries(session, after, event.entry.seq - after - 1):
                            yield EntryAdded(session, entry)
                    after = event.entry.seq
                yield event
                if isinstance(event, EntryAdded) and isinstance(event.entry.fact, Closed):
                    return
        finally:
            tail.cancel()
            self._world.hub.unsubscribe(session, bag)

    async def fork(self, session: SessionId, at: int, swaps: Sequence[Swap] = (), name: SessionId | None = None) -> SessionId:
        """A new session that goes on from entry `at` of another, with some seats swapped; raises BadSetting."""
        records = await self.records(session)
        if not 1 <= at <= len(records):
            raise BadSetting(f"entry {at} does not exist in {session!r}; it has 1 to {len(records)}")
        entries = [self._writer.entry(record) for record in records[:at]]
        if isinstance(entries[-1].fact, Closed):
            raise BadSetting(f"{session!r} was closed by entry {at}; fork it at {at - 1} or earlier")
        opened = entries[0].fact
        assert isinstance(opened, Opened)
        validate_swaps(opened.seats, swaps)
        forked = SessionForked(source=session, at=at, swaps=tuple(swaps))
        now = self._world.clock.now()
        then = [*entries[1:], Entry(seq=at + 1, at=now, fact=forked)]
        return await self.open(opened, name, then, entries[0].at)

    async def restore(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        """Write an exported ledger back, record for record; raises LedgerDamaged, ReplayDiffers or SessionExists.

        A chain can be forged by whoever writes the file, so that what stands in it must also be what its rulebook allows.
        """
        found = replay_records(self._writer, session, list(records))
        checked_seats(found.snapshot.session_state.opened.seats, most=MOST_SEATS + HELPING_SEATS)
        try:
            await self._world.ledger.append(session, records)
        except SeqConflict as cause:
            raise SessionExists(f"session {session!r} exists already in this ledger") from cause

    async def replay(self, session: SessionId) -> ReplayResult:
        """Fold the ledger again, without asking anyone; raises ReplayDiffers or LedgerDamaged."""
        return replay_records(self._writer, session, await self.records(session))

    async def verify(self, session: SessionId) -> str | None:
        """What is wrong with a session's chain; None if nothing is."""
        return find_chain_fault(session, await self.records(session))

    async def _follow_ledger(self, session: SessionId, after: int, bag: EventQueue) -> None:
        while True:
            for entry in await self.entries(session, after):
                await bag.put(EntryAdded(session, entry))
                after = entry.seq
            await self._world.ledger.changed(session, after)


async def _get_next_event(bag: EventQueue, tail: asyncio.Task[None]) -> Event:
    """The next event; raises what ended the tail, so that nobody waits for a ledger that has failed."""
    if not bag.empty():
        return bag.get_nowait()
    coming = asyncio.ensure_future(bag.get())
    try:
        await asyncio.wait([coming, tail], return_when=asyncio.FIRST_COMPLETED)
        if not coming.done():
            await tail
        return await coming
    finally:
        coming.cancel()
