"""A meeting of personas as it happens: the contributions scroll by; below them the listeners, and the words of the speaker."""

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from moothall.domain.ids import find_asked_seat
from moothall.engine.context import EntryAdded, TextDelta
from moothall.features.persona import facts
from moothall.features.persona.report import format_line_marks
from moothall.features.persona.timeline import PersonaTimeline, PersonaTimelineLine
from moothall.features.persona.words import PERSONA_REPORT
from moothall.plugins import (
    AnyPlugin,
    AsksSent,
    BudgetExhausted,
    Entry,
    MovingView,
    SeatId,
    SeatLost,
    SessionResumed,
    group_pairs,
    one_line,
)
from moothall.protocols.consultation.state import to_inner_entry
from moothall.protocols.consultation.timeline import describe_consultation
from moothall.reports.sections import describe_shared
from moothall.reports.wording import format_limit, format_loss, format_money
from moothall.surfaces.cli.live_views import (
    BAR,
    COLORS,
    render_bar,
    render_spoken,
)
from moothall.surfaces.cli.render import render_words


class MeetingView(MovingView):
    """A persona meeting: the finished contributions scroll by; below them, the listeners and the words of the speaker."""

    _timeline: PersonaTimeline

    def __init__(self, plugin: AnyPlugin, timeline: PersonaTimeline, console: Console) -> None:
        self._status: dict[str, str] = {}
        self._score: dict[str, float] = {}
        self._words = ""
        self._speaker: SeatId | None = None
        super().__init__(plugin, timeline, console)

    def _show(self, event: EntryAdded | TextDelta) -> None:
        if isinstance(event, TextDelta):
            if event.seat != self._speaker:
                self._speaker, self._words = event.seat, ""
            self._words += event.text
            return
        before = len(self._timeline.lines)
        self._timeline.add(event.entry)
        for text in describe_consultation(self._timeline, event.entry.fact):
            self._console.print(Text(text, style="red" if text.startswith("  ✗") else "dim"))
        seen = to_inner_entry(event.entry)
        if seen is not None:
            self._track_status(seen)
        for line in self._timeline.lines[before:]:
            self._console.print(self._render_contribution(line))
        for text in describe_shared(self._timeline, event.entry.fact):
            self._console.print(Text(text, style="yellow"))

    def _track_status(self, entry: Entry) -> None:
        fact = entry.fact
        words = PERSONA_REPORT[self._timeline.state.opened.language]
        match fact:
            case AsksSent(asks=asks):
                self._status.update(dict.fromkeys(map(find_asked_seat, asks), "…"))
            case facts.IntentDeclared(seat=seat, said=intent):
                self._score[seat] = intent.reaction_score
                self._status[seat] = one_line(intent.reason)
            case facts.BidsDeclared(said=said):
                for bid in said.bids:
                    if bid.node_id in self._timeline.state.intents:
                        self._score[bid.node_id] = bid.reaction_score
                        self._status[bid.node_id] = one_line(bid.reason)
            case facts.FloorGiven(seat=seat):
                self._status[seat] = f"{words.floor} · {words.floors[fact.reason]}"
                self._speaker, self._words = seat, ""
            case SeatLost(seat=seat, reason=reason):
                self._status[seat] = words.losses[reason]
                self._console.print(Text(f"  {format_loss(words, fact)}", style="red"))
            case facts.PositionTaken(seat=seat, said=position):
                self._status[seat] = one_line(position.position)
            case facts.StandTaken(seat=seat, said=stand):
                self._status[seat] = f"{words.verdicts[stand.verdict]} · {one_line(stand.position)}"
            case facts.TurnTaken(seat=seat):
                self._status[seat] = ""
                self._speaker, self._words = None, ""
            case facts.TalkEnded(reason=reason):
                self._console.print(Text(f"  ■ {words.endings[reason]}", style="dim"))
            case facts.ConclusionDrafted(seat=seat):
                self._status[seat] = words.decision
            case BudgetExhausted():
                self._console.print(Text(f"  {format_limit(words, fact)}", style="yellow"))
            case SessionResumed():
                self._status = {seat.id: "…" for seat in self._timeline.state.seats}
            case _:
                pass

    def _choose_color(self, seat: str) -> str:
        seats = [known.id for known in self._timeline.state.seats]
        return COLORS[seats.index(SeatId(seat)) % len(COLORS)] if seat in seats else "white"

    def _render_contribution(self, line: PersonaTimelineLine) -> RenderableType:
        marks = format_line_marks(line, PERSONA_REPORT[self._timeline.language])
        head = Text.assemble(
            (f"#{line.id} ", "dim"),
            (line.speaker, f"bold {self._choose_color(line.speaker)}"),
            (marks, "dim"),
        )
        return Group(head, Padding(render_words(line.content), (0, 0, 1, 2)))

    def _render(self) -> RenderableType:
        if not self._timeline.seq:
            return Text("")
        meeting = self._timeline.state
        table = Table.grid(padding=(0, 2), expand=True)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, width=BAR + 5)
        table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        for seat in meeting.seats:
            bar = render_bar(self._score.get(seat.id, 0.0), self._choose_color(seat.id))
            status = self._describe_ask(seat.id, self._status.get(seat.id, ""))
            table.add_row(
                Text(seat.id, style=f"bold {self._choose_color(seat.id)}"),
                bar,
                Text(status, style="dim"),
            )
        parts: list[RenderableType] = []
        if self._speaker is not None and self._words:
            room = self._console.height - len(meeting.seats) - 5
            parts += render_spoken(
                self._console, self._speaker, self._words, self._choose_color(self._speaker), room
            )
        return Group(
            *parts,
            table,
            Text(self._format_consensus(), style="dim"),
            Text(self._format_footer(), style="dim"),
        )

    def _format_consensus(self) -> str:
        meeting, words = self._timeline.state, PERSONA_REPORT[self._timeline.language]
        entries = group_pairs(
            (point.compute_status(len(meeting.seats)), f"#{point.entry}")
            for point in meeting.points
        )
        agreed, contested = (
            " ".join(entries.get(status, ())) or "–" for status in ("agreed", "contested")
        )
        return f"{words.agreed}: {agreed}   {words.contested}: {contested}"

    def _format_footer(self) -> str:
        meeting, total, words = (
            self._timeline.state,
            self._timeline.spent,
            PERSONA_REPORT[self._timeline.language],
        )
        limit = meeting.opened.budget.turns
        spent = words.footer.format(
            turn=f"{min(meeting.turn, limit)}/{limit}" if limit else meeting.turn,
            tokens=total.tokens,
        )
        return f"{self._timeline.session}  ·  {spent}  ·  {format_money(words, total)}  ·  {words.stops}"
