"""A persona meeting as it happens: in a terminal a live table of the listeners, elsewhere plain lines."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from moot.domain.facts import AsksPut, BudgetExhausted, Entry, SeatLost, SessionResumed
from moot.domain.fence import one_line, plain
from moot.domain.ids import SeatId
from moot.engine.events import EntryAdded, Event, TextHeard
from moot.projections.costs import money
from moot.protocols.persona.facts import (
    ConclusionDrafted,
    FloorGiven,
    IntentDeclared,
    MeetingConcluded,
    PositionTaken,
    StandTaken,
    TalkEnded,
    TurnTaken,
)
from moot.protocols.persona.story import Line, Story
from moot.protocols.persona.view_words import VIEW_WORDS

COLORS = ("cyan", "magenta", "green", "yellow", "blue", "red", "bright_cyan", "bright_magenta")
BAR = 20


class View(Protocol):
    """Shows events; `paused` hides what moves while a person types."""

    def show(self, event: Event) -> None: ...

    def shown(self) -> AbstractContextManager[Any]: ...

    def pause(self) -> None: ...

    def go_on(self) -> None: ...


class PlainView:
    """One line per happening, for pipes and logs."""

    def __init__(self, story: Story, console: Console) -> None:
        self._story = story
        self._console = console

    def shown(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def pause(self) -> None:
        return None

    def go_on(self) -> None:
        return None

    def show(self, event: Event) -> None:
        if not isinstance(event, EntryAdded):
            return
        for line in told(self._story, event.entry):
            self._print(line)

    def _print(self, text: str) -> None:
        self._console.print(Text(text), soft_wrap=True)


class LiveView:
    """The finished contributions scroll by; below them, the listeners and the words of whoever speaks."""

    def __init__(self, story: Story, console: Console) -> None:
        self._story = story
        self._console = console
        self._live = self._new_live()
        self._status: dict[SeatId, str] = {}
        self._score: dict[SeatId, float] = {}
        self._words = ""
        self._speaker: SeatId | None = None
        self._held: list[Event] | None = None

    def _new_live(self) -> Live:
        return Live(console=self._console, auto_refresh=True, refresh_per_second=8, transient=True, get_renderable=self._render)

    @contextmanager
    def shown(self) -> Iterator[None]:
        self._live.start()
        try:
            yield
        finally:
            self._live.stop()

    def pause(self) -> None:
        self._held = []
        self._live.stop()

    def go_on(self) -> None:
        # A live display that is started again would wipe as many lines as it last had: what the person read and typed.
        self._live = self._new_live()
        self._live.start()
        held, self._held = self._held or [], None
        for event in held:
            self.show(event)

    def show(self, event: Event) -> None:
        if self._held is not None:
            self._held.append(event)
            return
        if isinstance(event, TextHeard):
            if event.seat != self._speaker:
                self._speaker, self._words = event.seat, ""
            self._words += event.text
            return
        before = len(self._story.timeline)
        self._story.add(event.entry)
        self._note(event.entry)
        for line in self._story.timeline[before:]:
            self._console.print(self._contribution(line))

    def _note(self, entry: Entry) -> None:
        fact = entry.fact
        words = VIEW_WORDS[self._story.meeting.opened.language]
        match fact:
            case AsksPut(asks=asks):
                for ask in asks:
                    seat = SeatId(ask.split(".", 2)[2])
                    self._status[seat] = "…"
            case IntentDeclared(seat=seat, said=intent):
                self._score[seat] = intent.reaction_score
                self._status[seat] = one_line(intent.reason)
            case FloorGiven(seat=seat):
                self._status[seat] = f"{words.floor} · {words.floors[fact.reason]}"
                self._speaker, self._words = seat, ""
            case SeatLost(seat=seat, reason=reason):
                self._status[seat] = words.losses[reason]
                self._console.print(Text(f"  {_loss(seat, words.losses[reason], fact.detail)}", style="red"))
            case PositionTaken(seat=seat, said=position):
                self._status[seat] = one_line(position.position)
            case StandTaken(seat=seat, said=stand):
                self._status[seat] = f"{words.verdicts[stand.verdict]} · {one_line(stand.position)}"
            case TurnTaken(seat=seat):
                self._status[seat] = ""
                self._speaker, self._words = None, ""
            case TalkEnded(reason=reason):
                self._console.print(Text(f"  ■ {words.endings[reason]}", style="dim"))
            case ConclusionDrafted(seat=seat):
                self._status[seat] = words.decision
            case BudgetExhausted(spent=spent):
                self._console.print(Text(f"  ■ {spent}", style="yellow"))
            case SessionResumed():
                self._status = {seat.id: "…" for seat in self._story.meeting.seats}
            case _:
                pass

    def _color(self, seat: str) -> str:
        seats = [known.id for known in self._story.meeting.seats]
        return COLORS[seats.index(SeatId(seat)) % len(COLORS)] if seat in seats else "white"

    def _contribution(self, line: Line) -> RenderableType:
        head = Text.assemble((f"#{line.id} ", "dim"), (line.speaker, f"bold {self._color(line.speaker)}"), (_about(line), "dim"))
        return Group(head, Padding(Text(plain(line.content)), (0, 0, 1, 2)))

    def _render(self) -> RenderableType:
        if not self._story.seq:
            return Text("")
        meeting = self._story.meeting
        table = Table.grid(padding=(0, 2), expand=True)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, width=BAR + 5)
        table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        for seat in meeting.seats:
            score = self._score.get(seat.id, 0.0)
            filled = round(score * BAR)
            bar = Text.assemble(("█" * filled, self._color(seat.id)), ("░" * (BAR - filled), "dim"), (f" {score:.2f}", "dim"))
            table.add_row(
                Text(seat.id, style=f"bold {self._color(seat.id)}"), bar, Text(self._status.get(seat.id, ""), style="dim")
            )
        parts: list[RenderableType] = []
        if self._speaker is not None and self._words:
            said = Text.assemble((f"{self._speaker} ", f"bold {self._color(self._speaker)}"), plain(self._words))
            # What does not fit above the table scrolls away, so that the newest words and the table stay in sight.
            room = max(2, self._console.height - len(meeting.seats) - 5)
            parts += [*said.wrap(self._console, self._console.width)[-room:], Text("")]
        parts += [table, Text(_consensus(self._story), style="dim"), Text(_footer(self._story), style="dim")]
        return Group(*parts)


def told(story: Story, entry: Entry) -> list[str]:
    """Tell one more entry, in plain lines; nothing for one that is not worth one."""
    before = len(story.timeline)
    story.add(entry)
    lines = [f"#{line.id} {line.speaker}{_about(line)}: {one_line(line.content)}" for line in story.timeline[before:]]
    happened = happening(story, entry)
    return [*lines, f"  {happened}"] if happened else lines


def happening(story: Story, entry: Entry) -> str:
    """An entry that is no contribution, in one line; empty when it is not worth one."""
    words = VIEW_WORDS[story.meeting.opened.language]
    fact = entry.fact
    match fact:
        case IntentDeclared(seat=seat, said=intent):
            what = words.speaks if intent.intent_to_speak else words.silent
            return f"{seat} {intent.reaction_score:.2f} {what}: {one_line(intent.reason)}"
        case FloorGiven(seat=seat, reason=reason):
            return f"{words.floor}: {seat} ({words.floors[reason]})"
        case SeatLost(seat=seat, reason=reason, detail=detail):
            return _loss(seat, words.losses[reason], detail)
        case PositionTaken(seat=seat, said=position):
            return f"{seat} ({position.confidence:.2f}): {one_line(position.position)}"
        case StandTaken(seat=seat, said=stand):
            return f"{seat}: {words.verdicts[stand.verdict]} ({stand.confidence:.2f}) {one_line(stand.position)}"
        case TalkEnded(reason=reason):
            return f"■ {words.endings[reason]}"
        case ConclusionDrafted(seat=seat, said=draft):
            return f"{words.decision} ({seat}): {one_line(draft.decision.text)}"
        case BudgetExhausted(spent=spent):
            return f"■ {spent}"
        case MeetingConcluded(could_differ=True, author=author) if author is not None:
            return words.could_differ
        case _:
            return ""


def _loss(seat: str, what: str, detail: str) -> str:
    return f"✗ {seat}: {what} ({one_line(detail)})" if detail else f"✗ {seat}: {what}"


def _about(line: Line) -> str:
    score = "" if line.relevance_score is None else f" {line.relevance_score:.2f}"
    return f"{score} → #{line.refers_to}" if line.refers_to else score


def _consensus(story: Story) -> str:
    meeting = story.meeting
    words = VIEW_WORDS[meeting.opened.language]
    standings = [(point.entry, point.standing(len(meeting.seats))) for point in meeting.points]
    agreed = " ".join(f"#{entry}" for entry, standing in standings if standing == "agreed")
    contested = " ".join(f"#{entry}" for entry, standing in standings if standing == "contested")
    return f"{words.agreed}: {agreed or '–'}   {words.contested}: {contested or '–'}"


def _footer(story: Story) -> str:
    total = story.spent
    limit = story.meeting.opened.budget.turns
    turn = f"{min(story.meeting.turn, limit)}/{limit}" if limit else str(story.meeting.turn)
    words = VIEW_WORDS[story.meeting.opened.language]
    return f"{story.session}  ·  {words.footer.format(turn=turn, tokens=total.tokens)}  ·  {money(total)}  ·  {words.stops}"
