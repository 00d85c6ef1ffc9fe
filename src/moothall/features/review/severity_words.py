"""Reads how severe a fault is, in the words in which people and models write it: "High", "Critical!", "mittel", "严重"."""

import unicodedata
from typing import Final

from moothall.domain.safe_text import compile_late
from moothall.domain.vocabulary import SEVERITY_CONTEXT, SEVERITY_WORDS
from moothall.protocols.review.facts import SEVERITIES, Severity

MAX_SEVERITY_LENGTH: Final = 60
"""A longer text is no word for a severity."""
_LATIN: Final = compile_late(r"[^\W\d_\u3400-\u9fff]+")
_HAN: Final = compile_late(r"[\u3400-\u9fff]+")
_PLAIN_HAN: Final = tuple(sorted(SEVERITY_CONTEXT["plain_han"], key=len, reverse=True))
_DENIALS: Final = frozenset(SEVERITY_CONTEXT["denial"])


def read_severity(text: str) -> Severity | None:
    """Return the severity that a text means; of two, as in "medium to high", the worse. None if it names none.

    What denies a word ("not critical") is not read: its author is asked, or the finding is shown as not read.
    """
    if len(text) > MAX_SEVERITY_LENGTH:
        return None
    plain = unicodedata.normalize("NFKC", text).casefold()
    words = _LATIN.findall(plain)
    for han in _HAN.findall(plain):
        words += _split_han(han)
    if not _DENIALS.isdisjoint(words):
        return None
    meant = {SEVERITY_WORDS[word] for word in words if word in SEVERITY_WORDS}
    return next((each for each in SEVERITIES if each in meant), None)


def _split_han(text: str) -> list[str]:
    """Return the one word for a severity in Chinese, or the denials before it; nothing where other words stand there."""
    for word in _PLAIN_HAN:
        text = text.replace(word, "")
    if not text or text in SEVERITY_WORDS:
        return [text]
    return [sign for sign in text if sign in _DENIALS]
