"""N-2: every runner keeps the contract: in this process, by the queue that workers share, and by Temporal."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import repeat
from urllib.parse import urlsplit

import pytest
from tests.support.temporal_server import TemporalServer

from moothall.app.protocols import find_kinds, find_rules
from moothall.app.resources import SystemClock
from moothall.app.runner import LocalRunner
from moothall.app.shared_runner import SharedRunner
from moothall.codec.stored import FactCodec
from moothall.engine.engine import Engine
from moothall.engine.session_loop import ParticipantFactory
from moothall.ledgers.memory import MemoryLedger
from moothall.ledgers.postgres import PostgresLedger
from moothall.ledgers.postgres_queue import PostgresQueue, build_worker_name
from moothall.ledgers.temporal_queue import TemporalQueue
from moothall.ledgers.temporal_settings import TASK_QUEUE, TEMPORAL, read_temporal_settings
from moothall.ports.ledger import Ledger
from moothall_testkit.runner_contract import (
    LOOK_SECONDS,
    EndedSessions,
    GatedParticipant,
    RunnerContract,
    RunnerStage,
    build_debate,
    running,
)


def build_engine(ledger: Ledger) -> Engine:
    return Engine(
        ledger=ledger,
        rulebooks=find_rules,
        codec=FactCodec({}, find_kinds=find_kinds),
        clock=SystemClock(),
    )


def look_never_again(seed: int) -> Iterator[float]:
    return repeat(3_600.0)


class TestLocalRunner(RunnerContract):
    @asynccontextmanager
    async def _open(
        self, seating: ParticipantFactory, ended: EndedSessions
    ) -> AsyncIterator[RunnerStage]:
        engine = build_engine(MemoryLedger())
        yield RunnerStage(engine, LocalRunner(engine, seating, ended, delays=look_never_again))

    def open_runner(
        self, seating: ParticipantFactory, ended: EndedSessions
    ) -> AbstractAsyncContextManager[RunnerStage]:
        return self._open(seating, ended)


class TestSharedRunner(RunnerContract):
    @pytest.fixture(autouse=True)
    def _place(self, postgres_address: str) -> None:
        self.address = postgres_address

    def build_queue(self, name: str) -> PostgresQueue:
        return PostgresQueue(self.address, name=name, build="test")

    @asynccontextmanager
    async def _open(
        self, seating: ParticipantFactory, ended: EndedSessions
    ) -> AsyncIterator[RunnerStage]:
        # Two ledgers as in life: a server's, whose appends wake, and a worker's.
        name = build_worker_name()
        async with (
            PostgresLedger(self.address) as served,
            PostgresLedger(self.address, name=name) as ledger,
            self.build_queue(name) as queue,
            SharedRunner(
                build_engine(ledger),
                seating,
                ended,
                queue=queue,
                lease=5.0,
                delays=look_never_again,
            ) as runner,
        ):
            yield RunnerStage(build_engine(served), runner)

    def open_runner(
        self, seating: ParticipantFactory, ended: EndedSessions
    ) -> AbstractAsyncContextManager[RunnerStage]:
        return self._open(seating, ended)

    def test_a_wake_at_the_last_moment_does_not_end_a_session_twice(self) -> None:
        async def body(stage: RunnerStage, ada: GatedParticipant, ended: EndedSessions) -> None:
            assert isinstance(stage.runner, SharedRunner)
            async with running(stage.runner):
                session = await stage.engine.open(build_debate())
                stage.runner.wake(session)
                while (await stage.runner.stats()).statuses.get("closed") != 1:  # noqa: ASYNC110
                    await asyncio.sleep(LOOK_SECONDS)
                # As a job does that a wake put into the queue while the session was being settled.
                assert (await stage.runner.advance(session)).status == "closed"
                assert ended.sessions == [session]

        self.play(body)


class TestTemporalRunner(TestSharedRunner):
    @pytest.fixture(autouse=True)
    def _temporal(self, temporal_server: TemporalServer) -> None:
        # Each database has its own task queue, as each ledger has.
        self.environ = {
            TEMPORAL: temporal_server.address,
            TASK_QUEUE: urlsplit(self.address).path[1:],
        }

    def build_queue(self, name: str) -> PostgresQueue:
        settings = read_temporal_settings(self.environ)
        assert settings is not None
        return TemporalQueue(self.address, settings, name=name, build="test")
