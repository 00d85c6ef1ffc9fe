"""File locks that every process of this machine sees, and that are released when their holder dies."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from moothall.disk.private import make_private_folder
from moothall.errors import LedgerUnavailable, SessionBusy

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    import msvcrt

    def take_lock(descriptor: int) -> None:
        """Lock an open file, or raise OSError at once."""
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
else:

    def take_lock(descriptor: int) -> None:
        """Lock an open file, or raise OSError at once."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def hold_lock(path: Path, busy: str) -> Iterator[None]:
    """Hold the lock file `path`; raises SessionBusy with the text `busy` if another process holds it."""
    try:
        make_private_folder(path.parent)
        descriptor = _open_locked(path, busy)
    except OSError as cause:
        raise LedgerUnavailable(
            f"the lock file {path} cannot be made ({cause.strerror}); check the rights of its folder"
        ) from cause
    try:
        yield
    finally:
        # Removed while it is still locked: a process that opened this file before sees another inode at the path and retries.
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _open_locked(path: Path, busy: str) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            take_lock(descriptor)
        except OSError as cause:
            os.close(descriptor)
            raise SessionBusy(busy) from cause
        try:
            # The holder before us may have removed the file between our open and our lock: then the lock is on a file that nobody
            # else can find, and protects nothing.
            if os.fstat(descriptor).st_ino == path.stat().st_ino:
                return descriptor
        except FileNotFoundError:
            pass
        os.close(descriptor)
