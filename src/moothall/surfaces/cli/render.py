"""Decisions, tables and the words of participants for terminals: plain text or Markdown, never markup of a console."""

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console, Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from moothall.domain.safe_text import one_line, strip_control
from moothall.locale.catalogues import SHARED_REPORT
from moothall.ports.plugin import AnyPlugin
from moothall.reports.blocks import Report, Tone
from moothall.reports.plain_text import TerminalLine, render_decision_lines, render_lines

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


def render_words(text: str, style: str = "") -> RenderableType:
    """A participant's words as Markdown; their lines stay lines."""
    # Imported here: a tenth of a command's start, for those that show words.
    from rich.markdown import Markdown

    shown = Markdown("", hyperlinks=False, style=style or "none", code_theme="ansi_dark")
    # Rich's own parser lets raw HTML through and then shows nothing of it: `List<int>` would lose its end.
    shown.parsed = _keep_lines(_build_parser().parse(strip_control(text)))
    return shown


@cache
def _build_parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return (
        MarkdownIt("commonmark", {"html": False})
        .enable(["table", "strikethrough"])
        .disable("image")
    )


def _keep_lines(tokens: "list[Token]") -> "list[Token]":
    for token in tokens:
        for child in token.children or ():
            if child.type == "softbreak":
                child.type = "hardbreak"
        # Somebody's heading must not pass as one of Moot's own, which a terminal would centre or frame.
        if token.type in {"heading_open", "heading_close"}:
            token.type, token.tag = token.type.replace("heading", "paragraph"), "p"
    return tokens


_STYLES: dict[Tone, str] = {
    "plain": "",
    "strong": "bold",
    "dim": "dim",
    "bad": "red",
    "warn": "bold yellow",
    "good": "green",
}
QUOTE_BAR: Final = "│ "


def show_decision(console: Console, plugin: AnyPlugin, timeline: Any) -> None:
    """The decision as a person wants it first."""
    session, title = (
        timeline.session,
        SHARED_REPORT[timeline.session_state.opened.language].decision,
    )
    lines, decision = render_decision_lines(plugin.report(timeline)), plugin.decision(timeline)
    if decision.status == "concluded":
        lines.append(TerminalLine(f"moot show {session}", "dim"))
    if decision.decision is None or not console.is_terminal:
        _print_lines(console, lines)
        return
    shown = [_render_group(is_quote, group) for is_quote, group in _group_lines(lines)]
    # No frame: it would take six of the columns that the memo is measured for.
    console.print(Rule(Text(f"{title} · {session}"), align="left", style="dim"))
    console.print(Group(*shown))


def show_report(console: Console, report: Report) -> None:
    """The whole report under its topic. What participants wrote stands behind a bar: no line of it passes as Moot's own."""
    console.print(Text(one_line(report.topic), style="bold"), soft_wrap=not console.is_terminal)
    folded = chain.from_iterable(fold.blocks for fold in report.folds)
    whole = chain(report.decision, report.argument, report.record, folded)
    _print_lines(console, render_lines(whole))


def show_fold(console: Console, report: Report, name: str) -> None:
    """One fold of a report: its figures, or how it was recorded."""
    for fold in report.folds:
        if fold.name == name:
            _print_lines(console, render_lines(fold.blocks))


def _group_lines(lines: Iterable[TerminalLine]) -> Iterator[tuple[bool, list[TerminalLine]]]:
    """Yield the lines, those of one quote together."""
    for (is_quote, _), group in groupby(
        lines, key=lambda line: (line.is_quote, line.tone if line.is_quote else "")
    ):
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
                console.print(
                    Text(line.text, style=_STYLES[line.tone]), soft_wrap=not console.is_terminal
                )
            continue
        if console.is_terminal:
            options = console.options.update_width(max(1, console.width - len(QUOTE_BAR)))
            for row in console.render_lines(_render_group(True, group), options, pad=False):
                words = Text.assemble(
                    (QUOTE_BAR, "dim"), *((part.text, part.style or "") for part in row)
                )
                words.rstrip()
                console.print(words, soft_wrap=True)
            continue
        for line in group:
            console.print(Text(f"{QUOTE_BAR}{line.text}".rstrip()), soft_wrap=True)
