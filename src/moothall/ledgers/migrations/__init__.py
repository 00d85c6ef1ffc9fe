"""What is written in SQL files: forward-only migrations, one file each, numbered without gaps, and the queries of ledgers.

The first one is the schema of the first release. Versions below it were never released: no data of theirs is migrated.
"""

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Final, NamedTuple

from moothall.errors import LedgerNewer, LedgerOlder

_QUERY_NAME: Final = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT: Final = re.compile(r"^--.*\n", re.MULTILINE)


class Migration(NamedTuple):
    version: int
    sql: str


async def migrate(connection: Any, database: str, table: str, lock: str, *, what: str) -> None:
    """Apply the migrations that a PostgreSQL database lacks, within the caller's transaction; `table` holds its version.

    Raises LedgerNewer when its version is beyond the last known one, LedgerOlder when it is from before the first release; the
    sentence begins with `what` the tables hold.
    """
    steps = load_migrations(database)
    # Processes that start together migrate one after the other; the lock ends with the transaction.
    await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", lock)
    await connection.execute(f"CREATE TABLE IF NOT EXISTS {table} (version integer NOT NULL)")
    version = int(await connection.fetchval(f"SELECT coalesce(max(version), 0) FROM {table}"))  # noqa: S608 - a name of ours
    if version:
        check_version(version, steps, what=what)
    for step in steps:
        if step.version > version:
            await connection.execute(step.sql)
            await connection.execute(f"INSERT INTO {table} (version) VALUES ($1)", step.version)  # noqa: S608


def check_version(version: int, steps: Sequence[Migration], *, what: str) -> None:
    """Check that this Moot can read tables of a version; `what` holds them.

    Raises LedgerNewer when the version is beyond the last of `steps`, LedgerOlder when it is below the first.
    """
    if version > steps[-1].version:
        raise LedgerNewer(
            f"{what} has version {version}, this Moot knows {steps[-1].version}; upgrade Moot, "
            "or point MOOT_HOME or MOOT_LEDGER elsewhere"
        )
    if version < steps[0].version:
        raise LedgerOlder(
            f"{what} was written by a Moot from before its first release (version {version}, the first is {steps[0].version}), "
            "which this one does not read; point MOOT_HOME or MOOT_LEDGER elsewhere"
        )


def load_migrations(database: str) -> list[Migration]:
    folder = files(__package__) / database
    # Names begin with four digits, so the order of names is the order of versions.
    paths = sorted(
        (path for path in folder.iterdir() if path.name.endswith(".sql")),
        key=lambda path: path.name,
    )
    return [Migration(int(path.name[:4]), path.read_text(encoding="utf-8")) for path in paths]


def load_queries(module: str) -> Mapping[str, str]:
    """Return the queries in the SQL file beside a module (its `__name__`), by the names that stand above them.

    Comments at the beginning of a line are for readers of the file alone: the server is not sent them.
    """
    package, _, name = module.rpartition(".")
    _, *parts = _QUERY_NAME.split((files(package) / f"{name}.sql").read_text(encoding="utf-8"))
    return {
        query: _COMMENT.sub("", text).strip()
        for query, text in zip(parts[::2], parts[1::2], strict=True)
    }
