"""Archives: closed sessions that grew old go into a file of their own, and the register of heads says where."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from moothall.app.environment import resolve_file_path, resolve_home
from moothall.app.session_copies import (
    check_ledger,
    copy_sessions,
    draft_ledger_file,
    require_upkeep,
    reserve_archived,
    resolve_new_file,
)
from moothall.codec.chain import validate_chain
from moothall.domain.head_facts import RegisteredHead, SessionsArchived, SessionsReturned
from moothall.domain.ids import SessionId, is_register, parse_session_id
from moothall.errors import BadSetting, LedgerDamaged, UnknownSession
from moothall.ledgers.sqlite import SqliteLedger
from moothall.memory.head_book import ArchivedSession, HeadBook, open_head_register

if TYPE_CHECKING:
    from moothall.app.moot import Moot

MIN_AGE: Final = timedelta(days=1)
"""Ids that Moot chooses name the day: a session of today must not give its number away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveReport:
    """Which sessions went into a file, or came back from one; `file` is empty if there were none."""

    file: str
    sessions: tuple[SessionId, ...]
    entries: int


def explain_archived(session: str, archived: ArchivedSession) -> str:
    """Say where a session is, and how to read it."""
    return (
        f"session {session!r} was archived on {archived.at:%Y-%m-%d} in {archived.file}; read it there: "
        f"MOOT_LEDGER={archived.file} moot show {session}, or bring it back: moot archive --back {archived.file} {session}"
    )


async def archive_sessions(moot: "Moot", age: timedelta, word: str = "", *, is_tried: bool = False) -> ArchiveReport:
    """Move sessions that closed longer ago than `age` into a new file; with `is_tried` only say which. Raises BadSetting."""
    if age < MIN_AGE:
        raise BadSetting("only sessions that ended at least a day ago are archived: --older-than 1d or longer")
    if not is_tried:
        # What was decided stays in memory.
        await moot.recall()
    upkeep, register, now = require_upkeep(moot.ledger), open_head_register(moot.ledger, moot.clock), moot.clock.now()
    old = [line for line in await moot.sessions() if line.status in {"concluded", "cancelled"} and line.last_at < now - age]
    names = tuple(line.session for line in old)
    if not names:
        return ArchiveReport(file="", sessions=(), entries=0)
    path = resolve_new_file(word) if word else resolve_home(moot.environ) / "archive" / f"moot-{now:%Y%m%d-%H%M%S}.db"
    report = ArchiveReport(file=str(path), sessions=names, entries=sum(line.entries for line in old))
    if is_tried:
        return report
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    async with draft_ledger_file(path) as draft, SqliteLedger(draft) as file:
        await copy_sessions(moot.ledger, file, names)
        await check_ledger(file, "the archive")
        heads = tuple(RegisteredHead(each.session, each.last.seq, each.last.hash.hex()) for each in await file.heads())
        _check_registered(await register.state(), heads)
    # In this order: should this be cut short, sessions are in both places, and the next archive removes them here.
    await register.append(lambda book: [SessionsArchived(file=str(path), heads=heads)])
    await upkeep.remove(names)
    return report


def _check_registered(book: HeadBook, heads: Sequence[RegisteredHead]) -> None:
    """Refuse to archive what the register knows better: removing it would hide that something is missing."""
    for head in heads:
        known = book.heads.get(head.session)
        if known is not None and known.seq >= head.seq and known != head:
            raise LedgerDamaged(f"session {head.session!r} is not what the register of heads has; see `moot verify`")


async def return_sessions(moot: "Moot", word: str, wanted: Sequence[str] = ()) -> ArchiveReport:
    """Bring sessions back from an archive, all of them if none is named; raises UnknownSession, LedgerDamaged."""
    upkeep, register = require_upkeep(moot.ledger), open_head_register(moot.ledger, moot.clock)
    archived = (await register.state()).archived
    path = resolve_file_path(word)
    async with SqliteLedger(path, read_only=True) as file:
        await check_ledger(file, f"the archive {path}")
        held = [head.session for head in await file.heads() if not is_register(head.session)]
        names = [parse_session_id(name) for name in wanted] or [name for name in held if name in archived]
        for name in names:
            if name not in held or name not in archived:
                raise UnknownSession(f"no archived session {name!r} is in {path}; it has: {', '.join(held[:20]) or 'none'}")
        # For a ledger that an older Moot restored: it has the ids in its register alone.
        await reserve_archived(moot.ledger)
        entries = 0
        for name in names:
            records = validate_chain(name, await file.read(name))
            if not await moot.ledger.read(name, 0, 1):
                await upkeep.put_back(name, records)
            entries += len(records)
    if names:
        await register.append(lambda book: [SessionsReturned(sessions=tuple(names))])
    return ArchiveReport(file=str(path), sessions=tuple(names), entries=entries)
