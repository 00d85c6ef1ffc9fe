"""Writes sessions to a new SQLite ledger file, whatever ledger they come from."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from moothall.disk.atomic_write import sync_folder
from moothall.domain.ids import SessionId
from moothall.domain.records import StoredRecord
from moothall.ledgers.sqlite_file import detach_log, open_connection, translate_error

AddRecords = Callable[[SessionId, Sequence[StoredRecord]], None]


@contextmanager
def write_copy(path: Path) -> Iterator[AddRecords]:
    """Yield a function that adds records, exactly as they are; the file is whole after the block. Raises LedgerUnavailable."""
    connection = open_connection(path)
    numbers: dict[SessionId, int | None] = {}

    def add(session: SessionId, records: Sequence[StoredRecord]) -> None:
        if session not in numbers:
            numbers[session] = connection.execute("INSERT INTO sessions (id) VALUES (?)", (session,)).lastrowid
        insert = "INSERT INTO entries (session, seq, at, body, hash) VALUES (?, ?, ?, ?, ?)"
        connection.executemany(insert, [(numbers[session], *record) for record in records])
        move = "UPDATE sessions SET head = ?, head_hash = ? WHERE number = ?"
        connection.execute(move, (records[-1].seq, records[-1].hash, numbers[session]))

    try:
        connection.execute("BEGIN IMMEDIATE")
        yield add
        connection.execute("COMMIT")
    except sqlite3.Error as cause:
        raise translate_error(cause, path) from cause
    finally:
        connection.close()
    detach_log(path)
    sync_folder(path.parent)
