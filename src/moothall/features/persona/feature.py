"""The row of meetings of personas."""

from typing import Final

from moothall.ports.feature import Feature

FEATURE: Final = Feature(
    name="persona",
    package="moothall.features.persona",
    protocols={"persona": "plugin:PERSONA"},
    live_views={"persona": "live:MeetingView"},
)
