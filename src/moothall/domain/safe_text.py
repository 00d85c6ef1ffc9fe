"""Makes untrusted text safe: strips control codes for terminals, escapes them in JSON, and quotes each line where a model reads
it. The one JSON dialect, and patterns, stand here too.
"""

import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, AnyStr, Final, cast
from urllib.parse import SplitResult, urlsplit

FENCE: Final = "| "
"""How each line of a quotation begins in a prompt: it is weighed, and never followed."""
USER_MARK: Final = "> "
"""How each line of the user's own words begins in a prompt: it is to be done."""
MARKS: Final = (FENCE, USER_MARK)
"""How the lines begin that Moot did not write itself."""

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
    return "\n".join(
        line if line.isprintable() else _strip_line(line) for line in text.splitlines()
    )


def _strip_line(line: str) -> str:
    # Cc control, Cf format (bidi marks), Cs surrogates, Co private use, Zl and Zp line and paragraph separators.
    harmful = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    return "".join(
        char
        for char in line
        if char == "\t" or char in _JOINING or unicodedata.category(char) not in harmful
    )


def one_line(text: str) -> str:
    """Return the text as one safe line."""
    return " ".join(strip_control(text).split())


def quote_lines(text: str, mark: str = FENCE) -> str:
    """Prefix each line with a mark, so that no line of the text can pass as an instruction or a heading."""
    return "\n".join(mark + line for line in strip_control(text).split("\n"))


def quote_user(text: str) -> str:
    """Prefix each line of the user's own words with `USER_MARK`: no other text may have it (Q-8)."""
    return quote_lines(text, USER_MARK)


def drop_mark(line: str) -> str:
    """Return a line of a prompt without its mark."""
    return line[len(FENCE) :] if line.startswith(MARKS) else line


def shorten_text(text: str, room: int) -> str:
    """Return the text, cut where it is longer than the room."""
    return text if len(text) <= room else f"{text[:room]}…"


def split_address(url: str) -> SplitResult:
    """Return the parts of an address; what is none, such as `http://[HOST:PORT]/`, is all path."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # It is read, and may be no number, only here.
    except ValueError:
        return SplitResult("", "", url, "", "")
    return parts


def is_web_address(url: str) -> bool:
    """Whether a text is an address of the web that holds neither a name nor a password, and nothing that cannot be seen."""
    parts = split_address(url)
    is_right = (
        parts.scheme in {"http", "https"}
        and bool(parts.hostname)
        and parts.port != 0
        and "@" not in parts.netloc
    )
    return is_right and url.isascii() and url.isprintable() and " " not in url


class LatePattern:
    """Stands for a pattern until it is used."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._source, self._flags)
        # From now on without this detour.
        self.__dict__.update(
            {each: getattr(compiled, each) for each in dir(compiled) if not each.startswith("_")}
        )
        return getattr(compiled, name)


def compile_late(source: AnyStr, flags: int = 0) -> "re.Pattern[AnyStr]":
    """Compile a pattern when it is first used: all together they would take longer than a short command."""
    return cast("re.Pattern[AnyStr]", LatePattern(source, flags))


_UNSAFE = compile_late(
    "[\x7f-\x9f\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def dump_json(
    value: Any, *, indent: int | None = None, default: Callable[[Any], Any] | None = None
) -> str:
    """A value as JSON, in its own script."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=default)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def encode_fields(value: Any) -> Any:
    """A dataclass as JSON has it: names as `name_field` has them, moments in ISO 8601; what is not there is left out."""
    if is_dataclass(value) and not isinstance(value, type):
        encoded: dict[str, Any] = {}
        for each in fields(value):
            inner = getattr(value, each.name)
            if inner is not None:
                encoded[name_field(each.name)] = encode_fields(inner)
        return encoded
    if isinstance(value, (tuple, list)):
        return [encode_fields(each) for each in value]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value


def name_field(name: str) -> str:
    """Return what JSON calls a field: in camelCase, and `sessionId` what is `session` in Python."""
    first, *rest = name.split("_")
    return "sessionId" if name == "session" else first + "".join(map(str.capitalize, rest))
