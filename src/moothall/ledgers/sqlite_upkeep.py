"""Upkeep of a ledger's SQLite file: its own checks, the removal of archived sessions, and copies."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from moothall.codec.chain import HEADS
from moothall.disk.private import sync_folder
from moothall.domain.ids import SessionId
from moothall.domain.records import StorageReport, StoredRecord
from moothall.errors import SeqConflict
from moothall.ledgers.sqlite_file import apply_migrations, detach_log, open_connection, translate_error

MAX_FAULTS: Final = 20
_SCHEMA: Final = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
_HEADS: Final = "SELECT id, head, head_hash FROM sessions WHERE head > 0"
_REMOVED: Final = (
    "SELECT id, head, head_hash FROM sessions WHERE head > 0 AND NOT EXISTS (SELECT 1 FROM entries WHERE session = number)"
)
_INSERT: Final = "INSERT INTO entries (session, seq, at, body, hash) VALUES (?, ?, ?, ?, ?)"
AddRecords = Callable[[SessionId, Sequence[StoredRecord]], None]


def inspect(connection: sqlite3.Connection, session: SessionId | None) -> StorageReport:
    """Check the file with SQLite's own checks, compare its tables with what they should be, and read the heads beside them."""
    if session is not None:
        return StorageReport([], _select_heads(connection, f"{_HEADS} AND id = ?", session))
    faults = [f"SQLite: {row[0]}" for row in connection.execute(f"PRAGMA integrity_check({MAX_FAULTS})") if row[0] != "ok"]
    if any(True for _ in connection.execute("PRAGMA foreign_key_check")):
        faults.append("entries of a session that is not in the list of sessions")
    if connection.execute(_SCHEMA).fetchall() != _build_schema():
        faults.append("the tables of the file were changed: they are not those that Moot makes")
        return StorageReport(faults, {})
    heads = _select_heads(connection, _HEADS)
    if heads and HEADS not in heads:
        faults.append("the register of heads is missing")
    return StorageReport(faults, heads)


def _select_heads(connection: sqlite3.Connection, query: str, *values: str) -> dict[SessionId, tuple[int, bytes]]:
    return {SessionId(name): (seq, digest) for name, seq, digest in connection.execute(query, values)}


def _build_schema() -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        apply_migrations(fresh, 0)
        return fresh.execute(_SCHEMA).fetchall()


def remove(connection: sqlite3.Connection, sessions: Sequence[SessionId]) -> None:
    """Remove the entries of sessions. Their rows stay with their heads, so that no other session takes their ids."""
    query = "DELETE FROM entries WHERE session = (SELECT number FROM sessions WHERE id = ?)"
    connection.executemany(query, [(session,) for session in sessions])


def list_removed(connection: sqlite3.Connection) -> list[SessionId]:
    """Return the sessions that have a head and no entries."""
    return list(_select_heads(connection, _REMOVED))


def reserve(connection: sqlite3.Connection, heads: Mapping[SessionId, tuple[int, bytes]]) -> None:
    """Take the ids of archived sessions with their heads; what is there stays."""
    insert = "INSERT OR IGNORE INTO sessions (id, head, head_hash) VALUES (?, ?, ?)"
    connection.executemany(insert, [(session, *head) for session, head in heads.items()])


def put_back(connection: sqlite3.Connection, session: SessionId, records: Sequence[StoredRecord]) -> None:
    """Write the entries of a removed session again; raises SeqConflict if they do not end at its head."""
    row = connection.execute("SELECT number, head, head_hash FROM sessions WHERE id = ?", (session,)).fetchone()
    number, head, digest = row or (None, 0, b"")
    (held,) = connection.execute("SELECT count(*) FROM entries WHERE session = ?", (number,)).fetchone()
    if number is None or held or (records[-1].seq, records[-1].hash) != (head, digest):
        raise SeqConflict(session, records[-1].seq, head)
    connection.executemany(_INSERT, [(number, *record) for record in records])


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
