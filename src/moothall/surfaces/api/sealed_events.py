"""The events of a session for whoever may not read yet what seats write blind: it is held back until it may be read."""

from collections.abc import Collection
from typing import Any

from moothall.domain.facts import Reply, SeatLost
from moothall.domain.ids import SessionId
from moothall.domain.session_state import SessionState
from moothall.engine.events import EntryAdded, Event
from moothall.ports.plugin import AnyPlugin
from moothall.protocols.consultation.timeline import unwrap_timeline
from moothall.protocols.council.timeline import CouncilTimeline
from moothall.surfaces.api.entries import is_sealed


class SealedEvents:
    """Releases events in their order; from the first sealed one on they wait. `readers` are seats that may read their own."""

    def __init__(self, plugin: AnyPlugin, session: str, readers: frozenset[str] = frozenset()) -> None:
        # A timeline of its own: that of whoever shows the events must not run ahead of what it shows.
        self._timeline: Any = plugin.timeline(SessionId(session))
        self._readers = readers
        self._held: list[Event] = []

    @property
    def session_state(self) -> SessionState | None:
        """Where the session stands after every entry that came in; None before the first."""
        return self._timeline.session_state if self._timeline.seq else None

    @property
    def pending(self) -> Collection[str]:
        """The open asks, after every entry that came in."""
        return () if self.session_state is None else self.session_state.pending

    def release(self, event: Event) -> list[Event]:
        """Take one more event; those that may be read now."""
        if isinstance(event, EntryAdded):
            self._timeline.add(event.entry)
        if self._held or self._is_hidden(event):
            self._held.append(event)
        else:
            return [event]
        if self._is_sealed():
            return []
        held, self._held = self._held, []
        return held

    def _is_sealed(self) -> bool:
        inner = unwrap_timeline(self._timeline)
        # A deliberation's own lines say only that a proposal was written.
        return not isinstance(inner, CouncilTimeline) and is_sealed(getattr(inner, "state", None))

    def _is_hidden(self, event: Event) -> bool:
        if not self._is_sealed():
            return False
        if not isinstance(event, EntryAdded):
            return event.seat not in self._readers
        fact = event.entry.fact
        return isinstance(fact, Reply | SeatLost) and fact.seat not in self._readers
