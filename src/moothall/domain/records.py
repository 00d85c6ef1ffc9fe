"""Records: entries in the form in which a ledger stores them, and the facts of the register of heads."""

from typing import Final, NamedTuple

from moothall.domain.facts import Fact, add_kind
from moothall.domain.ids import SessionId

LABELS: Final = SessionId("_labels")
"""The register of tags."""
HEAD_KINDS: Final[dict[str, type[Fact]]] = {}
FILE_KINDS: Final[dict[str, type[Fact]]] = {}


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


class NewestSessions(NamedTuple):
    """Some of the sessions of a ledger, and how many it has in all."""

    total: int
    heads: list[Head]


class WrittenSessions(NamedTuple):
    """The position of a ledger, and the sessions written to since an earlier one; None when the ledger cannot tell."""

    position: int
    sessions: frozenset[SessionId] | None


class RegisteredHead(NamedTuple):
    """That a session had an entry `seq` with this hash, as hexadecimal digits."""

    session: SessionId
    seq: int
    hash: str


@add_kind(HEAD_KINDS, "heads.registered")
class HeadsRegistered(Fact):
    """How far some sessions have gone."""

    heads: tuple[RegisteredHead, ...]


@add_kind(HEAD_KINDS, "heads.archived")
class SessionsArchived(Fact):
    """Closed sessions that went into a file, with their last entries."""

    file: str
    heads: tuple[RegisteredHead, ...]


@add_kind(HEAD_KINDS, "heads.returned")
class SessionsReturned(Fact):
    """Sessions that came back from an archive."""

    sessions: tuple[SessionId, ...]


@add_kind(HEAD_KINDS, "heads.signed")
class HeadsSigned(Fact):
    """The heads of the whole ledger with a signature, as `moot ledger heads` prints them."""

    document: str


@add_kind(FILE_KINDS, "file.stored")
class FileStored(Fact):
    """The first record of a given file's stream; its text follows in parts. Lists of streams read the first and last record."""

    sha256: str
    size: int


@add_kind(FILE_KINDS, "file.part")
class FilePart(Fact):
    """A part of a given file's text."""

    text: str


@add_kind(FILE_KINDS, "file.ended")
class FileEnded(Fact):
    """The text of a given file is complete."""
