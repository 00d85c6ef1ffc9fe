"""A view for a table at which a person sits: what others write blind is held back until it may be read."""

from collections.abc import Container
from contextlib import AbstractContextManager
from typing import Any

from moothall.engine.events import Event
from moothall.ports.plugin import AnyPlugin
from moothall.surfaces.api.sealed_events import SealedEvents
from moothall.surfaces.cli.live_views import View


class SealedView:
    """Passes events on to a view, in order; from the first sealed one on they wait."""

    def __init__(self, view: View, plugin: AnyPlugin, session: str, readers: frozenset[str]) -> None:
        self._view = view
        self._events = SealedEvents(plugin, session, readers)

    @property
    def pending(self) -> Container[str]:
        """The open asks, after every entry that came in."""
        return self._events.pending

    def show(self, event: Event) -> None:
        for each in self._events.release(event):
            self._view.show(each)

    def open_display(self) -> AbstractContextManager[Any]:
        return self._view.open_display()

    def pause(self) -> None:
        self._view.pause()

    def resume(self) -> None:
        self._view.resume()
