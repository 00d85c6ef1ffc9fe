"""The file of session lines: what a process knew of each session, for the next one, which reads those alone that it shows."""

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from moothall.disk.private import create_private_file, make_private_folder

SECONDS: Final = 2.0
"""How long another process that writes is waited for; without the file the sessions themselves are read."""
MAX_NAMED: Final = 500
"""More names than this are not asked for one by one."""
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS form (form TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS lines (session TEXT PRIMARY KEY, at INTEGER NOT NULL, fields TEXT NOT NULL);
"""


class LineRow(NamedTuple):
    """One line as the file has it; `at` orders them by when their sessions were active last."""

    at: int
    fields: list[Any]


class LineFile:
    """Lines by session. Whatever is wrong with the file, it is as if nothing were in it."""

    def __init__(self, path: Path, form: str) -> None:
        self._path = path
        self._form = form

    def read(self, sessions: Collection[str] | None = None) -> dict[str, list[Any]]:
        """Return the lines of these sessions, of all without a choice; those that are not in it are left out."""
        if sessions is not None and len(sessions) > MAX_NAMED:
            every = self.read()
            return {name: every[name] for name in sessions if name in every}
        lines: dict[str, list[Any]] = {}
        # A file that is damaged, of another form or not there is as none.
        with suppress(sqlite3.Error, OSError, ValueError, RecursionError):
            for name, fields in self._select(sessions):
                decoded = json.loads(fields)
                if isinstance(decoded, list):
                    lines[name] = decoded
        return lines

    def write(self, lines: Mapping[str, LineRow], gone: Collection[str], most: int) -> None:
        """Write lines in place of older ones, and drop those that are gone; the oldest, where all are more bytes than `most`."""
        with suppress(OSError):
            make_private_folder(self._path.parent)
            try:
                self._write(lines, gone, most)
            except sqlite3.OperationalError:
                # Another process writes, or the disk is full: the next process reads these sessions again.
                return
            except sqlite3.DatabaseError:
                self._path.unlink(missing_ok=True)

    def _select(self, sessions: Collection[str] | None) -> list[tuple[str, str]]:
        address = f"{self._path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, timeout=SECONDS, uri=True)) as connection:
            if connection.execute("SELECT form FROM form").fetchone() != (self._form,):
                return []
            if sessions is None:
                return connection.execute("SELECT session, fields FROM lines").fetchall()
            marks = ",".join("?" * len(sessions))
            query = f"SELECT session, fields FROM lines WHERE session IN ({marks})"  # noqa: S608 - marks alone
            return connection.execute(query, [*sessions]).fetchall()

    def _write(self, lines: Mapping[str, LineRow], gone: Collection[str], most: int) -> None:
        create_private_file(self._path)
        with _change(self._path) as connection:
            self._prepare(connection)
            rows = [(name, row.at, json.dumps(row.fields)) for name, row in lines.items()]
            connection.executemany("INSERT OR REPLACE INTO lines VALUES (?, ?, ?)", rows)
            connection.executemany(
                "DELETE FROM lines WHERE session = ?", [(each,) for each in gone]
            )
            is_full = _measure(connection) > most and _drop_oldest(connection, most)
        if is_full:
            with closing(sqlite3.connect(self._path, timeout=SECONDS)) as connection:
                connection.execute("VACUUM")

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Have the tables of this form; lines of another form are dropped."""
        connection.executescript(_TABLES)
        if connection.execute("SELECT form FROM form").fetchone() == (self._form,):
            return
        connection.execute("DELETE FROM lines")
        connection.execute("DELETE FROM form")
        connection.execute("INSERT INTO form VALUES (?)", (self._form,))


@contextmanager
def _change(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection whose changes are all made at the end, or none."""
    with closing(sqlite3.connect(path, timeout=SECONDS)) as connection, connection:
        # It can be made again from the ledger: nothing waits for the disk.
        connection.execute("PRAGMA synchronous = OFF")
        yield connection


def _measure(connection: sqlite3.Connection) -> int:
    """The bytes of the file."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    return int(pages) * int(size)


def _drop_oldest(connection: sqlite3.Connection, most: int) -> bool:
    """Drop the lines of the sessions that were active longest ago, until the rest fits; whether there were any."""
    left, dropped = most, list[tuple[str]]()
    query = (
        "SELECT session, length(session) + length(fields) FROM lines ORDER BY at DESC, session DESC"
    )
    for name, size in connection.execute(query).fetchall():
        left -= size
        if left < 0:
            dropped.append((name,))
    connection.executemany("DELETE FROM lines WHERE session = ?", dropped)
    return bool(dropped)
