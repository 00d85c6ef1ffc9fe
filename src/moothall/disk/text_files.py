"""Text files that people write, read whole, and TOML, parsed within bounds; each fault is one sentence."""

import tomllib
from pathlib import Path
from typing import Any, Final

from moothall.domain.safe_text import compile_late
from moothall.errors import BadSetting, MootError

MAX_KEY_PARTS: Final = 32
"""Of one dotted key: the time that the parser takes grows with their square."""

_PART: Final = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_LONG_KEY: Final = compile_late(
    rf"(?<![A-Za-z0-9_-]){_PART}(?:[ \t]*\.[ \t]*{_PART}){{{MAX_KEY_PARTS},}}"
)


def read_text_file(path: Path, what: str, error: type[MootError] = BadSetting) -> str:
    """Return the text of a file; `what` names it in the error that is raised when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as cause:
        raise error(f"{what} cannot be read: {cause.strerror}") from cause
    except UnicodeDecodeError as cause:
        raise error(f"{what} is not a text in UTF-8; save it as one") from cause


def parse_toml(text: str, what: str = "it", error: type[MootError] = BadSetting) -> dict[str, Any]:
    """Parse a document; `what` names it in messages.

    Raises the error when it is not TOML, when it is nested too deeply, and when a key in it has too many parts.
    """
    if _LONG_KEY.search(text):
        raise error(
            f"{what} has a dotted key of more than {MAX_KEY_PARTS} parts; write tables instead"
        )
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as cause:
        raise error(f"{what} is not valid TOML: {cause}") from cause
    except RecursionError as cause:
        raise error(f"{what} is nested too deeply") from cause


def read_toml_file(path: Path, what: str, error: type[MootError] = BadSetting) -> dict[str, Any]:
    """Return the document in a file, as `read_text_file` and `parse_toml` do."""
    return parse_toml(read_text_file(path, what, error), what, error)
