"""Replay: folds a ledger again without participants, and compares every computed fact with its rulebook."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from pydantic import TypeAdapter

from moothall.domain.effects import Ask, Record
from moothall.domain.facts import CORE_KINDS, AsksSent, Entry, Fact, Opened, Reply
from moothall.domain.ids import SessionId
from moothall.domain.records import StoredRecord
from moothall.engine.snapshot import RecordWriter, Snapshot
from moothall.errors import ReplayDiffers

_CORE = tuple(CORE_KINDS.values())


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The result of a replay. `computed` counts the facts that were derived again and were equal."""

    snapshot: Snapshot
    entries: int
    answers: int
    computed: int
    digest: str


def replay_records(writer: RecordWriter, session: SessionId, records: list[StoredRecord]) -> ReplayResult:
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
                snapshot = self._writer.load(self._session, [record])
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
        digest = sha256(TypeAdapter(type(state)).dump_json(state)).hexdigest()
        return ReplayResult(self._snapshot, self._snapshot.seq, self._answers, self._computed, digest)


def _check_computed(snapshot: Snapshot, entry: Entry) -> None:
    derived: list[Fact] = [effect.fact for effect in snapshot.rules.decide(snapshot.state) if isinstance(effect, Record)]
    # A decision may return several facts: after the first one is applied, the others are derived again.
    if isinstance(entry.fact, Opened) or entry.fact not in derived:
        raise ReplayDiffers(
            f"session {snapshot.session!r}, entry {entry.seq}: the rulebook would have recorded "
            f"{derived[0] if derived else 'nothing'} here, the ledger has {entry.fact}"
        )


def _check_asks(snapshot: Snapshot, entry: Entry, put: AsksSent) -> None:
    asked = {effect.id for effect in snapshot.rules.decide(snapshot.state) if isinstance(effect, Ask)}
    unasked = set(put.asks) - asked
    if unasked:
        raise ReplayDiffers(
            f"session {snapshot.session!r}, entry {entry.seq}: the rulebook would not have asked {min(unasked)!r} here"
        )
