"""Reads and searches what was given with a question: numbered lines, and the passages that hold most of a query's words."""

import math
import unicodedata
from collections import Counter
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from moothall.domain.replace import dataclass
from moothall.domain.safe_text import compile_late, strip_control
from moothall.domain.topic import ContextFile

PASSAGE_LINES: Final = 12
MAX_PASSAGE_LENGTH: Final = 1_500
MAX_LINE_LENGTH: Final = 1_000
"""How much of one line a passage shows: a file may be one long line."""

_WORD: Final = compile_late(r"[a-z0-9]+|[^\W\d_a-z]+")
_CJK: Final = compile_late(r"[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Passage:
    """Some lines of a file, numbered from 1."""

    file: str
    first: int
    lines: tuple[str, ...]

    @property
    def place(self) -> str:
        last = self.first + len(self.lines) - 1
        return (
            f"{self.file}:{self.first}"
            if last == self.first
            else f"{self.file}:{self.first}-{last}"
        )


@lru_cache(maxsize=1_024)
def split_lines(text: str) -> tuple[str, ...]:
    """The lines of a file as an editor numbers them, without control codes."""
    return tuple(
        strip_control(line.rstrip("\r")).replace("\n", " ")
        for line in text.rstrip("\n").split("\n")
    )


def number_lines(passage: Passage) -> str:
    return "\n".join(
        f"{number}: {line}" for number, line in enumerate(passage.lines, passage.first)
    )


def read_lines(file: ContextFile, first: int, last: int, room: int) -> Passage:
    """Return lines of a file, as many as the room has place for; none where the file is shorter."""
    lines: list[str] = []
    for line in split_lines(file.text)[max(0, first - 1) : last]:
        room -= len(line) + 8
        if room < 0 and lines:
            break
        lines.append(line if room >= 0 else f"{line[: room + len(line)]}…")
    return Passage(file.name, max(1, first), tuple(lines))


def select_visible(
    files: tuple[ContextFile, ...], patterns: tuple[str, ...]
) -> tuple[ContextFile, ...]:
    """Return the files whose names fit one of the patterns; all where there is no pattern."""
    return (
        tuple(each for each in files if any(fnmatchcase(each.name, one) for one in patterns))
        if patterns
        else files
    )


def search_files(files: tuple[ContextFile, ...], query: str, room: int) -> list[Passage]:
    """Return the passages that hold most of a query's words, the best first, as many as the room has place for.

    Rare words count more (BM25). Nothing is returned that holds none of them.
    """
    index = _build_index(files)
    wanted = set(_list_terms(query))
    scores: dict[int, float] = {}
    for term in wanted:
        places = index.places.get(term, {})
        rarity = math.log(1 + (len(index.passages) - len(places) + 0.5) / (len(places) + 0.5))
        for place, count in places.items():
            scores[place] = scores.get(place, 0.0) + rarity * count * 2.2 / (count + 1.2)
    passages: list[Passage] = []
    for place, _ in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
        passage = index.passages[place]
        room -= len(number_lines(passage))
        if room < 0 and passages:
            break
        passages.append(passage)
    return passages


@dataclass(frozen=True, slots=True)
class _Index:
    passages: tuple[Passage, ...]
    places: dict[str, dict[int, int]]


@lru_cache(maxsize=8)
def _build_index(files: tuple[ContextFile, ...]) -> _Index:
    passages = tuple(passage for file in files for passage in _split_passages(file))
    places: dict[str, dict[int, int]] = {}
    for place, passage in enumerate(passages):
        for term, count in Counter(_list_terms(" ".join((passage.file, *passage.lines)))).items():
            places.setdefault(term, {})[place] = count
    return _Index(passages, places)


def _split_passages(file: ContextFile) -> list[Passage]:
    passages: list[Passage] = []
    lines: list[str] = []
    first, size = 1, 0
    for number, line in enumerate(split_lines(file.text), 1):
        shown = line if len(line) <= MAX_LINE_LENGTH else f"{line[:MAX_LINE_LENGTH]}…"
        if lines and (len(lines) == PASSAGE_LINES or size + len(shown) > MAX_PASSAGE_LENGTH):
            passages.append(Passage(file.name, first, tuple(lines)))
            lines, first, size = [], number, 0
        lines.append(shown)
        size += len(shown)
    return [*passages, Passage(file.name, first, tuple(lines))] if lines else passages


def _list_terms(text: str) -> list[str]:
    """Words in small letters; of scripts without spaces each pair of characters."""
    terms: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        if _CJK.search(word) is None:
            terms.append(word)
        else:
            terms += [word[at : at + 2] for at in range(len(word) - 1)] or [word]
    return terms
