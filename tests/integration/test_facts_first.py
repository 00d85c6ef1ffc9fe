"""Facts first (Q-4): where seats were given different things, each says before its position what the others may not know."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from random import Random
from typing import Any

import pytest

from moothall.app.deliberations import Deliberations
from moothall.app.estimates import estimate_session
from moothall.app.moot import Moot
from moothall.domain.effects import Brief
from moothall.domain.facts import AsksSent, FactsListed, FactsStated, SeatLost, SessionParked
from moothall.domain.ids import AskId, ask_id, parse_ask_kind, parse_seat_id
from moothall.domain.roster import MAILBOX, Seat
from moothall.domain.stated_facts import find_difference
from moothall.domain.topic import ContextFile
from moothall.errors import BadSetting, OutOfTurn
from moothall.ports.participant import Answer, NoAnswer
from moothall.reading.schemas import build_user_prompt
from moothall.surfaces.api.entries import build_entry_out
from moothall.surfaces.api.views import describe_next_step
from moothall_testkit.careless_model import CarelessModel

NAMES = ("ada", "bob", "cy")
FACTS = {
    "ada": ("The contract ends on 31 March 2027.", "ada.md:1"),
    "bob": ("The supplier owes 40,000 EUR since May.", "own knowledge"),
    "cy": ("The plant will close in June.", "cy.md:2"),
}
FILES = [
    ContextFile(name="ada.md", text="The contract ends on 31 March 2027.\nIt may be renewed."),
    ContextFile(name="bob.md", text="Nothing of note."),
    ContextFile(name="cy.md", text="The plant was built in 1990.\nIt has two lines."),
]
PROTOCOLS: Mapping[str, dict[str, Any]] = {
    "debate": {"settings": {"debate": "always"}},
    "advisory": {},
    "consensus": {},
    "persona": {"turns": 2},
    "swarm": {"settings": {"max_rounds": 1, "min_rounds": 1}},
}
TOPIC = "Should we keep the supplier?"


def run_to_end(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Make a test of a coroutine."""

    @wraps(test)
    def run(**values: object) -> None:
        async def wait() -> None:
            await test(**values)

        asyncio.run(wait())

    return run


class Mind(CarelessModel):
    """A mind that knows one fact, says it where it is asked for it, and keeps every prompt that it is sent."""

    def __init__(self, name: str, prompts: list[tuple[str, str]], loss: str = "") -> None:
        super().__init__(1, rate=0.0)
        self._name = name
        self._prompts = prompts
        self._loss = loss

    async def __call__(self, brief: Brief) -> Answer | NoAnswer:
        self._prompts.append((brief.ask.id, build_user_prompt(brief)))
        if self._loss and brief.ask.kind == "facts":
            return NoAnswer(reason=self._loss, detail="the line is down")  # type: ignore[arg-type]
        return await super().__call__(brief)

    def write(self, brief: Brief, random: Random) -> str:
        if brief.ask.kind != "facts":
            return super().write(brief, random)
        fact, source = FACTS[self._name]
        return json.dumps({"facts": [{"fact": fact, "source": source}]})


def ask_facts(name: str) -> AskId:
    return ask_id(1, "facts", parse_seat_id(name))


def build_seats(platform: str = "") -> list[Seat]:
    return [
        Seat(id=parse_seat_id(name), platform=platform or name, sees=(f"{name}.md",))
        for name in NAMES
    ]


def open_moot(prompts: list[tuple[str, str]], loss: Mapping[str, str] | None = None) -> Moot:
    minds = {name: Mind(name, prompts, (loss or {}).get(name, "")) for name in NAMES}
    return Moot(environ={"MOOT_LEDGER": "memory:"}, participants=minds)


def build_options(protocol: str, **more: Any) -> dict[str, Any]:
    shared = {"files": FILES, "memory": False, "language": "en", "seed": 1, "seats": build_seats()}
    return {**shared, "protocol": protocol, **PROTOCOLS[protocol], **more}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@run_to_end
async def test_every_shared_fact_stands_word_for_word_in_every_later_prompt(protocol: str) -> None:
    """Q-4: with its giver and what code says of its source; and in the minutes."""
    prompts: list[tuple[str, str]] = []
    async with open_moot(prompts) as moot:
        decision = await moot.hold(TOPIC, **build_options(protocol))
        minutes = await moot.export(decision.session, "minutes")
        entries = await moot.engine.entries(decision.session)
    asked = [ask for ask, _ in prompts if parse_ask_kind(ask) == "facts"]
    assert asked == [f"1.facts.{name}" for name in NAMES]
    # A judge compares words, whatever is true.
    later = [prompt for ask, prompt in prompts if parse_ask_kind(ask) not in {"facts", "judge"}]
    assert len(later) > 3
    for prompt in later:
        for fact, _ in FACTS.values():
            assert f"\n| {fact}" in prompt
        assert "[ada; checked: stands in ada.md:1]" in prompt
        assert "[bob; own knowledge, not checked]" in prompt
        assert "[cy; cy.md:2 exists, its words were not compared]" in prompt
    for _, prompt in prompts[:3]:
        assert "# Facts\n" not in prompt
    assert "Facts first" in minutes
    assert all(fact in minutes for fact, _ in FACTS.values())
    listed = [entry.fact for entry in entries if isinstance(entry.fact, FactsListed)]
    assert [(each.count, each.passed, each.lost) for each in listed] == [(3, (), ())]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("loss", ["timeout", "unreachable", "rejected_key", "malformed"])
@run_to_end
async def test_a_seat_that_states_no_facts_is_on_record_and_never_parks_the_meeting(
    protocol: str, loss: str
) -> None:
    """Q-4: two of three are lost for their facts, by an outage too; all of them still take positions."""
    prompts: list[tuple[str, str]] = []
    async with open_moot(prompts, {"bob": loss, "cy": loss}) as moot:
        decision = await moot.hold(TOPIC, **build_options(protocol))
        entries = await moot.engine.entries(decision.session)
        minutes = await moot.export(decision.session, "minutes")
    facts = [entry.fact for entry in entries]
    assert decision.status == "concluded"
    assert not any(isinstance(fact, SessionParked) for fact in facts)
    assert sum(isinstance(fact, SeatLost) for fact in facts) == 2
    [listed] = [fact for fact in facts if isinstance(fact, FactsListed)]
    assert set(listed.lost) == {"bob", "cy"}
    assert not decision.lost
    assert "No facts of" in minutes
    later = {ask.rpartition(".")[2] for ask, _ in prompts if parse_ask_kind(ask) != "facts"}
    assert later >= set(NAMES)


@run_to_end
async def test_facts_are_sealed_until_all_are_in_and_a_run_is_replayed() -> None:
    """Q-4: nobody reads a fact before the list; after it the positions that are written blind hide no fact."""
    async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
        session = await moot.open(TOPIC, **build_options("debate", seats=build_seats(MAILBOX)))
        await moot.run(session, wait=False)
        await moot.engine.answer(
            session, ask_facts("ada"), {"facts": [{"fact": FACTS["ada"][0], "source": "ada.md:1"}]}
        )
        snapshot = await moot.engine.load_snapshot(session)
        said = (await moot.engine.entries(session))[-1]
        assert isinstance(said.fact, FactsStated)
        assert build_entry_out(said, snapshot.state)["what"]["sealed"] is True
        assert "sealed" not in build_entry_out(said, snapshot.state, "ada")["what"]
        # In words of its own, and with nothing to add.
        await moot.engine.answer(session, ask_facts("bob"), "They owe us money.\nSince May.")
        await moot.engine.answer(session, ask_facts("cy"), "pass")
        snapshot = await moot.engine.load_snapshot(session)
        entries = await moot.engine.entries(session)
        listed = next(entry for entry in entries if isinstance(entry.fact, FactsListed))
        assert listed.fact == FactsListed(count=3, passed=(parse_seat_id("cy"),))
        assert snapshot.state.is_sealed
        assert build_entry_out(said, snapshot.state)["what"]["said"]["facts"]
        revealed = build_entry_out(listed, snapshot.state)["revealed"]
        assert [line["participant"] for line in revealed] == ["ada", "bob", "cy"]
        asked = next(
            each
            for each in await moot.engine.list_outstanding(session)
            if each.ask.id == "1.propose.cy"
        )
        assert "| They owe us money." in asked.brief.shared
        assert "| Since May." in asked.brief.shared
        replayed = await moot.replay(session)
        assert replayed.entries == entries[-1].seq


@run_to_end
async def test_an_agent_is_told_what_is_asked_before_it_may_propose() -> None:
    """Q-4: by the calls of a deliberation; a proposal that comes too early is refused and not taken for a fact."""
    async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
        session = await moot.open(TOPIC, **build_options("debate", seats=build_seats(MAILBOX)))
        await moot.run(session, wait=False)
        place = await Deliberations(moot).load_state(session)
        assert "answer_ask" in describe_next_step(place, parse_seat_id("ada"))
        proposal = {"type": "propose", "text": "Keep it."}
        with pytest.raises(OutOfTurn, match="asked for facts before positions"):
            await Deliberations(moot).contribute(session, "ada", proposal)
        for name in NAMES:
            await moot.engine.answer(session, ask_facts(name), {"facts": []})
        await Deliberations(moot).contribute(session, "ada", proposal)


@run_to_end
async def test_the_owner_ends_the_wave_and_the_facts_that_are_in_are_listed() -> None:
    async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
        session = await moot.open(TOPIC, **build_options("debate", seats=build_seats(MAILBOX)))
        await moot.run(session, wait=False)
        await moot.engine.answer(
            session, ask_facts("ada"), {"facts": [{"fact": "It ends in March."}]}
        )
        await moot.engine.call_close(session, "owner")
        entries = await moot.engine.entries(session)
        assert any(isinstance(entry.fact, FactsListed) for entry in entries)
        assert (await moot.decision(session)).status == "concluded"


@run_to_end
async def test_a_killed_wave_goes_on_where_it_stood() -> None:
    """Q-4: a process that ends in the middle loses and repeats no fact."""
    async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
        seats = build_seats(MAILBOX)
        session = await moot.open(TOPIC, **build_options("persona", seats=seats))
        await moot.run(session, wait=False)
        await moot.engine.answer(session, ask_facts("ada"), {"facts": []})
        # Another engine over the same ledger, as a restarted process has it.
        async with Moot(ledger=moot.ledger) as other:
            await other.run(session, wait=False)
            await other.engine.answer(session, ask_facts("bob"), {"facts": []})
            await other.engine.answer(session, ask_facts("cy"), {"facts": []})
            entries = await other.engine.entries(session)
    stated = [entry.fact.seat for entry in entries if isinstance(entry.fact, FactsStated)]
    assert stated == [*NAMES]
    asked = [
        ask for entry in entries if isinstance(entry.fact, AsksSent) for ask in entry.fact.asks
    ]
    assert sum("facts" in ask for ask in asked) == 3
    assert asked[-3:] == [f"1.position.{name}" for name in NAMES]


@run_to_end
async def test_auto_asks_where_seats_differ_and_a_dry_run_prices_it() -> None:
    """Q-4: one call more for each seat, and none where all were given the same."""
    prompts: list[tuple[str, str]] = []
    equal = [Seat(id=parse_seat_id(name), platform=name) for name in NAMES]
    async with open_moot(prompts) as moot:
        for more, why in (
            ({}, "files"),
            ({"facts": "off"}, ""),
            ({"seats": equal}, ""),
            ({"seats": equal, "facts": "on"}, "on"),
            ({"seats": equal, "settings": {"facts": "on"}}, "on"),
        ):
            planned = await moot.plan_session(TOPIC, **build_options("debate", **more))
            assert planned.opened.facts_first == why
        with pytest.raises(BadSetting, match=r"facts = 'maybe' is not one of: auto, on, off"):
            await moot.plan_session(TOPIC, **build_options("debate", settings={"facts": "maybe"}))
    models = [
        Seat(id=parse_seat_id(name), platform="openai:gpt-5-mini", stance=stance)
        for name, stance in (("ada", "buyer"), ("bob", "lawyer"))
    ]
    assert find_difference(models) == "roles"
    async with Moot(environ={"MOOT_LEDGER": "memory:", "OPENAI_API_KEY": "none"}) as moot:
        calls = {}
        for facts in ("off", "auto"):
            options = build_options("debate", seats=models, files=[], facts=facts, check=False)
            planned = await moot.plan_session(TOPIC, **options)
            calls[facts] = estimate_session(planned.opened, moot.seating.kinds).calls
    assert calls["auto"].least == calls["off"].least + 2
    assert calls["auto"].most == calls["off"].most + 2


def test_what_seats_were_given_differently_is_named() -> None:
    """Q-4: files before tools, tools before instructions, these before roles; stand-ins know nothing of their own."""

    def differ(**of_bob: Any) -> str:
        ada = Seat(id=parse_seat_id("ada"), platform="openai:m")
        bob = Seat(id=parse_seat_id("bob"), platform="openai:m", **of_bob)
        return find_difference((ada, bob))

    assert differ() == ""
    assert differ(weight=2.0, patience=9.0) == ""
    assert differ(sees=("a/*",), tools=("read",), instructions="x") == "files"
    assert differ(tools=("read",), instructions="x") == "tools"
    assert differ(instructions="Count.", stance="y") == "instructions"
    assert differ(stance="lawyer") == "roles"
    outside = [Seat(id=parse_seat_id(n), platform=MAILBOX, stance=n) for n in ("a", "b")]
    assert find_difference(outside) == ""
    assert find_difference([*build_seats(MAILBOX)]) == "files"
    scripts = [Seat(id=parse_seat_id(n), platform=f"script:{n}", stance=n) for n in ("a", "b")]
    assert find_difference(scripts) == ""
