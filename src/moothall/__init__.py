"""Moot puts a question to a group of participants and returns a decision that can be audited."""

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, overload

if TYPE_CHECKING:
    from pathlib import Path

    from moothall.app.held_sessions import SessionPlan
    from moothall.app.moot import Moot
    from moothall.app.panels import Panel
    from moothall.app.recurring import RepeatedAnswer
    from moothall.app.requirement import Worth
    from moothall.app.session_options import Options
    from moothall.app.shared_runner import run_worker
    from moothall.app.typed_decisions import TypedDecision, fill_output
    from moothall.domain.effects import Brief
    from moothall.domain.roster import Seat
    from moothall.domain.session_state import LostSeat
    from moothall.domain.topic import ContextFile, Topic
    from moothall.engine.context import EntryAdded, Event, SeatWaiting, TextDelta
    from moothall.errors import BadAnswer, CallerError, MootError, WorldError
    from moothall.features.bench.library import Questions, run_bench
    from moothall.features.bench.outcome import BenchOutcome
    from moothall.features.notices.library import Notices
    from moothall.features.notices.receivers import Hook
    from moothall.features.notices.register import EventKind
    from moothall.features.pipeline.files import build_pipeline_options, load_pipeline
    from moothall.features.review.library import review_change
    from moothall.reports.decision import Decision, Dissent, SourcedClaim
    from moothall.reports.gate import GateJudgement
    from moothall.reports.memo import build_memo
else:
    # Loaded on first use: a program that imports one module of Moot does not import all of them.
    _NAMES = """
app.held_sessions: SessionPlan
app.moot: Moot
app.panels: Panel
app.recurring: RepeatedAnswer
app.session_options: Options
app.shared_runner: run_worker
app.typed_decisions: TypedDecision fill_output
domain.effects: Brief
domain.roster: Seat
domain.session_state: LostSeat
domain.topic: ContextFile Topic
engine.context: EntryAdded Event SeatWaiting TextDelta
errors: BadAnswer CallerError MootError WorldError
features.bench.library: run_bench
features.bench.outcome: BenchOutcome
features.notices.library: Notices
features.pipeline.files: build_pipeline_options load_pipeline
features.review.library: review_change
reports.decision: Decision Dissent SourcedClaim
reports.gate: GateJudgement
reports.memo: build_memo
"""
    _PLACES = {}
    for _line in _NAMES.strip().splitlines():
        _module, _, _listed = _line.partition(": ")
        for _name in _listed.split():
            _PLACES[_name] = _module

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
    "BenchOutcome",
    "Brief",
    "CallerError",
    "ContextFile",
    "Decision",
    "Dissent",
    "EntryAdded",
    "Event",
    "GateJudgement",
    "LostSeat",
    "Moot",
    "MootError",
    "Notices",
    "Options",
    "Panel",
    "RepeatedAnswer",
    "Seat",
    "SeatWaiting",
    "SessionPlan",
    "SourcedClaim",
    "TextDelta",
    "Topic",
    "TypedDecision",
    "WorldError",
    "again",
    "bench",
    "build_memo",
    "build_pipeline_options",
    "fill_output",
    "hold",
    "load_pipeline",
    "notify",
    "review",
    "review_change",
    "run_bench",
    "run_worker",
]

T = TypeVar("T")


@overload
def hold(
    topic: str,
    *,
    require: str | Sequence[str] = (),
    require_worth: "Worth" = "fair",
    output_type: None = None,
    dry_run: Literal[False] = False,
    **options: "Unpack[Options]",
) -> "Decision": ...


@overload
def hold(
    topic: str,
    *,
    require: str | Sequence[str] = (),
    require_worth: "Worth" = "fair",
    output_type: None = None,
    dry_run: Literal[True],
    **options: "Unpack[Options]",
) -> "SessionPlan": ...


@overload
def hold(
    topic: str,
    *,
    require: str | Sequence[str] = (),
    require_worth: "Worth" = "fair",
    output_type: type[T],
    dry_run: Literal[False] = False,
    **options: "Unpack[Options]",
) -> "TypedDecision[T]": ...


def hold(topic: str, **given: Any) -> "Decision | SessionPlan | TypedDecision[Any]":
    """Hold a meeting and wait for its decision; takes what `Moot.hold` takes. Also where an event loop runs, as in a notebook."""
    from moothall.app.moot import Moot, run_blocking

    async def meeting() -> "Decision | SessionPlan | TypedDecision[Any]":
        async with Moot() as moot:
            held: Decision | SessionPlan | TypedDecision[Any] = await moot.hold(topic, **given)
            return held

    return run_blocking(meeting)


def again(
    session: str,
    *,
    wait: bool | float = False,
    require: str | Sequence[str] = (),
    require_worth: "Worth" = "fair",
) -> "RepeatedAnswer":
    """Ask the question of a session again and wait for its answer; takes what `Moot.again` takes."""
    from moothall.app.moot import Moot, run_blocking

    async def meeting() -> "RepeatedAnswer":
        async with Moot() as moot:
            return await moot.again(
                session, wait=wait, require=require, require_worth=require_worth
            )

    return run_blocking(meeting)


@overload
def review(
    *sources: "str | Path | ContextFile",
    diff: "str | Path | None" = None,
    commits: str | None = None,
    folder: "str | Path | None" = None,
    about: str | None = None,
    require: str | Sequence[str] = (),
    require_worth: "Worth" = "fair",
    dry_run: Literal[False] = False,
    **options: "Unpack[Options]",
) -> "Decision": ...


@overload
def review(
    *sources: "str | Path | ContextFile",
    diff: "str | Path | None" = None,
    commits: str | None = None,
    folder: "str | Path | None" = None,
    about: str | None = None,
    require: str | Sequence[str] = (),
    require_worth: "Worth" = "fair",
    dry_run: Literal[True],
    **options: "Unpack[Options]",
) -> "SessionPlan": ...


def review(*sources: "str | Path | ContextFile", **given: Any) -> "Decision | SessionPlan":
    """Put a change before reviewers and wait for their verdict; takes what `review_change` takes behind the `Moot`."""
    from moothall.app.moot import Moot, run_blocking
    from moothall.features.review.library import review_change

    async def meeting() -> "Decision | SessionPlan":
        async with Moot() as moot:
            held: Decision | SessionPlan = await review_change(moot, *sources, **given)
            return held

    return run_blocking(meeting)


def bench(questions: "Questions", **given: Any) -> "BenchOutcome":
    """Try models, their vote and protocols on questions whose answers are known; takes what `run_bench` takes behind the `Moot`."""
    from moothall.app.moot import Moot, run_blocking
    from moothall.features.bench.library import run_bench

    async def trial() -> "BenchOutcome":
        async with Moot() as moot:
            outcome: BenchOutcome = await run_bench(moot, questions, **given)
            return outcome

    return run_blocking(trial)


def notify(
    address: str,
    *,
    session: str = "",
    seat: str = "",
    events: "Sequence[EventKind]" = (),
    owner: bool = False,
    page: str = "",
    private: bool = False,
) -> "Hook":
    """Add a receiver of notices, as `Notices.add` does; `Notices(moot).deliver()` or a running `moot serve` delivers to it."""
    from moothall.app.moot import Moot
    from moothall.features.notices.library import Notices

    return Notices(Moot()).add(
        address,
        session=session,
        seat=seat,
        events=events,
        owner=owner,
        page=page,
        private=private,
    )
