"""Q-1: where the words of a question do not say its answers, one model that sits there is asked once, before the session opens."""

import asyncio
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from tests.acceptance.test_frames import speak

from moothall.app import framing
from moothall.app.moot import Moot
from moothall.app.opening import frame_planned
from moothall.domain.budget import Usage
from moothall.domain.effects import Brief
from moothall.domain.facts import Opened
from moothall.domain.ids import parse_session_id
from moothall.domain.topic import ContextFile
from moothall.errors import ProviderRefused
from moothall.participants.kinds import ParticipantKind, SeatRequest
from moothall.ports.participant import Answer, NoAnswer, OnText
from moothall.reading.answers import read_answer
from moothall.reading.schemas import build_user_prompt
from moothall.reports.given import describe_framing

DAYS: Final = "We could release on Friday. Monday is also possible. Which day is better?"
COST: Final = Usage(tokens_in=200, tokens_out=40, cost=77, calls=1)
RIGHT: Final = {
    "assumes": "That the release is ready.",
    "criteria": ["Monday is also possible", "long-term viability"],
    "kind": "choice",
    "answers": ["Friday", "Monday", "next week"],
}
Said = Callable[[], object]


class Model:
    """A model that Moot runs: it says what a test gives it, read as any model's text is."""

    def __init__(self, said: object = RIGHT, *, waits: float = 0.0) -> None:
        self.said, self.waits, self.asked = said, waits, list[Brief]()

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        self.asked.append(brief)
        if brief.form.kind != "frame":
            return Answer(
                said=read_answer(brief, speak(lambda _: {"choice": "Friday"})(brief)).said
            )
        await asyncio.sleep(self.waits)
        if isinstance(self.said, Exception):
            raise self.said
        if isinstance(self.said, NoAnswer):
            return self.said
        text = self.said if isinstance(self.said, str) else json.dumps(self.said)
        return Answer(said=read_answer(brief, text).said, usage=COST, model="oracle-1")

    async def ready(self) -> str | None:
        return None

    @property
    def framed(self) -> list[Brief]:
        return [each for each in self.asked if each.form.kind == "frame"]


def run(home: Path, model: Model, work: Callable[[Moot], Any], **more: Any) -> Any:
    def make(_: SeatRequest) -> Model:
        return model

    kind = ParticipantKind(name="oracle", make=make, frames_questions=True)
    environ = {"MOOT_HOME": str(home), "HOME": str(home), "MOOT_LEDGER": "memory:"}

    async def act() -> Any:
        async with Moot(environ=environ, participants={"oracle": kind, **more}) as moot:
            return await work(moot)

    return asyncio.run(act())


async def open_session(moot: Moot, topic: str = DAYS, **options: Any) -> Opened:
    options.setdefault("seats", {"ada": "oracle", "bob": "mailbox", "cy": "mailbox"})
    session = await moot.open(topic, protocol="debate", **options)
    opened = (await moot.engine.load_snapshot(parse_session_id(session))).session_state
    assert opened.spent.calls == (
        0 if opened.opened.framing is None else opened.opened.framing.usage.calls
    )
    return opened.opened


def open_one(home: Path, model: Model, topic: str = DAYS, **options: Any) -> Opened:
    opened = run(home, model, lambda moot: open_session(moot, topic, **options))
    assert isinstance(opened, Opened)
    return opened


def test_a_model_lists_the_answers_before_the_session_opens(tmp_path: Path) -> None:
    """Q-1: in the opening, with who made it, what it cost, and what the question does not name."""
    model = Model()
    opened = open_one(tmp_path, model)
    assert opened.frame is not None
    assert opened.frame.answers == opened.subject.options == ("Friday", "Monday", "next week")
    assert (opened.frame.made_by, opened.frame.model) == ("model", "oracle-1")
    assert opened.frame.added == ("next week",)
    assert opened.frame.criteria == ("Monday is also possible",)
    assert opened.framing is not None
    assert (opened.framing.usage, opened.framing.fault) == (COST, None)
    assert len(model.framed) == 1
    lines = describe_framing(opened)
    assert lines[0].startswith(
        "choice: Friday / Monday / next week (not in the question) · none of these"
    )
    assert "oracle-1, from the question alone" in lines[0]
    assert any("takes for granted: That the release is ready." in line for line in lines)


def test_the_call_is_sent_the_question_alone_and_is_short(tmp_path: Path) -> None:
    """Q-1: never the files; at most 350 tokens beside the question, with its schema."""
    model = Model()
    files = [ContextFile(name="plan.md", text="the secret plan")]
    seats = {"ada": "oracle", "bob": "oracle", "cy": "mailbox"}
    open_one(tmp_path, model, files=files, seats=seats)
    (brief,) = model.framed
    shown = f"{brief.system}\n{build_user_prompt(brief)}"
    assert DAYS in shown
    assert "secret" not in shown
    assert brief.tools is None
    assert len(shown.replace(DAYS, "")) + len(json.dumps(brief.schema)) < 350 * 5


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ({**RIGHT, "answers": ["Friday"]}, "few_answers"),
        ({**RIGHT, "kind": "yes_no", "answers": ["Yes", "No"]}, "no_choice"),
        ({**RIGHT, "answers": [DAYS]}, "echo"),
        ("I would release on Friday, because Monday is a holiday.", "unreadable"),
        ("I'm sorry, but I can't help with that.", "refused"),
        ("", "unreadable"),
        ({"kind": "question"}, "unreadable"),
        (NoAnswer(reason="refused", usage=COST), "refused"),
        (NoAnswer(reason="unreachable"), "failed"),
        (NoAnswer(reason="rejected_key"), "failed"),
        (RuntimeError("broken"), "failed"),
    ],
)
def test_a_framing_that_fails_costs_one_call_and_stops_nothing(
    tmp_path: Path, said: object, fault: str
) -> None:
    """Q-1: the session runs without, and the record says so."""
    model = Model(said)
    opened = open_one(tmp_path, model)
    assert len(model.framed) == 1
    assert opened.framing is not None
    assert opened.framing.fault == fault
    assert opened.subject.options == ()
    # What code alone makes of it: a question that asks which, of answers that it does not know.
    assert opened.frame is None or opened.frame.made_by == "moot"
    assert "not used: " in describe_framing(opened)[-1]


def test_a_model_that_is_slow_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Q-1: the call has a deadline of its own."""
    monkeypatch.setattr(framing, "FRAME_SECONDS", 0.05)
    opened = open_one(tmp_path, Model(waits=30.0))
    assert opened.framing is not None
    assert opened.framing.fault == "late"


@pytest.mark.parametrize(
    ("topic", "options"),
    [
        ("Postgres or a document database for a small clinic?", {}),
        ("Should we ship?", {}),
        ("How many desks do we need?", {}),
        ("Write a plan for the move.", {}),
        ("x" * 5_000, {}),
        (DAYS, {"frame": "off"}),
        (DAYS, {"kind": "open"}),
        (DAYS, {"options": ["Friday", "Monday"]}),
        (DAYS, {"seats": {"ada": "mailbox", "bob": "mailbox"}}),
    ],
    ids=["choice", "yes-no", "number", "task", "long", "off", "kind", "options", "agents"],
)
def test_nobody_is_asked_where_it_is_known_or_no_model_sits(
    tmp_path: Path, topic: str, options: dict[str, Any]
) -> None:
    """Q-1: from the options, by code, or by code alone where Moot runs no model."""
    model = Model()
    opened = open_one(tmp_path, model, topic, **options)
    assert model.asked == []
    assert opened.framing is None


@pytest.mark.parametrize("protocol", ["review", "pipeline", "consultation"])
def test_protocols_that_refuse_a_frame_ask_nobody(tmp_path: Path, protocol: str) -> None:
    """Q-1: by their plugin."""
    from moothall.app.framing import find_framer, is_framed
    from moothall.app.protocols import get_protocol

    plugin = get_protocol(protocol)
    assert not is_framed(plugin)
    opened = open_one(tmp_path, Model(), frame="off")
    assert run(tmp_path, Model(), partial(_find_framer_of, opened, plugin, find_framer)) is None


async def _find_framer_of(opened: Opened, plugin: Any, find: Any, moot: Moot) -> object:
    return find(opened, plugin, {}, moot.seating)


def test_functions_and_people_are_not_asked(tmp_path: Path) -> None:
    asked: list[str] = []

    def note(brief: Brief) -> object:
        asked.append(brief.form.kind)
        return ""

    seats = {"ada": "mine", "bob": "mailbox"}
    opened = run(tmp_path, Model(), lambda moot: open_session(moot, seats=seats), mine=note)
    assert opened.framing is None
    assert asked == []


def test_a_plan_asks_nobody_and_counts_the_call(tmp_path: Path) -> None:
    """Q-1: a dry run shows who will be asked, and the price."""
    from moothall.app.estimates import estimate_session

    model = Model()

    async def plan(moot: Moot) -> None:
        planned = await moot.plan_session(
            DAYS, protocol="debate", seats={"ada": "oracle", "bob": "mailbox"}
        )
        assert planned.framer is not None
        assert planned.framer.id == "ada"
        kinds = moot.seating.kinds
        with_call = estimate_session(planned.opened, kinds, planned.framer)
        without = estimate_session(planned.opened, kinds)
        assert with_call.tokens.most >= without.tokens.most

    run(tmp_path, model, plan)
    assert model.asked == []


def test_who_denies_what_the_question_takes_for_granted_says_none_of_these(tmp_path: Path) -> None:
    """Q-1: it is asked with the choice, and the objection is counted."""
    model = Model()
    shown: list[str] = []

    def object_to_it(brief: Brief) -> object:
        shown.append(build_user_prompt(brief))
        own = {"choice": "none of these", "own_choice": "it is not ready"}
        return speak(lambda _: own, "It is not ready.")(brief)

    seats = {"ada": "oracle", "bob": "mine", "cy": "oracle"}
    decision = run(
        tmp_path,
        model,
        lambda moot: moot.hold(DAYS, protocol="debate", seats=seats),
        mine=object_to_it,
    )
    assert (
        "if it is false, choose none of these and say so:\n| That the release is ready." in shown[0]
    )
    assert [(each.seat, each.said) for each in decision.objections] == [("bob", "it is not ready")]


def test_who_sees_the_frame_before_the_session_opens_pays_once(tmp_path: Path) -> None:
    """Q-1: the page shows it; opening asks nobody again, and the cost is counted with the session."""
    model = Model()
    seats = {"ada": "oracle", "bob": "mailbox", "cy": "mailbox"}

    async def work(moot: Moot) -> tuple[Opened, Opened, Opened]:
        planned = await moot.plan_session(DAYS, protocol="debate", seats=seats)
        framed = await frame_planned(moot, planned)
        assert framed.opened.framing is not None
        again = await moot.plan_session(DAYS, protocol="debate", seats=seats)
        assert again.framer is None
        assert again.opened.frame == framed.opened.frame
        taken = await open_session(moot, seats=seats)
        # Of another session of the same question the model is asked anew, and its opener may say otherwise.
        await frame_planned(moot, await moot.plan_session(DAYS, protocol="debate", seats=seats))
        changed = await open_session(moot, seats=seats, options=["Friday", "never"])
        plain = await open_session(moot, seats=seats, options=["Friday", "never"])
        return taken, changed, plain

    taken, changed, plain = run(tmp_path, model, work)
    assert len(model.framed) == 2
    assert taken.framing is not None
    assert taken.framing.usage == COST
    assert changed.frame is not None
    assert (changed.frame.made_by, changed.frame.answers) == ("opener", ("Friday", "never"))
    assert changed.framing is not None
    assert changed.framing.usage == COST
    assert plain.framing is None


def test_a_meeting_with_a_framed_question_decides_one_of_its_answers(tmp_path: Path) -> None:
    """Q-1, Q-2: and the call is counted with the session."""
    model = Model()
    seats = {"ada": "oracle", "bob": "oracle"}
    decision = run(tmp_path, model, lambda moot: moot.hold(DAYS, protocol="debate", seats=seats))
    assert decision.choice == "Friday"
    assert decision.spent.calls == COST.calls
    assert decision.spent.cost == COST.cost
    assert decision.frame is not None
    assert decision.frame.assumes == "That the release is ready."


def test_what_cannot_sit_is_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    model = Model()
    with pytest.raises(ProviderRefused):
        open_one(tmp_path, model, seats={"ada": "oracle", "bob": "openai:gpt-5"})
    assert model.asked == []
