"""Copies sessions between ledgers, record for record."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from moothall.app.clock import SystemClock
from moothall.app.verification import LedgerVerifier
from moothall.codec.head_records import HEADS
from moothall.disk.atomic_write import sync_folder
from moothall.domain.head_facts import RegisteredHead
from moothall.domain.ids import SessionId
from moothall.errors import BadSetting, LedgerDamaged, LedgerReadOnly, LedgerUnavailable
from moothall.ledgers.sqlite_file import detach_log
from moothall.memory.head_book import HeadBook, open_head_register, register_heads
from moothall.ports.clock import Clock
from moothall.ports.ledger import Ledger
from moothall.ports.ledger_upkeep import LedgerUpkeep

PAGE: Final = 1_000
COPIED_AT_ONCE: Final = 50
"""How many sessions are copied at a time: their appends share commits."""


async def copy_sessions(source: Ledger, target: Ledger, sessions: Sequence[SessionId]) -> None:
    """Append whole sessions to a ledger that has none of them."""
    for start in range(0, len(sessions), COPIED_AT_ONCE):
        await asyncio.gather(*(_copy_session(source, target, name) for name in sessions[start : start + COPIED_AT_ONCE]))


async def _copy_session(source: Ledger, target: Ledger, session: SessionId) -> None:
    after = 0
    while records := await source.read(session, after, PAGE):
        await target.append(session, records)
        after = records[-1].seq


async def reserve_archived(ledger: Ledger) -> None:
    """Take the ids of archived sessions in a copy of a ledger: of these, it has only what the register of heads says."""
    archived = (await open_head_register(ledger, SystemClock()).state()).archived
    if archived and isinstance(ledger, LedgerUpkeep):
        await ledger.reserve({name: (each.head.seq, bytes.fromhex(each.head.hash)) for name, each in archived.items()})


async def check_ledger(ledger: Ledger, what: str, trusted: frozenset[str] = frozenset()) -> None:
    """Verify a whole ledger; raises LedgerDamaged with its first fault."""
    found = await LedgerVerifier(ledger, SystemClock(), trusted=trusted).verify_all()
    if not found.is_intact:
        faults = [*found.faults, *(f"{each.session}: {each.fault}" for each in found.sessions if each.fault)]
        raise LedgerDamaged(f"{what} has {len(faults)} faults, the first: {faults[0]}")


async def collect_heads(ledger: Ledger, clock: Clock) -> tuple[RegisteredHead, ...]:
    """Register what is not registered, where that may be written, and return all heads, the register's own last.

    Raises LedgerDamaged if the register has more of a session than the ledger.
    """
    try:
        book = await register_heads(ledger, clock)
    except LedgerReadOnly:
        book = await open_head_register(ledger, clock).state()
    heads = {head.session: RegisteredHead(head.session, head.last.seq, head.last.hash.hex()) for head in await ledger.heads()}
    _refuse_missing(book, heads)
    register = await ledger.read(HEADS, book.entries - 1, 1) if book.entries else []
    return (*heads.values(), *(RegisteredHead(HEADS, record.seq, record.hash.hex()) for record in register))


def _refuse_missing(book: HeadBook, heads: dict[SessionId, RegisteredHead]) -> None:
    for session, known in book.heads.items():
        held = heads.get(session)
        if (held is None and session not in book.archived) or (held is not None and held.seq < known.seq):
            raise LedgerDamaged(f"session {session!r} is not what the register of heads has; see `moot verify`")


def require_upkeep(ledger: Ledger) -> LedgerUpkeep:
    """Return the ledger if it can be copied and archived; raises BadSetting."""
    if not isinstance(ledger, LedgerUpkeep):
        raise BadSetting(f"a {type(ledger).__name__} can be neither backed up nor archived")
    return ledger


def resolve_new_file(word: str | Path) -> Path:
    """The path of a file that does not exist yet, in a folder that does; raises BadSetting."""
    path = Path(word).expanduser().absolute()
    if path.exists() or path.is_symlink():
        raise BadSetting(f"{path} exists already; nothing is overwritten: choose another name")
    if not path.parent.is_dir():
        raise BadSetting(f"there is no folder {path.parent} for {path.name}")
    return path


@asynccontextmanager
async def draft_ledger_file(path: Path) -> AsyncIterator[Path]:
    """Yield the path of a draft, which becomes the ledger file `path` when the block ends well; raises LedgerUnavailable."""
    draft = path.with_name(f".moot-{secrets.token_hex(8)}")
    try:
        yield draft
        detach_log(draft)
        draft.chmod(0o600)
        _name_file(draft, path)
        sync_folder(path.parent)
    except OSError as cause:
        raise LedgerUnavailable(f"{path} cannot be written ({cause.strerror})") from cause
    finally:
        for name in (draft, *(draft.with_name(f"{draft.name}{end}") for end in ("-wal", "-shm", "-journal"))):
            with suppress(OSError):
                name.unlink()
        with suppress(OSError):
            draft.with_name(f"{draft.name}.locks").rmdir()


def _name_file(draft: Path, path: Path) -> None:
    """Give the draft its name, without overwriting."""
    try:
        # A link, unlike a rename, fails if somebody made a file of that name meanwhile.
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        draft.rename(path)
