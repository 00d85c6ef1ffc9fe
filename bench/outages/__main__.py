"""A provider that goes out for everybody, by each cause, in every protocol (`python -m bench.outages [PROTOCOL ...]`).

A real loopback server answers by scripts until it has given 3, or 9, answers; then it fails in one way, for completions and for
probes alike. The session must park with nothing lost; the server comes back, the session is resumed, and must end as a session
without an outage does, with no answered call repeated. One row is one protocol, one column one cause; a cell holds what went
wrong, or is `ok`.
"""

import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tests.support.outages import (
    CAUSES,
    FAST,
    PIPELINE,
    SCENES,
    Provider,
    Scene,
    Switchboard,
    open_moot,
)

from moothall.domain.facts import SeatLost
from moothall.domain.ids import SessionId
from moothall_testkit.stub_server import Hang, Step

AFTER = (3, 9)
HUNG_PATIENCE = 10.0
"""Seconds for an answer where the server hangs: a busy machine must not be slower than that by itself."""
_PATIENCE = {"persona": ("intent_patience", "speech_patience"), "swarm": ("round_timeout",)}
ALL_CAUSES: Mapping[str, Step] = {**CAUSES, "hung": Hang()}
DEADLINE = 120.0
_ADVICE = """
[[seats.{seat}.propose]]
type = "propose"
text = "Let us {choice}."
choice = "{choice}"
confidence = 0.8
[[seats.{seat}.argue]]
type = "support"
text = "It costs nothing."
refers_to = 2
confidence = 0.7
[[seats.{seat}.decide]]
type = "synthesize"
text = "Wait a week."
choice = "wait"
confidence = 0.8
"""
_ADVISERS = "".join(
    _ADVICE.format(seat=seat, choice="act" if seat in "bdf" else "wait") for seat in "abcdefg"
)
_TABLE = (
    "".join(f'[[speech]]\ncontent = "Look at part {number} first."\n' for number in range(4))
    + """
[[minutes]]
content = "## Summary\\nWe looked.\\n## Consensus reached\\nWait a week.\\n## Left open\\nNone.\\n## Action items\\nNone."
"""
)
_WORK = "".join(f'[[work]]\ncontent = "The text of part {number}."\n' for number in range(4))
_STEPS = tuple(
    {"name": f"step-{number}", "agent": "abc"[number % 3], "task": f"Do part {number}."}
    for number in range(12)
)


def list_scenes() -> tuple[Scene, ...]:
    """Return a session of each protocol, long enough for an outage after nine answers."""
    changes: Mapping[str, Mapping[str, object]] = {
        "roundtable": {"script": _TABLE, "settings": {"max_rounds": 4}},
        "advisory": {
            "seats": tuple("abcdefg"),
            "file": "",
            "script": _ADVISERS,
            "settings": {"owner": "a"},
        },
        "pipeline": {"seats": tuple("abc"), "script": _WORK, "settings": {"steps": _STEPS}},
    }
    return tuple(replace(scene, **changes.get(scene.protocol, {})) for scene in (*SCENES, PIPELINE))  # type: ignore[arg-type]


async def count_asks(scene: Scene, home: Path) -> int:
    """Hold the session without an outage."""
    board = Switchboard()
    async with open_moot(home, board.seat_all(scene.build_scripts(home))) as moot:
        await moot.hold("Should we adopt it?", **scene.build_options(moot))
    return len(board.answered)


async def suffer(scene: Scene, cause: str, after: int, expected: int, home: Path) -> str:
    """Hold a session through one outage; return what is wrong, or nothing."""
    is_hung = cause == "hung"
    if is_hung:
        names = _PATIENCE.get(scene.protocol, ("patience",))
        scene = replace(scene, settings={**scene.settings, **dict.fromkeys(names, HUNG_PATIENCE)})
    provider = Provider(pace=replace(FAST, preflight=1.0) if is_hung else FAST)
    await provider.start()
    provider.dies_after, provider.fails_with = after, ALL_CAUSES[cause]
    try:
        async with open_moot(home, provider.seat_all(scene.build_scripts(home))) as moot:
            parked = await moot.hold("Should we adopt it?", **scene.build_options(moot))
            provider.dies_after = 10**9
            if parked.status != "parked":
                return parked.status
            decision = await moot.resume("s")
            facts = [entry.fact for entry in await moot.engine.entries(SessionId("s"))]
            # Seats alone: the measure of likeness is no model, and loads while its clock runs.
            lost = sum(isinstance(fact, SeatLost) and fact.seat in scene.seats for fact in facts)
    finally:
        await provider.kill()
    repeated = sum(number - 1 for number in Counter(provider.answered).values())
    faults = {
        decision.status: decision.status != "concluded",
        f"{lost} lost": lost,
        f"{repeated} again": repeated,
        f"{len(provider.answered)} of {expected}": len(provider.answered) != expected,
    }
    return ", ".join(fault for fault, is_there in faults.items() if is_there)


async def run_cell(scene: Scene, cause: str, after: int, expected: int) -> str:
    with tempfile.TemporaryDirectory() as home:
        try:
            async with asyncio.timeout(DEADLINE):
                return await suffer(scene, cause, after, expected, Path(home))
        except TimeoutError:
            return "no end"


async def main() -> None:
    wanted = sys.argv[1:]
    faults, cells, begun = 0, 0, time.perf_counter()
    print(
        f"{'protocol':<12}{'asks':>5}{'after':>6} "
        + "".join(f"{cause:>8}" for cause in ALL_CAUSES),
        flush=True,
    )
    for scene in list_scenes():
        if wanted and scene.protocol not in wanted:
            continue
        with tempfile.TemporaryDirectory() as home:
            expected = await count_asks(scene, Path(home))
        for after in AFTER:
            row = [await run_cell(scene, cause, after, expected) for cause in ALL_CAUSES]
            print(
                f"{scene.protocol:<12}{expected:>5}{after:>6} "
                + "".join(f"{each or 'ok':>8}" for each in row),
                flush=True,
            )
            faults += sum(map(bool, row))
            cells += len(row)
    print(f"{cells} outages, {faults} with a fault, {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    asyncio.run(main())
