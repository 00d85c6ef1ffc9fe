"""The engine's public operations: open, run, answer, give input, cancel, watch, fork, replay."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime

from moothall import errors
from moothall.domain import facts
from moothall.domain.ids import SeatId, SessionId, daily_id, daily_prefix
from moothall.domain.limits import validate_value
from moothall.domain.records import StoredRecord
from moothall.domain.roster import (
    HELPING_SEATS,
    MAX_SEATS,
    Seat,
    Swap,
    validate_seats,
    validate_swaps,
)
from moothall.domain.safe_text import fix_surrogates
from moothall.engine.context import EntryAdded, Event, EventQueue
from moothall.engine.given_texts import prepare_search
from moothall.engine.outside_answers import MAX_REASON_LENGTH, OutsideAnswers
from moothall.engine.owned_groups import pair_answers
from moothall.engine.session_log import log_entries
from moothall.engine.session_loop import ParticipantFactory, SessionRun
from moothall.engine.snapshot import Replay, ReplayResult, Snapshot, replay_records

CheckFamily = Callable[[Snapshot, Seat], None]
"""Raises if a seat may not state another model family now."""


def _name_outcome(result: Snapshot) -> str:
    if result.is_closed:
        return "closed"
    if result.session_state.parked is None:
        return "waiting"
    return "parked"


class Engine(OutsideAnswers):
    """All operations on sessions. Create one per process and ledger."""

    async def open(
        self,
        opened: facts.Opened,
        session: SessionId | None = None,
        then: Sequence[facts.Entry] = (),
        at: datetime | None = None,
    ) -> SessionId:
        """Record a new session, under `session` or the next free id of the day; raises SessionExists.

        `then` are entries that the session has from the start: everything is written in one append, or nothing is. `at` is the
        time of the opening.
        """
        # Fails for an unknown kind of opening before anything is written.
        self._writer.rules_for(opened)
        await self.texts.store(opened.subject.given)
        await prepare_search(opened)
        now = self.context.clock.now()
        while True:
            name = session or await self._next_id(now)
            snapshot, written = self._writer.write_opening(name, opened, at or now)
            records = [written.record]
            for entry in then:
                snapshot, line = self._writer.write(snapshot, entry.at, entry.fact)
                records.append(line.record)
            try:
                await self.context.append(name, records)
            except errors.SeqConflict as cause:
                if session is not None:
                    raise errors.SessionExists(
                        f"session {session!r} exists already; choose another id"
                    ) from cause
                # Another process took this number: forget the counter, so that `_next_id` reads the ledger again.
                self._numbers.clear()
                continue
            self._cache_snapshot(snapshot)
            log_entries(name, [written.entry])
            return name

    async def _next_id(self, now: datetime) -> SessionId:
        prefix = daily_prefix(now)
        if prefix not in self._numbers:
            taken = [
                head.session[len(prefix) :] for head in await self.context.ledger.heads(prefix)
            ]
            # Ids that users chose may share the prefix: only plain numbers count, and a huge one must not become the start of the
            # series.
            self._numbers[prefix] = max(
                (int(number) for number in taken if number.isdigit() and len(number) < 10),
                default=0,
            )
        self._numbers[prefix] += 1
        return daily_id(now, self._numbers[prefix])

    async def run(
        self,
        session: SessionId,
        seating: ParticipantFactory,
        *,
        wait_outside: bool | float = False,
        loaded: Snapshot | None = None,
    ) -> Snapshot:
        """Run a session until it is closed, is parked, or waits only for outside seats; raises SessionBusy.

        `wait_outside` is for how many seconds from now on outside seats are waited for here; True sets no limit. `loaded` is the
        snapshot where the caller has just loaded it: what was written since, the first append finds out.
        """
        tracer = self.context.telemetry.tracer
        async with self.context.ledger.claim(session):
            run = SessionRun(
                self.context,
                loaded or await self.load_snapshot(session),
                seating,
                wait_outside=wait_outside,
            )
            self._runs[session] = run
            try:
                with tracer.span(
                    "moot.advance", session=session, protocol=run.snapshot.rules.name
                ) as span:
                    result = await run.run()
                    span.note(outcome=_name_outcome(result))
                return result
            except* Exception as group:  # noqa: BLE001
                # Callers expect the loop's own failure (such as a full disk), not the exception group of the TaskGroup.
                raise group.exceptions[0] from None
            finally:
                del self._runs[session]
                self._cache_snapshot(run.snapshot)

    async def give_input(self, session: SessionId, text: str, key: str = "") -> facts.Entry | None:
        """Record a message of the user; None if it is already recorded under this key. Raises SessionClosed, KeyReused."""
        given = facts.InputGiven(text=fix_surrogates(text).strip(), key=fix_surrogates(key))
        validate_value("the input", given.text, facts.RequiredInput)
        validate_value("the key", given.key, facts.Key)
        entry = await self._append(
            session,
            lambda snapshot: (
                None if key and given.key in snapshot.session_state.input_keys else given
            ),
        )
        if entry is None:
            said = (
                each.fact
                for each in await self.entries(session)
                if isinstance(each.fact, facts.InputGiven)
            )
            if given.text not in (fact.text for fact in said if fact.key == given.key):
                raise errors.KeyReused(
                    f"the key {key!r} came before, with other words; a new input needs a new key"
                )
        return entry

    async def group_answers(
        self, session: SessionId, answers: Sequence[str], *, joined: bool, origin: str
    ) -> facts.Entry:
        """Record that the owner counts these answers as one, or as different ones (Q-3).

        Raises SessionClosed, and BadSetting for words that no seat has answered with.
        """

        def build(snapshot: Snapshot) -> facts.AnswersGrouped:
            pairs = pair_answers(snapshot.state, answers, joined=joined)
            return facts.AnswersGrouped(pairs=pairs, origin=origin)

        entry = await self._append(session, build)
        assert entry is not None
        return entry

    async def cancel(self, session: SessionId, reason: str = "") -> facts.Entry:
        """End a session without a conclusion; raises SessionClosed if it has ended already."""
        cancelled = facts.SessionCancelled(reason=fix_surrogates(reason)[:MAX_REASON_LENGTH])
        entry = await self._append(session, lambda snapshot: cancelled)
        assert entry is not None
        return entry

    async def swap(self, session: SessionId, swaps: Sequence[Swap]) -> None:
        """Fill seats with other participants from here on; raises BadRoster, SessionBusy, SessionClosed."""
        async with self.context.ledger.claim(session):
            await self._append(
                session,
                lambda snapshot: facts.SeatsSwapped(
                    swaps=validate_swaps(snapshot.session_state.seats, swaps)
                ),
            )

    async def state_family(
        self, session: SessionId, seat: SeatId, family: str, *, via: str = "", check: CheckFamily
    ) -> None:
        """Record which model family an agent from outside is of; the same one again changes nothing. `check` may refuse it.

        Raises UnknownSeat, BadRoster, SessionClosed, and what `check` raises.
        """

        def choose(snapshot: Snapshot) -> facts.FamilyStated | None:
            held = next((each for each in snapshot.session_state.seats if each.id == seat), None)
            if held is None or not held.is_outside:
                outside = (
                    ", ".join(each.id for each in snapshot.session_state.seats if each.is_outside)
                    or "none"
                )
                raise errors.UnknownSeat(
                    f"{seat!r} is no seat for an agent from outside in {session!r}; those are: {outside}"
                )
            if held.family == family:
                return None
            check(snapshot, held)
            validate_seats([replace(held, family=family)])
            return facts.FamilyStated(seat=seat, family=family, origin=fix_surrogates(via))

        await self._append(session, choose)

    async def watch(self, session: SessionId, after: int = 0) -> AsyncIterator[Event]:
        """Yield every entry after `after`, and text while this process produces it; ends when the session is closed."""
        snapshot = await self.load_snapshot(session)
        if snapshot.is_closed and snapshot.seq <= after:
            return
        # Two sources feed one queue: the hub (fast, but only for sessions that run in this process) and the ledger (complete, but
        # later). Subscribing before reading leaves no gap between the two; the sequence number removes the duplicates.
        with self.context.hub.listen(session) as queue:
            tail = asyncio.create_task(self._follow_ledger(session, after, queue))
            try:
                while True:
                    event = await _get_next_event(queue, tail)
                    if isinstance(event, EntryAdded):
                        if event.entry.seq <= after:
                            continue
                        # The hub drops events of a watcher that is too slow: the ledger fills the gap, so that no entry is lost.
                        if event.entry.seq > after + 1:
                            for entry in await self.entries(
                                session, after, event.entry.seq - after - 1
                            ):
                                yield EntryAdded(session, entry)
                        after = event.entry.seq
                    yield event
                    if isinstance(event, EntryAdded) and isinstance(event.entry.fact, facts.Closed):
                        return
            finally:
                tail.cancel()

    async def fork(
        self, session: SessionId, at: int, swaps: Sequence[Swap] = (), name: SessionId | None = None
    ) -> SessionId:
        """Create a session that continues from entry `at` of another one, with some seats swapped; raises BadSetting."""
        records = await self.records(session)
        if not 1 <= at <= len(records):
            raise errors.BadSetting(
                f"entry {at} does not exist in {session!r}; it has 1 to {len(records)}"
            )
        entries = [self._writer.entry(record) for record in records[:at]]
        if isinstance(entries[-1].fact, facts.Closed):
            raise errors.BadSetting(
                f"{session!r} was closed by entry {at}; fork it at {at - 1} or earlier"
            )
        opened = entries[0].fact
        assert isinstance(opened, facts.Opened)
        validate_swaps(opened.seats, swaps)
        forked = facts.SessionForked(source=session, entry=at, swaps=tuple(swaps))
        now = self.context.clock.now()
        then = [*entries[1:], facts.Entry(seq=at + 1, at=now, fact=forked)]
        copied = replace(opened, forked_from=session, words_digest="")
        return await self.open(copied, name, then, entries[0].at)

    async def restore(
        self,
        session: SessionId,
        records: Sequence[StoredRecord],
        before_writing: Callable[[], Awaitable[None]],
    ) -> None:
        """Write an exported session back, record for record; raises LedgerDamaged, ReplayDiffers or SessionExists.

        The author of the file can compute a valid hash chain, so the content is also replayed against its rulebook.
        """
        replayed = replay_records(self._writer, session, list(records))
        # An export can come from a protocol that added helping seats to a full roster.
        validate_seats(replayed.snapshot.session_state.opened.seats, most=MAX_SEATS + HELPING_SEATS)
        taken = f"session {session!r} exists already in this ledger"
        is_archived = self._explain_absence is not None and await self._explain_absence(session)
        if is_archived or any(
            head.session == session for head in await self.context.ledger.heads(session)
        ):
            raise errors.SessionExists(taken)
        await before_writing()
        try:
            await self.context.append(session, records)
        except errors.SeqConflict as cause:
            raise errors.SessionExists(taken) from cause

    async def replay(self, session: SessionId) -> ReplayResult:
        """Fold the ledger again without asking any participant; raises ReplayDiffers or LedgerDamaged."""
        replay = Replay(self._writer, session)
        async for page in self.read_pages(session):
            replay.add(page)
        return replay.finish()

    async def _follow_ledger(self, session: SessionId, after: int, queue: EventQueue) -> None:
        while True:
            for entry in await self.entries(session, after):
                await queue.put(EntryAdded(session, entry))
                after = entry.seq
            await self.context.ledger.wait_for_change(session, after)


async def _get_next_event(queue: EventQueue, tail: asyncio.Task[None]) -> Event:
    """Return the next event; raises the error that ended `tail`, so that no watcher waits for a ledger that has failed."""
    if not queue.empty():
        return queue.get_nowait()
    next_event = asyncio.ensure_future(queue.get())
    try:
        await asyncio.wait([next_event, tail], return_when=asyncio.FIRST_COMPLETED)
        # Only a failure ends the tail: awaiting it raises that failure here.
        if not next_event.done():
            await tail
        return await next_event
    finally:
        next_event.cancel()
