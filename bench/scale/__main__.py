"""Workers at full size: python -m bench.scale [--running 1000] [--parked 10000] [--workers 3] [--faults] [--soak MINUTES]
       [--temporal] [--old FOLDER]

One PostgreSQL, some workers (one of them in a network namespace), one server. Opens parked sessions (each waits for a mailbox)
and running ones (debates of two participants), and prints tables: first as many steps as the workers can bear; then, with
--faults, a worker is killed, one is frozen, one is cut off and the database crashes, each while as many sessions run, whose
participants take --seconds over an answer, as models do; with --soak such sessions go on for long. In the end all is checked.
With --temporal a Temporal server hands out the sessions, and is killed like the others. With --old one worker more has the code
of another tree of Moot.
"""

import argparse
import asyncio
import os
import resource
import signal
import statistics
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import asyncpg
from tests.support.temporal_server import TemporalServer

from bench.scale.counted_worker import PLATFORM, SLOW_PLATFORM, CountedParticipant
from bench.scale.cut_line import CutLine
from bench.scale.database import open_database
from bench.scale.faults import FAULTS, TEMPORAL_FAULTS, measure_recovery
from bench.scale.load import (
    ASKS,
    MAILBOX,
    PARKED_FROM,
    answer_parked,
    check_sessions,
    count_damage,
    open_sessions,
    wait_for,
)
from bench.scale.network import Namespace, open_line, open_namespace
from bench.scale.stage import Stage, read_memory, tell
from moothall import Moot
from moothall.app.shared_runner import open_shared_runner
from moothall.domain.ids import SessionId
from moothall.errors import LedgerUnavailable
from moothall.ports.runner import Runner

WARM_UP = 60
"""Debates before anything is measured: a worker's first sessions also load code and prepare statements."""
IDLE_SECONDS = 5.0
ANSWERED = 30
"""How many parked sessions are answered to measure how soon they go on."""
SOAK_MARKS = 6
OPENED_EACH_SECOND = 10
MINUTES = 45.0


@dataclass
class Bench:
    """The parts that every measurement needs, and the debates that were opened so far."""

    given: argparse.Namespace
    stage: Stage
    moot: Moot
    runner: Runner
    debates: list[SessionId]
    next_seed: int = 1
    old_pid: int = 0

    @property
    def worker_count(self) -> int:
        return int(self.given.workers) + (self.old_pid != 0)

    async def open_debates(self, count: int, platform: str = SLOW_PLATFORM) -> range:
        seeds = range(self.next_seed, self.next_seed + count)
        self.next_seed += count
        self.debates += await open_sessions(self.moot, seeds, platform)
        return seeds

    async def wait_for_debates(self) -> int:
        return await wait_for(self.runner, "closed", len(self.debates))

    async def count_transactions(self) -> int:
        # The database counts what a connection did about a second later.
        await asyncio.sleep(1.5)
        connection = await asyncpg.connect(self.stage.database.address)
        try:
            return int(
                await connection.fetchval(
                    "SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'"
                )
            )
        finally:
            await connection.close()


async def run_engine_alone(count: int, seconds: float) -> float:
    """CPU milliseconds per step of the same debates in one process, in memory."""
    participants = {PLATFORM: CountedParticipant(os.devnull, seconds)}
    with tempfile.TemporaryDirectory() as home:
        async with Moot(
            environ={"MOOT_HOME": home, "MOOT_LEDGER": "memory:"}, participants=participants
        ) as moot:
            for seeds in (range(1, WARM_UP), range(WARM_UP, WARM_UP + count)):
                sessions = await open_sessions(moot, seeds)
                began = time.process_time()
                await asyncio.gather(
                    *(moot.engine.run(session, moot.seating) for session in sessions)
                )
            return 1_000 * (time.process_time() - began) / (count * ASKS)


async def measure_parked(bench: Bench) -> None:
    parked, stage = bench.given.parked, bench.stage
    began = time.monotonic()
    await open_sessions(bench.moot, range(PARKED_FROM, PARKED_FROM + parked), MAILBOX)
    await wait_for(bench.runner, "waiting", parked)
    opened = time.monotonic() - began
    tell(f"{parked} parked sessions opened in {opened:.0f} s")
    idle_from, at = stage.measure_cpu(), time.monotonic()
    await asyncio.sleep(IDLE_SECONDS)
    idle = (stage.measure_cpu() - idle_from) / (time.monotonic() - at)
    took = [await answer_parked(stage, number) for number in range(min(parked, ANSWERED))]
    print(
        "\n| parked sessions | opened in, s | idle CPU of all workers | largest worker, MB | from an answer to the next ask, ms "
        f"|\n|---|---|---|---|---|\n| {parked:,} | {opened:.0f} | {100 * idle:.1f} % | {stage.measure_memory()} "
        f"| {1_000 * statistics.median(took):.0f} (most: {1_000 * max(took):.0f}) |",
        flush=True,
    )


async def measure_steps(bench: Bench) -> None:
    """Run debates without faults: steps per second, CPU and transactions per step."""
    given, stage = bench.given, bench.stage
    alone = await run_engine_alone(min(given.running, 300), 0.05)
    transactions = await bench.count_transactions()
    cpu, database_cpu, began = stage.measure_cpu(), stage.database.measure_cpu(), time.monotonic()
    await bench.open_debates(given.running, PLATFORM)
    most = await bench.wait_for_debates()
    wall, steps = time.monotonic() - began, given.running * ASKS
    cpu, database_cpu = stage.measure_cpu() - cpu, stage.database.measure_cpu() - database_cpu
    transactions = await bench.count_transactions() - transactions
    print(
        "\n| running | most at once | workers | steps | steps/s | CPU ms per step: workers | engine alone | PostgreSQL "
        "| transactions per step | largest worker, MB |\n|---|---|---|---|---|---|---|---|---|---|\n"
        f"| {given.running:,} | {most:,} | {bench.worker_count} | {steps:,} | {steps / wall:.0f} | {1_000 * cpu / steps:.2f} "
        f"| {alone:.2f} | {1_000 * database_cpu / steps:.2f} | {transactions / steps:.2f} | {stage.measure_memory()} |",
        flush=True,
    )


async def measure_faults(bench: Bench) -> bool:
    """Break each thing while debates run; whether all sessions went on in time."""
    stage, is_late = bench.stage, False
    rows = []
    for name, inflict in (TEMPORAL_FAULTS if stage.temporal else FAULTS).items():
        tell(f"fault: {name}")
        begun = len(stage.list_calls())
        seeds = await bench.open_debates(bench.given.running)
        # Both participants of nearly all of them have been asked.
        while len(stage.list_calls()) - begun < 2 * bench.given.running:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        running = (await bench.runner.stats()).running
        fault = await inflict(stage)
        await bench.wait_for_debates()
        while (await bench.runner.stats()).workers < bench.worker_count:  # noqa: ASYNC110
            await asyncio.sleep(0.5)
        recovery = measure_recovery(stage.list_calls(), seeds, fault, stage.seconds)
        is_late |= recovery.is_late
        rows.append(f"| {name} | {running:,} | {recovery.row} | {recovery.limit:g} |")
        tell(rows[-1])
    print(
        f"\nLease {stage.lease:g} s; the network is cut by {stage.line.kind}.\n\n"
        "| fault | running then | sessions hit | s to their next step: median | most | allowed |\n|---|---|---|---|---|---|\n"
        + "\n".join(rows),
        flush=True,
    )
    return is_late


async def soak(bench: Bench, minutes: float) -> None:
    """Open debates and answer parked sessions for so long; memory and latency at the end of each sixth."""
    stage, server = bench.stage, bench.stage.server
    assert server is not None
    tell(
        f"soak of {minutes:g} minutes: {OPENED_EACH_SECOND} debates a second, one parked session answered a second"
    )
    print(
        "\n| minute | debates ended | steps/s | CPU ms per step | largest worker, MB | server, MB | s to the first call: median "
        "| most | ms from an answer to the next ask: median | oldest runnable, s |\n|---|---|---|---|---|---|---|---|---|---|",
        flush=True,
    )
    began, answered = time.monotonic(), ANSWERED
    for part in range(SOAK_MARKS):
        opened_at: dict[int, float] = {}
        asked, calls, cpu, part_began = (
            list[float](),
            len(stage.list_calls()),
            stage.measure_cpu(),
            time.monotonic(),
        )
        while time.monotonic() - began < (part + 1) * minutes * 60 / SOAK_MARKS:
            second = time.monotonic()
            now = time.time()
            opened_at |= dict.fromkeys(await bench.open_debates(OPENED_EACH_SECOND), now)
            if answered < bench.given.parked:
                asked.append(await answer_parked(stage, answered))
                answered += 1
            await asyncio.sleep(max(0.0, second + 1 - time.monotonic()))
        await asyncio.sleep(2)
        first: dict[int, float] = {}
        for call in stage.list_calls()[calls:]:
            first.setdefault(call.seed, call.at)
        waits = [first[seed] - at for seed, at in opened_at.items() if seed in first]
        stats, steps = await bench.runner.stats(), len(stage.list_calls()) - calls
        now = time.monotonic()
        print(
            f"| {(now - began) / 60:.1f} | {stats.statuses.get('closed', 0):,} | {steps / (now - part_began):.0f} "
            f"| {1_000 * (stage.measure_cpu() - cpu) / max(1, steps):.2f} | {stage.measure_memory()} | {read_memory(server.pid)} "
            f"| {statistics.median(waits):.2f} | {max(waits):.2f} "
            f"| {1_000 * statistics.median(asked) if asked else 0:.0f} | {stats.oldest:.2f} |",
            flush=True,
        )
    await bench.wait_for_debates()


async def watch_server(stage: Stage, away: list[tuple[float, float]]) -> None:
    """Ask the server twice a second how it is; `away` gets the times in which it was not well."""
    since: float | None = None
    while True:
        if await asyncio.to_thread(stage.is_server_well):
            if since is not None:
                away.append((since, time.time() - since))
            since = None
        elif since is None:
            since = time.time()
        await asyncio.sleep(0.5)


async def start_processes(bench: Bench) -> None:
    stage = bench.stage
    for _ in range(bench.given.workers - 1):
        stage.start_worker()
    stage.start_far_worker()
    if bench.given.old:
        bench.old_pid = stage.start_old_worker(bench.given.old.resolve())
    stage.start_server()
    while (await bench.runner.stats()).workers < bench.worker_count:  # noqa: ASYNC110
        await asyncio.sleep(0.2)
    while not await asyncio.to_thread(stage.is_server_well):  # noqa: ASYNC110
        await asyncio.sleep(0.2)
    await bench.open_debates(WARM_UP, PLATFORM)
    await bench.wait_for_debates()
    tell(f"{bench.worker_count} workers and a server run")


async def check_all(bench: Bench) -> bool:
    """Check everything that was written; whether something is wrong."""
    tell(f"checking {len(bench.debates)} debates")
    wrong = await check_sessions(bench.moot, bench.stage, bench.debates)
    streams, wrong["damaged"] = await count_damage(bench.moot)
    forgotten, before = set[str](bench.debates), None
    while page := await bench.moot.memory.list_decisions(limit=1_000, before=before):
        forgotten -= {kept.decision for kept in page}
        before = page[-1].decision
    wrong["not remembered"] = len(forgotten)
    repeated = len(bench.stage.list_calls()) - len(bench.debates) * ASKS
    print(
        f"\nOf {len(bench.debates):,} debates with {len(bench.debates) * ASKS:,} answers: "
        + ", ".join(f"{what} {count}" for what, count in wrong.items())
        + f" (of {streams:,} streams verified).\n"
        f"Calls repeated because the first was under way when its worker or the database was lost: {repeated:,}.",
        flush=True,
    )
    if bench.old_pid:
        print(
            f"Calls by the worker of the other tree: {sum(call.pid == bench.old_pid for call in bench.stage.list_calls()):,}."
        )
    return any(wrong.values())


async def measure(given: argparse.Namespace, stage: Stage) -> int:
    participants = dict.fromkeys((PLATFORM, SLOW_PLATFORM), CountedParticipant(os.devnull, 0))
    away: list[tuple[float, float]] = []
    async with (
        Moot(environ=stage.environ, participants=participants) as moot,
        open_shared_runner(moot) as runner,
    ):
        bench = Bench(given, stage, moot, runner, [])
        await start_processes(bench)
        watching = asyncio.create_task(watch_server(stage, away))
        is_wrong = False
        if given.parked:
            await measure_parked(bench)
        await measure_steps(bench)
        if given.faults:
            is_wrong |= await measure_faults(bench)
        if given.soak:
            await soak(bench, given.soak)
        is_wrong |= await check_all(bench)
        watching.cancel()
        seconds = ", ".join(f"{seconds:.1f} s" for _, seconds in away) or "never"
        print(f"The server's /healthz was not 200: {seconds}.", flush=True)
        assert stage.server is not None
        is_wrong |= stage.server.poll() is not None
    return int(is_wrong)


async def run(given: argparse.Namespace, namespace: Namespace | None) -> int:
    hosts = [namespace.host] if namespace else []
    with (
        open_database(hosts) as database,
        tempfile.TemporaryDirectory(prefix="moot-scale-") as folder,
    ):
        async with open_line(database, namespace) as line, AsyncExitStack() as opened:
            stage = Stage(database, line, Path(folder), given.lease, given.seconds)
            if given.temporal:
                stage.temporal = TemporalServer(Path(folder))
                stage.temporal.start()
                opened.callback(stage.temporal.close)
                if namespace:
                    # A development server listens on one address alone, which the worker at the far end does not see.
                    relay = await opened.enter_async_context(
                        CutLine(stage.temporal.address, namespace.host)
                    )
                    stage.far_temporal = f"{namespace.host}:{relay.port}"
            try:
                async with asyncio.timeout(60 * (given.deadline + given.soak)):
                    return await measure(given, stage)
            except TimeoutError:
                tell(f"not done after {given.deadline + given.soak:g} minutes")
                print(stage.log.read_text()[-4_000:], file=sys.stderr)
                return 1
            except (LedgerUnavailable, AssertionError, OSError):
                print(stage.log.read_text()[-4_000:], file=sys.stderr)
                raise
            finally:
                line.mend()
                stage.stop()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--running", type=int, default=1_000)
    parser.add_argument("--parked", type=int, default=10_000)
    parser.add_argument("--workers", type=int, choices=range(2, 21), default=3, metavar="N")
    parser.add_argument(
        "--seconds",
        type=float,
        default=8.0,
        help="how long a participant takes over an answer, beside faults",
    )
    parser.add_argument("--lease", type=float, default=10.0)
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--soak", type=float, default=0.0, metavar="MINUTES")
    parser.add_argument(
        "--deadline", type=float, default=MINUTES, metavar="MINUTES", help="beside the soak"
    )
    parser.add_argument(
        "--temporal", action="store_true", help="a Temporal server hands out the sessions"
    )
    parser.add_argument(
        "--old",
        type=Path,
        metavar="FOLDER",
        help="a tree of another Moot, whose code one worker more runs",
    )
    given = parser.parse_args()
    # Each worker has some connections of its own, and the bench many open files.
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (4_096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    )
    # Cleaned up after, as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with open_namespace() as namespace:
        return asyncio.run(run(given, namespace))


if __name__ == "__main__":
    sys.exit(main())
