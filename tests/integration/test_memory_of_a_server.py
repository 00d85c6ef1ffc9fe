"""What a server keeps of sessions that have ended: a line of decision memory, and nothing else."""

import asyncio
import gc
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from moothall import Moot
from moothall.memory.facts import DecisionRecorded
from moothall.memory.tokens import load_owner_key
from moothall.surfaces.http.app import build_app
from moothall_testkit.ledger_scenes import run_with_deadline

FEW = 4
"""How many sessions each bounded cache may hold here."""
CACHES = (
    "moothall.engine.sessions.KNOWN_SESSIONS",
    "moothall.app.session_reader.MAX_LIVE",
    "moothall.app.session_list.MAX_CACHED_BYTES",
    "moothall.surfaces.api.page.MAX_VIEWS",
    "moothall.ledgers.sqlite.MAX_HEADS",
    "moothall.protocols.council.validation.CACHED_STATES",
)
TRIES = 200
REMEMBERED = ("RememberedDecision", "DecisionRecorded")
"""The objects that decision memory has for a session, one of each; the members of all decisions are shared."""


WORDS = "Yes, it is."
"""What each session argues: the process may hold records of other tests."""


async def hold_sessions(client: httpx2.AsyncClient, count: int) -> list[str]:
    """Open, speak in, view and close so many sessions over JSON-RPC; their ids."""

    async def call(method: str, **params: Any) -> Any:
        answer = await client.post(
            "/rpc", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        )
        return answer.json()["result"]

    held = []
    for number in range(count):
        opened = await call(
            "moot.openSession",
            topic=f"Is {number} enough?",
            protocol="debate",
            seats=["ada", "bob"],
        )
        session = opened["sessionId"]
        said = {
            "participant": "ada",
            "type": "propose",
            "text": f"{WORDS} " * 50,
            "confidence": 0.8,
        }
        await call("cstp.contribute", deliberationId=session, **said)
        await call("moot.getView", sessionId=session)
        await call("cstp.closeDeliberation", deliberationId=session, force=True)
        held.append(session)
    return held


@pytest.fixture(autouse=True)
def _looks_at_everything() -> Iterator[None]:
    """What was imported before the first test is looked at as well: tables of modules are among it."""
    gc.unfreeze()
    yield
    gc.freeze()


def count_objects() -> Counter[str]:
    """What is alive, by type. The event loop throws cancelled timers away when it has a hundred of them."""
    gc.collect()
    alive = (
        each
        for each in gc.get_objects()
        if not (isinstance(each, asyncio.TimerHandle) and each.cancelled())
    )
    kinds = (type(each) for each in alive)
    return Counter(
        kind.__qualname__
        for kind in kinds
        if str(kind.__module__).startswith(("moothall.", "asyncio.", "_asyncio"))
    )


def find_grown(before: Counter[str]) -> dict[str, int]:
    """The types of which more are alive than before, and how many more."""
    # A cache that is full holds now these sessions and now others, each with two seats.
    return {kind: number for kind, number in (count_objects() - before).items() if number > 3 * FEW}


def has_whole_record() -> bool:
    gc.collect()
    return any(
        WORDS in each.search_text for each in gc.get_objects() if isinstance(each, DecisionRecorded)
    )


def list_left_behind() -> set[int]:
    """The dicts and sets in which tests before this one left sessions of theirs: ids begin anew in each ledger."""
    gc.collect()
    return {
        id(each)
        for each in gc.get_objects()
        if isinstance(each, dict) and any(str(key).startswith("think_") for key in [*each])
    }


def find_keyed(session: str, left_behind: set[int]) -> dict[str, str]:
    """The dicts and sets of the process that have a key with this session, by what their values are, and what else is in them."""
    gc.collect()
    # Other tests of this process may have looked for such an id by a pattern, which Python caches.
    re.purge()
    keyed = {}
    for each in gc.get_objects():
        if id(each) in left_behind:
            continue
        if isinstance(each, dict | set) and any(
            key == session or (isinstance(key, tuple) and session in key) for key in [*each]
        ):
            value = next(iter(each.values())) if isinstance(each, dict) else None
            keyed[type(value).__name__] = (
                f"{len(each)}: {[*each][:3]}, held by {[type(one) for one in gc.get_referrers(each)]}"
            )
    return keyed


def test_of_a_session_that_has_ended_a_server_keeps_its_line_in_decision_memory_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is alive after N sessions and after 2 N, by type, and which tables still name the first session."""
    for name in CACHES:
        monkeypatch.setattr(name, FEW)
    # The encoder that it loads after a second has thousands of objects of its own.
    monkeypatch.setattr("moothall.surfaces.http.app.WARM_UP_SECONDS", 3_600.0)

    left_behind = list_left_behind()

    async def work() -> None:
        moot = Moot(environ={"MOOT_HOME": str(tmp_path), "MOOT_MEMORY": "off"})
        app = build_app(moot, is_local=True)
        async with app.router.lifespan_context(app):
            owner = {"Authorization": f"Bearer {load_owner_key(tmp_path)}"}
            transport = httpx2.ASGITransport(app=app)
            async with httpx2.AsyncClient(
                transport=transport, base_url="http://127.0.0.1", headers=owner
            ) as client:
                # More than any cache of a fixed size holds: these are full after the first half.
                count = 10 * FEW
                first, *_ = await hold_sessions(client, count)
                await moot.recall()
                before = count_objects()
                await hold_sessions(client, count)
                await moot.recall()
                grown: dict[str, int] = {}
                # A task of the server may be reading at this moment: what it holds is gone when it has read; what is kept is not.
                for _ in range(TRIES):
                    grown = find_grown(before)
                    if len(grown) == len(REMEMBERED):
                        break
                    await asyncio.sleep(0.05)
                assert grown == dict.fromkeys(REMEMBERED, count)
                keyed = find_keyed(first, left_behind)
                assert [*keyed] == ["RememberedDecision"], keyed
                # The task that remembers the last session may not have left its frame yet.
                for _ in range(TRIES):
                    if not has_whole_record():
                        break
                    await asyncio.sleep(0.05)
                assert not has_whole_record()

    run_with_deadline(work())
