"""Calls that share one round trip: what comes while one is under way goes together with the next."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

MAX_GROUP: Final = 500


class GroupedCalls(Generic[K, V]):
    """`perform` gets the arguments of all waiting calls, in order, and returns a result for each; its failure is that of all."""

    def __init__(self, perform: Callable[[list[K]], Awaitable[Sequence[V]]]) -> None:
        self._perform = perform
        self._waiting: list[tuple[K, asyncio.Future[V]]] = []
        self._task: asyncio.Task[None] | None = None

    def call(self, argument: K) -> "asyncio.Future[V]":
        """Have a call made, whether or not its result is waited for."""
        future: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        self._waiting.append((argument, future))
        if self._task is None:
            self._task = asyncio.create_task(self._perform_all())
        return future

    async def _perform_all(self) -> None:
        group: list[tuple[K, asyncio.Future[V]]] = []
        try:
            while self._waiting:
                group, self._waiting = self._waiting[:MAX_GROUP], self._waiting[MAX_GROUP:]
                await self._perform_group(group)
        finally:
            self._task = None
            # Only a loop that ends cancels this task: nobody is left waiting then.
            for _, future in [*group, *self._waiting]:
                future.cancel()

    async def _perform_group(self, group: "list[tuple[K, asyncio.Future[V]]]") -> None:
        try:
            results = await self._perform([argument for argument, _ in group])
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to those who called
            for _, future in group:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), result in zip(group, results, strict=True):
            # The caller may have stopped waiting.
            if not future.done():
                future.set_result(result)
