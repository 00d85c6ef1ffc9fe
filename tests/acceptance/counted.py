"""A program that runs meetings in children which a test kills. Not a test: `test_crash.py` starts it.

    counted.py HOME

It begins in a process that has Moot loaded (see warm.py) and forks for every line on standard input, `SESSION LOG DIE_AT`, so
that a meeting is under way within milliseconds; it prints the child's process id, and its exit status when it is gone. The
child appends to the file LOG, durably, `asked ID` for each ask that a participant is called with, before it answers, and `kept
SEQ` for each entry that it learns of; at its ask number DIE_AT (0: never) it kills itself.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from moothall import EntryAdded, Moot, Seat
from moothall.app.seats import Seating
from moothall.domain.effects import Brief
from moothall.ports.participant import Answer, NoAnswer, OnText, Participant


class Log:
    """Lines that survive the process."""

    def __init__(self, path: Path, die_at: int) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._left = die_at

    def note(self, line: str) -> None:
        os.write(self._file, f"{line}\n".encode())
        os.fsync(self._file)

    def asked(self, ask: str) -> None:
        self.note(f"asked {ask}")
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


class Counted:
    """A participant whose calls are written down."""

    def __init__(self, inner: Participant, log: Log) -> None:
        self._inner = inner
        self._log = log

    async def ready(self) -> str | None:
        return await self._inner.ready()

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        self._log.asked(brief.ask.id)
        return await self._inner.respond(brief, on_text)


class CountedSeating(Seating):
    """Seats as they are, with their calls written down."""

    def __init__(self, home: Path, log: Log) -> None:
        super().__init__(home, {})
        self._log = log

    def __call__(self, seat: Seat) -> Participant | None:
        inner = super().__call__(seat)
        assert inner is not None
        return Counted(inner, self._log)


async def resume(home: Path, session: str, log: Log) -> None:
    """Go on with the session."""
    async with Moot(environ={"MOOT_HOME": str(home)}) as opened:
        opened.seating = CountedSeating(home, log)

        async def watch() -> None:
            async for event in opened.watch(session):
                if isinstance(event, EntryAdded):
                    log.note(f"kept {event.entry.seq}")

        watcher = asyncio.create_task(watch())
        await opened.run(session)
        await watcher


def serve(home: Path) -> None:
    """Fork a child for each line."""
    for line in sys.stdin:
        session, log, die_at = line.split()
        child = os.fork()
        if child == 0:
            asyncio.run(resume(home, session, Log(Path(log), int(die_at))))
            os._exit(0)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
