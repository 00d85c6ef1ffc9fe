"""Workers whose sessions a Temporal server hands out: whoever dies, nothing is lost or repeated, and Temporal learns nothing."""

import asyncio
import base64
import json
import re
import time
from collections import Counter
from pathlib import Path

from temporalio.client import Client
from tests.acceptance.test_workers import (
    DEADLINE,
    Workers,
    check_calls,
    count_ended,
    load_answers,
    open_debates,
    opened,
    wait_for_calls,
    working,
)
from tests.support.temporal_server import TemporalServer

from moothall import Moot
from moothall.app.shared_runner import open_shared_runner
from moothall.domain.ids import SessionId
from moothall.ports.runner import Runner
from moothall_testkit.ledger_scenes import run_with_deadline

LEASE = 3.0
GOES_ON = 10.0
"""How soon after the lease the sessions of a lost worker go on."""
TASK_QUEUE = "acceptance"


async def wait_for_end(moot: Moot, sessions: list[SessionId]) -> None:
    while await count_ended(moot, sessions) < len(sessions):  # noqa: ASYNC110
        await asyncio.sleep(0.1)


async def wait_for_standings(runner: Runner, **wanted: int) -> None:
    while (await runner.stats()).statuses != wanted:  # noqa: ASYNC110
        await asyncio.sleep(0.1)


async def read_histories(server: TemporalServer, sessions: list[SessionId]) -> set[object]:
    """Everything that the histories of these sessions carry, decoded."""
    client = await Client.connect(server.address)
    texts = [
        (await client.get_workflow_handle(f"{TASK_QUEUE}/{session}").fetch_history()).to_json()
        for session in sessions
    ]
    found = [data for text in texts for data in re.findall(r'"data":\s*"([^"]+)"', text)]
    return {json.loads(base64.b64decode(data)) for data in found}


def test_nothing_is_lost_or_repeated_when_temporal_or_a_worker_dies(
    postgres_address: str, temporal_server: TemporalServer, tmp_path: Path
) -> None:
    """N-2, N-3: the Temporal server is killed and comes back, then a worker is killed, each in mid-session."""

    async def work(workers: Workers) -> None:
        workers.environ |= {
            "MOOT_TEMPORAL": temporal_server.address,
            "MOOT_TEMPORAL_QUEUE": TASK_QUEUE,
        }
        workers.start_command(
            ["-m", "bench.scale.counted_worker", str(workers.calls), "0.2", str(LEASE)], 2
        )
        async with opened(workers) as moot, open_shared_runner(moot) as runner:
            # What runs goes on without Temporal; what is opened meanwhile waits for it.
            sessions = await open_debates(moot, 4)
            while len({seed for _, seed, _, _ in workers.list_calls()}) < 4:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            assert await count_ended(moot, sessions) < 4
            temporal_server.kill()
            late = await open_debates(moot, 2, first=20)
            await wait_for_end(moot, sessions)
            assert await count_ended(moot, late) == 0
            temporal_server.start()
            sessions += late
            await wait_for_end(moot, sessions)
            assert set(
                Counter((seed, ask) for _, seed, ask, _ in workers.list_calls()).values()
            ) == {1}

            doomed = workers.processes[0]
            before = set(workers.find_shares()[doomed.pid])
            while not (held := workers.find_shares()[doomed.pid] - before):
                sessions += await open_debates(moot, 4, first=30 + len(sessions))
                await wait_for_calls(workers, len(workers.list_calls()) + 4)
            doomed.kill()
            lost_at = time.time()
            await wait_for_end(moot, sessions)
            taken = [
                at
                for at, seed, _, pid in workers.list_calls()
                if seed in held and pid != doomed.pid
            ]
            assert lost_at < min(taken) < lost_at + LEASE + GOES_ON

            answered = await load_answers(moot, sessions)
            assert len(answered) == 8 * len(sessions)
            calls = check_calls(workers, answered)
            assert set(calls) == set(answered)
            # Repeated are calls that the killed worker had begun, and no others.
            begun = {(seed, ask) for _, seed, ask, pid in workers.list_calls() if pid == doomed.pid}
            assert {call for call, times in calls.items() if times > 1} <= begun
            await wait_for_standings(runner, closed=len(sessions))
            # Names, times and whether it is over: nothing of what was asked or said.
            names = {TASK_QUEUE, *sessions, True, False, LEASE / 2}
            told = await read_histories(temporal_server, sessions)
            assert {
                each
                for each in told
                if each not in names and not str(each).startswith(f"{TASK_QUEUE}:")
            } == set()

    with working(postgres_address, tmp_path) as workers:
        run_with_deadline(work(workers), DEADLINE)
