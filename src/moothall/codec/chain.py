"""The hash chain of stored records, the records of the register of heads, and the export of a session as lines of JSON.

Each hash covers its record and the hash before it, so that no record can be changed, moved or removed.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from moothall.domain.facts import Entry, Fact
from moothall.domain.ids import SessionId, parse_session_id
from moothall.domain.records import StoredRecord
from moothall.domain.safe_text import dump_json
from moothall.errors import BadImport, LedgerDamaged

if TYPE_CHECKING:
    # A list of no sessions decodes nothing: it does without pydantic.
    from moothall.codec.stored import FactCodec

_EXPECTED: Final = "expected what `moot export SESSION jsonl` writes"
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
    return sha256(
        before + seq.to_bytes(8, "big") + at.to_bytes(8, "big", signed=True) + body
    ).digest()


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


def check_follows(stream: str, seq: int, before: bytes, record: StoredRecord) -> None:
    """Raise LedgerDamaged if a record does not follow the one with this number and hash; `stream` says where it stands."""
    if record.seq != seq + 1:
        raise LedgerDamaged(f"{stream}: entry {seq + 1} is missing")
    if compute_record_hash(before, record.seq, record.at, record.body) != record.hash:
        raise LedgerDamaged(
            f"{stream}: entry {record.seq} was changed after it was written: its hash does not fit"
        )


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


HEADS: Final = SessionId("_heads")
"""The name of the register."""
MAX_HEADS: Final = 1_000
"""How many heads one record holds at most."""


class ChainEnd(NamedTuple):
    seq: int
    at: int
    hash: bytes


EMPTY_REGISTER: Final = ChainEnd(0, 0, compute_root_hash(HEADS))


class HeadHash(NamedTuple):
    """The number and the hash of a session's last record."""

    seq: int
    hash: bytes


def seal_heads(end: ChainEnd, now: int, heads: Mapping[SessionId, HeadHash]) -> list[StoredRecord]:
    """Build the records that register these heads, behind the register's last one; `now` in microseconds since 1970 UTC.

    They are what `FactCodec` makes of `HeadsRegistered`, without loading it: a ledger writes them within its commits.
    """
    lines = [[session, head.seq, head.hash.hex()] for session, head in heads.items()]
    records: list[StoredRecord] = []
    for start in range(0, len(lines), MAX_HEADS):
        fields = {"fact": "heads.registered", "heads": lines[start : start + MAX_HEADS]}
        body = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()
        # Time never runs backwards in a register.
        seq, at = end.seq + 1, max(end.at, now)
        end = ChainEnd(seq, at, compute_record_hash(end.hash, seq, at, body))
        records.append(StoredRecord(seq, at, body, end.hash))
    return records


EXPORT_VERSION: Final = 3
"""The version of what `moot export SESSION jsonl` writes; earlier ones were never released."""


_FILE_LINE: Final = '{"file": '


class ExportHead(NamedTuple):
    """The first line of an export: the number and hash of its last entry, and who signed that; `key` is empty if nobody did."""

    session: SessionId
    entries: int
    hash: str
    at: str = ""
    key: str = ""
    signature: str = ""


def dump_export_head(head: ExportHead) -> str:
    """Render the first line of an export."""
    return json.dumps({"moot": EXPORT_VERSION, **head._asdict()}, ensure_ascii=False) + "\n"


def dump_export_lines(records: Iterable[StoredRecord]) -> str:
    lines: list[str] = []
    for record in records:
        head = json.dumps({"seq": record.seq, "at": record.at, "hash": record.hash.hex()})
        # The body is stored text and its hash depends on every byte: it is written as a JSON string, not parsed and written
        # again.
        lines.append(f'{head[:-1]}, "body": {dump_json(record.body.decode())}}}\n')
    return "".join(lines)


def dump_export_text(digest: str, text: str) -> str:
    """Render the text of a given file as a line of an export."""
    return f'{_FILE_LINE}"{digest}", "text": {dump_json(text)}}}\n'


def parse_export_texts(text: str) -> dict[str, str]:
    """Parse the texts of given files in an export, by their hashes; raises BadImport when one is not what its hash says."""
    texts: dict[str, str] = {}
    for line in text.split("\n"):
        if line.startswith(_FILE_LINE):
            try:
                fields = json.loads(line)
                digest, given = str(fields["file"]), str(fields["text"])
            except (ValueError, KeyError, TypeError, RecursionError) as cause:
                raise BadImport(
                    f"a given file in the export cannot be read ({cause}); export it again"
                ) from cause
            if sha256(given.encode()).hexdigest() != digest:
                raise BadImport(
                    f"the text of the given file {digest[:12]}… in the export is not what its hash says"
                )
            texts[digest] = given
    return texts


def parse_export(text: str) -> tuple[ExportHead, list[StoredRecord]]:
    """Parse an export into its first line and its records, and check that it is whole; raises BadImport."""
    try:
        # Not `splitlines`: it also splits at characters such as U+2028, which JSON allows unescaped inside strings.
        head, *lines = [
            json.loads(line)
            for line in text.split("\n")
            if line.strip() and not line.startswith(_FILE_LINE)
        ]
        records = [
            StoredRecord(
                int(line["seq"]),
                int(line["at"]),
                line["body"].encode(),
                bytes.fromhex(line["hash"]),
            )
            for line in lines
        ]
        version, session = head.pop("moot"), parse_session_id(head["session"])
        given = ExportHead(**head) if version == EXPORT_VERSION else ExportHead(session, 0, "")
        for record in records:
            to_datetime(
                record.at
            )  # a time beyond the calendar is refused here, before anything is imported
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        OverflowError,
    ) as cause:
        raise BadImport(f"the file is not a Moot export ({cause})", command=_EXPECTED) from cause
    if version in range(1, EXPORT_VERSION):
        raise BadImport(
            "the file was exported by a Moot from before its first release, which this one does not read; hold the session anew"
        )
    if version != EXPORT_VERSION or not records:
        raise BadImport(
            "the file is an export of a newer Moot, or holds no entries", command=_EXPECTED
        )
    if (given.entries, given.hash) != (records[-1].seq, records[-1].hash.hex()):
        raise BadImport(
            f"the export is not whole: its first line says that it ends with entry {given.entries}, and it ends with "
            f"entry {records[-1].seq}; export it again"
        )
    return given, records
