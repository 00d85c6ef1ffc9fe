"""Turns of several processes at writing to one SQLite file.

SQLite lets a waiting process sleep longer and longer, up to a tenth of a second, while the one that has just written begins again
at once: it gets nearly all turns. Here all wait alike, for short random times, and who has written joins them if there are any.
Who waits shares a lock on a file beside the ledger, and so shows it; nobody waits for that lock, so that a process which was
stopped while it waited holds up nobody.
"""

import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from moothall.ledgers.sqlite_file import BUSY_SECONDS

try:
    import fcntl
except (
    ImportError
):  # pragma: no cover - Windows: turns are taken at random there, and the one that has written is not asked to wait
    fcntl = None  # type: ignore[assignment]

MIN_NAP: Final = 0.0001
MAX_NAP: Final = 0.0008
LOOK_SECONDS: Final = 0.005
"""How often is looked whether others wait, while nobody does: a look costs as much as a tenth of a commit."""
CROWDED_SECONDS: Final = 1.0
"""For how long after others have waited it is looked every time."""


class WriteTurns:
    """One process's turns at writing to the file at `path`. Used by one thread at a time."""

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
                raise _build_busy_error()
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
                    if cause.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > patience:
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
            with suppress(OSError):  # somebody looks whether anybody waits: that moment is not worth waiting for
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


def _build_busy_error() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("other processes wait to write")
    error.sqlite_errorcode = sqlite3.SQLITE_BUSY
    return error
