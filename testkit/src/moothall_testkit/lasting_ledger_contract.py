"""What a ledger keeps that outlives its handle, as tests: subclass it in place of `LedgerContract`."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

from moothall.domain.ids import SessionId
from moothall.domain.records import Head
from moothall.errors import SeqConflict, SessionBusy
from moothall.ports.ledger import Ledger
from moothall_testkit.ledger_contract import LedgerContract
from moothall_testkit.ledger_scenes import (
    ONE,
    TWO,
    build_chain,
    enter_claim,
    expect_error,
    race_claims,
    race_writers,
    run_with_deadline,
    wait_for_written,
)


class LastingLedgerContract(LedgerContract):
    """What holds besides for a ledger that outlives its handle, and that several handles share."""

    def reopen_ledger(self) -> AbstractAsyncContextManager[Ledger]:
        """One more handle to the ledger that `open_ledger` opened, whether that is open still or not."""
        raise NotImplementedError

    def run_with_two_handles(
        self, body: Callable[[Ledger, Ledger], Coroutine[Any, Any, None]]
    ) -> None:
        """Run a test's body over two handles to a fresh ledger."""

        async def work() -> None:
            async with self.open_ledger() as ours, self.reopen_ledger() as theirs:
                await body(ours, theirs)

        run_with_deadline(work())

    def test_all_is_there_after_reopening_and_goes_on(self) -> None:
        async def work() -> None:
            records = build_chain(ONE, 8)
            for round_, handle in enumerate(
                (self.open_ledger, self.reopen_ledger, self.reopen_ledger, self.reopen_ledger)
            ):
                async with handle() as ledger:
                    assert await ledger.read(ONE) == records[: round_ * 2]
                    await expect_error(SeqConflict, ledger.append(ONE, records[round_ * 2 + 1 :]))
                    await ledger.append(ONE, records[round_ * 2 : round_ * 2 + 2])
            async with self.reopen_ledger() as ledger:
                assert await ledger.read(ONE) == records
                assert await ledger.heads() == [Head(ONE, records[0], records[7])]
                assert await ledger.wait_for_change(ONE, 7) == 8

        run_with_deadline(work())

    def test_each_handle_sees_at_once_what_the_other_wrote(self) -> None:
        async def body(ours: Ledger, theirs: Ledger) -> None:
            records = build_chain(ONE, 10)
            for writer, reader, seq in [
                (ours, theirs, 0),
                (theirs, ours, 2),
                (ours, theirs, 4),
                (theirs, ours, 6),
            ]:
                await writer.append(ONE, records[seq : seq + 2])
                assert await reader.read(ONE) == records[: seq + 2]
                assert await reader.heads() == [Head(ONE, records[0], records[seq + 1])]
                await expect_error(SeqConflict, reader.append(ONE, records[seq : seq + 2]))

        self.run_with_two_handles(body)

    def test_changed_wakes_when_another_handle_appends(self) -> None:
        async def body(ours: Ledger, theirs: Ledger) -> None:
            records = build_chain(ONE, 3)
            first = asyncio.create_task(ours.wait_for_change(ONE, 0))
            second = asyncio.create_task(ours.wait_for_change(ONE, 1))
            await theirs.append(TWO, build_chain(TWO, 2))
            assert await ours.wait_for_change(TWO, 0) == 2
            await theirs.append(ONE, records[:1])
            assert await first == 1
            assert not second.done()
            await theirs.append(ONE, records[1:])
            assert await second == 3

        self.run_with_two_handles(body)

    def test_what_another_handle_wrote_is_told(self) -> None:
        async def body(ours: Ledger, theirs: Ledger) -> None:
            start = (await ours.list_written()).position
            await theirs.append(ONE, build_chain(ONE, 1))
            await wait_for_written(ours, start, {ONE})

        self.run_with_two_handles(body)

    def test_a_claim_bars_every_other_handle_until_it_is_freed(self) -> None:
        async def body(ours: Ledger, theirs: Ledger) -> None:
            async with ours.claim(ONE):
                await expect_error(SessionBusy, enter_claim(theirs.claim(ONE)))
                async with theirs.claim(TWO):
                    await expect_error(SessionBusy, enter_claim(ours.claim(TWO)))
            async with theirs.claim(ONE):
                await expect_error(SessionBusy, enter_claim(ours.claim(ONE)))
            await enter_claim(ours.claim(ONE))

        self.run_with_two_handles(body)

    def test_of_many_handles_that_claim_at_once_one_holds_it(self) -> None:
        async def body(ours: Ledger, theirs: Ledger) -> None:
            await race_claims([ours, theirs] * 6)

        self.run_with_two_handles(body)

    def test_of_writers_that_race_through_two_handles_one_wins_each_seq(self) -> None:
        async def body(ours: Ledger, theirs: Ledger) -> None:
            await race_writers([ours, theirs] * 3)

        self.run_with_two_handles(body)

    def test_groups_of_two_handles_for_the_same_sessions_end_in_one_order(self) -> None:
        async def body(ours: Ledger, theirs: Ledger) -> None:
            sessions = [SessionId(f"s{number:02d}") for number in range(40)]
            mine = [ours.append(session, build_chain(session, 2, "mine")) for session in sessions]
            other = [
                theirs.append(session, build_chain(session, 2, "other"))
                for session in reversed(sessions)
            ]
            results = await asyncio.gather(*mine, *other, return_exceptions=True)
            assert {type(result) for result in results if result is not None} <= {SeqConflict}
            assert sum(result is None for result in results) == 40
            for session in sessions:
                assert await ours.read(session) in (
                    build_chain(session, 2, "mine"),
                    build_chain(session, 2, "other"),
                )
                assert await ours.read(session) == await theirs.read(session)

        self.run_with_two_handles(body)

    def test_a_ledger_is_opened_by_many_at_once(self) -> None:
        async def work() -> None:
            async with self.open_ledger(), AsyncExitStack() as stack:
                handles = await asyncio.gather(
                    *(stack.enter_async_context(self.reopen_ledger()) for _ in range(6))
                )
                await handles[0].append(ONE, build_chain(ONE, 1))
                assert [await handle.read(ONE) for handle in handles] == [build_chain(ONE, 1)] * 6

        run_with_deadline(work())
