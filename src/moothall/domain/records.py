"""Records: entries in the form in which a ledger stores them."""

from typing import NamedTuple

from moothall.domain.ids import SessionId


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


class StorageReport(NamedTuple):
    """What a ledger finds out about its own storage.

    `faults` are damages of the file or the database. `heads` is, for each session, the number and the hash of the last record as
    they were written down beside it. A fault there is for the reader to find.
    """

    faults: list[str]
    heads: dict[SessionId, tuple[int, bytes]]


class WrittenSessions(NamedTuple):
    """The position of a ledger, and the sessions written to since an earlier one; None when the ledger cannot tell."""

    position: int
    sessions: frozenset[SessionId] | None
