"""Reports as Markdown, and as lines of a terminal with a tone, for the caller to colour: with what participants said made
harmless.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, assert_never

from moothall.domain.replace import dataclass
from moothall.domain.safe_text import compile_late, one_line, strip_control
from moothall.reports import blocks
from moothall.reports.blocks import Block, Report, is_empty, join_spans, split_spans
from moothall.reports.wording import draw_bar, draw_sparkline

SEPARATOR: Final = " · "
MAX_TITLE: Final = 120
_SENTENCE: Final = compile_late(r".+?(?:[.!?](?=\s|$)|[。！？]|$)")


def render_markdown(report: Report) -> str:
    """The whole report: the decision first, then what it rests on."""
    return "".join(iterate_markdown(report))


def iterate_markdown(report: Report) -> Iterator[str]:
    """The whole report in parts: a long one is as much again as what it tells."""
    question = extract_question(report.topic)
    # Behind a word of ours: no heading begins with what another wrote. The timeline quotes the question line by line.
    title = Preface((f"# {format_cell(report.title)}: {format_cell(question or report.session)}",))
    head = [title]
    if question != one_line(report.topic):
        head.append(Preface(tuple(quote_markdown(report.topic))))
    if report.subtitle:
        head.append(Preface((_join_texts(report.subtitle),)))
    about = [Preface((_join_texts(report.about),))] if report.about else []
    folded = chain.from_iterable(fold.blocks for fold in report.folds)
    parts = chain(head, report.decision, about, report.argument, report.record, folded)
    return _iterate_blocks(parts)


def extract_question(topic: str) -> str:
    """What a topic asks, on one line: all of a short one, else its first sentence that asks, or its first."""
    text = one_line(topic)
    if len(text) <= MAX_TITLE:
        return text
    asking = _find_question(text)
    if len(asking) <= MAX_TITLE:
        return asking
    return f"{asking[: MAX_TITLE - 1].rstrip()}…"


def _find_question(text: str) -> str:
    """Return the first sentence that asks; else the first, or the whole text where there is none."""
    sentences: list[str] = [each.strip() for each in _SENTENCE.findall(text)]
    for each in sentences:
        if each.endswith(("?", "？")):
            return each
    return sentences[0] if sentences else text


class Preface:
    """Lines that are Markdown already."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        self.lines = lines


def render_blocks(content: Iterable[Block | Preface]) -> str:
    """Blocks below each other, an empty line between them."""
    return "".join(_iterate_blocks(content))


def _iterate_blocks(content: Iterable[Block | Preface]) -> Iterator[str]:
    between = ""
    for block in content:
        # Each block becomes one text at once: the lines of a long report would take more room than the report.
        lines = block.lines if isinstance(block, Preface) else _format_block(block)
        if lines:
            yield between + "\n".join(lines)
            between = "\n\n"
    yield "\n"


def format_cell(value: object) -> str:
    return (
        one_line(str(value))
        .replace("\\", "\\\\")
        .replace("|", "\\|")
        .replace("<", "&lt;")
        .replace("![", "!\\[")
    )


def format_text(text: object) -> str:
    """A text on one line, its spans marked."""
    return "".join(_format_span(span) for span in split_spans(text))


def _join_texts(texts: Iterable[object]) -> str:
    """Texts beside each other on one line."""
    return SEPARATOR.join(map(format_text, texts))


def format_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for row in rows:
        lines.append(f"| {' | '.join(map(format_text, row))} |")
    return lines


def quote_markdown(text: str) -> list[str]:
    """Someone's words, each line behind a mark, so that none passes as a heading or as someone else's."""
    # An image would be fetched by whoever opens the file.
    # A link definition would make links of what others say in brackets.
    return [
        f"> {line}".rstrip().replace("<", "&lt;").replace("![", "!\\[").replace("]:", "]\\:")
        for line in strip_control(text).split("\n")
    ]


def _format_span(span: blocks.Span) -> str:
    if isinstance(span, blocks.Strong):
        return f"**{format_cell(span.text)}**"
    text = str(span)
    # A cell is stripped; between two spans a blank must stay.
    before = " " if text[:1].isspace() else ""
    after = " " if text[-1:].isspace() and text.strip() else ""
    return f"{before}{format_cell(text)}{after}"


def _format_block(block: Block) -> Sequence[str]:
    if is_empty(block):
        return ()
    match block:
        case blocks.Heading(text=text, level=level):
            return (f"{'#' * level} {format_cell(text)}",)
        case blocks.Line(text=line, tone="strong" | "bad" | "warn"):
            return (f"**{format_text(line)}**",)
        case blocks.Line(text=line):
            return (format_text(line),)
        case blocks.Quote(text=text):
            return quote_markdown(text)
        case blocks.Fields(rows=rows):
            return [f"- {format_cell(name)}: {format_text(value)}" for name, value in rows]
        case blocks.Bullets(items=items):
            return [f"- {format_text(item)}" for item in items]
        case blocks.Table(heads=heads, rows=cells):
            return format_table(heads, cells)
        case blocks.Card(head=head, blocks=content):
            return _render_card(_join_texts(filter(None, head)), content)
        case blocks.Details(summary=summary, blocks=content):
            return _render_card(format_cell(summary), content)
        case blocks.Preformatted(lines=lines):
            return ("```", *(line.replace("```", "'''") for line in lines), "```")
        case blocks.Bars(bars=bars):
            return [
                f"- `{draw_bar(bar.value)}` {format_cell(f'{bar.name} {bar.text}'.strip())}"
                for bar in bars
            ]
        case blocks.Shares(parts=parts):
            return (
                ", ".join(f"{format_cell(part.name)} {part.value * 100:.0f} %" for part in parts),
            )
        case blocks.LineChart(series=series):
            return [
                f"- `{draw_sparkline(each.values)}` {format_cell(each.name)}" for each in series
            ]
        case blocks.ColumnChart(labels=labels, series=series):
            rows_of_counts = []
            for at, label in enumerate(labels):
                counts = [f"{each.values[at]:g}" if each.values[at] else "–" for each in series]
                rows_of_counts.append((label, *counts))
            return format_table(("", *(each.name for each in series)), rows_of_counts)
        case _:
            assert_never(block)


def _render_card(head: str, content: Sequence[Block]) -> list[str]:
    parts: list[Sequence[str]] = []
    if head:
        parts.append([head])
    for block in content:
        lines = _format_block(block)
        if lines:
            parts.append(lines)
    if not parts:
        return []
    return "\n\n".join("\n".join(part) for part in parts).split("\n")


@dataclass(frozen=True, slots=True)
class TerminalLine:
    """One line, and how it is to look. `is_quote`: a participant wrote it."""

    text: str
    tone: blocks.Tone = "plain"
    is_quote: bool = False


def render_lines(content: Iterable[Block]) -> list[TerminalLine]:
    """Blocks as lines; what participants said cannot control the terminal."""
    lines: list[TerminalLine] = []
    for block in content:
        if not is_empty(block):
            lines += _iterate_lines(block)
    return lines


def render_decision_lines(report: Report) -> list[TerminalLine]:
    """What a person wants first; its title stands elsewhere."""
    content = report.decision
    if content and isinstance(content[0], blocks.Heading):
        content = content[1:]
    return render_lines(content)


def _iterate_lines(block: Block) -> Iterator[TerminalLine]:
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
                yield TerminalLine(
                    SEPARATOR.join(one_line(join_spans(text)) for text in head if text), "strong"
                )
            yield from render_lines(content)
        case blocks.Details(summary=summary, blocks=content):
            yield TerminalLine(one_line(summary), "dim")
            yield from render_lines(content)
        case blocks.Preformatted(lines=lines):
            for line in lines:
                yield TerminalLine(strip_control(line))
        case blocks.Bars(bars=bars):
            for bar in bars:
                yield TerminalLine(
                    f"{draw_bar(bar.value)} {one_line(bar.name)} {one_line(bar.text)}".rstrip(),
                    bar.tone,
                )
        case blocks.Shares(parts=parts):
            yield TerminalLine(
                ", ".join(f"{one_line(part.name)} {part.value * 100:.0f} %" for part in parts)
            )
        case blocks.LineChart(series=series):
            for each in series:
                yield TerminalLine(f"{draw_sparkline(each.values)} {one_line(each.name)}")
        case blocks.ColumnChart(labels=labels, series=series):
            for at, label in enumerate(labels):
                counts = ", ".join(
                    f"{one_line(each.name)} {each.values[at]:g}"
                    for each in series
                    if each.values[at]
                )
                yield TerminalLine(f"{one_line(label)}: {counts}")
        case _:
            assert_never(block)
