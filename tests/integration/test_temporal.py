"""N-2: what a Temporal server is told, what it is not told, and what a person is told who names the wrong one."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest
from click.testing import CliRunner
from temporalio.client import Client, WorkflowHandle
from tests.conformance.test_runners import build_engine, look_never_again
from tests.support.temporal_server import TemporalServer

from moothall.app.shared_runner import SharedRunner
from moothall.domain.roster import Seat
from moothall.engine.session_loop import ParticipantFactory
from moothall.errors import BadSetting, UnknownPlatform, describe_install
from moothall.ledgers import temporal_queue
from moothall.ledgers.postgres import PostgresLedger
from moothall.ledgers.postgres_queue import build_worker_name
from moothall.ledgers.temporal_queue import TemporalQueue
from moothall.ledgers.temporal_settings import (
    NAMESPACE,
    TASK_QUEUE,
    TEMPORAL,
    read_temporal_settings,
)
from moothall.surfaces.cli.serve import worker
from moothall_testkit.ledger_scenes import run_with_deadline
from moothall_testkit.runner_contract import (
    EVE,
    LOOK_SECONDS,
    PHASES,
    EndedSessions,
    GatedParticipant,
    RunnerStage,
    build_contribution,
    build_debate,
    running,
    wait_until,
)


@asynccontextmanager
async def working(
    environ: dict[str, str], seating: ParticipantFactory, ended: EndedSessions, build: str
) -> AsyncIterator[RunnerStage]:
    """A worker of a build, while it runs, with a server's engine."""
    address, name, settings = (
        environ["MOOT_LEDGER"],
        build_worker_name(),
        read_temporal_settings(environ),
    )
    assert settings is not None
    async with AsyncExitStack() as stack:
        served, ledger = PostgresLedger(address), PostgresLedger(address, name=name)
        await stack.enter_async_context(served)
        await stack.enter_async_context(ledger)
        queue = await stack.enter_async_context(
            TemporalQueue(address, settings, name=name, build=build)
        )
        # Long: two of them share this process, and the first to go on after a pause would take the other for dead.
        runner = SharedRunner(
            build_engine(ledger), seating, ended, queue=queue, lease=30.0, delays=look_never_again
        )
        await stack.enter_async_context(runner)
        await stack.enter_async_context(running(runner))
        yield RunnerStage(build_engine(served), runner)


@pytest.fixture
def environ(postgres_address: str, temporal_server: TemporalServer) -> dict[str, str]:
    queue = f"integration-{urlsplit(postgres_address).path[1:]}"
    return {"MOOT_LEDGER": postgres_address, TEMPORAL: temporal_server.address, TASK_QUEUE: queue}


def test_a_worker_of_another_build_takes_what_one_cannot_run(environ: dict[str, str]) -> None:
    """N-5: by the task queue of its build, which the first one does not hear."""

    def refuse(seat: Seat) -> None:
        raise UnknownPlatform("unknown platform")

    async def work() -> None:
        ada, ended = GatedParticipant(), EndedSessions()
        async with working(environ, refuse, ended, "old") as stage:
            session = await stage.engine.open(build_debate())
            while (await stage.runner.stats()).statuses != {"left": 1}:  # noqa: ASYNC110
                await asyncio.sleep(LOOK_SECONDS)
            async with working(environ, lambda seat: ada, ended, "new"):
                await wait_until(lambda: bool(ended.sessions))
        assert (ended.sessions, ada.calls) == ([session], 4)

    run_with_deadline(work())


EVENTS_OF_AN_ADVANCE = 12
"""Of a Temporal history, for one wake: its signal, its workflow tasks and its activity."""


async def is_at_rest(handle: WorkflowHandle[Any, Any]) -> bool:
    """Whether a workflow has taken in all that it was told, and waits for a signal."""
    found = (await handle.describe()).raw_description
    return not found.pending_activities and not found.HasField("pending_workflow_task")


@pytest.mark.parametrize("rests", [True, False])
def test_a_long_session_continues_as_a_new_workflow(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, rests: bool
) -> None:
    """N-2: its history stays short, also if it is always woken while it runs, and no wake is lost on the way."""
    monkeypatch.setattr(temporal_queue, "MAX_EVENTS", 10)

    async def work() -> None:
        ada, ended = GatedParticipant(), EndedSessions()
        async with working(
            environ, lambda seat: ada if seat.id != EVE else None, ended, "test"
        ) as stage:
            session = await stage.engine.open(build_debate(outside=True))
            client = await Client.connect(environ[TEMPORAL])
            handle = client.get_workflow_handle(f"{environ[TASK_QUEUE]}/{session}")
            for number, phase in enumerate(PHASES, 1):
                await wait_until(lambda count=number: ada.calls == count)  # type: ignore[misc]
                # At rest: what comes next wakes it. Otherwise it comes while it runs.
                while rests and (  # noqa: ASYNC110
                    (stats := await stage.runner.stats()).running
                    or stats.statuses != {"waiting": 1}
                ):
                    await asyncio.sleep(LOOK_SECONDS)
                # For Temporal, too: a wake that comes before would be one of the same run.
                while rests and not await is_at_rest(handle):  # noqa: ASYNC110
                    await asyncio.sleep(LOOK_SECONDS)
                await stage.engine.contribute(session, EVE, build_contribution(phase))
            await wait_until(lambda: bool(ended.sessions))
            assert (ended.sessions, ada.calls) == ([session], 4)
            await handle.result()
            described = await handle.describe()
            is_continued = (
                described.raw_description.workflow_execution_info.first_run_id != described.run_id
            )
            # Wakes that all come during the first advance are one: the session then ends with a history that is short enough.
            assert is_continued or (
                not rests and described.history_length <= 10 + EVENTS_OF_AN_ADVANCE
            )
            # Without that it has those of an advance for each of its wakes, of which a slow machine makes more.
            assert described.history_length < 50

    run_with_deadline(work())


def test_a_job_that_was_taken_while_the_answer_got_lost_is_given_back(
    environ: dict[str, str],
) -> None:
    """N-3: a worker that holds a job without knowing of it does not hold up the session."""
    hold = """
    INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args, status, worker_id)
    SELECT 'moot', 'moot.advance', 'moot/' || $1, 'moot/' || $1, jsonb_build_object('session', $1), 'doing', worker
    FROM moot_workers
    """

    async def work() -> None:
        ada, ended = GatedParticipant(), EndedSessions()
        async with working(
            environ, lambda seat: ada if seat.id != EVE else None, ended, "test"
        ) as stage:
            session = await stage.engine.open(build_debate(outside=True))
            while (await stage.runner.stats()).statuses != {"waiting": 1} or (  # noqa: ASYNC110
                await stage.runner.stats()
            ).running:
                await asyncio.sleep(LOOK_SECONDS)
            connection = await asyncpg.connect(environ["MOOT_LEDGER"])
            await connection.execute(hold, session)
            await connection.close()
            await stage.engine.contribute(session, EVE, build_contribution("propose"))
            await wait_until(lambda: ada.calls == 2)

    run_with_deadline(work())


@pytest.mark.parametrize(
    "server",
    [
        "temporal",
        "temporal:",
        ":7233",
        "http://temporal:7233",
        "a b:1",
        "host:0",
        "host:65536",
        "h:1e3",
    ],
)
def test_what_is_no_server_is_refused(server: str) -> None:
    with pytest.raises(BadSetting, match=r"is not a Temporal server; expected HOST:PORT"):
        read_temporal_settings({TEMPORAL: server})


@pytest.mark.parametrize("name", ["a b", "/_sys/x", "x" * 101, "队列"])
def test_what_is_no_task_queue_is_refused(name: str) -> None:
    with pytest.raises(BadSetting, match="is not a task queue; expected"):
        read_temporal_settings({TEMPORAL: "localhost:7233", TASK_QUEUE: name})


@pytest.mark.parametrize(
    ("given", "code", "told"),
    [
        (
            ["--temporal", "127.0.0.1:1"],
            1,
            "the Temporal server at 127.0.0.1:1 does not answer (Connection refused); start it",
        ),
        (["--temporal", "SERVER", "--namespace", "nope"], 2, "has no namespace 'nope'; create it"),
        (["--task-queue", "mine"], 2, "name it: --temporal HOST:PORT"),
    ],
)
def test_a_worker_says_in_one_sentence_what_is_wrong(
    given: list[str], code: int, told: str, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(temporal_queue, "CONNECT_SECONDS", 1.0)
    for name in (TEMPORAL, NAMESPACE, TASK_QUEUE):
        # The command sets them: this puts them back.
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("MOOT_LEDGER", environ["MOOT_LEDGER"])
    result = CliRunner().invoke(
        worker, [environ[TEMPORAL] if each == "SERVER" else each for each in given]
    )
    assert result.exit_code == code
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_without_the_package_a_worker_names_what_to_install(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "temporalio", None)
    monkeypatch.delitem(sys.modules, "moothall.ledgers.temporal_queue")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    result = CliRunner().invoke(worker, [])
    assert (result.exit_code, result.stderr) == (
        2,
        f"moot: Temporal needs an extra package: {describe_install('temporal')}\n",
    )
    monkeypatch.setenv("MOOT_LEDGER", "ledger.db")
    assert "workers share a PostgreSQL ledger" in CliRunner().invoke(worker, []).stderr
