"""Folders and files that only their owner can read (0700 and 0600), files that appear whole or not at all, and file
locks that every process of this machine sees, and that are released when their holder dies.
"""

import os
import secrets
import stat
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final, TextIO

from moothall.errors import LedgerUnavailable, SessionBusy

OTHERS: Final = 0o077
"""What a private folder or file does not allow: everything, to everybody but its owner."""
HAS_MODES: Final = os.name != "nt"


def make_private_folder(folder: Path) -> None:
    """Create a folder that only its owner can enter, and so its parents; what exists stays as it is. Raises OSError."""
    if not folder.is_dir():
        # `parents=True` would give the parents the rights that the user's umask leaves.
        make_private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def create_private_file(path: Path) -> None:
    """Create an empty file that only its owner can read, unless it exists; raises OSError."""
    with suppress(FileExistsError):
        os.close(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
        )


def is_open_to_others(path: Path) -> bool:
    """Whether other users of this machine may reach into a folder or read a file."""
    return HAS_MODES and bool(stat.S_IMODE(path.stat().st_mode) & OTHERS)


def tighten_folder(folder: Path, names: Collection[str]) -> bool:
    """Close a folder to other users, and in it what begins with one of `names`; True if it was open to them.

    Links are not followed. Only the folder itself is looked at when it is closed: nobody else can reach what lies in it.
    """
    try:
        if not is_open_to_others(folder):
            return False
        # From the top: once the folder is closed, nobody can exchange what lies below while it is walked.
        is_closed = _close(folder)
        own = [each for each in folder.iterdir() if each.name.startswith(tuple(names))]
    except OSError:
        # It does not exist yet, belongs to somebody else, or lies on a read-only disk: there is nothing to change.
        return False
    for path in own:
        is_closed |= _close(path)
        for parent, folders, files in os.walk(path):
            for name in (*folders, *files):
                _close(Path(parent, name))
    return is_closed


def _close(path: Path) -> bool:
    """Take the rights of others away; True if there were any. Not from links, and not from a folder that all share (/tmp)."""
    with suppress(OSError):
        mode = path.lstat().st_mode
        if mode & OTHERS and not stat.S_ISLNK(mode) and not mode & stat.S_ISVTX:
            path.chmod(stat.S_IMODE(mode) & ~OTHERS)
            return True
    return False


def read_private(path: Path) -> str | None:
    """The text of a private file; None if there is none, or other users could read it. Raises OSError."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if HAS_MODES and (status.st_mode & OTHERS or os.geteuid() not in {0, status.st_uid}):
            return None
        return file.read().decode("utf-8", "replace").strip()


def write_private(path: Path, text: str, *, over: bool) -> bool:
    """Write a private file as a whole; False if there is one already and it may not be written `over`. Raises OSError."""
    if over:
        with replace_atomically(path, mode=0o600) as file:
            file.write(f"{text}\n")
        return True
    draft = path.with_name(f".moot-{secrets.token_hex(8)}")
    try:
        write_private(draft, text, over=True)
        # A rename would replace the file of another process in silence; a hard link fails if the name is taken.
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    return True


def write_atomically(path: Path, text: str, *, sole: bool = False) -> None:
    with replace_atomically(path, sole=sole) as file:
        file.write(text)


def open_output(path: Path) -> AbstractContextManager[TextIO]:
    """Open what a user named for a result: a file is replaced, a device or a pipe is written to.

    A rename would put a file in the place of /dev/null, for every program of the machine.
    """
    is_special = str(path.parent) in {"/dev", "/dev/fd"} or (path.exists() and not path.is_file())
    return (
        path.open("w", encoding="utf-8", newline="\n") if is_special else replace_atomically(path)
    )


@contextmanager
def replace_atomically(path: Path, *, sole: bool = False, mode: int = 0o666) -> Iterator[TextIO]:
    """Open a draft that replaces the file when it is written, durable on return; if writing fails, the old file stays.

    A symbolic link at `path` is replaced, not followed. Raises OSError.

    A `sole` writer, who holds a lock, reuses one fixed draft name and so removes what a crashed writer left behind.
    """
    # The draft lies in the same folder: a rename is atomic only within one file system.
    draft = path.with_name(f".{path.name[:80]}.new" if sole else f".moot-{secrets.token_hex(8)}")
    if sole:
        draft.unlink(missing_ok=True)
    try:
        descriptor = os.open(
            draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), mode
        )
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            # Before the rename: otherwise a power failure can leave the new name with empty content.
            os.fsync(descriptor)
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames and new files in a folder durable."""
    if os.name == "nt":  # pragma: no cover - a folder cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
def hold_lock(path: Path, busy: str, *, command: str = "") -> Iterator[None]:
    """Hold the lock file `path`; raises SessionBusy with the text `busy` if another process holds it, and what helps then."""
    try:
        make_private_folder(path.parent)
        descriptor = _open_locked(path, SessionBusy(busy, command=command))
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


def _open_locked(path: Path, busy: SessionBusy) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            take_lock(descriptor)
        except OSError as cause:
            os.close(descriptor)
            raise busy from cause
        try:
            # The holder before us may have removed the file between our open and our lock: then the lock is on a file that nobody
            # else can find, and protects nothing.
            if os.fstat(descriptor).st_ino == path.stat().st_ino:
                return descriptor
        except FileNotFoundError:
            pass
        os.close(descriptor)
