"""The snapshot of a session (shared state, protocol state, hash), and the records that lead from one snapshot to the next.

Replay folds a ledger again without participants, and compares every computed fact with its rulebook.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from moothall.codec.adapters import get_adapter
from moothall.codec.chain import (
    check_follows,
    compute_record_hash,
    compute_root_hash,
    decode_entry,
    seal,
    to_datetime,
)
from moothall.codec.stored import FactCodec
from moothall.domain.effects import AnswerRules, Ask, Brief, Record, Rulebook
from moothall.domain.facts import CORE_KINDS, AsksSent, Entry, Fact, Opened, Reply
from moothall.domain.ids import SessionId
from moothall.domain.records import StoredRecord
from moothall.domain.replace import dataclass
from moothall.domain.roster import DIRECTOR
from moothall.domain.session_state import SessionState, apply, build_session_state
from moothall.engine.given_texts import FindText, drop_texts, fill_texts
from moothall.errors import LedgerDamaged, ReplayDiffers, UnknownProtocol
from moothall.reports.precedents import add_background
from moothall.reports.stated_facts import format_stated_facts, list_state_facts, select_uses

AnyRulebook = Rulebook[Any]
FindRules = Callable[[Opened], AnyRulebook]
"""Finds the rulebook that a session runs by, from its opening; raises UnknownProtocol."""


def choose_by_opening(rulebooks: Iterable[AnyRulebook]) -> FindRules:
    """Return what finds the one of these rulebooks whose sessions begin with an opening."""
    known: dict[type[Fact], AnyRulebook] = {}
    for rules in rulebooks:
        for fact in rules.kinds.values():
            if issubclass(fact, Opened):
                known[fact] = rules

    def find_rules(opened: Opened) -> AnyRulebook:
        if type(opened) not in known:
            raise UnknownProtocol(f"no protocol opens sessions with a {type(opened).__name__}")
        return known[type(opened)]

    return find_rules


class Snapshot(NamedTuple):
    """An immutable snapshot of a session: after a lost append race the previous one is still valid."""

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
        """Return what the seat of an ask receives: the rulebook's brief, and what this session was given at its opening."""
        opened = self.session_state.opened
        state = self.session_state
        brief = add_background(
            self.rules.brief(self.state, ask),
            opened,
            state.tool_uses.get(ask.id, ()),
            state.looked_up,
            self._format_facts(ask),
        )
        return brief if opened.reading == brief.reading else replace(brief, reading=opened.reading)

    def _format_facts(self, ask: Ask) -> str:
        """Return the facts that seats stated first, for every later ask but those of code and of the judge of answers."""
        table = list_state_facts(self.state)
        if table is None or ask.seat == DIRECTOR.id:
            return ""
        judge = self.state.judge_seat
        if judge is not None and ask.seat == judge.id:
            return ""
        opened, seats = self.session_state.opened, self.session_state.seats
        uses = select_uses(self.session_state.looked_up)
        return format_stated_facts(opened.language, opened.subject.context, seats, table, uses)

    def build_answer_rules(self, ask: Ask) -> AnswerRules:
        """Return how an answer to an ask is read; only a rulebook without `answer_rules` writes the prompt for that, too."""
        build = getattr(self.rules, "answer_rules", self.rules.brief)
        rules: AnswerRules = build(self.state, ask)
        return replace(rules, reading=self.session_state.opened.reading)

    def apply_entry(self, entry: Entry, digest: bytes) -> "Snapshot":
        state = self.rules.evolve(self.state, entry)
        return Snapshot(self.session, self.rules, apply(self.session_state, entry), state, digest)


class WrittenEntry(NamedTuple):
    entry: Entry
    record: StoredRecord


class RecordWriter:
    """Turns facts into hash-chained records, and records into snapshots."""

    def __init__(
        self,
        codec: FactCodec,
        rulebooks: Iterable[AnyRulebook] | FindRules,
        find_text: FindText = lambda digest: None,
    ) -> None:
        self._codec = codec
        self._find_text = find_text
        self.rules_for: FindRules = (
            rulebooks if callable(rulebooks) else choose_by_opening(rulebooks)
        )

    def write_opening(
        self, session: SessionId, opened: Opened, at: datetime
    ) -> tuple[Snapshot, WrittenEntry]:
        record = seal(self._codec, compute_root_hash(session), 1, at, drop_texts(opened))
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

    def load(self, session: SessionId, first: StoredRecord) -> Snapshot:
        """Return the snapshot after the first record of a session; raises LedgerDamaged when it is not its opening."""
        if (
            first.seq != 1
            or compute_record_hash(compute_root_hash(session), 1, first.at, first.body)
            != first.hash
        ):
            raise LedgerDamaged(
                f"session {session!r}: entry 1 was changed after it was written: its hash does not fit"
            )
        opened = self.entry(first).fact
        if not isinstance(opened, Opened):
            raise LedgerDamaged(f"session {session!r} does not begin with an opening")
        return self._build_first_snapshot(session, first, opened)

    def read_on(
        self, session: SessionId, known: Snapshot | None, records: list[StoredRecord]
    ) -> tuple[Snapshot, list[Entry]]:
        """Return the snapshot after the records that follow `known` (None: from the first on), and their entries.

        Raises LedgerDamaged when one of them does not fit the chain.
        """
        entries = []
        if known is None:
            first, *records = records
            known = self.load(session, first)
            entries.append(Entry(seq=1, at=known.session_state.at, fact=known.session_state.opened))
        for record in records:
            entries.append(self.validate_record(known, record))
            known = known.apply_entry(entries[-1], record.hash)
        return known, entries

    def validate_record(self, snapshot: Snapshot, record: StoredRecord) -> Entry:
        """Return the entry of the record that follows the snapshot; raises LedgerDamaged if the number or the hash is wrong."""
        check_follows(f"session {snapshot.session!r}", snapshot.seq, snapshot.hash, record)
        return self.entry(record)

    def check(self, fact: Fact) -> None:
        """Raise BadAnswer if a fact could not be decoded again."""
        self._codec.check(fact)

    def entry(self, record: StoredRecord) -> Entry:
        entry = decode_entry(self._codec, record)
        return (
            entry._replace(fact=fill_texts(entry.fact, self._find_text))
            if isinstance(entry.fact, Opened)
            else entry
        )

    def _build_first_snapshot(
        self, session: SessionId, record: StoredRecord, opened: Opened
    ) -> Snapshot:
        rules = self.rules_for(opened)
        entry = Entry(seq=1, at=to_datetime(record.at), fact=opened)
        return Snapshot(
            session, rules, build_session_state(entry, opened), rules.initial(opened), record.hash
        )


_CORE = tuple(CORE_KINDS.values())


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The result of a replay. `computed` counts the facts that were derived again and were equal."""

    snapshot: Snapshot
    entries: int
    answers: int
    computed: int
    digest: str


def replay_records(
    writer: RecordWriter, session: SessionId, records: list[StoredRecord]
) -> ReplayResult:
    """Fold the records and derive each computed fact and each ask again; raises ReplayDiffers, LedgerDamaged."""
    replay = Replay(writer, session)
    replay.add(records)
    return replay.finish()


class Replay:
    """A replay that is given the records of a session bit by bit, from the first on."""

    def __init__(self, writer: RecordWriter, session: SessionId) -> None:
        self._writer = writer
        self._session = session
        self._snapshot: Snapshot | None = None
        self._answers = self._computed = 0

    def add(self, records: Sequence[StoredRecord]) -> None:
        """Fold the records that follow; raises ReplayDiffers, LedgerDamaged."""
        snapshot = self._snapshot
        for record in records:
            if snapshot is None:
                snapshot = self._writer.load(self._session, record)
                continue
            entry = self._writer.validate_record(snapshot, record)
            if isinstance(entry.fact, Reply):
                self._answers += 1
            elif isinstance(entry.fact, AsksSent):
                _check_asks(snapshot, entry, entry.fact)
            # Core facts come from outside of the rulebook (answers, time, users): there is nothing to derive them from.
            elif not isinstance(entry.fact, _CORE):
                _check_computed(snapshot, entry)
                self._computed += 1
            snapshot = snapshot.apply_entry(entry, record.hash)
        self._snapshot = snapshot

    def finish(self) -> ReplayResult:
        assert self._snapshot is not None, "a replay begins with the opening"
        state = self._snapshot.state
        digest = sha256(get_adapter(type(state)).dump_json(state)).hexdigest()  # type: ignore[arg-type]  # is hashable
        return ReplayResult(
            self._snapshot, self._snapshot.seq, self._answers, self._computed, digest
        )


def _check_computed(snapshot: Snapshot, entry: Entry) -> None:
    derived: list[Fact] = [
        effect.fact
        for effect in snapshot.rules.decide(snapshot.state)
        if isinstance(effect, Record)
    ]
    # A decision may return several facts: after the first one is applied, the others are derived again.
    if isinstance(entry.fact, Opened) or entry.fact not in derived:
        raise ReplayDiffers(
            f"session {snapshot.session!r}, entry {entry.seq}: the rulebook would have recorded "
            f"{derived[0] if derived else 'nothing'} here, the ledger has {entry.fact}"
        )


def _check_asks(snapshot: Snapshot, entry: Entry, put: AsksSent) -> None:
    asked = {
        effect.id for effect in snapshot.rules.decide(snapshot.state) if isinstance(effect, Ask)
    }
    unasked = set(put.asks) - asked
    if unasked:
        raise ReplayDiffers(
            f"session {snapshot.session!r}, entry {entry.seq}: the rulebook would not have asked {min(unasked)!r} here"
        )
