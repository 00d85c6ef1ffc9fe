"""Reports as one self-contained HTML page: no script, nothing loaded from elsewhere, everything said is escaped."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, assert_never

from moothall.domain.facts import Language
from moothall.domain.ids import SeatId
from moothall.domain.replace import dataclass
from moothall.domain.safe_text import compile_late, split_address, strip_control
from moothall.reports import blocks
from moothall.reports.blocks import Block, Report, is_empty, join_spans, split_spans

WIDTH: Final = 720
HEIGHT: Final = 220
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 14, 30
MAX_TICKS: Final = 20
ROOM: Final = 14
"""A part of a column that is at least so wide and high says its count."""
COLORS: Final = (
    "#0b63ce",
    "#c8452d",
    "#2c8a4b",
    "#8a4bc8",
    "#b58a00",
    "#1a9aa8",
    "#c82d86",
    "#5c6570",
)

_ADDRESS: Final = compile_late(r"(?<![\w.-])[\w-]++(?:\.[\w-]++)+")
"""What looks like a host in the words of a link."""


@cache
def _load_style() -> str:
    return (files(__package__) / "page.css").read_text("utf-8")


def render_line_chart(chart: blocks.LineChart) -> str:
    """Lines over the labels, with the bounds drawn across and a legend below."""
    count = len(chart.labels)
    heights = [f'y1="{_scale_y(bound):.1f}" y2="{_scale_y(bound):.1f}"' for bound in chart.bounds]
    inner = _render_axes(chart.labels)
    inner += "".join(
        f'<line class="bound" x1="{LEFT}" x2="{WIDTH - RIGHT}" {height}/>' for height in heights
    )
    inner += "".join(
        _render_line(each.values, count, COLORS[at % len(COLORS)])
        for at, each in enumerate(chart.series)
    )
    return _render_frame(inner, chart.label, chart.series)


def render_column_chart(chart: blocks.ColumnChart) -> str:
    """A column for each label, its counts stacked in the order of the series."""
    totals = [sum(each.values[at] or 0 for each in chart.series) for at in range(len(chart.labels))]
    highest = max(totals, default=0)
    if not highest:
        return ""
    width = (WIDTH - LEFT - RIGHT) / len(chart.labels)
    bar_width = width * 0.7
    inner = []
    for at, label in enumerate(chart.labels):
        left = LEFT + at * width + width * 0.15
        middle = LEFT + (at + 0.5) * width
        y = float(HEIGHT - BOTTOM)
        for number, each in enumerate(chart.series):
            count = each.values[at] or 0
            tall = (HEIGHT - TOP - BOTTOM) * count / highest
            y -= tall
            color = COLORS[number % len(COLORS)]
            inner.append(
                f'<rect x="{left:.1f}" y="{y:.1f}" width="{bar_width:.1f}" height="{tall:.1f}" '
                f'fill="{color}"/>'
            )
            if min(bar_width, tall) >= ROOM:
                place = f'x="{middle:.1f}" y="{y + tall / 2 + 4:.1f}"'
                inner.append(
                    f'<text {place} text-anchor="middle" style="fill:#fff">{each.values[at]:g}</text>'
                )
        inner.append(_render_label(middle, label))
    return _render_frame("".join(inner), chart.label, chart.series)


def _render_frame(inner: str, label: str, series: Sequence[blocks.Series]) -> str:
    keys = "".join(
        f'<span><i style="background:{COLORS[at % len(COLORS)]}"></i>{escape_text(each.name)}</span>'
        for at, each in enumerate(series)
    )
    return (
        f'<div class="card"><div class="chart"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape_text(label)}">'
        f'{inner}</svg></div><div class="key">{keys}</div></div>'
    )


def _scale_x(at: int, count: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (at / max(1, count - 1) if count > 1 else 0.5)


def _scale_y(value: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - max(0.0, min(1.0, value)))


def _render_axes(labels: Sequence[str]) -> str:
    grid = ""
    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _scale_y(value)
        grid += (
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
        )
    step = max(1, len(labels) // MAX_TICKS)
    ticks = "".join(
        _render_label(_scale_x(at, len(labels)), label)
        for at, label in enumerate(labels)
        if at % step == 0
    )
    return grid + ticks


def _render_label(x: float, label: str) -> str:
    return f'<text x="{x:.1f}" y="{HEIGHT - 8}" text-anchor="middle">{escape_text(label)}</text>'


def _render_line(values: Sequence[float | None], count: int, color: str) -> str:
    points = [
        (_scale_x(at, count), _scale_y(value))
        for at, value in enumerate(values)
        if value is not None
    ]
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{color}"/>' for x, y in points)
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>{dots}'


if TYPE_CHECKING:
    from markdown_it import MarkdownIt

WIDE_TEXT: Final = 16
"""A column whose values are longer than this never gets narrower than this many characters."""

_HUES: Final = (212, 12, 150, 275, 40, 190, 330, 95)


@dataclass(frozen=True, slots=True)
class _PageContext:
    """What a block needs to know of its page."""

    hues: Mapping[SeatId, int]
    known: int

    def find_hue(self, seat: SeatId | None) -> int | None:
        return None if seat is None else self.hues.get(seat)


STATIC_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


def render_page(report: Report) -> str:
    """The whole page, at any time of a session."""
    return "".join(iterate_page(report))


def iterate_page(report: Report) -> Iterator[str]:
    """The whole page in parts: a long one is as much again as what it tells."""
    return iterate_document(report.language, report.topic[:80], iterate_report(report))


def iterate_report(report: Report) -> Iterator[str]:
    """The parts of a report as markup, for a page to hold."""
    page = _PageContext(
        {seat: _HUES[at % len(_HUES)] for at, seat in enumerate(report.seats)}, report.known
    )
    yield f'<h1 class="said">{escape_text(report.topic)}</h1>'
    yield _render_soft(page, report.subtitle)
    for block in report.decision:
        yield _render_block(page, block)
    yield _render_soft(page, report.about)
    for block in chain(report.argument, report.record):
        yield _render_block(page, block)
    for fold in report.folds:
        yield _render_block(page, blocks.Details(fold.title, fold.blocks))


def _render_soft(page: "_PageContext", texts: Iterable[blocks.Text]) -> str:
    """A line of what is said beside the matter; nothing where there is none."""
    joined = " · ".join(_render_text(page, text) for text in texts if text)
    return f'<p class="soft">{joined}</p>' if joined else ""


def iterate_document(
    language: Language,
    title: str,
    body: Iterable[str],
    *,
    policy: str = STATIC_POLICY,
    head: str = "",
    after: Iterable[str] = (),
) -> Iterator[str]:
    """The frame of a page; `title` is anybody's text; `body`, `head` (after the style) and `after` (behind it all) are markup."""
    yield (
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{escape_text(title)}</title>\n<style>\n{_load_style()}</style>\n{head}</head>\n<body>\n<main>"
    )
    yield from (f"\n{part}" for part in body if part)
    yield "\n</main>\n"
    yield from after
    yield "</body>\n</html>\n"


DEEPEST: Final = 20
"""How deep quotes and lists of a participant may be nested."""


def escape_text(value: object) -> str:
    """A value as text that holds no markup."""
    return escape(strip_control(str(value)))


def render_words(text: str) -> str:
    """What a participant wrote, its Markdown rendered: raw HTML stays text, images are not loaded, headings do not stand out."""
    parser, plain = _build_parser(), strip_control(text)
    tokens = parser.parse(plain)
    if any(token.level >= DEEPEST - 1 for token in tokens):
        # The parser leaves out what is nested deeper: then nothing is taken as Markdown, so that no word is hidden.
        lines = "<br>\n".join(escape(line) for line in plain.split("\n"))
        return f'<div class="words"><p>{lines}</p></div>'
    html: str = parser.renderer.render(tokens, parser.options, {})
    # Once more: Markdown has names for characters, `&#x202e;` is one that reverses the reading order.
    return f'<div class="words">{strip_control(html).strip()}</div>'


@cache
def _build_parser() -> "MarkdownIt":
    # Imported here: only a page needs it, and every command would pay for it.
    from markdown_it import MarkdownIt

    parser = (
        MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": DEEPEST})
        .enable(["table", "strikethrough"])
        .disable("image")
    )
    # Someone's heading must not pass as one of the report's own.
    parser.add_render_rule("heading_open", lambda *_: '<p class="heading">')
    parser.add_render_rule("heading_close", lambda *_: "</p>\n")
    parser.add_render_rule("link_open", _render_link_open)
    parser.add_render_rule("link_close", _render_link_close)
    return parser


def _render_link_open(
    renderer: object, tokens: Sequence[object], index: int, options: object, env: object
) -> str:
    address = getattr(tokens[index], "attrs", {}).get("href", "")
    return f'<a href="{escape(str(address))}" rel="noopener noreferrer nofollow">'


def _render_link_close(
    renderer: object, tokens: Sequence[Any], index: int, options: object, env: object
) -> str:
    """End a link, and show where it leads if its words are another address."""
    begin = max(at for at in range(index) if tokens[at].type == "link_open")
    parts = split_address(str(tokens[begin].attrs.get("href", "")))
    host = (parts.hostname or parts.path).removeprefix("www.")
    words = "".join(token.content for token in tokens[begin:index])
    shown = [
        each.lower().removeprefix("www.")
        for each in _ADDRESS.findall(words)
        if each.rpartition(".")[2].isalpha()
    ]
    is_other = bool(shown) and shown[0] != host
    return f"</a> <small>({escape(host)})</small>" if is_other else "</a>"


def _render_span(page: _PageContext, span: blocks.Span) -> str:
    match span:
        case blocks.References(numbers=numbers, text=text):
            links = (
                f'<a href="#entry-{each}">#{each}</a>' if 1 <= each <= page.known else f"#{each}"
                for each in numbers
            )
            return escape_text(text).replace(blocks.LINE, ", ".join(links))
        case blocks.Linked(text=text, number=number):
            words = escape_text(text)
            if 1 <= number <= page.known:
                return f'<a class="words" href="#entry-{number}">{words}</a>'
            return words
        case blocks.Strong(text=text):
            return f"<b>{escape_text(text)}</b>"
        case blocks.Muted(text=text):
            return f'<span class="soft">{escape_text(text)}</span>'
        case blocks.Mark(text=text, tone=tone):
            return f'<span class="tag {tone}">{escape_text(text)}</span>'
        case str():
            return escape_text(span)
        case _:
            assert_never(span)


def _render_text(page: _PageContext, text: blocks.Cell) -> str:
    return "".join(_render_span(page, span) for span in split_spans(text))


def _render_block(page: _PageContext, block: Block) -> str:
    if is_empty(block):
        return ""
    match block:
        case blocks.Heading(text=title, level=level):
            return f"<h{level}>{escape_text(title)}</h{level}>"
        case blocks.Line(text=text, tone=tone):
            return f'<p class="line {tone}">{_render_text(page, text)}</p>'
        case blocks.Quote(text=words, tone=tone):
            html = render_words(words)
            return html if tone == "plain" else f'<div class="{tone}">{html}</div>'
        case blocks.Fields(rows=rows):
            inner = "".join(
                f"<dt>{escape_text(name)}</dt><dd>{_render_text(page, value)}</dd>"
                for name, value in rows
            )
            return f"<dl>{inner}</dl>"
        case blocks.Bullets(items=items, tone=tone):
            inner = "".join(f"<li>{_render_text(page, item)}</li>" for item in items)
            return f'<ul class="card list {tone}">{inner}</ul>'
        case blocks.Table(heads=heads, rows=cells):
            return _render_table(page, heads, cells)
        case blocks.Card():
            return _render_card(page, block)
        case blocks.Details(summary=summary, blocks=content):
            inner = "\n".join(_render_block(page, each) for each in content)
            return (
                f'<details class="card"><summary>{escape_text(summary)}</summary>{inner}</details>'
            )
        case blocks.Preformatted(lines=lines):
            return f'<pre class="card">{escape_text(chr(10).join(lines))}</pre>'
        case blocks.Bars(bars=bars):
            return f'<div class="bars">{"".join(_render_bar(page, bar) for bar in bars)}</div>'
        case blocks.Shares(parts=parts):
            label = ", ".join(f"{part.name} {part.value * 100:.0f} %" for part in parts)
            inner = "".join(
                f'<i class="{part.tone}" style="flex:{part.value * 100:.2f}"></i>' for part in parts
            )
            return f'<div class="tally" role="img" aria-label="{escape_text(label)}">{inner}</div>'
        case blocks.LineChart():
            return render_line_chart(block)
        case blocks.ColumnChart():
            return render_column_chart(block)
        case _:
            assert_never(block)


def _render_table(
    page: _PageContext, heads: Sequence[str], rows: Sequence[Sequence[blocks.Cell]]
) -> str:
    """A table in a card of its own; on a phone each row is a card whose values are named."""
    wide = [any(len(join_spans(row[at])) > WIDE_TEXT for row in rows) for at in range(len(heads))]
    head = "".join(f"<th>{escape_text(name)}</th>" for name in heads)
    # The beginning of each cell up to its value, which is the same in all rows.
    starts = []
    for at, name in enumerate(heads):
        width_class = " class=wide" if wide[at] else ""
        starts.append(f'<td{width_class} data-name="{escape_text(name)}">')
    lines = []
    for row in rows:
        cells = [f"{starts[at]}{_render_text(page, value)}</td>" for at, value in enumerate(row)]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    body = "".join(lines)
    return f'<div class="card table"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _render_card(page: _PageContext, card: blocks.Card) -> str:
    turn, style, place = "card turn asker", "", ""
    hue = page.find_hue(card.seat)
    if hue is not None:
        turn, style = "card turn", f' style="--hue:{hue}"'
    if card.entry is not None:
        place = f' id="entry-{card.entry}"'
    kind = {"plain": "card", "decision": "card decision", "turn": turn}[card.kind]
    head = "".join(f"<span>{_render_text(page, text)}</span>" for text in card.head if text)
    if head:
        head = f"<header>{head}</header>"
    inner = "\n".join(_render_block(page, block) for block in card.blocks)
    return f'<article class="{kind}"{place}{style}>{head}{inner}</article>'


def _render_bar(page: _PageContext, bar: blocks.Bar) -> str:
    color = ""
    hue = page.find_hue(bar.seat)
    if hue is not None:
        color = f";--hue:{hue};background:hsl(var(--hue) 55% 50%)"
    share = max(0.0, min(1.0, bar.value)) * 100
    return (
        f'<div class="bar"><span>{escape_text(bar.name)}</span>'
        f'<div class="track"><i class="{bar.tone}" style="width:{share:.1f}%{color}"></i></div>'
        f'<span class="soft">{escape_text(bar.text)}</span></div>'
    )
