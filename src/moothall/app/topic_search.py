"""Searches topics by words and by meaning."""

import asyncio
from collections.abc import Mapping, Sequence

from moothall.app.environment import VECTORS, resolve_search_file
from moothall.domain.topic import validate_topic
from moothall.memory.decision_search import MAX_ENCODED
from moothall.memory.search import Document, SearchIndex
from moothall.memory.tokenize import strip_question
from moothall.participants.meaning_index import build_meaning_index


async def search_topics(environ: Mapping[str, str], query: str, texts: Mapping[str, tuple[str, str]]) -> list[str]:
    """Return the names whose topic and text fit a query, the best first."""
    index, meaning = SearchIndex(), build_meaning_index(resolve_search_file(environ, VECTORS))
    for name, (topic, text) in texts.items():
        index.add_document(Document(decision=name, topic=topic, text=text))
    # Without the extra for search by meaning, words alone decide.
    likeness: Sequence[float] = ()
    if meaning is not None and texts:
        meaning.add_texts([strip_question(topic) for topic, _ in texts.values()])
        likeness = await asyncio.to_thread(meaning.measure, strip_question(query), MAX_ENCODED)
    return [hit.decision for hit in index.search(validate_topic(query), len(texts), lambda _: True, likeness)]
