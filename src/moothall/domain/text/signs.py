"""The form in which texts are compared, whatever width, case, script or markup they are written in."""

import re
import unicodedata
from importlib.resources import files
from typing import Final

from moothall.domain.safe_text import compile_late

# Pairs: the traditional character, then the simplified one.
_PAIRS: Final = "".join(
    (files(__package__) / "traditional_characters.txt").read_text(encoding="utf-8").split()
)
_SIMPLIFIED: Final = str.maketrans(dict(zip(_PAIRS[::2], _PAIRS[1::2], strict=True)))
_MARKUP: Final = compile_late(r"```\w*|[*_`|\[\]<>]+|^#+\s|^[ \t]{0,8}[-•]\s", re.MULTILINE)


def simplify_han(text: str) -> str:
    """Return a text with simplified characters in place of traditional ones."""
    return text.translate(_SIMPLIFIED)


def fold_signs(text: str) -> str:
    """Return a text in one width, lower case and simplified; its markup and white space stay."""
    if text.isascii():
        return text.casefold()
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return simplify_han(folded)


def fold_text(text: str) -> str:
    """Return a text in the form in which it is compared: its signs folded, and without markup."""
    return _MARKUP.sub(" ", fold_signs(text)).strip()
