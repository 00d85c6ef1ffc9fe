"""The local runner: sessions go on when they are nudged and when a deadline passes, and nothing is left behind."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import repeat
from pathlib import Path
from typing import Any, TypeVar

import pytest

from moothall import Moot
from moothall.app import runner as local
from moothall.app.protocols import collect_kinds, load_protocols
from moothall.app.runner import LocalRunner
from moothall.codec.stored import FactCodec
from moothall.domain.budget import Budget
from moothall.domain.effects import Brief
from moothall.domain.facts import SeatLost
from moothall.domain.ids import SeatId, SessionId
from moothall.domain.records import StoredRecord
from moothall.domain.roster import MAILBOX, Seat
from moothall.engine.engine import Engine
from moothall.engine.outages import OutageLog
from moothall.engine.session_loop import ParticipantFactory
from moothall.engine.snapshot import Snapshot
from moothall.errors import LedgerFull, LedgerUnavailable
from moothall.ledgers.memory import MemoryLedger
from moothall.ports.participant import Answer, NoAnswer, OnText, Participant
from moothall.protocols.council.facts import Contribution, CouncilSettings, DeliberationClosed
from moothall.protocols.council.plugin import DebateOpened

T = TypeVar("T")
DEADLINE = 120.0
PHASES = ("propose", "argue", "synthesize", "vote")
EVE = SeatId("eve")


class Steady:
    """The time of day, put forward by `ahead`."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


class Counted(Engine):
    """Counts how often it was told to run a session, and how often one was looked at."""

    runs = 0
    looks = 0

    async def load_snapshot(self, session: SessionId) -> Snapshot:
        self.looks += 1
        return await super().load_snapshot(session)

    async def run(
        self,
        session: SessionId,
        seating: ParticipantFactory,
        *,
        wait_outside: bool | float = False,
        loaded: Snapshot | None = None,
    ) -> Snapshot:
        self.runs += 1
        return await super().run(session, seating, wait_outside=wait_outside, loaded=loaded)


class Guest:
    """Says what the phase is for; waits at the gate first, if there is one."""

    def __init__(self, gate: asyncio.Event | None = None) -> None:
        self.asked = asyncio.Event()
        self.calls = 0
        self.is_dismissed = False
        self._gate = gate

    async def ready(self) -> str | None:
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        self.calls += 1
        self.asked.set()
        try:
            if self._gate is not None:
                await self._gate.wait()
        except asyncio.CancelledError:
            self.is_dismissed = True
            raise
        return Answer(said=Contribution(**says(brief.ask.kind)))


class Ends:
    """The sessions that the runner said had ended."""

    def __init__(self) -> None:
        self.sessions: list[SessionId] = []
        self._happened = asyncio.Event()

    async def __call__(self, session: SessionId) -> None:
        self.sessions.append(session)
        self._happened.set()

    async def seen(self, count: int = 1) -> None:
        while len(self.sessions) < count:
            self._happened.clear()
            await self._happened.wait()


def says(phase: str) -> dict[str, Any]:
    said: dict[str, dict[str, Any]] = {
        "propose": {"type": "propose", "text": "Yes.", "confidence": 0.8},
        "argue": {"type": "support", "text": "It holds.", "confidence": 0.7, "refers_to": 2},
        "synthesize": {"type": "synthesize", "text": "All of it.", "confidence": 0.8},
        "vote": {"type": "vote", "position": "support", "confidence": 0.9},
    }
    return said[phase]


def bounded(work: Coroutine[Any, Any, T]) -> T:
    async def limited() -> T:
        async with asyncio.timeout(DEADLINE):
            return await work

    return asyncio.run(limited())


def engine(ledger: MemoryLedger | None = None, clock: Steady | None = None) -> Counted:
    rulebooks = [plugin.rules for plugin in load_protocols().values()]
    codec = FactCodec(collect_kinds())
    return Counted(
        ledger=ledger or MemoryLedger(), rulebooks=rulebooks, codec=codec, clock=clock or Steady()
    )


def debate(*names: str, elsewhere: Sequence[str] = (), patience: float = 3_600.0) -> DebateOpened:
    seats = [Seat(id=SeatId(name), platform="test") for name in names]
    seats += [Seat(id=SeatId(name), platform=MAILBOX) for name in elsewhere]
    settings = CouncilSettings(debate="always", order="open" if elsewhere else "round_robin")
    return DebateOpened(
        topic="Why?",
        language="en",
        seed=1,
        seats=tuple(seats),
        settings=settings,
        budget=Budget(),
        outside_patience=patience,
    )


def seating(**guests: Guest) -> Callable[[Seat], Participant | None]:
    """These guests, and nobody in the seats of those who sit elsewhere."""
    return lambda seat: guests.get(seat.id)


async def idle(runner: LocalRunner) -> None:
    """Until the runner has nothing to do at the moment."""
    while runner.running:  # noqa: ASYNC110 - the runner tells nobody
        await asyncio.sleep(0.005)


async def resolution(house: Engine, session: SessionId) -> DeliberationClosed:
    fact = (await house.entries(session))[-1].fact
    assert isinstance(fact, DeliberationClosed)
    return fact


def test_a_nudge_runs_a_session_to_its_end_and_tells_of_it_once() -> None:
    """D-7: however often it is nudged while it runs."""

    async def work() -> None:
        house, ends, ada, bob = engine(), Ends(), Guest(), Guest()
        session = await house.open(debate("ada", "bob"))
        async with LocalRunner(house, seating(ada=ada, bob=bob), ends) as runner:
            for _ in range(5):
                runner.wake(session)
            assert runner.running == 1
            await ends.seen()
            await idle(runner)
        assert ends.sessions == [session]
        assert (ada.calls, bob.calls) == (4, 4)
        assert (await resolution(house, session)).consensus_type == "unanimous"

    bounded(work())


def test_a_session_goes_as_far_as_it_can_and_on_with_each_contribution() -> None:
    """D-2, D-5: the runner asks those who sit here as soon as those elsewhere have spoken."""

    async def work() -> None:
        house, ends, ada = engine(), Ends(), Guest()
        session = await house.open(debate("ada", elsewhere=["eve"]))
        async with LocalRunner(house, seating(ada=ada), ends) as runner:
            for number, phase in enumerate(PHASES, 1):
                runner.wake(session)
                await idle(runner)
                assert ada.calls == number
                assert [each.ask.id for each in await house.list_outstanding(session)] == [
                    f"{number}.{phase}.eve"
                ]
                assert ends.sessions == []
                await house.contribute(session, EVE, says(phase))
            runner.wake(session)
            await ends.seen()
        assert ends.sessions == [session]

    bounded(work())


def test_a_nudge_while_a_session_is_run_is_not_lost_and_asks_nobody_twice() -> None:
    """D-2: what came in meanwhile is looked at before the session is left alone."""

    async def work() -> None:
        gate = asyncio.Event()
        house, ends, ada = engine(), Ends(), Guest(gate)
        session = await house.open(debate("ada", elsewhere=["eve"]))
        async with LocalRunner(house, seating(ada=ada), ends) as runner:
            runner.wake(session)
            await ada.asked.wait()
            await house.contribute(session, EVE, says("propose"))
            runner.wake(session)
            gate.set()
            await idle(runner)
        assert ada.calls == 2
        assert [each.ask.id for each in await house.list_outstanding(session)] == ["2.argue.eve"]

    bounded(work())


def test_many_sessions_run_beside_each_other() -> None:
    async def work() -> None:
        house, ends, gate = engine(), Ends(), asyncio.Event()
        guests = seating(ada=Guest(gate), bob=Guest(gate))
        sessions = [await house.open(debate("ada", "bob")) for _ in range(10)]
        async with LocalRunner(house, guests, ends) as runner:
            for session in sessions:
                runner.wake(session)
            assert runner.running == 10
            gate.set()
            await ends.seen(10)
            await idle(runner)
        assert sorted(ends.sessions) == sorted(sessions)

    bounded(work())


def test_deadlines_of_those_elsewhere_pass_while_the_runner_lives() -> None:
    """D-16: nobody nudges; eve is lost in each phase, and the debate comes to its end without her."""

    async def work() -> None:
        house, ends, ada = engine(), Ends(), Guest()
        session = await house.open(debate("ada", "bob", elsewhere=["eve"], patience=0.1))
        async with LocalRunner(house, seating(ada=ada, bob=Guest()), ends) as runner:
            runner.wake(session)
            await ends.seen()
        lost = [
            entry.fact for entry in await house.entries(session) if isinstance(entry.fact, SeatLost)
        ]
        assert [(fact.ask, fact.reason) for fact in lost] == [
            ("1.propose.eve", "timeout"),
            ("2.argue.eve", "timeout"),
            ("3.synthesize.eve", "timeout"),
            ("4.vote.eve", "timeout"),
        ]
        closed = await resolution(house, session)
        assert [(lost.seat, lost.times, lost.last) for lost in closed.lost] == [
            ("eve", 4, "timeout")
        ]
        assert (closed.consensus_type, ada.calls) == ("convergent", 4)

    bounded(work())


def test_a_deadline_that_passed_while_no_runner_lived_passes_at_the_first_nudge() -> None:
    """D-16: and a word that came in time counts."""

    async def work() -> None:
        clock = Steady()
        house, ends = engine(clock=clock), Ends()
        session = await house.open(debate(elsewhere=["eve", "fay"], patience=3_600.0))
        await house.contribute(session, EVE, says("propose"))
        async with LocalRunner(house, seating(), ends) as runner:
            while not ends.sessions:
                clock.ahead += timedelta(hours=2)
                runner.wake(session)
                await idle(runner)
        lost = [
            entry.fact.ask
            for entry in await house.entries(session)
            if isinstance(entry.fact, SeatLost)
        ]
        assert lost[0] == "1.propose.fay"
        assert "1.propose.eve" not in lost

    bounded(work())


def test_a_session_that_another_process_runs_is_looked_at_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """D-5: when the other lets go, this one takes over; nobody is asked twice."""
    monkeypatch.setattr(local, "LOOK_AGAIN_SECONDS", 0.02)

    async def work() -> None:
        ledger = MemoryLedger()
        house, ends, ada = engine(ledger), Ends(), Guest()
        session = await house.open(debate("ada", "bob"))
        async with LocalRunner(house, seating(ada=ada, bob=Guest()), ends) as runner:
            async with ledger.claim(session):
                runner.wake(session)
                await asyncio.sleep(0.1)
                assert (ada.calls, ends.sessions) == (0, [])
            await ends.seen()
        assert (ada.calls, ends.sessions) == (4, [session])

    bounded(work())


class Failing(MemoryLedger):
    """A disk that fails a few times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

    async def append(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        if records[0].seq > 1 and self.left:
            self.left -= 1
            raise LedgerUnavailable("the disk is away")
        await super().append(session, records)


def test_a_ledger_that_fails_for_a_while_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(local, "LOOK_AGAIN_SECONDS", 0.02)

    async def work() -> None:
        house, ends = engine(Failing(9)), Ends()
        sessions = [await house.open(debate("ada", "bob")) for _ in range(3)]
        async with LocalRunner(house, seating(ada=Guest(), bob=Guest()), ends) as runner:
            for session in sessions:
                runner.wake(session)
            await ends.seen(3)
        assert sorted(ends.sessions) == sessions

    with caplog.at_level(logging.WARNING, "moot"):
        bounded(work())
    # One sentence for the whole outage and all sessions, and no traceback.
    assert [(record.message, record.exc_info) for record in caplog.records] == [
        ("the disk is away; trying again for 30 s", None)
    ]


def test_a_second_outage_and_one_that_lasts_are_told_of_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = [0.0]
    outages = OutageLog(lambda: now[0])
    with caplog.at_level(logging.WARNING, "moot"):
        for now[0] in (0.0, 1.0, 9.0, 20.0, *(20.0 + step for step in range(1, 70, 3))):
            outages.tell(LedgerUnavailable(f"away at {now[0]:.0f}"))
        outages.tell(LedgerFull("no room"))
    assert [record.message for record in caplog.records] == [
        "away at 0; trying again",
        "away at 20; trying again",
        "away at 81; trying again",
        "no room; trying again",
    ]


class Damaged(MemoryLedger):
    """A disk on which a record was changed."""

    async def read(
        self, session: SessionId, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        return [
            record._replace(at=record.at + 1)
            for record in await super().read(session, after, limit)
        ]


def test_a_damaged_session_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """D-13: it will not mend by itself; that it is damaged is logged once."""
    monkeypatch.setattr(local, "LOOK_AGAIN_SECONDS", 0.01)

    async def work() -> None:
        ledger = Damaged()
        session = await engine(ledger).open(debate("ada", "bob"))
        async with LocalRunner(engine(ledger), seating(), Ends()) as runner:
            runner.wake(session)
            await idle(runner)

    bounded(work())


def test_a_clock_that_is_behind_the_time_of_day_keeps_nobody_busy() -> None:
    """D-7: a deadline is waited for by the clock that judges it, also after the machine has slept for a little while."""

    async def work() -> None:
        clock, ends = Steady(), Ends()
        clock.ahead = timedelta(seconds=-3)
        house = engine(clock=clock)
        session = await house.open(debate("ada", elsewhere=["eve"], patience=1.0))
        async with LocalRunner(house, seating(ada=Guest()), ends) as runner:
            runner.wake(session)
            await idle(runner)
            looks = house.looks
            for _ in range(200):
                await asyncio.sleep(0)
            assert house.looks == looks
            clock.ahead = timedelta()
            runner.wake(session)
            await ends.seen()
        assert any(
            isinstance(each.fact, SeatLost) and each.fact.reason == "timeout"
            for each in await house.entries(session)
        )

    bounded(work())


def test_a_nudge_for_no_session_does_nothing() -> None:
    async def work() -> None:
        house, ends = engine(), Ends()
        async with LocalRunner(house, seating(), ends) as runner:
            runner.wake(SessionId("nope"))
            await idle(runner)
        assert ends.sessions == []

    bounded(work())


def test_a_failure_to_remember_stops_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    """D-13: it is logged, and tried again; what the session said is in the ledger."""

    async def work() -> None:
        house, ends = engine(), Ends()

        async def closed(session: SessionId) -> None:
            if session == "bad":
                raise LedgerUnavailable("the disk is away")
            await ends(session)

        for name in ("bad", "good"):
            await house.open(debate("ada", "bob"), SessionId(name))
        async with LocalRunner(house, seating(ada=Guest(), bob=Guest()), closed) as runner:
            for name in ("bad", "good"):
                runner.wake(SessionId(name))
            await ends.seen()
            await idle(runner)
        assert ends.sessions == ["good"]
        assert (await house.load_snapshot(SessionId("bad"))).is_closed

    with caplog.at_level(logging.WARNING, "moot"):
        bounded(work())
    assert [record.message for record in caplog.records] == ["the disk is away; trying again"]


def test_at_the_end_whoever_is_still_asked_is_let_go_and_nothing_runs_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """D-16: the session is whole and free; another process takes it up and ends it."""
    monkeypatch.setattr(local, "MAX_WAIT_SECONDS", 0.05)

    async def work() -> None:
        house, ends = engine(), Ends()
        stuck = Guest(asyncio.Event())
        session = await house.open(debate("ada", "bob"))
        waiting = await house.open(debate("bob", elsewhere=["eve"]))
        before = asyncio.all_tasks()
        async with LocalRunner(house, seating(ada=stuck, bob=Guest()), ends) as runner:
            runner.wake(session)
            runner.wake(waiting)
            await stuck.asked.wait()
            while runner.running > 1:  # noqa: ASYNC110 - the runner tells nobody
                await asyncio.sleep(0.005)
            assert await house.is_running(session)
        assert runner.running == 0
        assert stuck.is_dismissed
        assert asyncio.all_tasks() == before
        assert not await house.is_running(session)
        seq, runs = (await house.load_snapshot(waiting)).seq, house.runs
        await asyncio.sleep(0.3)
        assert ((await house.load_snapshot(waiting)).seq, house.runs) == (seq, runs)
        assert ends.sessions == []
        async with LocalRunner(house, seating(ada=Guest(), bob=Guest()), ends) as second:
            second.wake(session)
            await ends.seen()
        assert ends.sessions == [session]

    bounded(work())


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[Moot]:
    async with Moot(environ={"MOOT_HOME": str(home)}) as moot:
        yield moot


def test_a_session_that_ended_in_the_runner_is_remembered(tmp_path: Path) -> None:
    """D-13: without anyone asking for it; once, however often it is nudged afterwards."""

    async def work() -> None:
        async with opened(tmp_path / "home") as moot:
            session = await moot.open(
                "Why?",
                seats={"eve": MAILBOX, "fay": MAILBOX},
                protocol="debate",
                settings={"debate": "always"},
            )
            ends = Ends()

            async def remembered(name: SessionId) -> None:
                await moot.remembering.remember(name)
                await ends(name)

            async with LocalRunner(moot.engine, moot.seating, remembered) as runner:
                for phase in PHASES:
                    for seat in (EVE, SeatId("fay")):
                        await moot.engine.contribute(session, seat, says(phase))
                        runner.wake(session)
                await ends.seen()
                runner.wake(session)
                await idle(runner)
            (kept,) = await moot.memory.list_decisions()
            assert (kept.decision, kept.record.text) == (session, "All of it.")
            assert len(await moot.engine.records(SessionId("_memory"))) == 1

    bounded(work())


class Out(Guest):
    """Cannot be asked while `is_out`."""

    is_out = True

    async def ready(self) -> str | None:
        return "the line is dead" if self.is_out else None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        if self.is_out:
            return NoAnswer(reason="unreachable", detail="the line is dead")
        return await super().respond(brief, on_text)


def test_a_parked_session_is_resumed_by_itself_once_its_seats_can_be_asked() -> None:
    """M-5: looked at again with growing pauses; nobody is asked before `ready` says so, and an outside answer keeps it parked."""

    async def work() -> None:
        house, ends, ada, bob = engine(), Ends(), Out(), Out()
        session = await house.open(debate("ada", "bob", elsewhere=["eve"]))
        looks = [0]

        def delays(seed: int) -> Iterator[float]:
            while True:
                looks[0] += 1
                yield 0.02

        async with LocalRunner(house, seating(ada=ada, bob=bob), ends, delays=delays) as runner:
            runner.wake(session)
            while looks[0] < 3:  # noqa: ASYNC110 - the runner tells nobody
                await asyncio.sleep(0.01)
            assert runner.parked == 1
            await house.contribute(session, EVE, says("propose"))
            runner.wake(session)
            state = (await house.load_snapshot(session)).session_state
            assert state.parked is not None
            assert state.parked.seats == ("ada", "bob")
            assert [type(entry.fact).__name__ for entry in (await house.entries(session))[-2:]] == [
                "Contributed",
                "SessionParked",
            ]
            ada.is_out = bob.is_out = False
            for phase in PHASES[1:]:
                while not any(  # noqa: ASYNC110
                    each.ask.kind == phase for each in await house.list_outstanding(session)
                ):
                    await asyncio.sleep(0.01)
                await idle(runner)
                assert runner.parked == 0
                await house.contribute(session, EVE, says(phase))
                runner.wake(session)
            await ends.seen()
        assert (await resolution(house, session)).consensus_type == "unanimous"
        assert (ada.calls, bob.calls) == (4, 4)
        assert [
            entry for entry in await house.entries(session) if isinstance(entry.fact, SeatLost)
        ] == []

    bounded(work())


def test_a_parked_session_that_is_resumed_by_hand_is_looked_at_at_once() -> None:
    """M-6: not when the next pause is over."""

    async def work() -> None:
        house, ends, ada, bob = engine(), Ends(), Out(), Out()
        session = await house.open(debate("ada", "bob"))
        async with LocalRunner(
            house, seating(ada=ada, bob=bob), ends, delays=lambda seed: repeat(3_600.0)
        ) as runner:
            runner.wake(session)
            await idle(runner)
            ada.is_out = bob.is_out = False
            runner.wake(session)
            await idle(runner)
            assert (runner.parked, ends.sessions) == (1, [])
            runner.wake(session, at_once=True)
            await ends.seen()
            assert runner.parked == 0

    bounded(work())


def test_a_session_that_is_parked_for_a_week_by_the_clock_of_its_entries_is_not_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """M-5: the clock of the entries decides, not the machine's."""

    async def work() -> None:
        clock, looks = Steady(), [0]
        house = engine(clock=clock)

        def delays(seed: int) -> Iterator[float]:
            looks[0] += 1
            return repeat(3_600.0)

        session = await house.open(debate("ada", "bob"))
        async with LocalRunner(
            house, seating(ada=Out(), bob=Out()), Ends(), delays=delays
        ) as runner:
            for days, expected in ((0, 1), (6, 2), (2, 2)):
                clock.ahead += timedelta(days=days)
                runner.wake(session, at_once=True)
                await idle(runner)
                assert (looks[0], runner.parked) == (expected, 1)

    bounded(work())
    assert caplog.text.count("stays parked; resume it with") == 1
