"""Notes on what was changed to read an answer: a code, the field, what was given and what it was read as."""

import json
from dataclasses import dataclass, field
from typing import Final

from moothall.domain.safe_text import one_line

MAX_NOTES: Final = 20
MAX_GIVEN: Final = 60
NOT_GIVEN: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingNotes:
    """The notes on one answer. The codes are listed in `moothall.codec.lenient_parser`."""

    is_strict: bool = False
    """Whether an answer is refused rather than cut, or read without a part of it."""

    lines: list[str] = field(default_factory=list)

    def add(self, code: str, path: str, given: object = NOT_GIVEN, result: object = NOT_GIVEN) -> None:
        if len(self.lines) < MAX_NOTES:
            parts = [code, path or "the answer"]
            parts += [show_value(given)] if given is not NOT_GIVEN else []
            parts += ["→", show_value(result)] if result is not NOT_GIVEN else []
            self.lines.append(" ".join(parts))

    def drop_after(self, count: int) -> None:
        """Keep the first notes only: what came after them was a reading that failed."""
        del self.lines[count:]


def show_value(value: object) -> str:
    """Return a value on one short line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    line = one_line(text)
    line = line if len(line) <= MAX_GIVEN else f"{line[: MAX_GIVEN - 1]}…"
    return repr(line) if isinstance(value, str) else line


def join_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
