"""Takes the text of a page of the web: in one pass, however its tags are made, because anyone may have written it.

`html.parser` and patterns over all of a page take time by the square of its length for pages such as `<title <title …`.
"""

import html
from typing import Final

from moothall.domain.safe_text import compile_late

HIDDEN: Final = frozenset({"script", "style", "noscript", "template", "svg"})
"""Elements whose content nobody reads, to the end of the page where they are not closed."""
_LINES: Final = (
    "p div br li tr h1 h2 h3 h4 h5 h6 pre section article table ul ol dl dd dt blockquote"
)
_BLOCKS: Final = frozenset(_LINES.split())
"""Elements that begin a line and end one."""
_NAME: Final = compile_late(r"/?([A-Za-z][A-Za-z0-9]{0,20})(?![A-Za-z0-9-])")
_ENDS: Final = {
    **{name: compile_late(rf"(?i)</{name}\s*>") for name in HIDDEN},
    "title": compile_late(r"(?i)</(?:title|head)\s*>"),
}
_LONG_NUMBER: Final = compile_late(r"&#[xX]?[0-9a-fA-F]{9,}+;?")
"""No letter has such a number, and to read one takes time by the square of its length."""


def extract_text(page: str) -> str:
    """Return the text of a page, each block on a line of its own, without its title and what is hidden."""
    lines = "".join(_PageScan(page).read()).split("\0")
    plain = (" ".join(html.unescape(_LONG_NUMBER.sub("", line)).split()) for line in lines)
    return "\n".join(line for line in plain if line)


class _PageScan:
    """Goes through a page once, from tag to tag."""

    def __init__(self, page: str) -> None:
        self._page = page.replace("\0", " ")
        self._unclosed: set[str] = set()
        """Elements that nothing closes from here on: they are not looked for again."""

    def read(self) -> list[str]:
        """Return the pieces of text, and a NUL where a line begins."""
        pieces: list[str] = []
        at = 0
        while (tag := self._page.find("<", at)) >= 0:
            pieces.append(self._page[at:tag])
            at = self._skip(tag, pieces)
        pieces.append(self._page[at:])
        return pieces

    def _skip(self, tag: int, pieces: list[str]) -> int:
        """Return where the text goes on behind a `<`; adds what stands in place of it."""
        page = self._page
        if page.startswith("<!--", tag):
            return self._find_end("-->", tag + 4)
        sign = page[tag + 1 : tag + 2]
        if not sign.isalpha() and sign not in {"/", "!", "?"}:
            # A sign and no tag: `a < b`.
            pieces.append("<")
            return tag + 1
        name = _NAME.match(page, tag + 1)
        word = "" if name is None else name[1].lower()
        if word in _ENDS and sign != "/":
            end = self._find_close(word, tag)
            if end:
                return end
        if word in _BLOCKS:
            pieces.append("\0")
        return self._find_end(">", tag + 1)

    def _find_close(self, word: str, tag: int) -> int:
        """Return where an element ends; 0 for a title that nothing closes."""
        if word not in self._unclosed:
            close = _ENDS[word].search(self._page, tag)
            if close is not None:
                return close.end()
            self._unclosed.add(word)
        return len(self._page) if word in HIDDEN else 0

    def _find_end(self, sign: str, at: int) -> int:
        """Return the place behind a sign; the end of the page, where it is cut, if there is none."""
        end = self._page.find(sign, at)
        return end + len(sign) if end >= 0 else len(self._page)
