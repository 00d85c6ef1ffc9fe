"""Forward-only migrations, one SQL file each, numbered from 1 without gaps."""

from importlib.resources import files
from typing import Any, NamedTuple

from moothall.errors import LedgerNewer


class Migration(NamedTuple):
    version: int
    sql: str


async def migrate(connection: Any, database: str, table: str, lock: str, *, newer: str) -> int:
    """Apply the migrations that a PostgreSQL database lacks, within the caller's transaction; returns the version that it had.

    `table` holds its version. Raises LedgerNewer with the words `newer` if its `{version}` is beyond the last `{known}` here.
    """
    steps = load_migrations(database)
    # Processes that start together migrate one after the other; the lock ends with the transaction.
    await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", lock)
    await connection.execute(f"CREATE TABLE IF NOT EXISTS {table} (version integer NOT NULL)")
    version = int(await connection.fetchval(f"SELECT coalesce(max(version), 0) FROM {table}"))  # noqa: S608 - a name of ours
    if version > steps[-1].version:
        raise LedgerNewer(newer.format(version=version, known=steps[-1].version))
    for step in steps:
        if step.version > version:
            await connection.execute(step.sql)
            await connection.execute(f"INSERT INTO {table} (version) VALUES ($1)", step.version)  # noqa: S608
    return version


def load_migrations(database: str) -> list[Migration]:
    """Return the migrations of one kind of database, in order."""
    folder = files(__package__) / database
    # Names begin with four digits, so the order of names is the order of versions.
    paths = sorted((path for path in folder.iterdir() if path.name.endswith(".sql")), key=lambda path: path.name)
    return [Migration(int(path.name[:4]), path.read_text(encoding="utf-8")) for path in paths]
