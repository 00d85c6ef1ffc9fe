"""Kills meetings of every protocol with SIGKILL, again and again, and checks the record after each death.

    python -m checks.kill_meetings [--deaths 300] [--seed 1]

A process runs a meeting with scripted seats, is killed at a moment by chance, and another one goes on with it. After each death
the whole ledger verifies (a fault would be a false alarm: nobody touched the file), the session replays, what was recorded before
is there byte for byte, no answer is recorded twice, and nothing that was answered is asked again. Each meeting ends as an
undisturbed one does.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from moothall import Moot
from moothall.app.panels import Panel
from moothall.app.verification import LedgerVerifier
from moothall.features.demos.shipped import Demo, build_demo_options, list_demos
from moothall.participants.script import find_script

ROOT = Path(__file__).resolve().parents[1]
CHILD = ROOT / "tests" / "acceptance" / "counted.py"
MAX_ENTRIES = 8
LATEST = 0.02


class Meetings:
    """The meetings of one home, and the process that runs them in children."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._server = subprocess.Popen(
            [sys.executable, str(CHILD), str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def close(self) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait()

    def get_log(self, session: str) -> Path:
        return self.home / f"{session}.log"

    def read_asked(self, session: str) -> list[str]:
        """The asks that participants were called with, in order."""
        return [
            line.removeprefix("asked ")
            for line in self._read_log(session).splitlines()
            if line.startswith("asked ")
        ]

    def run(self, session: str, entries: int | None, late: float = 0.0) -> int:
        """Run a meeting in a child, until `late` seconds after it has that many entries if they are given; its exit code."""
        assert self._server.stdin is not None
        self._server.stdin.write(f"{session} {self.get_log(session)} 0\n")
        self._server.stdin.flush()
        child = self._read_number()
        if entries is not None:
            # By entries and not by time: it gets on however slow the machine is.
            while Path(f"/proc/{child}").exists() and f"kept {entries}\n" not in self._read_log(
                session
            ):
                time.sleep(0.002)
            time.sleep(late)
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        return self._read_number()

    def _read_log(self, session: str) -> str:
        path = self.get_log(session)
        return path.read_text() if path.exists() else ""

    def _read_number(self) -> int:
        assert self._server.stdout is not None
        return int(self._server.stdout.readline())

    async def open(self, demo: Demo, session: str) -> None:
        """Open the meeting of a demo with scripted seats, so that it is remembered as any other is."""
        async with self._open_moot() as moot:
            options = build_demo_options(demo, moot.environ, pace="fast")
            script = find_script(demo.name, demo.language)
            panel = options["panel"]
            assert isinstance(panel, Panel)
            seats = [
                replace(seat, platform=f"script:{script}")
                if seat.platform.startswith("demo:")
                else seat
                for seat in panel.seats
            ]
            options["panel"] = replace(panel, seats=tuple(seats))
            options["demo"] = ""
            options["session"], options["memory"] = session, False
            await moot.open(demo.topic, **options)

    async def check(self, session: str) -> tuple[str, list[str], Any]:
        """The entries, the faults of the whole ledger, and the outcome; raises if the rules do not lead to the record."""
        async with self._open_moot() as moot:
            found = await LedgerVerifier(moot.ledger, moot.clock).verify_all()
            faults = [
                *found.faults,
                *(f"{each.session_id}: {each.fault}" for each in found.sessions if each.fault),
            ]
            await moot.replay(session)
            decision = await moot.decision(session)
            outcome = (
                decision.status,
                decision.choice,
                decision.decision and decision.decision.text,
            )
            # The line above the entries names the last of them, so it changes as the session goes on.
            _, _, entries = (await moot.export(session, "jsonl")).partition("\n")
            return entries, faults, outcome

    def _open_moot(self) -> Moot:
        return Moot(environ={"MOOT_HOME": str(self.home)})


def list_answered(record: str) -> list[tuple[str, str]]:
    """The asks that have an answer or a loss on record, each with what it is: a refused wish to consult has two facts."""
    facts = [json.loads(json.loads(line)["body"]) for line in record.splitlines()]
    return [(fact["fact"], fact["ask"]) for fact in facts if isinstance(fact.get("ask"), str)]


def hold_undisturbed(meetings: Meetings, demo: Demo) -> Any:
    session = f"{demo.name}-undisturbed"
    asyncio.run(meetings.open(demo, session))
    assert meetings.run(session, None) == 0, f"{demo.name} does not end"
    _, faults, outcome = asyncio.run(meetings.check(session))
    assert not faults, faults
    return outcome


def hold_killed(
    meetings: Meetings, demo: Demo, session: str, chance: random.Random
) -> tuple[int, list[str], Any]:
    """Run a meeting to its end through deaths; how many, what was wrong, and the outcome."""
    asyncio.run(meetings.open(demo, session))
    before, faults, outcome = asyncio.run(meetings.check(session))
    deaths, wrong, asked = 0, list(faults), 0
    while True:
        code = meetings.run(
            session,
            len(before.splitlines()) + chance.randint(1, MAX_ENTRIES + 1),
            chance.uniform(0, LATEST),
        )
        record, faults, outcome = asyncio.run(meetings.check(session))
        wrong += [f"false alarm: {fault}" for fault in faults]
        if not record.startswith(before):
            wrong.append(f"{session}: something that was recorded is lost")
        again = set(meetings.read_asked(session)[asked:]) & {
            ask for _, ask in list_answered(before)
        }
        wrong += [
            f"{session}: {ask} was asked again though it had been answered" for ask in sorted(again)
        ]
        twice = [ask for (_, ask), times in Counter(list_answered(record)).items() if times > 1]
        wrong += [f"{session}: {ask} is recorded twice" for ask in twice]
        before, asked = record, len(meetings.read_asked(session))
        if code == 0:
            return deaths, wrong, outcome
        if code != -signal.SIGKILL:
            return deaths, [*wrong, f"{session}: the process ended with {code}"], outcome
        deaths += 1


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Kill meetings of every protocol and check the record."
    )
    parser.add_argument("--deaths", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="moot-kill-") as folder:
        meetings = Meetings(Path(folder))
        demos = list_demos("en")
        expected = {demo.name: hold_undisturbed(meetings, demo) for demo in demos}
        deaths: Counter[str] = Counter()
        wrong: list[str] = []
        number = 0
        while sum(deaths.values()) < options.deaths:
            demo = demos[number % len(demos)]
            number += 1
            died, faults, outcome = hold_killed(meetings, demo, f"{demo.name}-{number}", chance)
            deaths[demo.name] += died
            if outcome != expected[demo.name]:
                faults.append(
                    f"{demo.name}-{number}: ended as {outcome}, undisturbed as {expected[demo.name]}"
                )
            wrong += faults
            print(
                "\n".join((f"{sum(deaths.values())} deaths, {len(wrong)} faults", *faults)),
                flush=True,
            )
        meetings.close()
    print(f"{sum(deaths.values())} deaths in {number} meetings: {dict(deaths)}")
    print("\n".join(wrong) or "nothing lost, doubled or asked twice; no false alarm")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
