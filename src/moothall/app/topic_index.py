"""Finds topics by words and by meaning. It grows with what is added, so that each further search costs the search alone."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from moothall.domain.topic import validate_topic
from moothall.memory.decision_search import MAX_ENCODED
from moothall.memory.search import Document, SearchIndex, strip_question
from moothall.participants.semantic_similarity import build_meaning_index


class TopicIndex:
    """The topics of sessions or decisions, each under a name, with a text that also counts."""

    def __init__(self, vectors: Path | None) -> None:
        self._names: list[str] = []
        self._known: set[str] = set()
        self._words = SearchIndex()
        self._meaning = build_meaning_index(vectors)
        self._lock = asyncio.Lock()

    async def rank(self, query: str, texts: Mapping[str, tuple[str, str]]) -> list[str]:
        """Return the names whose topic and text fit a query, the best first; what is new of them is added.

        The topic and the text of a name never change. What was added once and is not among the names now is left out.
        """
        topic = validate_topic(query)
        async with self._lock:
            added = [name for name in texts if name not in self._known]
            if added:
                # On a thread: thousands of topics take a second.
                await asyncio.to_thread(self._add, added, texts)
            likeness = await self._measure(query, texts)
            allowed = self._list_allowed(texts)
            ranking = await asyncio.to_thread(
                self._words.rank_by_query, topic, len(texts), allowed.__contains__, likeness
            )
        return [self._names[number] for number, _ in ranking.ranked]

    def _add(self, names: Sequence[str], texts: Mapping[str, tuple[str, str]]) -> None:
        for name in names:
            topic, text = texts[name]
            self._words.add_document(Document(topic=topic, text=text))
            self._names.append(name)
        self._known.update(names)
        if self._meaning is not None:
            self._meaning.add_texts([strip_question(texts[name][0]) for name in names])

    def _list_allowed(self, names: Collection[str]) -> set[int]:
        return {number for number, name in enumerate(self._names) if name in names}

    async def _measure(self, query: str, names: Collection[str]) -> Sequence[float]:
        """Return how alike the topics are to the query; nothing without the extra for search by meaning."""
        if self._meaning is None or not names:
            return ()
        return await asyncio.to_thread(self._meaning.measure, strip_question(query), MAX_ENCODED)
