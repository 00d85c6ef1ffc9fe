"""Records: entries in the form in which a ledger stores them."""

from typing import NamedTuple

from moot.domain.ids import SessionId


class StoredRecord(NamedTuple):
    """One stored entry: `at` in microseconds since 1970 UTC, `body` the fact as canonical JSON, `hash` the chain up to here."""

    seq: int
    at: int
    body: bytes
    hash: bytes


class Head(NamedTuple):
    """The first and the last record of a session."""

    session: SessionId
    first: StoredRecord
    last: StoredRecord


class WrittenSessions(NamedTuple):
    """The position of a ledger, and the sessions written to since an earlier one; None when the ledger cannot tell."""

    position: int
    sessions: frozenset[SessionId] | None
