"""Q-12: a question for a number has the median of the blind numbers, a forecast the chance that the blind forecasts give together."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from tests.acceptance.test_frames import POSITIONS

from moothall.app.moot import Moot
from moothall.app.session_reader import read_session
from moothall.domain.effects import Brief
from moothall.errors import BadAnswer
from moothall.reading.estimates import read_estimate
from moothall.reading.schemas import build_user_prompt, build_wire_schema
from moothall.reports.plain_text import render_markdown

DESKS: Final = "How many days will the move take?"
MAY: Final = "Will Postgres be in use by May?"
NUMBERS: Final = {"ada": 8.0, "bob": 12.0, "cy": 20.0}
DELIBERATIONS: Final = ("persona", "debate", "advisory", "consensus")


def estimate(numbers: Mapping[str, object], final: float = 15.0) -> Callable[[Brief], object]:
    """A seat that estimates blind, and ends at another number."""

    def respond(brief: Brief) -> object:
        kind, text = brief.form.kind, "Two days for each of the rooms."
        blind = {"number": numbers.get(brief.seat.id)}
        answers: dict[str, object] = {
            "position": {"position": text, **blind},
            "intent": {"reaction_score": 0.0, "intent_to_speak": False},
            "draft": {"decision": {"text": "Fifteen days."}, "number": final},
            "stand": {"verdict": "support", "moved_by": 2},
            "propose": {"type": "propose", "text": text, **blind},
            "argue": {"type": "pass", "text": ""},
            "answer": {"type": "pass", "text": ""},
            "synthesize": {"type": "synthesize", "text": "Fifteen days.", "number": final},
            "decide": {"type": "synthesize", "text": "Fifteen days.", "number": final},
            "vote": {"type": "vote", "position": "support"},
        }
        return answers.get(kind, {})

    return respond


def forecast(chances: Mapping[str, tuple[str, float]]) -> Callable[[Brief], object]:
    def respond(brief: Brief) -> object:
        choice, confidence = chances[brief.seat.id]
        said = {"choice": choice, "confidence": confidence}
        answers: dict[str, object] = {
            "position": {"position": "By the calendar.", **said},
            "intent": {"reaction_score": 0.0, "intent_to_speak": False},
            "draft": {"decision": {"text": "It will."}, "choice": "yes"},
            "stand": {"verdict": "support"},
            "propose": {"type": "propose", "text": "By the calendar.", **said},
            "argue": {"type": "pass", "text": ""},
            "synthesize": {"type": "synthesize", "text": "It will.", "choice": "yes"},
            "decide": {"type": "synthesize", "text": "It will.", "choice": "yes"},
            "vote": {"type": "vote", "position": "support"},
        }
        return answers.get(brief.form.kind, {})

    return respond


async def hold_in(
    moot: Moot, respond: Callable[[Brief], object], topic: str, protocol: str, **options: Any
) -> Any:
    seats: dict[str, Any] = {name: partial(respond) for name in ("ada", "bob", "cy")}
    return await moot.hold(topic, protocol=protocol, seats=seats, **options)


def run(home: Path, work: Callable[[Moot], Any]) -> Any:
    environ = {"MOOT_HOME": str(home), "HOME": str(home), "MOOT_LEDGER": "memory:"}

    async def act() -> Any:
        async with Moot(environ=environ) as moot:
            return await work(moot)

    return asyncio.run(act())


@pytest.mark.parametrize("protocol", DELIBERATIONS)
def test_a_number_is_the_median_of_the_blind_ones_with_its_range(
    tmp_path: Path, protocol: str
) -> None:
    """Q-12: and what moved it stands beside it."""
    decision = run(
        tmp_path, lambda moot: hold_in(moot, estimate(NUMBERS), DESKS, protocol, settings={})
    )
    number = decision.number
    assert number is not None
    assert decision.lost == ()
    assert decision.decision is not None
    blind = {"ada": 8.0, "bob": 12.0, "cy": 20.0}
    said = [each.number_before for each in decision.positions if each.number_before is not None]
    assert set(said) <= set(blind.values())
    assert (number.count, number.low, number.high) == (len(said), min(said), max(said))
    assert number.unit == "days"
    if len(said) == 3:
        assert number.median == 12.0
    assert decision.choice == f"{number.median:g} days"
    assert decision.to_json()["number"]["median"] == number.median


def test_the_report_says_the_median_its_range_and_what_moved_it(tmp_path: Path) -> None:
    async def work(moot: Moot) -> str:
        decision = await hold_in(moot, estimate(NUMBERS), DESKS, "persona")
        assert decision.number.decided == 15.0
        read = await read_session(moot, decision.session)
        return render_markdown(read.plugin.report(read.timeline))

    shown = run(tmp_path, work)
    assert "12 days: the median of 3 (8 to 20)" in shown
    assert "15 days" in shown


@pytest.mark.parametrize("protocol", DELIBERATIONS)
def test_a_blind_position_has_a_number_in_place_of_a_choice(tmp_path: Path, protocol: str) -> None:
    """Q-12: with its unit, where the question says it."""
    schemas, prompts = list[Any](), list[str]()

    def respond(brief: Brief) -> object:
        if brief.form.kind == POSITIONS[protocol]:
            schemas.append(build_wire_schema(brief.schema))
            prompts.append(build_user_prompt(brief))
        return estimate(NUMBERS)(brief)

    run(tmp_path, lambda moot: hold_in(moot, respond, DESKS, protocol))
    assert schemas[0]["properties"]["number"] == {"type": "number"}
    assert "number" in schemas[0]["required"]
    assert "choice" not in schemas[0]["properties"]
    assert "one number and no range, days" in prompts[0]


def test_a_number_that_is_not_plain_is_asked_back_and_never_guessed(tmp_path: Path) -> None:
    """Q-12"""
    asked: list[str] = []

    def respond(brief: Brief) -> object:
        if brief.form.kind == "propose" and brief.seat.id == "ada":
            asked.append(build_user_prompt(brief))
            return estimate({"ada": "3–5" if len(asked) == 1 else 4})(brief)
        return estimate(NUMBERS)(brief)

    decision = run(tmp_path, lambda moot: hold_in(moot, respond, DESKS, "debate"))
    assert len(asked) <= 2
    said = {each.seat: each.number_before for each in decision.positions}
    assert said.get("ada") in {None, 4.0}


@pytest.mark.parametrize(
    ("given", "unit", "number"),
    [
        (12, "days", 12.0),
        (12.5, "", 12.5),
        ("12", "days", 12.0),
        ("12 days", "days", 12.0),
        ("1 day", "days", 1.0),
        ("1,500", "", 1500.0),
        ("1,500.5 euros", "euros", 1500.5),
        ("€1500", "euros", 1500.0),
        ("1,5", "", 1.5),
        ("-3", "", -3.0),
        ("40 %", "%", 40.0),
        ("40 percent", "percent", 40.0),
        ("百分之八十", "%", 80.0),
        ("twelve", "days", 12.0),
        ("十二", "天", 12.0),
        ("12天", "天", 12.0),
        ("**12**", "days", 12.0),
        ([7], "", 7.0),
        ("8 days, because the port closes on Friday", "days", 8.0),
        ("8 because 2 of us are away until the 12th", "days", 8.0),
        ("8 days. The port closes then, and they know it.", "days", 8.0),
        ("1,500 euros — it is what we paid last time", "euros", 1500.0),
        ("twelve days, since nobody works on Sunday", "days", 12.0),
        ("8天，因为周五闭港", "天", 8.0),
        ("12天因为要等审批", "天", 12.0),
    ],
)
def test_a_plain_number_is_read(given: object, unit: str, number: float) -> None:
    assert read_estimate(given, "number", unit) == number


@pytest.mark.parametrize(
    "given",
    [
        "1.5k",
        "3–5",
        "3-5",
        "3 to 5",
        "about 40 %",
        "40 %",
        "百分之八十",
        "NaN",
        "nan",
        float("nan"),
        float("inf"),
        "1e400",
        10**400,
        1e300,
        "12 13",
        "12, or 13",
        "between 3 and 5",
        "at least 12",
        "12 weeks",
        "<12",
        "12+",
        "",
        None,
        True,
        [3, 5],
        {"number": 3},
        "I cannot say",
        "十二到十五",
        "9" * 80,
        "8 days, or 12 if it rains",
        "8 days, because",
        "8, 9",
        "8 days, perhaps 12",
        "8 days. Or 12, since it rains.",
        "8 days, more or less",
        "8 weeks, because the port closes",
        "about 8 days, because the port closes",
        "8天，也可能12天",
    ],
    ids=str,
)
def test_what_is_not_one_plain_number_is_asked_back_in_one_line(given: object) -> None:
    """Q-12"""
    with pytest.raises(BadAnswer, match="one number in days was expected") as caught:
        read_estimate(given, "number", "days")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("protocol", DELIBERATIONS)
def test_a_forecast_is_pooled_and_drawn_nowhere_without_reviewed_cases(
    tmp_path: Path, protocol: str
) -> None:
    """Q-12: one chance, that it happens."""
    chances = {"ada": ("yes", 0.8), "bob": ("yes", 0.7), "cy": ("no", 0.6)}
    decision = run(tmp_path, lambda moot: hold_in(moot, forecast(chances), MAY, protocol))
    pooled = decision.forecast
    assert pooled is not None
    assert decision.lost == ()
    assert pooled.extremity == 1.0
    assert pooled.chance == pytest.approx(pooled.pooled)
    assert pooled.low <= pooled.chance <= pooled.high
    if pooled.count == 3:
        assert (pooled.low, pooled.high) == (pytest.approx(0.4), pytest.approx(0.8))
    # The chance that people read is that of the event.
    assert decision.chance_hidden


def test_reviews_score_forecasts_and_numbers_and_draw_later_forecasts(tmp_path: Path) -> None:
    """Q-12: reviewed by their own scores; extremized only as far as the category's reviewed cases show."""
    sure = {"ada": ("yes", 0.7), "bob": ("yes", 0.7), "cy": ("yes", 0.7)}

    async def work(moot: Moot) -> Sequence[Any]:
        held = [
            await hold_in(moot, forecast(sure), MAY, "debate", category="weather")
            for _ in range(12)
        ]
        memory = await moot.recall()
        for each in held:
            await memory.review(each.session, "success", choice="yes", by="me")
        later = await hold_in(moot, forecast(sure), MAY, "debate", category="weather")
        elsewhere = await hold_in(moot, forecast(sure), MAY, "debate", category="law")
        guess = await hold_in(moot, estimate(NUMBERS), DESKS, "debate")
        await memory.review(guess.session, "failure", choice="16 days", by="me")
        cases = await (await moot.recall()).list_number_cases()
        return later, elsewhere, cases, await memory.list_forecast_cases("weather")

    later, elsewhere, cases, forecasts = run(tmp_path, work)
    assert later.forecast.extremity > 1.0
    assert later.forecast.chance > later.forecast.pooled
    assert elsewhere.forecast.extremity == 1.0
    assert len(forecasts) == 12
    assert [case[3] for case in cases] == [16.0]


@pytest.mark.parametrize("protocol", ["debate", "persona"])
def test_a_person_answers_a_question_for_a_number_with_a_number(
    tmp_path: Path, protocol: str
) -> None:
    """Q-12: and is told in one line what is no number."""

    async def work(moot: Moot) -> list[object]:
        seats = {"ada": "mailbox", "bob": "mailbox", "cy": "mailbox"}
        session = await moot.open(DESKS, protocol=protocol, seats=seats)
        await moot.run(session)
        ask = (await moot.asks(session))[0].ask
        name = "position" if protocol == "persona" else "text"
        for given in ("3–5", "40 %", "1.5k", 1e400):
            with pytest.raises(BadAnswer, match="one number"):
                await moot.answer(session, ask.id, {name: "By the rooms.", "number": given})
        entry = await moot.answer(session, ask.id, "8")
        return [entry.fact]

    (fact,) = run(tmp_path, work)
    said: Any = getattr(fact, "said")  # noqa: B009 - a reply of either protocol
    assert said.number == 8.0
