"""A register: an append-only, hash-chained stream of facts that belong to no session, and the state that they fold to.

Registers are in the same ledger as sessions, under names that no session can have. There is no lock between processes: two
writers race for the next number, and the second one reads the new entries and chooses again.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final, Generic, NamedTuple, TypeVar

from moothall.codec.chain import (
    HEADS,
    check_follows,
    compute_root_hash,
    decode_entry,
    seal,
    to_datetime,
)
from moothall.codec.stored import FactCodec
from moothall.domain.facts import Entry, Fact
from moothall.domain.ids import SessionId
from moothall.domain.records import (
    HEAD_KINDS,
    LABELS,
    HeadsRegistered,
    HeadsSigned,
    RegisteredHead,
    SessionsArchived,
    SessionsReturned,
    StoredRecord,
)
from moothall.domain.replace import dataclass
from moothall.errors import BadName, SeqConflict
from moothall.memory.facts import LABEL_KINDS, SessionLabelled
from moothall.ports.ledger import Clock, Ledger

S = TypeVar("S")

PAGE: Final = 1_000
"""How many records are read at once, so that folding them does not block the event loop for long."""


class RegisterPosition(NamedTuple):
    """The last entry that a state contains: its number, its time and its hash."""

    seq: int
    at: int
    hash: bytes


class Register(Generic[S]):
    """One register; each of its records is folded once.

    Only records in the ledger are folded, so `evolve` may change the state in place; `initial` then belongs to the register
    alone, and callers must read the state before their next await.
    """

    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        name: str,
        *,
        kinds: Mapping[str, type[Fact]],
        initial: S,
        evolve: Callable[[S, Entry], S],
    ) -> None:
        if not name.startswith("_"):
            raise BadName(
                f"register {name!r} must begin with '_', so that no session can have its name"
            )
        self._ledger = ledger
        self._clock = clock
        self._name = SessionId(name)
        self._codec = FactCodec(kinds)
        self._state = initial
        self._evolve = evolve
        self._seq = 0
        self._at = 0
        self._hash = compute_root_hash(self._name)
        self._lock = asyncio.Lock()

    async def state(self) -> S:
        """Return the state after all appended records, from any process; raises LedgerDamaged."""
        async with self._lock:
            await self._read_new_records()
            return self._state

    async def load_last(self, count: int) -> list[Entry]:
        """Return the last entries, the oldest of them first."""
        await self.state()
        records = await self._ledger.read(self._name, max(0, self._seq - count), count)
        return [decode_entry(self._codec, record) for record in records]

    @property
    def position(self) -> "RegisterPosition":
        """Where the state stands in the ledger."""
        return RegisterPosition(self._seq, self._at, self._hash)

    async def resume(self, state: S, position: "RegisterPosition") -> bool:
        """Go on from a state that was stored with its position; False, and nothing is changed, if the ledger does not fit it."""
        async with self._lock:
            records = await self._ledger.read(self._name, position.seq - 1, 1)
            if not records or (records[0].at, records[0].hash) != (position.at, position.hash):
                return False
            self._state, (self._seq, self._at, self._hash) = state, position
            return True

    async def append(self, choose: Callable[[S], Sequence[Fact]]) -> S:
        """Append the facts that `choose` returns for the newest state, all or none; returns the state after them.

        `choose` may be called several times: after every lost race it is called again. An exception that it raises ends the call.
        """
        async with self._lock:
            while True:
                await self._read_new_records()
                facts = choose(self._state)
                if not facts:
                    return self._state
                records = self._seal_facts(facts)
                try:
                    await self._ledger.append(self._name, records)
                except SeqConflict:
                    continue
                for record, fact in zip(records, facts, strict=True):
                    self._fold(record, Entry(record.seq, to_datetime(record.at), fact))
                return self._state

    def _seal_facts(self, facts: Sequence[Fact]) -> list[StoredRecord]:
        """Build the records that follow the last one. Time never runs backwards in a register."""
        at = max(self._clock.now(), to_datetime(self._at))
        before, records = self._hash, list[StoredRecord]()
        for seq, fact in enumerate(facts, self._seq + 1):
            # All facts are checked before anything is appended: a register must stay readable forever.
            self._codec.check(fact)
            records.append(seal(self._codec, before, seq, at, fact))
            before = records[-1].hash
        return records

    def check_fact(self, fact: Fact) -> None:
        """Raise what `append` would raise for a fact that cannot be stored."""
        self._codec.check(fact)

    async def _read_new_records(self) -> None:
        while True:
            records = await self._ledger.read(self._name, self._seq, PAGE)
            for record in records:
                check_follows(f"register {self._name!r}", self._seq, self._hash, record)
                self._fold(record, decode_entry(self._codec, record))
            if len(records) < PAGE:
                return
            # A ledger that answers without waiting would block all other tasks until the last page.
            await asyncio.sleep(0)

    def _fold(self, record: StoredRecord, entry: Entry) -> None:
        self._state = self._evolve(self._state, entry)
        self._seq, self._at, self._hash = record.seq, record.at, record.hash


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedSession:
    """Where a session went, and with which last entry."""

    file: str
    at: datetime
    head: RegisteredHead


class HeadBook:
    """The fold of the register of heads; only `evolve_heads` changes it, in place.

    `heads` is the furthest head of each session, `signed` the newest document of signed heads.
    """

    def __init__(self) -> None:
        self.heads: dict[SessionId, RegisteredHead] = {}
        self.archived: dict[SessionId, ArchivedSession] = {}
        self.signed = ""
        self.entries = 0


def evolve_heads(book: HeadBook, entry: Entry) -> HeadBook:
    """Apply one more entry and return the same book."""
    book.entries = entry.seq
    match entry.fact:
        case HeadsRegistered(heads=heads):
            for head in heads:
                # Processes register what each has written: one that comes late may name an earlier entry.
                if head.session not in book.heads or book.heads[head.session].seq <= head.seq:
                    book.heads[head.session] = head
        case SessionsArchived(file=file, heads=heads):
            for head in heads:
                book.archived[head.session] = ArchivedSession(file=file, at=entry.at, head=head)
        case SessionsReturned(sessions=sessions):
            for session in sessions:
                book.archived.pop(session, None)
        case HeadsSigned(document=document):
            book.signed = document
    return book


def open_head_register(
    ledger: Ledger, clock: Clock, book: HeadBook | None = None
) -> Register[HeadBook]:
    """The register of heads of a ledger, folded into `book` if one is given."""
    return Register(
        ledger, clock, HEADS, kinds=HEAD_KINDS, initial=book or HeadBook(), evolve=evolve_heads
    )


async def register_heads(ledger: Ledger, clock: Clock) -> HeadBook:
    """Register every head that the register does not have yet: what a killed process left out. Returns what it says then."""
    heads = [
        RegisteredHead(head.session, head.last.seq, head.last.hash.hex())
        for head in await ledger.heads()
    ]

    def choose(book: HeadBook) -> list[HeadsRegistered]:
        missing = [
            head
            for head in heads
            if head.session not in book.heads or book.heads[head.session].seq < head.seq
        ]
        return [HeadsRegistered(heads=tuple(missing))] if missing else []

    return await open_head_register(ledger, clock).append(choose)


def explain_archived(session: str, archived: ArchivedSession) -> str:
    """Say where a session is, and how to read it."""
    return (
        f"session {session!r} was archived on {archived.at:%Y-%m-%d} in {archived.file}; read it there: "
        f"MOOT_LEDGER={archived.file} moot show {session}, or bring it back: moot ledger archive --back {archived.file} {session}"
    )


class SessionLabel(NamedTuple):
    """What was said of a session; without `tags` it has those that it was opened with."""

    tags: tuple[str, ...] | None = None
    is_away: bool = False


LabelBook = dict[str, SessionLabel]


def open_label_register(ledger: Ledger, clock: Clock) -> Register[LabelBook]:
    return Register(ledger, clock, LABELS, kinds=LABEL_KINDS, initial={}, evolve=evolve_labels)


def evolve_labels(book: LabelBook, entry: Entry) -> LabelBook:
    """Return the book after one more entry, which may be this one."""
    if isinstance(fact := entry.fact, SessionLabelled):
        known = book.get(fact.session, SessionLabel())
        tags, is_away = (
            known.tags if fact.tags is None else fact.tags,
            known.is_away if fact.is_away is None else fact.is_away,
        )
        book[fact.session] = SessionLabel(tags, is_away)
    return book
