"""What a participant says is data: made harmless to terminals, and fenced line by line where a model reads it."""

import unicodedata
from typing import Final

FENCE: Final = "| "

_KEPT: Final = {"\n", "\t"}
# Of the invisible marks only those stay that words are written with: others turn the reading order round, or hide text.
_JOINING: Final = frozenset("\u200c\u200d")


def fix_surrogates(text: str) -> str:
    """The text with half characters (lone surrogates, from broken encodings) replaced: those cannot be written down."""
    return text.encode("utf-8", "replace").decode("utf-8")


def strip_control(text: str) -> str:
    """The text without control codes, with every kind of line break as `\\n`."""
    if text.isprintable():
        return text
    lines = "\n".join(text.splitlines())
    return "".join(char for char in lines if char in _KEPT or _is_harmless(char))


def one_line(text: str) -> str:
    """The text as one harmless line."""
    return " ".join(strip_control(text).split())


def quote_lines(text: str) -> str:
    """Each line behind a mark, so that nothing in the text can pass as a line of its own."""
    return "\n".join(FENCE + line for line in strip_control(text).split("\n"))


def _is_harmless(char: str) -> bool:
    return char in _JOINING or unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
