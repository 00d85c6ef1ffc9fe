"""Rendered things held against files: `MOOT_SNAPSHOTS=write pytest …` writes them anew, to be read before they are committed."""

import os
from pathlib import Path


def check_snapshot(path: Path, text: str) -> None:
    """The text is what the file holds, byte for byte."""
    if os.environ.get("MOOT_SNAPSHOTS") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    assert path.exists(), f"no snapshot {path.name}; write it with MOOT_SNAPSHOTS=write"
    assert text == path.read_bytes().decode(), (
        f"{path.name} differs; if that is meant, write it anew with MOOT_SNAPSHOTS=write"
    )
