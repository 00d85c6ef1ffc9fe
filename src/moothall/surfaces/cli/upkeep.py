"""Commands on the whole record: heads, backup, restore, archive."""

import os
from datetime import UTC, datetime, timedelta

import click

from moothall.app.environment import resolve_home
from moothall.app.moot import Moot
from moothall.app.upkeep import ArchiveReport, BackupReport, archive_sessions, back_up, collect_heads, restore, return_sessions
from moothall.app.verification import SignedHeads, load_public_key, parse_key, sign_heads
from moothall.domain.head_facts import RegisteredHead
from moothall.errors import BadSetting
from moothall.surfaces.cli import output as out
from moothall.surfaces.cli.duration import Duration


@click.command()
@click.option("--public-key", "key_only", is_flag=True, help="Print the public key alone, to keep it elsewhere too.")
@click.option("--unsigned", "is_unsigned", is_flag=True, help="Do not sign.")
@out.json_option
def heads(key_only: bool, is_unsigned: bool, as_json: bool) -> None:
    """Print the heads of all sessions, signed, to store them elsewhere: on another machine, or on paper.

    \b
    moot heads > heads-20261115.json
    moot verify --head heads-20261115.json

    The key is made once, in MOOT_HOME, readable by you alone. The output is JSON with and without --json.
    """

    async def work() -> None:
        if key_only:
            key = load_public_key(resolve_home(os.environ))
            out.print_line(key) if not as_json else out.print_json({"key": key})
            return
        async with Moot() as moot:
            found = await collect_heads(moot.ledger, moot.clock)
            document = _sign(moot, found, is_unsigned=is_unsigned)
        click.echo(document.dump(), nl=False)

    out.run(work, as_json=as_json)


def _sign(moot: Moot, found: tuple[RegisteredHead, ...], *, is_unsigned: bool) -> SignedHeads:
    now = datetime.now(UTC)
    if not is_unsigned:
        try:
            return sign_heads(resolve_home(moot.environ), now, found)
        except OSError as cause:
            out.print_note(f"not signed: no key can be made in MOOT_HOME ({cause.strerror})")
    return SignedHeads(at=now.isoformat(), heads=found)


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@out.json_option
def backup(file: str, as_json: bool) -> None:
    """Write the whole ledger as it stands now to FILE, verified, with its signed heads.

    Sessions may go on meanwhile.

    \b
    moot backup /mnt/backup/moot-20261115.db
    MOOT_LEDGER=/mnt/backup/moot-20261115.db moot list

    FILE is a ledger like any other: every command that reads works on it. It holds all that was said, and hashes of tokens.
    """

    async def work() -> BackupReport:
        async with Moot() as moot:
            return await back_up(moot.ledger, resolve_home(moot.environ), file)

    done = out.run(work, as_json=as_json)
    if as_json:
        out.print_json(done)
    else:
        out.print_line(f"{done.file}: {done.sessions} sessions, {done.entries} entries, {done.bytes / 1e6:.1f} MB, verified")


@click.command("restore")
@click.argument("file")
@click.option(
    "--key", default="", metavar="KEY", help="The public key that must have signed the backup's heads: digits or a file."
)
@out.json_option
def restore_file(file: str, key: str, as_json: bool) -> None:
    """Restore a backup into an empty MOOT_HOME, or an empty MOOT_LEDGER.

    It is verified first, and nothing is overwritten.

    \b
    MOOT_HOME=~/.moot-restored moot restore /mnt/backup/moot-20261115.db
    """

    async def work() -> BackupReport:
        out.require_file(file)
        return await restore(file, os.environ, parse_key(key) if key else "")

    done = out.run(work, as_json=as_json)
    if as_json:
        out.print_json(done)
    else:
        out.print_line(f"restored {done.sessions} sessions with {done.entries} entries; verified before and after")


@click.command()
@click.option(
    "--older-than",
    "age",
    type=Duration(),
    default="90d",
    show_default=True,
    help="Sessions that ended this long ago, at least 1d.",
)
@click.option("-o", "--output", default="", metavar="FILE", help="The new file. Default: one of today in MOOT_HOME/archive.")
@click.option("--dry-run", "is_tried", is_flag=True, help="Only say which sessions it would be.")
@click.option("--back", default="", metavar="FILE", help="Bring SESSIONS back from this archive, or all that are in it.")
@click.argument("sessions", nargs=-1)
@out.json_option
def archive(*, age: float, output: str, is_tried: bool, back: str, sessions: tuple[str, ...], as_json: bool) -> None:
    """Move sessions that ended long ago into a verified file of their own. What was decided stays in decision memory.

    \b
    moot archive --older-than 90d --dry-run
    moot archive --older-than 90d
    moot archive --back ~/.moot/archive/moot-20261115-120000.db think_20260301_001

    `moot list --archived` says where each is, and the file is a ledger that every reading command opens with MOOT_LEDGER.
    """

    async def work() -> ArchiveReport:
        if sessions and not back:
            raise BadSetting("sessions are named only to bring them back: --back FILE SESSION; others are chosen by --older-than")
        async with Moot() as moot:
            if back:
                return await return_sessions(moot, back, sessions)
            return await archive_sessions(moot, timedelta(seconds=age), output, is_tried=is_tried)

    done = out.run(work, as_json=as_json)
    if as_json:
        out.print_json(done)
    elif not done.sessions:
        out.print_note("no session is that old" if not back else "none of its sessions is archived here")
    elif back:
        out.print_line(f"back from {done.file}: {', '.join(done.sessions)}")
    else:
        for session in done.sessions if is_tried else ():
            out.print_line(session)
        told = "would go" if is_tried else "went"
        out.print_line(f"{len(done.sessions)} sessions with {done.entries} entries {told} into {done.file}")
