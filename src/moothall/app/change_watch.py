"""Waits for changes of sessions: however many wait for one session in this process, the ledger is asked once for all of them."""

import asyncio
from dataclasses import dataclass

from moothall.domain.ids import SessionId
from moothall.engine.engine import Engine


@dataclass(slots=True)
class _SharedWait:
    """The one wait for a session's next change after an entry, and how many share it."""

    after: int
    task: "asyncio.Task[int]"
    sharers: int = 0


class ChangeWatch:
    """The waits of one process. Whoever waits is released at once when `stopping` is set."""

    def __init__(self, engine: Engine, stopping: asyncio.Event) -> None:
        self._engine = engine
        self._stopping = stopping
        self._waits: dict[SessionId, _SharedWait] = {}

    async def wait(self, session: SessionId, after: int, timeout: float) -> bool:
        """Whether a session changed after an entry, within a time. Sometimes it only changed for somebody who shares the wait and
        knew less: whoever is told of a change looks again.
        """
        if self._stopping.is_set():
            return False
        shared = self._waits.get(session)
        if shared is None or shared.task.done():
            shared = _SharedWait(after, asyncio.create_task(self._wait_for_any(session, after)))
            self._waits[session] = shared
        elif after < shared.after:
            # Whoever began the wait knows a later entry than this.
            return True
        shared.sharers += 1
        try:
            done, _ = await asyncio.wait([shared.task], timeout=timeout)
            return bool(done) and not self._stopping.is_set() and shared.task.result() > 0
        finally:
            shared.sharers -= 1
            if not shared.sharers and not shared.task.done():
                shared.task.cancel()
            if not shared.sharers and self._waits.get(session) is shared:
                del self._waits[session]

    async def _wait_for_any(self, session: SessionId, after: int) -> int:
        """Wait for a change, or for the end of this process: 0."""
        changed = asyncio.create_task(self._engine.wait_for_change(session, after))
        stopped = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait([changed, stopped], return_when=asyncio.FIRST_COMPLETED)
            return changed.result() if changed.done() else 0
        finally:
            changed.cancel()
            stopped.cancel()
