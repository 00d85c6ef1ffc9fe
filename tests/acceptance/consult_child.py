"""Runs sessions, all at once, and dies by SIGKILL at one step of writing records: python consult_child.py STEP SESSION…

A record takes seven steps: the manifest under another name, the manifest in its place, the record under another name, the record
in its place, the manifest once more in two steps, and that the ledger hears of it. The process dies just before the step of this
number, counted over all records; 0 for never.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from moothall import Moot
from moothall.disk import private
from moothall.domain.consult import RecordFileRequest
from moothall.participants import director, record_writer

STEPS = 0


def main() -> None:
    die_at = int(sys.argv[1])
    sync, replace, recorded = os.fsync, Path.replace, record_writer.write_record

    def step() -> None:
        global STEPS  # noqa: PLW0603
        STEPS += 1
        if die_at == STEPS:
            os.kill(os.getpid(), signal.SIGKILL)

    def synced(descriptor: int) -> None:
        step()
        sync(descriptor)

    def replaced(path: Path, target: Path) -> Path:
        step()
        return replace(path, target)

    def told(request: RecordFileRequest) -> record_writer.ManifestLine:
        line = recorded(request)
        step()
        return line

    class Dying:
        """The module `os` as whoever writes files sees it."""

        fsync = staticmethod(synced)

        def __getattr__(self, name: str) -> object:
            return getattr(os, name)

    director.write_record = told  # type: ignore[attr-defined]
    private.os = Dying()  # type: ignore[assignment, attr-defined]
    record_writer.sync_folder = private.sync_folder = lambda folder: None  # type: ignore[attr-defined]
    Path.replace = replaced  # type: ignore[assignment, method-assign]
    asyncio.run(work(sys.argv[2:]))


async def work(sessions: list[str]) -> None:
    async with Moot() as moot:
        await asyncio.gather(*(moot.run(session) for session in sessions))


if __name__ == "__main__":
    main()
