"""What a process counts of its sessions: retries, waits, outcomes, and what waits outside."""

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest
from tests.conformance.test_runners import build_engine

from moothall import Moot
from moothall.app.runner import LocalRunner
from moothall.app.shared_runner import open_shared_runner, run_worker
from moothall.domain.effects import Brief
from moothall.domain.ids import SessionId
from moothall.domain.records import StoredRecord
from moothall.errors import LedgerUnavailable, SeqConflict
from moothall.ledgers.memory import MemoryLedger
from moothall.ports.participant import Answer, NoAnswer, OnText, note_retry, note_waiting
from moothall_testkit.ledger_scenes import run_with_deadline
from moothall_testkit.runner_contract import build_contribution, build_debate


class AwayLedger(MemoryLedger):
    """A ledger that is away once, and once has an entry of somebody else's first."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[Exception] = [
            LedgerUnavailable("it is away"),
            SeqConflict(SessionId("s"), 1, 2),
        ]

    async def append(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        if records[0].seq > 1 and self.faults:
            raise self.faults.pop(0)
        await super().append(session, records)


class Fickle:
    """Waits for its provider, tries twice, and then answers, is too slow, or answers nonsense."""

    def __init__(self, works: float = 0.0, said: object = None) -> None:
        self._works = works
        self._said = said

    async def ready(self) -> str | None:
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        with note_waiting():
            await asyncio.sleep(0.02)
        note_retry()
        await asyncio.sleep(self._works)
        return Answer(said=self._said or build_contribution(brief.ask.kind))


@pytest.mark.parametrize(
    ("participant", "outcome"),
    [(Fickle(), "answered"), (Fickle(works=30.0), "timeout"), (Fickle(said="?"), "malformed")],
)
def test_waits_retries_and_outcomes_are_counted(participant: Fickle, outcome: str) -> None:
    """N-7: of providers, of participants, of the ledger; each ask has one outcome, and none is left open."""

    async def work() -> None:
        ledger = AwayLedger()
        engine = build_engine(ledger)
        session = await engine.open(build_debate(patience_inside=0.2))
        await engine.run(session, lambda seat: participant)
        counts = engine.context.telemetry.counts
        asked = sum(counts.answers.values())
        assert counts.answers == Counter({outcome: asked})
        assert (counts.asks_open, counts.ask_retries, counts.provider_waits) == (0, asked, asked)
        assert asked * 0.02 <= counts.provider_wait_seconds < 30
        assert (counts.ledger_retries, counts.conflicts, counts.ended) == (1, 1, 1)
        assert counts.entries == len(await engine.entries(session)) >= counts.appends

    run_with_deadline(work())


def test_what_waits_outside_is_counted_by_a_runner_in_the_process() -> None:
    """N-7: by session and by ask, until it is answered or cancelled."""

    async def work() -> None:
        engine = build_engine(MemoryLedger())

        async def forget(session: SessionId) -> None:
            return None

        async with LocalRunner(
            engine, lambda seat: Fickle() if seat.id == "ada" else None, forget
        ) as runner:
            sessions = [await engine.open(build_debate(outside=True)) for _ in range(3)]
            for session in sessions:
                runner.wake(session)
            while (await runner.stats()).statuses["waiting"] < 3:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            assert (await runner.stats()).asks == 3
            await runner.cancel(sessions[0])
            assert ((await runner.stats()).asks, (await runner.stats()).statuses["waiting"]) == (
                2,
                2,
            )

    run_with_deadline(work())


def test_what_waits_outside_is_counted_over_all_workers(postgres_address: str) -> None:
    """N-7: from an index of what has not ended."""

    async def work() -> None:
        environ = {"MOOT_LEDGER": postgres_address, "MOOT_RUNNER": "workers"}
        async with Moot(environ=environ) as moot, open_shared_runner(moot) as runner:
            for number in (1, 2):
                await moot.open(
                    "Who?",
                    seats=["a=mailbox", "b=mailbox"],
                    protocol="debate",
                    hosted=True,
                    seed=number,
                    memory=False,
                )
            worker = asyncio.create_task(run_worker(environ))
            try:
                while (await runner.stats()).statuses != {"waiting": 2}:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
                assert (await runner.stats()).asks == 4
                await runner.check()
            finally:
                worker.cancel()
                await asyncio.gather(worker, return_exceptions=True)

    run_with_deadline(work())
