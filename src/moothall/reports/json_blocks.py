"""Blocks as JSON, for the page and for other front ends (W-2, W-8).

Every string is plain text without control characters and without marks that reverse the reading order, except `html` of a quote:
what a participant wrote, its Markdown rendered by `render_words`, which lets no markup of theirs through.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final, assert_never

from moothall.domain.safe_text import compile_late, strip_control
from moothall.reports import blocks
from moothall.reports.blocks import Block, is_empty, split_spans
from moothall.reports.page import render_words

MAX_QUOTE_LENGTH: Final = 20_000
"""Longer words are cut; `moot.getText` has the whole."""
MAX_STRING_LENGTH: Final = 20_000

_ALIGNED: Final = compile_late(r' style="text-align:(left|center|right)"')

Json = dict[str, Any]


def encode_blocks(content: Iterable[Block]) -> list[Json]:
    """Blocks as JSON; those with nothing to show are left out."""
    return [encode_block(block) for block in content if not is_empty(block)]


def encode_block(block: Block) -> Json:
    match block:
        case blocks.Heading(text=text, level=level):
            return {"kind": "heading", "text": clean(text), "level": level}
        case blocks.Line(text=text, tone=tone):
            return {"kind": "line", "text": encode_text(text), "tone": tone}
        case blocks.Quote(text=words, tone=tone):
            html = render_quote(words[:MAX_QUOTE_LENGTH])
            quote: Json = {"kind": "quote", "html": html, "tone": tone}
            if len(words) > MAX_QUOTE_LENGTH:
                quote["cut"] = True
            return quote
        case blocks.Fields(rows=rows):
            return {
                "kind": "fields",
                "rows": [[clean(name), encode_text(value)] for name, value in rows],
            }
        case blocks.Bullets(items=items, tone=tone):
            return {"kind": "bullets", "items": [encode_text(item) for item in items], "tone": tone}
        case blocks.Table(heads=heads, rows=cells):
            rows_out = [[encode_text(value) for value in row] for row in cells]
            return {"kind": "table", "heads": [clean(head) for head in heads], "rows": rows_out}
        case blocks.Card():
            return _encode_card(block)
        case blocks.Details(summary=summary, blocks=content):
            return {"kind": "details", "summary": clean(summary), "blocks": encode_blocks(content)}
        case blocks.Preformatted(lines=lines, marked=marked):
            page: Json = {"kind": "pre", "lines": [clean(line) for line in lines]}
            if marked:
                page["marked"] = list(marked)
            return page
        case blocks.Bars(bars=bars):
            return {"kind": "bars", "bars": [_encode_bar(bar) for bar in bars]}
        case blocks.Shares(parts=parts):
            return {"kind": "shares", "parts": [_encode_bar(part) for part in parts]}
        case blocks.LineChart(label=label, labels=labels, series=series, bounds=bounds):
            return {**_encode_chart("lines", label, labels, series), "bounds": list(bounds)}
        case blocks.ColumnChart(label=label, labels=labels, series=series):
            return _encode_chart("columns", label, labels, series)
        case _:
            assert_never(block)


def encode_text(text: object) -> list[Any]:
    """A text or a table cell as a list of spans."""
    return [_encode_span(span) for span in split_spans(text)]


def clean(text: str) -> str:
    """A string without anything that could control the program that shows it, of bounded length."""
    text = strip_control(text)
    return text if len(text) <= MAX_STRING_LENGTH else f"{text[:MAX_STRING_LENGTH]}…"


@lru_cache(maxsize=4_096)
def render_quote(words: str) -> str:
    """What a participant wrote, as harmless HTML. Cached: a view is built again with every entry, its words stay."""
    # The page's policy allows no inline style; what an author writes in quotation marks is escaped and never matches.
    return _ALIGNED.sub(r' class="\1"', render_words(words))


def _encode_span(span: blocks.Span) -> Any:
    match span:
        case blocks.References(numbers=numbers, text=text):
            return {"ref": list(numbers), "text": clean(text)}
        case blocks.Linked(text=text, number=number):
            return {"link": number, "words": clean(text)}
        case blocks.Strong(text=text):
            return {"strong": clean(text)}
        case blocks.Muted(text=text):
            return {"muted": clean(text)}
        case blocks.Mark(text=text, tone=tone):
            return {"mark": clean(text), "tone": tone}
        case str():
            return clean(span)
        case _:
            assert_never(span)


def _encode_card(card: blocks.Card) -> Json:
    fields: Json = {
        "kind": "card",
        "head": [encode_text(text) for text in card.head if text],
        "look": card.kind,
    }
    if card.entry is not None:
        fields["entry"] = card.entry
    if card.seat is not None:
        fields["seat"] = card.seat
    return {**fields, "blocks": encode_blocks(card.blocks)}


def _encode_bar(bar: blocks.Bar) -> Json:
    fields: Json = {
        "name": clean(bar.name),
        "value": bar.value,
        "text": clean(bar.text),
        "tone": bar.tone,
    }
    return fields if bar.seat is None else {**fields, "seat": bar.seat}


def _encode_chart(
    kind: str, label: str, labels: Sequence[str], series: Sequence[blocks.Series]
) -> Json:
    return {
        "kind": kind,
        "label": clean(label),
        "labels": [clean(each) for each in labels],
        "series": [{"name": clean(each.name), "values": list(each.values)} for each in series],
    }
