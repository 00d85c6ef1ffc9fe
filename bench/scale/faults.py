"""Faults in mid-flight, and how soon the sessions that they hit go on."""

import asyncio
import signal
import statistics
import time
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass

from bench.scale.stage import CallMade, Stage

GOES_ON = 10.0
"""How soon a session must go on after the lease of its worker, or after the database is back."""


@dataclass(frozen=True)
class Fault:
    """What was done: to the sessions of `pids`, or of all. `limit` is in how many seconds from `since` they go on."""

    at: float
    since: float
    limit: float
    pids: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Recovery:
    """How many sessions a fault hit, and in how many seconds each of them took its next step."""

    seconds: tuple[float, ...]
    limit: float

    @property
    def row(self) -> str:
        if not self.seconds:
            return "0 | – | –"
        return (
            f"{len(self.seconds)} | {statistics.median(self.seconds):.1f} | {max(self.seconds):.1f}"
        )

    @property
    def is_late(self) -> bool:
        return not self.seconds or max(self.seconds) > self.limit


async def kill_worker(stage: Stage) -> Fault:
    worker = stage.choose_worker()
    at = time.time()
    stage.kill_worker(worker)
    stage.start_worker()
    return Fault(at, at, stage.lease + GOES_ON, frozenset({worker.pid}))


async def freeze_worker(stage: Stage) -> Fault:
    worker = stage.choose_worker()
    at = time.time()
    worker.send_signal(signal.SIGSTOP)
    await asyncio.sleep(1.5 * stage.lease)
    worker.send_signal(signal.SIGCONT)
    return Fault(at, at, stage.lease + GOES_ON, frozenset({worker.pid}))


async def cut_network(stage: Stage) -> Fault:
    assert stage.far_worker is not None
    at = time.time()
    stage.line.cut()
    await asyncio.sleep(1.5 * stage.lease)
    stage.line.mend()
    return Fault(at, at, stage.lease + GOES_ON, frozenset({stage.far_worker.pid}))


async def crash_database(stage: Stage) -> Fault:
    at = time.time()
    await asyncio.to_thread(stage.database.crash)
    await asyncio.sleep(1)
    await asyncio.to_thread(stage.database.start)
    return Fault(at, time.time(), GOES_ON)


async def kill_temporal(stage: Stage) -> Fault:
    assert stage.temporal is not None
    at = time.time()
    await asyncio.to_thread(stage.temporal.kill)
    await asyncio.sleep(1)
    await asyncio.to_thread(stage.temporal.start)
    return Fault(at, time.time(), GOES_ON)


FAULTS: dict[str, Callable[[Stage], Awaitable[Fault]]] = {
    "a worker killed (kill -9)": kill_worker,
    "a worker frozen for 1.5 leases (SIGSTOP)": freeze_worker,
    "a worker cut off from the network for 1.5 leases": cut_network,
    "PostgreSQL crashed, started again after 1 s": crash_database,
}
TEMPORAL_FAULTS = {**FAULTS, "Temporal killed (kill -9), started again after 1 s": kill_temporal}


def measure_recovery(
    calls: Iterable[CallMade], seeds: Collection[int], fault: Fault, seconds: float
) -> Recovery:
    """When the sessions that a fault hit were next asked something, by whoever runs them then.

    Those of a lost worker are asked anew. Whoever is asked while the database is away goes on, and takes `seconds` over it.
    """
    holders: dict[int, CallMade] = {}
    next_calls: dict[int, float] = {}
    for call in sorted(calls):
        if call.seed not in seeds:
            continue
        if call.at <= fault.at:
            holders[call.seed] = call
        elif call.at > fault.since and call.seed in holders and call.pid not in fault.pids:
            next_calls.setdefault(call.seed, call.at)
    took = [
        next_calls[seed] - (fault.since if fault.pids else max(fault.since, call.at + seconds))
        for seed, call in holders.items()
        if seed in next_calls and (not fault.pids or call.pid in fault.pids)
    ]
    return Recovery(tuple(max(0.0, each) for each in took), fault.limit)
