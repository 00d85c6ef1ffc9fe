"""Holds the corpus in a memory, asks every query, and times search over many decisions."""

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.search.corpus import DECISIONS, HELD_OUT, QUERIES, CorpusQuery
from moothall.app.resources import SystemClock
from moothall.ledgers.memory import MemoryLedger
from moothall.memory.decision_memory import DecisionMemory
from moothall.memory.facts import DecisionRecorded
from moothall.participants.semantic_similarity import VectorIndex, build_meaning_index
from moothall.ports.participant import MeaningIndex

FIRST: Final = 3
"""A decision counts as found among this many."""
_AT: Final = datetime(2026, 1, 1, tzinfo=UTC)


async def build_memory(meaning: MeaningIndex | None) -> DecisionMemory:
    """Return a memory that holds the corpus."""
    memory = DecisionMemory(MemoryLedger(), SystemClock(), meaning)
    for each in DECISIONS:
        fact = DecisionRecorded(
            session=each.key,
            protocol="debate",
            topic=each.topic,
            text=each.decided,
            opened_at=_AT,
            closed_at=_AT,
        )
        await memory.keep(fact)
    return memory


async def list_missed(
    memory: DecisionMemory, queries: Sequence[CorpusQuery] = QUERIES
) -> list[CorpusQuery]:
    """Return the queries whose decision is not among the first three hits."""
    return [
        query
        for query in queries
        if query.key not in [hit.decision for hit in await memory.search(query.text, limit=FIRST)]
    ]


async def report_search(decisions: int) -> list[str]:
    """Return the shares that are found, by kind of query, with and without the encoder, and the times."""
    lines = [f"{'found in the first 3':<24}{'queries':>8}{'words':>8}{'meaning':>9}"]
    memories = [await build_memory(None), await build_memory(build_meaning_index(None))]
    for kind, queries in (*_group_queries(QUERIES), ("all", QUERIES), ("held out", HELD_OUT)):
        found = [len(queries) - len(await list_missed(memory, queries)) for memory in memories]
        lines.append(f"{kind:<24}{len(queries):>8}{found[0]:>8}{found[1]:>9}")
    return [*lines, *await asyncio.to_thread(_report_times, decisions)]


def _group_queries(queries: Sequence[CorpusQuery]) -> list[tuple[str, list[CorpusQuery]]]:
    kinds = dict.fromkeys(query.kind for query in queries)
    return [(kind, [query for query in queries if query.kind == kind]) for kind in kinds]


def _report_times(decisions: int) -> list[str]:
    texts = [
        f"{each.topic} ({number})"
        for number in range(-(-decisions // len(DECISIONS)))
        for each in DECISIONS
    ][:decisions]
    lines = [f"{decisions:,} decisions by meaning"]
    with TemporaryDirectory() as folder:
        for what in (
            "first search, encoding all",
            "first search of a process",
            "every further search",
        ):
            if what != "every further search":
                index = VectorIndex(Path(folder) / "vectors.bin")
                index.add_texts(texts)
            began = time.perf_counter()
            index.measure("which database for invoices", decisions)
            lines.append(f"  {what:<30}{time.perf_counter() - began:>9.3f} s")
    return lines
