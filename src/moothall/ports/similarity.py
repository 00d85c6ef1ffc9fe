"""The similarity ports: how similar two texts are in meaning."""

from collections.abc import Sequence
from typing import Protocol


class Similarity(Protocol):
    def likeness(self, one: str, others: Sequence[str]) -> list[float]:
        """Return the similarity of `one` to each of `others`: 0 unrelated, 1 identical."""
        ...


class MeaningIndex(Protocol):
    """Texts in the order in which they were added, comparable with a query by meaning."""

    def __len__(self) -> int: ...

    def add_texts(self, texts: Sequence[str]) -> None:
        """Add texts at the end; nothing is computed yet."""
        ...

    def measure(self, query: str, most_new: int) -> Sequence[float]:
        """Return the similarity of the query to each text: 0 unrelated (or not computed yet), 1 identical.

        At most `most_new` texts, the newest first, are computed that were not before. Blocks: call it on a thread.
        """
        ...
