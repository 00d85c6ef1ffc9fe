"""Readings choose: the closing ballot, the choice from the log, what is covered first, when the leader is clear (S-30 … S-35)."""

import asyncio
import json
import math
from collections.abc import Callable
from itertools import islice, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.play_swarm import (
    ABSTAINS,
    Says,
    SwarmRun,
    build_deposit,
    build_stop_signal,
    build_swarm_plan,
    build_valid_report,
)

from moothall.app.moot import Moot
from moothall.domain.effects import AnswerRules, Ask, Brief
from moothall.domain.ids import SeatId
from moothall.domain.replace import fast_replace
from moothall.errors import BadAnswer
from moothall.protocols.swarm.answer_table import SwarmAsk
from moothall.protocols.swarm.answers import (
    AnswerVote,
    Collision,
    FindingCheck,
    Operation,
    RoundReport,
    StatedIdea,
    SwarmBallot,
    Validation,
)
from moothall.protocols.swarm.facts import (
    ConvergenceMeasured,
    OperationsProcessed,
    RoundBegun,
    RoundSettled,
    SwarmCompleted,
)
from moothall.protocols.swarm.reports.decision import build_decision
from moothall.protocols.swarm.reports.files import build_board_json
from moothall.protocols.swarm.reports.standing import replay_rounds
from moothall.protocols.swarm.rules.evidence import is_clear
from moothall.protocols.swarm.state import Swarm
from moothall.reading.answers import read_answer
from moothall.reading.schemas import describe_schema
from moothall.scoring.evidence import (
    CLEAR_Z,
    ORDINARY_READINGS,
    AnswerReading,
    judge_evidence,
    scale_deposits,
)
from moothall.scoring.independence import OTHER_FAMILY, SAME_FAMILY, presume_correlation
from moothall_testkit.careless_model import CarelessModel

QUALITY = {"cache": 0.28, "hardware": 0.12, "rewrite": 0.05}
"""What an explorer deposits on a direction that it reads."""
DIRECTIONS = tuple(QUALITY)


def report(
    ask: Ask, state: Swarm, direction: str, idea: str, *more: Operation, amount: float | None = None
) -> RoundReport:
    deposit = build_deposit(direction, QUALITY.get(direction, 0.1) if amount is None else amount)
    return build_valid_report(state, ask.seat, direction, idea, operations=(deposit, *more))


def state_idea(direction: str) -> str:
    """What an explorer finds in a direction."""
    return f"The answer is {direction}."


def reader(favourite: str, *, rates: Callable[[str], float] | None = None) -> Says:
    """An explorer that holds the popular idea all the time, reads what it is ordered to, and deposits by what it reads."""

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore":
            order = state.orders[ask.seat]
            at = (state.explorers.index(ask.seat) + state.round) % len(DIRECTIONS)
            direction = order.recommended if order.cover else DIRECTIONS[at]
            said = report(ask, state, direction, state_idea(direction))
            return _with_findings(
                said, *said.findings, StatedIdea(core_idea=favourite, perspective=ask.seat)
            )
        if ask.kind == "collide":
            return Collision(action="pass")
        if ask.kind == "ballot":
            popular = next(
                idea.number for idea in state.board.ideas.values() if idea.text == favourite
            )
            vote = AnswerVote(answer=popular, position="support", confidence=0.9)
            if rates is None:
                return SwarmBallot(votes=(vote,))
            texts = {at: state.board.ideas[at].text for at in list_rated(ask, state)}
            named = {
                at: next((name for name in DIRECTIONS if state_idea(name) == text), "")
                for at, text in texts.items()
            }
            ratings = tuple(
                AnswerVote(answer=at, rating=rates(name)) for at, name in named.items() if name
            )
            return SwarmBallot(votes=(vote, *ratings))
        return NotImplemented

    return says


def list_rated(ask: Ask, state: Swarm) -> list[int]:
    """The answers whose ratings count as readings: those that the seat has read."""
    return [*SwarmAsk(state=state, ask=ask).rated]


def play(says: Says, **chosen: Any) -> SwarmRun:
    return SwarmRun(build_swarm_plan(4, **{"max_rounds": 4, "collisions": 0, **chosen})).play(says)


def test_two_votes_on_one_idea_take_no_side() -> None:
    """S-29, M-14: the first of them counted."""
    inner, seen = reader("hardware it is"), list[object]()

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "ballot" and brief.schema is not None:
            idea = brief.schema["properties"]["votes"]["items"]["properties"]["answer"]["enum"][0]
            read = read_answer(
                brief,
                {"votes": [{"answer": idea, "position": side} for side in ("oppose", "support")]},
            )
            assert read.said == SwarmBallot(
                votes=(AnswerVote(answer=idea, position="abstain"),) * 2
            )
            seen.extend(read.mends)
        return inner(ask, brief, state)

    play(says, settle="quorum")
    assert set(seen) == {
        f"read votes.{at}.position '{side}' → 'abstain'"
        for at, side in enumerate(("oppose", "support"))
    }


def ask_for(kind: str, **chosen: Any) -> Brief:
    """What the first seat is asked of this kind, in a swarm that holds two ideas."""
    asked = list[Brief]()

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == kind:
            asked.append(brief)
        if ask.kind == "explore":
            return build_valid_report(
                state, ask.seat, f"way of {ask.seat}", "Use a cache.", f"Buy {state.round}."
            )
        return Collision(action="pass") if ask.kind == "collide" else NotImplemented

    play(says, max_rounds=2, platform="openai:m", **chosen)
    return asked[0]


@pytest.mark.parametrize("settle", ["quorum", "evidence"])
@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"9": "support"},
        {"votes": []},
        {"votes": [{"answer": 9, "position": "support"}]},
        {"votes": [{"answer": 1, "position": "who knows"}]},
        {"votes": [{"answer": 1}]},
    ],
)
def test_a_ballot_in_which_nothing_can_be_read_is_asked_for_again(settle: str, raw: object) -> None:
    """M-14, S-29: it counted as an abstention that nobody had stated."""
    brief = ask_for("ballot", settle=settle)
    with pytest.raises(BadAnswer):
        read_answer(brief, json.dumps(raw))
    outside = AnswerRules(form=brief.form, fault=brief.fault)
    with pytest.raises(BadAnswer):
        read_answer(outside, raw, is_strict=True)


def test_support_once_on_a_condition_and_once_without_is_conditional() -> None:
    """M-2, M-14: both are on one side, and the condition stands."""
    ballot = [
        {"answer": 1, "position": "support"},
        {"answer": 1, "position": "conditional_support", "condition": "it is cheap"},
    ]
    read = read_answer(ask_for("ballot", settle="quorum"), {"votes": ballot})
    assert read.said == SwarmBallot(
        votes=(AnswerVote(answer=1, position="conditional_support", condition="it is cheap"),) * 2
    )
    assert read.mends == ("read votes.0.position 'support' → 'conditional_support'",)


def test_two_ratings_of_one_answer_are_none() -> None:
    """M-14, S-30: the last of them counted."""
    ballot = [{"answer": 1, "rating": 0.9, "position": "support"}, {"answer": 1, "rating": 0.1}]
    read = read_answer(ask_for("ballot"), {"votes": ballot})
    assert read.said == SwarmBallot(
        votes=(AnswerVote(answer=1, position="support"), AnswerVote(answer=1))
    )
    assert read.mends == ("read votes.0.rating 0.9 → None", "read votes.1.rating 0.1 → None")


@pytest.mark.parametrize(
    "raw",
    [
        '{"findings": [{"coreIdea": "None."}]}',
        '{"findings": ["nothing new", "N/A"]}',
        '{"findings": ["没有新的发现"]}',
        "pass",
    ],
)
def test_nothing_new_is_no_idea(raw: str) -> None:
    """M-14, S-12: explorers that said they had nothing agreed on an idea called "none"."""
    read = read_answer(ask_for("explore"), raw)
    assert isinstance(read.said, RoundReport)
    assert read.said.is_silent
    assert not read.said.direction
    assert any(note.startswith("left_out findings") for note in read.mends)


@pytest.mark.parametrize("text", ["{}", "```json\n{}\n```"])
def test_a_ballot_that_is_its_list_alone_is_read_whole(text: str) -> None:
    """M-14: only the last of its votes counted."""
    votes = [{"answer": 1, "position": "support"}, {"answer": 2, "position": "oppose"}]
    read = read_answer(ask_for("ballot"), text.format(json.dumps(votes)))
    assert read.said == SwarmBallot(
        votes=(AnswerVote(answer=1, position="support"), AnswerVote(answer=2, position="oppose"))
    )
    assert read.mends == ("read votes '[…]'",)


def completion(run: SwarmRun) -> SwarmCompleted:
    (done,) = run.facts(SwarmCompleted)
    assert isinstance(done, SwarmCompleted)
    return done


def test_readings_choose_what_was_read_best_though_all_hold_another() -> None:
    """S-30, S-34: by evidence the decision is the idea with the best readings, in its own words; by `quorum` the popular one."""
    run = play(reader("hardware it is"))
    choice = completion(run).choice
    assert choice is not None
    assert (choice.answer, choice.method) == (state_idea("cache"), "ratings")
    ideas = run.state.board.ideas
    ranked = [ideas[int(each.answer.removeprefix("idea-"))].text for each in choice.ranked]
    assert ranked == [state_idea(name) for name in ("cache", "hardware", "rewrite")]
    assert choice.margin == pytest.approx(choice.ranked[0].value - choice.ranked[1].value)
    decision = build_decision(run.timeline)
    assert (decision.choice, decision.decision and decision.decision.text) == (
        "",
        state_idea("cache"),
    )
    assert decision.confidence == choice.sureness

    popular = play(reader("hardware it is"), settle="quorum")
    assert completion(popular).choice is None
    decision = build_decision(popular.timeline)
    assert (decision.choice, decision.decision and decision.decision.text) == ("", "hardware it is")


@pytest.mark.parametrize("settle", ["evidence", "quorum"])
def test_convergence_is_claimed_by_the_figures_of_the_source_alone(settle: str) -> None:
    """S-30, S-17: how a run is settled changes none of the figures."""
    run = play(reader("hardware it is"), settle=settle, max_rounds=6)
    assert completion(run).converged == run.facts(ConvergenceMeasured)[-1].converged is True


def test_the_ballot_is_held_without_convergence_and_asks_for_what_each_has_read() -> None:
    """S-30: nobody rates an answer that it has not read; what it says of one all the same does not count."""
    asked: dict[str, list[int]] = {}

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore":
            return report(ask, state, f"way of {ask.seat}", f"the idea of {ask.seat}")
        if ask.kind == "ballot":
            asked[ask.seat] = list_rated(ask, state)
            assert brief.schema is not None
            # By its number, which the answer's description says, too.
            assert '"rating": 0 … 1' in describe_schema(brief.schema, brief.hints, brief.language)
            return SwarmBallot(
                votes=tuple(
                    AnswerVote(answer=at, rating=0.9 if at == 2 else 0.2) for at in range(1, 9)
                )
            )
        return Collision(action="pass") if ask.kind == "collide" else NotImplemented

    run = play(says, max_rounds=1)
    done = completion(run)
    assert not done.converged
    assert asked == {seat: [at] for at, seat in enumerate(run.state.explorers, 1)}
    assert done.choice is not None
    assert done.choice.answer == "the idea of SuYuan"
    assert {each.readers for each in done.choice.ranked} == {1}


def test_a_rating_stands_for_the_deposits_of_its_author() -> None:
    """S-30: who looked again at the end may rate otherwise than it deposited."""
    run = play(
        reader(
            "x", rates=lambda direction: {"cache": 0.1, "hardware": 0.9, "rewrite": 0.2}[direction]
        )
    )
    choice = completion(run).choice
    assert choice is not None
    assert choice.answer == state_idea("hardware")


def test_a_lost_ballot_leaves_the_deposits_to_speak() -> None:
    """S-30 with slow seats: nobody votes in time, and the readings of the log choose."""
    inner = reader("x")

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        return None if ask.kind == "ballot" else inner(ask, brief, state)

    run = play(says)
    choice = completion(run).choice
    assert choice is not None
    assert choice.answer == state_idea("cache")
    assert set(run.state.ballots.values()) == {None}


def test_constant_amounts_are_compared_pair_by_pair() -> None:
    """S-30: with one amount for everything the mean says nothing; what each holds and warns of orders what it has read."""

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore":
            order = state.orders[ask.seat]
            at = (state.explorers.index(ask.seat) + state.round) % len(DIRECTIONS)
            direction = order.recommended if order.cover else DIRECTIONS[at]
            stop = (build_stop_signal("rewrite"),) if direction == "rewrite" else ()
            return report(ask, state, direction, f"{direction} is the way", *stop, amount=0.1)
        return (
            Collision(action="pass")
            if ask.kind == "collide"
            else ABSTAINS
            if ask.kind == "ballot"
            else NotImplemented
        )

    choice = completion(play(says, max_rounds=5)).choice
    assert choice is not None
    assert choice.method == "pairs"
    assert choice.ranked[-1].value < 0.5


def test_unread_directions_are_offered_first() -> None:
    """S-30: of the user's directions those that nobody has read, each explorer another one; then what it has not read itself."""
    run = play(reader("x"), mode="hybrid", directions=DIRECTIONS, random_exploration=False)
    first, second, *_ = run.facts(RoundBegun)
    assert all(order.cover for order in first.orders)
    assert {order.recommended for order in first.orders} == set(DIRECTIONS)
    for order in second.orders:
        assert order.recommended not in {
            other.recommended for other in first.orders if other.seat == order.seat
        }
    assert not any(
        order.cover for order in play(reader("x"), settle="quorum").facts(RoundBegun)[1].orders
    )


def test_a_clear_leader_ends_the_run_early_where_that_is_allowed() -> None:
    """S-30: by the setting alone, after the least number of rounds, and never as a convergence."""
    varied = {seat: 0.02 * at for at, seat in enumerate(("TanWei", "SuYuan", "DongCha", "QiuSuo"))}

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore":
            at = (state.explorers.index(ask.seat) + state.round) % len(DIRECTIONS)
            direction = (
                state.orders[ask.seat].recommended
                if state.orders[ask.seat].cover
                else DIRECTIONS[at]
            )
            return report(
                ask,
                state,
                direction,
                state_idea(direction),
                amount=max(0.01, QUALITY[direction] - varied[ask.seat]),
            )
        return (
            Collision(action="pass")
            if ask.kind == "collide"
            else ABSTAINS
            if ask.kind == "ballot"
            else NotImplemented
        )

    early, late = play(says, clear_at=1.5, max_rounds=8), play(says, max_rounds=8)
    assert (completion(early).reason, completion(early).converged) == ("clear", False)
    assert early.state.round >= early.state.settings.min_rounds
    last = early.facts(ConvergenceMeasured)[-1]
    assert last.lead is not None
    assert last.lead.z >= 1.5
    assert [each.is_clear for each in early.facts(ConvergenceMeasured)] == [False] * (
        early.state.round - 1
    ) + [True]
    assert (completion(late).reason, late.state.round) == ("max_rounds", 8)
    # One more direction that was read once only: whatever the lead, the run goes on.
    board = early.state.board
    key = next(iter(board.readings))
    for count, expected in ((1, False), (2, True)):
        thin = {**board.readings, key: {SeatId("TanWei"): (count, 0.1 * count)}}
        assert (
            is_clear(fast_replace(early.state, board=fast_replace(board, readings=thin)), last.lead)
            is expected
        )


def test_leading_stability_asks_for_the_leading_ideas_alone() -> None:
    """S-32: one minor idea that moves keeps `all` from converging for ever, and `leading` not; the record says which it was."""

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore":
            idea = f"something else {state.round}" if ask.seat == "QiuSuo" else "cache it"
            return report(ask, state, f"way of {ask.seat}", idea)
        return (
            Collision(action="pass")
            if ask.kind == "collide"
            else ABSTAINS
            if ask.kind == "ballot"
            else NotImplemented
        )

    every, leading = play(says, max_rounds=6), play(says, max_rounds=6, stability="leading")
    assert [each.reason for each in every.facts(ConvergenceMeasured)][2:] == ["not_stable"] * 4
    assert completion(leading).reason == "converged"
    assert leading.state.round == 3
    board = build_board_json(leading.timeline)
    assert (board["config"]["stability"], board["convergence"][-1]["betaStability"]["of"]) == (
        "leading",
        "leading",
    )
    assert [each.converged for each in replay_rounds(leading.timeline, {}).rounds] == [
        each.converged for each in leading.facts(ConvergenceMeasured)
    ]


def test_a_challenged_reading_weighs_less_and_a_refuted_one_nothing() -> None:
    """S-13: what reviewers say of a finding weighs the readings that it came with; a refuted idea has no backer either."""

    def says(action: str, verdict: str = "confirmed") -> Says:
        def answer(ask: Ask, brief: Brief, state: Swarm) -> object:
            if ask.kind == "explore":
                at = DIRECTIONS[(state.explorers.index(ask.seat) + state.round) % 3]
                finding = StatedIdea(
                    core_idea=state_idea(at), perspective=ask.seat, needs_validation=True
                )
                return _with_findings(report(ask, state, at, "x"), finding)
            if ask.kind == "collide":
                return Collision(action=action, content="Why?")  # type: ignore[arg-type]  # an action
            if ask.kind == "validate":
                return Validation(
                    verdicts=tuple(
                        FindingCheck(finding=state.board.findings[at - 1].id, verdict=verdict)  # type: ignore[arg-type]  # a verdict
                        for at in state.review.to_check
                    )
                )
            return ABSTAINS if ask.kind == "ballot" else NotImplemented

        return answer

    def readings(run: SwarmRun) -> float:
        choice = completion(run).choice
        return sum(each.readings for each in choice.ranked) if choice is not None else 0.0

    def with_validator(answer: Says) -> SwarmRun:
        return SwarmRun(build_swarm_plan(4, max_rounds=3, platform="openai:m")).play(answer)

    supported, challenged = with_validator(says("support")), with_validator(says("challenge"))
    assert readings(challenged) < readings(supported) == 12
    refuted = with_validator(says("support", "refuted"))
    assert completion(refuted).choice is None
    assert not any(agent.holds for agent in refuted.state.agents.values())
    assert [each.quorum_ideas for each in replay_rounds(refuted.timeline, {}).rounds] == [
        each.quorum_ideas for each in refuted.facts(ConvergenceMeasured)
    ]


def _with_findings(said: RoundReport, *findings: StatedIdea) -> RoundReport:
    return RoundReport(
        direction=said.direction,
        findings=findings,
        operations=said.operations,
        decision_report=said.decision_report,
        conflict_review=said.conflict_review,
        random_explore_forced=said.random_explore_forced,
    )


def test_insights_of_collisions_reach_the_next_prompts() -> None:
    """S-13: what a reviewer adds is on the blackboard that all are shown, once."""
    inner = reader("x")
    seen: dict[int, int] = {}

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore":
            seen[state.round] = brief.shared.count("Measure it first.")
        if ask.kind == "collide":
            return Collision(action="extend", content="More.", new_insights=("Measure it first.",))
        return inner(ask, brief, state)

    play(says, collisions=3)
    assert seen[1] == 0
    assert set(list(seen.values())[1:]) == {1}


def test_a_silent_explorer_is_neither_counted_nor_a_synthesizer() -> None:
    """S-16, S-17: two of three that speak are a quorum where the fourth says nothing at all."""
    inner = reader("cache it")

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore" and ask.seat == "QiuSuo":
            said = build_valid_report(state, ask.seat, "")
            return _with_findings(said)
        if ask.kind == "explore" and ask.seat == "DongCha":
            return report(ask, state, "rewrite", "rewrite it")
        return inner(ask, brief, state)

    run = play(says, max_rounds=3)
    last = run.facts(ConvergenceMeasured)[-1]
    assert last.silent == (SeatId("QiuSuo"),)
    assert (last.active, last.consensus_rate) == (4, pytest.approx(2 / 3))
    assert run.state.agents[SeatId("QiuSuo")].role == "EXPLORER"
    assert all(SeatId("QiuSuo") not in each.counted for each in run.facts(RoundSettled))


def test_an_agent_cuts_a_direction_once() -> None:
    """S-15: a second stop signal of the same agent against the same direction is refused; another agent's is not."""
    inner = reader("x")

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore" and state.round > 1 and ask.seat in {"TanWei", "SuYuan"}:
            return report(ask, state, "cache", "x", build_stop_signal("hardware"))
        return inner(ask, brief, state)

    run = play(says, max_rounds=4)
    results = [
        (fact.round, each.seat, each.success)
        for fact in run.facts(OperationsProcessed)
        for each in fact.results
        if each.operation == "send_stop_signal"
    ]
    assert {each for each in results if each[0] == 2} == {(2, "TanWei", True), (2, "SuYuan", True)}
    assert not any(success for number, _, success in results if number > 2)


def test_a_role_can_be_left_again_by_request() -> None:
    """S-16: as in the source, where an agent may change its role itself; the rule still holds for the new one."""
    wanted = {5: "EXPLORER", 6: "DEBATER"}
    inner = reader("x")

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore" and ask.seat == "TanWei" and state.round in wanted:
            role = Operation(
                operation="transition_role", params={"newRole": wanted[state.round], "reason": "r"}
            )
            return report(ask, state, "cache", "x", role)
        if ask.kind == "explore":
            return report(ask, state, "cache", f"{ask.seat} {state.round}")
        return inner(ask, brief, state)

    run = play(says, max_rounds=6)
    changes = [
        (each.round, each.old, each.new) for each in run.state.agents[SeatId("TanWei")].role_history
    ]
    assert [new for number, old, new in changes if number == 5 and old != "EXPLORER"] == [
        "EXPLORER"
    ]
    # It sent no stop signal, so the rule for a debater does not hold.
    assert not any(new == "DEBATER" for _, _, new in changes)


def test_the_history_says_what_was_deposited() -> None:
    """S-5: also where the direction is full."""

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore":
            return report(ask, state, "cache", "x", amount=0.3)
        return (
            Collision(action="pass")
            if ask.kind == "collide"
            else ABSTAINS
            if ask.kind == "ballot"
            else NotImplemented
        )

    history = build_board_json(play(says).timeline)["pheromones"]["cache"]["depositHistory"]
    assert {each["amount"] for each in history} == {0.3}


def test_a_careless_model_still_gets_its_swarm_settled() -> None:
    """S-30 with a model that makes a fault in one answer of three: the ballot is held and nothing breaks."""

    async def work() -> None:
        async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
            seats = {
                name: CarelessModel(at)
                for at, name in enumerate(("TanWei", "SuYuan", "DongCha", "QiuSuo"))
            }
            decision = await moot.hold(
                "Shall we?", protocol="swarm", seats=seats, seed=3, settings={"max_rounds": 3}
            )
            timeline = await moot.load_timeline(decision.session)
            assert decision.status == "concluded"
            assert timeline.state.completed is not None
            assert any(ballot is not None for ballot in timeline.state.ballots.values())

    asyncio.run(asyncio.wait_for(work(), 60))


# The arithmetic


def reading(
    answer: str, seat: str, value: float, weight: float = 1.0, rank: float = 0.0
) -> AnswerReading:
    return AnswerReading(answer=answer, reader=seat, value=value, weight=weight, rank=rank)


def rate_all(**ratings: dict[str, float]) -> list[AnswerReading]:
    """The readings of some readers."""
    return [
        reading(answer, seat, value)
        for seat, values in ratings.items()
        for answer, value in values.items()
    ]


def test_a_reading_counts_by_its_reader_s_own_mean_and_spread() -> None:
    """S-34: two that order two answers alike say the same, whether they rate in tenths or in halves."""
    verdict = judge_evidence(rate_all(x={"a": 0.9, "b": 0.1}, y={"a": 0.6, "b": 0.5}))
    assert verdict is not None
    first = (1.0 + 1.0 + ORDINARY_READINGS * 0.5) / (2 + ORDINARY_READINGS)
    assert [each.value for each in verdict.ranked] == pytest.approx([first, 1 - first])


CAREFUL = {
    seat: {"a": 0.65 + shift, "b": 0.5 - shift, "c": 0.45 + shift}
    for seat, shift in zip("tuvwxy", (0.03, -0.04, 0.02, 0.0, -0.02, 0.05), strict=True)
}


@pytest.mark.parametrize("lie", [{"a": 0.0, "b": 1.0, "c": 0.0}, {"a": 0.0, "b": 1.0}, {"b": 1.0}])
def test_one_liar_of_seven_does_not_decide(lie: dict[str, float]) -> None:
    """S-34: however extreme its ratings are, and however few."""
    verdict = judge_evidence(rate_all(**CAREFUL, z=lie))
    assert verdict is not None
    assert verdict.ranked[0].answer == "a"
    assert verdict.decisive == ()
    two = judge_evidence(rate_all(**CAREFUL, z=lie, zz=lie))
    assert two is not None
    assert two.ranked[0].answer == "a"
    assert two.sureness is not None
    assert verdict.sureness is not None
    assert two.sureness <= verdict.sureness


@pytest.mark.parametrize(
    ("ratings", "expected"),
    [
        ({"a": 0.5, "b": 0.5}, [1.0, 0.0]),
        ({"a": 0.1, "b": 0.9}, [0.5, 0.5]),
        ({"a": 0.9, "b": 0.1}, [1.0, 0.0]),
    ],
)
def test_what_a_reader_holds_is_its_word_too(
    ratings: dict[str, float], expected: list[float]
) -> None:
    """S-34: one that holds A and rates both alike is read by that; if it rates B higher, both words count half."""
    honest = rate_all(x={"a": 0.6, "b": 0.5}, y={"a": 0.6, "b": 0.5})
    verdict = judge_evidence(
        [
            *honest,
            *(reading(answer, "z", ratings[answer], rank=float(answer == "a")) for answer in "ab"),
        ]
    )
    assert verdict is not None
    whole = 3 + ORDINARY_READINGS
    values = {each.answer: each.value for each in verdict.ranked}
    assert values["a"] == pytest.approx((2 + expected[0] + 0.5 * ORDINARY_READINGS) / whole)
    assert values["b"] == pytest.approx((expected[1] + 0.5 * ORDINARY_READINGS) / whole)


def correlate_family(one: str, other: str) -> float:
    return SAME_FAMILY


def test_sureness_is_the_posterior_of_votes_that_are_readings() -> None:
    """S-35, D-12: each reading one spread above the mean is an ordinary vote; those of one family are worth fewer."""
    ratings = rate_all(**{seat: {"a": 0.9, "b": 0.1} for seat in "vwxyz"})
    for correlation in (OTHER_FAMILY, SAME_FAMILY):
        verdict = judge_evidence(
            ratings, presume_correlation if correlation == OTHER_FAMILY else correlate_family
        )
        effective = 5 / (1 + 4 * correlation)
        odds = (0.65 / 0.35) ** (2 * effective)
        assert verdict is not None
        assert verdict.sureness == pytest.approx(odds / (1 + odds))


def test_one_reader_that_varies_does_not_silence_those_that_do_not() -> None:
    """S-34: six with one amount for everything who all hold A, and one that prefers B: pairs decide, and A leads."""
    constant = [
        reading(answer, seat, 0.5, rank=float(answer == "a"))
        for seat in "tuvwxy"
        for answer in "ab"
    ]
    verdict = judge_evidence([*constant, reading("a", "z", 0.2), reading("b", "z", 0.9)])
    assert verdict is not None
    assert (verdict.method, verdict.ranked[0].answer) == ("pairs", "a")


def test_readers_who_contradict_each_other_tell_nothing_apart() -> None:
    """S-35: below half a standard error the two are level, and where nobody shares an answer there is no error to compute."""
    level = judge_evidence(
        rate_all(x={"a": 0.9, "b": 0.1}, y={"a": 0.1, "b": 0.9}, z={"a": 0.5, "b": 0.52, "c": 0.5})
    )
    assert level is not None
    assert level.z is not None
    assert level.z < CLEAR_Z
    assert not level.is_distinct
    alone = judge_evidence(rate_all(x={"a": 0.9}, y={"b": 0.3}))
    assert alone is not None
    assert (alone.z, alone.sureness, alone.is_distinct) == (None, None, False)


def test_sureness_is_the_chance_to_be_the_best_of_all() -> None:
    """S-35: not of beating the second alone; with more answers that are level with the second it falls."""
    two = judge_evidence(
        rate_all(**{seat: {"a": values["a"], "b": values["b"]} for seat, values in CAREFUL.items()})
    )
    ratings = {
        seat: {"a": 0.6 + 0.1 * (at % 2), **dict.fromkeys("bcdef", 0.5)}
        for at, seat in enumerate("uvwxyz")
    }
    noisy = {
        seat: {**values, seat_answer: 0.75}
        for (seat, values), seat_answer in zip(ratings.items(), "abcdef", strict=True)
    }
    many = judge_evidence(rate_all(**noisy))
    assert two is not None
    assert many is not None
    assert two.sureness is not None
    assert many.sureness is not None
    assert 0.5 < two.sureness <= 1
    assert many.z is not None
    # Φ(z) is what it would be against the second alone.
    assert many.sureness < 0.5 * (1 + math.erf(many.z / math.sqrt(2)))


def test_what_it_takes_to_change_a_choice_is_what_it_takes() -> None:
    """S-30: with as many more readings of 1 as it says the second leads, with one fewer it does not."""
    verdict = judge_evidence(rate_all(**CAREFUL))
    assert verdict is not None
    assert verdict.needed is not None

    def value(more: int) -> float:
        second = verdict.ranked[1]
        held = second.readings + ORDINARY_READINGS
        return (held * second.value + more) / (held + more)

    assert value(verdict.needed) > verdict.ranked[0].value >= value(verdict.needed - 1)


def test_the_explorer_without_whom_another_would_lead_is_named() -> None:
    verdict = judge_evidence(rate_all(x={"a": 1.0, "b": 0.0}, y={"a": 0.46, "b": 0.5}))
    assert verdict is not None
    assert verdict.decisive == ("x",)


def test_who_gives_one_value_to_everything_prefers_nothing() -> None:
    verdict = judge_evidence(
        rate_all(x={"a": 0.6, "b": 0.5}, y={"a": 0.7, "b": 0.6}, z={"b": 1.0, "c": 1.0})
    )
    assert verdict is not None
    assert [each.answer for each in verdict.ranked] == ["a", "c", "b"]
    assert verdict.ranked[1].value == pytest.approx(0.5)


def test_deposits_and_ratings_are_brought_to_one_scale() -> None:
    assert scale_deposits({}, {}, 0.3) == pytest.approx(1 / 0.3)
    assert scale_deposits({"a": (2, 0.4)}, {"a": 0.8}, 0.3) == pytest.approx(4.0)


_VALUES = st.floats(0, 1, allow_nan=False)
_READINGS = st.lists(
    st.builds(
        reading,
        st.sampled_from("abc"),
        st.sampled_from("wxyz"),
        _VALUES,
        st.floats(0, 1, allow_nan=False),
        st.integers(-1, 1),
    ),
    max_size=9,
    unique_by=lambda each: (each.answer, each.reader),
)


@given(_READINGS)
def test_a_choice_depends_on_the_readings_and_not_on_their_order(
    readings: list[AnswerReading],
) -> None:
    """S-30"""
    verdict = judge_evidence(readings)
    assert (verdict is None) == (not any(each.weight > 0 for each in readings))
    for shuffled in islice(permutations(readings), 6):
        assert judge_evidence(shuffled) == verdict
    if verdict is not None:
        assert all(0 <= each.value <= 1 for each in verdict.ranked)
        assert verdict.margin >= 0


@given(_READINGS, st.sampled_from("abc"), _VALUES)
def test_no_reader_moves_an_answer_further_than_one_reading(
    readings: list[AnswerReading], answer: str, value: float
) -> None:
    """S-34: whatever an eighth reader says, an answer that others read moves by less than one reading among all of them."""
    before = judge_evidence(readings)
    after = judge_evidence([*readings, reading(answer, "liar", value)])
    if (
        before is None
        or after is None
        or before.method != after.method
        or not all(len(own) > 1 for own in group(readings))
    ):
        return
    values = {each.answer: each for each in before.ranked}
    for each in after.ranked:
        if each.answer in values:
            assert abs(each.value - values[each.answer].value) <= 1 / (
                values[each.answer].readings + ORDINARY_READINGS
            )


def group(readings: list[AnswerReading]) -> list[list[AnswerReading]]:
    seats = {each.reader for each in readings if each.weight > 0}
    return [
        [each for each in readings if each.reader == seat and each.weight > 0] for seat in seats
    ]
