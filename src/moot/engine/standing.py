"""Where a session stands: desk, protocol state and chain, folded once per entry."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, NamedTuple

from moot.codec.chain import link, moment, opened_entry, root, sealed
from moot.codec.stored import FactCodec
from moot.domain.desk import SessionState, apply, build_session_state
from moot.domain.facts import Entry, Fact, Opened
from moot.domain.ids import SessionId
from moot.domain.records import StoredRecord
from moot.domain.rulebook import Rulebook
from moot.errors import LedgerDamaged, UnknownProtocol

AnyRulebook = Rulebook[Any]
Wrap = Callable[[Opened, AnyRulebook], AnyRulebook]
"""The rulebook that a session is run by, from that of its protocol."""


def unwrapped(opened: Opened, rules: AnyRulebook) -> AnyRulebook:
    """The protocol's own."""
    return rules


class Standing(NamedTuple):
    """An immutable snapshot: a batch that loses a race is forgotten by keeping the one before it."""

    session: SessionId
    rules: AnyRulebook
    desk: SessionState
    state: Any
    hash: bytes

    @property
    def seq(self) -> int:
        return self.desk.seq

    @property
    def is_closed(self) -> bool:
        return self.desk.closed is not None

    def after(self, entry: Entry, digest: bytes) -> "Standing":
        """The standing after one more entry."""
        state = self.rules.evolve(self.state, entry)
        return Standing(self.session, self.rules, apply(self.desk, entry), state, digest)


class Written(NamedTuple):
    """An entry and its record."""

    entry: Entry
    record: StoredRecord


class Scribe:
    """Turns facts into chained records and records into standings."""

    def __init__(self, codec: FactCodec, rulebooks: Iterable[AnyRulebook], wrap: Wrap = unwrapped) -> None:
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

    def opening(self, session: SessionId, opened: Opened, at: datetime) -> tuple[Standing, Written]:
        """The first standing of a new session, and the record that makes it."""
        record = sealed(self._codec, root(session), 1, at, opened)
        return self._begun(session, record, opened), Written(Entry(seq=1, at=moment(record.at), fact=opened), record)

    def write(self, standing: Standing, at: datetime, fact: Fact) -> tuple[Standing, Written]:
        """One more fact. Time never runs backwards in a ledger."""
        at = max(at, standing.desk.at)
        record = sealed(self._codec, standing.hash, standing.seq + 1, at, fact)
        entry = Entry(seq=record.seq, at=at, fact=fact)
        return standing.after(entry, record.hash), Written(entry, record)

    def load(self, session: SessionId, records: list[StoredRecord]) -> Standing:
        """The standing after these records, the session's first among them; raises LedgerDamaged."""
        first = records[0]
        if first.seq != 1 or link(root(session), 1, first.at, first.body) != first.hash:
            raise LedgerDamaged(f"session {session!r}: entry 1 was changed after it was written: its hash does not fit")
        opened = self.entry(first).fact
        if not isinstance(opened, Opened):
            raise LedgerDamaged(f"session {session!r} does not begin with an opening")
        return self.read_on(self._begun(session, first, opened), records[1:])

    def read_on(self, standing: Standing, records: Iterable[StoredRecord]) -> Standing:
        """The standing after these further records, each checked against the chain."""
        for record in records:
            standing = standing.after(self.checked(standing, record), record.hash)
        return standing

    def checked(self, standing: Standing, record: StoredRecord) -> Entry:
        """The entry in a record that follows the standing; raises LedgerDamaged when it does not."""
        if record.seq != standing.seq + 1:
            raise LedgerDamaged(f"session {standing.session!r}: entry {standing.seq + 1} is missing")
        if link(standing.hash, record.seq, record.at, record.body) != record.hash:
            raise LedgerDamaged(
                f"session {standing.session!r}: entry {record.seq} was changed after it was written: its hash does not fit"
            )
        return self.entry(record)

    def check(self, fact: Fact) -> None:
        """Raises BadAnswer when a fact could not be read again."""
        self._codec.check(fact)

    def entry(self, record: StoredRecord) -> Entry:
        return opened_entry(self._codec, record)

    def _begun(self, session: SessionId, record: StoredRecord, opened: Opened) -> Standing:
        rules = self.rules_for(opened)
        entry = Entry(seq=1, at=moment(record.at), fact=opened)
        return Standing(session, rules, build_session_state(entry, opened), rules.initial(opened), record.hash)
