"""W-8: blocks as JSON hold plain text and harmless HTML, whatever participants wrote."""

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from moothall.domain.ids import SeatId
from moothall.reports.blocks import (
    Bar,
    Bars,
    Block,
    Bullets,
    Card,
    ColumnChart,
    Details,
    Fields,
    Heading,
    Line,
    LineChart,
    Mark,
    Muted,
    Preformatted,
    Quote,
    References,
    Series,
    Shares,
    Strong,
    Table,
)
from moothall.reports.json_blocks import MAX_QUOTE_LENGTH, encode_block, encode_blocks

ADA = SeatId("ada")
HOSTILE = (
    "<script>trap()</script>",
    "<img src=x onerror=trap()>",
    "[x](javascript:trap())",
    "[x](JaVaScRiPt:trap())",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "![x](https://evil.example/pixel.png)",
    "<svg/onload=trap()>",
    "</div></article><script>trap()</script>",
    '"><b onmouseover="trap()">',
    "`</code><script>trap()</script>`",
    "```html\n<script>trap()</script>\n```",
    '<https://x.example/"onclick="trap()>',
    "[x]: javascript:trap()\n\n[x]",
    "\u202eevil\u202c \u2066x\u2069",
    "\x1b[2J\x07\x00bell",
    "&lt;script&gt;trap()&lt;/script&gt;",
    "<style>*{display:none}</style>",
    "<iframe srcdoc='<script>trap()</script>'></iframe>",
    "# A heading\n## Decision",
    "<!-- --><script>trap()</script>",
    '|a|\n|:-:|\n|<td style="x">|',
)


class Tags(HTMLParser):
    """The tags and attributes that a browser would see."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


SAFE = {
    *(
        "div",
        "p",
        "em",
        "strong",
        "s",
        "code",
        "pre",
        "blockquote",
        "ul",
        "ol",
        "li",
        "a",
        "br",
        "hr",
    ),
    *("table", "thead", "tbody", "tr", "th", "td"),
}


@pytest.mark.parametrize("text", HOSTILE)
def test_a_quote_holds_no_markup_of_its_author(text: str) -> None:
    """W-8."""
    found = encode_block(Quote(text))
    tags = Tags()
    tags.feed(found["html"])
    for tag, attributes in tags.found:
        assert tag in SAFE, text
        assert set(attributes) <= {"class", "href", "rel", "start"}, text
        assert re.match(r"(https?:|mailto:|#|$)", attributes.get("href") or "", re.IGNORECASE), text
    assert not set(found["html"]) & {"\x1b", "\x07", "\x00", "\u202e", "\u2066"}


@pytest.mark.parametrize("text", HOSTILE)
def test_every_other_string_is_plain_text_without_control_codes(text: str) -> None:
    """W-8: the page sets them as text; here only what controls a reader is taken out."""
    blocks: list[Block] = [
        Heading(text),
        Line((text, Strong(text), Muted(text), Mark(text, "bad"), References((1,), text))),
        Fields(((text, text),)),
        Bullets((text,)),
        Table((text,), ((text,),)),
        Card(blocks=(Details(text, (Preformatted((text,)),)),), head=(text,), seat=ADA),
        Bars((Bar(name=text, value=0.5, text=text),)),
        Shares((Bar(name=text, value=0.5),)),
        LineChart(label=text, labels=(text,), series=(Series(text, (0.5,)),)),
        ColumnChart(label=text, labels=(text,), series=(Series(text, (1.0,)),)),
    ]
    told = json.dumps(encode_blocks(blocks), ensure_ascii=False)
    assert "html" not in told.replace(json.dumps(text, ensure_ascii=False)[1:-1], "")
    assert not set(told) & {"\x1b", "\x07", "\x00", "\u202e", "\u2066", "\u202c", "\u2069"}


def test_long_words_are_cut_and_marked() -> None:
    """W-8: a line of a megabyte neither breaks the page nor is sent to everybody."""
    found = encode_block(Quote("x" * 1_000_000))
    assert found["cut"] is True
    assert len(found["html"]) < MAX_QUOTE_LENGTH + 100
    assert "cut" not in encode_block(Quote("x" * MAX_QUOTE_LENGTH))
    assert len(json.dumps(encode_block(Line("y" * 1_000_000)))) < 30_000


def test_each_kind_of_block_has_its_form() -> None:
    """W-4: the shapes that docs/web-api.md names."""
    card = Card(
        blocks=(Quote("**so**", "strong"),),
        head=(Muted("#2"), ("by ", Strong("ada"))),
        entry=2,
        seat=ADA,
        kind="turn",
    )
    assert encode_block(card) == {
        "kind": "card",
        "head": [[{"muted": "#2"}], ["by ", {"strong": "ada"}]],
        "look": "turn",
        "entry": 2,
        "seat": "ada",
        "blocks": [
            {
                "kind": "quote",
                "html": '<div class="words"><p><strong>so</strong></p></div>',
                "tone": "strong",
            }
        ],
    }
    chart = LineChart(
        label="by round", labels=("1", "2"), series=(Series("a", (0.1, None)),), bounds=(0.6,)
    )
    assert encode_block(chart) == {
        "kind": "lines",
        "label": "by round",
        "labels": ["1", "2"],
        "series": [{"name": "a", "values": [0.1, None]}],
        "bounds": [0.6],
    }
    cases: dict[str, tuple[Block, Any]] = {
        "fields": (
            Fields((("a", None), ("b", References((3, 4), "see {line}")))),
            [["a", ["–"]], ["b", [{"ref": [3, 4], "text": "see {line}"}]]],
        ),
        "table": (Table(("h",), ((1,), (0.5,))), [[["1"]], [["0.5"]]]),
    }
    for kind, (block, rows) in cases.items():
        assert (encode_block(block)["kind"], encode_block(block)["rows"]) == (kind, rows)
    assert encode_blocks((Line(""), Bars(()), Line("x", "warn"))) == [
        {"kind": "line", "text": ["x"], "tone": "warn"}
    ]
