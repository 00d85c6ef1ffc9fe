"""What a swarm answers, among liars, silent seats and several spellings: ideas and options, never the label of a direction."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from bench.swarm.settlement import CREWS, SpeechCase, play_spoken, render_sureness
from tests.support.play_swarm import SwarmRun, build_deposit, build_swarm_plan, build_valid_report

from moothall.domain.effects import AnswerRules, Ask, Brief
from moothall.domain.groups import AnswerJudgement, AnswerJudgements
from moothall.domain.topic import Topic
from moothall.errors import BadAnswer
from moothall.protocols.swarm.answer_table import FORMS
from moothall.protocols.swarm.answers import (
    AnswerVote,
    Collision,
    SwarmBallot,
)
from moothall.protocols.swarm.facts import RoundBegun, SwarmCompleted
from moothall.protocols.swarm.plugin import SWARM
from moothall.protocols.swarm.reports.decision import build_decision
from moothall.protocols.swarm.reports.standing import build_standing_json
from moothall.protocols.swarm.rules.review import BEST_BACKED, MAX_JUDGED
from moothall.protocols.swarm.state import Swarm
from moothall.reading.answers import read_answer
from moothall.scoring.positions import VotePosition

ANSWERS = {
    "excellent": "No: it invades privacy.",
    "north": "Yes: people want it.",
    "random": "Ask again in a year.",
}
"""What explorers find, by labels that say nothing."""


class Explorers:
    """All seats of a run: each reads the directions in turn, and rates answers by `values`, or as its own entry there says."""

    def __init__(
        self,
        values: Mapping[str, float],
        *,
        own: Mapping[str, Mapping[str, float]] | None = None,
        spelled: Mapping[str, str] | None = None,
    ) -> None:
        self._values, self._own, self._spelled = values, own or {}, spelled or {}

    def __call__(self, ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore":
            label = [*ANSWERS][(state.explorers.index(ask.seat) + state.round) % len(ANSWERS)]
            way = self._spelled.get(f"{label}_{ask.seat}", label)
            return build_valid_report(
                state, ask.seat, way, ANSWERS[label], operations=(build_deposit(way),)
            )
        if ask.kind == "ballot":
            assert brief.schema is not None
            numbers = brief.schema["properties"]["votes"]["items"]["properties"]["answer"]["enum"]
            return SwarmBallot(
                votes=tuple(self._rate(ask.seat, number, state) for number in numbers)
            )
        return Collision(action="pass") if ask.kind == "collide" else NotImplemented

    def _rate(self, seat: str, number: int, state: Swarm) -> AnswerVote:
        options = state.opened.subject.options
        text = (*(idea.text for idea in state.board.ideas.values()), *options)[number - 1]
        label = next(each for each, answer in ANSWERS.items() if text in {each, answer})
        shift = 0.02 * (state.explorers.index(type(state.explorers[0])(seat)) % 3)
        return AnswerVote(
            answer=number,
            rating=self._own.get(seat, self._values)[label]
            + (shift if seat not in self._own else 0),
        )


HONEST = {"excellent": 0.6, "north": 0.45, "random": 0.4}


def play(
    says: Explorers, agents: int = 7, *, options: tuple[str, ...] = (), **chosen: Any
) -> SwarmRun:
    plan = build_swarm_plan(agents, **{"max_rounds": 3, "collisions": 0, **chosen})
    return SwarmRun(replace(plan, subject=Topic(options=options))).play(says)


def test_the_headline_is_the_answer_and_not_the_label_of_its_direction() -> None:
    """S-34: "excellent" is where explorers stood; what they found there is what the swarm says, on every surface."""
    timeline = play(Explorers(HONEST)).timeline
    decision = build_decision(timeline)
    assert (decision.choice, decision.decision and decision.decision.text) == (
        "",
        ANSWERS["excellent"],
    )
    minutes = SWARM.export(timeline, "minutes")
    assert ANSWERS["excellent"] in minutes.split("## Decision\n")[1].split("## ")[0]
    standing = build_standing_json(timeline)
    assert standing["leading"]["text"] == standing["evidence"]["answer"] == ANSWERS["excellent"]


def test_an_option_of_the_question_is_an_answer() -> None:
    """S-34: there ballots rate the options, all of them, and the decision names one."""
    run = play(Explorers(HONEST), options=("excellent", "north", "random"))
    (done,) = run.facts(SwarmCompleted)
    assert done.choice.ranked[0].answer == "excellent"
    assert {each.readers for each in done.choice.ranked} == {7}
    assert build_decision(run.timeline).choice == "excellent"


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("They agree.\n\n[CHOICE] NORTH", "north"),
        ("They agree.\n\n[CHOICE] I choose excellent.", "excellent"),
        ("They agree on nothing.", ""),
        ("They agree.\n\n[CHOICE] south", None),
        ("I choose random.\n\n[CHOICE] north", None),
    ],
)
def test_the_choice_of_a_classic_synthesis_is_one_of_the_options(
    text: str, choice: str | None
) -> None:
    """S-33, M-14: whatever stood behind the mark was the decision's choice; it is asked about once more."""
    inner = Explorers(HONEST)

    class Writing(Explorers):
        def __call__(self, ask: Ask, brief: Brief, state: Swarm) -> object:
            if ask.kind != "synthesis":
                return inner(ask, brief, state)
            try:
                return read_answer(brief, text).said
            except BadAnswer:
                return "malformed"

    run = play(
        Writing(HONEST), 3, options=("excellent", "north", "random"), mode="classic", settle=None
    )
    assert (build_decision(run.timeline).choice or "") == (choice or "")
    assert (run.state.author is None) == (choice is None)


@pytest.mark.parametrize(("liars", "deposits"), [(1, 3), (1, 8), (2, 3)])
def test_liars_do_not_decide_however_often_they_deposit(liars: int, deposits: int) -> None:
    """S-34: one or two of seven that push one answer with all they have, in more and more rounds."""
    lie = {"excellent": 0.0, "north": 1.0, "random": 0.0}
    names = ("TanWei", "SuYuan")[:liars]
    run = play(Explorers(HONEST, own=dict.fromkeys(names, lie)), max_rounds=deposits)
    (done,) = run.facts(SwarmCompleted)
    assert done.choice.answer == ANSWERS["excellent"]
    honest = play(Explorers(HONEST), max_rounds=deposits).facts(SwarmCompleted)[0]
    assert done.choice.sureness < honest.choice.sureness


def test_what_the_readings_do_not_tell_apart_is_said_with_both_names() -> None:
    """S-35: no decision, no missing voices that nobody misses, and the two answers in the first line."""
    sides = {
        "TanWei": {"excellent": 0.9, "north": 0.1, "random": 0.4},
        "SuYuan": {"excellent": 0.1, "north": 0.9, "random": 0.4},
    }
    run = play(Explorers(HONEST, own=sides), agents=2)
    timeline = run.timeline
    decision = build_decision(timeline)
    assert decision.decision is None
    assert not decision.outcome_uncertain
    first = SWARM.export(timeline, "minutes").split("## Decision\n")[1].lstrip().splitlines()[0]
    assert "Not decided between two" in first
    assert ANSWERS["excellent"].rstrip(".") in first
    assert ANSWERS["north"].rstrip(".") in first
    assert build_standing_json(timeline)["evidence"]["isDistinct"] is False


def test_what_decided_is_in_the_report_and_in_the_standing() -> None:
    """S-35: the ranking, the margin, and what it would take to change it."""
    timeline = play(Explorers(HONEST)).timeline
    shown = SWARM.export(timeline, "minutes").split("## What decided")[1].split("\n## ")[0]
    for text in (
        *ANSWERS.values(),
        "Margin",
        "chance that the first is the best of all",
        "would need to come first",
    ):
        assert text in shown
    evidence = build_standing_json(timeline)["evidence"]
    assert evidence["readingsToChange"] >= 1
    assert evidence["margin"] == pytest.approx(
        evidence["ranked"][0]["value"] - evidence["ranked"][1]["value"]
    )
    assert build_decision(timeline).confidence == evidence["sureness"]


def test_missing_voices_are_said_where_voices_are_missing() -> None:
    """S-35: three of four ballots are lost, and so many could have changed it."""
    inner = Explorers(HONEST)

    class Losing(Explorers):
        def __call__(self, ask: Ask, brief: Brief, state: Swarm) -> object:
            return (
                None if ask.kind == "ballot" and ask.seat != "TanWei" else inner(ask, brief, state)
            )

    lost, whole = play(Losing(HONEST), agents=4), play(inner, agents=4)
    assert not build_decision(whole.timeline).outcome_uncertain
    (done,) = lost.facts(SwarmCompleted)
    is_open = done.choice.is_distinct and done.choice.needed is not None and done.choice.needed <= 3
    assert build_decision(lost.timeline).outcome_uncertain == is_open


def test_directions_with_one_idea_are_one_however_they_are_spelled() -> None:
    """S-34: their readings are pooled, and nobody is sent to read the same again under another name."""
    spelled = {f"excellent_{name}": f"superb {name}" for name in ("TanWei", "SuYuan", "DongCha")}
    run = play(Explorers(HONEST, spelled=spelled), agents=4, max_rounds=5, random_exploration=False)
    assert sum(key.startswith("superb") for key in run.state.board.pheromones) == 3
    (done,) = run.facts(SwarmCompleted)
    assert len(done.choice.ranked) == len(ANSWERS)
    assert {each.readers for each in done.choice.ranked} == {4}
    covered = [
        order.recommended
        for fact in run.facts(RoundBegun)[3:]
        for order in fact.orders
        if order.cover
    ]
    assert not any(each.startswith("superb") for each in covered)


def test_the_best_backed_ideas_are_put_to_the_judge_beside_the_nearest() -> None:
    """S-36: a restatement that shares no word with its idea reaches the judge, and joins."""
    popular, restated = (
        "Keep pages in a cache at the edge.",
        "Serve repeated views from memory near customers.",
    )
    others = [f"Number {at} of the small print, and nothing else." for at in range(5)]

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore":
            late = state.round == 2 and ask.seat == "TanWei"
            mine = (
                (restated,)
                if late
                else (popular,)
                if ask.seat in {"TanWei", "SuYuan", "DongCha"}
                else tuple(others)
            )
            return build_valid_report(state, ask.seat, "way", *mine)
        if ask.kind == "judge":
            texts = state.review.texts
            pairs = [{texts[pair.one], texts[pair.other]} for pair in state.review.pairs]
            assert len(pairs) <= MAX_JUDGED
            if state.round == 2:
                assert {popular, restated} in pairs
                assert sum(restated in pair for pair in pairs) <= 3 + BEST_BACKED
            said = (
                AnswerJudgement(
                    pair=at, verdict="same" if pair == {popular, restated} else "different"
                )
                for at, pair in enumerate(pairs, 1)
            )
            return AnswerJudgements(judgements=tuple(said))
        if ask.kind == "ballot":
            return SwarmBallot(votes=(AnswerVote(answer=1, position="support", confidence=0.8),))
        return Collision(action="pass") if ask.kind == "collide" else NotImplemented

    run = SwarmRun(build_swarm_plan(5, max_rounds=2, platform="openai:m")).play(says)
    assert (
        len(
            {
                finding.idea
                for finding in run.state.board.findings
                if finding.core_idea in {popular, restated}
            }
        )
        == 1
    )


@pytest.mark.parametrize("name", list(CREWS))
def test_unkind_crews_are_played_to_the_end_and_say_how_sure_they_are(name: str) -> None:
    """S-34, S-35: the bench has the shares."""
    outcomes = [
        play_spoken(SpeechCase(k=3, rounds=5, noise=0.25, crew=CREWS[name]), seed)
        for seed in (1, 2, 3, 4)
    ]
    assert all(each.sureness is None or 0 <= each.sureness <= 1 for each in outcomes)
    assert sum(each.right for each in outcomes) >= 1
    assert "said %" in render_sureness("how sure", {name: outcomes})


@pytest.mark.parametrize(
    ("vote", "position", "condition"),
    [
        ({"position": "support", "condition": "it is cheap"}, "conditional_support", "it is cheap"),
        ({"position": "support if it is cheap"}, "conditional_support", "it is cheap"),
        (
            {"position": "support if it is cheap", "reason": "fast"},
            "conditional_support",
            "it is cheap",
        ),
        (
            {"position": "conditional_support", "condition": "it is cheap"},
            "conditional_support",
            "it is cheap",
        ),
        ({"position": "support", "condition": "none"}, "support", ""),
        ({"position": "oppose", "condition": "it is cheap"}, "oppose", "it is cheap"),
    ],
)
def test_the_condition_of_a_vote_on_an_idea_is_kept(
    vote: Mapping[str, str], position: VotePosition, condition: str
) -> None:
    """M-2, S-29: without it a conditional support was a plain one."""
    read = read_answer(AnswerRules(form=FORMS["ballot"]), {"votes": [{"answer": 1, **vote}]})
    assert isinstance(read.said, SwarmBallot)
    (said,) = read.said.votes
    assert (said.position, said.condition, said.reason) == (
        position,
        condition,
        vote.get("reason", ""),
    )
