"""A whole meeting on a PostgreSQL ledger, seen from two connections."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import pytest
from bench.scale.counted_worker import PLATFORM, CountedParticipant

from moothall import EntryAdded, Moot
from moothall.domain.ids import SessionId
from moothall.domain.records import StoredRecord
from moothall.engine.outside_answers import OutstandingAsk
from moothall.errors import SessionBusy
from moothall.ledgers.postgres import PostgresLedger

ROOT = Path(__file__).resolve().parents[2]
SHIP = f"script:{ROOT / 'docs' / 'examples' / 'ship.toml'}"


def test_a_meeting_is_held_watched_and_replayed_on_postgresql(
    postgres_address: str, tmp_path: Path
) -> None:
    """P-3, P-4, P-7, P-11: another process watches, puts in a word, and cannot run the same session at the same time."""
    environ = {"MOOT_HOME": str(tmp_path), "MOOT_LEDGER": postgres_address}

    async def work() -> None:
        async with (
            asyncio.timeout(120),
            Moot(environ=environ) as moot,
            Moot(environ=environ) as other,
        ):
            session = await moot.open(
                "Should we ship on Friday?",
                seats={"ada": SHIP, "eve": "mailbox"},
                settings={"blind": False},
            )
            running = asyncio.create_task(moot.run(session, wait=True))
            seen: list[int] = []

            async def follow() -> None:
                async for event in other.watch(session):
                    assert isinstance(event, EntryAdded)
                    seen.append(event.entry.seq)

            follower = asyncio.create_task(follow())
            asks: list[OutstandingAsk] = []
            while not asks:
                asks = [each for each in await other.asks(session) if each.ask.seat == "eve"]
                await asyncio.sleep(0.02)
            with pytest.raises(SessionBusy):
                await other.run(session)
            assert await other.give_input(session, "The pager rang last week.") is not None
            await other.answer(
                session, asks[0].ask.id, {"reaction_score": 0.1, "intent_to_speak": False}
            )
            await other.cancel(session, "seen enough")
            decision = await running
            await follower
            assert decision.status == "cancelled"
            assert seen == list(range(1, len(seen) + 1))
            assert await other.verify(session) is None
            assert (await other.replay(session)).entries == len(seen)
            assert "The pager rang last week." in await other.export(session, "context")

    asyncio.run(work())


class CountedLedger(PostgresLedger):
    """Counts how often sessions are read."""

    reads = 0

    async def read(
        self, session: SessionId, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        self.reads += not session.startswith("_")
        return await super().read(session, after, limit)


def test_a_run_reads_what_others_write_and_not_what_it_wrote_itself(
    postgres_address: str, tmp_path: Path
) -> None:
    """N-1: a step costs one append; an input from another process is heard all the same."""
    environ = {"MOOT_HOME": str(tmp_path), "MOOT_LEDGER": postgres_address}
    participants = {PLATFORM: CountedParticipant(os.devnull, 0.3)}
    seats = {"ada": PLATFORM, "bob": PLATFORM}

    async def work() -> None:
        async with (
            asyncio.timeout(60),
            CountedLedger(postgres_address) as ledger,
            Moot(environ=environ, ledger=ledger, participants=participants) as moot,
            Moot(environ=environ) as other,
        ):
            alone, disturbed = [
                await moot.open("Yes?", seats=seats, protocol="debate", memory=False)
                for _ in range(2)
            ]
            loaded = [await moot.engine.load_snapshot(session) for session in (alone, disturbed)]
            ledger.reads = 0
            assert (await moot.engine.run(alone, moot.seating, loaded=loaded[0])).is_closed
            assert ledger.reads == 0
            running = asyncio.create_task(
                moot.engine.run(disturbed, moot.seating, loaded=loaded[1])
            )
            await ledger.wait_for_change(disturbed, 1)
            assert await other.give_input(disturbed, "The pager rang last week.") is not None
            assert (await running).is_closed
            assert ledger.reads == 1
            assert await other.verify(disturbed) is None

    asyncio.run(work())


def test_a_claim_that_nobody_waits_for_any_more_is_free(postgres_address: str) -> None:
    """P-7: also when it was given up while the server was being asked for it."""
    session = SessionId("s1")

    async def claim(ledger: PostgresLedger) -> None:
        async with ledger.claim(session):
            await asyncio.Event().wait()

    async def work() -> None:
        async with (
            asyncio.timeout(60),
            PostgresLedger(postgres_address) as ours,
            PostgresLedger(postgres_address) as theirs,
        ):
            for turns in range(8):
                claiming = asyncio.create_task(claim(ours))
                for _ in range(turns):
                    await asyncio.sleep(0)
                claiming.cancel()
                await asyncio.gather(claiming, return_exceptions=True)
                while True:
                    with suppress(SessionBusy):
                        async with theirs.claim(session):
                            break
                    await asyncio.sleep(0.01)

    asyncio.run(work())


def test_a_group_of_many_sessions_keeps_every_byte_of_each(postgres_address: str) -> None:
    """P-3: batches of different lengths, empty and long bodies, hashes of any length: what one transaction takes is read back."""
    every = bytes(range(256))
    wanted = {
        SessionId(f"s{number}"): [
            StoredRecord(
                seq,
                -number * seq,
                every[: (number * 37 + seq) % 257] * (seq - 1),
                every[:: number + 1],
            )
            for seq in range(1, 2 + number % 4)
        ]
        for number in range(120)
    }

    async def work() -> None:
        async with asyncio.timeout(60), PostgresLedger(postgres_address) as ledger:
            await asyncio.gather(
                *(ledger.append(session, records) for session, records in wanted.items())
            )
            assert {session: await ledger.read(session) for session in wanted} == wanted
            heads = {
                session: (records[-1].seq, records[-1].hash) for session, records in wanted.items()
            }
            found = (await ledger.inspect()).heads or {}
            assert {session: found[session] for session in wanted} == heads

    asyncio.run(work())
