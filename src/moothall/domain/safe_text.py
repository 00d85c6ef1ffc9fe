"""Makes untrusted text safe: strips control codes for terminals, and quotes each line where a model reads it."""

import unicodedata
from typing import Final
from urllib.parse import urlsplit

FENCE: Final = "| "

# Zero-width joiner and non-joiner are part of words in Persian and Indic scripts. Other invisible marks are dropped: they can
# reverse the reading order (bidi overrides) or hide text.
_JOINING: Final = frozenset("\u200c\u200d")


def fix_surrogates(text: str) -> str:
    """Replace lone surrogates, which come from broken encodings and cannot be encoded as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def strip_control(text: str) -> str:
    """Remove control codes and turn every kind of line break into `\\n`."""
    if text.isprintable():
        return text
    # Nearly every line is printable as it is, and most texts have several lines.
    return "\n".join(line if line.isprintable() else _strip_line(line) for line in text.splitlines())


def _strip_line(line: str) -> str:
    # Cc control, Cf format (bidi marks), Cs surrogates, Co private use, Zl and Zp line and paragraph separators.
    harmful = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    return "".join(char for char in line if char == "\t" or char in _JOINING or unicodedata.category(char) not in harmful)


def one_line(text: str) -> str:
    """Return the text as one safe line."""
    return " ".join(strip_control(text).split())


def quote_lines(text: str) -> str:
    """Prefix each line with `FENCE`, so that no line of the text can pass as an instruction or a heading."""
    return "\n".join(FENCE + line for line in strip_control(text).split("\n"))


def shorten_text(text: str, room: int) -> str:
    """Return the text, cut where it is longer than the room."""
    return text if len(text) <= room else f"{text[:room]}…"


def is_web_address(url: str) -> bool:
    """Whether a text is an address of the web that holds neither a name nor a password, and nothing that cannot be seen."""
    try:
        parts = urlsplit(url)
        is_right = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        return False
    return is_right and url.isascii() and url.isprintable() and " " not in url
