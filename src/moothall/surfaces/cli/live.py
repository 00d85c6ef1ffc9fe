"""A session as it happens: in a terminal a display that moves, elsewhere plain lines."""

from typing import Any

from rich.console import Console

from moothall.app.features import load_place
from moothall.app.plugins import load_all_features
from moothall.ports.plugin import AnyPlugin
from moothall.surfaces.cli.live_views import PlainView, SeatsView


def build_view(plugin: AnyPlugin, timeline: Any, console: Console) -> PlainView:
    """How a session is shown here; the view adds entries to the timeline."""
    if not console.is_terminal:
        return PlainView(plugin, timeline, console)
    for feature in load_all_features():
        if plugin.name in feature.live_views:
            view: PlainView = load_place(feature, feature.live_views[plugin.name])(
                plugin, timeline, console
            )
            return view
    return SeatsView(plugin, timeline, console)
