"""Twins among the first ideas are put to the judge once more before the close, and pooled with their readings (S-38)."""

from typing import Any

import pytest
from tests.support.play_swarm import SwarmRun, build_swarm_plan

from moothall.domain.effects import Ask, Brief
from moothall.protocols.swarm.answers import (
    AnswerVote,
    Collision,
    IdeaJudgements,
    PairJudgement,
    PairVerdict,
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
        self._late = late
        self.pooled = 0

    def __call__(self, ask: Ask, brief: Brief, state: Swarm) -> object:
        match ask.kind:
            case "explore":
                at = state.explorers.index(ask.seat)
                idea = CAFE if at < 3 else DRINKS if at < 5 else BOOKS
                finding = StatedIdea(core_idea=idea, details=f"Seen by {ask.seat}.", rating=0.8)
                return brief.normalize(RoundReport(findings=(finding,)))[0]
            case "judge":
                return self._judge(state)
            case "ballot":
                return self._vote(ask, brief, state)
            case "collide":
                return Collision(action="pass")
            case _:
                return NotImplemented

    def _judge(self, state: Swarm) -> IdeaJudgements | None:
        is_close = state.stage == "pool"
        if is_close and not self._late:
            return None
        late = iter(self._late)
        judged = []
        for at, pair in enumerate(state.review.pairs, 1):
            texts = {state.review.texts[pair.one], state.review.texts[pair.other]}
            verdict: PairVerdict = "different"
            if is_close and texts == {CAFE, DRINKS}:
                verdict = next(late)
            judged.append(PairJudgement(pair=at, verdict=verdict, reason="Both sell drinks."))
        self.pooled += is_close
        return IdeaJudgements(judgements=tuple(judged))

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
    assert library.pooled == 1
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
    "late", [(), ("same", "different"), ("different", "same"), ("opposite", "opposite")]
)
def test_ideas_stay_apart_unless_both_orders_say_that_they_are_one(
    late: tuple[PairVerdict, ...],
) -> None:
    """S-38: a judge that is lost, or says one thing in one order alone, joins nothing."""
    run = play(Library(*late))
    (pooled,) = run.facts(TwinsPooled)
    assert pooled.placed == ()
    assert {idea.text for idea in run.state.board.ideas.values()} == {CAFE, DRINKS, BOOKS}


def test_each_pair_of_the_first_ideas_is_asked_about_in_both_orders() -> None:
    pairs: list[tuple[str, str]] = []

    class Listing(Library):
        def _judge(self, state: Swarm) -> IdeaJudgements | None:
            if state.stage == "pool":
                assert len(state.review.texts) <= FIRST
                for pair in state.review.pairs:
                    pairs.append((state.review.texts[pair.one], state.review.texts[pair.other]))
            return super()._judge(state)

    play(Listing("same", "same"))
    assert len(pairs) == 6
    assert {(other, one) for one, other in pairs} == set(pairs)


@pytest.mark.parametrize("more", [{"judge": ""}, {"mode": "classic"}, {"pool_twins": False}])
def test_without_a_judge_or_a_ballot_nothing_is_pooled(more: dict[str, Any]) -> None:
    assert play(Library("same", "same"), **more).facts(TwinsPooled) == []
