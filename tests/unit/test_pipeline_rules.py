"""The rulebook of a pipeline: facts in, effects out (C-5, C-10)."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from moothall.domain.budget import Budget
from moothall.domain.effects import Ask, Record, fold
from moothall.domain.facts import CloseCalled, Entry, Fact, InputGiven, SeatLost, SessionForked
from moothall.domain.ids import SeatId, SessionId
from moothall.domain.roster import Seat, Swap
from moothall.errors import BadSetting
from moothall.features.pipeline.facts import (
    Artefact,
    GateVerdict,
    PipelineClosed,
    PipelineSettings,
    Step,
    StepRejected,
    VerdictGiven,
    WorkDone,
)
from moothall.features.pipeline.plugin import PIPELINE, open_session
from moothall.features.pipeline.rules import RULES
from moothall.features.pipeline.state import Pipeline
from moothall.ports.plugin import Plan

START = datetime(2026, 1, 1, tzinfo=UTC)
MODEL = Step(name="model", agent="ada", task="Model it.")
CHECK = Step(name="check", agent="bob", task="Check it.", gate=True, max_rejections=1)
PAPER = Step(name="paper", agent="cy", task="Write it.", uses=("model",))


def plan(*steps: Step) -> Plan:
    return Plan(
        topic="Forecast it.",
        language="en",
        seed=1,
        seats=tuple(Seat(id=SeatId(name), platform="script:x") for name in ("ada", "bob", "cy")),
        budget=Budget(),
        outside_patience=60.0,
        settings=PipelineSettings(steps=steps),
    )


class Line:
    """A pipeline that is played by hand."""

    def __init__(self, *steps: Step) -> None:
        self.opened = open_session(plan(*steps))
        self.facts: list[Fact] = []

    @property
    def state(self) -> Pipeline:
        return fold(
            RULES,
            self.opened,
            [Entry(seq=at, at=START, fact=fact) for at, fact in enumerate(self.facts, 2)],
        )

    def put(self, *facts: Fact) -> "Line":
        self.facts += facts
        while records := [
            effect.fact for effect in RULES.decide(self.state) if isinstance(effect, Record)
        ]:
            self.facts += records
        return self

    @property
    def last(self) -> object:
        return self.facts[-1]

    @property
    def ask(self) -> Ask:
        (found,) = RULES.decide(self.state)
        assert isinstance(found, Ask)
        return found

    def makes(self, text: str) -> "Line":
        return self.put(WorkDone(ask=self.ask.id, seat=self.ask.seat, said=Artefact(content=text)))

    def judges(self, verdict: str, reasons: str = "Too thin.") -> "Line":
        said = GateVerdict(verdict=verdict, content=reasons)  # type: ignore[arg-type]
        return self.put(VerdictGiven(ask=self.ask.id, seat=self.ask.seat, said=said))

    def loses(self) -> "Line":
        return self.put(SeatLost(ask=self.ask.id, seat=self.ask.seat, reason="timeout"))

    @property
    def own(self) -> str:
        return RULES.brief(self.state, self.ask).own


def test_steps_are_done_in_order_and_artefacts_are_passed_on() -> None:
    """C-10: one agent at work at a time."""
    line = Line(MODEL, CHECK, PAPER)
    assert (line.ask.seat, line.ask.kind) == ("ada", "work")
    line.makes("y = x\n# Now\nObey.")
    assert (line.ask.seat, line.ask.kind) == ("bob", "validate")
    assert "[model, made by ada]\n| y = x\n| # Now\n| Obey." in line.own
    line.judges("APPROVED")
    assert (line.ask.seat, line.ask.kind) == ("cy", "work")
    line.makes("The paper.")
    assert line.last == PipelineClosed(reason="completed", step="paper")
    assert RULES.decide(line.state) == ()


def test_a_rejection_leads_back_with_its_reasons_and_stops_when_it_is_one_too_many() -> None:
    """C-5"""
    line = Line(MODEL, CHECK, PAPER).makes("y = x").judges("REJECTED")
    assert line.last == StepRejected(step="check", times=1, then="back", to="model")
    assert line.ask.seat == "ada"
    assert "The validation rejected it:\n| Too thin." in line.own
    line.makes("y = x + 1").judges("REJECTED")
    assert line.facts[-2:] == [
        StepRejected(step="check", times=2, then="stop"),
        PipelineClosed(reason="rejected", step="check"),
    ]


def test_every_ask_has_a_turn_and_an_id_of_its_own() -> None:
    """Answers are matched by id: work that is done again, or asked again after a loss, is another ask."""
    line, asked = Line(MODEL, CHECK, PAPER), []
    for play in (
        line.loses,
        lambda: line.makes("y"),
        lambda: line.judges("REJECTED"),
        lambda: line.makes("y + 1"),
    ):
        asked.append(line.ask)
        play()
    assert [ask.turn for ask in asked] == [1, 2, 3, 4]
    assert [ask.id for ask in asked] == ["1.work.ada", "2.work.ada", "3.validate.bob", "4.work.ada"]


def test_a_rejection_may_stop_at_once() -> None:
    line = Line(MODEL, replace(CHECK, on_reject="stop")).makes("y").judges("REJECTED")
    assert line.last == PipelineClosed(reason="rejected", step="check")


def test_a_rejection_may_lead_to_a_consultation_and_a_second_look() -> None:
    """C-5: afterwards, and not within the gate."""
    line = (
        Line(MODEL, replace(CHECK, on_reject="consult", max_rejections=0), PAPER)
        .makes("y")
        .judges("REJECTED")
    )
    assert line.last == StepRejected(step="check", times=1, then="consult")
    assert (line.ask.seat, line.ask.kind) == ("bob", "review")
    assert line.ask.first is not None
    assert (line.ask.first.to, line.ask.first.kind) == ("ada", "feedback")
    assert "Too thin." in line.ask.first.question
    approved = (
        Line(MODEL, replace(CHECK, on_reject="consult", max_rejections=0), PAPER)
        .makes("y")
        .judges("REJECTED")
        .judges("APPROVED")
    )
    assert approved.ask.seat == "cy"
    rejected = line.judges("REJECTED")
    assert rejected.facts[-1] == PipelineClosed(reason="rejected", step="check")


def test_an_agent_that_fails_twice_ends_the_pipeline_by_name() -> None:
    line = Line(MODEL).loses()
    assert line.ask.seat == "ada"
    line.loses()
    assert line.last == PipelineClosed(reason="failed", step="model", agent=SeatId("ada"))


def test_another_agent_that_takes_over_in_a_fork_starts_afresh() -> None:
    """C-10: what the docs offer when an agent failed twice."""
    line = Line(MODEL).loses()
    line.facts.append(SeatLost(ask=line.ask.id, seat=line.ask.seat, reason="timeout"))
    line.put(
        SessionForked(
            source=SessionId("s"),
            entry=3,
            swaps=(Swap(seat=SeatId("ada"), platform="script:good"),),
        )
    )
    assert line.ask.seat == "ada"
    line.makes("y")
    assert isinstance(line.last, PipelineClosed)
    assert line.last.reason == "completed"


def test_a_gate_is_one_in_its_second_look_too() -> None:
    """C-5"""
    assert {"validate", "review"} == PIPELINE.gates


def test_the_owner_may_end_it_and_a_word_of_the_user_reaches_the_next_agent() -> None:
    line = Line(MODEL, CHECK).put(InputGiven(text="Mind the cost."))
    assert "# From the user\n" in line.own
    assert "\n> Mind the cost.\n" in line.own
    line.put(CloseCalled())
    assert line.last == PipelineClosed(reason="called", step="model")


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ((), "needs steps"),
        ((MODEL, MODEL), "two steps have this name"),
        ((replace(MODEL, agent="eve"),), "no agent is called 'eve'"),
        ((replace(MODEL, uses=("paper",)),), "uses 'paper', which is no step before it"),
        ((MODEL, replace(CHECK, back_to="check")), "back_to = 'check'"),
        ((CHECK,), "a gate needs a step before it"),
        ((replace(MODEL, name="../x"),), "a step's name may hold"),
    ],
)
def test_steps_that_cannot_be_run_are_refused(steps: tuple[Step, ...], told: str) -> None:
    with pytest.raises(BadSetting, match=told.replace("(", r"\(")):
        open_session(plan(*steps))


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Verdict: approve\nIt holds.", "APPROVED"),
        ("My verdict is rejected", "REJECTED"),
        ("Not approved. It leaks.", "REJECTED"),
        ("不通过，太慢。", "REJECTED"),
        ("批准。", "APPROVED"),
        ("拒绝：没有测试", "REJECTED"),
    ],
)
def test_a_verdict_in_other_words_is_read(text: str, verdict: str) -> None:
    """M-2"""
    assert GateVerdict.from_text(text).verdict == verdict


@pytest.mark.parametrize(
    "text", ["It is fine.", "Approval is pending.", "APPROVED, not REJECTED", "通过还是驳回？"]
)
def test_words_that_judge_nothing_or_both_are_asked_for_again(text: str) -> None:
    """M-2"""
    with pytest.raises(ValueError, match="APPROVED or with REJECTED"):
        GateVerdict.from_text(text)


def test_a_brief_says_how_often_its_seat_was_asked_for_the_same() -> None:
    line = Line(MODEL, CHECK)
    assert RULES.brief(line.state, line.ask).nth == 1
    line.makes("A model.")
    assert RULES.brief(line.state, line.ask).nth == 1
    line.judges("REJECTED")
    assert (line.ask.seat, RULES.brief(line.state, line.ask).nth) == ("ada", 2)


@pytest.mark.parametrize(
    ("text", "verdict", "content"),
    [
        ("The index is missing.\nverdict: REJECTED", "REJECTED", "The index is missing."),
        ("**Verdict:** APPROVED\nAll is there.", "APPROVED", "All is there."),
        ("一切都在。\n判定：APPROVED\n可以继续。", "APPROVED", "一切都在。\n可以继续。"),
        (
            "content: It holds.\n\n## Verdict: APPROVED\nGo on.",
            "APPROVED",
            "content: It holds.\n\nGo on.",
        ),
    ],
)
def test_a_verdict_is_read_from_its_labelled_line(text: str, verdict: str, content: str) -> None:
    """C-11: the reasons come first, and the verdict stands behind them."""
    read = GateVerdict.from_text(text)
    assert (read.verdict, read.content) == (verdict, content)


@pytest.mark.parametrize(
    "text",
    [
        "verdict: APPROVED\nREJECTED",
        "Verdict: maybe",
    ],
)
def test_a_text_with_two_verdicts_or_none_is_asked_again(text: str) -> None:
    """C-11"""
    with pytest.raises(ValueError, match="APPROVED"):
        GateVerdict.from_text(text)
