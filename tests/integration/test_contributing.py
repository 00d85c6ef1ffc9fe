"""Those who sit elsewhere contribute when they come: by key, in one order, without anyone running the session."""

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from moothall.app.deliberations import Deliberations
from moothall.app.moot import Moot
from moothall.app.protocols import collect_kinds, load_protocols
from moothall.app.verification import LedgerVerifier
from moothall.codec.stored import FactCodec
from moothall.domain.budget import Budget
from moothall.domain.effects import AnswerForm, AnswerRules, Brief
from moothall.domain.facts import (
    AsksSent,
    BudgetExhausted,
    CloseCalled,
    Fact,
    SeatLost,
    SessionResumed,
)
from moothall.domain.ids import AskId, SeatId, SessionId
from moothall.domain.records import StoredRecord
from moothall.domain.roster import MAILBOX, Seat
from moothall.engine.engine import Engine
from moothall.errors import (
    BadAnswer,
    BadSetting,
    KeyReused,
    OutOfTurn,
    SessionClosed,
    UnknownAsk,
    UnknownSeat,
)
from moothall.features.persona.facts import (
    Draft,
    DraftClaim,
    Intent,
    MeetingOpened,
    PersonaSpeech,
    Stand,
)
from moothall.features.persona.facts import PersonaSettings as MeetingSettings
from moothall.ledgers.memory import MemoryLedger
from moothall.ledgers.sqlite import SqliteLedger
from moothall.ports.ledger import Clock, Ledger
from moothall.ports.participant import Answer, NoAnswer, OnText, Participant
from moothall.protocols.council.facts import (
    Contributed,
    Contribution,
    CouncilSettings,
    DeliberationClosed,
    PhaseBegun,
)
from moothall.protocols.council.plugin import DebateOpened
from moothall.reading.answers import Reading, parse_answer, read_answer

T = TypeVar("T")
DEADLINE = 120.0
TALK = ("propose", "argue", "synthesize", "vote")


class Hands:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.at = datetime(2026, 11, 15, 12, tzinfo=UTC)

    def now(self) -> datetime:
        self.at += timedelta(microseconds=1)
        return self.at

    def pass_by(self, **time: float) -> None:
        self.at += timedelta(**time)


class Appends(MemoryLedger):
    """Keeps apart what was appended at once."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[int] = []

    async def append(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        await super().append(session, records)
        self.batches.append(len(records))


class Guest:
    """Says what the phase is for."""

    def __init__(self) -> None:
        self.calls = 0

    async def ready(self) -> str | None:
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        self.calls += 1
        match brief.ask.kind:
            case "intent":
                return Answer(said=Intent(reaction_score=0.9, intent_to_speak=True))
            case "speech":
                return Answer(said=PersonaSpeech(content="Words."))
            case "draft":
                return Answer(
                    said=Draft(decision=DraftClaim(text="Enough.", entries=(1,)), confidence=0.5)
                )
            case "stand":
                return Answer(said=Stand(verdict="support", confidence=0.5))
            case kind:
                return Answer(said=Contribution(**says(kind)))


def says(phase: str, **more: Any) -> dict[str, Any]:
    """A contribution that fits the phase."""
    said: dict[str, dict[str, Any]] = {
        "propose": {"type": "propose", "text": "Yes.", "confidence": 0.8},
        "argue": {"type": "support", "text": "It holds.", "confidence": 0.7, "refers_to": 2},
        "synthesize": {"type": "synthesize", "text": "All of it.", "confidence": 0.8},
        "vote": {"type": "vote", "position": "support", "confidence": 0.9},
    }
    return {**said[phase], **more}


def bounded(work: Coroutine[Any, Any, T]) -> T:
    async def limited() -> T:
        async with asyncio.timeout(DEADLINE):
            return await work

    return asyncio.run(limited())


def engine(ledger: Ledger | None = None, clock: Clock | None = None) -> Engine:
    rulebooks = [plugin.rules for plugin in load_protocols().values()]
    return Engine(
        ledger=ledger or MemoryLedger(),
        rulebooks=rulebooks,
        codec=FactCodec(collect_kinds()),
        clock=clock or Hands(),
    )


def debate(
    *names: str, inside: Sequence[str] = (), order: str = "open", budget: Budget | None = None
) -> DebateOpened:
    """A debate of seats elsewhere, and of those `inside`, who are asked here."""
    seats = [Seat(id=SeatId(name), platform=MAILBOX) for name in names]
    seats += [Seat(id=SeatId(name), platform="test") for name in inside]
    settings = CouncilSettings(debate="always", order=order)  # type: ignore[arg-type]
    return DebateOpened(
        topic="Why?",
        language="en",
        seed=1,
        seats=tuple(seats),
        settings=settings,
        budget=budget or Budget(),
        outside_patience=9e6,
    )


def meeting(*names: str, inside: Sequence[str] = (), budget: Budget | None = None) -> MeetingOpened:
    seats = [Seat(id=SeatId(name), platform=MAILBOX) for name in names]
    seats += [Seat(id=SeatId(name), platform="test") for name in inside]
    return MeetingOpened(
        topic="Why?",
        language="en",
        seed=1,
        seats=tuple(seats),
        settings=MeetingSettings(blind=False, summarizer=SeatId(inside[0]) if inside else None),
        budget=budget or Budget(turns=9),
        outside_patience=9e6,
    )


async def facts(house: Engine, session: SessionId) -> list[Fact]:
    return [entry.fact for entry in await house.entries(session)]


async def kinds(house: Engine, session: SessionId) -> list[str]:
    return [type(fact).__name__ for fact in await facts(house, session)]


def seat_of(name: str) -> SeatId:
    return SeatId(name)


EVE, FAY, ADA = seat_of("eve"), seat_of("fay"), seat_of("ada")


# What a contribution is an answer to.


def test_a_contribution_answers_what_is_asked_of_its_seat_then_takes_up_its_invitation() -> None:
    """D-2: the seat need not know what it was asked."""

    async def work() -> None:
        house = engine()
        session = await house.open(debate("eve", "fay"))
        first = await house.contribute(session, EVE, says("propose"))
        again = await house.contribute(session, EVE, says("propose", text="No, wait."))
        assert isinstance(first.fact, Contributed)
        assert isinstance(again.fact, Contributed)
        assert (first.fact.ask, again.fact.ask) == ("1.propose.eve", "2.free.eve")
        assert [
            fact.said.text for fact in await facts(house, session) if isinstance(fact, Contributed)
        ] == ["Yes.", "No, wait."]

    bounded(work())


def test_what_is_open_to_a_seat_is_its_ask_then_an_invitation_then_nothing() -> None:
    """D-5: without writing anything."""

    async def work() -> None:
        house = engine()
        session = await house.open(debate("eve", "fay", order="round_robin"))
        before = await house.records(session)
        asked = await house.find_open_ask(session, EVE)
        assert asked is not None
        assert (asked.ask.id, asked.ask.invited, asked.pending.outside) == (
            "1.propose.eve",
            False,
            True,
        )
        assert await house.records(session) == before
        await house.contribute(session, EVE, says("propose"))
        invited = await house.find_open_ask(session, EVE)
        assert invited is not None
        assert (invited.ask.id, invited.ask.invited, invited.pending.deadline) == (
            "2.free.eve",
            True,
            None,
        )
        await house.contribute(session, FAY, says("propose"))
        assert (await house.find_open_ask(session, EVE)) is not None
        assert await house.find_open_ask(session, FAY) is None

    bounded(work())


def test_without_anything_asked_a_contribution_is_out_of_turn_and_told_who_is_waited_for() -> None:
    """D-6: nothing is written."""

    async def work() -> None:
        house = engine()
        session = await house.open(debate("eve", "fay", order="round_robin"))
        await house.contribute(session, EVE, says("propose"))
        await house.contribute(session, FAY, says("propose"))
        before = await house.records(session)
        with pytest.raises(
            OutOfTurn, match=r"^nothing is asked of 'fay' now; waited for: eve \(argue\)$"
        ):
            await house.contribute(session, FAY, says("argue"))
        assert await house.records(session) == before

    bounded(work())


@pytest.mark.parametrize(
    ("seat", "told"),
    [
        (
            "ada",
            "the seat 'ada' is filled by a mind that Moot asks itself; nobody else may speak for it",
        ),
        ("zoe", "'zoe' has no seat in 's'; the seats are: eve, ada"),
    ],
)
def test_nobody_speaks_for_a_seat_that_is_filled_here_or_is_none(seat: str, told: str) -> None:
    """D-6: also where a process asks that seat right now."""

    async def work() -> None:
        house = engine()
        session = await house.open(debate("eve", inside=["ada"]), SessionId("s"))
        await house.contribute(session, EVE, says("propose"))
        before = await house.records(session)
        for call in (
            house.contribute(session, seat_of(seat), says("propose")),
            house.find_open_ask(session, seat_of(seat)),
        ):
            with pytest.raises(UnknownSeat) as caught:
                await call
            assert str(caught.value) == told
        assert await house.records(session) == before

    bounded(work())


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (says("vote"), "type 'vote' has no place in the phase 'propose'; expected: propose, pass"),
        (says("propose", confidence=2), "a number from 0 to 1 was expected"),
        (says("propose", text=" "), "a propose needs a text"),
        (says("propose", refers_to=9), "line 9 does not exist; the lines are 1 to 1"),
        ("{no JSON", "a JSON object was expected"),
    ],
)
def test_what_cannot_be_said_now_is_refused_and_leaves_no_trace(said: object, told: str) -> None:
    """D-6: not even the asks are put."""

    async def work() -> None:
        house = engine()
        session = await house.open(debate("eve", "fay"))
        with pytest.raises(BadAnswer, match=told):
            await house.contribute(session, EVE, said)
        assert len(await house.records(session)) == 1

    bounded(work())


# Keys.


def test_a_key_again_returns_the_same_entry_whatever_happened_since() -> None:
    """D-2: in the next phase, from another process, and after the end."""

    async def work() -> None:
        ledger, clock = MemoryLedger(), Hands()
        house, other = engine(ledger, clock), engine(ledger, clock)
        session = await house.open(debate("eve", "fay"))
        first = await house.contribute(session, EVE, says("propose"), "k1")
        assert await house.contribute(session, EVE, says("propose"), "k1") == first
        await house.contribute(session, FAY, says("propose"), "k1")
        assert await other.contribute(session, EVE, says("propose"), "k1") == first
        assert await other.answer(session, AskId("1.propose.eve"), says("propose"), "k1") == first
        await house.call_close(session)
        assert await engine(ledger, clock).contribute(session, EVE, says("propose"), "k1") == first
        assert (await kinds(house, session)).count("Contributed") == 2

    bounded(work())


def test_a_key_with_other_words_is_refused() -> None:
    """D-6: what was said under it stays."""

    async def work() -> None:
        house = engine()
        session = await house.open(debate("eve", "fay"))
        first = await house.contribute(session, EVE, says("propose"), "k1")
        before = await house.records(session)
        told = rf"the key 'k1' came before, with other words \(entry {first.seq}\); a new contribution needs a new key"
        for call in (
            house.contribute(session, EVE, says("propose", text="No."), "k1"),
            house.answer(session, AskId("1.propose.eve"), says("propose", text="No."), "k1"),
            house.contribute(
                session, EVE, Contribution(type="propose", text="No.", confidence=0.8), "k1"
            ),
            house.contribute(session, EVE, says("vote", position="support"), "k1"),
            house.contribute(session, EVE, {"nonsense": 1}, "k1"),
            house.contribute(session, EVE, {}, "k1"),
            house.contribute(session, EVE, "No.", "k1"),
        ):
            with pytest.raises(KeyReused, match=told):
                await call
        assert await house.records(session) == before

    bounded(work())


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(
            Contribution(type="propose", text="Yes.", confidence=0.8), id="a parsed value"
        ),
        pytest.param({"Type": "Proposal", "text": "Yes."}, id="another spelling"),
        pytest.param(
            {"type": "propose", "text": "Yes.", "confidence": "80%"}, id="a share in words"
        ),
        pytest.param("Yes.", id="plain words"),
    ],
)
def test_a_key_again_is_recognised_however_the_words_were_read(said: object) -> None:
    """D-2: at once, in the next phase, and by a process that did not see the first one; with the ask's id alone, too."""

    async def work() -> None:
        ledger, clock = MemoryLedger(), Hands()
        house = engine(ledger, clock)
        session = await house.open(debate("eve", "fay"))
        first = await house.contribute(session, EVE, said, "k1")
        assert await house.contribute(session, EVE, said, "k1") == first
        await house.contribute(session, FAY, says("propose"))
        assert await engine(ledger, clock).contribute(session, EVE, said, "k1") == first
        assert await engine(ledger, clock).answer(session, AskId("1.propose.eve"), said) == first

    bounded(work())


def test_a_key_again_is_recognised_where_code_filled_in_a_field() -> None:
    """D-2: whose bid it is need not be sent, neither at first nor again; without any bid it is another answer."""

    async def work() -> None:
        house, bid = engine(), {"reaction_score": 0.5, "intent_to_speak": True}
        session = await house.open(meeting("eve", "fay"))
        first = await house.contribute(session, EVE, bid, "k1")
        assert await house.contribute(session, EVE, bid, "k1") == first
        for other in ({**bid, "intent_to_speak": False}, {}):
            with pytest.raises(KeyReused):
                await house.contribute(session, EVE, other, "k1")

    bounded(work())


def test_an_over_long_key_is_refused() -> None:
    async def work() -> None:
        house = engine()
        session = await house.open(debate("eve", "fay"))
        with pytest.raises(BadSetting, match="the key has 201 characters; at most 200 are kept"):
            await house.contribute(session, EVE, says("propose"), "k" * 201)
        assert len(await house.records(session)) == 1

    bounded(work())


def test_an_answer_without_a_key_counts_once_and_one_to_nothing_is_refused() -> None:
    """D-6: the ask's id is the key of last resort."""

    async def work() -> None:
        house = engine()
        session = await house.open(debate("eve", "fay"))
        ask = AskId("1.propose.eve")
        first = await house.answer(session, ask, says("propose"))
        assert await house.answer(session, ask, says("propose")) == first
        with pytest.raises(
            UnknownAsk, match=rf"has been answered already \(entry {first.seq}\), with other words"
        ):
            await house.answer(session, ask, says("propose", text="No."))
        with pytest.raises(
            UnknownAsk, match=r"nothing is asked under '7.vote.eve' now; outstanding: 1.propose.fay"
        ):
            await house.answer(session, AskId("7.vote.eve"), says("vote"))

    bounded(work())


# Many at once.


def test_two_processes_that_contribute_at_once_lose_nothing_and_make_one_order(
    tmp_path: Path,
) -> None:
    """D-2, D-7: two engines on one file; every phase's contributions all at once, each twice under its key."""
    names = [f"s{number}" for number in range(6)]

    def write_text(name: str, phase: str) -> str:
        # One resolution, so that a vote need not say which it is about.
        return "All of it." if phase == "synthesize" else f"{name} {phase}"

    async def work() -> None:
        async with AsyncExitStack() as stack:
            houses = [
                engine(await stack.enter_async_context(SqliteLedger(tmp_path / "ledger.db")))
                for _ in range(2)
            ]
            session = await houses[0].open(debate(*names))
            for phase in TALK:
                calls = [
                    house.contribute(
                        session,
                        seat_of(name),
                        says(phase, text=write_text(name, phase)),
                        f"{phase} {name}",
                    )
                    for name in names
                    for house in houses
                ]
                taken = await asyncio.gather(*calls)
                assert [entry.seq for entry in taken[::2]] == [entry.seq for entry in taken[1::2]]
            entries = await houses[0].entries(session)
            assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
            assert entries == await houses[1].entries(session)
            said = [
                entry.fact.said.text for entry in entries if isinstance(entry.fact, Contributed)
            ]
            assert sorted(said) == sorted(
                write_text(name, phase) for name in names for phase in TALK
            )
            assert [type(entry.fact).__name__ for entry in entries].count("PhaseBegun") == 3
            closed = entries[-1].fact
            assert isinstance(closed, DeliberationClosed)
            assert (closed.consensus_type, closed.voters) == ("unanimous", 6)
            for house in houses:
                verifier = LedgerVerifier(house.context.ledger, house.context.clock)
                assert (await verifier.verify_named(house, session)).fault is None
                assert (await house.replay(session)).snapshot.is_closed

    bounded(work())


# What follows is written at once.


def test_an_answer_writes_all_that_follows_in_the_same_append() -> None:
    """D-7: the next contribution can come at once; nobody ever runs this debate."""

    async def work() -> None:
        ledger = Appends()
        house = engine(ledger)
        session = await house.open(debate("eve", "fay"))
        for phase in TALK:
            await house.contribute(session, EVE, says(phase))
            await house.contribute(session, FAY, says(phase))
        told = iter(await kinds(house, session))
        assert [[next(told) for _ in range(count)] for count in ledger.batches] == [
            ["DebateOpened"],
            ["AsksSent", "Contributed"],
            ["Contributed", "PhaseBegun", "AsksSent"],
            ["Contributed"],
            ["Contributed", "PhaseBegun", "AsksSent"],
            ["Contributed"],
            ["Contributed", "PhaseBegun", "AsksSent"],
            ["Contributed"],
            ["Contributed", "DeliberationClosed"],
        ]
        assert [
            fact.phase for fact in await facts(house, session) if isinstance(fact, PhaseBegun)
        ] == list(TALK[1:])
        with pytest.raises(SessionClosed):
            await house.contribute(session, EVE, says("vote"))

    bounded(work())


def test_the_last_word_from_elsewhere_puts_the_asks_of_those_who_sit_here_for_the_next_run() -> (
    None
):
    """D-7: a run that comes later finds them, asks, and parks again."""

    async def work() -> None:
        house, guest = engine(), Guest()
        guests: dict[str, Participant | None] = {"eve": None, "ada": guest}
        session = await house.open(debate("eve", inside=["ada"]))
        await house.run(session, lambda seat: guests[seat.id])
        await house.contribute(session, EVE, says("propose"))
        (put,) = [
            fact
            for fact in await facts(house, session)
            if isinstance(fact, AsksSent) and "2.argue.ada" in fact.asks
        ]
        assert put.outside is False
        await house.run(session, lambda seat: guests[seat.id])
        assert guest.calls == 2
        assert [each.ask.id for each in await house.list_outstanding(session)] == ["2.argue.eve"]
        for phase in TALK[1:]:
            await house.contribute(session, EVE, says(phase))
            await house.run(session, lambda seat: guests[seat.id])
        assert guest.calls == 4
        assert isinstance((await facts(house, session))[-1], DeliberationClosed)

    bounded(work())


def test_a_contribution_reaches_a_run_that_waits_for_it() -> None:
    """D-2: the process that waits and the one that contributes are two."""

    async def work() -> None:
        ledger = MemoryLedger()
        house, other, guest = engine(ledger), engine(ledger), Guest()
        guests: dict[str, Participant | None] = {"eve": None, "ada": guest}
        session = await house.open(debate("eve", inside=["ada"]))
        running = asyncio.create_task(
            house.run(session, lambda seat: guests[seat.id], wait_outside=True)
        )
        for phase in TALK:
            while (
                found := await other.find_open_ask(session, EVE)
            ) is None or found.ask.kind != phase:
                await other.wait_for_change(session, (await other.load_snapshot(session)).seq)
            await other.contribute(session, EVE, says(phase))
        assert (await running).is_closed
        assert guest.calls == 4

    bounded(work())


# Time.


def test_no_time_is_counted_while_only_those_elsewhere_are_waited_for() -> None:
    """D-16: a debate over weeks, without any run, within a time budget of ten minutes."""

    async def work() -> None:
        clock = Hands()
        house = engine(clock=clock)
        session = await house.open(debate("eve", "fay", budget=Budget(seconds=600)))
        for phase in TALK:
            for seat in (EVE, FAY):
                clock.pass_by(days=3)
                await house.contribute(session, seat, says(phase))
        told = await facts(house, session)
        assert not any(isinstance(fact, BudgetExhausted | SeatLost) for fact in told)
        assert isinstance(told[1], SessionResumed)
        assert isinstance(told[-1], DeliberationClosed)
        assert (await house.load_snapshot(session)).session_state.spent.seconds < 1

    bounded(work())


def test_no_time_is_counted_between_the_runs_of_a_mixed_debate() -> None:
    """D-16: days between what comes from elsewhere and the next run."""

    async def work() -> None:
        clock, guest = Hands(), Guest()
        house = engine(clock=clock)
        guests: dict[str, Participant | None] = {"eve": None, "ada": guest}
        session = await house.open(debate("eve", inside=["ada"], budget=Budget(seconds=600)))
        for phase in TALK:
            clock.pass_by(days=2)
            await house.run(session, lambda seat: guests[seat.id])
            clock.pass_by(days=2)
            await house.contribute(session, EVE, says(phase))
        told = await facts(house, session)
        assert not any(isinstance(fact, BudgetExhausted | SeatLost) for fact in told)
        assert isinstance(told[-1], DeliberationClosed)
        assert (await house.load_snapshot(session)).session_state.spent.seconds < 1

    bounded(work())


def test_an_input_before_the_first_contribution_makes_no_time_count() -> None:
    """D-16: nobody ran the session on the day in between."""

    async def work() -> None:
        clock = Hands()
        house = engine(clock=clock)
        session = await house.open(debate("eve", "fay", budget=Budget(seconds=600)))
        await house.give_input(session, "We have six months of cash.")
        clock.pass_by(days=1)
        await house.contribute(session, EVE, says("propose"))
        assert not any(isinstance(fact, BudgetExhausted) for fact in await facts(house, session))
        assert (await house.load_snapshot(session)).session_state.spent.seconds < 1

    bounded(work())


def test_a_contribution_to_a_fork_makes_no_time_count() -> None:
    """D-16: between the entry that was forked at and the first word in the fork nobody ran anything."""

    async def work() -> None:
        clock = Hands()
        house = engine(clock=clock)
        session = await house.open(debate("eve", "fay", budget=Budget(seconds=600)))
        entry = await house.contribute(session, EVE, says("propose"))
        clock.pass_by(days=1)
        fork = await house.fork(session, entry.seq)
        clock.pass_by(days=1)
        await house.contribute(fork, FAY, says("propose"))
        assert not any(isinstance(fact, BudgetExhausted) for fact in await facts(house, fork))
        assert (await house.load_snapshot(fork)).session_state.spent.seconds < 1

    bounded(work())


def test_a_call_for_the_end_makes_no_time_count() -> None:
    """D-3: the process that asked ada is gone since yesterday; the conclusion is still to be written."""

    async def work() -> None:
        clock = Hands()
        house = engine(clock=clock)
        session = await house.open(
            meeting("eve", inside=["ada"], budget=Budget(turns=9, seconds=600))
        )
        await house.contribute(session, EVE, {"reaction_score": 0.5, "intent_to_speak": True})
        clock.pass_by(days=1)
        await house.call_close(session)
        assert (await house.load_snapshot(session)).session_state.spent.seconds < 1

    bounded(work())


# The end.


def test_a_call_for_the_end_closes_a_council_with_what_there_is() -> None:
    """D-3: the call and the resolution in one append; a second call is told that it has ended."""

    async def work() -> None:
        ledger = Appends()
        house = engine(ledger)
        session = await house.open(debate("eve", "fay", "gus"))
        for phase in TALK[:3]:
            for name in ("eve", "fay", "gus"):
                await house.contribute(session, seat_of(name), says(phase))
        await house.contribute(session, EVE, says("vote"))
        await house.contribute(
            session, FAY, says("vote", position="oppose", confidence=0.2, text="Not yet.")
        )
        called = await house.call_close(session, by="owner")
        assert called.fact == CloseCalled(by="owner")
        assert ledger.batches[-1] == 2
        closed = (await facts(house, session))[-1]
        assert isinstance(closed, DeliberationClosed)
        assert (closed.reason, closed.consensus_type, closed.carried, closed.voters) == (
            "called",
            "no_consensus",
            False,
            2,
        )
        assert [(ballot.seat, ballot.position) for ballot in closed.ballots] == [
            ("eve", "support"),
            ("fay", "oppose"),
            ("gus", None),
        ]
        with pytest.raises(SessionClosed, match="has ended already"):
            await house.call_close(session)
        with pytest.raises(SessionClosed, match="nothing is asked any more"):
            await house.contribute(session, EVE, says("vote"))
        assert (await house.replay(session)).snapshot.is_closed

    bounded(work())


def test_a_call_for_the_end_where_nothing_was_proposed_is_no_consensus() -> None:
    """D-3, D-11: nobody has said anything."""

    async def work() -> None:
        house = engine()
        session = await house.open(debate("eve", "fay"))
        await house.call_close(session)
        closed = (await facts(house, session))[-1]
        assert isinstance(closed, DeliberationClosed)
        assert (closed.reason, closed.consensus_type, closed.carried, closed.motion) == (
            "called",
            "no_consensus",
            False,
            None,
        )

    bounded(work())


def test_a_call_for_the_end_makes_a_persona_meeting_conclude() -> None:
    """D-3: the talk ends, the conclusion is written, and the process that runs it sees to that."""

    async def work() -> None:
        ledger = MemoryLedger()
        house, other, guest = engine(ledger), engine(ledger), Guest()
        guests: dict[str, Participant | None] = {"ada": guest, "eve": None}
        session = await house.open(meeting("eve", inside=["ada"]))
        running = asyncio.create_task(
            house.run(session, lambda seat: guests[seat.id], wait_outside=True)
        )
        while await other.find_open_ask(session, EVE) is None or guest.calls == 0:
            await other.wait_for_change(session, (await other.load_snapshot(session)).seq)
        await other.call_close(session)
        while (
            asked := await other.find_open_ask(session, EVE)
        ) is None or asked.ask.kind != "stand":
            await other.wait_for_change(session, (await other.load_snapshot(session)).seq)
        await other.contribute(session, EVE, {"verdict": "support", "confidence": 0.5})
        assert (await running).is_closed
        told = await kinds(house, session)
        assert told[-1] == "MeetingConcluded"
        assert "TurnTaken" not in told
        assert (await house.replay(session)).snapshot.is_closed

    bounded(work())


def test_a_call_for_the_end_reaches_a_council_that_another_process_runs() -> None:
    """D-3: the run returns, and whoever was being asked is let go."""

    async def work() -> None:
        ledger = MemoryLedger()
        house, other = engine(ledger), engine(ledger)
        guests: dict[str, Participant | None] = {"ada": Guest(), "eve": None}
        session = await house.open(debate("eve", inside=["ada"]))
        running = asyncio.create_task(
            house.run(session, lambda seat: guests[seat.id], wait_outside=True)
        )
        await other.wait_for_change(session, 2)
        await other.call_close(session)
        assert (await running).is_closed

    bounded(work())


def test_a_contribution_reads_the_ledger_once_and_is_parsed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A call over the wire: one read, one append, one parse; the state in its result needs no further look."""
    reads: list[str] = []
    parsed: list[object] = []
    read = MemoryLedger.read

    async def count_read(
        self: MemoryLedger, session: SessionId, after: int = 0, limit: int | None = None
    ) -> list[StoredRecord]:
        reads.append(session)
        return await read(self, session, after, limit)

    def count_parse(form: AnswerForm, raw: object) -> object:
        parsed.append(raw)
        return parse_answer(form, raw)

    def count_reading(rules: AnswerRules, raw: object, *, is_strict: bool) -> Reading:
        if not isinstance(raw, rules.form.shape):
            parsed.append(raw)
        return read_answer(rules, raw, is_strict=is_strict)

    def proposal(text: str) -> dict[str, Any]:
        return {"type": "propose", "text": text, "choice": text, "confidence": 0.6}

    async def work() -> None:
        async with Moot(environ={"MOOT_LEDGER": "memory:"}) as running:
            session = await running.open(
                "Q?", protocol="debate", seats={"ada": "mailbox", "bob": "mailbox"}
            )
            deliberations = Deliberations(running)
            await deliberations.contribute(session, "ada", proposal("A."))
            monkeypatch.setattr(MemoryLedger, "read", count_read)
            monkeypatch.setattr("moothall.app.deliberations.parse_answer", count_parse)
            monkeypatch.setattr("moothall.engine.outside_answers.read_answer", count_reading)
            recorded = await deliberations.contribute(session, "bob", proposal("B."))
            assert [line.said.text for line in recorded.state.council.lines] == ["A.", "B."]

    asyncio.run(work())
    assert len(reads) == 1
    assert [raw for raw in parsed if isinstance(raw, dict)] == [proposal("B.")]
