"""Q-3: where Moot runs models, a judge of answers is seated by itself: the cheapest model that sits there, and nobody where it is off."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from tests.acceptance.doors import Cli
from tests.acceptance.test_settled_answers import SPELLINGS, judge_pairs, respond_with

from moothall.app.estimates import estimate_session
from moothall.app.moot import Moot
from moothall.domain.effects import Brief
from moothall.domain.facts import AnswersGrouped, SessionParked
from moothall.domain.ids import parse_session_id
from moothall.participants.kinds import ParticipantKind, SeatRequest
from moothall.ports.participant import Answer, NoAnswer, OnText
from moothall.reading.answers import read_answer

TOPIC: Final = "What do we store our events in?"
Judging = Callable[[Brief], object]


def join_all(brief: Brief) -> object:
    return judge_pairs(lambda one, other: "same", brief)


class Models:
    """The models of a meeting, each with a wording of its own; whoever judges says what a test gives it."""

    def __init__(self, judge: Judging = join_all, decided: str = "PostgreSQL") -> None:
        self.judge, self.decided = judge, decided
        self.asked: list[tuple[str, str]] = []

    def make(self, request: SeatRequest) -> "Model":
        return Model(self, request.seat.id)

    @property
    def judged(self) -> list[str]:
        return [seat for seat, kind in self.asked if kind == "judge"]


class Model:
    """One model that Moot runs."""

    def __init__(self, models: Models, name: str) -> None:
        self._models, self._name = models, name

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        self._models.asked.append((self._name, brief.form.kind))
        if brief.form.kind == "judge":
            said = self._models.judge(brief)
            if isinstance(said, NoAnswer):
                return said
        else:
            at = ("ada", "bob", "cy").index(self._name)
            said = respond_with(SPELLINGS[at], self._models.decided, brief)
        text = said if isinstance(said, str) else json.dumps(said)
        return Answer(said=read_answer(brief, text).said)

    async def ready(self) -> str | None:
        return None


def run(home: Path, models: Models, work: Callable[[Moot], Any]) -> Any:
    kind = ParticipantKind(name="oracle", make=models.make, frames_questions=True)
    environ = {"MOOT_HOME": str(home), "HOME": str(home), "MOOT_LEDGER": "memory:"}

    async def act() -> Any:
        async with Moot(environ=environ, participants={"oracle": kind}) as moot:
            return await asyncio.wait_for(work(moot), 60)

    return asyncio.run(act())


def hold(home: Path, models: Models, protocol: str, **options: Any) -> Any:
    """Hold a meeting of three models; returns its opening, its decision and its facts."""
    options.setdefault("seats", dict.fromkeys(("ada", "bob", "cy"), "oracle"))

    async def work(moot: Moot) -> Any:
        session = await moot.open(TOPIC, protocol=protocol, frame="off", **options)
        decision = await moot.run(session)
        facts = [entry.fact for entry in await moot.engine.entries(session)]
        snapshot = await moot.engine.load_snapshot(parse_session_id(session))
        return snapshot.session_state.opened, decision, facts

    return run(home, models, work)


@pytest.mark.parametrize("protocol", ["persona", "debate", "consensus", "advisory"])
def test_three_wordings_are_one_answer_without_a_word_about_judges(
    tmp_path: Path, protocol: str
) -> None:
    """Q-3: the judge is a seat with the model of one that sits there, has no say, and is asked only to compare."""
    models = Models()
    opened, decision, facts = hold(tmp_path, models, protocol)
    judge = opened.seats[-1]
    assert (judge.id, judge.platform, opened.settings.judge) == ("judge", "oracle", "judge")
    assert judge.id in opened.neutral
    assert decision.held_before == ("ada", "bob", "cy")
    assert decision.asked == ("ada", "bob", "cy")
    assert decision.confidence > 0.5
    assert {kind for seat, kind in models.asked if seat == "judge"} == {"judge"}
    assert "judge" not in [each.seat for each in decision.positions]
    assert [fact.judge for fact in facts if isinstance(fact, AnswersGrouped)][:1] == ["judge"]


def test_one_setting_leaves_the_judge_out(tmp_path: Path) -> None:
    """Q-3: --set judge=off."""
    models = Models()
    opened, decision, _ = hold(tmp_path, models, "debate", settings={"judge": "off"})
    assert [seat.id for seat in opened.seats] == ["ada", "bob", "cy"]
    assert (opened.settings.judge, models.judged) == ("", [])
    assert decision.held_before == ("bob",)


def test_a_judge_that_is_named_is_the_only_one(tmp_path: Path) -> None:
    """Q-3"""
    models = Models()
    seats = {**dict.fromkeys(("ada", "bob", "cy"), "oracle"), "referee": "oracle"}
    opened, _, _ = hold(tmp_path, models, "debate", seats=seats, settings={"judge": "referee"})
    assert [seat.id for seat in opened.seats] == ["ada", "bob", "cy", "referee"]
    assert set(models.judged) == {"referee"}


@pytest.mark.parametrize(
    ("topic", "options"),
    [
        ("How many desks do we need?", {}),
        ("What do we do?", {"kind": "number"}),
        (TOPIC, {"seats": dict.fromkeys(("ada", "bob", "cy"), "mailbox")}),
        (TOPIC, {"seats": {"ada": "oracle"}}),
        (TOPIC, {"settings": {"blind": False}}),
        (TOPIC, {"settings": {"judge": ""}}),
    ],
    ids=["figures", "kind", "agents", "one", "open", "none"],
)
def test_nobody_judges_where_nothing_is_to_be_judged(
    tmp_path: Path, topic: str, options: dict[str, Any]
) -> None:
    """Q-3: figures are compared as figures; where Moot runs no model, equal words are one answer."""
    options = {"seats": dict.fromkeys(("ada", "bob", "cy"), "oracle"), **options}

    async def work(moot: Moot) -> Any:
        return await moot.plan_session(topic, protocol="persona", **options)

    opened = run(tmp_path, Models(), work).opened
    assert len(opened.seats) == len(options["seats"])
    assert opened.settings.judge == ""


def test_its_name_is_free_its_calls_are_priced_and_it_has_nothing_but_the_model(
    tmp_path: Path,
) -> None:
    """Q-3: a seat that is called judge keeps its name and its say."""
    seats = dict.fromkeys(("ada", "bob", "judge"), "http://127.0.0.1:9/v1#m")

    async def work(moot: Moot) -> Any:
        plans: list[Any] = []
        for settings in ({}, {"judge": "off"}):
            options: Any = {
                "protocol": "debate",
                "seats": seats,
                "settings": settings,
                "frame": "off",
                "check": False,
            }
            planned = await moot.plan_session(TOPIC, **options)
            plans.append((planned.opened, estimate_session(planned.opened, moot.seating.kinds)))
        return plans

    (opened, judged), (_, bare) = run(tmp_path, Models(), work)
    assert [seat.id for seat in opened.seats] == ["ada", "bob", "judge", "judge-2"]
    assert opened.neutral == {"judge-2"}
    assert (opened.seats[-1].stance, opened.seats[-1].instructions) == ("", "")
    assert judged.calls.least == bare.calls.least
    assert judged.calls.most > bare.calls.most


@pytest.mark.parametrize("protocol", ["persona", "debate"])
@pytest.mark.parametrize(
    "said",
    [
        NoAnswer(reason="unreachable"),
        NoAnswer(reason="rejected_key"),
        NoAnswer(reason="refused"),
        "They are all good answers.",
        {"judgements": []},
    ],
    ids=["out", "key", "refused", "words", "nothing"],
)
def test_a_judge_that_fails_joins_nothing_and_parks_nothing(
    tmp_path: Path, protocol: str, said: object
) -> None:
    """Q-3: also where its model is out of reach for that one call."""
    models = Models(judge=lambda brief: said)
    _, decision, facts = hold(tmp_path, models, protocol)
    assert decision.status == "concluded"
    assert not any(isinstance(fact, SessionParked) for fact in facts)
    groupings = [fact for fact in facts if isinstance(fact, AnswersGrouped)]
    assert groupings
    assert all(pair.verdict != "same" for each in groupings for pair in each.pairs)


def test_the_command_line_says_who_judges_and_leaves_it_out(cli: Cli) -> None:
    """Q-3: the dry run lists the judge with its model."""
    words = ("run", TOPIC, "--protocol", "debate", "--frame", "off", "--dry-run")
    model = "--model=http://127.0.0.1:9/v1#m"
    judged = cli(*words, model, "--no-check", code=None).out
    assert "judge: http://127.0.0.1:9/v1#m" in judged
    off = cli(*words, model, "--no-check", "--set", "judge=off", code=None).out
    assert "judge:" not in off
