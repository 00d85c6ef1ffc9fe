"""What participants wrote, its Markdown rendered for a terminal (M-10): no raw HTML is dropped, no image loaded, no link live."""

from functools import cache
from typing import TYPE_CHECKING

from rich.console import RenderableType

from moothall.domain.safe_text import strip_control

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


def render_words(text: str, style: str = "") -> RenderableType:
    """Somebody's words as Markdown; their lines stay lines."""
    # Imported here: a tenth of a command's start, for those that show words.
    from rich.markdown import Markdown

    shown = Markdown("", hyperlinks=False, style=style or "none", code_theme="ansi_dark")
    # Rich's own parser lets raw HTML through and then shows nothing of it: `List<int>` would lose its end.
    shown.parsed = _keep_lines(_build_parser().parse(strip_control(text)))
    return shown


@cache
def _build_parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")


def _keep_lines(tokens: "list[Token]") -> "list[Token]":
    for token in tokens:
        for child in token.children or ():
            if child.type == "softbreak":
                child.type = "hardbreak"
        # Somebody's heading must not pass as one of Moot's own, which a terminal would centre or frame.
        if token.type in {"heading_open", "heading_close"}:
            token.type, token.tag = token.type.replace("heading", "paragraph"), "p"
    return tokens
