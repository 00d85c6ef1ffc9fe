"""What words mean, in all languages: choices, degrees and numbers. The words stand in `vocabulary.toml`."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any, Final

from moothall.domain.safe_text import compile_late, strip_control

_TABLES: Final[dict[str, Any]] = tomllib.loads(
    (files(__package__) / "vocabulary.toml").read_text("utf-8")
)
_CHOICES: Final[dict[str, list[str] | str]] = _TABLES["choices"]

CHOICE_WORDS: Final[dict[str, tuple[str, ...]]] = {
    value: tuple(_CHOICES[words] if isinstance(words, str) else words)
    for value, words in _CHOICES.items()
}
"""What else says the same as a value: of a position, a verdict, a type of contribution, a degree."""
BARE_WORDS: Final[frozenset[str]] = frozenset(_TABLES["words"]["bare"])
"""Words that say something only where nothing hangs on them: "no problem" is not "no"."""
LONE_WORDS: Final[frozenset[str]] = frozenset(_TABLES["words"]["lone"])
"""Words that say something only as a whole answer, or before a mark: "for as long as it rains" supports nothing."""
EMPTY_WORDS: Final[frozenset[str]] = frozenset(_TABLES["words"]["empty"])


def _index_words(rows: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return what each word of a table stands for."""
    meanings = {}
    for meaning, words in rows.items():
        for word in words:
            meanings[word] = meaning
    return meanings


CHOICE_LABELS: Final[dict[str, tuple[str, ...]]] = {
    name: tuple(words) for name, words in _TABLES["choice_labels"].items()
}
"""What a choice is called on its line, "my final answer", as patterns: what leads, and the name."""
LABELS: Final[dict[str, dict[str, Any]]] = {
    name: _index_words(rows) for name, rows in _TABLES["labels"].items()
}
"""What a label stands for: of a request to consult, its answer, its kind, and the view of a speech."""
DEGREES: Final[dict[str, float]] = {
    word: row["share"] for row in _TABLES["degrees"] for word in row["words"]
}
"""The share that a word stands for."""


def _join_pattern(name: str) -> str:
    source = "".join(_TABLES["patterns"][name].splitlines())
    return re.sub(r"%(\w+)%", lambda part: _join_pattern(part[1]), source)


PATTERNS: Final[dict[str, re.Pattern[str]]] = {
    name: compile_late(_join_pattern(name)) for name in _TABLES["patterns"]
}
"""What is searched for in texts: denials, doubts, conditions, apologies."""
MAX_PASS_TEXT: Final = 120
"""A longer text says something."""
_PASS_PARTS: Final = compile_late(r"[.!?;:,。！？；：，、…\n]|\s[-–—]+\s|[–—]+")
_PASS_SIGNS: Final = " \t*_`~#>\"'“”‘’「」()[]{}（）【】|/\\-–—"  # noqa: S105 - what may stand round a pass


def is_pass_text(text: str) -> bool:
    """Whether every part of a text passes, with whatever marks: "I pass.", "nothing to add", "跳过：没有补充"."""
    if len(text) > MAX_PASS_TEXT:
        return False
    parts = [
        part.strip(_PASS_SIGNS) for part in _PASS_PARTS.split(strip_control(text).replace("’", "'"))
    ]
    said = [part for part in parts if part]
    return bool(said) and all(PATTERNS["passes"].fullmatch(part) for part in said)
