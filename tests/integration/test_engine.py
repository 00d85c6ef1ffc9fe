"""The engine against participants, clocks and ledgers that misbehave."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pytest

from moothall.app.verification import LedgerVerifier
from moothall.codec.stored import FactCodec
from moothall.domain.budget import Budget, Usage
from moothall.domain.effects import Brief
from moothall.domain.facts import BudgetExhausted, SeatLost, SessionResumed
from moothall.domain.ids import SeatId, SessionId
from moothall.domain.records import StoredRecord
from moothall.domain.roster import Seat
from moothall.engine import session_loop, sessions
from moothall.engine.context import EntryAdded
from moothall.engine.engine import Engine
from moothall.errors import BadAnswer, UnknownAsk
from moothall.features.persona.answer_table import FORMS
from moothall.features.persona.facts import (
    Draft,
    DraftClaim,
    Intent,
    MeetingOpened,
    PersonaSettings,
    PersonaSpeech,
    Stand,
)
from moothall.features.persona.rules import RULES
from moothall.ledgers.memory import MemoryLedger
from moothall.ports.participant import Answer, NoAnswer, OnText, Participant
from moothall.reading.answers import parse_answer
from moothall_testkit.counting_ledger import CountingLedger

T = TypeVar("T")
DEADLINE = 120.0


class Hands:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.at = datetime(2026, 11, 15, 12, tzinfo=UTC)

    def now(self) -> datetime:
        self.at += timedelta(microseconds=1)
        return self.at


class Steady:
    def now(self) -> datetime:
        return datetime.now(UTC)


def sensible(brief: Brief) -> object:
    match brief.ask.kind:
        case "intent":
            return Intent(reaction_score=0.1, intent_to_speak=False)
        case "draft":
            return Draft(decision=DraftClaim(text="Yes.", entries=(1,)), confidence=0.5)
        case "stand":
            return Stand(verdict="support", confidence=0.5)
        case _:
            return PersonaSpeech(content="Words.")


class Guest:
    """Answers as it is told to."""

    def __init__(self, respond: Callable[[Brief], Coroutine[Any, Any, Any]]) -> None:
        self._respond = respond
        self.calls = 0

    async def ready(self) -> str | None:
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        self.calls += 1
        found: Answer | NoAnswer = await self._respond(brief)
        return found


async def well(brief: Brief) -> Answer:
    return Answer(said=sensible(brief))


def bounded(work: Coroutine[Any, Any, T]) -> T:
    async def limited() -> T:
        async with asyncio.timeout(DEADLINE):
            return await work

    return asyncio.run(limited())


def engine(clock: Hands | Steady | None = None, ledger: MemoryLedger | None = None) -> Engine:
    return Engine(
        ledger=ledger or MemoryLedger(),
        rulebooks=[RULES],
        codec=FactCodec(RULES.kinds),
        clock=clock or Steady(),
    )


def opening(*names: str, patience: float = 600.0, budget: Budget | None = None) -> MeetingOpened:
    settings = PersonaSettings(blind=False, intent_patience=patience, speech_patience=patience)
    seats = tuple(Seat(id=SeatId(name), platform="test") for name in names)
    return MeetingOpened(
        topic="Why?",
        language="en",
        seed=1,
        seats=seats,
        settings=settings,
        budget=budget or Budget(turns=3),
    )


async def held(
    engine: Engine, session: SessionId, guests: dict[str, Participant | None], *, wait: bool = False
) -> None:
    await engine.run(session, lambda seat: guests[seat.id], wait_outside=wait)


async def losses(engine: Engine, session: SessionId) -> list[tuple[str, str]]:
    return [
        (fact.seat, fact.reason)
        for entry in await engine.entries(session)
        if isinstance(fact := entry.fact, SeatLost)
    ]


async def refused_text(brief: Brief) -> Any:
    return NoAnswer(reason="error", detail="half a character: \ud83d")


async def odd_reason(brief: Brief) -> Any:
    return NoAnswer(reason="rate_limited")  # type: ignore[arg-type]


async def nothing(brief: Brief) -> Any:
    return None


async def odd_usage(brief: Brief) -> Any:
    return Answer(said=sensible(brief), usage=Usage(tokens_in=None))  # type: ignore[arg-type]


async def half_said(brief: Brief) -> Any:
    return Answer(said=Intent(reaction_score=0.1, intent_to_speak=False, reason="\ud83d"))


async def cancels_itself(brief: Brief) -> Any:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    "bad", [refused_text, odd_reason, nothing, odd_usage, half_said, cancels_itself]
)
def test_whatever_a_participant_hands_over_the_ledger_stays_readable(
    bad: Callable[[Brief], Coroutine[Any, Any, Any]],
) -> None:
    """P-9: it is lost, asked once per ask, and the session can be read and replayed."""

    async def work() -> None:
        house = engine()
        session = await house.open(opening("a", "b", "c"))
        guest = Guest(bad)
        await held(house, session, {"a": guest, "b": Guest(well), "c": Guest(well)})
        lost = await losses(house, session)
        assert {seat for seat, _ in lost} == {"a"}
        assert guest.calls == len(lost)
        verifier = LedgerVerifier(house.context.ledger, house.context.clock)
        assert (await verifier.verify_named(house, session)).fault is None
        assert (await house.replay(session)).snapshot.is_closed

    bounded(work())


def test_a_participant_that_heeds_no_cancellation_does_not_hold_the_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session_loop, "GRACE_SECONDS", 0.2)
    over = False

    async def stubborn(brief: Brief) -> Any:
        while not over:
            try:
                await asyncio.sleep(3_600)
            except asyncio.CancelledError:
                if over:
                    raise

    async def work() -> None:
        nonlocal over
        house = engine()
        planned = opening("a", "b", "c")
        hasty = replace(planned.seats[0], patience=0.2)
        session = await house.open(replace(planned, seats=(hasty, *planned.seats[1:])))
        await held(house, session, {"a": Guest(stubborn), "b": Guest(well), "c": Guest(well)})
        assert (await house.load_snapshot(session)).is_closed
        assert ("a", "timeout") in await losses(house, session)
        over = True

    bounded(work())


def test_of_the_sessions_that_are_held_ready_the_one_unused_longest_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "KNOWN_SESSIONS", 2)

    async def work() -> None:
        ledger = CountingLedger(MemoryLedger())
        house = Engine(
            ledger=ledger, rulebooks=[RULES], codec=FactCodec(RULES.kinds), clock=Steady()
        )
        first, second = await house.open(opening("a", "b")), await house.open(opening("a", "b"))
        await house.load_snapshot(first)
        third = await house.open(opening("a", "b"))
        ledger.reads.clear()
        for session in (third, first, second):
            await house.load_recent(session)
        assert ledger.reads.keys() == {second}

    bounded(work())


def test_who_writes_first_takes_over_what_a_reader_has_folded() -> None:
    """W-9: of a long session that somebody looks at, the first new entry is not folded after all the others once more."""

    async def work() -> None:
        ledger = CountingLedger(MemoryLedger())
        one, other = (
            Engine(ledger=ledger, rulebooks=[RULES], codec=FactCodec(RULES.kinds), clock=Steady())
            for _ in range(2)
        )
        session = await one.open(opening("a", "b"))
        snapshot, _ = await other.read_on(session)
        other.offer_snapshot(snapshot)
        ledger.reads.clear()
        assert await other.load_recent(session) is snapshot
        assert not ledger.reads

    bounded(work())


def test_no_clock_runs_while_a_session_is_parked() -> None:
    """P-14: a day without a process costs nothing of a budget of ten minutes, however often somebody looks in."""

    async def work() -> None:
        clock = Hands()
        house = engine(clock)
        session = await house.open(opening("a", "eve", budget=Budget(turns=3, seconds=600)))
        guests: dict[str, Participant | None] = {"a": Guest(well), "eve": None}
        await held(house, session, guests)
        before = (await house.load_snapshot(session)).seq
        for _ in range(3):
            clock.at += timedelta(days=1)
            await held(house, session, guests)
        assert (await house.load_snapshot(session)).seq == before
        ask = (await house.list_outstanding(session))[0].ask.id
        clock.at += timedelta(days=1)
        await house.answer(session, ask, {"reaction_score": 0.1, "intent_to_speak": False})
        clock.at += timedelta(days=1)
        await held(house, session, guests)
        entries = [entry.fact for entry in await house.entries(session)]
        assert not any(isinstance(fact, BudgetExhausted) for fact in entries)
        assert any(isinstance(fact, SessionResumed) for fact in entries)
        assert (await house.load_snapshot(session)).session_state.spent.seconds < 60

    bounded(work())


def test_a_budget_that_the_last_answer_uses_up_ends_nothing() -> None:
    """P-14: what ends with the answers that are there is not ended by the budget, and the record does not say so."""

    async def costly(brief: Brief) -> Any:
        return Answer(
            said=sensible(brief), usage=Usage(tokens_out=100 if brief.ask.kind == "stand" else 0)
        )

    async def work() -> None:
        house = engine()
        session = await house.open(opening("a", "b", budget=Budget(turns=3, tokens=50)))
        await held(house, session, {"a": Guest(costly), "b": Guest(costly)})
        assert (await house.load_snapshot(session)).is_closed
        assert not any(
            isinstance(entry.fact, BudgetExhausted) for entry in await house.entries(session)
        )

    bounded(work())


def test_a_leap_of_the_clock_loses_no_seat() -> None:
    """P-9: a machine that slept for an hour in the middle of an ask has not heard too late."""

    async def work() -> None:
        clock = Hands()
        house = engine(clock)

        async def sleeper(brief: Brief) -> Any:
            if brief.ask.turn == 1 and brief.ask.kind == "intent":
                clock.at += timedelta(hours=1)
            return Answer(said=sensible(brief))

        session = await house.open(
            opening("a", "b", patience=30, budget=Budget(turns=3, seconds=600))
        )
        await held(house, session, {"a": Guest(sleeper), "b": Guest(well)})
        assert await losses(house, session) == []
        assert not any(
            isinstance(entry.fact, BudgetExhausted) for entry in await house.entries(session)
        )

    bounded(work())


def test_an_ask_of_the_running_process_takes_no_answer_from_elsewhere() -> None:
    async def work() -> None:
        house = engine()
        session = await house.open(opening("a", "b"))

        async def asks_back(brief: Brief) -> Any:
            if brief.ask.kind == "intent" and brief.ask.turn == 1:
                with pytest.raises(UnknownAsk):
                    await house.answer(
                        session, brief.ask.id, {"reaction_score": 1, "intent_to_speak": True}
                    )
            return Answer(said=sensible(brief))

        await held(house, session, {"a": Guest(asks_back), "b": Guest(well)})
        assert await losses(house, session) == []

    bounded(work())


def test_a_watcher_that_comes_back_after_the_close_is_not_kept_waiting() -> None:
    async def work() -> tuple[int, int]:
        house = engine()
        session = await house.open(opening("a", "b"))
        await held(house, session, {"a": Guest(well), "b": Guest(well)})
        seen = [event async for event in house.watch(session) if isinstance(event, EntryAdded)]
        again = [event async for event in house.watch(session, after=len(seen))]
        return len(seen), len(again)

    seen, again = bounded(work())
    assert seen > 5
    assert again == 0


class Conflicting(MemoryLedger):
    """Somebody else's input comes in between, again and again."""

    def __init__(self) -> None:
        super().__init__()
        self.house: Engine | None = None
        self.times = 0

    async def append(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        if records[0].seq > 1 and self.times < 4 and self.house is not None:
            self.times += 1
            house, self.house = self.house, None
            await house.give_input(session, f"word {self.times}")
            self.house = house
        await super().append(session, records)


def test_an_answer_that_lost_the_race_is_written_behind_the_winner_and_not_asked_for_again() -> (
    None
):
    """P-4, P-7: two writers, one wins, the other decides anew; nobody is asked twice."""

    async def work() -> None:
        ledger = Conflicting()
        house, other = engine(ledger=ledger), engine(ledger=ledger)
        session = await house.open(opening("a", "b"))
        guest = Guest(well)
        ledger.house = other
        await held(house, session, {"a": guest, "b": Guest(well)})
        replies = [
            getattr(entry.fact, "ask", None)
            for entry in await house.entries(session)
            if hasattr(entry.fact, "said")
        ]
        assert len(replies) == len(set(replies))
        assert guest.calls == sum(ask is not None and ask.endswith(".a") for ask in replies)
        assert ledger.times == 4
        assert (await house.replay(session)).snapshot.is_closed

    bounded(work())


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("intent", "```" + "\n" * 99_000 + "x"),
        ("speech", "re" + " " * 99_000 + "x"),
        ("intent", "<think>" * 14_000),
    ],
    ids=["fence", "reference", "thought"],
)
def test_no_answer_however_odd_holds_up_the_loop(kind: str, text: str) -> None:
    """Work that grows with the square of the answer's length would take minutes; the time is this thread's own."""
    before = time.thread_time()
    with suppress(BadAnswer):
        parse_answer(FORMS[kind], text)
    assert time.thread_time() - before < 30
