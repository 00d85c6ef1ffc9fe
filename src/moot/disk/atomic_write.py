"""Writing a file as a whole: a reader finds the old one or the new one, never a half."""

import os
import secrets
from contextlib import suppress
from pathlib import Path


def write_atomically(path: Path, text: str, *, sole: bool = False) -> None:
    """Write a file, durable on return; a link in its place is replaced, not followed. Raises OSError.

    The `sole` writer, who holds a lock, takes up what another left behind that died over it.
    """
    draft = path.with_name(f".{path.name[:80]}.new" if sole else f".moot-{secrets.token_hex(8)}")
    if sole:
        draft.unlink(missing_ok=True)
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make what was renamed or made in a folder durable."""
    if os.name == "nt":  # pragma: no cover - a folder cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
