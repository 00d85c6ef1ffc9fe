"""Writes the records of consultations: each once, numbered without gaps or repetition.

A project keeps its records in `docs/consultation/{i}_{from}_{to}.md`, counted by the file VERSION_MANIFEST. The writer holds a
lock on it, among the processes of one machine, and of machines that share the folder if its file system shares locks. Each step
is durable before the next, so that a process may die at any of them:

1. the manifest says that a number is being written, and for which consultation;
2. the record is written under another name and then renamed;
3. the manifest says that it is written.

The next writer that finds a number being written checks whether its file exists: if so it is written, else it was never taken.
"""

import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from moothall.disk.private import sync_folder, take_lock, write_atomically
from moothall.domain.consult import RecordFileRequest
from moothall.domain.safe_text import compile_late

MANIFEST: Final = "VERSION_MANIFEST"
LOCK: Final = f".{MANIFEST}.lock"
PLACE: Final = ("docs", "consultation")
HEAD: Final = "# Consultations of this project, counted by Moot: number, state, key, file"
LOCK_SECONDS: Final = 30.0
POLL_SECONDS: Final = 0.02
MAX_NAME_LENGTH: Final = 100
"""The most bytes of a seat's name in a file name."""

_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_NUMBERED = compile_late(r"(\d{1,15})_.*\.md")


@dataclass(frozen=True, slots=True)
class ManifestLine:
    number: int
    is_written: bool
    key: str
    name: str

    def __str__(self) -> str:
        return "\t".join(
            (str(self.number), "written" if self.is_written else "writing", self.key, self.name)
        )


def validate_project(folder: Path) -> Path:
    """Return the folder if it can keep records; raises OSError or ValueError with the reason why not."""
    root = folder.expanduser().absolute()
    if not root.is_dir():
        raise NotADirectoryError(20, "no such folder", str(root))
    if not os.access(root, os.W_OK | os.X_OK):
        raise PermissionError(13, "nothing can be written there", str(root))
    _read_manifest(root)
    return root


def write_record(request: RecordFileRequest) -> ManifestLine:
    """Write a record and return its line; an existing one is returned unchanged. Raises OSError or ValueError."""
    root = Path(request.folder)
    with _lock_manifest(root):
        place = ensure_folder(root, PLACE)
        lines = _recover_manifest(root, place)
        # The same consultation is filed again after a crash: its key finds the record that is already on disk.
        known = next((line for line in lines if line.key == request.key), None)
        if known is not None:
            return known
        number = _find_free_number(lines, place)
        line = ManifestLine(
            number,
            False,
            request.key,
            f"{number}_{_shorten_name(request.asker)}_{_shorten_name(request.asked)}.md",
        )
        # Before the file: if we die in between, the next writer sees that this number was started.
        _write_manifest(root, [*lines, line])
        write_atomically(place / line.name, request.document(number), sole=True)
        line = replace(line, is_written=True)
        _write_manifest(root, [*lines, line])
        return line


def _recover_manifest(root: Path, place: Path) -> list[ManifestLine]:
    """Return the manifest, with a number that a dead process left unfinished either completed or released."""
    lines = _read_manifest(root)
    if not lines or lines[-1].is_written:
        return lines
    last = lines.pop()
    if (place / last.name).is_file():
        lines.append(replace(last, is_written=True))
    _write_manifest(root, lines)
    return lines


def _find_free_number(lines: list[ManifestLine], place: Path) -> int:
    """Return the number after the last one; numbers of files that are not in the manifest are skipped."""
    taken = set()
    for path in place.iterdir():
        match = _NUMBERED.fullmatch(path.name)
        if match is not None:
            taken.add(int(match[1]))
    number = lines[-1].number + 1 if lines else max(taken, default=0) + 1
    while number in taken:
        number += 1
    return number


def _read_manifest(root: Path) -> list[ManifestLine]:
    path = root / MANIFEST
    try:
        descriptor = os.open(path, os.O_RDONLY | _NO_LINKS)
    except FileNotFoundError:
        return []
    with os.fdopen(descriptor, encoding="utf-8") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError(f"{path} is no file")
        text = file.read()
    head, *rest = text.split("\n")
    if head != HEAD:
        raise ValueError(
            f"{path} is not a manifest of Moot's (it begins with {head[:40]!r}); move it, or use another folder"
        )
    return [_parse_manifest_line(path, number, line) for number, line in enumerate(rest, 2) if line]


def _parse_manifest_line(path: Path, number: int, text: str) -> ManifestLine:
    parts = text.split("\t")
    if (
        len(parts) != 4
        or not parts[0].isdecimal()
        or parts[1] not in {"written", "writing"}
        or "/" in parts[3]
    ):
        raise ValueError(
            f"{path}, line {number}: {text[:60]!r}; expected number, written, key and file, with tabs between"
        )
    return ManifestLine(int(parts[0]), parts[1] == "written", parts[2], parts[3])


def _write_manifest(root: Path, lines: list[ManifestLine]) -> None:
    write_atomically(root / MANIFEST, "\n".join([HEAD, *map(str, lines)]) + "\n", sole=True)


def ensure_folder(root: Path, parts: Sequence[str]) -> Path:
    """Return a folder below a project, created if needed; a link in its place is not followed. Raises OSError."""
    place = root
    for part in parts:
        place = place / part
        try:
            place.mkdir()
            sync_folder(place.parent)
        except FileExistsError:
            if not stat.S_ISDIR(place.lstat().st_mode):
                raise NotADirectoryError(
                    20, "not a folder of its own (links are not followed)", str(place)
                ) from None
    return place


def _shorten_name(name: str) -> str:
    return name.encode()[:MAX_NAME_LENGTH].decode("utf-8", "ignore")


@contextmanager
def _lock_manifest(root: Path) -> Iterator[None]:
    """Hold the exclusive right to the manifest; released when its holder dies. Raises TimeoutError."""
    descriptor = os.open(root / LOCK, os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o644)
    try:
        end = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                take_lock(descriptor)
                break
            except OSError as cause:
                if time.monotonic() >= end:
                    raise TimeoutError(
                        f"{root / LOCK} was held by others for {LOCK_SECONDS:.0f} s"
                    ) from cause
                time.sleep(POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)
