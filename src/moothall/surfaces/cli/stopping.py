"""How a signal ends a command: first in order, and after some seconds in any case."""

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import FrameType
from typing import Any, Final, TypeVar

END_SECONDS: Final = 8.0
"""How long a command that is stopped may take to clean up."""
SAY_SECONDS: Final = 1.0
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)

T = TypeVar("T")


class EndWatch:
    """Ends this process if it has not ended in time: threads cannot be stopped, and one may read a device for ever.

    What is recorded is on disk by then, as after a power cut. `say` prints what is said at such an end.
    """

    def __init__(self, say: Callable[[], None]) -> None:
        self._say = say
        self._code = 0
        self._begun = threading.Event()
        self._is_over = threading.Event()
        # Started now: a signal may come while another thread is being started.
        threading.Thread(target=self._watch, name="moot-end", daemon=True).start()

    def begin(self, code: int) -> None:
        """Count from now, also where the event loop stands still; after that the process ends with this code."""
        self._code = code
        self._begun.set()

    def end(self) -> None:
        """Watch no longer: everything was cleaned up."""
        self._is_over.set()
        self._begun.set()

    def _watch(self) -> None:
        self._begun.wait()
        if self._is_over.wait(END_SECONDS):
            return
        # Where nobody reads the output, printing waits for ever too.
        speaker = threading.Thread(target=self._say, daemon=True)
        speaker.start()
        speaker.join(SAY_SECONDS)
        os._exit(self._code)


async def run_until_stopped(work: Awaitable[T], watch: EndWatch, code: int) -> T:
    """Return what the work returns; the first signal cancels it, and a second one acts as if nothing caught it."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        watch.begin(code)
        loop.call_soon_threadsafe(task.cancel)

    # Not by the loop: it hears of no signal while a call of its own blocks.
    for number in SIGNALS:
        with suppress(ValueError):
            signal.signal(number, stop)
    return await task


def restore_signals(before: dict[signal.Signals, Any]) -> None:
    """Let signals act as before; `get_signals` returns how."""
    for number, handler in before.items():
        # Outside of the main thread there was nothing to set; None is a handler that is not Python's.
        with suppress(ValueError, TypeError):
            signal.signal(number, handler)


def get_signals() -> dict[signal.Signals, Any]:
    return {number: signal.getsignal(number) for number in SIGNALS}
