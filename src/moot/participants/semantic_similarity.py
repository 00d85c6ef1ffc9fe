"""Likeness of ideas by the sentence encoder, by what their words leave over, and by their sides (S-8).

Two findings about one subject share its name, and the encoder takes them for alike. What tells them apart is the rest: the
words of each that the other does not have. Likeness is therefore the cosine of the two ideas together with the cosine of
their rests, each the sum of its words' vectors. The rests of a paraphrase mean the same; those of another idea do not.
Where ideas share most words, the rests decide alone, because opposites mostly do. Ideas in different languages are never
joined: nothing tells opposites there.
"""

import math
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any, Final, NamedTuple

from moot.participants.encoder import encode_texts, is_installed
from moot.scoring.likeness import Judgement, judge_pair, measure_by_words, normalize_idea, scale_likeness
from moot.scoring.phrases import compute_term_overlap, find_unshared_pieces, is_cross_language, parse_phrase

RESTS: Final = 0.65
"""What the likeness of the rests weighs against that of the whole."""

LENGTH: Final = 0.09
"""What the likeness of two rests loses for every e-fold of their mean length: sums of many words are alike whatever they say."""

THRESHOLD: Final = 0.58
"""The likeness from which two ideas count as one: chosen on one half of the pairs, see docs/swarm-likeness.md."""

FRAMED: Final = 0.55
"""The share of common words from which two ideas differ in a few words only. These then decide: they must be synonyms."""

SYNONYMS: Final = 0.7
"""The likeness of synonyms (raise, increase: 0.78); opposites are mostly less alike (raise, lower: 0.50)."""

SLIP: Final = 2
"""So few words more on one side only may turn an idea round, as "spared" does; more of them explain it."""

LEAST: Final = 0.4
"""The cosine of two ideas below which their rests are not looked at."""

MOST_LOOKED_AT: Final = 64
"""Of how many ideas, the nearest by their cosines, the rests are looked at."""

MOST_KEPT: Final = 32_768
"""Vectors of texts and words that are kept, 2 kB each; when they are more, all are forgotten."""


class _Differences(NamedTuple):
    """What each of two ideas says that the other does not, in words, and the share that they have in common."""

    one: tuple[str, ...]
    other: tuple[str, ...]
    shared: float


class SemanticSimilarity:
    """Judges ideas by meaning where the encoder is installed, else by words. A judgement depends on its two texts alone."""

    def __init__(self) -> None:
        self._vectors: dict[str, Any] = {}
        self._lock = Lock()

    @staticmethod
    def is_available() -> bool:
        """Whether the encoder is there (the extra `embedded`)."""
        return is_installed()

    def judge(self, one: str, others: Sequence[str]) -> list[Judgement]:
        """How each of the others compares with one."""
        return [
            judge_pair(likeness, one, other) for likeness, other in zip(self.compute_likeness(one, others), others, strict=True)
        ]

    def compute_likeness(self, one: str, others: Sequence[str]) -> list[float]:
        """How like each of the others is to one: a text is encoded once, and all are compared in one matrix product."""
        if not self.is_available():
            return measure_by_words(one, others)
        if not others:
            return []
        with self._lock:
            cosines = self._compute_cosines(one, others)
            least = max(LEAST, sorted(cosines)[-MOST_LOOKED_AT:][0])
            rests = [
                _compute_differences(one, other) if cosine >= least else None
                for other, cosine in zip(others, cosines, strict=True)
            ]
            self._encode_missing(word for both in rests if both is not None for word in (*both.one, *both.other))
            likenesses = [self._scale_likeness(*found) for found in zip(cosines, rests, strict=True)]
        known = normalize_idea(one)
        # What is encoded beside a text changes the last digits of its vector; rounding hides that.
        return [
            1.0 if normalize_idea(other) == known else round(scale_likeness(likeness, THRESHOLD), 3)
            for other, likeness in zip(others, likenesses, strict=True)
        ]

    def preload_texts(self, texts: Iterable[str]) -> None:
        """Encode texts that are to be judged, all in one batch: one by one they cost thirty times as much."""
        if self.is_available():
            with self._lock:
                self._encode_missing(texts)

    def _compute_cosines(self, one: str, others: Sequence[str]) -> list[float]:
        import numpy

        self._encode_missing([one, *others])
        known = numpy.stack([self._vectors[other] for other in others])
        return [float(cosine) for cosine in known @ self._vectors[one]]

    def _scale_likeness(self, cosine: float, rests: _Differences | None) -> float:
        """How like two ideas are, by the encoder's own scale."""
        if rests is None:
            return min(cosine, _BELOW)
        if not rests.one and not rests.other:
            return cosine
        if not rests.one or not rests.other:
            is_slip = len(rests.one) + len(rests.other) <= SLIP
            return min(cosine, _BELOW) if is_slip else cosine
        rest = float(self._sum_vectors(rests.one) @ self._sum_vectors(rests.other))
        length = math.log(len(rests.one) * len(rests.other)) / 2
        likeness = (1 - RESTS) * cosine + RESTS * (rest - LENGTH * length)
        is_framed = rests.shared >= FRAMED and rest < SYNONYMS
        return min(likeness, _BELOW) if is_framed else likeness

    def _sum_vectors(self, words: Iterable[str]) -> Any:
        """The direction of some words together."""
        total = sum(self._vectors[word] for word in words)
        return total / max(float(total @ total) ** 0.5, _TINY)

    def _encode_missing(self, texts: Iterable[str]) -> None:
        """Has the vectors of these texts at hand, encoding in one batch those that are not."""
        wanted = list(dict.fromkeys(texts))
        missing = [text for text in wanted if text not in self._vectors]
        if not missing:
            return
        if len(self._vectors) + len(missing) > MOST_KEPT:
            self._vectors, missing = {}, wanted
        self._vectors.update(zip(missing, encode_texts(missing), strict=True))


_TINY: Final = 1e-9
_BELOW: Final = THRESHOLD * 0.99


def _compute_differences(one: str, other: str) -> _Differences | None:
    first, second = parse_phrase(one), parse_phrase(other)
    if is_cross_language(first, second):
        return None
    return _Differences(
        _split_words(find_unshared_pieces(first, second)),
        _split_words(find_unshared_pieces(second, first)),
        compute_term_overlap(first, second),
    )


def _split_words(pieces: Iterable[str]) -> tuple[str, ...]:
    """Words; of a piece without spaces, every two neighbours."""
    return tuple(word for piece in pieces for word in ([piece] if piece.isascii() else _split_pairs(piece)))


def _split_pairs(piece: str) -> list[str]:
    return [piece[index : index + 2] for index in range(max(1, len(piece) - 1))]
