"""The facts of the register of heads: how far each session went, which were archived, which heads were signed."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from moothall.domain.facts import Fact
from moothall.domain.ids import SessionId


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
