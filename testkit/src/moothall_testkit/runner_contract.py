"""What every runner keeps, as tests: subclass it in a test module, say how to open yours, and run pytest.

    class TestMyRunner(RunnerContract):
        def open_runner(self, seating: ParticipantFactory, ended: EndedSessions) -> AbstractAsyncContextManager[RunnerStage]:
            ...

What happens when a process dies or freezes is not checked here: that takes processes of one's own.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from moothall.domain.budget import Budget
from moothall.domain.effects import Brief
from moothall.domain.facts import SeatLost, SessionParked
from moothall.domain.ids import SeatId, SessionId
from moothall.domain.roster import MAILBOX, Seat
from moothall.engine.engine import Engine
from moothall.engine.session_loop import ParticipantFactory
from moothall.ports.participant import Answer, NoAnswer, OnText
from moothall.ports.runner import Runner
from moothall.protocols.council.facts import Contribution, CouncilSettings
from moothall.protocols.council.plugin import DebateOpened
from moothall_testkit.ledger_scenes import run_with_deadline

LOOK_SECONDS = 0.02
PHASES = ("propose", "argue", "synthesize", "vote")
ADA, EVE = SeatId("ada"), SeatId("eve")


@dataclass(frozen=True, slots=True)
class RunnerStage:
    """A runner and the engine whose sessions it runs."""

    engine: Engine
    runner: Runner


class EndedSessions:
    """The sessions that a runner said had ended."""

    def __init__(self) -> None:
        self.sessions: list[SessionId] = []

    async def __call__(self, session: SessionId) -> None:
        self.sessions.append(session)


class GatedParticipant:
    """Answers a debate; waits at its gate before, and cannot be asked while it `is_out`."""

    def __init__(self) -> None:
        self.calls = 0
        self.is_out = False
        self.is_dismissed = False
        self.gate = asyncio.Event()
        self.gate.set()

    async def ready(self) -> str | None:
        return "the line is dead" if self.is_out else None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        if self.is_out:
            return NoAnswer(reason="unreachable", detail="the line is dead")
        self.calls += 1
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.is_dismissed = True
            raise
        return Answer(said=build_contribution(brief.ask.kind))


def build_contribution(phase: str) -> Contribution:
    said: dict[str, dict[str, Any]] = {
        "propose": {"type": "propose", "text": "Yes.", "confidence": 0.8},
        "argue": {"type": "support", "text": "It holds.", "confidence": 0.7, "refers_to": 2},
        "synthesize": {"type": "synthesize", "text": "All of it.", "confidence": 0.8},
        "vote": {"type": "vote", "position": "support", "confidence": 0.9},
    }
    return Contribution(**said[phase])


def build_debate(
    *,
    outside: bool = False,
    patience: float = 3_600.0,
    patience_inside: float = 180.0,
    hosted: bool = True,
) -> DebateOpened:
    """A debate of one participant, and of a second one from outside."""
    seats = [Seat(id=ADA, platform="test"), *([Seat(id=EVE, platform=MAILBOX)] if outside else [])]
    return DebateOpened(
        topic="Why?",
        language="en",
        seed=1,
        seats=tuple(seats),
        settings=CouncilSettings(debate="always", order="open", patience=patience_inside),
        budget=Budget(),
        outside_patience=patience,
        hosted=hosted,
    )


async def wait_until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 - a runner tells nobody
        await asyncio.sleep(LOOK_SECONDS)


class RunnerContract:
    """One test per promise; `run` is under way in each unless it says otherwise."""

    def open_runner(
        self, seating: ParticipantFactory, ended: EndedSessions
    ) -> AbstractAsyncContextManager[RunnerStage]:
        """A runner over an empty ledger, whose `run` has not been called."""
        raise NotImplementedError

    def play(
        self,
        body: Callable[[RunnerStage, GatedParticipant, EndedSessions], Coroutine[Any, Any, None]],
    ) -> None:
        async def work() -> None:
            ada, ended = GatedParticipant(), EndedSessions()
            async with self.open_runner(
                lambda seat: ada if seat.id == ADA else None, ended
            ) as stage:
                await body(stage, ada, ended)

        run_with_deadline(work())

    def test_a_woken_session_is_run_to_its_end_once(self) -> None:
        async def body(stage: RunnerStage, ada: GatedParticipant, ended: EndedSessions) -> None:
            async with running(stage.runner):
                session = await stage.engine.open(build_debate())
                for _ in range(5):
                    stage.runner.wake(session)
                await wait_until(lambda: bool(ended.sessions))
                assert (await stage.engine.load_snapshot(session)).is_closed
                assert (ended.sessions, ada.calls) == ([session], 4)

        self.play(body)

    def test_what_was_opened_before_is_run_when_run_begins(self) -> None:
        async def body(stage: RunnerStage, ada: GatedParticipant, ended: EndedSessions) -> None:
            sessions = [await stage.engine.open(build_debate()) for _ in range(3)]
            for session in sessions:
                stage.runner.wake(session)
            async with running(stage.runner):
                await wait_until(lambda: len(ended.sessions) == 3)
            assert sorted(ended.sessions) == sorted(sessions)

        self.play(body)

    def test_a_wake_while_a_session_runs_is_not_lost_and_asks_nobody_twice(self) -> None:
        async def body(stage: RunnerStage, ada: GatedParticipant, ended: EndedSessions) -> None:
            async with running(stage.runner):
                ada.gate.clear()
                session = await stage.engine.open(build_debate(outside=True))
                stage.runner.wake(session)
                for number, phase in enumerate(PHASES, 1):
                    await wait_until(lambda count=number: ada.calls == count)  # type: ignore[misc]
                    await stage.engine.contribute(session, EVE, build_contribution(phase))
                    stage.runner.wake(session)
                    ada.gate.set()
                    await asyncio.sleep(0)
                await wait_until(lambda: bool(ended.sessions))
                assert (ended.sessions, ada.calls) == ([session], 4)

        self.play(body)

    def test_deadlines_pass_without_a_wake(self) -> None:
        async def body(stage: RunnerStage, ada: GatedParticipant, ended: EndedSessions) -> None:
            async with running(stage.runner):
                session = await stage.engine.open(build_debate(outside=True, patience=0.1))
                stage.runner.wake(session)
                await wait_until(lambda: bool(ended.sessions))
                lost = [
                    entry.fact
                    for entry in await stage.engine.entries(session)
                    if isinstance(entry.fact, SeatLost)
                ]
                assert {(fact.seat, fact.reason) for fact in lost} == {(EVE, "timeout")}

        self.play(body)

    def test_a_parked_session_is_looked_at_at_once_when_asked_to(self) -> None:
        async def body(stage: RunnerStage, ada: GatedParticipant, ended: EndedSessions) -> None:
            async with running(stage.runner):
                ada.is_out = True
                session = await stage.engine.open(build_debate())
                stage.runner.wake(session)
                while not isinstance((await stage.engine.entries(session))[-1].fact, SessionParked):  # noqa: ASYNC110
                    await asyncio.sleep(LOOK_SECONDS)
                while (await stage.runner.stats()).parked != 1:  # noqa: ASYNC110
                    await asyncio.sleep(LOOK_SECONDS)
                # Wakes that find nothing to do must not take the one that does something with them.
                stage.runner.wake(session)
                ada.is_out = False
                await asyncio.sleep(0)
                stage.runner.wake(session, at_once=True)
                await wait_until(lambda: bool(ended.sessions))
                assert ada.calls == 4

        self.play(body)

    def test_a_cancelled_session_is_let_go_and_can_be_woken_again(self) -> None:
        async def body(stage: RunnerStage, ada: GatedParticipant, ended: EndedSessions) -> None:
            async with running(stage.runner):
                ada.gate.clear()
                session = await stage.engine.open(build_debate())
                stage.runner.wake(session)
                await wait_until(lambda: ada.calls == 1)
                before = len(await stage.engine.entries(session))
                await stage.runner.cancel(session)
                await wait_until(lambda: ada.is_dismissed)
                while (await stage.runner.stats()).running:  # noqa: ASYNC110
                    await asyncio.sleep(LOOK_SECONDS)
                assert (len(await stage.engine.entries(session)), ended.sessions) == (before, [])
                ada.gate.set()
                stage.runner.wake(session, at_once=True)
                await wait_until(lambda: bool(ended.sessions))

        self.play(body)

    def test_a_wake_for_no_session_does_nothing(self) -> None:
        async def body(stage: RunnerStage, ada: GatedParticipant, ended: EndedSessions) -> None:
            async with running(stage.runner):
                stage.runner.wake(SessionId("nope"))
                stage.runner.wake(SessionId("_memory"), at_once=True)
                await stage.runner.cancel(SessionId("nope"))
                session = await stage.engine.open(build_debate())
                stage.runner.wake(session)
                await wait_until(lambda: bool(ended.sessions))
                assert ended.sessions == [session]

        self.play(body)

    def test_what_is_running_when_run_ends_goes_on_with_the_next_run(self) -> None:
        async def body(stage: RunnerStage, ada: GatedParticipant, ended: EndedSessions) -> None:
            async with running(stage.runner):
                ada.gate.clear()
                session = await stage.engine.open(build_debate())
                stage.runner.wake(session)
                await wait_until(lambda: ada.calls == 1)
                while (await stage.runner.stats()).running != 1:  # noqa: ASYNC110
                    await asyncio.sleep(LOOK_SECONDS)
            assert (ada.is_dismissed, ended.sessions) == (True, [])
            ada.gate.set()
            stage.runner.wake(session)
            async with running(stage.runner):
                await wait_until(lambda: bool(ended.sessions))
            assert ended.sessions == [session]

        self.play(body)


@asynccontextmanager
async def running(runner: Runner) -> AsyncIterator[None]:
    """While `run` is under way."""
    task = asyncio.create_task(runner.run())
    # A task begins at the next turn of the loop.
    await asyncio.sleep(0)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    if not task.cancelled():
        await task
