"""The library as people write it: options by name, functions as seats, and mistakes that say what to do."""

import asyncio
import contextlib
import re
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import moothall
from moothall import CallerError, Moot, Options, Seat
from moothall.app.moot import run_blocking
from moothall.app.resources import GivenResources
from moothall.domain.ids import SeatId
from moothall.locale.texts import list_offered_languages
from moothall.plugins import Answer, Brief, NoAnswer, OnText, ParticipantKind

DOCS = Path(__file__).parents[2] / "docs"
TOPIC = "Should we ship on Friday?"
SAID: dict[str, Any] = {
    "intent": {"reaction_score": 0.9, "intent_to_speak": True, "reason": "I know it"},
    "speech": "Ship it.",
    "position": {"position": "Ship it.", "confidence": 0.7},
    "draft": {"decision": {"text": "Ship it.", "entries": [1]}, "confidence": 0.7},
    "stand": {"verdict": "support", "confidence": 0.7, "position": "Ship it."},
}


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_HOME", str(tmp_path))
    monkeypatch.delenv("MOOT_LEDGER", raising=False)


def ada(brief: Brief) -> object:
    return SAID[brief.ask.kind]


async def bob(brief: Brief) -> object:
    await asyncio.sleep(0)
    return SAID[brief.ask.kind]


class Cem:
    """An object that can be called."""

    async def __call__(self, brief: Brief) -> object:
        return SAID[brief.ask.kind]


def test_functions_coroutines_and_callables_fill_seats() -> None:
    seats: Any = {"ada": ada, "bob": bob, "cem": Cem(), "dan": lambda brief: SAID[brief.ask.kind]}
    decision = moothall.hold(TOPIC, seats=seats, turns=2)
    assert decision.decision is not None
    assert decision.decision.text == "Ship it."
    assert {position.seat for position in decision.positions} == {"ada", "bob", "cem", "dan"}
    assert decision.lost == ()


def test_what_a_function_gets_wrong_is_a_loss_on_the_record() -> None:
    def raises(brief: Brief) -> object:
        raise RuntimeError("no idea")

    def returns_nothing(brief: Brief) -> object:
        return None

    def talks(brief: Brief) -> object:
        return 17

    async def work() -> tuple[Any, set[str]]:
        async with Moot() as running:
            seats: Any = {"ada": ada, "raises": raises, "nothing": returns_nothing, "talks": talks}
            session = await running.open(TOPIC, seats=seats, turns=1)
            decision = await running.run(session)
            timeline = await running.load_timeline(session)
            return decision, {f"{loss.seat}: {loss.detail}" for loss in timeline.losses}

    decision, told = asyncio.run(work())
    assert decision.decision is not None
    assert {lost.seat for lost in decision.lost} == {"raises", "nothing", "talks"}
    assert "raises: RuntimeError: no idea" in told
    assert any("returned None" in each for each in told)


def test_a_function_of_another_process_is_asked_for_by_name() -> None:
    async def open_session() -> str:
        async with Moot() as running:
            return await running.open(
                TOPIC, seats={"ada": ada, "bob": "mailbox"}, turns=1, settings={"blind": False}
            )

    async def resume(**given: Any) -> Any:
        async with Moot(**given) as running:
            return await running.run(session)

    session = asyncio.run(open_session())
    with pytest.raises(CallerError, match=r"participants=\{'python:ada': ada\}"):
        asyncio.run(resume())
    assert asyncio.run(resume(participants={"python:ada": ada})).status == "thinking"


def test_two_functions_of_one_name_are_two_seats() -> None:
    def make(word: str) -> Any:
        def speaks(brief: Brief) -> object:
            return {**SAID, "position": {"position": word, "confidence": 0.5}}[brief.ask.kind]

        return speaks

    seats = {"one": make("Red."), "two": make("Blue.")}
    decision = moothall.hold(TOPIC, seats=seats, turns=2, settings={"blind": True})
    assert {position.before for position in decision.positions} == {"Red.", "Blue."}


def test_a_program_gives_participants_names_of_its_own() -> None:
    class Mine:
        async def ready(self) -> str | None:
            return None

        async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
            return NoAnswer(reason="refused", detail="not today")

    kind = ParticipantKind(name="other", make=lambda request: Mine(), patience=5.0)

    async def work() -> Any:
        async with Moot(participants={"mine": ada, "object": Mine(), "kind": kind}) as running:
            return await running.hold(
                TOPIC, seats={"a": "mine", "b": "object", "c": "kind"}, turns=1
            )

    decision = asyncio.run(work())
    assert {lost.seat for lost in decision.lost} == {"b", "c"}
    for wrong in ("openai", "mailbox", "a b", "../x"):
        with pytest.raises(CallerError):
            Moot(participants={wrong: ada})
    with pytest.raises(CallerError, match="expected a function"):
        Moot(participants={"mine": 3})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seat": {"ada": ada}}, "unknown option 'seat' (did you mean 'seats'?)"),
        ({"seats": {"ada": ada}, "name": "debate"}, "unknown option 'name'"),
        (
            {"seats": {"ada": ada}, "turns": "six"},
            "turns = 'six' is not a whole number from 1 to 100000",
        ),
        ({"seats": {"ada": ada}, "turns": 0}, "turns = 0 is not a whole number from 1 to 100000"),
        (
            {"seats": {"ada": ada}, "money": float("nan")},
            "money = nan is not a number greater than 0",
        ),
        (
            {"seats": {"ada": ada}, "time": "soon"},
            "time = 'soon' is not a duration such as 90s, 10m, 2h or 3d",
        ),
        (
            {"seats": {"ada": ada}, "time": 99_999_999 * 86_400.0},
            "time = 99999999d is not a duration such as 90s, 10m, 2h or 3d, at most 10000d",
        ),
        (
            {"seats": {"ada": ada}, "options": ["Redis", "redis."]},
            "the options 'Redis' and 'redis.' are the same",
        ),
        ({"seats": {"ada": 3}}, "seat 'ada' is filled by a value of the type int"),
        (
            {"seats": {"ada": "mailbox:bob"}},
            "unknown platform 'mailbox:bob'; known: mailbox, human, script:FILE",
        ),
        ({"seats": {"ada": "human:bob"}}, "unknown platform 'human:bob'"),
        ({"seats": {"ada": "python:os"}}, "Python function 'os', which this process does not have"),
        ({"seats": "ada=embedded"}, "seats = 'ada=embedded' is not a dict of names and platforms"),
        (
            {"seats": {"ada": ada}, "language": "xx"},
            f"language = 'xx' is not one of: {', '.join(list_offered_languages())}",
        ),
        ({"seats": {"ada": ada}, "seed": "7"}, "seed = '7' is not a whole number"),
        (
            {"seats": {"ada": ada}, "settings": ["blind"]},
            "settings = ['blind'] is not a dict of the protocol's settings",
        ),
        ({"seats": {"ada": ada}, "consult": 3}, "consult = 3 is not True or False"),
        ({"seats": {"ada": ada}, "protocol": "debat"}, "unknown protocol 'debat'"),
    ],
)
def test_a_wrong_option_says_what_was_expected_and_records_nothing(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(CallerError) as caught:
        moothall.hold(TOPIC, **options)
    assert words in str(caught.value)

    async def count() -> int:
        async with Moot() as running:
            return len(await running.sessions())

    assert asyncio.run(count()) == 0


def test_a_moot_that_was_not_started_says_how() -> None:
    with pytest.raises(CallerError, match="async with Moot"):
        asyncio.run(Moot().sessions())


WRONG_CALLS: dict[str, Callable[[Moot, str], Awaitable[object]]] = {
    "topic = 5 is not of the type str": lambda moot, session: moot.hold(5),  # type: ignore[call-overload]
    "seat 5: expected a Seat or name=platform": lambda moot, session: moot.hold("Ship?", seats=[5]),  # type: ignore[list-item]
    "ask = 5 is not of the type str": lambda moot, session: moot.answer(session, 5, "yes"),  # type: ignore[arg-type]
    "text = 5 is not of the type str": lambda moot, session: moot.give_input(session, 5),  # type: ignore[arg-type]
    "reason = 5 is not of the type str": lambda moot, session: moot.cancel(session, 5),  # type: ignore[arg-type]
    "wait = 'x' is not of the type int | float": lambda moot, session: moot.run(session, wait="x"),  # type: ignore[arg-type]
    "at = 'x' is not of the type int | None": lambda moot, session: moot.fork(session, at="x"),  # type: ignore[arg-type]
    "session id 'None' must have": lambda moot, session: moot.decision(None),  # type: ignore[arg-type]
}


WRONG_VALUES: tuple[Any, ...] = (5, None, "", "x y", b"x", [1], {"a": 1}, object(), 1.5, lambda: 1)


def build_opening(name: str) -> Callable[[Any, str, Any], Any]:
    return lambda moot, session, value: moot.open(
        "Ship?", **{"seats": {"ada": "mailbox"}, name: value}
    )


ARGUMENTS: dict[str, Callable[[Any, str, Any], Any]] = {
    "open": lambda moot, session, value: moot.open(value, seats={"ada": "mailbox"}),
    "run": lambda moot, session, value: moot.run(value),
    "resume swaps": lambda moot, session, value: moot.resume(session, swaps=value),
    "decision": lambda moot, session, value: moot.decision(value),
    "watch": lambda moot, session, value: anext(moot.watch(value)),
    "watch after": lambda moot, session, value: anext(moot.watch(session, value)),
    "give_input": lambda moot, session, value: moot.give_input(value, "text"),
    "give_input key": lambda moot, session, value: moot.give_input(session, "text", value),
    "asks": lambda moot, session, value: moot.asks(value),
    "answer": lambda moot, session, value: moot.answer(session, value, "text"),
    "answer key": lambda moot, session, value: moot.answer(session, "1.ask", "text", value),
    "export form": lambda moot, session, value: moot.export(session, value),
    "read_back": lambda moot, session, value: moot.read_back(value),
    "read_back seats": lambda moot, session, value: moot.read_back("{}", seats=value),
    "read_back name": lambda moot, session, value: moot.read_back("{}", name=value),
    "replay": lambda moot, session, value: moot.replay(value),
    "verify": lambda moot, session, value: moot.verify(value),
    "fork swaps": lambda moot, session, value: moot.fork(session, swaps=value),
    "fork name": lambda moot, session, value: moot.fork(session, name=value),
    "diff": lambda moot, session, value: moot.diff(session, value),
    "cancel": lambda moot, session, value: moot.cancel(value),
    **{f"open {name}": build_opening(name) for name in Options.__annotations__},
}


def test_no_wrong_argument_is_a_raw_exception() -> None:
    """L-2: every public callable, with values of ten kinds: it works, or it is a MootError."""

    async def call() -> None:
        async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
            session = await moot.open("Ship?", seats={"ada": "mailbox"})
            for argument in ARGUMENTS.values():
                for value in WRONG_VALUES:
                    with contextlib.suppress(moothall.MootError, TimeoutError):
                        await asyncio.wait_for(argument(moot, session, value), 1)

    asyncio.run(call())


@pytest.mark.parametrize("name", [*GivenResources.__annotations__, "nonsense"])
def test_a_moot_refuses_what_it_cannot_work_with(name: str) -> None:
    """L-2"""
    for value in (5, "x y", object()):
        with pytest.raises(CallerError, match=f"{name} = .* is not an? "):
            Moot(**{name: value})  # type: ignore[arg-type]


def test_a_lost_seat_says_why(caplog: pytest.LogCaptureFixture) -> None:
    """L-2: what went wrong, in the words of the record; also as JSON. Where in the caller's function it was, says the log."""

    def broken(brief: Brief) -> object:
        if brief.ask.kind == "stand":
            raise ValueError("my bug")
        return SAID[brief.ask.kind]

    decision = moothall.hold(TOPIC, seats={"ada": ada, "bob": ada, "cy": broken}, turns=2)
    (lost,) = decision.lost
    assert (lost.seat, lost.last) == ("cy", "error")
    assert "my bug" in lost.why
    assert decision.to_json()["lost"][0]["why"] == lost.why
    assert "the function of seat 'cy' failed" in caplog.text
    assert 'raise ValueError("my bug")' in caplog.text


@pytest.mark.parametrize("words", WRONG_CALLS)
def test_an_argument_of_another_type_is_refused_in_a_sentence(words: str) -> None:
    async def call() -> None:
        async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
            await WRONG_CALLS[words](moot, await moot.open("Ship?", seats={"ada": "mailbox"}))

    with pytest.raises(CallerError, match=re.escape(words)):
        asyncio.run(call())


def test_a_closed_moot_says_that_it_is_closed() -> None:
    async def call() -> None:
        async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
            session = await moot.open("Ship?", seats={"ada": "mailbox"})
        for work in (
            moot.sessions(),
            moot.decision(session),
            moot.hold("Ship?", seats={"ada": "mailbox"}),
        ):
            with pytest.raises(CallerError, match="it was not started, or was closed"):
                await work

    asyncio.run(call())


def test_every_public_name_is_in_the_top_module() -> None:
    assert [name for name in moothall.__all__ if getattr(moothall, name, None) is None] == []
    assert {
        "Brief",
        "ContextFile",
        "Decision",
        "Dissent",
        "LostSeat",
        "SourcedClaim",
        "Topic",
    } <= set(moothall.__all__)


def test_hold_works_where_a_loop_runs_already() -> None:
    """As in a notebook."""

    async def cell() -> Any:
        seat = Seat(id=SeatId("x"), platform="mailbox")
        return moothall.hold(TOPIC, seats={"ada": ada, "bob": seat}, turns=1)

    assert asyncio.run(cell()).status == "thinking"
    with pytest.raises(CallerError, match="unknown option"):
        asyncio.run(_hold_wrongly())


async def _hold_wrongly() -> None:
    moothall.hold(TOPIC, seatz={})  # type: ignore[call-overload]


def test_an_interrupted_hold_is_cancelled_and_cleans_up() -> None:
    cleaned = threading.Event()

    async def work() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            cleaned.set()

    async def cell() -> None:
        run_blocking(work)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(cell())
    assert cleaned.is_set()


def test_every_option_is_in_the_documentation() -> None:
    page = (DOCS / "library.md").read_text(encoding="utf-8")
    for option in (*Options.__annotations__, *GivenResources.__annotations__):
        assert f"`{option}`" in page, option


def test_a_context_ledger_becomes_a_session_that_goes_on() -> None:
    async def work() -> tuple[str, str]:
        async with Moot() as moot:
            source = await moot.open(TOPIC, seats={"ada": ada, "bob": bob}, turns=1)
            text = await moot.export(source, "context")
            with pytest.raises(CallerError, match="'debate' can import only jsonl"):
                await moot.read_back(text, name="debate")
            seats = [Seat(id=SeatId(name), platform="mailbox") for name in ("ada", "bob")]
            copy = await moot.read_back(text, seats=seats)
            return source, (await moot.decision(copy)).topic if copy != source else ""

    assert asyncio.run(work())[1] == TOPIC
