"""What watchers see: entries once they are on disk, and text while it is being produced."""

import asyncio
from dataclasses import dataclass

from moot.domain.facts import Entry
from moot.domain.ids import AskId, SeatId, SessionId

MOST_WAITING = 10_000
"""Events that a slow watcher may be behind before it loses text in the making; entries it reads again from the ledger."""


@dataclass(frozen=True, slots=True)
class EntryAdded:
    session: SessionId
    entry: Entry


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of a contribution in the making; it counts only when its entry is added."""

    session: SessionId
    ask: AskId
    seat: SeatId
    text: str


Event = EntryAdded | TextDelta
EventQueue = asyncio.Queue[Event]


class EventHub:
    """Hands the events of running sessions to whoever watches in this process."""

    def __init__(self) -> None:
        self._bags: dict[SessionId, list[EventQueue]] = {}

    def is_watched(self, session: SessionId) -> bool:
        return session in self._bags

    def publish(self, event: Event) -> None:
        for bag in self._bags.get(event.session, ()):
            if not bag.full():
                bag.put_nowait(event)

    def subscribe(self, session: SessionId) -> EventQueue:
        bag: EventQueue = asyncio.Queue(MOST_WAITING)
        self._bags.setdefault(session, []).append(bag)
        return bag

    def unsubscribe(self, session: SessionId, bag: EventQueue) -> None:
        bags = self._bags.get(session, [])
        if bag in bags:
            bags.remove(bag)
        if not bags:
            self._bags.pop(session, None)
