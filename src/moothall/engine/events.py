"""Events for watchers: entries once they are durable, text while it is produced, and waits for a provider."""

import asyncio
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from moothall.domain.facts import Entry
from moothall.domain.ids import AskId, SeatId, SessionId

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
        self.heads = HeadWaiters()
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


class HeadWaiters:
    """The tasks of this process that wait for a session's next entry: an append of this process wakes them at once."""

    def __init__(self) -> None:
        self._waiters: dict[SessionId, set[asyncio.Future[int]]] = {}

    def wake(self, session: SessionId, seq: int) -> None:
        """The session has an entry of this number now."""
        for waiter in self._waiters.pop(session, ()):
            if not waiter.done():
                waiter.set_result(seq)

    @contextmanager
    def wait(self, session: SessionId) -> Iterator["asyncio.Future[int]"]:
        """A future of the number of the next entry."""
        waiter: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiters.setdefault(session, set()).add(waiter)
        try:
            yield waiter
        finally:
            waiters = self._waiters.get(session, set())
            waiters.discard(waiter)
            if not waiters:
                self._waiters.pop(session, None)
