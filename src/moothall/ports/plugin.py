"""The plugin port: a protocol's rulebook, how its sessions are opened, and how they are presented to people."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from moothall.domain.budget import Budget, ExpectedCalls
from moothall.domain.effects import Rulebook
from moothall.domain.facts import Entry, Fact, Language, Opened
from moothall.domain.ids import SeatId, SessionId
from moothall.domain.replace import copy_fields, dataclass
from moothall.domain.roster import Seat
from moothall.domain.topic import Topic
from moothall.reports.ballot import Ballot
from moothall.reports.blocks import Report
from moothall.reports.decision import Decision
from moothall.reports.plain_text import iterate_markdown
from moothall.reports.timeline import SessionTimeline

S = TypeVar("S")
T = TypeVar("T", bound=SessionTimeline)
O = TypeVar("O", bound=Opened)  # noqa: E741 - an opening


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The values that every session is opened with. `settings` is an instance of the plugin's settings class."""

    topic: str
    language: Language
    seed: int
    seats: tuple[Seat, ...]
    budget: Budget
    outside_patience: float
    settings: object
    subject: Topic = Topic()
    hosted: bool = False

    def opening(
        self, opened: type[O], *, seats: tuple[Seat, ...] | None = None, **own: object
    ) -> O:
        """Build the opening fact of a session from the shared fields and the protocol's `own` fields."""
        return copy_fields(opened, self, seats=self.seats if seats is None else seats, **own)


class ImportedSession(Protocol):
    """A session that was read from a file."""

    @property
    def opened(self) -> Opened: ...

    @property
    def session(self) -> str: ...

    @property
    def conclusion(self) -> str | None:
        """The JSON of its conclusion; None if the session had not ended."""


@dataclass(frozen=True, slots=True)
class JoinGuide:
    """How an agent from outside takes part in a session."""

    kind: str = "meeting"
    """Which tools it is shown, and by which text it is invited; `meeting` has the two that serve every protocol."""
    session: str = ""
    """What those tools call the session, where it is not its id: the name of a conference."""


MEETING: Final = JoinGuide()


class BlindChoice(NamedTuple):
    """What a seat chose before it read others."""

    choice: str
    confidence: float | None
    """How sure the seat said it was."""


@dataclass(frozen=True, slots=True)
class CastVote:
    """What a seat voted, beside its position: the condition that it set, and the model that wrote the vote."""

    condition: str = ""
    due: str = ""
    model: str = ""


def _join_by_asks(opened: Opened) -> JoinGuide:
    return MEETING


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolPlugin(Generic[S, T]):
    """One per protocol, named by the row of its feature (`ports/feature.py`).

    `timeline` creates an empty timeline of a session; `describe` adds one entry to it and returns lines that say what happened;
    `decision` is the outcome so far; `report` describes the session for people, and Markdown, HTML and terminal text are rendered
    from it. `exports` are further output formats. `wire_name` is the protocol's name in the APIs; `blind_from` the number of
    seats from which positions are collected blind, if the settings leave that open. `gates` are the kinds of answers that are
    validations, during which nobody may consult. With `consults` its sessions allow consultations by default. `expect` says
    from an opening how much the session will ask, for those who want to know the price before. `refuses` are the options of a
    session that it cannot honour, each with the reason and what to use instead: `{"turns": "…"}`. `defaults` are values of
    settings for new sessions where nobody gives them; the default in the settings' class is that of stored sessions, for ever.
    `unfit` are the platforms that take no seat in it, each with the reason: `{"embedded": "…"}`.
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
    expect: Callable[[Opened], Sequence[ExpectedCalls]] | None = None
    refuses: Mapping[str, str] = field(default_factory=dict)
    opens_by_question: bool = True
    """Whether a question and a panel are all that a session needs; a chat client can open no other."""
    join: Callable[[Opened], JoinGuide] = _join_by_asks
    """How an agent from outside takes part in a session that was opened so."""
    ballot: Callable[[T, SeatId | None], Ballot | None] | None = None
    """What is voted on, as far as a seat (None: anyone) may see it. Without it a session shows no candidates and no tally."""
    votes: Callable[[T], Mapping[SeatId, CastVote]] | None = None
    """The last vote of each seat. Without it a session shows positions alone."""
    contributions: Callable[[T], Sequence[Any]] | None = None
    """What was said, with the fields of the calls of a deliberation. Without it a session shows the lines of its timeline."""
    blind_choice: Callable[[Fact], BlindChoice | None] | None = None
    """The choice in an answer that a seat gave before it read others; None for any other fact."""
    states_facts: bool = False
    """Whether its seats can be asked first for what the others may not know (`protocols.facts_first`)."""
    measure_setting: str = ""
    """The setting that names a measure of texts (`Similarity`); one that is not installed is refused at the opening."""
    defaults: Mapping[str, object] = field(default_factory=dict)
    unfit: Mapping[str, str] = field(default_factory=dict)

    @property
    def forms(self) -> tuple[str, ...]:
        """The output formats of a session."""
        return tuple(dict.fromkeys((*_RENDERERS, *self.exports)))

    def export(self, timeline: T, form: str) -> str:
        """Render a session in one of the `forms`."""
        return "".join(self.iterate_export(timeline, form))

    def iterate_export(self, timeline: T, form: str) -> Iterable[str]:
        """Render a session in one of the `forms`, in parts."""
        return (
            (self.exports[form](timeline),)
            if form in self.exports
            else _RENDERERS[form](self.report(timeline))
        )


AnyPlugin: TypeAlias = ProtocolPlugin[Any, Any]
"""A plugin whose state and timeline types are not known, as in a registry of all protocols."""


def _render_html(report: Report) -> Iterable[str]:
    # Imported here: the HTML renderer is needed for pages only, and start-up time counts for every command.
    from moothall.reports.page import iterate_page

    return iterate_page(report)


_RENDERERS: Mapping[str, Callable[[Report], Iterable[str]]] = {
    "minutes": iterate_markdown,
    "html": _render_html,
}
