"""Copies of sessions: backups of a whole ledger with its signed heads, and archives of closed sessions that grew old."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from moothall.app.environment import (
    open_ledger,
    resolve_file_path,
    resolve_home,
    resolve_ledger_address,
)
from moothall.app.moot import Moot
from moothall.app.resources import SystemClock
from moothall.app.verification import LedgerVerifier, load_trusted, parse_heads, sign_heads
from moothall.codec.chain import HEADS, validate_chain
from moothall.disk.private import make_private_folder, sync_folder
from moothall.domain.ids import AGAIN, SessionId, is_register, parse_session_id
from moothall.domain.records import (
    Head,
    HeadsSigned,
    RegisteredHead,
    SessionsArchived,
    SessionsReturned,
)
from moothall.errors import (
    BadSetting,
    LedgerDamaged,
    LedgerFull,
    LedgerReadOnly,
    LedgerUnavailable,
    UnknownSession,
)
from moothall.ledgers.sqlite import SqliteLedger
from moothall.ledgers.sqlite_file import detach_log
from moothall.memory.register import open_head_register, register_heads
from moothall.ports.ledger import Clock, Ledger, LedgerUpkeep

PAGE: Final = 1_000
COPIED_AT_ONCE: Final = 50
"""How many sessions are copied at a time: their appends share commits."""
MIN_AGE: Final = timedelta(days=1)
"""Ids that Moot chooses name the day: a session of today must not give its number away."""


async def copy_sessions(source: Ledger, target: Ledger, sessions: Sequence[SessionId]) -> None:
    """Append whole sessions to a ledger that has none of them."""
    for start in range(0, len(sessions), COPIED_AT_ONCE):
        await asyncio.gather(
            *(
                _copy_session(source, target, name)
                for name in sessions[start : start + COPIED_AT_ONCE]
            )
        )


async def _copy_session(source: Ledger, target: Ledger, session: SessionId) -> None:
    after = 0
    while records := await source.read(session, after, PAGE):
        await target.append(session, records)
        after = records[-1].seq


async def reserve_archived(ledger: Ledger) -> None:
    """Take the ids of archived sessions in a copy of a ledger: of these, it has only what the register of heads says."""
    archived = (await open_head_register(ledger, SystemClock()).state()).archived
    if archived and isinstance(ledger, LedgerUpkeep):
        await ledger.reserve(
            {
                name: (each.head.seq, bytes.fromhex(each.head.hash))
                for name, each in archived.items()
            }
        )


async def check_ledger(ledger: Ledger, what: str, trusted: frozenset[str] = frozenset()) -> None:
    """Verify a whole ledger; raises LedgerDamaged with its first fault."""
    verified = await LedgerVerifier(ledger, SystemClock(), trusted=trusted).verify_all()
    if not verified.is_intact:
        faults = verified.list_faults()
        raise LedgerDamaged(f"{what} has faults ({len(faults)}), the first: {faults[0]}")


async def collect_heads(ledger: Ledger, clock: Clock) -> tuple[RegisteredHead, ...]:
    """Register what is not registered, where that may be written, and return all heads, the register's own last.

    Raises LedgerDamaged if the register has more of a session than the ledger.
    """
    try:
        book = await register_heads(ledger, clock)
    except LedgerReadOnly:
        book = await open_head_register(ledger, clock).state()
    heads = {
        head.session: RegisteredHead(head.session, head.last.seq, head.last.hash.hex())
        for head in await ledger.heads()
    }
    for session, known in book.heads.items():
        held = heads.get(session)
        if (held is None and session not in book.archived) or (
            held is not None and held.seq < known.seq
        ):
            raise _build_mismatch(session)
    register = await ledger.read(HEADS, book.entries - 1, 1) if book.entries else []
    return (
        *heads.values(),
        *(RegisteredHead(HEADS, record.seq, record.hash.hex()) for record in register),
    )


def _build_mismatch(session: SessionId) -> LedgerDamaged:
    return LedgerDamaged(
        f"session {session!r} is not what the register of heads has", command="see `moot verify`"
    )


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
    except LedgerFull as cause:
        raise LedgerFull(
            f"{path} has no room to be written; free disk space there, then repeat the command"
        ) from cause
    except OSError as cause:
        raise LedgerUnavailable(f"{path} cannot be written ({cause.strerror})") from cause
    finally:
        for name in (
            draft,
            *(Path(f"{draft}{end}") for end in ("-wal", "-shm", "-journal", ".locks/.writers")),
        ):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport:
    """What a backup holds, or what was restored from one."""

    file: str
    sessions: int
    entries: int
    bytes: int
    key: str = ""

    @classmethod
    def describe(cls, path: Path, heads: Iterable[Head], key: str = "") -> "BackupReport":
        """Return the report on the file of a ledger with these heads."""
        entries = [head.last.seq for head in heads if not is_register(head.session)]
        return cls(
            file=str(path),
            sessions=len(entries),
            entries=sum(entries),
            bytes=path.stat().st_size,
            key=key,
        )


async def back_up(ledger: Ledger, home: Path, word: str) -> BackupReport:
    """Write a backup while others go on writing; it is verified before it gets its name. Raises BadSetting, LedgerDamaged."""
    upkeep, path, clock = require_upkeep(ledger), resolve_new_file(word), SystemClock()
    async with draft_ledger_file(path) as draft:
        await upkeep.copy_to(draft)
        async with SqliteLedger(draft) as copy:
            await reserve_archived(copy)
            signed = sign_heads(home, datetime.now(UTC), await collect_heads(copy, clock))
            if signed.signature:
                await open_head_register(copy, clock).append(
                    lambda book: [HeadsSigned(document=signed.dump())]
                )
            await check_ledger(copy, "the ledger", frozenset(load_trusted(home)))
            heads = await copy.heads()
    return BackupReport.describe(path, heads, signed.key)


async def restore(word: str, environ: Mapping[str, str], key: str = "") -> BackupReport:
    """Restore a backup into an empty ledger, verified before and after; raises BadSetting, LedgerDamaged.

    With `key` its heads must be signed with that public key.
    """
    source, address = resolve_file_path(word), resolve_ledger_address(environ)
    trusted = {key} if key else load_trusted(resolve_home(environ))
    async with SqliteLedger(source, read_only=True) as backup:
        await check_ledger(backup, f"the backup {source}", frozenset(trusted))
        if key:
            signed = (await open_head_register(backup, SystemClock()).state()).signed
            if not signed or parse_heads(signed).key != key:
                raise LedgerDamaged(f"the heads of {source} are not signed with the key {key}")
        heads = await backup.heads()
        if not heads:
            raise BadSetting(f"{source} is a ledger without sessions; there is nothing to restore")
        target = None if "://" in address or address == "memory:" else resolve_file_path(address)
        if target is None or target.exists():
            async with open_ledger(address) as ledger:
                held = len(await ledger.heads())
                if held:
                    raise BadSetting(
                        f"the ledger {target or 'in PostgreSQL'} holds {held} sessions and registers already, and nothing is "
                        "overwritten; restore into an empty one: MOOT_HOME=/another/folder moot ledger restore FILE"
                    )
                await _copy_all(backup, ledger)
        else:
            make_private_folder(target.parent)
            async with draft_ledger_file(target) as draft, SqliteLedger(draft) as ledger:
                await _copy_all(backup, ledger)
    return BackupReport.describe(source, heads)


async def _copy_all(source: Ledger, target: Ledger) -> None:
    # The register first: should this be cut short, it knows what is missing.
    await copy_sessions(source, target, [HEADS])
    await copy_sessions(source, target, [head.session for head in await source.heads()])
    await reserve_archived(target)
    await check_ledger(target, "the restored ledger")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveReport:
    """Which sessions went into a file, or came back from one; `file` is empty if there were none."""

    file: str
    sessions: tuple[SessionId, ...]
    entries: int


async def archive_sessions(
    moot: Moot, age: timedelta, word: str = "", *, is_tried: bool = False
) -> ArchiveReport:
    """Move sessions that closed longer ago than `age` into a new file; with `is_tried` only say which. Raises BadSetting."""
    if age < MIN_AGE:
        raise BadSetting(
            "only sessions that ended at least a day ago are archived: --older-than 1d or longer"
        )
    if not is_tried:
        # What was decided stays in memory.
        await moot.recall()
    upkeep, register, now = (
        require_upkeep(moot.ledger),
        open_head_register(moot.ledger, moot.clock),
        moot.clock.now(),
    )
    lines = await moot.sessions()
    young = [
        line
        for line in lines
        if line.status not in {"concluded", "cancelled"} or line.last_at >= now - age
    ]
    # What is asked again and again goes together: the next answer is compared with the former one.
    going_on = {line.session.partition(AGAIN)[0] for line in young}
    old = [line for line in lines if line.session.partition(AGAIN)[0] not in going_on]
    names = tuple(line.session for line in old)
    if not names:
        return ArchiveReport(file="", sessions=(), entries=0)
    path = (
        resolve_new_file(word)
        if word
        else resolve_home(moot.environ) / "archive" / f"moot-{now:%Y%m%d-%H%M%S}.db"
    )
    report = ArchiveReport(
        file=str(path), sessions=names, entries=sum(line.entries for line in old)
    )
    if is_tried:
        return report
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    async with draft_ledger_file(path) as draft, SqliteLedger(draft) as file:
        await copy_sessions(moot.ledger, file, names)
        await check_ledger(file, "the archive")
        heads = tuple(
            RegisteredHead(each.session, each.last.seq, each.last.hash.hex())
            for each in await file.heads()
        )
        # What the register knows better is not archived: removing it would hide that something is missing.
        registered = (await register.state()).heads
        for head in heads:
            known = registered.get(head.session)
            if known is not None and known.seq >= head.seq and known != head:
                raise _build_mismatch(head.session)
    # In this order: should this be cut short, sessions are in both places, and the next archive removes them here.
    await register.append(lambda book: [SessionsArchived(file=str(path), heads=heads)])
    await upkeep.remove(names)
    return report


async def return_sessions(moot: Moot, word: str, wanted: Sequence[str] = ()) -> ArchiveReport:
    """Bring sessions back from an archive, all of them if none is named; raises UnknownSession, LedgerDamaged."""
    upkeep, register = require_upkeep(moot.ledger), open_head_register(moot.ledger, moot.clock)
    archived = (await register.state()).archived
    path = resolve_file_path(word)
    async with SqliteLedger(path, read_only=True) as file:
        await check_ledger(file, f"the archive {path}")
        held = [head.session for head in await file.heads() if not is_register(head.session)]
        names = [parse_session_id(name) for name in wanted] or [
            name for name in held if name in archived
        ]
        for name in names:
            if name not in held or name not in archived:
                raise UnknownSession(
                    f"no archived session {name!r} is in {path}; it has: {', '.join(held[:20]) or 'none'}"
                )
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
