"""A watchdog of the event loop: what held it up for a second is named, logged and counted."""

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from moothall.ports.telemetry import Counts

BEAT_SECONDS: Final = 0.2
STALL_SECONDS: Final = 1.0
"""From how long a standstill on it is named."""
BUSY_SHARE: Final = 0.3
"""Where the watching thread stood still as well: which share of that time this process must have computed, for it to be its own
fault. Less than that, and the machine slept, or ran other processes."""
MAX_NAME: Final = 100
_SOURCE: Final = str(Path(__file__).parent.parent)

log = logging.getLogger("moot")


class LoopWatch:
    """Watches one event loop from a thread of its own."""

    def __init__(self, loop: asyncio.AbstractEventLoop, counts: Counts) -> None:
        self._loop = loop
        self._counts = counts
        self._loop_thread = threading.get_ident()
        self._last_beat = time.monotonic()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="moot-loop-watch", daemon=True)
        self._next_beat: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._beat()
        self._thread.start()

    def stop(self) -> None:
        self._is_over.set()
        if self._next_beat is not None:
            self._next_beat.cancel()
        self._thread.join(timeout=STALL_SECONDS)

    def _beat(self) -> None:
        self._last_beat = time.monotonic()
        self._next_beat = self._loop.call_later(BEAT_SECONDS, self._beat)

    def _watch(self) -> None:
        looked, computed = time.monotonic(), time.process_time()
        stalled_at: float | None = None
        while not self._is_over.wait(BEAT_SECONDS):
            now, computed_now = time.monotonic(), time.process_time()
            gap, busy = now - looked, computed_now - computed
            looked, computed = now, computed_now
            beat = self._last_beat
            if stalled_at is not None:
                if beat > stalled_at:
                    self._count_stall(stalled_at, beat)
                    stalled_at = None
                continue
            if is_stalled(now - beat, gap, busy):
                stalled_at = beat
                self._log_stall(now - beat)

    def _log_stall(self, seconds: float) -> None:
        log.warning("the event loop has stood still for %.1f s: %s", seconds, self._describe_work())

    def _count_stall(self, since: float, until: float) -> None:
        seconds = until - since - BEAT_SECONDS
        self._counts.loop_stalls += 1
        self._counts.loop_stall_seconds += seconds
        log.warning("the event loop goes on after %.1f s", seconds)

    def _describe_work(self) -> str:
        """The call that holds the loop, and the place in Moot's own code."""
        task = asyncio.current_task(self._loop)
        name = "no task" if task is None else task.get_name()
        frame = sys._current_frames().get(self._loop_thread)
        return f"{clean_name(name)}, in {_name_place(frame)}"


def is_stalled(since_beat: float, gap: float, busy: float) -> bool:
    """Whether the loop stands still by its own work.

    `gap`: since the watching thread looked before; `busy`: what the process computed in it.

    A pattern that is matched lets no thread run: the watching thread stands still as well then, while the process computes.
    Where the process computed next to nothing, the machine slept or was taken by others.
    """
    if since_beat < STALL_SECONDS + BEAT_SECONDS:
        return False
    is_machine = gap >= STALL_SECONDS and busy < gap * BUSY_SHARE
    return not is_machine


def clean_name(name: str) -> str:
    """The name of a call as one short line: part of it may come from outside."""
    return ascii(name[:MAX_NAME])[1:-1]


def _name_place(frame: FrameType | None) -> str:
    while frame is not None:
        path = frame.f_code.co_filename
        if path.startswith(_SOURCE):
            module = path[len(_SOURCE) + 1 :].removesuffix(".py").replace("/", ".")
            return f"{module}.{frame.f_code.co_qualname}:{frame.f_lineno}"
        frame = frame.f_back
    return "no code of Moot"


@contextmanager
def watch_loop(counts: Counts) -> Iterator[None]:
    """Watch the loop that runs now, for as long as this holds."""
    watch = LoopWatch(asyncio.get_running_loop(), counts)
    watch.start()
    try:
        yield
    finally:
        watch.stop()
