"""Run a coroutine to its end from code that is not async, whether or not an event loop runs in this thread."""

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def run_blocking(work: Callable[[], Awaitable[T]]) -> T:
    """What the coroutine returns, or what it raises. Ctrl-C cancels it and waits until it has cleaned up."""

    async def run() -> T:
        return await work()

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(run())
    return _run_in_thread(run)


def _run_in_thread(run: Callable[[], Awaitable[T]]) -> T:
    # A loop cannot be entered twice: a notebook's own loop is busy with the cell that calls us, so another thread gets one.
    done: Future[T] = Future()
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]] = Future()

    async def main() -> None:
        task = asyncio.current_task()
        assert task is not None
        started.set_result((asyncio.get_running_loop(), task))
        try:
            done.set_result(await run())
        except BaseException as error:  # noqa: BLE001 - handed over to the thread that waits
            done.set_exception(error)

    context = contextvars.copy_context()
    thread = threading.Thread(target=lambda: context.run(asyncio.run, main()), name="moot", daemon=True)
    thread.start()
    try:
        return done.result()
    except BaseException:
        if not done.done():
            loop, task = started.result()
            loop.call_soon_threadsafe(task.cancel)
        raise
    finally:
        thread.join()
