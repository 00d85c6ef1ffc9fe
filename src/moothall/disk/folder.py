"""A folder of files that other people write: names are checked, links are not followed, writes are atomic, nothing is deleted.

All names are resolved relative to an open descriptor of the folder: moving or replacing the folder in the meantime cannot
redirect a write to another place.
"""

import asyncio
import errno
import os
import secrets
import stat
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from moothall.disk.private import take_lock
from moothall.errors import BadName, SessionBusy, WorldError

MAX_FILE_LENGTH: Final = 400_000
"""The most bytes that are read of one file."""

LOCK_SECONDS: Final = 30.0
_LOOK_AGAIN: Final = 0.02
HAS_DESCRIPTORS: Final = os.open in os.supports_dir_fd
# O_NONBLOCK: opening a named pipe would otherwise wait for its writer.
_NO_LINKS: Final = (
    getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
)
_READ: Final = os.O_RDONLY | _NO_LINKS
_FOLDER: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINKS


class UnreadableFile(Exception):
    """A file that cannot be read as text: a link, a folder, too large, not UTF-8. `line` is the line of the problem."""

    def __init__(self, why: str, line: int = 1) -> None:
        super().__init__(why)
        self.why = why
        self.line = line


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A name in the folder. `kind` is `file`, or says what else it is."""

    name: str
    kind: str
    changed_at: float


class Folder:
    """One open folder, created by `open_folder`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._at = descriptor

    @classmethod
    @contextmanager
    def open_folder(cls, path: Path, *, inside: "Folder | None" = None) -> Iterator["Folder"]:
        """Open a folder, or by its name one that lies `inside` another; raises BadName for a link, else FileNotFoundError."""
        if not HAS_DESCRIPTORS:
            raise WorldError(
                "this system has no descriptors of folders, which conferences in files need; use Linux or macOS"
            )
        try:
            descriptor = os.open(
                path.name if inside else path, _FOLDER, dir_fd=inside._at if inside else None
            )
        except NotADirectoryError as cause:
            raise BadName(
                f"{path} is a link or no folder; links are not followed, put a folder there"
            ) from cause
        try:
            yield cls(path, descriptor)
        finally:
            os.close(descriptor)

    def make_folder(self, name: str) -> None:
        """Create a subfolder; an existing one is fine."""
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=self._at)
            os.fsync(self._at)

    def list_entries(self) -> list[FolderEntry]:
        """Return the entries of the folder, sorted by name, without hidden ones."""
        listed = []
        with os.scandir(self._at) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                # The file can be removed between the listing and the call to stat.
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    listed.append(
                        FolderEntry(entry.name, _describe_kind(status.st_mode), status.st_mtime)
                    )
        return sorted(listed, key=lambda each: each.name)

    def has(self, name: str) -> bool:
        try:
            os.stat(name, dir_fd=self._at, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def read(self, name: str) -> str | None:
        """Return the text of a file; None if it does not exist. Raises UnreadableFile."""
        raw = self.read_bytes(name)
        if raw is None:
            return None
        try:
            # Editors of Windows put a mark in front of what they save.
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError as cause:
            raise UnreadableFile(
                f"not UTF-8 (byte {cause.start})", raw.count(b"\n", 0, cause.start) + 1
            ) from cause

    def read_bytes(self, name: str) -> bytes | None:
        try:
            descriptor = os.open(name, _READ, dir_fd=self._at)
        except FileNotFoundError:
            return None
        except OSError as cause:
            # What O_NOFOLLOW makes of a link.
            is_link = cause.errno == errno.ELOOP
            raise UnreadableFile(
                "a link, which is not followed" if is_link else f"unreadable: {cause.strerror}"
            ) from cause
        # Checked on the open descriptor: a check by name could see another file than the one that was opened.
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise UnreadableFile("no plain file")
        with os.fdopen(descriptor, "rb") as file:
            # One byte more than the limit shows that a file is too large, without reading it all.
            raw = file.read(MAX_FILE_LENGTH + 1)
        if len(raw) > MAX_FILE_LENGTH:
            raise UnreadableFile(f"more than {MAX_FILE_LENGTH} bytes")
        return raw

    def read_mtime(self, name: str) -> float:
        """Return when a file was last changed, in seconds; 0 if it does not exist."""
        try:
            return os.stat(name, dir_fd=self._at, follow_symlinks=False).st_mtime
        except FileNotFoundError:
            return 0.0

    def put(self, name: str, text: str, *, fresh: bool = False, fixed: bool = False) -> None:
        """Write a file atomically. `fresh`: raises FileExistsError if it exists; `fixed`: the file becomes read-only."""
        draft = f".draft-{secrets.token_hex(8)}"
        descriptor = os.open(
            draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS, 0o644, dir_fd=self._at
        )
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode())
                file.flush()
                if fixed:
                    os.fchmod(descriptor, 0o444)
                os.fsync(descriptor)
            if fresh:
                # A rename replaces an existing file in silence; a hard link fails if the name is taken.
                self._put_fresh(draft, name)
            else:
                os.replace(draft, name, src_dir_fd=self._at, dst_dir_fd=self._at)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=self._at)
            raise
        os.fsync(self._at)

    def put_below(self, name: str, texts: Mapping[str, str]) -> None:
        """Write read-only files into a subfolder, which is made where there is something to write."""
        if texts:
            self.make_folder(name)
            with Folder.open_folder(self.path / name, inside=self) as below:
                for each, text in texts.items():
                    below.put(each, text, fixed=True)

    def _put_fresh(self, draft: str, name: str) -> None:
        try:
            os.link(draft, name, src_dir_fd=self._at, dst_dir_fd=self._at, follow_symlinks=False)
        except FileExistsError:
            raise
        except OSError:
            # A file system without hard links: the folder's lock keeps other Moot processes away between check and rename.
            if self.has(name):
                raise FileExistsError(name) from None
            os.rename(draft, name, src_dir_fd=self._at, dst_dir_fd=self._at)
            return
        os.unlink(draft, dir_fd=self._at)

    def append(self, name: str, text: str) -> None:
        """Append to a file of any length; raises UnreadableFile if it is not a plain file."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_LINKS
        try:
            descriptor = os.open(name, flags, 0o644, dir_fd=self._at)
        except OSError as cause:
            raise UnreadableFile(f"cannot be written: {cause.strerror}") from cause
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "backslashreplace"))
            file.flush()
            os.fsync(descriptor)

    def make_read_only(self, name: str) -> None:
        """Make a file read-only; does nothing if that is not possible."""
        with suppress(OSError):
            descriptor = os.open(name, _READ, dir_fd=self._at)
            try:
                os.fchmod(descriptor, stat.S_IMODE(os.fstat(descriptor).st_mode) & ~0o222)
            finally:
                os.close(descriptor)

    def move(self, name: str, other: str, into: "Folder | None" = None) -> None:
        """Rename a file, never over another one; raises FileExistsError."""
        target = into or self
        if target.has(other):
            raise FileExistsError(other)
        os.rename(name, other, src_dir_fd=self._at, dst_dir_fd=target._at)
        os.fsync(target._at)
        os.fsync(self._at)

    @asynccontextmanager
    async def lock(self, name: str) -> AsyncIterator[None]:
        """Hold the exclusive right to change the folder among all processes; raises SessionBusy if the wait takes too long."""
        try:
            descriptor = os.open(name, os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o644, dir_fd=self._at)
        except OSError as cause:
            raise BadName(
                f"{self.path / name} is a link or no file ({cause.strerror}); remove it"
            ) from cause
        try:
            try:
                async with asyncio.timeout(LOCK_SECONDS):
                    while not _try_lock(descriptor):  # noqa: ASYNC110 - the system wakes nobody
                        await asyncio.sleep(_LOOK_AGAIN)
            except TimeoutError:
                raise SessionBusy(
                    f"another process has been changing {self.path} for {LOCK_SECONDS:.0f} s; try again"
                ) from None
            yield
        finally:
            # Closing releases the lock; the system does the same when the process dies.
            os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        take_lock(descriptor)
    except BlockingIOError:
        return False
    except OSError as cause:
        raise WorldError(
            f"the disk of this folder has no locks ({cause.strerror}); keep the conference on another one"
        ) from cause
    return True


def _describe_kind(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISDIR(mode):
        return "folder"
    return "something else"


def escape_name(name: str) -> str:
    """Return a file name in printable form on one line, also if it is not valid UTF-8."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )
