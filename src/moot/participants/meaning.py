"""Likeness of ideas by the sentence encoder, by what their words leave over, and by their sides (S-8).

Two findings about one subject share its name, and the encoder takes them for alike. What tells them apart is the rest: the words of each
that the other does not have. Likeness is therefore the cosine of the two ideas together with the cosine of their rests, each the sum of
its words' vectors. The rests of a paraphrase mean the same; those of another idea do not.
"""

import math
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any, Final

from moot.participants.encoder import encoded, is_installed
from moot.weighing.likeness import SAME, Judgement, judged, judged_by_words, normal_idea, scaled
from moot.weighing.phrases import is_across, phrase, rest_of, shared

RESTS: Final = 0.65
"""What the likeness of the rests weighs against that of the whole."""

LENGTH: Final = 0.09
"""What the likeness of two rests loses for every e-fold of their mean length: sums of many words are alike whatever they say."""

THRESHOLD: Final = 0.58
"""The likeness from which two ideas count as one: chosen on one half of the pairs, see docs/swarm-likeness.md."""

FRAMED: Final = 0.55
"""The share of common words from which two ideas differ in a few words only. These then decide: they must be synonyms."""

SYNONYMS: Final = 0.7
"""The likeness of synonyms (raise, increase: 0.78); that of opposites is mostly lower (raise, lower: 0.50; safe, dangerous: 0.64)."""

SLIP: Final = 2
"""So few words more on one side only may turn an idea round, as "spared" does; more of them explain it."""

LEAST: Final = 0.3
"""The cosine of two ideas below which their rests are not looked at."""

MOST_KEPT: Final = 16_384
"""Vectors of texts and words that are kept, 4 kB each; when they are more, all are forgotten."""


class Meaning:
    """Judges ideas by meaning where the encoder is installed, else by words. A judgement depends on its two texts alone."""

    def __init__(self) -> None:
        self._vectors: dict[str, Any] = {}
        self._lock = Lock()

    def is_available(self) -> bool:
        """Whether the encoder is there (the extra `embedded`)."""
        return is_installed()

    def judge(self, one: str, others: Sequence[str]) -> list[Judgement]:
        """How each of the others compares with one: a text is encoded once, and all are compared in one matrix product."""
        if not self.is_available():
            return judged_by_words(one, others)
        if not others:
            return []
        with self._lock:
            return [self._judged(one, other, cosine) for other, cosine in zip(others, self._cosines(one, others), strict=True)]

    def _cosines(self, one: str, others: Sequence[str]) -> list[float]:
        import numpy

        known = numpy.stack([self._vector(other) for other in others])
        return [float(cosine) for cosine in known @ self._vector(one)]

    def _judged(self, one: str, other: str, cosine: float) -> Judgement:
        if normal_idea(one) == normal_idea(other):
            return SAME
        if cosine < LEAST:
            return Judgement(_rounded(scaled(cosine, THRESHOLD)), False)
        return judged(_rounded(scaled(self._likeness(one, other, cosine), THRESHOLD)), one, other)

    def _likeness(self, one: str, other: str, cosine: float) -> float:
        first, second = phrase(one), phrase(other)
        if is_across(first, second):
            return min(cosine, _BELOW)
        rest, other_rest = _words(rest_of(first, second)), _words(rest_of(second, first))
        if not rest and not other_rest:
            return cosine
        if not rest or not other_rest:
            is_slip = len(rest) + len(other_rest) <= SLIP
            return min(cosine, _BELOW) if is_slip else cosine
        rests = float(self._sum(rest) @ self._sum(other_rest))
        likeness = (1 - RESTS) * cosine + RESTS * (rests - LENGTH * math.log(len(rest) * len(other_rest)) / 2)
        is_framed = shared(first, second) >= FRAMED and rests < SYNONYMS
        return min(likeness, _BELOW) if is_framed else likeness

    def _sum(self, words: Iterable[str]) -> Any:
        """The direction of some words together."""
        total = sum(self._vector(word) for word in words)
        return total / max(float((total @ total) ** 0.5), _TINY)

    def _vector(self, text: str) -> Any:
        found = self._vectors.get(text)
        if found is None:
            if len(self._vectors) >= MOST_KEPT:
                self._vectors.clear()
            # Doubles: the sums then do not depend on the order in which a matrix product adds.
            found = self._vectors[text] = encoded(text).astype("float64")
        return found


_TINY: Final = 1e-9
_BELOW: Final = THRESHOLD * 0.99


def _words(pieces: Iterable[str]) -> list[str]:
    """Words; of a piece without spaces, every two neighbours."""
    return [word for piece in pieces for word in ([piece] if piece.isascii() else _pairs(piece))]


def _pairs(piece: str) -> list[str]:
    return [piece[index : index + 2] for index in range(max(1, len(piece) - 1))]


def _rounded(likeness: float) -> float:
    return round(likeness, 6)
