"""Decisions and tables for terminals. Everything that participants said goes in as plain text, never as markup."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Final

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import SHARED_REPORT
from moothall.ports.plugin import AnyPlugin
from moothall.reports.blocks import Report, Tone
from moothall.reports.terminal import TerminalLine, render_decision_lines, render_lines
from moothall.surfaces.cli.markdown_text import render_words

_STYLES: dict[Tone, str] = {"plain": "", "strong": "bold", "dim": "dim", "bad": "red", "warn": "bold yellow", "good": "green"}
QUOTE_BAR: Final = "│ "


def show_decision(console: Console, plugin: AnyPlugin, timeline: Any) -> None:
    """The decision as a person wants it first."""
    session, title = timeline.session, SHARED_REPORT[timeline.session_state.opened.language].decision
    lines, decision = render_decision_lines(plugin.report(timeline)), plugin.decision(timeline)
    if decision.status == "concluded":
        lines.append(TerminalLine(f"moot show {session}", "dim"))
    if decision.decision is None or not console.is_terminal:
        _print_lines(console, lines)
        return
    shown = [_render_group(is_quote, group) for is_quote, group in _group_lines(lines)]
    console.print(Panel(Group(*shown), title=Text(f"{title} · {session}"), title_align="left", padding=(1, 2)))


def show_report(console: Console, report: Report) -> None:
    """The whole report under its topic. What participants wrote stands behind a bar: no line of it passes as Moot's own."""
    console.print(Text(one_line(report.topic), style="bold"), soft_wrap=not console.is_terminal)
    _print_lines(console, render_lines((*report.decision, *report.record)))


def _group_lines(lines: Iterable[TerminalLine]) -> Iterator[tuple[bool, list[TerminalLine]]]:
    """Yield the lines, those of one quote together."""
    for (is_quote, _), group in groupby(lines, key=lambda line: (line.is_quote, line.tone if line.is_quote else "")):
        yield is_quote, list(group)


def _render_group(is_quote: bool, lines: list[TerminalLine]) -> RenderableType:
    if is_quote:
        return render_words("\n".join(line.text for line in lines), _STYLES[lines[0].tone])
    return Text("\n").join(Text(line.text, style=_STYLES[line.tone]) for line in lines)


def _print_lines(console: Console, lines: Iterable[TerminalLine]) -> None:
    """Print lines as they are; a quote keeps its lines, each behind a bar. In a terminal its Markdown is rendered."""
    for is_quote, group in _group_lines(lines):
        if not is_quote:
            for line in group:
                console.print(Text(line.text, style=_STYLES[line.tone]), soft_wrap=not console.is_terminal)
            continue
        rows = [line.text for line in group]
        if console.is_terminal:
            options = console.options.update_width(max(1, console.width - len(QUOTE_BAR)))
            for row in console.render_lines(_render_group(True, group), options, pad=False):
                words = Text.assemble((QUOTE_BAR, "dim"), *((part.text, part.style or "") for part in row))
                words.rstrip()
                console.print(words, soft_wrap=True)
            continue
        for text in rows:
            console.print(Text(f"{QUOTE_BAR}{text}".rstrip()), soft_wrap=True)
