"""Notices of two servers on one ledger, be it a file or PostgreSQL: each once, in order; demos are marked, the same answer is no
news."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import PostgresServer
from tests.support.receiver import receive_notices

from moothall import Moot
from moothall.app.recurring import open_again
from moothall.domain.effects import Brief
from moothall.features.notices import delivery as notices
from moothall.features.notices.receivers import Hook, change_hooks

SAID = ["keep"]


def answer(brief: Brief) -> object:
    return {"type": "propose", "text": f"We {SAID[0]} it.", "choice": SAID[0], "confidence": 0.8}


@pytest.fixture(params=["file", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with ExitStack() as stack:
        if request.param == "file":
            yield str(tmp_path / "ledger.db")
        else:
            server: PostgresServer = request.getfixturevalue("postgres_server")
            yield stack.enter_context(server.database())


@asynccontextmanager
async def serve(environ: dict[str, str]) -> AsyncIterator[Moot]:
    """A server, as far as notices go."""
    async with Moot(
        environ=environ, participants={"python:ada": answer, "python:bob": answer}
    ) as moot:
        task = asyncio.create_task(notices.serve_notices(moot))
        try:
            yield moot
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def test_two_servers_on_a_ledger_deliver_each_notice_once(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G-2, G-5, M-17: in the order of each session, also on PostgreSQL; what no mind said is marked, and only another answer is news."""
    monkeypatch.setattr(notices, "LOOK_SECONDS", 0.05)

    async def work(url: str, received: list[dict[str, Any]]) -> None:
        hook = Hook(
            id="h",
            url=url,
            secret="whsec_AAAA",
            since=datetime.now(UTC),
            page="http://x",
            is_private=True,
        )
        change_hooks(tmp_path / "home", lambda hooks: [hook])
        environ = {
            "MOOT_HOME": str(tmp_path / "home"),
            "HOME": str(tmp_path),
            "MOOT_LEDGER": address,
        }
        async with serve(environ) as one, serve(environ) as other:
            waits = await one.open(
                "Wait?", seats={"eve": "mailbox", "cem": "mailbox"}, protocol="debate"
            )
            await one.run(waits)
            await other.cancel(waits)
            demo = await other.open(
                "Shown?",
                seats={"eve": "mailbox", "cem": "mailbox"},
                protocol="debate",
                demo="shown",
            )
            await other.cancel(demo)
            toys = {"eve": "embedded", "cem": "embedded"}
            toy = await other.open("Toy?", seats=toys, protocol="debate", check=False)
            await other.cancel(toy)
            places = ["ada=python:ada", "bob=python:bob"]
            first = await one.open(
                "Keep it?", seats=places, protocol="debate", session="q", check=False
            )
            await one.run(first)
            for choice in ("keep", "drop", "drop"):
                SAID[0] = choice
                await one.run((await open_again(one, first)).session)
            async with asyncio.timeout(60):
                while not any(each["event"] == "changed" for each in received):  # noqa: ASYNC110 - another task fills it
                    await asyncio.sleep(0.02)
            # Time for what would be too many.
            await asyncio.sleep(0.5)
        assert max(Counter(each["id"] for each in received).values()) == 1
        by_session = {
            name: [each for each in received if each["session"] == name]
            for name in (waits, demo, toy, "q", "q-again-2")
        }
        assert [each["event"] for each in by_session[waits]] == ["turn", "turn", "decided"]
        (marked,) = by_session[demo]
        assert (
            marked["demo"],
            marked["text"].startswith("[Demo, written in advance] “Shown?”"),
        ) == ("shown", True)
        (marked,) = by_session[toy]
        assert (
            marked["standIn"],
            marked["text"].startswith("[The embedded model alone, no decision] “Toy?”"),
        ) == ("embedded", True)
        assert [each["event"] for each in by_session["q"]] == ["decided"]
        (changed,) = by_session["q-again-2"]
        assert (changed["event"], changed["demo"], changed["standIn"]) == ("changed", "", "")
        assert "changed: it was “keep”; now: " in changed["text"]
        assert ": drop. " in changed["text"]
        assert {each["session"] for each in received} == {waits, demo, toy, "q", "q-again-2"}

    SAID[0] = "keep"

    async def run() -> None:
        async with receive_notices() as receiver:
            await asyncio.wait_for(work(*receiver), 120)

    asyncio.run(run())
