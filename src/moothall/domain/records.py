"""Records: entries in the form in which a ledger stores them, and the facts of the register of heads."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from moothall.domain.facts import Fact
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


class RegisteredHead(NamedTuple):
    """That a session had an entry `seq` with this hash, as hexadecimal digits."""

    session: SessionId
    seq: int
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadsRegistered(Fact):
    """How far some sessions have gone."""

    heads: tuple[RegisteredHead, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsArchived(Fact):
    """Closed sessions that went into a file, with their last entries."""

    file: str
    heads: tuple[RegisteredHead, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsReturned(Fact):
    """Sessions that came back from an archive."""

    sessions: tuple[SessionId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadsSigned(Fact):
    """The heads of the whole ledger with a signature, as `moot heads` prints them."""

    document: str


HEAD_KINDS: Final[dict[str, type[Fact]]] = {
    "heads.registered": HeadsRegistered,
    "heads.archived": SessionsArchived,
    "heads.returned": SessionsReturned,
    "heads.signed": HeadsSigned,
}
