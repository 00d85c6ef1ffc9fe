"""Records of the register of heads, as ledgers write them beside what they append."""

import json
from collections.abc import Mapping
from typing import Final, NamedTuple

from moothall.codec.chain import compute_record_hash, compute_root_hash
from moothall.domain.ids import SessionId
from moothall.domain.records import StoredRecord

HEADS: Final = SessionId("_heads")
"""The name of the register."""
MAX_HEADS: Final = 1_000
"""How many heads one record holds at most."""


class ChainEnd(NamedTuple):
    """What the next record of a chain builds on."""

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
