"""Workers at scale: python -m bench.scale [--running 1000] [--parked 10000] [--workers 3] [--soak MINUTES] [--faults]

Opens parked sessions (each waits for a mailbox) and running ones (debates of two participants that take a moment over each
answer), runs them on worker processes, and prints a table. With --faults, workers are killed, frozen and the database crashes in
mid-flight; then everything is checked: every chain, one answer for each ask, no call for an answer that was on record.
"""

import argparse
import asyncio
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from bench.scale.counted_worker import PLATFORM, CountedParticipant, build_words
from bench.scale.database import Database, open_database
from moot import Moot
from moot.app.shared_runner import open_shared_runner
from moot.domain.ids import SessionId
from moot.ports.runner import Runner

ROOT = Path(__file__).resolve().parents[2]
ASKS = 8
"""Calls of participants in one debate of two."""


@dataclass
class Stage:
    """Workers on a database, and what they wrote down."""

    database: Database
    folder: Path
    lease: float
    seconds: float
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    @property
    def environ(self) -> dict[str, str]:
        return {
            **os.environ,
            "MOOT_LEDGER": self.database.address,
            "MOOT_HOME": str(self.folder / "home"),
            "MOOT_RUNNER": "workers",
        }

    @property
    def calls(self) -> Path:
        return self.folder / "calls"

    def start_workers(self, count: int, sessions: int = 1_000) -> None:
        arguments = [str(self.calls), str(self.seconds), str(self.lease), str(sessions)]
        command = [sys.executable, "-m", "bench.scale.counted_worker", *arguments]
        with (self.folder / "workers.log").open("ab") as log:
            self.processes += [
                subprocess.Popen(command, cwd=ROOT, env=self.environ, stdout=log, stderr=log) for _ in range(count)
            ]

    def list_calls(self) -> list[tuple[float, str, str]]:
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [(float(at), seed, ask) for at, seed, ask, _ in map(str.split, lines)]

    def measure_workers(self) -> tuple[float, int]:
        """Seconds of CPU that the living workers took, and the largest of them in MB."""
        ticks, largest = 0.0, 0
        for process in self.processes:
            if process.poll() is None:
                words = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
                ticks += (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
                pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
                largest = max(largest, pages * os.sysconf("SC_PAGE_SIZE") // 2**20)
        return ticks, largest

    def stop(self) -> None:
        for process in self.processes:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


async def open_sessions(moot: Moot, count: int, first: int, *, parked: bool = False) -> list[SessionId]:
    platform = "mailbox" if parked else PLATFORM
    seats = {"ada": platform, "bob": platform}
    opened: list[SessionId] = []

    async def open_some(seeds: range) -> None:
        for seed in seeds:
            name = f"{'parked' if parked else 'run'}_{seed}"
            opened.append(
                await moot.open(
                    "Does it scale?",
                    seats=seats,
                    protocol="debate",
                    settings={"early_stop": False},
                    seed=seed,
                    session=name,
                    hosted=True,
                    check=False,
                    memory=False,
                )
            )

    await asyncio.gather(*(open_some(range(first + lane, first + count, 20)) for lane in range(20)))
    return opened


async def wait_for(runner: Runner, standing: str, count: int) -> None:
    while (await runner.stats()).standings.get(standing, 0) < count:  # noqa: ASYNC110
        await asyncio.sleep(0.25)


async def check(moot: Moot, stage: Stage, sessions: list[SessionId]) -> dict[str, int]:
    """What went wrong, in numbers; all are 0 if nothing did."""
    answered: dict[tuple[str, str], float] = {}
    faults = Counter(damaged=0, doubled=0, lost=0, late_calls=0)
    for session in sessions:
        faults["damaged"] += await moot.verify(session) is not None
        snapshot = await moot.engine.load_snapshot(session)
        seed = str(snapshot.session_state.opened.seed)
        faults["lost"] += not snapshot.is_closed
        for entry in await moot.engine.entries(session):
            ask = getattr(entry.fact, "ask", None)
            if isinstance(ask, str) and getattr(entry.fact, "seat", None):
                faults["doubled"] += (seed, ask) in answered
                answered[seed, ask] = entry.at.timestamp()
    faults["lost"] += len(sessions) * ASKS - len(answered)
    for at, seed, ask in stage.list_calls():
        faults["late_calls"] += at > answered.get((seed, ask), at) + 0.5
    return dict(faults)


async def run_engine_alone(count: int, seconds: float) -> float:
    """CPU milliseconds per step of the same debates in one process, in memory."""
    participants = {PLATFORM: CountedParticipant(os.devnull, seconds)}
    with tempfile.TemporaryDirectory() as home:
        async with Moot(environ={"MOOT_HOME": home, "MOOT_LEDGER": "memory:"}, participants=participants) as moot:
            sessions = await open_sessions(moot, count, 1)
            began = time.process_time()
            await asyncio.gather(*(moot.engine.run(session, moot.seating) for session in sessions))
            return 1_000 * (time.process_time() - began) / (count * ASKS)


async def break_things(stage: Stage) -> list[str]:
    """Kill one worker, freeze another past its lease, crash the database; what was done and when, in words."""
    told = []
    killed, frozen = stage.processes[:2]
    killed.kill()
    told.append("killed one worker")
    stage.start_workers(1)
    await asyncio.sleep(2)
    frozen.send_signal(signal.SIGSTOP)
    await asyncio.sleep(stage.lease * 1.5)
    frozen.send_signal(signal.SIGCONT)
    told.append(f"froze one for {stage.lease * 1.5:g} s, past its lease of {stage.lease:g} s")
    await asyncio.sleep(2)
    await asyncio.to_thread(stage.database.crash)
    await asyncio.sleep(1)
    await asyncio.to_thread(stage.database.start)
    told.append("crashed PostgreSQL and started it again")
    return told


async def soak(moot: Moot, runner: Runner, stage: Stage, minutes: float) -> None:
    """Open debates and answer parked ones for so long; memory and latency at the end of each sixth."""
    print("\n| minute | sessions ended | largest worker, MB | median s to the first call | oldest runnable, s |")
    print("|---|---|---|---|---|")
    began, seed, sessions = time.monotonic(), 10_000_000, list[SessionId]()
    for part in range(6):
        opened_at: dict[str, float] = {}
        while time.monotonic() - began < (part + 1) * minutes * 10:
            opened_at |= {str(seed + number): time.time() for number in range(10)}
            sessions += await open_sessions(moot, 10, seed)
            seed += 10
            await asyncio.sleep(1.0)
        first: dict[str, float] = {}
        for at, found, _ in stage.list_calls():
            first.setdefault(found, at)
        waits = [first[found] - at for found, at in opened_at.items() if found in first]
        stats = await runner.stats()
        _, largest = stage.measure_workers()
        median = f"{statistics.median(waits):.2f}" if waits else "–"
        minute, ended = (time.monotonic() - began) / 60, stats.standings.get("closed", 0)
        print(f"| {minute:.1f} | {ended} | {largest} | {median} | {stats.oldest:.2f} |", flush=True)


async def measure(given: argparse.Namespace, stage: Stage) -> int:
    alone = await run_engine_alone(min(given.running, 200), given.seconds)
    participants = {PLATFORM: CountedParticipant(os.devnull, 0)}
    async with Moot(environ=stage.environ, participants=participants) as moot, open_shared_runner(moot) as runner:
        stage.start_workers(given.workers)
        if given.parked:
            await open_sessions(moot, given.parked, 1_000_000, parked=True)
            await wait_for(runner, "waiting", given.parked)
        idle_from, idle_at = stage.measure_workers()[0], time.monotonic()
        await asyncio.sleep(5)
        idle = (stage.measure_workers()[0] - idle_from) / (time.monotonic() - idle_at)
        cpu_from, began = stage.measure_workers()[0], time.monotonic()
        sessions = await open_sessions(moot, given.running, 1)
        told = []
        if given.faults:
            while len(stage.list_calls()) < given.running:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            told = await break_things(stage)
        await wait_for(runner, "closed", given.running)
        wall = time.monotonic() - began
        cpu, largest = stage.measure_workers()
        steps = given.running * ASKS
        print(
            "| parked | running | workers | faults | steps/s | CPU ms per step | engine alone | idle CPU, all workers "
            "| largest worker, MB |\n"
            "|---|---|---|---|---|---|---|---|---|\n"
            f"| {given.parked} | {given.running} | {given.workers} | {'; '.join(told) or 'none'} | {steps / wall:.0f} "
            f"| {'–' if told else f'{1_000 * (cpu - cpu_from) / steps:.2f}'} | {alone:.2f} | {100 * idle:.1f} % | {largest} |"
        )
        faults = await check(moot, stage, sessions)
        repeated = len(stage.list_calls()) - steps
        print(f"\nlost, doubled, damaged, calls for recorded answers: {faults}")
        print(f"calls repeated because the first was under way when its worker or the database was lost: {repeated}")
        if given.parked:
            ended = await answer_parked(moot, runner, given.parked)
            print(f"seconds from an answer to the next ask, of parked sessions: median {ended:.3f}")
        if given.soak:
            await soak(moot, runner, stage, given.soak)
    return int(any(faults.values()))


async def answer_parked(moot: Moot, runner: Runner, parked: int) -> float:
    """The median time from the last answer of a phase to the next ask, of some of the parked sessions."""
    took = []
    for number in range(min(parked, 30)):
        session = SessionId(f"parked_{1_000_000 + number}")
        asks = await moot.asks(session)
        for each in asks:
            await moot.answer(session, each.ask.id, build_words(each.ask.kind))
        began = time.monotonic()
        while not await moot.asks(session):  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        took.append(time.monotonic() - began)
    return statistics.median(took)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--running", type=int, default=1_000)
    parser.add_argument("--parked", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="how long a participant takes over an answer")
    parser.add_argument("--lease", type=float, default=10.0)
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--soak", type=float, default=0.0, metavar="MINUTES")
    given = parser.parse_args()
    # Each worker has some connections of its own, and the bench many open files.
    resource.setrlimit(resource.RLIMIT_NOFILE, (4_096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    with open_database() as database, tempfile.TemporaryDirectory() as folder:
        stage = Stage(database, Path(folder), given.lease, given.seconds)
        try:
            return asyncio.run(measure(given, stage))
        except BaseException:
            print((stage.folder / "workers.log").read_text()[-4_000:], file=sys.stderr)
            raise
        finally:
            stage.stop()


if __name__ == "__main__":
    sys.exit(main())
