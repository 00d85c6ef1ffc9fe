"""Search over decisions: the index is a fold of its own over the register `_memory`, and is cached in a file.

A new process goes on from the file and reads only what was decided since. It does not fold the rest of memory: of the decisions
that match, their entries alone are read.
"""

import asyncio
import json
import sys
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from moothall.codec.chain import decode_entry
from moothall.codec.stored import FactCodec, read_texts
from moothall.disk.private import make_private_folder, replace_atomically
from moothall.domain.facts import Entry
from moothall.domain.ids import SessionId
from moothall.domain.topic import normalize_label
from moothall.memory.facts import MEMORY_KINDS, DecisionRecorded, SoloDecided
from moothall.memory.register import Register, RegisterPosition
from moothall.memory.remembered_decision import (
    build_solo_record,
    find_recorded_stand_in,
    is_decision,
    is_precedent,
)
from moothall.memory.search import (
    Document,
    IndexDump,
    Ranking,
    SearchHit,
    SearchIndex,
    build_hit,
    strip_question,
)
from moothall.ports.ledger import Clock, Ledger
from moothall.ports.participant import MeaningIndex

# The number changes with what splits texts into terms and weighs them. Postings are kept as the machine holds them.
MAGIC: Final = f"moot search index 3 {sys.byteorder}\n".encode()
DIGEST_BYTES: Final = 32
LENGTH_BYTES: Final = 8
NAME: Final = SessionId("_memory")
BATCH: Final = 100
"""How many decisions are indexed before other tasks may run."""
MAX_ENCODED, MAX_ENCODED_AT_OPENING = 200, 50
"""How many decisions get their vectors in one search, and while a session is opened: ten to twenty milliseconds each, once."""
_DECIDED: Final = ("text", "choice")
_ARGUED: Final = ("options", "dissent", "open_questions", "tags", "category", "search_text")
MIN_UNSTORED: Final = 50
"""How many decisions the file may lack, and one in twenty: to index these takes no longer than to write the file."""


class IndexedDecision(NamedTuple):
    """A decision in the index: the entry of the register that holds it, and what a search needs of it."""

    decision: str
    seq: int
    topic: str
    category: str
    is_decision: bool
    is_precedent: bool


class DecisionIndex:
    """The decisions in the order of their recording, and the index of their texts."""

    def __init__(self) -> None:
        self.decisions: list[IndexedDecision] = []
        self.names: set[str] = set()
        self.texts = SearchIndex()
        # Read, and not yet indexed.
        self.waiting: list[DecisionRecorded] = []

    def index_in_batches(self) -> Iterator[None]:
        """Index what was read, one batch per step."""
        while self.waiting:
            for record in self.waiting[:BATCH]:
                self.texts.add_document(build_document(record))
            del self.waiting[:BATCH]
            yield


def write_index(path: Path, index: DecisionIndex, position: RegisterPosition) -> None:
    """Replace the file by an index and where it stands in the register; if that fails, the old one stays."""
    dump = index.texts.dump()
    place = [position.seq, position.at, position.hash.hex()]
    parts = {"lengths": dump.lengths, "terms": dump.terms, "counts": dump.counts}
    head = json.dumps({"position": place, "decisions": index.decisions, **parts}).encode()
    body = len(head).to_bytes(LENGTH_BYTES, "big") + head + dump.postings.tobytes()
    with suppress(OSError):
        make_private_folder(path.parent)
        with replace_atomically(path, mode=0o600) as file:
            file.buffer.write(MAGIC + sha256(body).digest() + body)


def read_index(path: Path) -> tuple[DecisionIndex, RegisterPosition] | None:
    """Return the index in a file and where it stands in the register; None if there is none that can be read."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    start = len(MAGIC) + DIGEST_BYTES
    body = content[start:]
    if not content.startswith(MAGIC) or sha256(body).digest() != content[len(MAGIC) : start]:
        return None
    end = LENGTH_BYTES + int.from_bytes(body[:LENGTH_BYTES], "big")
    head: dict[str, Any] = json.loads(body[LENGTH_BYTES:end])
    seq, at, digest = head.pop("position")
    index = DecisionIndex()
    index.decisions = [IndexedDecision(*each) for each in head.pop("decisions")]
    index.names = {each.decision for each in index.decisions}
    index.texts = SearchIndex.restore(
        IndexDump(**head, postings=array("Q", body[end:])), len(index.decisions)
    )
    return index, RegisterPosition(seq, at, bytes.fromhex(digest))


class DecisionSearch:
    """Searches the decisions of one ledger. `path` is the file that keeps the index; None keeps it in this process alone."""

    def __init__(
        self, ledger: Ledger, clock: Clock, meaning: MeaningIndex | None, path: Path | None
    ) -> None:
        self._ledger = ledger
        self._meaning = meaning
        self._path = path
        self._codec = FactCodec(MEMORY_KINDS)
        self._register = Register(
            ledger, clock, NAME, kinds=MEMORY_KINDS, initial=DecisionIndex(), evolve=_add_entry
        )
        self._lock = asyncio.Lock()
        self._stored_count = 0
        self._is_resumed = False

    async def search(self, query: str, limit: int, category: str | None) -> list[SearchHit]:
        """Return the decisions that match the query by words or by meaning, best first."""
        index = await self._load()
        likeness = await self._measure_likeness(index, query, MAX_ENCODED)
        allowed = _build_filter(index, category)
        ranking = index.texts.rank_by_query(query, limit, allowed, likeness)
        return await self._build_hits(index, ranking)

    async def find_similar(
        self, topic: str, limit: int, category: str | None, among: Collection[str] | None = None
    ) -> list[SearchHit]:
        """Return earlier decisions on a similar topic, best first; with `among` of these alone."""
        index = await self._load()
        likeness = await self._measure_likeness(index, topic, MAX_ENCODED_AT_OPENING)
        allowed = _build_filter(index, category, only_precedents=True, among=among)
        ranking = index.texts.rank_by_topic(topic, limit, allowed, likeness)
        return await self._build_hits(index, ranking, is_short=True)

    async def read_record(self, seq: int) -> DecisionRecorded:
        """Return the whole record of a decision, which is in this entry of the register."""
        (record,) = await self._ledger.read(NAME, seq - 1, 1)
        fact = _find_record(decode_entry(self._codec, record))
        assert fact is not None
        return fact

    async def _read_document(self, indexed: IndexedDecision) -> Document:
        """Return what is searched of a decision from its stored texts: to build the decoder of all else takes half a search."""
        (record,) = await self._ledger.read(NAME, indexed.seq - 1, 1)
        texts = read_texts(record.body)
        return _join_texts(indexed.decision, lambda name: texts.get(name, ()))

    async def _load(self) -> DecisionIndex:
        # One at a time: two that index the same decisions would have each twice.
        async with self._lock:
            if not self._is_resumed:
                stored = (
                    None if self._path is None else await asyncio.to_thread(read_index, self._path)
                )
                if stored is not None and await self._register.resume(*stored):
                    self._stored_count = len(stored[0].decisions)
                self._is_resumed = True
            index = await self._register.state()
            # Other tasks may run while a long index is built.
            for _ in index.index_in_batches():
                await asyncio.sleep(0)
            if self._path is not None and len(index.decisions) - self._stored_count >= max(
                MIN_UNSTORED, len(index.decisions) // 20
            ):
                self._stored_count = len(index.decisions)
                await asyncio.to_thread(write_index, self._path, index, self._register.position)
            return index

    async def _measure_likeness(
        self, index: DecisionIndex, query: str, most_new: int
    ) -> Sequence[float]:
        """Return the likeness of a query's meaning to the topic of each decision, in order; empty without an encoder."""
        if self._meaning is None or not index.decisions:
            return ()
        self._meaning.add_texts(
            [strip_question(each.topic) for each in index.decisions[len(self._meaning) :]]
        )
        return await asyncio.to_thread(self._meaning.measure, strip_question(query), most_new)

    async def _build_hits(
        self, index: DecisionIndex, ranking: Ranking, *, is_short: bool = False
    ) -> list[SearchHit]:
        hits = []
        for number, score in ranking.ranked:
            document = await self._read_document(index.decisions[number])
            hits.append(
                build_hit(
                    replace(document, text="") if is_short else document, score, ranking.terms
                )
            )
        return hits


def build_document(record: DecisionRecorded) -> Document:
    def list_texts(name: str) -> Sequence[str]:
        value: str | Sequence[str] | None = getattr(record, name)
        return (value,) if isinstance(value, str) else value or ()

    return _join_texts(record.session, list_texts)


def _join_texts(decision: str, get_texts: Callable[[str], Sequence[str]]) -> Document:
    """Build the document of a decision from the texts that each of its fields has; a solo decision has fewer."""

    def list_texts(names: Iterable[str]) -> list[str]:
        texts: list[str] = []
        for name in names:
            texts += filter(None, get_texts(name))
        return texts

    return Document(
        decision=decision,
        topic="".join(list_texts(("topic",))),
        decided=" ".join(list_texts(_DECIDED)),
        text="\n".join(list_texts(_ARGUED)),
    )


def _add_entry(index: DecisionIndex, entry: Entry) -> DecisionIndex:
    record = _find_record(entry)
    if record is not None and record.session not in index.names:
        stand_in = find_recorded_stand_in(record)
        index.decisions.append(
            IndexedDecision(
                decision=record.session,
                seq=entry.seq,
                topic=record.topic,
                category=record.category,
                is_decision=is_decision(record, stand_in),
                is_precedent=is_precedent(record, stand_in),
            )
        )
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


def _build_filter(
    index: DecisionIndex,
    category: str | None,
    *,
    only_precedents: bool = False,
    among: Collection[str] | None = None,
) -> Callable[[int], bool]:
    wanted = None if category is None else normalize_label(category)

    def is_allowed(number: int) -> bool:
        indexed = index.decisions[number]
        if not (indexed.is_precedent if only_precedents else indexed.is_decision):
            return False
        if among is not None and indexed.decision not in among:
            return False
        return wanted is None or normalize_label(indexed.category) == wanted

    return is_allowed
