"""Whether two ideas are one: a judgement by their words alone."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final, NamedTuple


class Judgement(NamedTuple):
    """How like two ideas are (0 to 1), and whether they are on opposite sides."""

    likeness: float
    opposed: bool


JOIN_AT: Final = 0.6
"""Ideas at or above this and not opposed are one."""

_WORD = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]")
_NOT: Final = frozenset(("not", "no", "never", "without", "不", "没", "无", "非"))


def normal_idea(text: str) -> str:
    """An idea as it is compared letter by letter."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(" .!?。！？,，;；:：'\"“”‘’()")


def judged_by_words(one: str, others: Sequence[str]) -> list[Judgement]:
    """The judgement of each of `others` against `one`."""
    mine = set(_WORD.findall(normal_idea(one)))
    return [_judged(mine, set(_WORD.findall(normal_idea(other)))) for other in others]


def _judged(one: set[str], other: set[str]) -> Judgement:
    left, right = one - _NOT, other - _NOT
    both = len(left | right)
    return Judgement(len(left & right) / both if both else 0.0, bool(one & _NOT) != bool(other & _NOT))
