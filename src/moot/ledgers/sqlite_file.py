"""Opens a ledger's SQLite file: pragmas, migrations, and the translation of SQLite's errors."""

import sqlite3
import time
from pathlib import Path
from typing import Final

from moot.disk.private import create_private_file, make_private_folder
from moot.errors import LedgerFull, LedgerNewer, LedgerUnavailable, MootError
from moot.ledgers.migrations import load_migrations

APPLICATION_ID: Final = 0x4D4F4F54
"""Marks the file as a Moot ledger: the letters "MOOT" in ASCII."""
BUSY_SECONDS: Final = 30.0


def open_connection(path: Path) -> sqlite3.Connection:
    """Open the file, creating or migrating it if needed; raises LedgerUnavailable or LedgerNewer."""
    try:
        make_private_folder(path.parent)
        # SQLite gives its -wal and -shm files the rights of this one.
        create_private_file(path)
        # Only one thread uses it at a time, but not always the same one.
        connection = sqlite3.connect(path, isolation_level=None, timeout=BUSY_SECONDS, check_same_thread=False)
    except (OSError, sqlite3.Error) as cause:
        raise LedgerUnavailable(f"the ledger {path} cannot be opened ({cause}); check MOOT_HOME and its rights") from cause
    try:
        # FULL syncs the WAL at every commit: with NORMAL a power failure could lose an append that had been reported as durable.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        _migrate(connection, path)
        # After the check that the file is a Moot ledger: switching to WAL changes the file's header.
        _switch_to_wal(connection)
        # From here on the caller decides per commit whether it waits for a lock.
        connection.execute("PRAGMA busy_timeout = 0")
    except sqlite3.Error as cause:
        connection.close()
        raise translate_error(cause, path) from cause
    except MootError:
        connection.close()
        raise
    return connection


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL. SQLite's busy timeout does not apply here when another process is switching, too."""
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
    """Translate an SQLite error into Moot's, with the remedy."""
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
    # Takes the write lock first: of two processes that open a new file, the second sees the tables of the first.
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
                # `executescript` would commit the transaction first; then a failed migration could not be rolled back.
                for statement in step.sql.split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {step.version}")
        if application != APPLICATION_ID:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
