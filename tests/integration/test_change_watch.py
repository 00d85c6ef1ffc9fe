"""Many who wait for one session: they share one wait, and one read of what is new."""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from moothall.app.deliberations import Deliberations
from moothall.app.moot import Moot
from moothall.domain.ids import SessionId
from moothall.domain.records import StoredRecord
from moothall.errors import LedgerUnavailable, UnknownSeat
from moothall.ledgers.memory import MemoryLedger
from moothall_testkit.counting_ledger import CountingLedger

NAMES = [f"agent{number:02}" for number in range(12)]
DEADLINE = 30


class DistantLedger(MemoryLedger):
    """Reads take a moment, in which others may read too; `is_away` says that its server is."""

    is_away = False

    async def read(
        self, session: SessionId, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        for _ in range(3):
            await asyncio.sleep(0)
        return await super().read(session, after, limit)

    async def wait_for_change(self, session: SessionId, after: int) -> int:
        if self.is_away:
            raise LedgerUnavailable("the ledger is away")
        return await super().wait_for_change(session, after)


def propose(number: int) -> dict[str, Any]:
    return {
        "type": "propose",
        "text": f"Proposal {number}.",
        "choice": f"way {number}",
        "confidence": 0.7,
    }


async def settle() -> None:
    """Let every task run until it waits."""
    for _ in range(100):
        await asyncio.sleep(0)


def hold(work: Callable[[Moot, DistantLedger, str], Awaitable[None]]) -> None:
    """Do it with a debate of twelve agents that has begun."""

    async def run() -> None:
        ledger = DistantLedger()
        async with asyncio.timeout(DEADLINE), Moot(environ={}, ledger=ledger) as moot:
            seats = dict.fromkeys(NAMES, "mailbox")
            await work(moot, ledger, await moot.open("Which way?", protocol="debate", seats=seats))

    asyncio.run(run())


def test_all_who_wait_for_their_turn_share_one_read_of_what_another_process_wrote() -> None:
    async def work(there: Moot, ledger: DistantLedger, session: str) -> None:
        for number, name in enumerate(NAMES[:-1]):
            await Deliberations(there).contribute(session, name, propose(number))
        counting = CountingLedger(ledger)
        async with Moot(environ={}, ledger=counting) as here:
            deliberations = Deliberations(here)
            waits = [
                asyncio.create_task(deliberations.wait(session, name, cursor=0))
                for name in NAMES[:-1]
            ]
            await settle()
            assert not any(wait.done() for wait in waits)
            before = counting.reads[session]
            await Deliberations(there).contribute(session, NAMES[-1], propose(11))
            turns = await asyncio.gather(*waits)
        assert {turn.status for turn in turns} == {"your_turn"}
        assert {len(turn.new) for turn in turns} == {len(NAMES)}
        assert counting.reads[session] - before == 1

    hold(work)


def test_who_gives_up_waiting_takes_nothing_from_the_others_and_leaves_nothing_behind() -> None:
    async def work(moot: Moot, ledger: DistantLedger, session: str) -> None:
        name, before = SessionId(session), len(asyncio.all_tasks())
        watch = Deliberations(moot)
        head = (await moot.engine.load_snapshot(name)).seq
        one, other = (
            asyncio.create_task(watch.wait_for_change(name, head, DEADLINE)) for _ in range(2)
        )
        assert not await watch.wait_for_change(name, head, 0.01)
        one.cancel()
        await settle()
        assert not other.done()
        # Whoever knows less than those who wait is told at once.
        assert await watch.wait_for_change(name, head - 1, DEADLINE)
        await Deliberations(moot).contribute(session, NAMES[0], propose(0))
        assert await other
        assert not await watch.wait_for_change(
            name, (await moot.engine.load_snapshot(name)).seq, 0.01
        )
        await settle()
        assert len(asyncio.all_tasks()) == before

    hold(work)


def test_the_end_of_the_process_and_an_outage_reach_all_who_wait() -> None:
    async def work(moot: Moot, ledger: DistantLedger, session: str) -> None:
        name, watch = SessionId(session), Deliberations(moot)
        head = (await moot.engine.load_snapshot(name)).seq
        ledger.is_away = True
        for failed in await asyncio.gather(
            *(watch.wait_for_change(name, head, DEADLINE) for _ in range(3)), return_exceptions=True
        ):
            assert isinstance(failed, LedgerUnavailable)
        ledger.is_away = False
        tasks = [asyncio.create_task(watch.wait_for_change(name, head, DEADLINE)) for _ in range(3)]
        await settle()
        watch.stopping.set()
        assert await asyncio.gather(*tasks) == [False, False, False]
        assert not await watch.wait_for_change(name, head, DEADLINE)

    hold(work)


def test_a_wait_that_is_broken_off_while_the_ledger_fails_is_no_fault_in_the_log() -> None:
    """D-5: a client that leaves is no traceback."""
    faults: list[dict[str, Any]] = []

    async def work(moot: Moot, ledger: DistantLedger, session: str) -> None:
        asyncio.get_running_loop().set_exception_handler(
            lambda loop, context: faults.append(context)
        )
        name, head = SessionId(session), (await moot.engine.load_snapshot(SessionId(session))).seq
        ledger.is_away = True
        for steps in range(9):
            for wait in (
                Deliberations(moot).wait_for_change(name, head, 9),
                moot.engine.wait_for_change(name, head),
            ):
                waiting = asyncio.ensure_future(wait)
                for _ in range(steps):
                    await asyncio.sleep(0)
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)
        gc.collect()

    hold(work)
    assert faults == []


def test_a_wait_for_a_seat_that_does_not_exist_is_refused_with_the_seats_that_do() -> None:
    async def work(moot: Moot, ledger: DistantLedger, session: str) -> None:
        with pytest.raises(
            UnknownSeat, match=r"'nobody' has no seat in .*; the seats are: agent00, agent01"
        ):
            await Deliberations(moot).wait(session, "nobody", timeout=5)

    hold(work)
