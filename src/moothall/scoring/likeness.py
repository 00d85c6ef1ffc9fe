"""Decides whether two ideas are the same (S-8): by their text, their words, and the sides that they take.

Every measure returns a similarity from 0 to 1, scaled so that JOIN_AT has the same meaning for each. A false join fakes a
consensus, while a missed one only delays it, so the thresholds are set for few false joins. The measure here needs no package and
does not understand meaning: it joins ideas that are repeated in nearly the same words. `participants/semantic_similarity.py`
understands more.
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

REPORT_FROM: Final = 0.4
"""The similarity from which a pair is reported."""
MAX_LOOKED_AT: Final = 64
"""How many of the most similar texts are checked for opposite sides."""
MAX_JOINED: Final = 4
MAX_NEAR: Final = 2
"""How many pairs are reported per text: of those that it is the same as, and of others."""


def is_same_idea(judgement: Judgement) -> bool:
    """Whether two ideas with this judgement count as the same."""
    return judgement.likeness >= JOIN_AT and not judgement.opposed


class SimilarTexts(NamedTuple):
    """Two texts with some similarity, given by their positions in a list."""

    one: int
    other: int
    likeness: float
    opposed: bool


def find_similar_texts(known: Sequence[str], new: Sequence[str], measure: Measure, nearest: int = 0) -> list[SimilarTexts]:
    """Report for each new text the earlier texts that it is the same as, the most similar first, and its nearest others.

    The number of pairs is limited: of hundreds of similar texts, one is enough to join them. The `nearest` texts are reported in
    any case, for whoever judges them.
    """
    texts, pairs = [*known, *new], []
    for at, text in enumerate(new, len(known)):
        # Rounded before it is compared and stored: similarity models differ in the last digits between machines.
        values = [(round(min(1.0, value), 4), other) for other, value in enumerate(measure(text, texts[:at]))]
        likest = sorted((each for each in values if each[0] >= REPORT_FROM), key=lambda each: (-each[0], each[1]))
        joined: list[SimilarTexts] = []
        others: list[SimilarTexts] = []
        for likeness, other in likest[:MAX_LOOKED_AT]:
            # Sorted by similarity: below JOIN_AT no later text can join any more.
            if len(joined) == MAX_JOINED or (likeness < JOIN_AT and len(others) >= MAX_NEAR):
                break
            pair = SimilarTexts(at, other, likeness, is_against(text, texts[other]))
            (joined if is_same_idea(Judgement(likeness, pair.opposed)) else others).append(pair)
        told = [*joined, *others[:MAX_NEAR]]
        listed = {pair.other for pair in told}
        near = sorted(values, key=lambda each: (-each[0], each[1]))[:nearest]
        told += [SimilarTexts(at, other, value, is_against(text, texts[other])) for value, other in near if other not in listed]
        pairs += told
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
