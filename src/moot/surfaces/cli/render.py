"""Decisions and tables for terminals. Everything that participants said goes in as plain text, never as markup."""

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from moot.domain.fence import one_line, plain
from moot.projections.costs import money
from moot.projections.decision import Decision
from moot.protocols.persona.story import Story
from moot.protocols.persona.tables import backing, lost_lines, percent, what_it_means, without_dissent
from moot.protocols.persona.view_words import VIEW_WORDS, ViewWords
from moot.wiring.moot import SessionLine


def show_decision(console: Console, decision: Decision, story: Story) -> None:
    """The decision as a person wants it first: what, how sure, who dissents, who was lost, what it cost."""
    words = VIEW_WORDS[story.meeting.opened.language]
    lines = _decision_lines(decision, words)
    if decision.decision is None or not console.is_terminal:
        for line in lines:
            # Without a frame a line of the decision's could pass as one of Moot's own.
            console.print(Text(one_line(line.plain)), soft_wrap=True)
        return
    title = Text(f"{words.decision} · {decision.session}")
    console.print(Panel(Group(*lines), title=title, title_align="left", padding=(1, 2)))


def _decision_lines(decision: Decision, words: ViewWords) -> list[Text]:
    if decision.decision is None:
        told = words.still_thinking if decision.status == "thinking" else words.cancelled
        first = Text(words.no_decision if decision.status == "concluded" else told, style="bold")
        return [first, *_lost(decision, words)]
    entries = " ".join(f"#{entry}" for entry in decision.decision.entries)
    ended = words.endings.get(decision.ended_by or "", decision.ended_by)
    spent = decision.spent
    return [
        Text(plain(decision.decision.text), style="bold"),
        Text(""),
        Text(f"{words.rests_on} {entries or words.names_nothing}"),
        Text(f"{words.confidence}: {percent(decision.confidence)}"),
        Text(f"{words.support}: {backing(decision, words)}"),
        Text(f"{words.ended_by}: {ended}"),
        *_dissent(decision, words),
        *_lost(decision, words),
        Text(f"{words.spent.format(calls=spent.calls, tokens=spent.tokens)} · {money(spent)}", style="dim"),
        Text(f"moot show {decision.session}", style="dim"),
    ]


def _dissent(decision: Decision, words: ViewWords) -> list[Text]:
    if not decision.dissent:
        return [Text(without_dissent(decision, words))]
    found = [Text(f"{words.dissent}:")]
    for voice in decision.dissent:
        who = words.reported if voice.seat is None else f"{voice.seat} ({words.verdicts[voice.kind]})"
        found.append(Text(f"– {who}: {one_line(voice.text)}"))
    return found


def _lost(decision: Decision, words: ViewWords) -> list[Text]:
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
