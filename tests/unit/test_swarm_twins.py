"""Twins among the first ideas are put to the judge once more before the close, and pooled with their readings (S-38)."""

from typing import Any

import pytest
from tests.support.judging import read_pairs
from tests.support.play_swarm import SwarmRun, build_swarm_plan

from moothall.domain.effects import Ask, Brief
from moothall.domain.groups import AnswerJudgement, AnswerJudgements, PairVerdict
from moothall.protocols.swarm.answers import (
    AnswerVote,
    Collision,
    RoundReport,
    StatedIdea,
    SwarmBallot,
)
from moothall.protocols.swarm.facts import SwarmCompleted, TwinsPooled
from moothall.protocols.swarm.plugin import SWARM
from moothall.protocols.swarm.reports.standing import build_standing
from moothall.protocols.swarm.rules.twins import FIRST
from moothall.protocols.swarm.state import Swarm

CAFE, DRINKS, BOOKS = "Open a café in it.", "Serve drinks at tables.", "Buy more books."


class Library:
    """Three seats that see the café, two that say the same in other words, two that see the books; a judge that sees twins late.

    In the rounds it finds all ideas different. `late` is what it says of the twins before the close, in each order.
    """

    def __init__(self, *late: PairVerdict) -> None:
        self._late = [*late]
        self.pooled: list[tuple[str, str]] = []

    def __call__(self, ask: Ask, brief: Brief, state: Swarm) -> object:
        match ask.kind:
            case "explore":
                at = state.explorers.index(ask.seat)
                idea = CAFE if at < 3 else DRINKS if at < 5 else BOOKS
                finding = StatedIdea(core_idea=idea, details=f"Seen by {ask.seat}.", rating=0.8)
                return brief.normalize(RoundReport(findings=(finding,)))[0]
            case "judge":
                return self._judge(brief, state)
            case "ballot":
                return self._vote(ask, brief, state)
            case "collide":
                return Collision(action="pass")
            case _:
                return NotImplemented

    def _judge(self, brief: Brief, state: Swarm) -> AnswerJudgements | None:
        is_close = state.stage == "pool"
        if is_close and not (self._late or self.pooled):
            return None
        judged: list[AnswerJudgement] = []
        for at, pair in enumerate(read_pairs(brief), 1):
            texts = [text.split(" — ")[0] for text in pair]
            verdict: PairVerdict = "different"
            if is_close:
                self.pooled.append((texts[0], texts[1]))
            if is_close and set(texts) == {CAFE, DRINKS}:
                verdict = self._late.pop(0)
            judged.append(AnswerJudgement(pair=at, verdict=verdict, reason="Both sell drinks."))
        return AnswerJudgements(judgements=tuple(judged))

    def _vote(self, ask: Ask, brief: Brief, state: Swarm) -> SwarmBallot:
        assert brief.schema is not None
        numbers = brief.schema["properties"]["votes"]["items"]["properties"]["answer"]["enum"]
        at = state.explorers.index(ask.seat)
        votes = []
        for number in numbers:
            is_own = (state.board.ideas[number].text == BOOKS) == (at >= 5)
            votes.append(
                AnswerVote(answer=number, position="abstain", rating=0.8 if is_own else 0.3)
            )
        return SwarmBallot(votes=tuple(votes))


def play(library: Library, **chosen: Any) -> SwarmRun:
    plan = build_swarm_plan(
        7, platform="openai:m", **{"max_rounds": 2, "pool_twins": True, **chosen}
    )
    return SwarmRun(plan).play(library)


def test_twins_among_the_first_ideas_are_pooled_before_the_ballot() -> None:
    """S-38: their readers are one idea's, the ballot has it once, and the report says why."""
    library = Library("same", "same")
    run = play(library)
    (pooled,) = run.facts(TwinsPooled)
    assert [(each.text, each.idea, each.why) for each in pooled.placed] == [
        (DRINKS, 1, "Both sell drinks.")
    ]
    assert library.pooled.count((CAFE, DRINKS)) == library.pooled.count((DRINKS, CAFE)) == 1
    assert run.state.board.ideas[1].text == CAFE
    assert set(run.state.group_holders(run.state.agents)[1]) == set(run.state.explorers[:5])
    (done,) = run.facts(SwarmCompleted)
    assert {each.answer for each in done.choice.ranked} == {"idea-1", "idea-3"}
    assert done.choice.ranked[0].readers == 5
    join = run.timeline.joins[-1]
    assert join.placed.text == DRINKS
    assert DRINKS in SWARM.export(run.timeline, "minutes").split("## ")[
        -1
    ] or DRINKS in SWARM.export(run.timeline, "minutes")
    undone = build_standing(run.timeline, (join.id,))
    assert {idea.text for idea in undone.ideas} == {CAFE, DRINKS, BOOKS}


@pytest.mark.parametrize(
    "late",
    [
        (),
        ("same", "different", "same", "different"),
        ("different",),
        ("opposite", "opposite"),
        ("same", "opposite", "opposite", "same"),
    ],
)
def test_ideas_stay_apart_unless_both_orders_say_that_they_are_one(
    late: tuple[PairVerdict, ...],
) -> None:
    """S-38: a judge that is lost, or says one thing in one order alone, joins nothing."""
    run = play(Library(*late))
    (pooled,) = run.facts(TwinsPooled)
    assert pooled.placed == ()
    assert {idea.text for idea in run.state.board.ideas.values()} == {CAFE, DRINKS, BOOKS}


def test_each_pair_of_the_first_ideas_is_asked_about_and_in_the_other_order_where_it_may_be_one() -> (
    None
):
    """S-38, Q-3"""
    library = Library("same", "same")
    run = play(library)
    assert len(run.state.board.ideas) <= FIRST
    first, second = library.pooled[:3], library.pooled[3:]
    assert {frozenset(pair) for pair in first} == {
        frozenset((CAFE, DRINKS)),
        frozenset((CAFE, BOOKS)),
        frozenset((DRINKS, BOOKS)),
    }
    assert second == [(other, one) for one, other in first if {one, other} == {CAFE, DRINKS}]


@pytest.mark.parametrize("more", [{"judge": ""}, {"mode": "classic"}, {"pool_twins": False}])
def test_without_a_judge_or_a_ballot_nothing_is_pooled(more: dict[str, Any]) -> None:
    assert play(Library("same", "same"), **more).facts(TwinsPooled) == []
