"""The similarity port: how alike two texts are in meaning."""

from collections.abc import Sequence
from typing import Protocol


class Similarity(Protocol):
    def likeness(self, one: str, others: Sequence[str]) -> list[float]:
        """For each of `others` how like it is to `one`: 0 unrelated, 1 the same."""
        ...
