"""Notices changes in a folder without constant polling."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from watchfiles import Change, awatch

LOOK_SECONDS: Final = 3.0
"""How often a folder is polled if its file system reports no changes; one poll reads a handful of files."""

QUIET_MILLISECONDS: Final = 100
_OWN: Final = frozenset({".moot", "aside"})


async def watch_changes(folder: Path, look_seconds: float = LOOK_SECONDS) -> AsyncIterator[None]:
    """Yield whenever something may have changed: at once if the file system reports it, else every few seconds."""

    def is_theirs(change: Change, path: str) -> bool:
        parts = Path(path).relative_to(folder).parts
        return not parts or (parts[0] not in _OWN and not parts[-1].startswith("."))

    yield
    while True:
        # It fails on names that are not valid text, on too many watches, and when the folder disappears.
        with suppress(Exception):
            async for _ in awatch(
                folder,
                watch_filter=is_theirs,
                debounce=QUIET_MILLISECONDS,
                step=QUIET_MILLISECONDS // 2,
                rust_timeout=round(look_seconds * 1_000),
                yield_on_timeout=True,
                recursive=False,
            ):
                yield
        await asyncio.sleep(look_seconds)
        yield
