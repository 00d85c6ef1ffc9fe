"""Recognizes a text that is nothing but a pass: its author has nothing to add (Q-9)."""

from typing import Final

from moothall.domain.safe_text import compile_late, strip_control
from moothall.domain.vocabulary import PATTERNS

MAX_LENGTH: Final = 120
"""A longer text says something."""
_PARTS: Final = compile_late(r"[.!?;:,。！？；：，、…\n]|\s[-–—]+\s|[–—]+")
_MARKS: Final = " \t*_`~#>\"'“”‘’「」()[]{}（）【】|/\\-–—"


def is_pass_text(text: str) -> bool:
    """Whether every part of a text passes, with whatever marks: "I pass.", "nothing to add", "跳过：没有补充"."""
    if len(text) > MAX_LENGTH:
        return False
    parts = [part.strip(_MARKS) for part in _PARTS.split(strip_control(text).replace("’", "'"))]
    said = [part for part in parts if part]
    return bool(said) and all(PATTERNS["passes"].fullmatch(part) for part in said)
