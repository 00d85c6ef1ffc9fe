"""The frame of an HTML page: no script, nothing loaded from elsewhere, everything said is escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from moot.domain.facts import Language
from moot.domain.ids import SeatId
from moot.domain.roster import Seat
from moot.domain.safe_text import strip_control

STYLE: Final = """
:root{color-scheme:light dark;--ink:#1c1e21;--soft:#5c6570;--line:#d9dee4;--card:#fff;--back:#f5f6f8;--mark:#0b63ce}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaed;--soft:#a3adb8;--line:#343a42;--card:#1d2126;--back:#14171a;--mark:#7db4ff}}
*{box-sizing:border-box}body{margin:0;background:var(--back);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
main{max-width:62rem;margin:0 auto;padding:2rem 1rem 4rem}h1{font-size:1.5rem;margin:0 0 .25rem;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:2.2rem 0 .6rem}.soft{color:var(--soft)}
.card{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:1rem 1.2rem;margin:.6rem 0}
.decision{border-left:.35rem solid var(--mark);font-size:1.08rem}.said{white-space:pre-wrap;overflow-wrap:anywhere}
.turn{border-left:.3rem solid hsl(var(--hue) 55% 50%)}.turn header{display:flex;gap:.8rem;flex-wrap:wrap;align-items:baseline}
.asker{border-left-color:var(--soft)}
.who{font-weight:650}a{color:var(--mark)}table{border-collapse:collapse;width:100%;font-size:.93rem}
th,td{text-align:left;padding:.35rem .6rem;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:break-word}
th{white-space:nowrap}@media(max-width:40rem){th{white-space:normal}th,td{padding:.3rem .4rem}}
"""

LIST_STYLE: Final = """details summary{cursor:pointer;color:var(--soft);font-size:.88rem}dl{display:grid;
grid-template-columns:max-content 1fr;gap:.2rem 1rem}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
@media(max-width:40rem){dl{grid-template-columns:1fr}dd{margin-bottom:.4rem}}
"""
"""For what can be unfolded, and for terms with what they mean."""

TALK_STYLE: Final = """
h3{font-size:1rem;margin:1.8rem 0 .4rem;color:var(--soft);border-bottom:1px solid var(--line);padding-bottom:.2rem}
dl{margin:.6rem 0 0}dl:first-child{margin:0}.said+dl{font-size:1rem}.turn dl{font-size:.93rem}
.turn header{row-gap:.1rem}.turn .said{margin-top:.3rem}
.tag{font-size:.85rem;border:1px solid var(--line);border-radius:1rem;padding:0 .6rem}
td:first-child{white-space:nowrap}:target{outline:2px solid var(--mark)}
"""
"""For talk in sections: what was said stands on cards, each with marks and terms of its own."""

_HUES: Final = (212, 12, 150, 275, 40, 190, 330, 95)


class Markup(str):
    """HTML that this package wrote itself: what is in it is escaped already."""

    __slots__ = ()


def render_document(language: Language, title: str, style: str, body: Iterable[str]) -> str:
    """A whole page; `title` is anybody's text, `style` and `body` are markup."""
    return (
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{escape_text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def escape_text(value: object) -> str:
    """A value as text that holds no markup."""
    return value if isinstance(value, Markup) else escape(strip_control(str(value)))


def render_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in a card of its own."""
    head = "".join(f"<th>{escape_text(name)}</th>" for name in heads)
    lines = "".join("<tr>" + "".join(f"<td>{escape_text(value)}</td>" for value in row) + "</tr>" for row in rows)
    return f'<div class="card" style="overflow-x:auto"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'


def render_bullets(items: Iterable[str]) -> str:
    """Markup, item by item, as a list in a card of its own."""
    inner = "".join(f"<li>{item}</li>" for item in items)
    return f'<ul class="card" style="padding-left:2.2rem">{inner}</ul>'


def render_terms(rows: Iterable[Sequence[object]]) -> str:
    """Names, each with its value; nothing where there are none."""
    inner = "".join(f"<dt>{escape_text(name)}</dt><dd>{escape_text(value)}</dd>" for name, value in rows)
    return f"<dl>{inner}</dl>" if inner else ""


def render_quote(words: object) -> str:
    """Someone's words, line by line as they were written."""
    return f'<div class="said">{escape_text(words)}</div>'


def render_muted(value: object) -> str:
    """A value that stands back."""
    return f'<span class="soft">{escape_text(value)}</span>'


def render_speaker(name: object) -> str:
    """Whose words follow."""
    return f'<span class="who">{escape_text(name)}</span>'


def render_card(entry: int, hue: int | None, head: Iterable[str], inner: str) -> str:
    """A card to which a `link` leads; `hue` is None for whoever has no seat. `head` and `inner` are markup."""
    kind = "turn asker" if hue is None else "turn"
    style = f"--hue:{hue or 0}"
    return f'<article class="card {kind}" id="entry-{entry}" style="{style}"><header>{"".join(head)}</header>{inner}</article>'


def render_link(entry: int, name: str = "") -> str:
    """A reference to an entry of the same page, by its number unless it has another name."""
    return f'<a href="#entry-{entry}">{escape_text(name or f"#{entry}")}</a>'


def assign_hues(seats: Iterable[Seat]) -> dict[SeatId, int]:
    """A colour for each seat."""
    return {seat.id: _HUES[at % len(_HUES)] for at, seat in enumerate(seats)}
