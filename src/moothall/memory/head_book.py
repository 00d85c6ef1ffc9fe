"""What the register of heads says: how far each session went, where archived ones are, which heads were signed last."""

from dataclasses import dataclass
from datetime import datetime

from moothall.codec.head_records import HEADS
from moothall.domain.facts import Entry
from moothall.domain.head_facts import (
    HEAD_KINDS,
    HeadsRegistered,
    HeadsSigned,
    RegisteredHead,
    SessionsArchived,
    SessionsReturned,
)
from moothall.domain.ids import SessionId
from moothall.memory.register import Register
from moothall.ports.ledger import Clock, Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedSession:
    """Where a session went, and with which last entry."""

    file: str
    at: datetime
    head: RegisteredHead


class HeadBook:
    """The fold of the register; only `evolve` changes it, in place.

    `heads` is the furthest head of each session, `signed` the newest document of signed heads.
    """

    def __init__(self) -> None:
        self.heads: dict[SessionId, RegisteredHead] = {}
        self.archived: dict[SessionId, ArchivedSession] = {}
        self.signed = ""
        self.entries = 0


def evolve(book: HeadBook, entry: Entry) -> HeadBook:
    """Apply one more entry and return the same book."""
    book.entries = entry.seq
    match entry.fact:
        case HeadsRegistered(heads=heads):
            for head in heads:
                # Processes register what each has written: one that comes late may name an earlier entry.
                if head.session not in book.heads or book.heads[head.session].seq <= head.seq:
                    book.heads[head.session] = head
        case SessionsArchived(file=file, heads=heads):
            for head in heads:
                book.archived[head.session] = ArchivedSession(file=file, at=entry.at, head=head)
        case SessionsReturned(sessions=sessions):
            for session in sessions:
                book.archived.pop(session, None)
        case HeadsSigned(document=document):
            book.signed = document
        case _:
            pass
    return book


def open_head_register(ledger: Ledger, clock: Clock, book: HeadBook | None = None) -> Register[HeadBook]:
    """The register of heads of a ledger, folded into `book` if one is given."""
    return Register(ledger, clock, HEADS, kinds=HEAD_KINDS, initial=book or HeadBook(), evolve=evolve)


async def register_heads(ledger: Ledger, clock: Clock) -> HeadBook:
    """Register every head that the register does not have yet: what a killed process left out. Returns what it says then."""
    found = [RegisteredHead(head.session, head.last.seq, head.last.hash.hex()) for head in await ledger.heads()]

    def choose(book: HeadBook) -> list[HeadsRegistered]:
        missing = [head for head in found if head.session not in book.heads or book.heads[head.session].seq < head.seq]
        return [HeadsRegistered(heads=tuple(missing))] if missing else []

    return await open_head_register(ledger, clock).append(choose)


def explain_archived(session: str, archived: ArchivedSession) -> str:
    """Say where a session is, and how to read it."""
    return (
        f"session {session!r} was archived on {archived.at:%Y-%m-%d} in {archived.file}; read it there: "
        f"MOOT_LEDGER={archived.file} moot show {session}, or bring it back: moot archive --back {archived.file} {session}"
    )
