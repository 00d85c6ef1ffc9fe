"""Opening a ledger's SQLite file: pragmas, migrations, and what SQLite's errors mean."""

import sqlite3
import time
from pathlib import Path
from typing import Final

from moot.errors import LedgerFull, LedgerNewer, LedgerUnavailable, MootError
from moot.ledgers.migrations import load_migrations

APPLICATION_ID: Final = 0x4D4F4F54
"""Marks the file as a Moot ledger."""
BUSY_SECONDS: Final = 30.0


def open_connection(path: Path) -> sqlite3.Connection:
    """A connection to the file, made and migrated if need be; raises LedgerUnavailable or LedgerNewer."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Used by one thread at a time, handed over between them.
        connection = sqlite3.connect(path, isolation_level=None, timeout=BUSY_SECONDS, check_same_thread=False)
    except (OSError, sqlite3.Error) as cause:
        raise LedgerUnavailable(f"the ledger {path} cannot be opened ({cause}); check MOOT_HOME and its rights") from cause
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        _migrate(connection, path)
        # After the check that the file is ours: it rewrites the file's head.
        _switch_to_wal(connection)
        connection.execute("PRAGMA busy_timeout = 0")
    except sqlite3.Error as cause:
        connection.close()
        raise translate_error(cause, path) from cause
    except MootError:
        connection.close()
        raise
    return connection


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Here SQLite does not wait by itself for another process that is doing the same."""
    patience = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as cause:
            if cause.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > patience:
                raise
            time.sleep(0.01)
        else:
            return


def translate_error(cause: Exception, path: Path) -> LedgerUnavailable:
    """SQLite's error as ours, with the remedy."""
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return LedgerFull(
            f"the ledger {path} has no room to write; free disk space, then `moot resume`: what was written is safe"
        )
    if code == sqlite3.SQLITE_NOTADB:
        return LedgerUnavailable(f"{path} is no SQLite file; move it away or point MOOT_HOME elsewhere")
    if code == sqlite3.SQLITE_READONLY:
        return LedgerUnavailable(f"the ledger {path} cannot be written ({cause}); check the rights of its file and folder")
    if code == sqlite3.SQLITE_BUSY:
        return LedgerUnavailable(f"the ledger {path} was locked by another program for {BUSY_SECONDS:.0f} s; try again")
    return LedgerUnavailable(
        f"the ledger {path} failed ({cause}); check that the disk is neither full nor broken, then `moot resume`"
    )


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if tables and application != APPLICATION_ID:
            raise LedgerUnavailable(f"{path} is an SQLite file of another program; point MOOT_HOME elsewhere")
        steps = load_migrations("sqlite")
        if version > steps[-1].version:
            raise LedgerNewer(
                f"the ledger {path} has version {version}, this Moot knows {steps[-1].version}; upgrade Moot, "
                "or point MOOT_HOME to another folder"
            )
        for step in steps:
            if step.version > version:
                for statement in step.sql.split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {step.version}")
        if application != APPLICATION_ID:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
