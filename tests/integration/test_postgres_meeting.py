"""A whole meeting on a PostgreSQL ledger, seen from two connections."""

import asyncio
from pathlib import Path

import pytest

from moot import EntryAdded, Moot
from moot.engine.outside_answers import OutstandingAsk
from moot.errors import SessionBusy

ROOT = Path(__file__).resolve().parents[2]
SHIP = f"script:{ROOT / 'docs' / 'examples' / 'ship.toml'}"


def test_a_meeting_is_held_watched_and_replayed_on_postgresql(postgres_address: str, tmp_path: Path) -> None:
    """P-3, P-4, P-7, P-11: another process watches, puts in a word, and cannot run the same session at the same time."""
    environ = {"MOOT_HOME": str(tmp_path), "MOOT_LEDGER": postgres_address}

    async def work() -> None:
        async with asyncio.timeout(120), Moot(environ=environ) as moot, Moot(environ=environ) as other:
            session = await moot.open(
                "Should we ship on Friday?", seats={"ada": SHIP, "eve": "mailbox"}, settings={"blind": False}
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
            await other.answer(session, asks[0].ask.id, {"reaction_score": 0.1, "intent_to_speak": False})
            await other.cancel(session, "seen enough")
            decision = await running
            await follower
            assert decision.status == "cancelled"
            assert seen == list(range(1, len(seen) + 1))
            assert await other.verify(session) is None
            assert (await other.replay(session)).entries == len(seen)
            assert "The pager rang last week." in await other.export(session, "context")

    asyncio.run(work())
