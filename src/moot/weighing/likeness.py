"""Whether two ideas are one (S-8): by their text, by their words, and by their sides.

Any measure gives a likeness from 0 to 1, scaled so that JOIN_AT means the same for each. A false join fakes a consensus
while a missed one only delays it, so that thresholds are set for few false joins. The measure here needs no package and
knows no meaning: it joins what is said again in nearly the same words, and little else. `moot.participants.meaning` knows
more.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from moot.weighing.phrases import Phrase, folded, phrase
from moot.weighing.stance import is_opposed

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


SAME: Final = Judgement(1.0, False)


def is_one(judgement: Judgement) -> bool:
    """Whether two ideas so judged count as one."""
    return judgement.likeness >= JOIN_AT and not judgement.opposed


def normal_idea(text: str) -> str:
    """An idea without what does not change it: case, width, punctuation, spaces."""
    return _BESIDE_HAN.sub("", _SIGNS.sub(" ", folded(text)).strip())


def judged_by_words(one: str, others: Sequence[str]) -> list[Judgement]:
    """How each of the others compares with one, by words alone."""
    known, cut = normal_idea(one), phrase(one)
    return [
        SAME if normal_idea(other) == known else judged(scaled(_overlap(cut, phrase(other)), _SAME_WORDS), one, other)
        for other in others
    ]


def judged(likeness: float, one: str, other: str) -> Judgement:
    """A likeness with the sides that two ideas take."""
    return Judgement(likeness, likeness >= ABOUT_ONE_SUBJECT and is_opposed(one, other))


def scaled(value: float, threshold: float) -> float:
    """A measure's own value, with its own threshold moved to JOIN_AT, 0 and 1 left where they are."""
    if value < threshold:
        return max(0.0, value) / threshold * JOIN_AT
    return min(1.0, JOIN_AT + (value - threshold) / (1 - threshold) * (1 - JOIN_AT))


def _overlap(one: Phrase, other: Phrase) -> float:
    """Dice's share of the terms that both have."""
    size = len(one.gist) + len(other.gist)
    return 2 * len(one.gist & other.gist) / size if size else 0.0
