"""The engine's doors: open, run, answer, give input, cancel, watch, fork, replay, verify."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from weakref import WeakValueDictionary

from moot.codec.answers import parsed, reply
from moot.codec.chain import broken_at
from moot.codec.stored import FactCodec
from moot.domain.budget import FREE
from moot.domain.desk import Pending
from moot.domain.effects import Ask, Brief
from moot.domain.facts import (
    CloseCalled,
    Closed,
    Entry,
    Fact,
    InputGiven,
    Loss,
    Opened,
    Reply,
    SeatLost,
    SessionCancelled,
    SessionForked,
    SessionResumed,
)
from moot.domain.fence import sound
from moot.domain.ids import AskId, SeatId, SessionId, daily_id, daily_prefix
from moot.domain.records import Head, Stored
from moot.domain.roster import HELPING_SEATS, MOST_SEATS, Swap, checked_swaps
from moot.domain.roster import checked as checked_seats
from moot.engine.batch import Batch, step
from moot.engine.events import EntryAdded, Event, Hub, Mailbag
from moot.engine.replay import Replayed, replayed
from moot.engine.run import NEW_SECONDS, Seating, SessionRun, World
from moot.engine.standing import AnyRulebook, Scribe, Standing, Wrap, Written, unwrapped
from moot.errors import (
    BadAnswer,
    BadSetting,
    KeyReused,
    OutOfTurn,
    SeqConflict,
    SessionBusy,
    SessionClosed,
    SessionExists,
    UnknownAsk,
    UnknownSeat,
    UnknownSession,
)
from moot.ports.clock import Clock
from moot.ports.ledger import Ledger

KNOWN_SESSIONS = 256
LONGEST_INPUT = 20_000
LONGEST_KEY = 200
LONGEST_REASON = 2_000


@dataclass(frozen=True, slots=True)
class Outstanding:
    """An ask that waits for an answer, or an invitation that one may take up."""

    ask: Ask
    pending: Pending
    brief: Brief


SaidBefore = Callable[[Standing], int | None]
"""The entry that holds what is being said already; it may raise where nothing may be said."""

Choice = Callable[[Batch], Ask | None]
"""Picks the ask that an answer is for; None when nothing is asked that it could be for."""


class Engine:
    """One per process and ledger. All of its state can be lost: the ledger has everything."""

    def __init__(
        self, *, ledger: Ledger, rulebooks: Sequence[AnyRulebook], codec: FactCodec, clock: Clock, wrap: Wrap = unwrapped
    ) -> None:
        self._scribe = Scribe(codec, rulebooks, wrap)
        self._world = World(ledger, self._scribe, clock, Hub())
        self._known: OrderedDict[SessionId, Standing] = OrderedDict()
        self._runs: dict[SessionId, SessionRun] = {}
        self._numbers: dict[str, int] = {}
        # Writers of one session queue here, so that many at once do not spoil each other's appends.
        self._queues: WeakValueDictionary[SessionId, asyncio.Lock] = WeakValueDictionary()

    async def open(
        self, opened: Opened, session: SessionId | None = None, then: Sequence[Entry] = (), at: datetime | None = None
    ) -> SessionId:
        """Record a new session, under `session` or the next free id of the day; raises SessionExists.

        `then` are entries that belong to it from the beginning: all of it is written, or nothing. `at` is the opening's time.
        """
        self._scribe.rules_for(opened)
        now = self._world.clock.now()
        while True:
            name = session or await self._next_id(now)
            standing, written = self._scribe.opening(name, opened, at or now)
            records = [written.record]
            for entry in then:
                standing, line = self._scribe.write(standing, entry.at, entry.fact)
                records.append(line.record)
            try:
                await self._world.ledger.append(name, records)
            except SeqConflict as cause:
                if session is not None:
                    raise SessionExists(f"session {session!r} exists already; choose another id") from cause
                self._numbers.clear()
                continue
            self._remember(standing)
            return name

    async def _next_id(self, now: datetime) -> SessionId:
        prefix = daily_prefix(now)
        if prefix not in self._numbers:
            taken = [head.session[len(prefix) :] for head in await self._world.ledger.heads(prefix)]
            self._numbers[prefix] = max((int(number) for number in taken if number.isdigit() and len(number) < 10), default=0)
        self._numbers[prefix] += 1
        return daily_id(now, self._numbers[prefix])

    async def run(self, session: SessionId, seating: Seating, *, wait_outside: bool = False) -> Standing:
        """Run a session until it is closed or waits for seats outside only; raises SessionBusy."""
        async with self._world.ledger.claim(session):
            run = SessionRun(self._world, await self.standing(session), seating, wait_outside=wait_outside)
            self._runs[session] = run
            try:
                return await run.run()
            except* Exception as group:  # noqa: BLE001
                # The loop's own failure (a full disk, say), not the group that carried it out.
                raise group.exceptions[0] from None
            finally:
                del self._runs[session]
                self._remember(run.standing)

    async def is_running(self, session: SessionId) -> bool:
        """Whether some process runs the session now."""
        if session in self._runs:
            return True
        try:
            async with self._world.ledger.claim(session):
                return False
        except SessionBusy:
            return True

    async def standing(self, session: SessionId) -> Standing:
        """Where a session stands now; folds only what is new since the last look; raises UnknownSession."""
        known = self._known.get(session)
        records = await self._world.ledger.read(session, known.seq if known else 0)
        if known is None and not records:
            raise UnknownSession(f"no session is called {session!r}; `moot list` shows those that exist")
        standing = self._scribe.read_on(known, records) if known else self._scribe.load(session, records)
        self._remember(standing)
        return standing

    async def entries(self, session: SessionId, after: int = 0, limit: int | None = None) -> list[Entry]:
        """The entries behind `after`."""
        return [self._scribe.entry(record) for record in await self._world.ledger.read(session, after, limit)]

    async def records(self, session: SessionId) -> list[Stored]:
        """The records as they lie in the ledger; raises UnknownSession."""
        found = await self._world.ledger.read(session)
        if not found:
            raise UnknownSession(f"no session is called {session!r}; `moot list` shows those that exist")
        return found

    async def heads(self, prefix: str = "") -> list[Head]:
        return await self._world.ledger.heads(prefix)

    def entry(self, record: Stored) -> Entry:
        return self._scribe.entry(record)

    async def outstanding(self, session: SessionId) -> list[Outstanding]:
        """The asks that wait for an answer from elsewhere; what a running process asks is its own affair."""
        standing = await self.standing(session)
        batch = self._stepped(standing)
        return [_outstanding(batch, ask) for ask in batch.asks if _is_outside(batch, ask)]

    async def open_to(self, session: SessionId, seat: SeatId) -> Outstanding | None:
        """What a seat that sits elsewhere may say now: what it is asked, else what it is invited to; raises UnknownSeat."""
        batch = self._stepped(await self.standing(session))
        ask = _open_to(batch, _seated(batch.standing, seat))
        return None if ask is None else _outstanding(batch, ask)

    async def answer(self, session: SessionId, ask: AskId, raw: object, key: str = "") -> Entry:
        """Record the answer to an outstanding ask; the same answer, or the same `key`, again is found and counts once.

        Raises UnknownAsk, BadAnswer, KeyReused, SessionClosed.
        """

        def chosen(batch: Batch) -> Ask | None:
            return next((each for each in (*batch.asks, *batch.invited) if each.id == ask and _is_outside(batch, each)), None)

        entry = await self._answered(session, SeatId(ask.split(".", 2)[-1]), chosen, raw, key)
        return entry or await self._answered_before(await self.standing(session), ask, raw)

    async def contribute(
        self,
        session: SessionId,
        seat: SeatId,
        raw: object,
        key: str = "",
        *,
        said_before: SaidBefore | None = None,
        of_any: bool = False,
    ) -> Entry:
        """Record what a seat that sits elsewhere says, as the answer to whatever it may say now; the same `key` counts once.

        `said_before` may recognise the same words without a key: it names the entry that has them. With `of_any` the words may
        be of a seat that Moot asks itself: somebody else spoke for it before Moot did. Raises UnknownSeat, OutOfTurn, BadAnswer,
        KeyReused, SessionClosed.
        """

        def chosen(batch: Batch) -> Ask | None:
            return _open_to(batch, _seated(batch.standing, seat, of_any=of_any))

        entry = await self._answered(session, seat, chosen, raw, key, said_before)
        if entry is None:
            raise OutOfTurn(f"nothing is asked of {seat!r} now; {await self._waiting_for(session)}")
        return entry

    async def pass_over(self, session: SessionId, seat: SeatId, reason: Loss, detail: str = "") -> Entry:
        """Record that a seat does not answer what it is asked now. Raises UnknownSeat, OutOfTurn, SessionClosed."""
        async with self._queue(session):
            while True:
                standing = await self.standing(session)
                before = self._stepped(standing, is_left=not await self.is_running(session))
                _seated(before.standing, seat, of_any=True)
                ask = next((each for each in before.asks if each.seat == seat), None)
                if ask is None:
                    raise OutOfTurn(f"nothing is asked of {seat!r} now; {await self._waiting_for(session)}")
                fact = SeatLost(ask=ask.id, seat=seat, reason=reason, detail=sound(detail)[:LONGEST_REASON])
                lost, written = self._scribe.write(before.standing, self._world.clock.now(), fact)
                after = self._stepped(lost, is_left=False)
                if await self._commit(after.standing, [*before.written, written, *after.written]):
                    return written.entry

    async def call_close(self, session: SessionId, by: str = "") -> Entry:
        """Ask for the end: the session concludes with what has been said so far; raises SessionClosed when it has ended."""
        async with self._queue(session):
            while True:
                standing = await self.standing(session)
                if standing.is_closed:
                    raise SessionClosed(f"session {session!r} has ended already")
                called, written = self._scribe.write(standing, self._world.clock.now(), CloseCalled(by=sound(by)[:LONGEST_KEY]))
                after = self._stepped(called, is_left=not await self.is_running(session))
                if await self._commit(after.standing, [written, *after.written]):
                    return written.entry

    async def give_input(self, session: SessionId, text: str, key: str = "") -> Entry | None:
        """Put in a word of the user's; None when an input with this key is on record already. Raises SessionClosed."""
        if not text.strip():
            raise BadSetting("the input is empty; say what the meeting should hear")
        if len(text) > LONGEST_INPUT:
            raise BadSetting(f"the input has {len(text)} characters; at most {LONGEST_INPUT} are taken")
        if len(key) > LONGEST_KEY:
            raise BadSetting(f"the key has {len(key)} characters; at most {LONGEST_KEY} are taken")
        while True:
            standing = await self.standing(session)
            if key and key in standing.desk.input_keys:
                return None
            entry = await self._append(standing, InputGiven(text=sound(text).strip(), key=sound(key)))
            if entry is not None:
                return entry

    async def cancel(self, session: SessionId, reason: str = "") -> Entry:
        """End a session without a conclusion; raises SessionClosed when it has ended already."""
        while True:
            entry = await self._append(await self.standing(session), SessionCancelled(reason=sound(reason)[:LONGEST_REASON]))
            if entry is not None:
                return entry

    async def watch(self, session: SessionId, after: int = 0) -> AsyncIterator[Event]:
        """Every entry behind `after`, and, while this process runs the session, text as it is produced; ends at the close."""
        standing = await self.standing(session)
        if standing.is_closed and standing.seq <= after:
            return
        bag = self._world.hub.subscribe(session)
        tail = asyncio.create_task(self._tail(session, after, bag))
        try:
            while True:
                event = await _next(bag, tail)
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

    async def changed(self, session: SessionId, after: int) -> int:
        """Wait until the session's head is past `after`, whoever appended; returns the head."""
        return await self._world.ledger.changed(session, after)

    async def fork(self, session: SessionId, at: int, swaps: Sequence[Swap] = (), name: SessionId | None = None) -> SessionId:
        """A new session that goes on from entry `at` of another, with some seats swapped; raises BadSetting."""
        records = await self.records(session)
        if not 1 <= at <= len(records):
            raise BadSetting(f"entry {at} does not exist in {session!r}; it has 1 to {len(records)}")
        entries = [self._scribe.entry(record) for record in records[:at]]
        if isinstance(entries[-1].fact, Closed):
            raise BadSetting(f"{session!r} was closed by entry {at}; fork it at {at - 1} or earlier")
        opened = entries[0].fact
        assert isinstance(opened, Opened)
        checked_swaps(opened.seats, swaps)
        forked = SessionForked(source=session, at=at, swaps=tuple(swaps))
        now = self._world.clock.now()
        then = [*entries[1:], Entry(seq=at + 1, at=now, fact=forked)]
        return await self.open(opened, name, then, entries[0].at)

    async def restore(self, session: SessionId, records: Sequence[Stored]) -> None:
        """Write an exported ledger back, record for record; raises LedgerDamaged, ReplayDiffers or SessionExists.

        A chain can be forged by whoever writes the file, so that what stands in it must also be what its rulebook allows.
        """
        found = replayed(self._scribe, session, list(records))
        checked_seats(found.standing.desk.opened.seats, most=MOST_SEATS + HELPING_SEATS)
        try:
            await self._world.ledger.append(session, records)
        except SeqConflict as cause:
            raise SessionExists(f"session {session!r} exists already in this ledger") from cause

    async def replay(self, session: SessionId) -> Replayed:
        """Fold the ledger again, without asking anyone; raises ReplayDiffers or LedgerDamaged."""
        return replayed(self._scribe, session, await self.records(session))

    async def verify(self, session: SessionId) -> str | None:
        """What is wrong with a session's chain; None if nothing is."""
        return broken_at(session, await self.records(session))

    async def _append(self, standing: Standing, fact: Fact) -> Entry | None:
        """Write a fact; None when somebody else wrote first."""
        if standing.is_closed:
            raise SessionClosed(f"session {standing.session!r} has ended; `moot fork` goes on from an earlier entry")
        after, written = self._scribe.write(standing, self._world.clock.now(), fact)
        return written.entry if await self._commit(after, [written]) else None

    async def _commit(self, after: Standing, written: Sequence[Written]) -> bool:
        try:
            await self._world.ledger.append(after.session, [each.record for each in written])
        except SeqConflict:
            return False
        self._remember(after)
        run = self._runs.get(after.session)
        if run is not None:
            run.poke()
        return True

    def _stepped(self, standing: Standing, *, is_left: bool = True) -> Batch:
        """Where the session stands once all that follows from its entries is written; nothing is written here.

        Where no process ran it for a while (`is_left`), that time does not count.
        """
        if standing.is_closed:
            return Batch(standing, [])
        now = self._world.clock.now()
        outside = frozenset(seat.id for seat in standing.desk.seats if seat.is_outside)
        is_late = is_left and not standing.desk.is_parked and (now - standing.desk.ran_at).total_seconds() > NEW_SECONDS
        batch = step(self._scribe, standing, (), now, outside, since=now)
        if not is_late or not batch.written:
            return batch
        return step(self._scribe, standing, [SessionResumed()], now, outside, since=now)

    async def _answered(  # noqa: PLR0917
        self, session: SessionId, seat: SeatId, choose: Choice, raw: object, key: str, said_before: SaidBefore | None = None
    ) -> Entry | None:
        if len(key) > LONGEST_KEY:
            raise BadSetting(f"the key has {len(key)} characters; at most {LONGEST_KEY} are taken")
        key = sound(key)
        async with self._queue(session):
            while True:
                standing = await self.standing(session)
                if key and (seat, key) in standing.desk.answer_keys:
                    return await self._said_before(standing, seat, key, raw)
                earlier = None if said_before is None else said_before(standing)
                if earlier is not None:
                    return (await self.entries(session, earlier - 1, 1))[0]
                is_left = not standing.desk.is_parked and not await self.is_running(session)
                before = self._stepped(standing, is_left=is_left)
                ask = choose(before)
                if ask is None:
                    return None
                fact = self._reply(_outstanding(before, ask), raw, key)
                said, written = self._scribe.write(before.standing, self._world.clock.now(), fact)
                after = self._stepped(said, is_left=is_left)
                if await self._commit(after.standing, [*before.written, written, *after.written]):
                    return written.entry

    async def _said_before(self, standing: Standing, seat: SeatId, key: str, raw: object) -> Entry:
        seq = standing.desk.answer_keys[seat, key]
        entry = (await self.entries(standing.session, seq - 1, 1))[0]
        assert isinstance(entry.fact, Reply)
        form = standing.rules.forms[entry.fact.ask.split(".", 2)[1]]
        if parsed(form, raw) != entry.fact.said:
            raise KeyReused(f"the key {key!r} came before, with other words (entry {seq}); a new contribution needs a new key")
        return entry

    async def _waiting_for(self, session: SessionId) -> str:
        batch = self._stepped(await self.standing(session))
        if batch.standing.is_closed:
            raise SessionClosed(f"session {session!r} has ended; nothing is asked any more")
        waiting = ", ".join(f"{ask.seat} ({ask.kind})" for ask in batch.asks)
        return f"waited for: {waiting or 'nobody'}"

    def _queue(self, session: SessionId) -> asyncio.Lock:
        return self._queues.setdefault(session, asyncio.Lock())

    def _reply(self, found: Outstanding, raw: object, key: str) -> Reply:
        said = parsed(found.brief.form, raw)
        fault = found.brief.fault(said)
        if fault is not None:
            raise BadAnswer(fault)
        return reply(found.brief.form, found.ask.id, found.ask.seat, said, FREE, key=key)

    async def _answered_before(self, standing: Standing, ask: AskId, raw: object) -> Entry:
        for entry in await self.entries(standing.session):
            if isinstance(entry.fact, Reply) and entry.fact.ask == ask:
                form = standing.rules.forms[ask.split(".", 2)[1]]
                if parsed(form, raw) == entry.fact.said:
                    return entry
                raise UnknownAsk(f"ask {ask!r} has been answered already (entry {entry.seq}), with other words")
        if standing.is_closed:
            raise SessionClosed(f"session {standing.session!r} has ended; nothing is asked any more")
        open_asks = ", ".join(standing.desk.pending) or "none"
        raise UnknownAsk(f"nothing is asked under {ask!r} now; outstanding: {open_asks}")

    async def _tail(self, session: SessionId, after: int, bag: Mailbag) -> None:
        while True:
            for entry in await self.entries(session, after):
                await bag.put(EntryAdded(session, entry))
                after = entry.seq
            await self._world.ledger.changed(session, after)

    def _remember(self, standing: Standing) -> None:
        self._known[standing.session] = standing
        self._known.move_to_end(standing.session)
        if len(self._known) > KNOWN_SESSIONS:
            self._known.popitem(last=False)


def _outstanding(batch: Batch, ask: Ask) -> Outstanding:
    standing = batch.standing
    pending = standing.desk.pending.get(ask.id, Pending(None, outside=True))
    return Outstanding(ask, pending, standing.rules.brief(standing.state, ask))


def _is_outside(batch: Batch, ask: Ask) -> bool:
    pending = batch.standing.desk.pending.get(ask.id)
    return batch.standing.desk.seat(ask.seat).is_outside if pending is None else pending.outside


def _seated(standing: Standing, seat: SeatId, *, of_any: bool = False) -> SeatId:
    """The seat, if it is one that answers from elsewhere (or `of_any` kind); raises UnknownSeat, SessionClosed."""
    found = next((each for each in standing.desk.seats if each.id == seat), None)
    if found is None:
        known = ", ".join(each.id for each in standing.desk.seats)
        raise UnknownSeat(f"{seat!r} has no seat in {standing.session!r}; the seats are: {known}")
    if not found.is_outside and not of_any:
        raise UnknownSeat(f"the seat {seat!r} is filled by a mind that Moot asks itself; nobody else may speak for it")
    if standing.is_closed:
        raise SessionClosed(f"session {standing.session!r} has ended; nothing is asked any more")
    return seat


def _open_to(batch: Batch, seat: SeatId) -> Ask | None:
    return next((ask for ask in (*batch.asks, *batch.invited) if ask.seat == seat), None)


async def _next(bag: Mailbag, tail: asyncio.Task[None]) -> Event:
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
