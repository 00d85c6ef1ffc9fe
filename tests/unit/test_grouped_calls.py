"""Calls that share one round trip."""

import asyncio

import pytest

from moothall.engine.grouped_calls import GroupedCalls


class Service:
    """Doubles numbers; each round trip waits at the gate."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.asked: list[list[int]] = []
        self.calls = GroupedCalls(self._double)

    async def _double(self, numbers: list[int]) -> list[int]:
        self.asked.append(numbers)
        await self.gate.wait()
        if 13 in numbers:
            raise ValueError("13")
        return [2 * number for number in numbers]


async def put(service: Service, *numbers: int) -> "list[asyncio.Future[int]]":
    tasks = [asyncio.ensure_future(service.calls.call(number)) for number in numbers]
    for _ in range(3):
        await asyncio.sleep(0)
    return tasks


def test_what_comes_while_a_call_is_under_way_goes_together_with_the_next() -> None:
    async def work() -> None:
        service = Service()
        tasks = [*await put(service, 1), *await put(service, 2), *await put(service, 3, 4)]
        assert service.asked == [[1]]
        service.gate.set()
        assert await asyncio.gather(*tasks) == [2, 4, 6, 8]
        assert service.asked == [[1], [2, 3, 4]]

    asyncio.run(work())


def test_a_failure_is_that_of_its_group_alone_and_who_stops_waiting_disturbs_nobody() -> None:
    async def work() -> None:
        service = Service()
        first, second = await put(service, 13, 2)
        (third,) = await put(service, 3)
        (fourth,) = await put(service, 4)
        third.cancel()
        service.gate.set()
        for failed in (first, second):
            with pytest.raises(ValueError, match="13"):
                await failed
        assert await fourth == 8
        assert third.cancelled()
        assert await service.calls.call(5) == 10
        assert service.asked == [[13, 2], [3, 4], [5]]

    asyncio.run(work())
