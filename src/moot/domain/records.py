"""Records: entries as they lie in a ledger."""

from typing import NamedTuple

from moot.domain.ids import SessionId


class StoredRecord(NamedTuple):
    """One record: `at` in microseconds since 1970 UTC, `body` the canonical fact, `hash` the chain up to here."""

    seq: int
    at: int
    body: bytes
    hash: bytes


class Head(NamedTuple):
    """The two ends of a session."""

    session: SessionId
    first: StoredRecord
    last: StoredRecord
