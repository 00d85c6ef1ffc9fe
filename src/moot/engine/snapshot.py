"""Where a session stands: desk, protocol state and chain, folded once per entry."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, NamedTuple

from moot.codec.chain import compute_record_hash, compute_root_hash, decode_entry, seal, to_datetime
from moot.codec.stored import FactCodec
from moot.domain.facts import Entry, Fact, Opened
from moot.domain.ids import SessionId
from moot.domain.records import StoredRecord
from moot.domain.rulebook import Rulebook
from moot.domain.session_state import SessionState, apply, build_session_state
from moot.errors import LedgerDamaged, UnknownProtocol

AnyRulebook = Rulebook[Any]
Wrap = Callable[[Opened, AnyRulebook], AnyRulebook]
"""The rulebook that a session is run by, from that of its protocol."""


def use_own_rules(opened: Opened, rules: AnyRulebook) -> AnyRulebook:
    """The protocol's own."""
    return rules


class Snapshot(NamedTuple):
    """An immutable snapshot: a batch that loses a race is forgotten by keeping the one before it."""

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

    def apply_entry(self, entry: Entry, digest: bytes) -> "Snapshot":
        """The standing after one more entry."""
        state = self.rules.evolve(self.state, entry)
        return Snapshot(self.session, self.rules, apply(self.session_state, entry), state, digest)


class WrittenEntry(NamedTuple):
    """An entry and its record."""

    entry: Entry
    record: StoredRecord


class RecordWriter:
    """Turns facts into chained records and records into standings."""

    def __init__(self, codec: FactCodec, rulebooks: Iterable[AnyRulebook], wrap: Wrap = use_own_rules) -> None:
        self._codec = codec
        self._wrap = wrap
        self._rules: dict[type[Fact], AnyRulebook] = {
            fact: rules for rules in rulebooks for fact in rules.kinds.values() if issubclass(fact, Opened)
        }

    def rules_for(self, opened: Opened) -> AnyRulebook:
        """The rulebook of the protocol that opens its sessions with this kind of fact."""
        rules = self._rules.get(type(opened))
        if rules is None:
            raise UnknownProtocol(f"no protocol opens sessions with a {type(opened).__name__}")
        return self._wrap(opened, rules)

    def write_opening(self, session: SessionId, opened: Opened, at: datetime) -> tuple[Snapshot, WrittenEntry]:
        """The first standing of a new session, and the record that makes it."""
        record = seal(self._codec, compute_root_hash(session), 1, at, opened)
        return self._build_first_snapshot(session, record, opened), WrittenEntry(
            Entry(seq=1, at=to_datetime(record.at), fact=opened), record
        )

    def write(self, snapshot: Snapshot, at: datetime, fact: Fact) -> tuple[Snapshot, WrittenEntry]:
        """One more fact. Time never runs backwards in a ledger."""
        at = max(at, snapshot.session_state.at)
        record = seal(self._codec, snapshot.hash, snapshot.seq + 1, at, fact)
        entry = Entry(seq=record.seq, at=at, fact=fact)
        return snapshot.apply_entry(entry, record.hash), WrittenEntry(entry, record)

    def load(self, session: SessionId, records: list[StoredRecord]) -> Snapshot:
        """The standing after these records, the session's first among them; raises LedgerDamaged."""
        first = records[0]
        if first.seq != 1 or compute_record_hash(compute_root_hash(session), 1, first.at, first.body) != first.hash:
            raise LedgerDamaged(f"session {session!r}: entry 1 was changed after it was written: its hash does not fit")
        opened = self.entry(first).fact
        if not isinstance(opened, Opened):
            raise LedgerDamaged(f"session {session!r} does not begin with an opening")
        return self.apply_records(self._build_first_snapshot(session, first, opened), records[1:])

    def apply_records(self, snapshot: Snapshot, records: Iterable[StoredRecord]) -> Snapshot:
        """The standing after these further records, each checked against the chain."""
        for record in records:
            snapshot = snapshot.apply_entry(self.validate_record(snapshot, record), record.hash)
        return snapshot

    def validate_record(self, snapshot: Snapshot, record: StoredRecord) -> Entry:
        """The entry in a record that follows the standing; raises LedgerDamaged when it does not."""
        if record.seq != snapshot.seq + 1:
            raise LedgerDamaged(f"session {snapshot.session!r}: entry {snapshot.seq + 1} is missing")
        if compute_record_hash(snapshot.hash, record.seq, record.at, record.body) != record.hash:
            raise LedgerDamaged(
                f"session {snapshot.session!r}: entry {record.seq} was changed after it was written: its hash does not fit"
            )
        return self.entry(record)

    def check(self, fact: Fact) -> None:
        """Raises BadAnswer when a fact could not be read again."""
        self._codec.check(fact)

    def entry(self, record: StoredRecord) -> Entry:
        return decode_entry(self._codec, record)

    def _build_first_snapshot(self, session: SessionId, record: StoredRecord, opened: Opened) -> Snapshot:
        rules = self.rules_for(opened)
        entry = Entry(seq=1, at=to_datetime(record.at), fact=opened)
        return Snapshot(session, rules, build_session_state(entry, opened), rules.initial(opened), record.hash)
