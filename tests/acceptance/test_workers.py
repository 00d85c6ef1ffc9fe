"""Workers on one PostgreSQL ledger: killed, frozen, or with a database that crashes, they lose and repeat nothing."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
from bench.scale.counted_worker import PLATFORM, CountedParticipant
from bench.scale.cut_line import CutLine
from tests.docs.test_writing_plugins import ESTIMATES, install, read_examples

from moothall import Moot
from moothall.app.environment import open_ledger
from moothall.app.shared_runner import open_shared_runner
from moothall.domain.facts import SessionResumed
from moothall.domain.ids import SessionId
from moothall_testkit.ledger_scenes import build_chain, run_with_deadline

ROOT = Path(__file__).resolve().parents[2]
LEASE = 5.0
SLACK = 4.0
"""A worker notices a sleep of more than a second before it asks, and a busy machine takes its time to start what is called.

Those of this test sleep for longer than the lease, and that is longer than this."""
DEADLINE = 90.0
"""On a machine that others load as well; alone it takes half a minute."""
OPEN_DELPHI = """
import asyncio, os, sys
from moothall import Moot

async def open_session():
    async with Moot(environ=os.environ) as moot:
        seats = dict.fromkeys(("ada", "bob", "cy"), f"script:{sys.argv[1]}")
        await moot.open("How many?", seats=seats, protocol="delphi", hosted=True, memory=False)

asyncio.run(open_session())
"""
GOES_ON = 10.0
"""How soon after the lease the sessions of a lost worker go on."""


class Workers:
    """Worker processes on one database, and what they wrote down."""

    def __init__(self, address: str, folder: Path, seconds: float = 0.2) -> None:
        self.environ = {
            **os.environ,
            "MOOT_LEDGER": address,
            "MOOT_HOME": str(folder / "home"),
            "MOOT_RUNNER": "workers",
        }
        self.calls = folder / "calls"
        self.log = folder / "workers.log"
        self._seconds = seconds
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, count: int = 1, *, through: str = "") -> None:
        arguments = [
            "-m",
            "bench.scale.counted_worker",
            str(self.calls),
            str(self._seconds),
            str(LEASE),
        ]
        self.start_command(arguments, count, through=through)

    def start_command(
        self, arguments: list[str], count: int = 1, *, through: str = ""
    ) -> "list[subprocess.Popen[bytes]]":
        environ = {**self.environ, "MOOT_LEDGER": through or self.environ["MOOT_LEDGER"]}
        with self.log.open("ab") as log:
            command = [sys.executable, *arguments]
            started = [
                subprocess.Popen(command, cwd=ROOT, env=environ, stdout=log, stderr=log)
                for _ in range(count)
            ]
        self.processes += started
        return started

    def list_calls(self) -> list[tuple[float, str, str, int]]:
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [(float(at), seed, ask, int(pid)) for at, seed, ask, pid in map(str.split, lines)]

    def find_shares(self) -> dict[int, set[str]]:
        """The seeds of the sessions that each process has run."""
        held: dict[int, set[str]] = defaultdict(set)
        for _, seed, _, pid in self.list_calls():
            held[pid].add(seed)
        return held

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@contextmanager
def working(address: str, folder: Path) -> Iterator[Workers]:
    workers = Workers(address, folder)
    try:
        yield workers
    except BaseException:
        # What they logged tells why.
        print(workers.log.read_text()[-6_000:])
        raise
    finally:
        workers.close()


@asynccontextmanager
async def opened(workers: Workers) -> AsyncIterator[Moot]:
    participants = {PLATFORM: CountedParticipant(os.devnull, 0)}
    async with Moot(environ=workers.environ, participants=participants) as moot:
        yield moot


async def open_debates(moot: Moot, count: int, *, first: int = 1) -> list[SessionId]:
    settings = {"debate": "always"}
    return [
        await moot.open(
            "Does it survive?",
            seats={"ada": PLATFORM, "bob": PLATFORM},
            protocol="debate",
            settings=settings,
            seed=seed,
            hosted=True,
            check=False,
            memory=False,
        )
        for seed in range(first, first + count)
    ]


async def count_ended(moot: Moot, sessions: list[SessionId]) -> int:
    wanted = set(sessions)
    return sum(
        line.status == "concluded" for line in await moot.sessions() if line.session in wanted
    )


async def wait_for_calls(workers: Workers, count: int) -> None:
    while len(workers.list_calls()) < count:  # noqa: ASYNC110
        await asyncio.sleep(0.02)


async def crash_database(address: str) -> None:
    """Kill a server process: PostgreSQL cuts all connections and recovers, as after a crash."""
    connection = await asyncpg.connect(address)
    pid = await connection.fetchval("SELECT pg_backend_pid()")
    os.kill(pid, signal.SIGKILL)
    while True:
        await asyncio.sleep(0.1)
        try:
            again = await asyncpg.connect(address)
        except (OSError, asyncpg.PostgresError):
            continue
        await again.close()
        return


def check_calls(
    workers: Workers, answered: dict[tuple[str, str], float]
) -> Counter[tuple[str, str]]:
    """No participant was called for an answer that is on record; how often each ask was put."""
    calls = Counter((seed, ask) for _, seed, ask, _ in workers.list_calls())
    for at, seed, ask, _ in workers.list_calls():
        assert at < answered[seed, ask] + SLACK, (seed, ask)
    return calls


def check_taken_over(workers: Workers, lost: list[int], lost_at: float) -> None:
    """What lost workers had not ended went on elsewhere soon after the lease."""
    taken: dict[str, float] = {}
    held = set().union(*(workers.find_shares()[pid] for pid in lost))
    for at, seed, _, pid in workers.list_calls():
        if pid not in lost and seed in held:
            taken.setdefault(seed, at)
    assert taken
    assert max(taken.values()) < lost_at + LEASE + GOES_ON


async def load_answers(moot: Moot, sessions: list[SessionId]) -> dict[tuple[str, str], float]:
    """When the answer to each ask of each seed was recorded; fails where one was recorded twice, or a chain does not hold."""
    answered: dict[tuple[str, str], float] = {}
    for session in sessions:
        assert await moot.verify(session) is None
        seed = (await moot.engine.load_snapshot(session)).session_state.opened.seed
        for entry in await moot.engine.entries(session):
            ask = getattr(entry.fact, "ask", None)
            if isinstance(ask, str) and getattr(entry.fact, "seat", None):
                assert (str(seed), ask) not in answered
                answered[str(seed), ask] = entry.at.timestamp()
    return answered


def test_workers_lose_and_repeat_nothing_whatever_happens_to_them(
    postgres_address: str, tmp_path: Path
) -> None:
    """N-1, N-3: kill -9, SIGSTOP past the lease, a cut line, a crash of PostgreSQL; nothing is lost or answered twice."""
    place = parse_qs(urlsplit(postgres_address).query)["host"][0]

    async def work(workers: Workers) -> None:
        async with (
            opened(workers) as moot,
            open_shared_runner(moot) as runner,
            CutLine(f"{place}/.s.PGSQL.5432") as line,
        ):
            workers.start(3)
            workers.start(
                through=f"postgresql://postgres@127.0.0.1:{line.port}{urlsplit(postgres_address).path}"
            )
            while (await runner.stats()).workers < 4:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            sessions = await open_debates(moot, 24)
            await wait_for_calls(workers, 50)
            while len(held := workers.find_shares()) < 4:
                sessions += await open_debates(moot, 3, first=len(sessions) + 1)
                await asyncio.sleep(0.2)
            killed, frozen, _, cut_off = workers.processes
            killed.kill()
            line.cut()
            frozen.send_signal(signal.SIGSTOP)
            lost_at = time.time()
            # The third worker takes all of them over when the lease is past.
            while await count_ended(moot, sessions) < len(sessions):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            check_taken_over(workers, [killed.pid, frozen.pid, cut_off.pid], lost_at)
            frozen.send_signal(signal.SIGCONT)
            line.mend()
            again = await open_debates(moot, 12, first=1_000)
            await wait_for_calls(workers, len(workers.list_calls()) + 12)
            await crash_database(postgres_address)
            while await count_ended(moot, again) < len(again):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            while (await runner.stats()).statuses != {"closed": len(sessions) + 12}:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            while (await runner.stats()).workers < 3:  # noqa: ASYNC110 - those that were frozen and cut off come back
                await asyncio.sleep(0.1)
            answered = await load_answers(moot, [*sessions, *again])
            assert len(answered) == 8 * (len(sessions) + 12)
            calls = check_calls(workers, answered)
            assert set(calls) == set(answered)
            # Repeated are calls of sessions that another worker took up, and no others.
            resumed = set()
            for session in [*sessions, *again]:
                if any(
                    isinstance(entry.fact, SessionResumed)
                    for entry in await moot.engine.entries(session)
                ):
                    resumed.add(
                        str((await moot.engine.load_snapshot(session)).session_state.opened.seed)
                    )
            assert resumed & (held[killed.pid] | held[frozen.pid] | held[cut_off.pid]), (
                "nothing was in flight"
            )
            assert {seed for (seed, _), times in calls.items() if times > 1} <= resumed
            remembered = [kept.decision for kept in await moot.memory.list_decisions()]
            assert sorted(remembered) == sorted([*sessions, *again])

    with working(postgres_address, tmp_path) as workers:
        run_with_deadline(work(workers), DEADLINE)


def test_a_worker_whose_connections_are_cut_keeps_its_sessions(
    postgres_address: str, tmp_path: Path
) -> None:
    """N-3: an outage that is over within a lease repeats no call, and the worker stays the same."""

    async def work(workers: Workers) -> None:
        async with opened(workers) as moot, open_shared_runner(moot) as runner:
            workers.start()
            while (await runner.stats()).workers < 1:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            connection = await asyncpg.connect(postgres_address)
            name = await connection.fetchval("SELECT name FROM moot_workers")
            sessions = await open_debates(moot, 6)
            for calls in (4, 20, 36):
                await wait_for_calls(workers, calls)
                cut = await connection.fetchval(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1",
                    name,
                )
                assert cut
            while (await runner.stats()).statuses != {"closed": 6}:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            answered = await load_answers(moot, sessions)
            assert check_calls(workers, answered) == dict.fromkeys(answered, 1)
            assert await connection.fetchval("SELECT array_agg(name) FROM moot_workers") == [name]
            # As a fetch leaves it whose answer got lost with the connection: the worker does not know that it has the job.
            insert = """
            INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args, status, worker_id)
            SELECT 'moot', 'moot.advance', 'moot/x', 'moot/x', '{"session": "x"}', 'doing', worker FROM moot_workers
            """
            await connection.execute(insert)
            while await connection.fetchval("SELECT count(*) FROM procrastinate_jobs"):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            await connection.close()

    with working(postgres_address, tmp_path) as workers:
        run_with_deadline(work(workers), DEADLINE)


def test_a_worker_that_dies_before_it_wrote_its_number_down_is_found(
    postgres_address: str, tmp_path: Path
) -> None:
    """N-1: its sessions go on as those of any other dead worker, also where nothing tells whose worker of the queue it was."""
    lose = """
    WITH w AS (INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 minute') RETURNING id),
    m AS (INSERT INTO moot_workers (name, queue, lease, started_at)
          SELECT name, 'moot', '5 s', now() - interval '1 minute' FROM unnest($1::text[]) AS name)
    UPDATE procrastinate_jobs SET status = 'doing', worker_id = w.id FROM w
    """

    async def work(workers: Workers) -> None:
        async with opened(workers) as moot, open_shared_runner(moot) as runner:
            connection = await asyncpg.connect(postgres_address)
            for first, known in ((1, ["moot worker lost"]), (3, [])):
                await open_debates(moot, 2, first=first)
                assert await connection.execute(lose, known) == "UPDATE 2"
                workers.start()
                while (await runner.stats()).statuses != {"closed": first + 1}:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
                workers.close()
                await connection.execute("TRUNCATE moot_workers")
            await connection.close()

    with working(postgres_address, tmp_path) as workers:
        run_with_deadline(work(workers), DEADLINE)


def test_a_worker_leaves_what_it_cannot_run_to_one_that_can(
    postgres_address: str, tmp_path: Path
) -> None:
    """N-5: an old worker beside a new one, through an upgrade; what was left goes on as soon as one comes that knows it.

    The new one has a participant and a protocol that the old one does not have.
    """
    install(
        tmp_path / "site",
        "moot_delphi",
        read_examples("writing-a-protocol.md")[0],
        "delphi",
    )
    (tmp_path / "estimates.toml").write_text(ESTIMATES)

    async def work(workers: Workers) -> None:
        (old,) = workers.start_command(
            ["-m", "moothall.surfaces.cli.main", "worker", "--lease", "5"]
        )
        workers.environ["PYTHONPATH"] = str(tmp_path / "site")
        (opener,) = workers.start_command(["-c", OPEN_DELPHI, str(tmp_path / "estimates.toml")])
        async with opened(workers) as moot, open_shared_runner(moot) as runner:
            sessions = await open_debates(moot, 2)
            while (await runner.stats()).statuses != {"left": 3}:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            assert opener.wait() == 0
            workers.start()
            while (await runner.stats()).statuses != {"closed": 3}:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            assert set(workers.find_shares()) == {workers.processes[-1].pid}
            await load_answers(moot, sessions)
            # What nobody here knows, such as a protocol of a newer Moot, is left alone and told in one word.
            future = SessionId("from_the_future")
            async with open_ledger(postgres_address) as ledger:
                await ledger.append(future, build_chain(future, 1, "future.opened"))
            while (await runner.stats()).statuses != {"closed": 3, "left": 1}:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            assert old.poll() is None

    with working(postgres_address, tmp_path) as workers:
        run_with_deadline(work(workers), DEADLINE)
