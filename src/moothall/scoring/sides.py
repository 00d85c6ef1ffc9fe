"""Words that take sides: for each axis the words of its two poles, from `sides.toml`.

Two statements on one subject with words of opposite poles of an axis contradict each other; words of one pole mean the same.
"""

import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import Final, NamedTuple


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return a light English stem: `adopts`, `adopted` and `adopting` become one term. Other words stay unchanged."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    word = _singularize(word)
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        # At least three letters and a vowel must remain, so that "thing" and "string" keep theirs.
        if rest != word and len(rest) >= 3 and any(vowel in rest for vowel in "aeiouy"):
            # A doubled consonant belongs to the ending ("stopped"), except l, s and z, which words may end in ("fall", "miss").
            word = rest[:-1] if rest[-1] == rest[-2] and rest[-1] not in "lsz" else rest
            break
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def _singularize(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


class AxisSide(NamedTuple):
    """One pole of an axis."""

    axis: str
    sign: int


_TABLES: Final = tomllib.loads((files(__package__) / "sides.toml").read_text("utf-8"))


def stem_words(words: str) -> frozenset[str]:
    """Return the stems of the words of a list that is written as one text."""
    return frozenset(map(stem, words.split()))


def _build_sided_words() -> dict[str, tuple[AxisSide, ...]]:
    sides_by_stem: dict[str, tuple[AxisSide, ...]] = {}
    for axis, poles in _TABLES["axes"].items():
        for sign, words in zip((1, -1), poles, strict=True):
            for term in stem_words(words):
                sides_by_stem[term] = (*sides_by_stem.get(term, ()), AxisSide(axis, sign))
    return sides_by_stem


SIDED_WORDS: Final = _build_sided_words()
"""The sides that a word takes, by its stem."""

DENYING: Final = stem_words(_TABLES["denying"])
"""Words that negate what follows, by their stems."""
IDLE: Final = frozenset(_TABLES["idle"].split())
"""Chinese words that contain such a word but take no side."""
COMMON: Final = stem_words(_TABLES["common"])
"""Stems of English words that do not say what a statement is about."""

# English words are single units, so that only Chinese ones limit the longest match.
MAX_WORD_LENGTH: Final = max(len(word) for word in (*SIDED_WORDS, *DENYING, *IDLE) if not word.isascii())
