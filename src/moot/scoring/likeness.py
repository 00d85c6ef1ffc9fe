"""Whether two ideas are one (S-8): by their text, by their words, and by their sides.

Any measure gives a likeness from 0 to 1, scaled so that JOIN_AT means the same for each. A false join fakes a consensus
while a missed one only delays it, so that thresholds are set for few false joins. The measure here needs no package and
knows no meaning: it joins what is said again in nearly the same words, and little else.
`moot.participants.semantic_similarity` knows more.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from moot.scoring.phrases import Phrase, normalize_text, parse_phrase
from moot.scoring.stance import is_opposed

JOIN_AT: Final = 0.5
"""Ideas at or above it that are not opposed are one."""

ABOUT_ONE_SUBJECT: Final = 0.3
"""Below it ideas are on different subjects, so that they cannot be opposed either."""

_SAME_WORDS: Final = 0.8
"""The share of words that two ideas have in common from which their words make them one."""

_SIGNS: Final = re.compile(r"(?:[^\w%+]|_)+")
_BESIDE_HAN: Final = re.compile(r"(?<=[\u3400-\u4dbf\u4e00-\u9fff]) | (?=[\u3400-\u4dbf\u4e00-\u9fff])")


class Judgement(NamedTuple):
    """How like two ideas are, and whether they take opposite sides of one question."""

    likeness: float
    opposed: bool


Measure = Callable[[str, Sequence[str]], list[float]]
"""How like each of some texts is to one."""

REPORT_FROM: Final = 0.4
"""The likeness from which a pair is told."""
MOST_LOOKED_AT: Final = 64
"""How many of the likest texts are looked at for their sides."""
MOST_JOINED: Final = 4
MOST_NEAR: Final = 2
"""How many pairs are told of a text: of those that it is one with, and of others."""


def is_same_idea(judgement: Judgement) -> bool:
    """Whether two ideas so judged count as one."""
    return judgement.likeness >= JOIN_AT and not judgement.opposed


class SimilarTexts(NamedTuple):
    """Two texts, by their places in a list, that are like at all."""

    one: int
    other: int
    likeness: float
    opposed: bool


def find_similar_texts(known: Sequence[str], new: Sequence[str], measure: Measure) -> list[SimilarTexts]:
    """What is told of new texts: of each the texts before it that it is one with, the most like first, and its nearest others.

    So many are told as can matter: of hundreds that are alike, one is enough to join them.
    """
    texts, found = [*known, *new], []
    for at, text in enumerate(new, len(known)):
        values = [(round(min(1.0, value), 4), other) for other, value in enumerate(measure(text, texts[:at]))]
        likest = sorted((each for each in values if each[0] >= REPORT_FROM), key=lambda each: (-each[0], each[1]))
        joined: list[SimilarTexts] = []
        others: list[SimilarTexts] = []
        for likeness, other in likest[:MOST_LOOKED_AT]:
            if len(joined) == MOST_JOINED or (likeness < JOIN_AT and len(others) >= MOST_NEAR):
                break
            pair = SimilarTexts(at, other, likeness, is_against(text, texts[other]))
            (joined if is_same_idea(Judgement(likeness, pair.opposed)) else others).append(pair)
        found += [*joined, *others[:MOST_NEAR]]
    return found


def is_against(one: str, other: str) -> bool:
    """Whether two ideas on one subject take opposite sides; an idea never does so against itself."""
    return normalize_idea(one) != normalize_idea(other) and is_opposed(one, other)


@lru_cache(maxsize=8_192)
def normalize_idea(text: str) -> str:
    """An idea without what does not change it: case, width, punctuation, spaces."""
    return _BESIDE_HAN.sub("", _SIGNS.sub(" ", normalize_text(text)).strip())


def judge_by_words(one: str, others: Sequence[str]) -> list[Judgement]:
    """How each of the others compares with one, by words alone."""
    return [judge_pair(likeness, one, other) for likeness, other in zip(measure_by_words(one, others), others, strict=True)]


def measure_by_words(one: str, others: Sequence[str]) -> list[float]:
    """How like each of the others is to one, by words alone."""
    known, cut = normalize_idea(one), parse_phrase(one)
    return [
        1.0 if normalize_idea(other) == known else scale_likeness(_compute_overlap(cut, parse_phrase(other)), _SAME_WORDS)
        for other in others
    ]


def judge_pair(likeness: float, one: str, other: str) -> Judgement:
    """A likeness with the sides that two ideas take."""
    return Judgement(likeness, likeness >= ABOUT_ONE_SUBJECT and is_against(one, other))


def scale_likeness(value: float, threshold: float) -> float:
    """A measure's own value, with its own threshold moved to JOIN_AT, 0 and 1 left where they are."""
    if value < threshold:
        return max(0.0, value) / threshold * JOIN_AT
    return min(1.0, JOIN_AT + (value - threshold) / (1 - threshold) * (1 - JOIN_AT))


def _compute_overlap(one: Phrase, other: Phrase) -> float:
    """Dice's share of the terms that both have."""
    size = len(one.gist) + len(other.gist)
    return 2 * len(one.gist & other.gist) / size if size else 0.0
