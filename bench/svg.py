"""Pictures as SVG that any browser shows, written without a library."""

from collections.abc import Sequence
from html import escape
from typing import Final

LIGHT_AND_DARK: Final = (
    "<style>@media (prefers-color-scheme: dark) "
    '{ rect[fill="#fff"] { fill: #14171c } text { fill: #ddd } line[stroke="#ddd"] { stroke: #444 } }</style>'
)
"""Redraws paper, words and grid for readers who set their screen to dark."""


def draw_text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{escape(words)}</text>'


def build_svg(width: float, height: float, inner: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" font-family="sans-serif" fill="#222">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="#fff"/>', *inner, "</svg>", ""])
