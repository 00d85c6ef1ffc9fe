"""The user's later words in pipelines, reviews, conferences and swarms (Q-8): read by all, answered, and votes put once more."""

from typing import Any

import pytest
from tests.support.play_roundtable import ConferenceRun, build_seat
from tests.support.play_swarm import SwarmRun, build_swarm_plan
from tests.support.swarm_scenes import CACHE, explorer
from tests.unit.test_pipeline_rules import CHECK, MODEL, PAPER, Line
from tests.unit.test_pipeline_views import _tell
from tests.unit.test_review_rules import QUERY, Board

from moothall.domain.effects import Ask
from moothall.domain.facts import InputGiven
from moothall.domain.topic import UserReply, drop_replies, read_replies
from moothall.features.pipeline.facts import PipelineClosed
from moothall.features.pipeline.timeline import build_decision as decide_pipeline
from moothall.features.review.facts import FindingsReport
from moothall.features.review.rules import RULES
from moothall.features.roundtable.facts import RoundtableSettings
from moothall.features.roundtable.plugin import ROUNDTABLE
from moothall.protocols.swarm.answers import Synthesis
from moothall.protocols.swarm.reports.decision import build_decision as decide_swarm
from moothall.protocols.swarm.reports.report import build_swarm_report
from moothall.protocols.swarm.rules.rulebook import RULES as SWARM
from moothall.reports.plain_text import render_markdown

WORD = "Mind the cost."
SECTION = f"# From the user\nSaid since; it counts for what you are asked now.\n[#1]\n> {WORD}\n\n"


# Pipelines


def test_every_later_step_of_a_pipeline_reads_the_users_word() -> None:
    """Q-8: it was read by nobody once the step under way had ended."""
    line = Line(MODEL, CHECK, PAPER).put(InputGiven(text=WORD))
    assert line.own.startswith(SECTION)
    line.makes("y = x")
    assert line.own.startswith(SECTION)
    line.judges("APPROVED")
    assert line.own.startswith(SECTION)
    assert "write a line `[ANSWER #NUMBER] …`" in line.own


def test_the_last_step_of_a_pipeline_answers_the_user_beside_its_artefact() -> None:
    """Q-8: what it answers is no part of what it makes."""
    line = Line(MODEL, CHECK, PAPER).put(InputGiven(text=WORD)).makes("y = x").judges("APPROVED")
    line.makes("# The paper\n\n[ANSWER #1] It costs nothing.")
    assert line.last == PipelineClosed(reason="completed", step="paper")
    decision = decide_pipeline(_tell(line))
    assert decision.decision is not None
    assert decision.decision.text == "# The paper"
    assert [(each.asked, each.answer) for each in decision.answers] == [(WORD, "It costs nothing.")]


def test_a_result_that_says_nothing_to_the_user_says_so() -> None:
    """Q-8"""
    line = Line(MODEL).put(InputGiven(text=WORD)).makes("y = x")
    decision = decide_pipeline(_tell(line))
    assert [each.answer for each in decision.answers] == [None]
    assert decision.reservations[0] == "you_unanswered"


@pytest.mark.parametrize(("steps", "is_again"), [((MODEL, CHECK), True), ((MODEL, PAPER), False)])
def test_a_verdict_that_is_out_is_asked_for_once_more(
    steps: tuple[Any, ...], *, is_again: bool
) -> None:
    """Q-8: the gate has not read it; a step that others follow goes on, and they read it."""
    line = Line(*steps)
    if is_again:
        line.makes("y = x")
    before = line.ask
    line.put(InputGiven(text=WORD))
    assert (line.ask.id != before.id) is is_again
    assert (line.ask.seat, line.ask.kind) == (before.seat, before.kind)
    again = line.ask.id
    line.put(InputGiven(text="And hurry."))
    assert line.ask.id == again


# Reviews


def test_words_on_findings_that_are_out_are_asked_for_once_more() -> None:
    """Q-8: also of who has answered; who is lost then keeps its first word."""
    board = Board("ada", "bob", "cy").raises(ada=(QUERY,), bob=(), cy=())
    first = {seat: ask.id for seat, ask in board.asks.items()}
    assert set(first) == {"bob", "cy"}
    board.stands(bob=((1, "dispute", "It is quoted."),)).put(InputGiven(text=WORD))
    again = board.asks
    assert set(again) == {"bob", "cy"}
    assert not {ask.id for ask in again.values()} & {*first.values()}
    for ask in again.values():
        brief = RULES.brief(board.state, ask)
        assert brief.own.startswith(SECTION)
        assert "to_user: a sentence to each of the user's #1." in brief.own
    board.loses("bob").stands(cy=((1, "confirm", "It is not."),))
    assert {seat: each.stand for seat, each in board.state.stands[1].items()} == {
        "ada": "confirm",
        "bob": "dispute",
        "cy": "confirm",
    }


def test_the_last_part_is_inspected_once_more_and_every_later_ask_has_the_users_word() -> None:
    """Q-8: a change in which nobody finds anything is approved by what all have read."""
    board = Board("ada", "bob", "cy").raises(ada=(QUERY,)).put(InputGiven(text=WORD))
    assert set(board.asks) == {"ada", "bob", "cy"}
    assert board.state.raised == ()
    reply = (UserReply(input=1, text="It costs a minute."),)
    board.put(board.reply("ada", FindingsReport(findings=(), to_user=reply)))
    board.raises(bob=(), cy=())
    decision = board.decision
    assert decision.choice == "approve"
    assert [(each.asked, each.answer) for each in decision.answers] == [
        (WORD, "ada: It costs a minute.")
    ]


# Conferences


def test_minutes_that_are_out_are_asked_for_once_more_and_answer_the_user() -> None:
    """Q-8, R-13"""
    run = ConferenceRun(build_seat("ada"), settings=RoundtableSettings(max_rounds=1)).says("Yes.")
    before = run.ask.id
    run.give_input(WORD)
    assert run.ask.id != before
    again = run.ask.id
    assert run.give_input("And hurry.").ask.id == again
    minutes = (
        "## Summary\nThey met.\n## Consensus reached\nShip it.\n[ANSWER #1] It is cheap.\n"
        "## Disagreements left open\nNone.\n## Action items\nNone."
    )
    decision = ROUNDTABLE.decision(run.write_minutes(minutes).timeline)
    assert decision.decision is not None
    assert decision.decision.text == "Ship it."
    assert [each.answer for each in decision.answers] == ["It is cheap.", None]


# Swarms


def test_ballots_that_are_out_are_put_once_more_and_the_users_word_is_in_the_minutes() -> None:
    """Q-8, S-29: it was not listed at all."""
    run = SwarmRun(build_swarm_plan(3, max_rounds=2, min_rounds=1))
    says = explorer(CACHE)
    run.play(says, until=lambda state: state.stage == "vote")
    first = [effect for effect in SWARM.decide(run.state) if isinstance(effect, Ask)]
    assert {ask.kind for ask in first} == {"ballot"}
    run.step(run._build_fact(first[0], says))
    run.step(InputGiven(text=WORD))
    asks = [effect for effect in SWARM.decide(run.state) if isinstance(effect, Ask)]
    assert [ask.seat for ask in asks] == [ask.seat for ask in first]
    assert not {ask.id for ask in asks} & {ask.id for ask in first}
    for ask in asks:
        own = SWARM.brief(run.state, ask).own
        assert own.startswith(SECTION)
        assert "to_user: a sentence to each of the user's #1." in own
    run.play(says)
    decision = decide_swarm(run.timeline)
    assert [(each.asked, each.answer) for each in decision.answers] == [(WORD, None)]
    assert WORD in render_markdown(build_swarm_report(run.timeline))
    assert any(WORD in line for _, line in run.timeline.event_lines)


def test_a_synthesis_answers_the_user() -> None:
    """Q-8, S-33"""

    def says(ask: Ask, brief: Any, state: Any) -> object:
        if ask.kind == "synthesis":
            assert brief.own.startswith(SECTION)
            assert "write a line `[ANSWER #NUMBER] …`" in brief.own
            return Synthesis(content="All in all: cache.\n[ANSWER #1] A cache is cheap.")
        return explorer(CACHE)(ask, brief, state)

    run = SwarmRun(build_swarm_plan(3, mode="classic", synthesis="always", vote=False))
    run.step()
    run.step(InputGiven(text=WORD))
    run.play(says)
    decision = decide_swarm(run.timeline)
    assert decision.decision is not None
    assert decision.decision.text == "All in all: cache."
    assert [each.answer for each in decision.answers] == ["A cache is cheap."]


# How a text answers


@pytest.mark.parametrize(
    ("text", "replies"),
    [
        ("[ANSWER #2] Yes.", ((2, "Yes."),)),
        ("**[answer 2]**: Yes.", ((2, "Yes."),)),
        ("- 【答复 ＃3】 好的。\n[ANSWER #1] No.", ((3, "好的。"), (1, "No."))),
        ("The [ANSWER #2] is yes.", ()),
        ("[ANSWER #0] Yes.", ()),
        ("[ANSWER #2]", ()),
    ],
)
def test_a_line_answers_an_input(text: str, replies: tuple[tuple[int, str], ...]) -> None:
    """Q-8"""
    read = tuple((each.input, each.text) for each in read_replies(text))
    assert read == replies
    assert UserReply(input=1, text="x") not in read_replies(text)


def test_a_text_that_only_answers_stays() -> None:
    assert drop_replies("[ANSWER #1] Yes.") == "[ANSWER #1] Yes."
    assert drop_replies("Ship it.\n[ANSWER #1] Yes.") == "Ship it."
