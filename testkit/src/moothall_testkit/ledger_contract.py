"""What every ledger keeps, as tests: subclass it in a test module, say how to open yours, and run pytest.

    class TestMyLedger(LedgerContract):
        def open_ledger(self) -> AbstractAsyncContextManager[Ledger]:
            return MyLedger()

`LastingLedgerContract` (`lasting_ledger_contract.py`) adds what holds for a ledger that outlives its handle. Neither checks what
happens when a process or a machine dies: that takes a process of one's own.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any

from moothall.domain.ids import SessionId
from moothall.domain.records import Head, NewestSessions, StoredRecord, WrittenSessions
from moothall.errors import SeqConflict, SessionBusy
from moothall.ports.ledger import Ledger
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


class LedgerContract:
    """One test per promise. pytest makes a new instance for each, so each has a ledger of its own."""

    def open_ledger(self) -> AbstractAsyncContextManager[Ledger]:
        """A ledger that holds nothing yet."""
        raise NotImplementedError

    def run_with_ledger(self, body: Callable[[Ledger], Coroutine[Any, Any, None]]) -> None:
        """Run a test's body over a fresh ledger."""

        async def work() -> None:
            async with self.open_ledger() as ledger:
                await body(ledger)

        run_with_deadline(work())

    # Order

    def test_records_come_back_in_order_and_equal(self) -> None:
        async def body(ledger: Ledger) -> None:
            records = build_chain(ONE, 6)
            for batch in (records[:1], records[1:2], records[2:5], records[5:]):
                await ledger.append(ONE, batch)
            assert await ledger.read(ONE) == records

        self.run_with_ledger(body)

    def test_reading_begins_behind_after_and_stops_at_the_limit(self) -> None:
        async def body(ledger: Ledger) -> None:
            records = build_chain(ONE, 5)
            await ledger.append(ONE, records)
            for after in range(7):
                assert await ledger.read(ONE, after) == records[after:]
                for limit in range(7):
                    assert await ledger.read(ONE, after, limit) == records[after : after + limit]

        self.run_with_ledger(body)

    def test_an_unknown_session_reads_as_empty(self) -> None:
        async def body(ledger: Ledger) -> None:
            await ledger.append(ONE, build_chain(ONE, 1))
            assert await ledger.read(TWO) == []
            assert await ledger.read(SessionId("on")) == []

        self.run_with_ledger(body)

    def test_appending_nothing_makes_no_session(self) -> None:
        async def body(ledger: Ledger) -> None:
            await ledger.append(ONE, [])
            assert await ledger.heads() == []
            assert await ledger.read(ONE) == []

        self.run_with_ledger(body)

    def test_what_was_read_is_the_readers_own(self) -> None:
        async def body(ledger: Ledger) -> None:
            records = build_chain(ONE, 2)
            given = list(records)
            await ledger.append(ONE, given)
            given.clear()
            (await ledger.read(ONE)).clear()
            assert await ledger.read(ONE) == records

        self.run_with_ledger(body)

    # Refusals

    def test_a_gap_within_a_batch_is_refused_and_leaves_no_trace(self) -> None:
        async def body(ledger: Ledger) -> None:
            first, second, third, fourth = build_chain(ONE, 4)
            for batch in ([first, third], [first, second, fourth], [first, first], [second, first]):
                await expect_error(SeqConflict, ledger.append(ONE, batch))
            assert await ledger.heads() == []
            await ledger.append(ONE, [first])
            await expect_error(SeqConflict, ledger.append(ONE, [second, fourth]))
            assert await ledger.read(ONE) == [first]

        self.run_with_ledger(body)

    def test_a_gap_behind_the_head_is_refused_and_leaves_no_trace(self) -> None:
        async def body(ledger: Ledger) -> None:
            records = build_chain(ONE, 5)
            await ledger.append(ONE, records[:2])
            error = await expect_error(SeqConflict, ledger.append(ONE, records[3:]))
            assert (error.session, error.expected, error.head) == (ONE, 3, 2)
            assert await ledger.read(ONE) == records[:2]
            await ledger.append(ONE, records[2:])
            assert await ledger.read(ONE) == records

        self.run_with_ledger(body)

    def test_a_session_begins_with_entry_one(self) -> None:
        async def body(ledger: Ledger) -> None:
            first, second = build_chain(ONE, 2)
            error = await expect_error(SeqConflict, ledger.append(ONE, [second]))
            assert (error.session, error.expected, error.head) == (ONE, 1, 0)
            await expect_error(SeqConflict, ledger.append(ONE, [first._replace(seq=0), first]))
            assert await ledger.heads() == []
            await ledger.append(ONE, [first])
            assert await ledger.read(ONE) == [first]

        self.run_with_ledger(body)

    def test_a_taken_seq_is_refused_and_the_loser_reads_the_winner(self) -> None:
        async def body(ledger: Ledger) -> None:
            mine, theirs = build_chain(ONE, 3, "mine"), build_chain(ONE, 3, "theirs")
            await ledger.append(ONE, mine[:2])
            error = await expect_error(SeqConflict, ledger.append(ONE, theirs[1:2]))
            assert (error.session, error.expected, error.head) == (ONE, 1, 2)
            assert await ledger.read(ONE, error.expected) == mine[1:2]
            await ledger.append(ONE, theirs[2:])
            assert await ledger.read(ONE) == [*mine[:2], theirs[2]]

        self.run_with_ledger(body)

    def test_a_batch_that_reaches_past_the_head_from_before_it_is_refused_whole(self) -> None:
        async def body(ledger: Ledger) -> None:
            records = build_chain(ONE, 4)
            await ledger.append(ONE, records[:2])
            await expect_error(SeqConflict, ledger.append(ONE, records))
            await expect_error(SeqConflict, ledger.append(ONE, records[1:]))
            assert await ledger.read(ONE) == records[:2]

        self.run_with_ledger(body)

    # Many at once

    def test_of_racing_writers_one_wins_each_seq_and_no_gap_is_left(self) -> None:
        async def body(ledger: Ledger) -> None:
            await race_writers([ledger] * 8)

        self.run_with_ledger(body)

    def test_two_appends_at_one_seq_at_once_are_one_append(self) -> None:
        async def body(ledger: Ledger) -> None:
            rivals = [build_chain(ONE, 2, f"rival-{number}") for number in range(20)]
            results = await asyncio.gather(
                *(ledger.append(ONE, rival) for rival in rivals), return_exceptions=True
            )
            won = [rival for rival, result in zip(rivals, results, strict=True) if result is None]
            assert [type(result) for result in results if result is not None] == [SeqConflict] * 19
            assert [await ledger.read(ONE)] == won

        self.run_with_ledger(body)

    def test_many_sessions_at_once_are_all_there_and_each_in_order(self) -> None:
        async def body(ledger: Ledger) -> None:
            wanted = {
                SessionId(f"s{number:03d}"): build_chain(SessionId(f"s{number:03d}"), 6)
                for number in range(200)
            }

            async def write(session: SessionId, records: list[StoredRecord]) -> None:
                for batch in (records[:1], records[1:3], records[3:4], records[4:]):
                    await ledger.append(session, batch)

            await asyncio.gather(*(write(session, records) for session, records in wanted.items()))
            assert {session: await ledger.read(session) for session in wanted} == wanted
            assert await ledger.heads() == [
                Head(session, records[0], records[-1]) for session, records in wanted.items()
            ]

        self.run_with_ledger(body)

    def test_a_refused_append_harms_none_of_those_beside_it(self) -> None:
        async def body(ledger: Ledger) -> None:
            await ledger.append(TWO, build_chain(TWO, 2))
            good = [SessionId(f"good-{number}") for number in range(40)]
            appends = [ledger.append(session, build_chain(session, 2)) for session in good]
            appends.insert(30, ledger.append(TWO, build_chain(TWO, 9)[5:]))
            appends.insert(20, ledger.append(TWO, build_chain(TWO, 1, "late")))
            appends.insert(
                10, ledger.append(SessionId("bad"), build_chain(SessionId("bad"), 3)[1:])
            )
            results = await asyncio.gather(*appends, return_exceptions=True)
            assert [index for index, result in enumerate(results) if result is not None] == [
                10,
                21,
                32,
            ]
            assert {type(results[index]) for index in (10, 21, 32)} == {SeqConflict}
            assert {session: await ledger.read(session) for session in good} == {
                s: build_chain(s, 2) for s in good
            }
            assert await ledger.read(TWO) == build_chain(TWO, 2)
            assert await ledger.read(SessionId("bad")) == []

        self.run_with_ledger(body)

    def test_a_reader_never_sees_half_a_batch(self) -> None:
        async def body(ledger: Ledger) -> None:
            records = build_chain(ONE, 60)

            async def write() -> None:
                for start in range(0, 60, 3):
                    await ledger.append(ONE, records[start : start + 3])

            writer = asyncio.create_task(write())
            seen: list[StoredRecord] = []
            while len(seen) < 60:
                seen = await ledger.read(ONE)
                assert len(seen) % 3 == 0
                assert seen == records[: len(seen)]
                await asyncio.sleep(0)
            await writer

        self.run_with_ledger(body)

    # Heads

    def test_heads_give_both_ends_of_each_session(self) -> None:
        async def body(ledger: Ledger) -> None:
            one, two = build_chain(ONE, 1), build_chain(TWO, 4)
            await ledger.append(TWO, two)
            await ledger.append(ONE, one)
            assert await ledger.heads() == [Head(ONE, one[0], one[0]), Head(TWO, two[0], two[3])]
            await ledger.append(TWO, build_chain(TWO, 5)[4:])
            assert await ledger.heads() == [
                Head(ONE, one[0], one[0]),
                Head(TWO, two[0], build_chain(TWO, 5)[4]),
            ]

        self.run_with_ledger(body)

    def test_the_newest_are_those_that_were_written_to_last(self) -> None:
        """In pages, without registers; of equally old ones the last by id comes first."""

        async def body(ledger: Ledger) -> None:
            assert await ledger.list_newest(5) == NewestSessions(0, [])
            for number in range(5):
                name = SessionId(f"s{number}")
                await ledger.append(name, build_chain(name, 2))
            register = SessionId("_register")
            await ledger.append(register, build_chain(register, 1))
            longest = build_chain(ONE, 4)
            await ledger.append(ONE, longest)
            newest = await ledger.list_newest(3)
            assert newest.total == 6
            assert newest.heads[0] == Head(ONE, longest[0], longest[3])
            listed = [head.session for head in newest.heads]
            listed += [head.session for head in (await ledger.list_newest(3, after=3)).heads]
            assert listed == [ONE, "s4", "s3", "s2", "s1", "s0"]
            assert await ledger.list_newest(3, after=6) == NewestSessions(6, [])
            assert await ledger.list_newest(0) == NewestSessions(6, [])

        self.run_with_ledger(body)

    def test_heads_are_ordered_by_id_as_bytes_are(self) -> None:
        async def body(ledger: Ledger) -> None:
            names = [
                "b",
                "a_b",
                "ab",
                "A",
                "a-b",
                "Z9",
                "a",
                "0",
                "aB",
                "a10",
                "a9",
                "think_20260101_010",
                "think_20260101_1000",
            ]
            for name in names:
                await ledger.append(SessionId(name), build_chain(SessionId(name), 1))
            assert [head.session for head in await ledger.heads()] == sorted(names)

        self.run_with_ledger(body)

    def test_a_prefix_selects_by_its_letters_and_has_no_wildcards(self) -> None:
        async def body(ledger: Ledger) -> None:
            for name in ("think_1", "think_2", "think-1", "thinkx1", "Think_1", "thin", "think_"):
                await ledger.append(SessionId(name), build_chain(SessionId(name), 1))
            selected = {
                prefix: [str(head.session) for head in await ledger.heads(prefix)]
                for prefix in ("think_", "think_2", "think_20", "Th", "%", "_", "thin?")
            }
            assert selected == {
                "think_": ["think_", "think_1", "think_2"],
                "think_2": ["think_2"],
                "think_20": [],
                "Th": ["Think_1"],
                "%": [],
                "_": [],
                "thin?": [],
            }

        self.run_with_ledger(body)

    # Waiting

    def test_changed_returns_the_head_when_it_is_past_already(self) -> None:
        async def body(ledger: Ledger) -> None:
            await ledger.append(ONE, build_chain(ONE, 3))
            assert [await ledger.wait_for_change(ONE, after) for after in range(3)] == [3, 3, 3]

        self.run_with_ledger(body)

    def test_changed_wakes_when_another_task_appends(self) -> None:
        async def body(ledger: Ledger) -> None:
            records = build_chain(ONE, 4)
            first = asyncio.create_task(ledger.wait_for_change(ONE, 0))
            await asyncio.sleep(0)
            await ledger.append(ONE, records[:1])
            assert await first == 1
            second = asyncio.create_task(ledger.wait_for_change(ONE, 1))
            await asyncio.sleep(0)
            await ledger.append(ONE, records[1:])
            assert await second == 4

        self.run_with_ledger(body)

    def test_changed_waits_for_its_own_session_and_its_own_place(self) -> None:
        async def body(ledger: Ledger) -> None:
            records = build_chain(ONE, 4)
            await ledger.append(ONE, records[:1])
            early, late = (
                asyncio.create_task(ledger.wait_for_change(ONE, after)) for after in (1, 3)
            )
            await ledger.append(TWO, build_chain(TWO, 5))
            assert await ledger.wait_for_change(TWO, 4) == 5
            assert (early.done(), late.done()) == (False, False)
            await ledger.append(ONE, records[1:2])
            assert await early == 2
            await ledger.append(ONE, records[2:3])
            assert await ledger.wait_for_change(ONE, 2) == 3
            assert not late.done()
            await ledger.append(ONE, records[3:])
            assert await late == 4

        self.run_with_ledger(body)

    def test_one_append_wakes_every_waiter_and_one_that_gave_up_bars_none(self) -> None:
        async def body(ledger: Ledger) -> None:
            waiters = [asyncio.create_task(ledger.wait_for_change(ONE, 0)) for _ in range(10)]
            await asyncio.sleep(0)
            waiters.pop(5).cancel()
            await ledger.append(ONE, build_chain(ONE, 2))
            assert await asyncio.gather(*waiters) == [2] * 9

        self.run_with_ledger(body)

    def test_a_refused_append_wakes_nobody(self) -> None:
        async def body(ledger: Ledger) -> None:
            records = build_chain(ONE, 5)
            await ledger.append(ONE, records[:1])
            waiter = asyncio.create_task(ledger.wait_for_change(ONE, 1))
            await expect_error(SeqConflict, ledger.append(ONE, records[3:]))
            assert await ledger.wait_for_change(ONE, 0) == 1
            assert not waiter.done()
            await ledger.append(ONE, records[1:2])
            assert await waiter == 2

        self.run_with_ledger(body)

    # Claims

    def test_what_was_written_since_a_position_is_told_once(self) -> None:
        async def body(ledger: Ledger) -> None:
            begin = (await ledger.list_written()).position
            await ledger.append(ONE, build_chain(ONE, 2))
            start = await wait_for_written(ledger, begin, {ONE})
            assert (await ledger.list_written()).sessions == frozenset()
            await ledger.append(TWO, build_chain(TWO, 1))
            after = await wait_for_written(ledger, start, {TWO})
            assert await ledger.list_written(after) == WrittenSessions(after, frozenset())

        self.run_with_ledger(body)

    def test_a_claim_is_exclusive_and_freed_on_exit(self) -> None:
        async def body(ledger: Ledger) -> None:
            async with ledger.claim(ONE):
                await expect_error(SessionBusy, enter_claim(ledger.claim(ONE)))
                await expect_error(SessionBusy, enter_claim(ledger.claim(ONE)))
            await enter_claim(ledger.claim(ONE))
            await enter_claim(ledger.claim(ONE))

        self.run_with_ledger(body)

    def test_a_claim_is_freed_by_an_exception_and_by_cancelling(self) -> None:
        async def body(ledger: Ledger) -> None:
            async def fail() -> None:
                async with ledger.claim(ONE):
                    raise SeqConflict(ONE, 1, 2)

            async def stay(held: asyncio.Event) -> None:
                async with ledger.claim(ONE):
                    held.set()
                    await asyncio.Event().wait()

            await expect_error(SeqConflict, fail())
            held = asyncio.Event()
            holder = asyncio.create_task(stay(held))
            await held.wait()
            await expect_error(SessionBusy, enter_claim(ledger.claim(ONE)))
            holder.cancel()
            await asyncio.wait([holder])
            assert holder.cancelled()
            await enter_claim(ledger.claim(ONE))

        self.run_with_ledger(body)

    def test_claims_of_other_sessions_and_appends_go_on_beside_a_claim(self) -> None:
        async def body(ledger: Ledger) -> None:
            async with ledger.claim(ONE), ledger.claim(TWO):
                await ledger.append(ONE, build_chain(ONE, 1))
                assert await ledger.wait_for_change(ONE, 0) == 1
                await expect_error(SessionBusy, enter_claim(ledger.claim(ONE)))
            assert await ledger.heads() == [Head(ONE, *build_chain(ONE, 1), *build_chain(ONE, 1))]

        self.run_with_ledger(body)

    def test_of_many_that_claim_at_once_one_holds_it(self) -> None:
        async def body(ledger: Ledger) -> None:
            await race_claims([ledger] * 12)

        self.run_with_ledger(body)

    # Bytes

    def test_bytes_come_back_exactly(self) -> None:
        async def body(ledger: Ledger) -> None:
            every = bytes(range(256))
            records = [
                StoredRecord(1, 0, every, every[:32]),
                StoredRecord(2, -62_135_596_800_000_000, b"\x00", bytes(32)),
                StoredRecord(3, 253_402_300_799_999_999, every[::-1] * 3, b"\xff" * 32),
                StoredRecord(4, 1, b"", b""),
                StoredRecord(5, 1, b"\xff\xfe invalid \xc3\x28 utf-8 \r\n", b"%s ? ' \" \\ ;"),
            ]
            await ledger.append(ONE, records)
            found = await ledger.read(ONE)
            assert found == records
            assert {tuple(type(field) for field in record) for record in found} == {
                (int, int, bytes, bytes)
            }
            assert {type(record) for record in found} == {StoredRecord}

        self.run_with_ledger(body)

    def test_text_of_every_script_comes_back_exactly(self) -> None:
        async def body(ledger: Ledger) -> None:
            texts = (
                "我们应该重写吗？",
                "שלום עולם",
                "e\u0301 é",
                "👩‍👩‍👧‍👦🏳️‍🌈",
                "\u202egnirts\u202c",
                "𝕞𝕠𝕠𝕥",
                "\u0000\u2028\ufeff",
            )
            records = [
                StoredRecord(seq, seq, text.encode(), bytes(32))
                for seq, text in enumerate(texts, 1)
            ]
            await ledger.append(ONE, records)
            assert [record.body.decode() for record in await ledger.read(ONE)] == list(texts)

        self.run_with_ledger(body)

    def test_a_body_of_a_megabyte_comes_back_whole(self) -> None:
        async def body(ledger: Ledger) -> None:
            large = bytes(range(256)) * 4_096 + "完".encode()
            records = [
                StoredRecord(seq, seq, large + bytes([seq]), bytes([seq]) * 32)
                for seq in range(1, 4)
            ]
            await ledger.append(ONE, records[:1])
            await ledger.append(ONE, records[1:])
            assert await ledger.read(ONE) == records
            assert await ledger.heads() == [Head(ONE, records[0], records[2])]

        self.run_with_ledger(body)
