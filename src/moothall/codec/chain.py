"""The hash chain: each hash covers its record and the hash before it, so that no record can be changed, moved or removed."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

from moothall.domain.facts import Entry, Fact
from moothall.domain.ids import SessionId
from moothall.domain.records import StoredRecord
from moothall.errors import LedgerDamaged

if TYPE_CHECKING:
    # A list of no sessions decodes nothing: it does without pydantic.
    from moothall.codec.stored import FactCodec

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def compute_root_hash(session: SessionId) -> bytes:
    """Return the hash that a session's first record builds on.

    It contains the id, so a chain cannot pass as another session's.
    """
    return sha256(f"moot/1/{session}".encode()).digest()


def compute_record_hash(before: bytes, seq: int, at: int, body: bytes) -> bytes:
    """Return the hash of a record: SHA-256 over the previous hash, the number, the time and the body."""
    # Fixed widths keep the fields apart without separators. The time is signed: it may lie before 1970.
    return sha256(before + seq.to_bytes(8, "big") + at.to_bytes(8, "big", signed=True) + body).digest()


def to_microseconds(at: datetime) -> int:
    # Integer arithmetic: a float of seconds cannot hold microseconds exactly, and the hash covers every digit.
    return (at - _EPOCH) // _MICROSECOND


def to_datetime(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def seal(codec: "FactCodec", before: bytes, seq: int, at: datetime, fact: Fact) -> StoredRecord:
    """Build the record of a fact that follows the record whose hash is `before`."""
    body = codec.encode(fact)
    stamp = to_microseconds(at)
    return StoredRecord(seq, stamp, body, compute_record_hash(before, seq, stamp, body))


def decode_entry(codec: "FactCodec", record: StoredRecord) -> Entry:
    """Decode the entry of a record without checking its hash."""
    return Entry(seq=record.seq, at=to_datetime(record.at), fact=codec.decode(record.body))


def find_chain_fault(
    session: SessionId, records: Iterable[StoredRecord], after: int = 0, before: bytes | None = None
) -> str | None:
    """Return the first fault in a session's records; None if there is none.

    They begin with the session's first, or follow the entry `after`, whose hash is `before`.
    """
    before, expected = before or compute_root_hash(session), after + 1
    for record in records:
        if record.seq != expected:
            return f"entry {expected} is missing: {record.seq} follows {expected - 1}"
        if compute_record_hash(before, record.seq, record.at, record.body) != record.hash:
            return f"entry {record.seq} was changed after it was written: its hash does not fit"
        before, expected = record.hash, expected + 1
    return None


def validate_chain(
    session: SessionId, records: list[StoredRecord], after: int = 0, before: bytes | None = None
) -> list[StoredRecord]:
    """Return the records if their chain is valid, as `find_chain_fault` takes them; raises LedgerDamaged."""
    fault = find_chain_fault(session, records, after, before)
    if fault is not None:
        raise LedgerDamaged(f"session {session!r}: {fault}")
    return records
