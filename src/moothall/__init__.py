"""Moot puts a question to a group of participants and returns a decision that can be audited."""

from importlib import import_module
from typing import TYPE_CHECKING, Unpack

if TYPE_CHECKING:
    from moothall.app.moot import Moot
    from moothall.app.panels import Panel
    from moothall.app.session_options import Options
    from moothall.app.shared_runner import run_worker
    from moothall.domain.effects import Brief
    from moothall.domain.roster import Seat
    from moothall.domain.session_state import LostSeat
    from moothall.domain.topic import ContextFile, Topic
    from moothall.engine.context import EntryAdded, Event, SeatWaiting, TextDelta
    from moothall.errors import BadAnswer, CallerError, MootError, WorldError
    from moothall.features.pipeline.files import build_pipeline_options, load_pipeline
    from moothall.reports.decision import Decision, Dissent, SourcedClaim
    from moothall.reports.memo import build_memo
else:
    # Loaded on first use: a program that imports one module of Moot does not import all of them.
    _PLACES = {
        "BadAnswer": "errors",
        "Brief": "domain.effects",
        "CallerError": "errors",
        "ContextFile": "domain.topic",
        "Decision": "reports.decision",
        "Dissent": "reports.decision",
        "EntryAdded": "engine.context",
        "Event": "engine.context",
        "LostSeat": "domain.session_state",
        "Moot": "app.moot",
        "MootError": "errors",
        "Options": "app.session_options",
        "Panel": "app.panels",
        "Seat": "domain.roster",
        "SeatWaiting": "engine.context",
        "SourcedClaim": "reports.decision",
        "TextDelta": "engine.context",
        "Topic": "domain.topic",
        "WorldError": "errors",
        "build_memo": "reports.memo",
        "build_pipeline_options": "features.pipeline.files",
        "load_pipeline": "features.pipeline.files",
        "run_worker": "app.shared_runner",
    }

    def __getattr__(name: str) -> object:
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
        # Cached, so that `__getattr__` runs once per name.
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = [
    "BadAnswer",
    "Brief",
    "CallerError",
    "ContextFile",
    "Decision",
    "Dissent",
    "EntryAdded",
    "Event",
    "LostSeat",
    "Moot",
    "MootError",
    "Options",
    "Panel",
    "Seat",
    "SeatWaiting",
    "SourcedClaim",
    "TextDelta",
    "Topic",
    "WorldError",
    "build_memo",
    "build_pipeline_options",
    "hold",
    "load_pipeline",
    "run_worker",
]


def hold(topic: str, **options: "Unpack[Options]") -> "Decision":
    """Hold a meeting and wait for its decision; takes what `Moot.open` takes. Also where an event loop runs, as in a notebook."""
    from moothall.app.moot import Moot, run_blocking

    async def meeting() -> "Decision":
        async with Moot() as moot:
            return await moot.hold(topic, **options)

    return run_blocking(meeting)
