"""Reports as lines of a terminal: plain text with a tone, for the caller to colour."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, assert_never

from moothall.domain.safe_text import one_line, strip_control
from moothall.reports import blocks
from moothall.reports.blocks import Block, Report, is_empty, join_spans
from moothall.reports.wording import draw_bar, draw_sparkline

SEPARATOR: Final = " · "


@dataclass(frozen=True, slots=True)
class TerminalLine:
    """One line, and how it is to look. `is_quote`: a participant wrote it."""

    text: str
    tone: blocks.Tone = "plain"
    is_quote: bool = False


def render_lines(content: Iterable[Block]) -> list[TerminalLine]:
    """Blocks as lines; what participants said cannot control the terminal."""
    return [line for block in content if not is_empty(block) for line in _render_block(block)]


def render_decision_lines(report: Report) -> list[TerminalLine]:
    """What a person wants first; its title stands elsewhere."""
    content = report.decision[1:] if report.decision and isinstance(report.decision[0], blocks.Heading) else report.decision
    return render_lines(content)


def _render_block(block: Block) -> Iterator[TerminalLine]:
    match block:
        case blocks.Heading(text=title):
            yield TerminalLine("")
            yield TerminalLine(one_line(title), "strong")
        case blocks.Line(text=text, tone=tone):
            yield TerminalLine(one_line(join_spans(text)), tone)
        case blocks.Quote(text=words, tone=tone):
            for line in strip_control(words).split("\n"):
                yield TerminalLine(line, tone, is_quote=True)
        case blocks.Fields(rows=rows):
            for name, value in rows:
                yield TerminalLine(f"{name}: {one_line(join_spans(value))}")
        case blocks.Bullets(items=items, tone=tone):
            for item in items:
                yield TerminalLine(f"– {one_line(join_spans(item))}", tone)
        case blocks.Table(heads=heads, rows=cells):
            yield TerminalLine(SEPARATOR.join(heads), "dim")
            for row in cells:
                yield TerminalLine(SEPARATOR.join(one_line(join_spans(value)) for value in row))
        case blocks.Card(head=head, blocks=content):
            if head:
                yield TerminalLine(SEPARATOR.join(one_line(join_spans(text)) for text in head if text), "strong")
            yield from render_lines(content)
        case blocks.Details(summary=summary, blocks=content):
            yield TerminalLine(one_line(summary), "dim")
            yield from render_lines(content)
        case blocks.Preformatted(lines=lines):
            for line in lines:
                yield TerminalLine(strip_control(line))
        case blocks.Bars(bars=bars):
            for bar in bars:
                yield TerminalLine(f"{draw_bar(bar.value)} {one_line(bar.name)} {one_line(bar.text)}".rstrip(), bar.tone)
        case blocks.Shares(parts=parts):
            yield TerminalLine(", ".join(f"{one_line(part.name)} {part.value * 100:.0f} %" for part in parts))
        case blocks.LineChart(series=series):
            for each in series:
                yield TerminalLine(f"{draw_sparkline(each.values)} {one_line(each.name)}")
        case blocks.ColumnChart(labels=labels, series=series):
            for at, label in enumerate(labels):
                counts = ", ".join(f"{one_line(each.name)} {each.values[at]:g}" for each in series if each.values[at])
                yield TerminalLine(f"{one_line(label)}: {counts}")
        case _:
            assert_never(block)
