"""What the engine works with: its ports, and what all sessions of a process share.

Watchers get events: entries once they are durable, text while it is produced, and waits for a provider.
"""

import asyncio
import time
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from moothall.domain.facts import Entry
from moothall.domain.ids import AskId, SeatId, SessionId
from moothall.domain.records import StoredRecord
from moothall.domain.replace import dataclass
from moothall.domain.session_state import PendingAsk
from moothall.engine.outages import OutageLog
from moothall.engine.snapshot import RecordWriter
from moothall.errors import SeqConflict
from moothall.ports.ledger import Clock, Ledger
from moothall.ports.telemetry import Telemetry

BEAT_SECONDS: Final = 1.0
MIN_SECONDS: Final = 2.0
"""A beat that is late by less than this is a busy machine's."""
# Wall time that runs ahead of the monotonic clock by more than this means that the machine was suspended or its clock was set.
LEAP_SECONDS: Final = 60.0
MAX_PAUSES: Final = 256


class Pause(NamedTuple):
    """When the process stood still."""

    start: datetime
    end: datetime


class PauseWatch:
    """A beat on the event loop: a beat that comes much too late was held up by a pause.

    Measured by the system's own clocks, not by that of the loop's timers, which can be put forward while the process runs. The
    pauses are given in the time of `clock`, in which deadlines are.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pauses: deque[Pause] = deque(maxlen=MAX_PAUSES)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._seen = (0.0, 0.0)
        self.count = 0
        """How many pauses were noticed so far."""

    def start(self) -> None:
        """Beat on the running loop from now on; on the same loop a second time it does nothing."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop = loop
            self._seen = (time.perf_counter(), time.time())
            self._beat(loop)

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is loop:
            self.look()
            loop.call_later(BEAT_SECONDS, self._beat, loop)

    def look(self) -> int:
        """Notice a pause that has just ended, before the beat does; how many there were so far."""
        if self._loop is None:
            return 0
        ticks, wall = time.perf_counter(), time.time()
        stood, leapt = ticks - self._seen[0], wall - self._seen[1]
        late = (leapt if leapt - stood > LEAP_SECONDS else stood) - BEAT_SECONDS
        if late > MIN_SECONDS:
            now = self._clock.now()
            self._pauses.append(Pause(now - timedelta(seconds=late), now))
            self.count += 1
        self._seen = (ticks, wall)
        return self.count

    def extend_deadline(self, pending: PendingAsk) -> datetime | None:
        """Until when an ask is waited for: what was left of its time when a pause began is left when it ends."""
        deadline = pending.deadline
        if not self._pauses or deadline is None or pending.put_at is None:
            return deadline
        for pause in self._pauses:
            if pending.put_at < pause.end and pause.start < deadline:
                deadline += pause.end - max(pause.start, pending.put_at)
        return deadline


MAX_WAITING = 10_000
"""How many events a slow watcher may lag before it loses text deltas; entries are read again from the ledger."""


@dataclass(frozen=True, slots=True)
class EntryAdded:
    session: SessionId
    entry: Entry


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of a contribution that is still being produced; it counts only once its entry is added."""

    session: SessionId
    ask: AskId
    seat: SeatId
    text: str


@dataclass(frozen=True, slots=True)
class SeatWaiting:
    """A seat waits for its turn at a provider whose limit is reached; with `is_over` it has it now."""

    session: SessionId
    ask: AskId
    seat: SeatId
    is_over: bool = False


Event = EntryAdded | TextDelta | SeatWaiting
EventQueue = asyncio.Queue[Event]


class EventHub:
    """Delivers the events of running sessions to the watchers in this process."""

    def __init__(self) -> None:
        self._bags: dict[SessionId, list[EventQueue]] = {}
        self._texts: dict[SessionId, dict[AskId, list[TextDelta]]] = {}
        self._waits: dict[SessionId, dict[AskId, SeatWaiting]] = {}

    def is_watched(self, session: SessionId) -> bool:
        return session in self._bags

    def publish(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._texts.setdefault(event.session, {}).setdefault(event.ask, []).append(event)
        elif isinstance(event, SeatWaiting):
            waits = self._waits.setdefault(event.session, {})
            waits.pop(event.ask, None)
            if not event.is_over:
                waits[event.ask] = event
            if not waits:
                del self._waits[event.session]
        for queue in self._bags.get(event.session, ()):
            # Never block the session for a slow watcher: a dropped entry is read again from the ledger, dropped text is lost.
            if not queue.full():
                queue.put_nowait(event)

    @contextmanager
    def listen(self, session: SessionId) -> Iterator[EventQueue]:
        """A queue of what happens from now on; what is being produced comes first, as far as it has got."""
        queue: EventQueue = asyncio.Queue(MAX_WAITING)
        for pieces in self._texts.get(session, {}).values():
            queue.put_nowait(replace(pieces[0], text="".join(piece.text for piece in pieces)))
        for wait in self._waits.get(session, {}).values():
            queue.put_nowait(wait)
        queues = self._bags.setdefault(session, [])
        queues.append(queue)
        try:
            yield queue
        finally:
            queues.remove(queue)
            if not queues:
                del self._bags[session]

    def list_writing(self, session: SessionId) -> Collection[AskId]:
        """The asks whose answers are being produced."""
        return self._texts.get(session, {}).keys()

    def list_waiting(self, session: SessionId) -> frozenset[SeatId]:
        """The seats that wait for their turn at a provider."""
        return frozenset(wait.seat for wait in self._waits.get(session, {}).values())

    def end_text(self, session: SessionId, ask: AskId) -> None:
        """Forget what was produced for an ask: it is an entry now, or was lost."""
        texts = self._texts.get(session, {})
        texts.pop(ask, None)
        if not texts:
            self._texts.pop(session, None)


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
