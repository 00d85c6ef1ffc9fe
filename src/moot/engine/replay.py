"""Replay: folds a ledger again without participants, and compares every computed fact with its rulebook."""

from dataclasses import dataclass
from hashlib import sha256

from pydantic import TypeAdapter

from moot.domain.effects import Ask, Record
from moot.domain.facts import CORE_KINDS, AsksPut, Entry, Fact, Opened, Reply
from moot.domain.ids import SessionId
from moot.domain.records import StoredRecord
from moot.engine.snapshot import RecordWriter, Snapshot
from moot.errors import ReplayDiffers

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
    snapshot = writer.load(session, records[:1])
    answers = computed = 0
    for record in records[1:]:
        entry = writer.validate_record(snapshot, record)
        if isinstance(entry.fact, Reply):
            answers += 1
        elif isinstance(entry.fact, AsksPut):
            _check_asks(snapshot, entry, entry.fact)
        # Core facts come from outside of the rulebook (answers, time, users), so that there is nothing to derive them from.
        elif not isinstance(entry.fact, _CORE):
            _check_computed(snapshot, entry)
            computed += 1
        snapshot = snapshot.apply_entry(entry, record.hash)
    return ReplayResult(snapshot, len(records), answers, computed, state_digest(snapshot))


def state_digest(snapshot: Snapshot) -> str:
    """Return a fingerprint of a protocol's state."""
    return sha256(TypeAdapter(type(snapshot.state)).dump_json(snapshot.state)).hexdigest()


def _check_computed(snapshot: Snapshot, entry: Entry) -> None:
    derived: list[Fact] = [effect.fact for effect in snapshot.rules.decide(snapshot.state) if isinstance(effect, Record)]
    # A decision may return several facts: after the first one is applied, the others are derived again.
    if isinstance(entry.fact, Opened) or entry.fact not in derived:
        raise ReplayDiffers(
            f"session {snapshot.session!r}, entry {entry.seq}: the rulebook would have recorded "
            f"{derived[0] if derived else 'nothing'} here, the ledger has {entry.fact}"
        )


def _check_asks(snapshot: Snapshot, entry: Entry, put: AsksPut) -> None:
    asked = {effect.id for effect in snapshot.rules.decide(snapshot.state) if isinstance(effect, Ask)}
    unasked = set(put.asks) - asked
    if unasked:
        raise ReplayDiffers(
            f"session {snapshot.session!r}, entry {entry.seq}: the rulebook would not have asked {min(unasked)!r} here"
        )
