"""What a ledger keeps that writes a register of heads and can be copied and archived, as tests.

class TestMyLedger(UpkeepContract, LastingLedgerContract):
    ...

`UpkeepContract` goes before the ledger's own contract, whose `open_ledger` it uses.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from moothall.codec.chain import HEADS, find_chain_fault
from moothall.domain.ids import SessionId
from moothall.domain.records import Head, RegisteredHead, StoredRecord
from moothall.errors import SeqConflict
from moothall.memory.register import HeadBook, open_head_register, register_heads
from moothall.ports.ledger import Ledger, LedgerUpkeep
from moothall_testkit.ledger_scenes import ONE, TWO, build_chain, expect_error, run_with_deadline


class FixedClock:
    """A clock that stands still."""

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)


def read_head(records: list[StoredRecord], session: SessionId) -> RegisteredHead:
    """The last record as the register names it."""
    return RegisteredHead(session, records[-1].seq, records[-1].hash.hex())


async def wait_for_register(ledger: Ledger, wanted: dict[SessionId, RegisteredHead]) -> HeadBook:
    """What the register says once it knows these heads; a ledger may write it a moment later."""
    while True:
        book = await open_head_register(ledger, FixedClock()).state()
        if book.heads == wanted:
            return book
        await asyncio.sleep(0.02)


class UpkeepContract:
    """One test per promise, over the ledgers of a `LedgerContract`."""

    def open_ledger(self) -> AbstractAsyncContextManager[Ledger]:
        """A ledger that holds nothing yet."""
        raise NotImplementedError

    def run_with_upkeep(
        self, body: Callable[[Ledger, LedgerUpkeep], Coroutine[Any, Any, None]]
    ) -> None:
        """Run a test's body over a fresh ledger."""

        async def work() -> None:
            async with self.open_ledger() as ledger:
                assert isinstance(ledger, LedgerUpkeep)
                await body(ledger, ledger)

        run_with_deadline(work())

    def test_every_opening_is_registered_and_the_chain_of_the_register_holds(self) -> None:
        async def body(ledger: Ledger, upkeep: LedgerUpkeep) -> None:
            one, two = build_chain(ONE, 3), build_chain(TWO, 1)
            await ledger.append(ONE, one)
            await ledger.append(TWO, two)
            await wait_for_register(ledger, {ONE: read_head(one, ONE), TWO: read_head(two, TWO)})
            assert find_chain_fault(HEADS, await ledger.read(HEADS)) is None

        self.run_with_upkeep(body)

    def test_what_is_written_is_registered_however_many_appends_it_took(self) -> None:
        async def body(ledger: Ledger, upkeep: LedgerUpkeep) -> None:
            records = build_chain(ONE, 300)
            for record in records:
                await ledger.append(ONE, [record])
            known = (await register_heads(ledger, FixedClock())).heads
            assert known == {ONE: read_head(records, ONE)}
            # Bursts share records of the register: it must not grow as fast as the session.
            assert len(await ledger.read(HEADS)) < 100

        self.run_with_upkeep(body)

    def test_the_register_is_in_no_list(self) -> None:
        async def body(ledger: Ledger, upkeep: LedgerUpkeep) -> None:
            begin = (await ledger.list_written()).position
            await ledger.append(ONE, build_chain(ONE, 1))
            await wait_for_register(ledger, {ONE: read_head(build_chain(ONE, 1), ONE)})
            assert [head.session for head in (*await ledger.heads(), *await ledger.heads("_"))] == [
                ONE
            ]
            assert (await ledger.list_written(begin)).sessions in (frozenset({ONE}), None)

        self.run_with_upkeep(body)

    def test_heads_are_written_down_beside_the_entries(self) -> None:
        async def body(ledger: Ledger, upkeep: LedgerUpkeep) -> None:
            records = build_chain(ONE, 5)
            await ledger.append(ONE, records[:2])
            await ledger.append(ONE, records[2:])
            await ledger.append(TWO, build_chain(TWO, 1))
            await wait_for_register(
                ledger, {ONE: read_head(records, ONE), TWO: read_head(build_chain(TWO, 1), TWO)}
            )
            report = await upkeep.inspect()
            assert report.faults == []
            assert report.heads is not None
            register = report.heads.pop(HEADS)
            assert register == (
                (await ledger.read(HEADS))[-1].seq,
                (await ledger.read(HEADS))[-1].hash,
            )
            assert report.heads == {
                ONE: (5, records[4].hash),
                TWO: (1, build_chain(TWO, 1)[0].hash),
            }
            assert (await upkeep.inspect(ONE)).heads == {ONE: (5, records[4].hash)}

        self.run_with_upkeep(body)

    def test_a_removed_session_leaves_its_id_taken_and_comes_back_only_as_it_was(self) -> None:
        async def body(ledger: Ledger, upkeep: LedgerUpkeep) -> None:
            records = build_chain(ONE, 4)
            await ledger.append(ONE, records)
            await ledger.append(TWO, build_chain(TWO, 2))
            await upkeep.remove([ONE])
            assert (await ledger.read(ONE), [head.session for head in await ledger.heads()]) == (
                [],
                [TWO],
            )
            assert await upkeep.list_removed() == [ONE]
            await expect_error(SeqConflict, ledger.append(ONE, build_chain(ONE, 1, "another")))
            await expect_error(SeqConflict, upkeep.put_back(ONE, records[:3]))
            await expect_error(SeqConflict, upkeep.put_back(ONE, build_chain(ONE, 4, "another")))
            await upkeep.put_back(ONE, records)
            await expect_error(SeqConflict, upkeep.put_back(ONE, records))
            assert (await ledger.read(ONE), await upkeep.list_removed()) == (records, [])

        self.run_with_upkeep(body)

    def test_a_reserved_id_is_taken_and_only_the_session_that_it_is_reserved_for_comes_back(
        self,
    ) -> None:
        async def body(ledger: Ledger, upkeep: LedgerUpkeep) -> None:
            records, others = build_chain(ONE, 4), build_chain(TWO, 2)
            await ledger.append(TWO, others)
            await upkeep.reserve({ONE: (4, records[3].hash), TWO: (9, records[3].hash)})
            assert (await upkeep.list_removed(), await ledger.read(TWO)) == ([ONE], others)
            assert (await upkeep.inspect(TWO)).heads == {TWO: (2, others[1].hash)}
            await expect_error(SeqConflict, ledger.append(ONE, build_chain(ONE, 1)))
            await expect_error(SeqConflict, upkeep.put_back(ONE, records[:3]))
            await upkeep.put_back(ONE, records)
            assert (await ledger.read(ONE), await upkeep.list_removed()) == (records, [])

        self.run_with_upkeep(body)

    def test_a_copy_is_a_ledger_of_one_moment(self) -> None:
        async def body(ledger: Ledger, upkeep: LedgerUpkeep) -> None:
            from moothall.ledgers.sqlite import SqliteLedger

            records = build_chain(ONE, 60)
            await ledger.append(ONE, records[:2])

            async def write() -> None:
                for record in records[2:]:
                    await ledger.append(ONE, [record])
                    await asyncio.sleep(0)

            writer = asyncio.create_task(write())
            with TemporaryDirectory() as folder:
                await upkeep.copy_to(Path(folder) / "copy.db")
                await writer
                async with SqliteLedger(Path(folder) / "copy.db", read_only=True) as copy:
                    copied = await copy.read(ONE)
                    assert copied == records[: len(copied)]
                    assert await copy.heads() == [Head(ONE, copied[0], copied[-1])]
                    report = await copy.inspect(ONE)
                    assert (report.faults, report.heads) == (
                        [],
                        {ONE: (len(copied), copied[-1].hash)},
                    )

        self.run_with_upkeep(body)
