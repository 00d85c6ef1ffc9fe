"""Events for watchers: entries once they are durable, and text while it is produced."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from moot.domain.facts import Entry
from moot.domain.ids import AskId, SeatId, SessionId

MOST_WAITING = 10_000
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


Event = EntryAdded | TextDelta
EventQueue = asyncio.Queue[Event]


class EventHub:
    """Delivers the events of running sessions to the watchers in this process."""

    def __init__(self) -> None:
        self._bags: dict[SessionId, list[EventQueue]] = {}
        self.heads = HeadWaiters()

    def is_watched(self, session: SessionId) -> bool:
        return session in self._bags

    def publish(self, event: Event) -> None:
        for queue in self._bags.get(event.session, ()):
            # Never block the session for a slow watcher: a dropped entry is read again from the ledger, dropped text is lost.
            if not queue.full():
                queue.put_nowait(event)

    def subscribe(self, session: SessionId) -> EventQueue:
        queue: EventQueue = asyncio.Queue(MOST_WAITING)
        self._bags.setdefault(session, []).append(queue)
        return queue

    def unsubscribe(self, session: SessionId, queue: EventQueue) -> None:
        queues = self._bags.get(session, [])
        if queue in queues:
            queues.remove(queue)
        if not queues:
            self._bags.pop(session, None)


class HeadWaiters:
    """Whoever waits in this process for a session's next entry: woken at once by whoever wrote it here."""

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
