"""Opens a ledger's SQLite file: pragmas, migrations, the translation of SQLite's errors, turns at writing to
it, and its upkeep: SQLite's own checks, the removal of archived sessions, and copies.
"""

import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from moothall.codec.chain import HEADS
from moothall.disk.private import create_private_file, make_private_folder, sync_folder
from moothall.domain.ids import SessionId
from moothall.domain.records import StorageReport, StoredRecord
from moothall.errors import LedgerFull, LedgerReadOnly, LedgerUnavailable, MootError, SeqConflict
from moothall.ledgers.migrations import check_version, load_migrations

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: turns are taken at random there, and the one that has written is not asked to wait
    fcntl = None  # type: ignore[assignment]

APPLICATION_ID: Final = 0x4D4F4F54
"""Marks the file as a Moot ledger: the letters "MOOT" in ASCII."""
BUSY_SECONDS: Final = 30.0


def open_connection(path: Path) -> sqlite3.Connection:
    """Open the file, creating or migrating it if needed; raises LedgerUnavailable, LedgerNewer or LedgerOlder."""
    try:
        make_private_folder(path.parent)
        # SQLite gives its -wal and -shm files the rights of this one.
        create_private_file(path)
        # Only one thread uses it at a time, but not always the same one.
        connection = sqlite3.connect(
            path, isolation_level=None, timeout=BUSY_SECONDS, check_same_thread=False
        )
    except (OSError, sqlite3.Error) as cause:
        raise LedgerUnavailable(
            f"the ledger {path} cannot be opened ({cause}); check MOOT_HOME and its rights"
        ) from cause
    with _close_on_failure(connection, path):
        # FULL syncs the WAL at every commit: with NORMAL a power failure could lose an append that had been reported as durable.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        _migrate(connection, path)
        # After the check that the file is a Moot ledger: switching to WAL changes the file's header.
        _switch_to_wal(connection)
        # From here on the caller decides per commit whether it waits for a lock.
        connection.execute("PRAGMA busy_timeout = 0")
    return connection


@contextmanager
def _close_on_failure(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Close a connection that cannot be used; an error of SQLite's becomes Moot's."""
    try:
        yield
    except sqlite3.Error as cause:
        connection.close()
        raise translate_error(cause, path) from cause
    except MootError:
        connection.close()
        raise


def is_read_only(path: Path) -> bool:
    """Whether there is a ledger file that may be read but not written, or that lies in such a folder."""
    return path.is_file() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def refuse_writing(path: Path) -> LedgerReadOnly:
    """The error of a write to a ledger that may only be read."""
    return LedgerReadOnly(
        f"the ledger {path} may only be read here; check the rights of its file and folder, or use a copy"
    )


def open_read_only(path: Path) -> sqlite3.Connection:
    """Open a file that may only be read, also without its WAL; raises LedgerUnavailable, LedgerNewer or LedgerOlder."""
    try:
        connection = _connect_read_only(path)
    except OSError as cause:
        raise LedgerUnavailable(
            f"the ledger {path} cannot be read ({cause}); check its rights"
        ) from cause
    except sqlite3.Error as cause:
        raise translate_error(cause, path) from cause
    with _close_on_failure(connection, path):
        if _check_version(connection, path) == 0:
            raise LedgerUnavailable(f"{path} holds no ledger yet, and may only be read")
    return connection


def _connect_read_only(path: Path) -> sqlite3.Connection:
    # Most commands may write, and need neither.
    import shutil
    import tempfile
    from urllib.parse import quote

    address = f"file:{quote(str(path))}"
    connection = sqlite3.connect(
        f"{address}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError as cause:
        connection.close()
        if cause.sqlite_errorcode & 0xFF not in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}:
            raise
    else:
        return connection
    # SQLite reads a WAL only through an index file beside it, which cannot be made here.
    log = path.with_name(path.name + "-wal")
    if not log.exists() or log.stat().st_size == 0:
        # Nobody can write to it, so nothing has to be locked.
        return sqlite3.connect(
            f"{address}?immutable=1", uri=True, isolation_level=None, check_same_thread=False
        )
    with tempfile.TemporaryDirectory(prefix="moot-") as folder:
        copy = Path(folder) / "ledger.db"
        shutil.copyfile(path, copy)
        shutil.copyfile(log, copy.with_name(copy.name + "-wal"))
        connection = sqlite3.connect(copy, isolation_level=None, check_same_thread=False)
        memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        connection.backup(memory)
        connection.close()
    return memory


def copy_database(source: sqlite3.Connection, path: Path) -> None:
    """Copy the database as it stands at one moment to a new file that needs no other file beside it."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with closing(sqlite3.connect(path, isolation_level=None)) as target:
        source.backup(target)
    detach_log(path)


def detach_log(path: Path) -> None:
    """Make a ledger file that nobody has open whole in itself: without a WAL, readable from a read-only folder."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA journal_mode = DELETE")


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
            f"the ledger {path} has no room to write: what was written is safe",
            command="free disk space, then `moot resume`",
            tool="free disk space, then resume_session",
        )
    if code == sqlite3.SQLITE_NOTADB:
        return LedgerUnavailable(
            f"{path} is no SQLite file and so no ledger; name another file, or another MOOT_HOME"
        )
    if code == sqlite3.SQLITE_READONLY:
        return LedgerUnavailable(
            f"the ledger {path} cannot be written ({cause}); check the rights of its file and folder"
        )
    if code == sqlite3.SQLITE_BUSY:
        return LedgerUnavailable(
            f"the ledger {path} was locked by another program for {BUSY_SECONDS:.0f} s; try again"
        )
    return LedgerUnavailable(
        f"the ledger {path} failed ({cause})",
        command="check that the disk is neither full nor broken, then `moot resume`",
        tool="check that the disk is neither full nor broken, then resume_session",
    )


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    # Takes the write lock first: of two processes that open a new file, the second sees the tables of the first.
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _check_version(connection, path)
        apply_migrations(connection, version)
        if version == 0:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _check_version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the version of the file, 0 if it is empty; raises LedgerUnavailable, LedgerNewer or LedgerOlder."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if tables and application != APPLICATION_ID:
        raise LedgerUnavailable(
            f"{path} is an SQLite file of another program; name another file, or another MOOT_HOME"
        )
    if not tables:
        return 0
    check_version(int(version), load_migrations("sqlite"), what=f"the ledger {path}")
    return int(version)


def apply_migrations(connection: sqlite3.Connection, version: int) -> None:
    """Bring the tables of a version to the newest, within the caller's transaction."""
    for step in load_migrations("sqlite"):
        if step.version > version:
            # `executescript` would commit the transaction first; then a failed migration could not be rolled back.
            for statement in step.sql.split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {step.version}")


MIN_NAP: Final = 0.0001
MAX_NAP: Final = 0.0008
LOOK_SECONDS: Final = 0.005
"""How often is looked whether others wait, while nobody does: a look costs as much as a tenth of a commit."""
CROWDED_SECONDS: Final = 1.0
"""For how long after others have waited it is looked every time."""


class WriteTurns:
    """One process's turns at writing to the file at `path`. Used by one thread at a time.

    SQLite lets a waiting process sleep longer and longer, up to a tenth of a second, while the one that has just written begins
    again at once: it gets nearly all turns. Here all wait alike, for short random times, and who has written joins them if there
    are any. Who waits shares a lock on a file beside the ledger, and so shows it; nobody waits for that lock, so that a process
    which was stopped while it waited holds up nobody.
    """

    def __init__(self, path: Path) -> None:
        # No session can have this name.
        self._path = path.with_name(path.name + ".locks") / ".writers"
        self._descriptor: int | None = None
        self._look_at = 0.0
        self._crowded_until = 0.0

    def begin(self, connection: sqlite3.Connection, *, wait: bool) -> None:
        """Begin a transaction that writes; raises sqlite3.OperationalError (busy) if others come first, or wait too long."""
        if not wait:
            if self._do_others_wait():
                error = sqlite3.OperationalError("other processes wait to write")
                error.sqlite_errorcode = sqlite3.SQLITE_BUSY
                raise error
            connection.execute("BEGIN IMMEDIATE")
            return
        connection.execute("PRAGMA busy_timeout = 0")
        # Before it shows that it waits itself.
        is_to_nap = self._do_others_wait()
        patience = time.monotonic() + BUSY_SECONDS
        with self._show_waiting():
            while True:
                if is_to_nap:
                    time.sleep(random.uniform(MIN_NAP, MAX_NAP))  # noqa: S311
                try:
                    connection.execute("BEGIN IMMEDIATE")
                    return
                except sqlite3.OperationalError as cause:
                    if (
                        cause.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY
                        or time.monotonic() > patience
                    ):
                        raise
                is_to_nap = True

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _do_others_wait(self) -> bool:
        now = time.monotonic()
        if now < self._look_at and now >= self._crowded_until:
            return False
        self._look_at = now + LOOK_SECONDS
        if fcntl is None or not self._open(os.O_RDWR):
            return False
        assert self._descriptor is not None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._crowded_until = now + CROWDED_SECONDS
            return True
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        return False

    @contextmanager
    def _show_waiting(self) -> Iterator[None]:
        is_shown = False
        if fcntl is not None and self._open(os.O_RDWR | os.O_CREAT):
            assert self._descriptor is not None
            with suppress(
                OSError
            ):  # somebody looks whether anybody waits: that moment is not worth waiting for
                fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
                is_shown = True
        try:
            yield
        finally:
            if is_shown:
                assert self._descriptor is not None
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def _open(self, flags: int) -> bool:
        """Open the file that shows who waits: the first who waits makes it. Where it cannot be made, nobody is shown to wait."""
        if self._descriptor is None:
            with suppress(OSError):
                if flags & os.O_CREAT:
                    self._path.parent.mkdir(parents=True, exist_ok=True)
                self._descriptor = os.open(self._path, flags | os.O_CLOEXEC, 0o600)
        return self._descriptor is not None


MAX_FAULTS: Final = 20
_SCHEMA: Final = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
_HEADS: Final = "SELECT id, head, head_hash FROM sessions WHERE head > 0"
_REMOVED: Final = "SELECT id, head, head_hash FROM sessions WHERE head > 0 AND NOT EXISTS (SELECT 1 FROM entries WHERE session = number)"
_INSERT: Final = "INSERT INTO entries (session, seq, at, body, hash) VALUES (?, ?, ?, ?, ?)"
AddRecords = Callable[[SessionId, Sequence[StoredRecord]], None]


def inspect(connection: sqlite3.Connection, session: SessionId | None) -> StorageReport:
    """Check the file with SQLite's own checks, compare its tables with what they should be, and read the heads beside them."""
    if session is not None:
        return StorageReport([], _select_heads(connection, f"{_HEADS} AND id = ?", session))
    faults = [
        f"SQLite: {row[0]}"
        for row in connection.execute(f"PRAGMA integrity_check({MAX_FAULTS})")
        if row[0] != "ok"
    ]
    if any(True for _ in connection.execute("PRAGMA foreign_key_check")):
        faults.append("entries of a session that is not in the list of sessions")
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        apply_migrations(fresh, 0)
        schema = fresh.execute(_SCHEMA).fetchall()
    if connection.execute(_SCHEMA).fetchall() != schema:
        faults.append("the tables of the file were changed: they are not those that Moot makes")
        return StorageReport(faults, {})
    heads = _select_heads(connection, _HEADS)
    if heads and HEADS not in heads:
        faults.append("the register of heads is missing")
    return StorageReport(faults, heads)


def _select_heads(
    connection: sqlite3.Connection, query: str, *values: str
) -> dict[SessionId, tuple[int, bytes]]:
    return {
        SessionId(name): (seq, digest) for name, seq, digest in connection.execute(query, values)
    }


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


def put_back(
    connection: sqlite3.Connection, session: SessionId, records: Sequence[StoredRecord]
) -> None:
    """Write the entries of a removed session again; raises SeqConflict if they do not end at its head."""
    row = connection.execute(
        "SELECT number, head, head_hash FROM sessions WHERE id = ?", (session,)
    ).fetchone()
    number, head, digest = row or (None, 0, b"")
    (held,) = connection.execute(
        "SELECT count(*) FROM entries WHERE session = ?", (number,)
    ).fetchone()
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
            numbers[session] = connection.execute(
                "INSERT INTO sessions (id) VALUES (?)", (session,)
            ).lastrowid
        connection.executemany(_INSERT, [(numbers[session], *record) for record in records])
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
