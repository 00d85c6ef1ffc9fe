"""Decides whether two ideas are the same (S-8): by their text, their words, and the sides that they take.

Every measure returns a similarity from 0 to 1, scaled so that JOIN_AT has the same meaning for each. It finds the texts that are
near each other; whether they are one idea is for a judge to say (S-36). The measure here needs no package and does not understand
meaning. `participants/semantic_similarity.py` understands more.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from moothall.scoring.phrases import Phrase, normalize_text, parse_phrase
from moothall.scoring.stance import is_opposed

JOIN_AT: Final = 0.5
"""Ideas with at least this similarity that are not opposed are the same."""

ABOUT_ONE_SUBJECT: Final = 0.3
"""Below this similarity two ideas are on different subjects, so they cannot be opposed either."""

_SAME_WORDS: Final = 0.8
"""The share of common words from which two ideas are the same by their words."""

_SIGNS: Final = re.compile(r"(?:[^\w%+]|_)+")
# Chinese is written without spaces: a space beside a Han character is typography and must not separate two equal ideas.
_BESIDE_HAN: Final = re.compile(r"(?<=[\u3400-\u4dbf\u4e00-\u9fff]) | (?=[\u3400-\u4dbf\u4e00-\u9fff])")


class Judgement(NamedTuple):
    """The similarity of two ideas, and whether they take opposite sides of one question."""

    likeness: float
    opposed: bool


Measure = Callable[[str, Sequence[str]], list[float]]
"""Returns the similarity of each of some texts to one text."""


def is_same_idea(judgement: Judgement) -> bool:
    """Whether two ideas with this judgement count as the same."""
    return judgement.likeness >= JOIN_AT and not judgement.opposed


class SimilarTexts(NamedTuple):
    """Two texts and their similarity, given by their positions in a list."""

    one: int
    other: int
    likeness: float


def find_similar_texts(known: Sequence[str], new: Sequence[str], measure: Measure, nearest: int) -> list[SimilarTexts]:
    """Report for each new text the `nearest` earlier texts, the most similar first, for the judge of ideas."""
    texts, pairs = [*known, *new], []
    for at, text in enumerate(new, len(known)):
        # Rounded before it is compared and stored: similarity models differ in the last digits between machines.
        values = [(round(min(1.0, value), 4), other) for other, value in enumerate(measure(text, texts[:at]))]
        near = sorted(values, key=lambda each: (-each[0], each[1]))[:nearest]
        pairs += [SimilarTexts(at, other, value) for value, other in near]
    return pairs


def is_against(one: str, other: str) -> bool:
    """Whether two ideas on one subject take opposite sides; equal texts never do."""
    return normalize_idea(one) != normalize_idea(other) and is_opposed(one, other)


@lru_cache(maxsize=8_192)
def normalize_idea(text: str) -> str:
    """Normalize an idea: without case, width, punctuation and spaces."""
    return _BESIDE_HAN.sub("", _SIGNS.sub(" ", normalize_text(text)).strip())


def measure_by_words(one: str, others: Sequence[str]) -> list[float]:
    """Return the similarity of each of the others to one text, by words alone."""
    known, cut = normalize_idea(one), parse_phrase(one)
    return [
        1.0 if normalize_idea(other) == known else scale_likeness(_compute_overlap(cut, parse_phrase(other)), _SAME_WORDS)
        for other in others
    ]


def judge_pair(likeness: float, one: str, other: str) -> Judgement:
    """Combine a similarity with the check for opposite sides."""
    return Judgement(likeness, likeness >= ABOUT_ONE_SUBJECT and is_against(one, other))


def scale_likeness(value: float, threshold: float) -> float:
    """Rescale a measure's value so that its own threshold becomes JOIN_AT, while 0 and 1 stay fixed."""
    # Two straight lines that meet in (threshold, JOIN_AT).
    if value < threshold:
        return max(0.0, value) / threshold * JOIN_AT
    return min(1.0, JOIN_AT + (value - threshold) / (1 - threshold) * (1 - JOIN_AT))


def _compute_overlap(one: Phrase, other: Phrase) -> float:
    """Return the Dice coefficient of the terms, 2·|A ∩ B| / (|A| + |B|)."""
    size = len(one.gist) + len(other.gist)
    return 2 * len(one.gist & other.gist) / size if size else 0.0
