"""A scripted seat whose answers run out says nothing where silence is an answer, and passes where Moot takes one."""

import asyncio
from pathlib import Path

import pytest
from tests.support.outages import DEADLINE

from moothall.app.moot import Moot
from moothall.domain.facts import Reply, SeatLost
from moothall.domain.ids import parse_session_id


@pytest.mark.parametrize(
    ("protocol", "lost"),
    [("swarm", set()), ("debate", set()), ("consensus", set()), ("advisory", {"ada"})],
)
def test_a_script_that_holds_nothing_is_silent(
    tmp_path: Path, protocol: str, lost: set[str]
) -> None:
    """M-1: silence is no malformed answer, whatever the schema of the ask needs; only the owner of a decision cannot pass."""
    script = tmp_path / "empty.toml"
    script.write_text("", encoding="utf-8")

    async def work() -> None:
        environ = {"MOOT_HOME": str(tmp_path), "MOOT_LEDGER": "memory:"}
        async with asyncio.timeout(DEADLINE), Moot(environ=environ) as moot:
            seats = dict.fromkeys(("ada", "bob", "cem"), f"script:{script}")
            session = await moot.open("Which database?", protocol=protocol, seats=seats, seed=7)
            await moot.run(session)
            facts = [entry.fact for entry in await moot.engine.entries(parse_session_id(session))]
        losses = [fact for fact in facts if isinstance(fact, SeatLost)]
        assert {fact.seat for fact in losses} == lost
        silent = {fact.ask.split(".")[1] for fact in facts if isinstance(fact, Reply)}
        assert silent == ({"explore"} if protocol == "swarm" else {"propose"})

    asyncio.run(work())
