"""What every implementation of a provider's limits keeps, as tests: subclass it, say how to open yours, and run pytest."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any

from moothall.ports.participant import Allowance, LimitReport, ProviderLimits
from moothall_testkit.ledger_scenes import run_with_deadline

ONE, TWO = "openai/one", "openai/two"
Body = Callable[[ProviderLimits], Coroutine[Any, Any, None]]


async def take(
    limits: ProviderLimits,
    call: str,
    *,
    account: str = ONE,
    tokens: int = 10,
    lasts: float = 60.0,
    requests: float | None = None,
    tokens_a_minute: float | None = None,
    at_once: int | None = None,
    sessions: int | None = None,
    session: str = "",
) -> float:
    allowance = Allowance(
        requests=requests, tokens=tokens_a_minute, at_once=at_once, sessions=sessions
    )
    return await limits.take(
        account, call, tokens=tokens, allowance=allowance, lasts=lasts, session=session
    )


class LimitsContract:
    """One test per promise."""

    def open_limits(self) -> AbstractAsyncContextManager[ProviderLimits]:
        """Limits of which nothing is known yet."""
        raise NotImplementedError

    def play(self, body: Body) -> None:
        async def work() -> None:
            async with self.open_limits() as limits:
                await body(limits)

        run_with_deadline(work())

    def test_without_a_limit_everything_may_begin(self) -> None:
        async def body(limits: ProviderLimits) -> None:
            assert [await take(limits, f"c{n}", tokens=10**9) for n in range(50)] == [0.0] * 50

        self.play(body)

    def test_a_tenth_of_a_minute_may_be_spent_at_once_and_the_rest_flows_in(self) -> None:
        async def body(limits: ProviderLimits) -> None:
            waits = await asyncio.gather(*(take(limits, f"c{n}", requests=60) for n in range(20)))
            assert sum(wait == 0 for wait in waits) == 6
            # 54 a minute flow in: the next is there after at most 1.11 s.
            assert all(0.5 < wait < 1.2 for wait in waits if wait)
            await asyncio.sleep(1.2)
            assert await take(limits, "later", requests=60) == 0

        self.play(body)

    def test_tokens_are_counted_and_corrected_by_what_a_call_used(self) -> None:
        async def body(limits: ProviderLimits) -> None:
            assert await take(limits, "a", tokens=500, tokens_a_minute=6_000) == 0
            assert 0 < await take(limits, "b", tokens=500, tokens_a_minute=6_000) < 6
            await limits.finish(ONE, "a", tokens=-400)
            await limits.finish(ONE, "a", tokens=-400)
            assert await take(limits, "b", tokens=450, tokens_a_minute=6_000) == 0
            assert await take(limits, "c", tokens=400, tokens_a_minute=6_000) > 0

        self.play(body)

    def test_a_call_larger_than_the_share_begins_with_a_full_bucket(self) -> None:
        async def body(limits: ProviderLimits) -> None:
            assert await take(limits, "a", tokens=50_000, tokens_a_minute=6_000) == 0
            # Its debt is paid first.
            assert await take(limits, "b", tokens=1, tokens_a_minute=6_000) > 60

        self.play(body)

    def test_calls_at_once_are_freed_when_they_end_or_last_too_long(self) -> None:
        async def body(limits: ProviderLimits) -> None:
            assert await take(limits, "a", at_once=2) == 0
            assert await take(limits, "b", at_once=2, lasts=0.2) == 0
            assert await take(limits, "c", at_once=2) > 0
            await limits.finish(ONE, "a", tokens=0)
            assert await take(limits, "c", at_once=2) == 0
            # A worker that died never ends its call.
            await asyncio.sleep(0.25)
            assert await take(limits, "d", at_once=2) == 0

        self.play(body)

    def test_a_session_keeps_its_place_from_call_to_call_and_others_wait(self) -> None:
        async def body(limits: ProviderLimits) -> None:
            assert await take(limits, "a1", session="a", sessions=2) == 0
            assert await take(limits, "b1", session="b", sessions=2, lasts=0.2) == 0
            # As many calls of a session as are asked at once; a call of no session needs no place.
            assert await take(limits, "a2", session="a", sessions=2) == 0
            assert await take(limits, "probe", sessions=2) == 0
            assert await take(limits, "c1", session="c", sessions=2) > 0
            assert await take(limits, "other", session="c", sessions=2, account=TWO) == 0
            await limits.finish(ONE, "a1", tokens=0)
            await limits.finish(ONE, "a2", tokens=0)
            assert await take(limits, "c1", session="c", sessions=2) > 0
            # A worker that died never ends its call: its session has no place any more.
            await asyncio.sleep(0.25)
            assert await take(limits, "c1", session="c", sessions=2) == 0
            assert await take(limits, "b2", session="b", sessions=2) > 0
            assert await take(limits, "a3", session="a", sessions=2) == 0

        self.play(body)

    def test_what_the_provider_says_narrows_what_is_allowed(self) -> None:
        async def body(limits: ProviderLimits) -> None:
            assert await take(limits, "a", requests=600) == 0
            await limits.report(ONE, LimitReport(requests=20, requests_left=1))
            assert await take(limits, "b", requests=600) == 0
            assert await take(limits, "c", requests=600) > 1
            await limits.report(ONE, LimitReport(closed_for=30.0))
            assert 29 < await take(limits, "d", requests=600) <= 30

        self.play(body)

    def test_a_closed_account_opens_again_and_another_key_is_not_touched(self) -> None:
        async def body(limits: ProviderLimits) -> None:
            await limits.report(ONE, LimitReport(closed_for=0.3))
            assert 0 < await take(limits, "a") <= 0.3
            assert await take(limits, "a", account=TWO) == 0
            await asyncio.sleep(0.35)
            assert await take(limits, "b") == 0

        self.play(body)
