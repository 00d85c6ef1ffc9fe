"""Work on strangers' texts, on threads of its own: neither other work nor the end of the process waits for them."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def run_on_own_thread(work: Callable[[], T]) -> T:
    """Return what the work returns, or raise what it raises; where the caller is cancelled, the work is left to itself.

    A file may be a device that never ends: the threads of `asyncio.to_thread` are few, and the end of the process waits for them.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, cause: BaseException | None) -> None:
        if done.cancelled():
            return
        if cause is not None:
            done.set_exception(cause)
        else:
            done.set_result(result)  # type: ignore[arg-type]  # without a cause there is a result

    def run() -> None:
        result: T | None = None
        cause: BaseException | None = None
        try:
            result = work()
        except BaseException as raised:  # noqa: BLE001 - it is raised where it is waited for
            cause = raised
        # A loop that has ended waits for nothing.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, cause)

    threading.Thread(target=run, name="moot-reading", daemon=True).start()
    return await done
