"""Moot puts a question before a group of minds and hands back a decision that can be audited."""

import asyncio
from typing import Unpack

from moot.domain.budget import Budget
from moot.domain.roster import Seat
from moot.engine.events import EntryAdded, Event, TextHeard
from moot.errors import CallerError, MootError, WorldError
from moot.projections.decision import Decision
from moot.wiring.consulting import Consult
from moot.wiring.moot import Moot, Options
from moot.wiring.panels import Panel

__all__ = [
    "Budget",
    "CallerError",
    "Consult",
    "Decision",
    "EntryAdded",
    "Event",
    "Moot",
    "MootError",
    "Options",
    "Panel",
    "Seat",
    "TextHeard",
    "WorldError",
    "hold",
]


def hold(topic: str, **options: Unpack[Options]) -> Decision:
    """Hold a meeting and wait for its decision; takes what `Moot.open` takes. For programs without an event loop."""

    async def meeting() -> Decision:
        async with Moot() as moot:
            return await moot.hold(topic, **options)

    return asyncio.run(meeting())
