"""Sessions for workers: debates that run by themselves, and parked ones that wait for a mailbox."""

import asyncio
import time

from bench.scale.counted_worker import PLATFORM, build_words
from bench.scale.stage import Stage, tell
from moothall import Moot
from moothall.app.verification import LedgerVerifier
from moothall.domain.ids import SessionId
from moothall.engine.engine import Engine
from moothall.errors import LedgerUnavailable
from moothall.ports.runner import Runner

MAILBOX = "mailbox"
ASKS = 8
"""Calls of participants in one debate of two."""
LANES = 20
PARKED_FROM = 1_000_000
SLACK = 0.5
"""A call that began so much later than the answer to the same ask was on record is a repeated one."""


async def open_sessions(moot: Moot, seeds: range, platform: str = PLATFORM) -> list[SessionId]:
    opened: list[SessionId] = []
    parked = platform == MAILBOX

    async def open_some(own: range) -> None:
        for seed in own:
            opened.append(
                await moot.open(
                    "Does it scale?",
                    seats={"ada": platform, "bob": platform},
                    protocol="debate",
                    settings={"debate": "always"},
                    seed=seed,
                    session=f"{'parked' if parked else 'run'}_{seed}",
                    hosted=True,
                    check=False,
                    memory=False,
                )
            )
            if parked and len(opened) % 2_000 == 0:
                tell(f"opened {len(opened)} of {len(seeds)} parked sessions")

    await asyncio.gather(*(open_some(seeds[lane::LANES]) for lane in range(LANES)))
    return opened


async def wait_for(runner: Runner, standing: str, count: int) -> int:
    """Wait until so many sessions stand like this; the most that ran at one time."""
    most, told = 0, time.monotonic()
    while True:
        try:
            stats = await runner.stats()
        except LedgerUnavailable:
            stats = None
        if stats is not None:
            most = max(most, stats.running)
            found = stats.statuses.get(standing, 0)
            if found >= count:
                return most
            if time.monotonic() - told > 10:
                told = time.monotonic()
                tell(
                    f"{found} of {count} sessions {standing}, {stats.running} running, {stats.runnable} runnable"
                )
        await asyncio.sleep(0.5)


async def answer_parked(stage: Stage, number: int) -> float:
    """Answer what a parked session asks, through the server; seconds from the last answer to the next ask."""
    session = f"parked_{PARKED_FROM + number}"
    for each in (await asyncio.to_thread(stage.call_server, "moot.getAsks", session_id=session))[
        "asks"
    ]:
        given = {
            "session_id": session,
            "seat": each["seat"],
            "ask": each["ask"],
            "answer": build_words(each["kind"]),
        }
        await asyncio.to_thread(stage.call_server, "moot.answer", **given)
    began = time.monotonic()
    found = await asyncio.to_thread(
        stage.call_server, "moot.getAsks", session_id=session, timeout_seconds=20
    )
    assert found["asks"], f"session {session} asks nobody after it was answered"
    return time.monotonic() - began


async def check_sessions(moot: Moot, stage: Stage, sessions: list[SessionId]) -> dict[str, int]:
    """What went wrong with debates that have ended, in numbers; all are 0 if nothing did."""
    answered: dict[tuple[int, str], float] = {}
    wrong = dict.fromkeys(("lost", "doubled", "calls for recorded answers"), 0)

    async def check_some(own: list[SessionId]) -> None:
        for session in own:
            seed = int(session.removeprefix("run_"))
            is_ended, seen = await list_answers(moot.engine, session)
            wrong["lost"] += not is_ended
            for ask, at in seen:
                wrong["doubled"] += (seed, ask) in answered
                answered[seed, ask] = at

    await asyncio.gather(*(check_some(sessions[lane::LANES]) for lane in range(LANES)))
    wrong["lost"] += len(sessions) * ASKS - len(answered)
    for call in stage.list_calls():
        wrong["calls for recorded answers"] += (
            call.at > answered.get((call.seed, call.ask), call.at) + SLACK
        )
    return wrong


async def list_answers(engine: Engine, session: SessionId) -> tuple[bool, list[tuple[str, float]]]:
    """Whether a session has ended, and its asks that were answered, with the time."""
    snapshot, entries = await engine.read_on(session)
    facts = [
        (getattr(entry.fact, "ask", None), getattr(entry.fact, "seat", None), entry.at)
        for entry in entries
    ]
    return snapshot.is_closed, [
        (ask, at.timestamp()) for ask, seat, at in facts if isinstance(ask, str) and seat
    ]


async def count_damage(moot: Moot) -> tuple[int, int]:
    """How many sessions and registers there are, and how many faults `moot verify` finds in them."""
    found = await LedgerVerifier(moot.ledger, moot.clock).verify_all()
    return len(found.sessions), len(found.faults) + sum(
        each.fault is not None for each in found.sessions
    )
