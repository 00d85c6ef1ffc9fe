"""Atomic file writes: a reader sees the old file or the new one, never a part."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO


def write_atomically(path: Path, text: str, *, sole: bool = False) -> None:
    """Write a file as `replace_atomically` does."""
    with replace_atomically(path, sole=sole) as file:
        file.write(text)


@contextmanager
def replace_atomically(path: Path, *, sole: bool = False) -> Iterator[TextIO]:
    """Open a draft that replaces the file when it is written, durable on return; if writing fails, the old file stays.

    A symbolic link at `path` is replaced, not followed. Raises OSError.

    A `sole` writer, who holds a lock, reuses one fixed draft name and so removes what a crashed writer left behind.
    """
    # The draft lies in the same folder: a rename is atomic only within one file system.
    draft = path.with_name(f".{path.name[:80]}.new" if sole else f".moot-{secrets.token_hex(8)}")
    if sole:
        draft.unlink(missing_ok=True)
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
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
