"""A view for a table at which a person sits: what others write blind is held back until it may be read."""

from collections.abc import Container
from contextlib import AbstractContextManager
from typing import Any

from moot.domain.facts import Reply, SeatLost
from moot.domain.ids import SessionId
from moot.engine.events import EntryAdded, Event
from moot.ports.plugin import AnyPlugin
from moot.protocols.consultation.timeline import unwrap_timeline
from moot.protocols.council.timeline import CouncilTimeline
from moot.surfaces.api.entries import is_sealed
from moot.surfaces.cli.live import View


class SealedView:
    """Passes events on to a view, in order; from the first sealed one on they wait."""

    def __init__(self, view: View, plugin: AnyPlugin, session: str, readers: frozenset[str]) -> None:
        self._view = view
        # A timeline of its own: the view's own one must not run ahead of what it shows.
        self._timeline: Any = plugin.timeline(SessionId(session))
        self._readers = readers
        self._held: list[Event] = []

    @property
    def pending(self) -> Container[str]:
        """The open asks, after every entry that came in."""
        return self._timeline.session_state.pending if self._timeline.seq else ()

    def show(self, event: Event) -> None:
        if isinstance(event, EntryAdded):
            self._timeline.add(event.entry)
        if self._held or self._is_hidden(event):
            self._held.append(event)
        else:
            self._view.show(event)
        if self._held and not self._is_sealed():
            held, self._held = self._held, []
            for each in held:
                self._view.show(each)

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

    def open_display(self) -> AbstractContextManager[Any]:
        return self._view.open_display()

    def pause(self) -> None:
        self._view.pause()

    def resume(self) -> None:
        self._view.resume()
