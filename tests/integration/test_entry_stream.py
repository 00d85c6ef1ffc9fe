"""The stream of one session's entries: read once for everybody, bounded, resumed without loss (D-18, W-9)."""

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

from tests.integration.test_stream import OWNER, Stage, staged, until

from moothall.domain.ids import SessionId
from moothall.surfaces.api.method import Caller
from moothall.surfaces.http.entry_stream import EntryHub
from moothall_testkit.ledger_scenes import run_with_deadline


async def follow(
    stage: Stage, hub: EntryHub, session: SessionId, after: int = 0
) -> AsyncIterator[bytes]:
    snapshot = await stage.context.moot.engine.load_snapshot(session)
    async for data in hub.read(snapshot, after, OWNER, ""):
        yield data


def list_ids(data: bytes) -> list[int]:
    return [int(line[4:]) for line in data.split(b"\n") if line.startswith(b"id: ")]


async def has_all(got: list[bytes], entries: int) -> bool:
    return all(len(list_ids(data)) >= entries for data in got)


async def speak(stage: Stage, session: SessionId, times: int) -> None:
    for number in range(times):
        await stage("moot.giveInput", sessionId=session, text=f"word {number}")


def test_however_many_follow_a_session_its_entries_are_read_as_often(tmp_path: Path) -> None:
    """D-18, W-9: all get every entry, and one more reader costs no read of an entry that is written while it looks."""

    async def count(readers: int, home: Path) -> tuple[int, list[bytes]]:
        async with staged(home) as stage, asyncio.TaskGroup() as group:
            hub, session = EntryHub(stage.context), await stage.open()
            running = group.create_task(hub.run())
            await asyncio.sleep(0)
            got = [b""] * readers

            async def read(place: int) -> None:
                async for data in follow(stage, hub, session):
                    got[place] += data

            reading = [group.create_task(read(place)) for place in range(readers)]
            await until(partial(has_all, got, 2))
            before = stage.ledger.reads[session]
            for told in range(3, 8):
                await speak(stage, session, 1)
                await until(partial(has_all, got, told))
            reads = stage.ledger.reads[session] - before
            for task in (*reading, running):
                task.cancel()
            return reads, got

    async def work() -> None:
        one, _ = await count(1, tmp_path / "one")
        many, got = await count(40, tmp_path / "many")
        assert many == one
        assert len(set(got)) == 1
        assert list_ids(got[0]) == list(range(1, 8))

    run_with_deadline(work())


def test_a_slow_reader_is_cut_off_and_misses_nothing_when_it_comes_back(tmp_path: Path) -> None:
    """D-16, D-18: its queue is bounded, the others go on; with the number of its last entry it gets exactly the rest."""

    async def work() -> None:
        async with staged(tmp_path) as stage, asyncio.TaskGroup() as group:
            hub, session = EntryHub(stage.context, queue=8), await stage.open()
            running = group.create_task(hub.run())
            await asyncio.sleep(0)
            slow, quick = follow(stage, hub, session), follow(stage, hub, session)
            begun = await anext(slow)
            seen = list_ids(begun)
            await anext(slow)
            told = list_ids(await anext(quick))
            reading = group.create_task(collect(quick, told, until=42))
            for last in range(4, 43, 2):
                await speak(stage, session, 2)
                await until(partial(has_reached, told, last))
            await reading
            assert told == list(range(1, 43))
            # What waited is sent, up to the bound; then the stream ends, and says nothing of the session's end.
            async for data in slow:
                assert b"event: end" not in data
                seen += list_ids(data)
            assert seen == list(range(1, len(seen) + 1))
            assert len(seen) < 15
            back = follow(stage, hub, session, after=seen[-1])
            await collect(back, seen, until=42)
            assert seen == list(range(1, 43))
            await stage("cstp.closeDeliberation", deliberationId=session, force=True)
            rest = b"".join([data async for data in back])
            assert rest.endswith(b"event: end\ndata: {}\n\n")
            over = b"".join([data async for data in follow(stage, hub, session, after=10_000)])
            assert over == b"event: end\ndata: {}\n\n"
            running.cancel()

    run_with_deadline(work())


async def has_reached(ids: list[int], last: int) -> bool:
    return ids[-1] >= last


async def collect(stream: AsyncIterator[bytes], into: list[int], until: int) -> None:
    while not into or into[-1] < until:
        into += list_ids(await anext(stream))


def test_a_sealed_entry_reads_otherwise_for_its_author(tmp_path: Path) -> None:
    """D-19: everybody else learns that somebody wrote, live and from the ledger."""

    async def work() -> None:
        async with staged(tmp_path) as stage, asyncio.TaskGroup() as group:
            hub, session = EntryHub(stage.context), await stage.open()
            running = group.create_task(hub.run())
            await asyncio.sleep(0)
            snapshot = await stage.context.moot.engine.load_snapshot(session)
            ada = Caller(role="seat", session=session, seat="ada", token="t")
            streams = [hub.read(snapshot, 2, caller, "") for caller in (OWNER, ada)]
            firsts = [asyncio.ensure_future(anext(stream)) for stream in streams]
            await asyncio.gather(*firsts)
            await stage.propose(session, "ada", "the-secret-plan")
            live = [await anext(stream) for stream in streams]
            again = [await anext(hub.read(snapshot, 2, caller, "")) for caller in (OWNER, ada)]
            for told in (live, again):
                assert [b"the-secret-plan" in data for data in told] == [False, True]
                assert json.loads(told[0].split(b"data: ")[1])["what"]["sealed"] is True
            running.cancel()

    run_with_deadline(work())
