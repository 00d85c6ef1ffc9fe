"""How a signal ends a command: first in order, and after some seconds in any case."""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import FrameType
from typing import Any, Final, TypeVar

END_SECONDS: Final = 8.0
"""How long a command that is stopped may take to clean up."""
SAY_SECONDS: Final = 1.0
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
NO_WAKEUP: Final = -1

T = TypeVar("T")


class EndWatch:
    """Ends this process if it has not ended in time: threads cannot be stopped, and one may read a device for ever.

    What is recorded is on disk by then, as after a power cut. `say` prints what is said at such an end.
    """

    def __init__(self, say: Callable[[], None]) -> None:
        self._say = say
        self._code = 0
        self._stop: Callable[[], None] = _do_nothing
        self._is_begun = False
        self._is_over = threading.Event()
        self._former_wakeup: int | None = None
        self._heard, self._sent = socket.socketpair()
        self._sent.setblocking(False)
        # Started now: a signal may come while another thread is being started.
        threading.Thread(target=self._watch, name="moot-end", daemon=True).start()

    def listen(self, code: int, stop: Callable[[], None]) -> None:
        """Let the first signal call `stop` and begin the count, whatever the main thread does.

        A handler of Python's runs in the main thread alone, and a read that the signal came just before goes on there.
        """
        self._code = code
        self._stop = stop
        # Outside of the main thread no signal arrives.
        with suppress(ValueError):
            self._former_wakeup = signal.set_wakeup_fd(
                self._sent.fileno(), warn_on_full_buffer=False
            )

    def begin(self, code: int) -> None:
        """Count from now, also where the event loop stands still; after that the process ends with this code."""
        self._code = code
        self._is_begun = True
        self._wake()

    def end(self) -> None:
        """Watch no longer: everything was cleaned up."""
        if self._former_wakeup is not None:
            _restore_wakeup(self._former_wakeup)
        self._is_over.set()
        self._wake()

    def _wake(self) -> None:
        # Closed already, or full of signals, each of which wakes it.
        with suppress(OSError):
            self._sent.send(b"\0")

    def _watch(self) -> None:
        self._wait_for_stop()
        if self._is_over.wait(END_SECONDS):
            self._heard.close()
            self._sent.close()
            return
        # Where nobody reads the output, printing waits for ever too.
        speaker = threading.Thread(target=self._say, daemon=True)
        speaker.start()
        speaker.join(SAY_SECONDS)
        os._exit(self._code)

    def _wait_for_stop(self) -> None:
        while not self._is_begun and not self._is_over.is_set():
            number = self._heard.recv(1)[0]
            if number in SIGNALS:
                self._stop()
                return


def _restore_wakeup(former: int) -> None:
    try:
        signal.set_wakeup_fd(former)
    except OSError:
        # Whoever had set it has closed it since.
        signal.set_wakeup_fd(NO_WAKEUP)


def _do_nothing() -> None:
    return None


async def run_until_stopped(work: Awaitable[T], watch: EndWatch, code: int) -> T:
    """Return what the work returns; the first signal cancels it, and a second one acts as if nothing caught it."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)

    def cancel() -> None:
        # Once: a second time would break off what cleans up.
        if not task.cancelling():
            task.cancel()

    def stop() -> None:
        # A loop that is closed has nothing left to stop.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(cancel)

    def handle(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        watch.begin(code)
        stop()

    # Not by the loop: it hears of no signal while a call of its own blocks.
    for number in SIGNALS:
        with suppress(ValueError):
            signal.signal(number, handle)
    watch.listen(code, stop)
    return await task


def restore_signals(before: dict[signal.Signals, Any]) -> None:
    """Let signals act as before; `get_signals` returns how."""
    for number, handler in before.items():
        # Outside of the main thread there was nothing to set; None is a handler that is not Python's.
        with suppress(ValueError, TypeError):
            signal.signal(number, handler)


def get_signals() -> dict[signal.Signals, Any]:
    return {number: signal.getsignal(number) for number in SIGNALS}
