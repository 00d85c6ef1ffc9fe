"""The similarity port: how similar two texts are in meaning."""

from collections.abc import Sequence
from typing import Protocol


class Similarity(Protocol):
    def likeness(self, one: str, others: Sequence[str]) -> list[float]:
        """Return the similarity of `one` to each of `others`: 0 unrelated, 1 identical."""
        ...
