"""Decisions and tables for terminals. Everything that participants said goes in as plain text, never as markup."""

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from moot.domain.fence import one_line, plain
from moot.projections.costs import money
from moot.projections.decision import Decision
from moot.protocols.persona.story import Story
from moot.protocols.persona.tables import backing, lost_lines, percent, what_it_means
from moot.protocols.persona.view_words import VIEW_WORDS, ViewWords
from moot.wiring.moot import SessionLine


def decision_text(decision: Decision, story: Story) -> RenderableType:
    """The decision as a person wants it first: what, how sure, who dissents, who was lost, what it cost."""
    words = VIEW_WORDS[story.meeting.opened.language]
    if decision.decision is None:
        told = words.still_thinking if decision.status == "thinking" else words.cancelled
        return Text(words.no_decision if decision.status == "concluded" else told, style="bold")
    lines: list[RenderableType] = [Text(plain(decision.decision.text), style="bold"), Text("")]
    entries = " ".join(f"#{entry}" for entry in decision.decision.entries)
    lines.append(Text(f"{words.rests_on} {entries or words.names_nothing}"))
    lines.append(
        Text(
            f"{words.confidence}: {percent(decision.confidence)} · {words.support}: {backing(decision, words)} · "
            f"{words.ended_by}: {words.endings.get(decision.ended_by or '', decision.ended_by)}"
        )
    )
    lines += _dissent(decision, words) + _lost(decision, words)
    spent = decision.spent
    lines.append(Text(f"{words.spent.format(calls=spent.calls, tokens=spent.tokens)} · {money(spent)}", style="dim"))
    lines.append(Text(f"moot show {decision.session}", style="dim"))
    return Panel(Group(*lines), title=Text(f"{words.decision} · {decision.session}"), title_align="left", padding=(1, 2))


def _dissent(decision: Decision, words: ViewWords) -> list[RenderableType]:
    abstained = [position.seat for position in decision.positions if position.verdict == "abstain"]
    found: list[RenderableType] = [Text(f"{words.verdicts['abstain']}: {', '.join(abstained)}")] if abstained else []
    if not decision.dissent:
        return [Text(words.no_dissent), *found]
    found.append(Text(f"{words.dissent}:"))
    for voice in decision.dissent:
        who = words.reported if voice.seat is None else f"{voice.seat} ({words.verdicts[voice.kind]})"
        found.append(Padding(Text(f"{who}: {one_line(voice.text)}"), (0, 0, 0, 2)))
    return found


def _lost(decision: Decision, words: ViewWords) -> list[RenderableType]:
    meaning = what_it_means(decision, words)
    lines = [f"{words.lost}: {line}" for line in lost_lines(decision, words)]
    return [Text(line, style="red") for line in ([*lines, meaning] if meaning else lines)]


def show_sessions(console: Console, lines: list[SessionLine]) -> None:
    """The sessions, the newest last: a table for a person, whole lines for a pipe."""
    if console.is_terminal:
        console.print(sessions_table(lines))
        return
    for line in lines:
        opened = f"{line.opened_at:%Y-%m-%d %H:%M}"
        console.print(Text(f"{line.session}\t{line.protocol}\t{line.status}\t{opened}\t{one_line(line.topic)}"), soft_wrap=True)


def sessions_table(lines: list[SessionLine]) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), expand=True)
    for head in ("session", "protocol", "status", "entries", "opened", "topic"):
        table.add_column(head, no_wrap=True, overflow="ellipsis", ratio=1 if head == "topic" else None)
    for line in lines:
        table.add_row(
            line.session,
            line.protocol,
            line.status,
            str(line.entries),
            f"{line.opened_at:%Y-%m-%d %H:%M}",
            Text(one_line(line.topic)),
        )
    return table
