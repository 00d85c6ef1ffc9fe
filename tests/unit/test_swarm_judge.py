"""Near ideas are judged by a mind in one call a round; without one nothing but equal texts is joined (S-31, S-36)."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations
from random import Random
from typing import Any

import pytest
from tests.support.judging import read_pairs
from tests.support.play_swarm import ABSTAINS, SwarmRun, build_swarm_plan, build_valid_report

from moothall.app.moot import Moot
from moothall.domain.effects import Ask, Brief
from moothall.domain.facts import Language
from moothall.domain.groups import AnswerJudgement, AnswerJudgements, PairVerdict
from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.errors import BadSetting
from moothall.protocols.swarm.answers import (
    Collision,
    FindingCheck,
    Validation,
)
from moothall.protocols.swarm.facts import ConvergenceMeasured, IdeasSorted
from moothall.protocols.swarm.plugin import open_session
from moothall.protocols.swarm.reports.files import build_board_json
from moothall.protocols.swarm.reports.standing import (
    build_standing_json,
    compute_what_if,
    replay_rounds,
)
from moothall.protocols.swarm.rules.review import MAX_JUDGED, MAX_SECOND_LOOKS, NEAREST
from moothall.protocols.swarm.state import RoundReview, Swarm
from moothall.reading.schemas import get_own_schema
from moothall_testkit.careless_model import CarelessModel
from moothall_testkit.prompt_size import count_instructions

SAME = (
    "Keep the catalogue in a cache at the edge of the network.",
    "Store catalogue pages close to the reader, so that most requests never reach us.",
    "Serve repeated page views from memory near the customers.",
)
OPPOSITE = "Do not keep the catalogue in a cache at the edge of the network."
OTHER = "Buy machines with faster disks."
TEXTS = {
    "TanWei": SAME[0],
    "SuYuan": SAME[1],
    "DongCha": SAME[2],
    "QiuSuo": OPPOSITE,
    "XiLi": OTHER,
}


Wrong = Mapping[tuple[int, frozenset[str]], PairVerdict]
"""Wrong verdicts, by the round and both texts."""


def find_verdict(one: str, other: str) -> PairVerdict:
    """What somebody who understands both says."""
    if OPPOSITE in (one, other) and {one, other} & set(SAME):
        return "opposite"
    return "same" if {one, other} <= set(SAME) else "different"


class Judge:
    """Answers for all seats; counts what the judge is asked."""

    def __init__(
        self, *, lost: bool = False, left_out: bool = False, wrong: Wrong | None = None
    ) -> None:
        self._lost, self._left_out, self._wrong = lost, left_out, wrong or {}
        self.asked: list[tuple[int, str, int]] = []
        self.briefs: list[Brief] = []

    def __call__(self, ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore":
            return build_valid_report(state, ask.seat, "caching", TEXTS[ask.seat])
        if ask.kind == "judge":
            pairs = read_pairs(brief)
            self.asked.append((state.round, ask.seat, len(pairs)))
            self.briefs.append(brief)
            verdicts: list[AnswerJudgement] = []
            for at, pair in enumerate(pairs, 1):
                wrong = self._wrong.get((state.round, frozenset(pair)))
                verdicts.append(
                    AnswerJudgement(
                        pair=at, verdict=wrong or find_verdict(*pair), reason="by its meaning"
                    )
                )
            return (
                None
                if self._lost
                else AnswerJudgements()
                if self._left_out
                else AnswerJudgements(judgements=tuple(verdicts))
            )
        return (
            Collision(action="pass")
            if ask.kind == "collide"
            else ABSTAINS
            if ask.kind == "ballot"
            else NotImplemented
        )


def play(
    says: Judge, *, language: Language = "en", seats: tuple[Seat, ...] = (), **chosen: Any
) -> SwarmRun:
    plan = build_swarm_plan(
        5, platform="openai:m", language=language, **{"max_rounds": 4, **chosen}
    )
    return SwarmRun(replace(plan, seats=(*plan.seats, *seats))).play(says)


def group_texts(run: SwarmRun) -> set[frozenset[str]]:
    groups: dict[int, set[str]] = {}
    for finding in run.state.board.findings:
        groups.setdefault(finding.idea, set()).add(finding.core_idea)
    return {frozenset(each) for each in groups.values()}


def test_restatements_are_joined_and_opposites_never() -> None:
    """S-31: three ways to say one thing are one idea, its denial in nearly the same words is another."""
    judge = Judge()
    run = play(judge)
    assert group_texts(run) == {frozenset(SAME), frozenset((OPPOSITE,)), frozenset((OTHER,))}
    assert {seat for _, seat, _ in judge.asked} == {"validator"}
    # Both orders in the first round; later only what a single word kept apart.
    assert [number for number, _, _ in judge.asked][:2] == [1, 1]
    assert all(count <= 2 for number, _, count in judge.asked if number > 1)
    first = run.facts(IdeasSorted)[0]
    assert (first.judge, first.judged) == ("validator", judge.asked[0][2])
    assert {(each.reason, each.why) for each in first.placed if each.reason != "new"} == {
        ("judge", "by its meaning")
    }
    assert judge.asked[0][2] <= NEAREST * len(TEXTS)
    asked_for = get_own_schema(judge.briefs[0])["properties"]["judgements"]
    assert asked_for["items"]["properties"]["pair"]["enum"] == [*range(1, judge.asked[0][2] + 1)]
    assert asked_for["maxItems"] == 200
    # Three of five hold it: without the joins nobody would hold more than one fifth.
    assert run.facts(ConvergenceMeasured)[0].consensus_rate == pytest.approx(0.6)


@pytest.mark.parametrize("how", [{"lost": True}, {"left_out": True}])
def test_without_a_word_of_the_judge_nothing_is_joined(how: Mapping[str, Any]) -> None:
    """S-36 with a judge that is out, or says nothing: as without one."""
    run = play(Judge(**how))
    unjudged = play(Judge(), judge="")
    assert (
        group_texts(run) == group_texts(unjudged) == {frozenset((text,)) for text in TEXTS.values()}
    )
    assert run.facts(IdeasSorted)[0].judged == 0
    assert [(each.by, each.judge) for each in unjudged.facts(IdeasSorted)[:1]] == [("", "")]


def test_the_judge_is_asked_also_when_the_measure_is_out() -> None:
    """S-31: words then find the nearest."""
    inner = Judge()

    class Losing(Judge):
        def __call__(self, ask: Ask, brief: Brief, state: Swarm) -> object:
            return None if ask.kind == "compare" else inner(ask, brief, state)

    run = play(Losing())
    assert frozenset(SAME) in group_texts(run)
    assert run.facts(IdeasSorted)[0].by == "words (fallback)"


def test_a_seat_can_be_named_for_it_and_explores_nothing() -> None:
    """S-31"""
    judge = Judge()
    run = play(judge, seats=(Seat(id=SeatId("arbiter"), platform="openai:big"),), judge="arbiter")
    assert {seat for _, seat, _ in judge.asked} == {"arbiter"}
    assert SeatId("arbiter") not in run.state.explorers
    assert {ask.kind for ask in run.asks if ask.seat == "arbiter"} == {"judge"}
    with pytest.raises(BadSetting, match="arbiter"):
        open_session(build_swarm_plan(3, judge="arbiter"))


def test_a_join_of_the_judge_can_be_undone() -> None:
    """S-31, S-8"""
    timeline = play(Judge()).timeline
    joins = [join for join in timeline.joins if join.placed.reason == "judge"]
    assert len(joins) == 2
    undone = compute_what_if(timeline, [joins[0].id])
    assert undone.rounds[0].ideas != compute_what_if(timeline).rounds[0].ideas
    assert {
        each["why"] for each in build_board_json(timeline)["joins"] if each["reason"] == "judge"
    } == {"by its meaning"}
    kinds = [event["type"] for event in timeline.events]
    # The third denies one of them in nearly the same words: nobody is asked about that.
    assert kinds.count("ideas_judged_opposite") == 2


def test_what_a_wrong_verdict_keeps_apart_is_put_to_the_judge_again_and_joined() -> None:
    """S-31: the text moves to its idea, on the record, and its author backs that idea from then on."""
    judge = Judge(wrong={(1, frozenset(pair)): "different" for pair in combinations(SAME, 2)})
    run = play(judge)
    assert [number for number, _, _ in judge.asked][:3] == [1, 1, 2]
    assert all(count <= MAX_SECOND_LOOKS for number, _, count in judge.asked if number > 1)
    first, *later = run.facts(IdeasSorted)
    assert len({each.idea for each in first.placed}) == 5
    moved = [each for fact in later for each in fact.placed]
    assert {(each.reason, each.why) for each in moved} == {("judge", "by its meaning")}
    assert group_texts(run) == {frozenset(SAME), frozenset((OPPOSITE,)), frozenset((OTHER,))}
    assert run.facts(ConvergenceMeasured)[0].consensus_rate == pytest.approx(0.2)
    assert run.facts(ConvergenceMeasured)[-1].consensus_rate == pytest.approx(0.6)
    # All three said it in the first round: nobody could have read it.
    assert len(run.facts(ConvergenceMeasured)[-1].backing[0].independent) == 3
    emptied = set(run.state.board.ideas) - {finding.idea for finding in run.state.board.findings}
    ideas = build_standing_json(run.timeline)["ideas"]
    assert emptied
    assert {each["id"] for each in ideas}.isdisjoint(f"idea-{number}" for number in emptied)
    assert len(ideas) == 3
    join = next(each for each in run.timeline.joins if each.placed in moved)
    assert len(compute_what_if(run.timeline, [join.id]).rounds[-1].ideas) == 4


def test_opposites_that_a_wrong_verdict_would_join_are_not_joined() -> None:
    """S-31: what denies one text of an idea in nearly the same words is not of that idea, whatever is said of the others."""
    wrong: Wrong = {(1, frozenset((OPPOSITE, text))): "same" for text in SAME[1:]}
    run = play(Judge(wrong=wrong))
    first, last = run.facts(IdeasSorted)[0], run.facts(IdeasSorted)[-1]
    assert group_texts(run) == {frozenset(SAME), frozenset((OPPOSITE,)), frozenset((OTHER,))}
    assert {each.reason for each in first.placed if each.text == OPPOSITE} <= {"judge", "new"}
    assert last.judged <= MAX_SECOND_LOOKS


@pytest.mark.parametrize("seed", [3, 5, 8, 10, 11, 13, 15])
def test_figures_of_a_run_with_an_erring_judge_follow_from_its_record(seed: int) -> None:
    """S-17, S-31: whatever moved when, each round is recalculated as it was measured; a replay gives the same state."""
    chance = Random(seed)
    texts = [
        f"{what} the {part} of the shop {how}"
        for what in ("cache", "shrink")
        for part in "abc"
        for how in ("now", "later")
    ]

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore":
            names = (
                (),
                (),
                (),
                ("idea-1",),
                ("finding-002", "idea-4"),
                (chance.choice(texts),),
                ("idea-x", "finding-999"),
            )
            said = build_valid_report(
                state, ask.seat, "way", *chance.sample(texts, 2), agrees_with=chance.choice(names)
            )
            return replace(
                said,
                findings=tuple(
                    replace(each, needs_validation=chance.random() < 0.3) for each in said.findings
                ),
            )
        if ask.kind == "judge":
            verdicts: tuple[PairVerdict, ...] = ("same", "same", "different", "opposite")
            pairs = range(1, len(state.review.pairs) + 1)
            return AnswerJudgements(
                judgements=tuple(
                    AnswerJudgement(pair=at, verdict=chance.choice(verdicts)) for at in pairs
                )
            )
        if ask.kind == "validate":
            checks = (
                FindingCheck(finding=f"finding-{at:03d}", verdict="refuted")
                for at in state.review.to_check[:1]
            )
            return Validation(verdicts=tuple(checks))
        return (
            Collision(action="pass")
            if ask.kind == "collide"
            else ABSTAINS
            if ask.kind == "ballot"
            else NotImplemented
        )

    plan = build_swarm_plan(5, platform="openai:m", max_rounds=8, seed=seed)
    run = SwarmRun(plan).play(says)
    sorted_ideas = run.facts(IdeasSorted)
    known: set[str] = set()
    moves = 0
    for fact in sorted_ideas:
        moves += sum(each.text in known for each in fact.placed)
        known |= {each.text for each in fact.placed}
    assert moves, "texts move in this run"
    again = replay_rounds(run.timeline, {})
    bare = [
        replace(each, warnings=(), all_random=False, cut=None, debater=None)
        for each in run.facts(ConvergenceMeasured)
    ]
    assert [*again.rounds] == bare
    assert (again.board.ideas, again.board.findings) == (
        run.state.board.ideas,
        run.state.board.findings,
    )
    state = run.timeline.state
    assert state.board == run.state.board
    assert state.agents == run.state.agents


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_judge_reads_whole_texts_and_little_else(language: Language) -> None:
    """S-31, M-4: no text is cut, and what is asked beyond the matter is short."""
    judge = Judge()
    play(judge, language=language)
    brief = judge.briefs[0]
    assert all(text in brief.own for text in TEXTS.values())
    assert count_instructions(brief) <= 350


def play_texts(
    texts: Callable[[int, str], str], verdict: PairVerdict, agents: int, rounds: int
) -> tuple[SwarmRun, dict[int, RoundReview]]:
    """A run whose judge says the same of all pairs, and what was under review when it did."""
    reviews: dict[int, RoundReview] = {}

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore":
            return build_valid_report(state, ask.seat, "caching", texts(state.round, ask.seat))
        if ask.kind == "judge":
            reviews[state.round] = state.review
            pairs = range(1, len(state.review.pairs) + 1)
            return AnswerJudgements(
                judgements=tuple(AnswerJudgement(pair=at, verdict=verdict) for at in pairs)
            )
        return (
            Collision(action="pass")
            if ask.kind == "collide"
            else ABSTAINS
            if ask.kind == "ballot"
            else NotImplemented
        )

    plan = build_swarm_plan(agents, platform="openai:m", max_rounds=rounds)
    return SwarmRun(plan).play(says), reviews


def test_a_denial_in_nearly_the_same_words_is_not_the_same_whatever_the_judge_says() -> None:
    """S-31"""
    run, reviews = play_texts(
        lambda _, seat: SAME[0] if seat == "TanWei" else OPPOSITE, "same", 2, 4
    )
    assert reviews == {}
    assert group_texts(run) == {frozenset((SAME[0],)), frozenset((OPPOSITE,))}


def test_of_the_nearest_texts_two_at_most_say_one_idea() -> None:
    """S-31: so that the call looks at other ideas, too."""

    def text(number: int, seat: str) -> str:
        return (
            f"{seat} keeps the catalogue in a cache"
            if number == 1
            else "The catalogue in a cache, again"
        )

    _, reviews = play_texts(text, "same", 5, 2)
    later = reviews[2]
    assert len(set(later.ideas)) == 1
    assert sum(pair.one >= later.first_new for pair in later.pairs) == 2


def test_pairs_are_bounded() -> None:
    """S-31: sixty new ideas in one round are sixty pairs, the nearest of each."""
    judge = Judge()

    class Many(Judge):
        def __call__(self, ask: Ask, brief: Brief, state: Swarm) -> object:
            if ask.kind == "explore":
                ideas = (f"{ask.seat} says number {at} of the catalogue" for at in range(10))
                return build_valid_report(state, ask.seat, "caching", *ideas)
            return judge(ask, brief, state)

    play(Many(), max_rounds=1)
    assert 0 < max(count for _, _, count in judge.asked) <= min(MAX_JUDGED, NEAREST * 50)


def test_a_careless_validator_does_not_break_a_run() -> None:
    """S-31 with a model that makes a fault in one answer of three."""

    async def work() -> None:
        async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
            names = ("TanWei", "SuYuan", "DongCha", "validator")
            seats = {name: CarelessModel(at, rate=0.5) for at, name in enumerate(names)}
            decision = await moot.hold(
                "Shall we?", protocol="swarm", seats=seats, seed=5, settings={"max_rounds": 3}
            )
            assert decision.status == "concluded"
            assert decision.ended_by != "fault"

    asyncio.run(asyncio.wait_for(work(), 60))
