"""The snapshot of a session (shared state, protocol state, hash), and the records that lead from one snapshot to the next."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, NamedTuple

from moot.codec.chain import compute_record_hash, compute_root_hash, decode_entry, seal, to_datetime
from moot.codec.stored import FactCodec
from moot.domain.effects import Ask, Brief
from moot.domain.facts import Entry, Fact, Opened
from moot.domain.ids import SessionId
from moot.domain.records import StoredRecord
from moot.domain.rulebook import Rulebook
from moot.domain.session_state import SessionState, apply, build_session_state
from moot.errors import LedgerDamaged, UnknownProtocol
from moot.reports.background import add_background
from moot.reports.precedents import add_precedents

AnyRulebook = Rulebook[Any]
Wrap = Callable[[Opened, AnyRulebook], AnyRulebook]
"""Wraps a protocol's rulebook into the one that a session runs by."""


def use_own_rules(opened: Opened, rules: AnyRulebook) -> AnyRulebook:
    """Use the protocol's rulebook unchanged."""
    return rules


class Snapshot(NamedTuple):
    """An immutable snapshot of a session: after a lost append race the previous one is simply kept."""

    session: SessionId
    rules: AnyRulebook
    session_state: SessionState
    state: Any
    hash: bytes

    @property
    def seq(self) -> int:
        return self.session_state.seq

    @property
    def is_closed(self) -> bool:
        return self.session_state.closed is not None

    def build_brief(self, ask: Ask) -> Brief:
        """Return what the seat of an ask receives: the rulebook's brief, what memory told this session at its opening, and the
        background that its question came with.
        """
        subject = self.session_state.opened.subject
        return add_background(add_precedents(self.rules.brief(self.state, ask), subject.precedents), subject.background)

    def apply_entry(self, entry: Entry, digest: bytes) -> "Snapshot":
        """Return the snapshot after one more entry."""
        state = self.rules.evolve(self.state, entry)
        return Snapshot(self.session, self.rules, apply(self.session_state, entry), state, digest)


class WrittenEntry(NamedTuple):
    """An entry and the record that stores it."""

    entry: Entry
    record: StoredRecord


class RecordWriter:
    """Turns facts into hash-chained records, and records into snapshots."""

    def __init__(self, codec: FactCodec, rulebooks: Iterable[AnyRulebook], wrap: Wrap = use_own_rules) -> None:
        self._codec = codec
        self._wrap = wrap
        self._rules: dict[type[Fact], AnyRulebook] = {
            fact: rules for rules in rulebooks for fact in rules.kinds.values() if issubclass(fact, Opened)
        }

    def rules_for(self, opened: Opened) -> AnyRulebook:
        """Return the rulebook of the protocol whose sessions begin with this kind of fact; raises UnknownProtocol."""
        rules = self._rules.get(type(opened))
        if rules is None:
            raise UnknownProtocol(f"no protocol opens sessions with a {type(opened).__name__}")
        return self._wrap(opened, rules)

    def write_opening(self, session: SessionId, opened: Opened, at: datetime) -> tuple[Snapshot, WrittenEntry]:
        """Return the first snapshot of a new session and its record."""
        record = seal(self._codec, compute_root_hash(session), 1, at, opened)
        return self._build_first_snapshot(session, record, opened), WrittenEntry(
            Entry(seq=1, at=to_datetime(record.at), fact=opened), record
        )

    def write(self, snapshot: Snapshot, at: datetime, fact: Fact) -> tuple[Snapshot, WrittenEntry]:
        """Return the snapshot and record after one more fact. Time never runs backwards in a ledger."""
        # Processes of several machines may write to one session, and their clocks differ.
        at = max(at, snapshot.session_state.at)
        record = seal(self._codec, snapshot.hash, snapshot.seq + 1, at, fact)
        entry = Entry(seq=record.seq, at=at, fact=fact)
        return snapshot.apply_entry(entry, record.hash), WrittenEntry(entry, record)

    def load(self, session: SessionId, records: list[StoredRecord]) -> Snapshot:
        """Return the snapshot after these records, which begin with the session's first; raises LedgerDamaged."""
        first = records[0]
        if first.seq != 1 or compute_record_hash(compute_root_hash(session), 1, first.at, first.body) != first.hash:
            raise LedgerDamaged(f"session {session!r}: entry 1 was changed after it was written: its hash does not fit")
        opened = self.entry(first).fact
        if not isinstance(opened, Opened):
            raise LedgerDamaged(f"session {session!r} does not begin with an opening")
        return self.apply_records(self._build_first_snapshot(session, first, opened), records[1:])

    def apply_records(self, snapshot: Snapshot, records: Iterable[StoredRecord]) -> Snapshot:
        """Return the snapshot after further records, each validated against the chain; raises LedgerDamaged."""
        for record in records:
            snapshot = snapshot.apply_entry(self.validate_record(snapshot, record), record.hash)
        return snapshot

    def validate_record(self, snapshot: Snapshot, record: StoredRecord) -> Entry:
        """Return the entry of the record that follows the snapshot; raises LedgerDamaged if the number or the hash is wrong."""
        if record.seq != snapshot.seq + 1:
            raise LedgerDamaged(f"session {snapshot.session!r}: entry {snapshot.seq + 1} is missing")
        if compute_record_hash(snapshot.hash, record.seq, record.at, record.body) != record.hash:
            raise LedgerDamaged(
                f"session {snapshot.session!r}: entry {record.seq} was changed after it was written: its hash does not fit"
            )
        return self.entry(record)

    def check(self, fact: Fact) -> None:
        """Raise BadAnswer if a fact could not be decoded again."""
        self._codec.check(fact)

    def entry(self, record: StoredRecord) -> Entry:
        return decode_entry(self._codec, record)

    def _build_first_snapshot(self, session: SessionId, record: StoredRecord, opened: Opened) -> Snapshot:
        rules = self.rules_for(opened)
        entry = Entry(seq=1, at=to_datetime(record.at), fact=opened)
        return Snapshot(session, rules, build_session_state(entry, opened), rules.initial(opened), record.hash)
