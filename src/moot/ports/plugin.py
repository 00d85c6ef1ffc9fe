"""What a protocol brings: its rulebook, how its sessions open, and how they are shown to people."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from moot.domain.budget import Budget
from moot.domain.facts import Entry, Language, Opened
from moot.domain.ids import SessionId
from moot.domain.roster import Seat
from moot.domain.rulebook import Rulebook
from moot.domain.topic import Topic
from moot.reports.blocks import Report
from moot.reports.decision import Decision
from moot.reports.markdown import render_markdown
from moot.reports.timeline import SessionTimeline

S = TypeVar("S")
T = TypeVar("T", bound=SessionTimeline)
O = TypeVar("O", bound=Opened)  # noqa: E741 - an opening


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What every session is opened with. `settings` is an instance of the plugin's settings class."""

    topic: str
    language: Language
    seed: int
    seats: tuple[Seat, ...]
    budget: Budget
    outside_patience: float
    settings: object
    subject: Topic = Topic()
    hosted: bool = False

    def opening(self, opened: type[O], *, seats: tuple[Seat, ...] | None = None, **own: object) -> O:
        """The opening fact of a session: what all protocols record, and what is the protocol's `own`."""
        return opened(
            topic=self.topic,
            language=self.language,
            seed=self.seed,
            seats=self.seats if seats is None else seats,
            budget=self.budget,
            outside_patience=self.outside_patience,
            subject=self.subject,
            hosted=self.hosted,
            **own,  # type: ignore[arg-type]  # the fields of the protocol's own opening, which its dataclass checks
        )


class ImportedSession(Protocol):
    """A session that was read from a file."""

    @property
    def opened(self) -> Opened: ...

    @property
    def session(self) -> str: ...

    @property
    def conclusion(self) -> str | None:
        """The JSON of its conclusion, if it had ended."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolPlugin(Generic[S, T]):
    """One per protocol, found through the entry points `moot.protocols`.

    `timeline` begins the timeline of a session; `describe` adds one more entry to it and says what happened, in plain lines;
    `decision` is the outcome so far; `report` is the session for people, from which Markdown, pages and terminal text are made.
    `exports` are further forms in which a session can be written. `wire_name` is what the protocol is called in calls that other
    programs make; `blind_from` the number of seats from which positions are taken blind, where its settings leave that open.
    `gates` are the kinds of answers that are validations: nobody consults over them. With `consults` its sessions have
    consultations without being asked for them.
    """

    name: str
    rules: Rulebook[S]
    settings: type
    open: Callable[[Plan], Opened]
    timeline: Callable[[SessionId], T]
    decision: Callable[[T], Decision]
    describe: Callable[[T, Entry], list[str]]
    report: Callable[[T], Report]
    exports: Mapping[str, Callable[[T], str]] = field(default_factory=dict)
    wire_name: str = ""
    blind_from: int = 0
    gates: frozenset[str] = frozenset()
    consults: bool = False
    read_back: Callable[[str, tuple[Seat, ...], Budget], ImportedSession] | None = None

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms in which a session can be written."""
        return tuple(dict.fromkeys((*_RENDERERS, *self.exports)))

    def export(self, timeline: T, form: str) -> str:
        """A session in one of the `forms`."""
        if form in self.exports:
            return self.exports[form](timeline)
        return _RENDERERS[form](self.report(timeline))


AnyPlugin: TypeAlias = ProtocolPlugin[Any, Any]
"""A protocol of which nothing more is known: what a table of all protocols holds."""


def _render_html(report: Report) -> str:
    # Imported here: only a page needs it.
    from moot.reports.page import render_page

    return render_page(report)


_RENDERERS: Mapping[str, Callable[[Report], str]] = {"minutes": render_markdown, "html": _render_html}
