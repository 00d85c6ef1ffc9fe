"""The parts of all live views: the display that moves, the plain one for pipes, and one for a table at which a person sits."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from moothall.domain.budget import Spent
from moothall.domain.facts import Entry
from moothall.domain.ids import AskId, SeatId, find_asked_seat, parse_ask_kind
from moothall.domain.safe_text import strip_control
from moothall.engine.context import EntryAdded, Event, SeatWaiting, TextDelta
from moothall.locale.catalogues import SHARED_REPORT, SharedReportText
from moothall.ports.plugin import AnyPlugin
from moothall.reports.sections import describe_shared
from moothall.reports.wording import SpokenLine, format_money
from moothall.surfaces.cli.render import render_words

BAR = 20
MIN_SHOWN_SECONDS = 5
"""From then on the display says how long a seat has been at its answer."""
COLORS = ("cyan", "magenta", "green", "yellow", "blue", "red", "bright_cyan", "bright_magenta")


def style_line(line: str) -> Text:
    """A line of a protocol's description, in the colour of what it says."""
    if line.startswith("  ✗"):
        return Text(line, style="red")
    if line.startswith("──"):
        return Text(line, style="bold")
    if line.startswith("  "):
        return Text(line, style="dim")
    return Text(line)


def render_bar(value: float, color: str) -> Text:
    filled = round(max(0.0, min(1.0, value)) * BAR)
    return Text.assemble(
        ("█" * filled, color), ("░" * (BAR - filled), "dim"), (f" {value:.2f}", "dim")
    )


def describe_entry(plugin: AnyPlugin, timeline: Any, entry: Entry) -> list[str]:
    """Add an entry to the timeline; lines that say what happened: the protocol's, and those that every session may have."""
    return [*plugin.describe(timeline, entry), *describe_shared(timeline, entry.fact)]


class PlainView:
    """Shows events, one line per happening: for pipes and logs."""

    def __init__(self, plugin: AnyPlugin, timeline: Any, console: Console) -> None:
        self._plugin = plugin
        self._timeline = timeline
        self._console = console

    def open_display(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def pause(self) -> None:
        """Hide what moves, while a person types."""

    def resume(self) -> None:
        """Let it move again."""

    def show(self, event: Event) -> None:
        if isinstance(event, SeatWaiting) and not event.is_over and self._timeline.seq:
            held_up = SHARED_REPORT[self._timeline.language].held_up
            self._console.print(Text(f"  {event.seat} {held_up}"), soft_wrap=True)
        if not isinstance(event, EntryAdded):
            return
        for line in describe_entry(self._plugin, self._timeline, event.entry):
            self._console.print(Text(line), soft_wrap=True)


class MovingView(PlainView, ABC):
    """A display that moves at the bottom of a terminal while finished lines scroll by above it."""

    def __init__(self, plugin: AnyPlugin, timeline: Any, console: Console) -> None:
        super().__init__(plugin, timeline, console)
        self._live = self._new_live()
        self._held: list[Event] | None = None
        self._held_up: set[SeatId] = set()
        self._begun: dict[AskId, float] = {}
        """When each open ask was begun; the time that it waited for its turn at a model is not counted."""

    def _new_live(self) -> Live:
        return Live(
            console=self._console,
            auto_refresh=True,
            refresh_per_second=8,
            transient=True,
            get_renderable=self._render,
        )

    @contextmanager
    def open_display(self) -> Iterator[None]:
        self._live.start()
        try:
            yield
        finally:
            self._live.stop()

    def pause(self) -> None:
        self._held = []
        self._live.stop()

    def resume(self) -> None:
        # A live display that is started again would wipe as many lines as it last had: what the person read and typed.
        self._live = self._new_live()
        self._live.start()
        held, self._held = self._held or [], None
        for event in held:
            self.show(event)

    def show(self, event: Event) -> None:
        if self._held is not None:
            self._held.append(event)
        elif isinstance(event, SeatWaiting):
            self._note_waiting(event)
        else:
            self._show(event)
            self._note_asks()

    def _note_waiting(self, event: SeatWaiting) -> None:
        if event.is_over:
            self._held_up.discard(event.seat)
            self._begun[event.ask] = self._console.get_time()
        else:
            self._held_up.add(event.seat)

    def _note_asks(self) -> None:
        """Keep the times of the asks that are open, and begin those of new ones."""
        now = self._console.get_time()
        pending = self._timeline.session_state.pending
        self._begun = {ask: self._begun.get(ask, now) for ask in pending}

    def _describe_ask(self, seat: SeatId, kind: str) -> str:
        """What a seat is asked for, and whether it waits for its model or how long it has been at its answer."""
        words = SHARED_REPORT[self._timeline.language]
        if seat in self._held_up:
            return " · ".join(filter(None, (kind, words.held_up)))
        now = self._console.get_time()
        begun = [at for ask, at in self._begun.items() if find_asked_seat(ask) == seat]
        seconds = now - min(begun, default=now)
        if seconds < MIN_SHOWN_SECONDS:
            return kind
        return " · ".join(filter(None, (kind, words.asked_since.format(seconds=int(seconds)))))

    @abstractmethod
    def _show(self, event: EntryAdded | TextDelta) -> None:
        """Show an entry or a piece of text."""

    @abstractmethod
    def _render(self) -> RenderableType:
        """Return what stands below the lines that are printed."""


def render_spoken(
    console: Console, seat: str, words: str, color: str, room: int
) -> list[RenderableType]:
    """The words of the speaker; what does not fit scrolls away, so that the newest and what stands below stay in sight."""
    if not words:
        return []
    said = Text.assemble((f"{seat} ", f"bold {color}"), strip_control(words))
    return [*said.wrap(console, console.width)[-max(2, room) :], Text("")]


def format_foot(session: str, spent: Spent, words: SharedReportText) -> str:
    """The last line of a live view: the session, what it cost so far, how to stop it."""
    return f"{session}  ·  {words.tokens.format(tokens=spent.tokens)}  ·  {format_money(words, spent)}  ·  {words.stops}"


class SeatsView(MovingView):
    """Any protocol: what happened scrolls by; below it, who is being asked for what, and what it cost so far."""

    def __init__(self, plugin: AnyPlugin, timeline: Any, console: Console) -> None:
        self._asked: dict[str, str] = {}
        self._words: dict[str, str] = {}
        super().__init__(plugin, timeline, console)

    def _show(self, event: EntryAdded | TextDelta) -> None:
        if isinstance(event, TextDelta):
            form = self._plugin.rules.forms.get(parse_ask_kind(event.ask))
            # Only what is said in words: pieces of JSON are not to be read, and some of it is sealed.
            if form is not None and form.form == "text":
                self._words[event.ask] = self._words.get(event.ask, "") + event.text
            return
        for line in describe_entry(self._plugin, self._timeline, event.entry):
            if isinstance(line, SpokenLine):
                self._console.print(Text(line.head, style="bold"))
                self._console.print(
                    Padding(render_words(line.words), (0, 0, 1, 2)) if line.words else ""
                )
                continue
            self._console.print(style_line(line))
        pending = self._timeline.session_state.pending
        self._asked = {find_asked_seat(ask): parse_ask_kind(ask) for ask in pending}
        self._words = {ask: words for ask, words in self._words.items() if ask in pending}

    def _render(self) -> RenderableType:
        if not self._timeline.seq:
            return Text("")
        words = SHARED_REPORT[self._timeline.session_state.opened.language]
        table = Table.grid(padding=(0, 2))
        parts: list[RenderableType] = []
        for at, seat in enumerate(self._timeline.session_state.seats):
            said = next(
                (text for ask, text in self._words.items() if find_asked_seat(ask) == seat.id), ""
            )
            room = self._console.height - len(self._timeline.session_state.seats) - 4
            parts += render_spoken(self._console, seat.id, said, COLORS[at % len(COLORS)], room)
            kind = self._asked.get(seat.id)
            doing = ""
            if kind:
                doing = f"… {self._describe_ask(seat.id, words.asked_for.get(kind, kind))}"
            table.add_row(
                Text(seat.id, style=f"bold {COLORS[at % len(COLORS)]}"), Text(doing, style="dim")
            )
        spent = self._timeline.spent
        return Group(
            *parts, table, Text(format_foot(self._timeline.session, spent, words), style="dim")
        )
