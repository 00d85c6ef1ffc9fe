"""Search over decisions: the index is a fold of its own over the register `_memory`, and is kept in a file.

A new process goes on from the file and reads only what was decided since. It does not fold the rest of memory: of the decisions
that are found, their entries alone are read.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from moothall.codec.chain import decode_entry
from moothall.codec.stored import FactCodec, read_texts
from moothall.domain.facts import Entry
from moothall.domain.ids import SessionId
from moothall.domain.topic import normalize_label
from moothall.memory.facts import MEMORY_KINDS, DecisionRecorded, SoloDecided
from moothall.memory.index_file import KeptIndex, read_index, write_index
from moothall.memory.register import Register
from moothall.memory.remembered_decision import build_solo_record
from moothall.memory.search import Document, Ranking, SearchHit, SearchIndex, build_hit
from moothall.memory.tokenize import strip_question
from moothall.ports.ledger import Clock, Ledger
from moothall.ports.similarity import MeaningIndex

NAME: Final = SessionId("_memory")
BATCH: Final = 100
"""How many decisions are indexed before other tasks may run."""
MAX_ENCODED, MAX_ENCODED_AT_OPENING = 200, 50
"""How many decisions get their vectors in one search, and while a session is opened: ten to twenty milliseconds each, once."""
_DECIDED: Final = ("text", "choice")
_ARGUED: Final = ("options", "dissent", "open_questions", "tags", "category", "search_text")
MIN_KEPT: Final = 50
"""How many decisions the file may lack, and one in twenty: to index these takes no longer than to write the file."""


class IndexedDecision(NamedTuple):
    """A decision in the index: the entry of the register that holds it, and what a search needs of it."""

    decision: str
    seq: int
    topic: str
    category: str


class DecisionIndex:
    """The decisions in the order of their recording, and their indexes: `full`, and `headlines` without what was argued."""

    def __init__(self) -> None:
        self.decisions: list[IndexedDecision] = []
        self.names: set[str] = set()
        self.full = SearchIndex()
        self.headlines = SearchIndex()
        # Read, and not yet indexed.
        self.waiting: list[DecisionRecorded] = []

    def index_in_batches(self) -> Iterator[None]:
        """Index what was read, one batch per step."""
        while self.waiting:
            for record in self.waiting[:BATCH]:
                document = build_document(record)
                self.full.add_terms(document)
                self.headlines.add_terms(replace(document, text=""))
            del self.waiting[:BATCH]
            yield


class DecisionSearch:
    """Searches the decisions of one ledger. `path` is the file that keeps the index; None keeps it in this process alone."""

    def __init__(self, ledger: Ledger, clock: Clock, meaning: MeaningIndex | None, path: Path | None) -> None:
        self._ledger = ledger
        self._meaning = meaning
        self._path = path
        self._codec = FactCodec(MEMORY_KINDS)
        self._register = Register(ledger, clock, NAME, kinds=MEMORY_KINDS, initial=DecisionIndex(), evolve=_add_entry)
        self._lock = asyncio.Lock()
        self._kept = 0
        self._is_resumed = False

    async def search(self, query: str, limit: int, category: str | None) -> list[SearchHit]:
        """Return the decisions that match the query by words or by meaning, best first."""
        index = await self._load()
        likeness = await self._measure_likeness(index, query, MAX_ENCODED)
        ranking = index.full.rank_by_query(query, limit, _build_filter(index, category), likeness)
        return await self._build_hits(index, ranking)

    async def find_similar(self, topic: str, limit: int, category: str | None) -> list[SearchHit]:
        """Return earlier decisions on a similar topic, best first."""
        index = await self._load()
        likeness = await self._measure_likeness(index, topic, MAX_ENCODED_AT_OPENING)
        ranking = index.headlines.rank_by_topic(topic, limit, _build_filter(index, category), likeness)
        return await self._build_hits(index, ranking, is_short=True)

    async def read_record(self, seq: int) -> DecisionRecorded:
        """Return the whole record of a decision, which is in this entry of the register."""
        (record,) = await self._ledger.read(NAME, seq - 1, 1)
        kept = _find_record(decode_entry(self._codec, record))
        assert kept is not None
        return kept

    async def _read_document(self, indexed: IndexedDecision) -> Document:
        """Return what is searched of a decision from its stored texts: to build the decoder of all else takes half a search."""
        (record,) = await self._ledger.read(NAME, indexed.seq - 1, 1)
        texts = read_texts(record.body)
        return _join_texts(indexed.decision, lambda name: texts.get(name, ()))

    async def _load(self) -> DecisionIndex:
        # One at a time: two that index the same decisions would have each twice.
        async with self._lock:
            if not self._is_resumed:
                await self._resume()
                self._is_resumed = True
            index = await self._register.state()
            # Other tasks may run while a long index is built.
            for _ in index.index_in_batches():
                await asyncio.sleep(0)
            if self._path is not None and len(index.decisions) - self._kept >= max(MIN_KEPT, len(index.decisions) // 20):
                self._kept = len(index.decisions)
                await asyncio.to_thread(write_index, self._path, self._dump(index))
            return index

    async def _resume(self) -> None:
        kept = None if self._path is None else await asyncio.to_thread(read_index, self._path)
        if kept is None:
            return
        index = DecisionIndex()
        index.decisions = [IndexedDecision(*each) for each in kept.decisions]
        index.names = {each.decision for each in index.decisions}
        index.full, index.headlines = (SearchIndex.restore(dump, len(index.decisions)) for dump in (kept.full, kept.headlines))
        if await self._register.resume(index, kept.position):
            self._kept = len(index.decisions)

    def _dump(self, index: DecisionIndex) -> KeptIndex:
        return KeptIndex(
            position=self._register.position,
            decisions=list(index.decisions),
            full=index.full.dump(),
            headlines=index.headlines.dump(),
        )

    async def _measure_likeness(self, index: DecisionIndex, query: str, most_new: int) -> Sequence[float]:
        """Return the likeness of a query's meaning to the topic of each decision, in order; empty without an encoder."""
        if self._meaning is None or not index.decisions:
            return ()
        self._meaning.add_texts([strip_question(each.topic) for each in index.decisions[len(self._meaning) :]])
        return await asyncio.to_thread(self._meaning.measure, strip_question(query), most_new)

    async def _build_hits(self, index: DecisionIndex, ranking: Ranking, *, is_short: bool = False) -> list[SearchHit]:
        hits = []
        for number, score in ranking.found:
            document = await self._read_document(index.decisions[number])
            hits.append(build_hit(replace(document, text="") if is_short else document, score, ranking.terms))
        return hits


def build_document(record: DecisionRecorded) -> Document:
    """Build what is searched of a decision."""

    def list_texts(name: str) -> Sequence[str]:
        value: str | Sequence[str] | None = getattr(record, name)
        return (value,) if isinstance(value, str) else value or ()

    return _join_texts(record.session, list_texts)


def _join_texts(decision: str, get_texts: Callable[[str], Sequence[str]]) -> Document:
    """Build the document of a decision from the texts that each of its fields has; a solo decision has fewer."""
    topic, decided, argued = (
        [text for name in names for text in get_texts(name) if text] for names in (("topic",), _DECIDED, _ARGUED)
    )
    return Document(decision=decision, topic="".join(topic), decided=" ".join(decided), text="\n".join(argued))


def _add_entry(index: DecisionIndex, entry: Entry) -> DecisionIndex:
    record = _find_record(entry)
    if record is not None and record.session not in index.names:
        index.decisions.append(IndexedDecision(record.session, entry.seq, record.topic, record.category))
        index.names.add(record.session)
        index.waiting.append(record)
    return index


def _find_record(entry: Entry) -> DecisionRecorded | None:
    match entry.fact:
        case DecisionRecorded() as fact:
            return fact
        case SoloDecided() as fact:
            return build_solo_record(fact, entry.at)
        case _:
            return None


def _build_filter(index: DecisionIndex, category: str | None) -> Callable[[int], bool]:
    if category is None:
        return lambda _: True
    wanted = normalize_label(category)
    return lambda number: normalize_label(index.decisions[number].category) == wanted
