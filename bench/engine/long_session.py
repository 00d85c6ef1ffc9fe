"""Writes a ledger with one persona meeting of 80,000 entries: `python -m bench.engine.long_session HOME`."""

import asyncio
import sys
from pathlib import Path

from bench.engine.commands import LONG_SESSION, LONG_TURNS
from bench.engine.peer_moot import engine_on, held, opened
from moothall.domain.ids import SessionId
from moothall.ledgers.memory import MemoryLedger
from moothall.ledgers.sqlite import SqliteLedger


async def write_long_session(home: Path) -> None:
    """Hold the meeting in memory, then write it in one append: its commits are measured elsewhere."""
    session, memory = SessionId(LONG_SESSION), MemoryLedger()
    engine = engine_on(memory)
    await held(engine, await engine.open(opened("persona", LONG_TURNS), session), 0.0)
    async with SqliteLedger(home / "ledger.db") as ledger:
        await ledger.append(session, await memory.read(session))


if __name__ == "__main__":
    asyncio.run(write_long_session(Path(sys.argv[1])))
