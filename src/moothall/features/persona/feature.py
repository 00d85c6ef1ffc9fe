"""The row of meetings of personas."""

from typing import Final

from moothall.ports.feature import Feature

FEATURE: Final = Feature(
    name="persona",
    package="moothall",
    protocols={"persona": "protocols.persona.plugin:PERSONA"},
    live_views={"persona": "surfaces.cli.persona_view:MeetingView"},
)
