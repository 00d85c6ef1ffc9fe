"""Backups: the whole ledger as it stands at one moment, in one file with its signed heads, and back."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from moothall.app.clock import SystemClock
from moothall.app.environment import open_ledger, resolve_file_path, resolve_home, resolve_ledger_address
from moothall.app.session_copies import (
    check_ledger,
    collect_heads,
    copy_sessions,
    draft_ledger_file,
    require_upkeep,
    reserve_archived,
    resolve_new_file,
)
from moothall.app.signed_heads import load_trusted, parse_heads, sign_heads
from moothall.codec.head_records import HEADS
from moothall.domain.head_facts import HeadsSigned
from moothall.domain.ids import is_register
from moothall.errors import BadSetting, LedgerDamaged
from moothall.ledgers.sqlite import SqliteLedger
from moothall.memory.head_book import open_head_register
from moothall.ports.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport:
    """What a backup holds, or what was restored from one."""

    file: str
    sessions: int
    entries: int
    bytes: int
    key: str = ""


async def back_up(ledger: Ledger, home: Path, word: str) -> BackupReport:
    """Write a backup while others go on writing; it is verified before it gets its name. Raises BadSetting, LedgerDamaged."""
    upkeep, path, clock = require_upkeep(ledger), resolve_new_file(word), SystemClock()
    async with draft_ledger_file(path) as draft:
        await upkeep.copy_to(draft)
        async with SqliteLedger(draft) as copy:
            await reserve_archived(copy)
            signed = sign_heads(home, datetime.now(UTC), await collect_heads(copy, clock))
            await open_head_register(copy, clock).append(lambda book: [HeadsSigned(document=signed.dump())])
            await check_ledger(copy, "the ledger", frozenset(load_trusted(home)))
            heads = await copy.heads()
    sessions = [head for head in heads if not is_register(head.session)]
    return BackupReport(
        file=str(path),
        sessions=len(sessions),
        entries=sum(head.last.seq for head in sessions),
        bytes=path.stat().st_size,
        key=signed.key,
    )


async def restore(word: str, environ: Mapping[str, str], key: str = "") -> BackupReport:
    """Restore a backup into an empty ledger, verified before and after; raises BadSetting, LedgerDamaged.

    With `key` its heads must be signed with that public key.
    """
    source, address = resolve_file_path(word), resolve_ledger_address(environ)
    trusted = {key} if key else load_trusted(resolve_home(environ))
    async with SqliteLedger(source, read_only=True) as backup:
        await check_ledger(backup, f"the backup {source}", frozenset(trusted))
        if key:
            await _check_signer(backup, source, key)
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
                        "overwritten; restore into an empty one: MOOT_HOME=/another/folder moot restore FILE"
                    )
                await _copy_all(backup, ledger)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            async with draft_ledger_file(target) as draft, SqliteLedger(draft) as ledger:
                await _copy_all(backup, ledger)
    sessions = [head for head in heads if not is_register(head.session)]
    entries = sum(head.last.seq for head in sessions)
    return BackupReport(file=str(source), sessions=len(sessions), entries=entries, bytes=source.stat().st_size)


async def _check_signer(backup: Ledger, source: Path, key: str) -> None:
    signed = (await open_head_register(backup, SystemClock()).state()).signed
    if not signed or parse_heads(signed).key != key:
        raise LedgerDamaged(f"the heads of {source} are not signed with the key {key}")


async def _copy_all(source: Ledger, target: Ledger) -> None:
    # The register first: should this be cut short, it knows what is missing.
    await copy_sessions(source, target, [HEADS])
    await copy_sessions(source, target, [head.session for head in await source.heads()])
    await reserve_archived(target)
    await check_ledger(target, "the restored ledger")
