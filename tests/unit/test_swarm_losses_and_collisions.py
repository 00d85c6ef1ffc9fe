"""Agents that are late or lost, collisions, the validator, compliance."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support.play_swarm import (
    Says,
    SwarmRun,
    build_deposit,
    build_swarm_plan,
    build_valid_report,
)
from tests.support.swarm_scenes import ADA, BOB, BUY, CACHE, EVE, explorer, exploring

from moothall.domain.effects import Ask, Brief
from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.protocols.swarm.answers import (
    Candidate,
    Collision,
    ConflictReview,
    FindingCheck,
    Operation,
    RoundReport,
    Validation,
)
from moothall.protocols.swarm.facts import (
    BarrierPassed,
    OperationsProcessed,
    RoundBegun,
    SwarmClosed,
)
from moothall.protocols.swarm.json_fields import agent_name
from moothall.protocols.swarm.state import Swarm

# Losses


def test_a_late_agent_is_reminded_then_degraded_then_removed() -> None:
    """S-12: 1st timeout round_retry, 2nd degraded, 3rd removed; the others go on; it ends forced."""
    run = SwarmRun(build_swarm_plan(4, max_rounds=3, collisions=0, platform="mailbox"))
    prompts: list[str] = []

    def late(ask: Ask, brief: Brief, state: Swarm) -> object:
        prompts.append(brief.own)
        return None

    run.play(
        {ADA: late, **{agent_name(at): explorer(CACHE, direction=f"way {at}") for at in (2, 3, 4)}}
    )
    changes = [
        (each.seat, each.old, each.new)
        for fact in run.facts(BarrierPassed)
        for each in fact.changes
    ]
    assert changes == [(ADA, "active", "degraded"), (ADA, "degraded", "removed")]
    asks = [ask.id for ask in run.asks if ask.seat == ADA]
    assert asks == ["10.explore.TanWei", "11.explore.TanWei", "20.explore.TanWei"]
    assert ["round_retry" in prompt for prompt in prompts] == [False, True, False]
    assert run.state.agents[ADA].ended == "forced"
    assert {run.state.agents[SeatId(agent_name(at))].ended for at in (2, 3, 4)} == {"graceful"}


def test_an_answer_to_the_reminder_makes_good() -> None:
    """S-12."""
    run = SwarmRun(build_swarm_plan(3, max_rounds=2, collisions=0))

    def slow(ask: Ask, state: Swarm) -> object:
        return (
            build_valid_report(state, ask.seat, "caching", CACHE)
            if state.lost.get(ask.seat)
            else "malformed"
        )

    run.play({ADA: exploring(slow), BOB: explorer(CACHE), EVE: explorer(CACHE)})
    assert [fact.changes for fact in run.facts(BarrierPassed)] == [(), ()]
    assert run.state.agents[ADA].ended == "graceful"


def test_an_interrupted_agent_is_pinged_and_comes_back() -> None:
    """S-12: interrupted is not failed."""
    run = SwarmRun(build_swarm_plan(3, max_rounds=1, collisions=0))
    seen: list[tuple[str, float]] = []

    def broken(ask: Ask, state: Swarm) -> object:
        seen.append((state.agents[ask.seat].status, ask.patience))
        return build_valid_report(state, ask.seat, "caching", CACHE) if len(seen) == 3 else "error"

    run.play({ADA: exploring(broken), BOB: explorer(CACHE), EVE: explorer(CACHE)})
    assert seen == [("active", 120.0), ("interrupted", 40.0), ("interrupted", 40.0)]
    (barrier,) = run.facts(BarrierPassed)
    assert [(each.old, each.new, each.reason) for each in barrier.changes] == [
        ("interrupted", "active", "recovered")
    ]


def test_an_agent_that_stays_interrupted_is_degraded_after_its_two_minutes() -> None:
    """S-12: three pings within 120 s, then degraded; after that its next failure removes it."""
    run = SwarmRun(build_swarm_plan(4, max_rounds=3, collisions=0))
    run.play(
        {
            ADA: exploring(lambda ask, state: "error"),
            **{agent_name(at): explorer(CACHE) for at in (2, 3, 4)},
        }
    )
    asks = [(ask.id, ask.patience) for ask in run.asks if ask.seat == ADA]
    assert [patience for _, patience in asks] == [120.0, 40.0, 40.0, 40.0, 120.0]
    changes = [(each.old, each.new) for fact in run.facts(BarrierPassed) for each in fact.changes]
    assert changes == [("interrupted", "degraded"), ("degraded", "removed")]


def test_a_silent_agent_is_woken_and_then_degraded() -> None:
    """S-12: after 2 rounds of silence force_wake with forced random exploration; after 3 failed wakes degraded."""
    run = SwarmRun(
        build_swarm_plan(4, max_rounds=8, collisions=0, random_exploration=False, protection=False)
    )

    def silent(ask: Ask, state: Swarm) -> object:
        return build_valid_report(state, ask.seat, "caching")

    says: dict[str, Says] = {
        agent_name(at): explorer(f"Idea {at}", direction=f"way {at}") for at in (2, 3, 4)
    }
    run.play({ADA: exploring(silent), **says})
    woken = [
        fact.round
        for fact in run.facts(RoundBegun)
        for order in fact.orders
        if order.wake and order.seat == ADA
    ]
    assert woken[:3] == [3, 4, 5]
    assert all(
        order.random for fact in run.facts(RoundBegun) for order in fact.orders if order.wake
    )
    changes = [
        (fact.round, each.new, each.reason)
        for fact in run.facts(BarrierPassed)
        for each in fact.changes
    ]
    assert changes == [(5, "degraded", "prolonged_silence")]


def test_a_woken_agent_that_speaks_is_as_before() -> None:
    """S-12."""
    run = SwarmRun(
        build_swarm_plan(3, max_rounds=4, collisions=0, random_exploration=False, protection=False)
    )

    def sleepy(ask: Ask, state: Swarm) -> object:
        return build_valid_report(
            state, ask.seat, "caching", *([CACHE] if state.orders[ADA].wake else [])
        )

    run.play({ADA: exploring(sleepy), BOB: explorer(BUY), EVE: explorer("Rewrite it all.")})
    agent = run.state.agents[ADA]
    assert (agent.silence, agent.wakes, agent.ended) == (1, 0, "graceful")


def test_a_round_that_loses_more_than_half_is_degraded_and_the_run_ends_when_one_is_left() -> None:
    """S-12: fewer than 2 active: an early end with a report of what there is."""
    run = SwarmRun(build_swarm_plan(3, collisions=0))
    run.play(
        {
            ADA: explorer(CACHE),
            BOB: exploring(lambda ask, state: None),
            EVE: exploring(lambda ask, state: None),
        }
    )
    (barrier,) = run.facts(BarrierPassed)
    assert barrier.is_degraded
    closed = run.facts(SwarmClosed)[0]
    assert (closed.reason, closed.converged, closed.rounds) == (
        "insufficient_active_agents",
        False,
        1,
    )
    assert [finding.core_idea for finding in run.state.board.findings] == [CACHE]
    assert run.state.ballots == {}, "one agent is no vote"


def test_everyone_lost_still_ends() -> None:
    """S-12, S-23."""
    run = SwarmRun(build_swarm_plan(3))
    run.play(lambda ask, brief, state: "refused" if ask.kind == "explore" else NotImplemented)
    assert {agent.status for agent in run.state.agents.values()} == {"terminated"}
    assert run.facts(SwarmClosed)[0].reason == "insufficient_active_agents"


# Collisions and the validator


def colliding(**chosen: Any) -> SwarmRun:
    return SwarmRun(build_swarm_plan(6, max_rounds=1, random_exploration=False, **chosen))


def test_idle_agents_collide_and_their_answers_weigh() -> None:
    """S-13: at most three a round; challenge 1.5, support 0.8, extend 1.2, synthesize 1.0; new insights are kept."""
    run = colliding()

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "collide":
            return Collision(action="challenge", content="Why?", new_insights=("Measure first.",))
        if ask.kind == "explore":
            return build_valid_report(
                state, ask.seat, f"way {ask.seat}", f"Idea of {ask.seat}", perspective="cost"
            )
        return NotImplemented

    run.play(says)
    asked = [ask for ask in run.asks if ask.kind == "collide"]
    assert len(asked) == 3
    reviewed = [finding for finding in run.state.board.findings if finding.reviews]
    assert sum(len(finding.reviews) for finding in reviewed) == 3
    assert all(finding.weight == 1.5 * len(finding.reviews) for finding in reviewed)
    assert all(
        review.mode == "review_challenge" and review.new_insights
        for each in reviewed
        for review in each.reviews
    )
    assert all(review.seat != each.seat for each in reviewed for review in each.reviews)


@pytest.mark.parametrize(
    ("perspectives", "amount", "mode"),
    [(1, 0.1, "review_challenge"), (3, 0.1, "debate"), (3, 0.3, "collaborate_deepen")],
)
def test_the_mode_of_a_collision(perspectives: int, amount: float, mode: str) -> None:
    """S-13: debate from more than 2 perspectives, deepening above a concentration of 0.6."""
    run = colliding()

    def report(ask: Ask, state: Swarm) -> object:
        at = state.explorers.index(ask.seat)
        return build_valid_report(
            state,
            ask.seat,
            "caching",
            f"Idea of {ask.seat}",
            perspective=f"view {at % perspectives}",
            operations=(build_deposit("caching", amount),) if amount > 0.1 or at == 0 else (),
        )

    run.play(exploring(report), until=lambda state: state.stage == "review")
    assert {each.mode for each in run.state.review.invitations} == {mode}
    assert len(run.state.review.invitations) == 2, (
        "all are on one direction: no more than two collide there"
    )


def test_a_synthesizer_that_is_idle_makes_an_early_synthesis_and_the_busy_do_not_collide() -> None:
    """S-13."""
    run = SwarmRun(
        build_swarm_plan(4, max_rounds=5, random_exploration=False, protection=False, seed=2)
    )

    def report(ask: Ask, state: Swarm) -> object:
        claim = Operation(operation="claim_subtask", params={"description": f"Part of {ask.seat}"})
        operations = (claim,) if ask.seat in {ADA, BOB} else ()
        return build_valid_report(
            state, ask.seat, f"way {ask.seat}", f"Idea of {ask.seat}", operations=operations
        )

    run.play(exploring(report))
    seats = {ask.seat for ask in run.asks if ask.kind == "collide"}
    assert seats == {EVE, SeatId("QiuSuo")}
    modes = {
        event["mode"]
        for event in run.timeline.events
        if event["type"] == "collision" and event["round"] > 3
    }
    assert modes == {"early_synthesis"}


def test_one_finding_is_too_few_to_collide_with() -> None:
    """S-13: at least 2 findings."""
    run = colliding()
    run.play(
        exploring(
            lambda ask, state: build_valid_report(
                state, ask.seat, "caching", *([CACHE] if ask.seat == ADA else [])
            )
        )
    )
    assert [ask for ask in run.asks if ask.kind == "collide"] == []


def test_the_validator_checks_what_needs_it() -> None:
    """S-2, S-27: it explores nothing, and its verdict stands beside the finding."""
    plan = build_swarm_plan(2, max_rounds=1, collisions=0)
    run = SwarmRun(
        replace(plan, seats=(*plan.seats, Seat(id=SeatId("validator"), platform="script:x")))
    )

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "validate":
            assert "finding-001" in brief.own
            assert "finding-002" not in brief.own
            return Validation(
                verdicts=(
                    FindingCheck(finding="finding-001", verdict="refuted", reason="It is not so."),
                    FindingCheck(finding="finding-002", verdict="refuted"),
                )
            )
        if ask.kind == "explore":
            report = build_valid_report(state, ask.seat, "caching", f"Idea of {ask.seat}")
            return replace(
                report, findings=(replace(report.findings[0], needs_validation=ask.seat == ADA),)
            )
        return NotImplemented

    run.play(says)
    assert [(each.verdict, each.checked) for each in run.state.board.findings] == [
        ("refuted", "It is not so."),
        (None, ""),
    ]
    assert {ask.kind for ask in run.asks if ask.seat == "validator"} == {"validate", "judge"}


# Compliance


def liar(**changes: Any) -> Says:
    return exploring(
        lambda ask, state: replace(build_valid_report(state, ask.seat, "caching", CACHE), **changes)
    )


@pytest.mark.parametrize(
    ("changes", "violation", "severity"),
    [
        ({"confirmed_operations": ("op-999",)}, "reported_operation_not_found", "MAJOR"),
        ({"decision_report": None}, "decision_report_missing", "MAJOR"),
        ({"conflict_review": None}, "conflict_review_missing", "MINOR"),
    ],
)
def test_the_checks_of_a_report(changes: dict[str, Any], violation: str, severity: str) -> None:
    """S-21, S-22: severities as in the source; MAJOR degrades."""
    run = SwarmRun(build_swarm_plan(4, max_rounds=1, collisions=0, platform="mailbox"))
    run.play({ADA: liar(**changes), **{agent_name(at): explorer(CACHE) for at in (2, 3, 4)}})
    (barrier,) = run.facts(BarrierPassed)
    assert [(each.seat, each.violation, each.severity) for each in barrier.violations] == [
        (ADA, violation, severity)
    ]
    assert bool(barrier.changes) == (severity == "MAJOR")
    assert run.state.agents[ADA].score == {"MAJOR": 5, "MINOR": 3}[severity]


def test_a_lie_about_probabilities_or_the_threshold_is_found() -> None:
    """S-21: right within 0.01 of P(S, θ) by the blackboard and the agent's own threshold, whatever the report states."""
    run = SwarmRun(
        build_swarm_plan(
            4,
            platform="mailbox",
            max_rounds=3,
            collisions=0,
            random_exploration=False,
            protection=False,
        )
    )

    def lies(ask: Ask, state: Swarm) -> object:
        report = build_valid_report(
            state, ask.seat, "caching", CACHE, operations=(build_deposit("caching", 0.3),)
        )
        assert report.decision_report is not None
        decision = report.decision_report
        if state.round == 2:
            lie = Candidate(direction="caching", concentration=0.9, response_prob=0.9)
            decision = replace(decision, candidates=(lie,))
        if state.round == 3:
            assert decision.threshold is not None
            decision = replace(decision, threshold=decision.threshold + 0.02)
        return replace(report, decision_report=decision)

    run.play(
        {ADA: exploring(lies), **{agent_name(at): explorer(BUY, direction="b") for at in (2, 3, 4)}}
    )
    found = [[each.violation for each in fact.violations] for fact in run.facts(BarrierPassed)]
    assert found == [[], ["response_prob_calculation_error"], ["response_prob_calculation_error"]]


def test_ordered_random_exploration_must_be_carried_out() -> None:
    """S-21: ordered by protection for all in the second round."""
    run = SwarmRun(build_swarm_plan(3, platform="mailbox", max_rounds=2, collisions=0))
    stubborn = exploring(
        lambda ask, state: replace(
            build_valid_report(state, ask.seat, "x", CACHE), random_explore_forced=False
        )
    )
    run.play({ADA: stubborn, BOB: explorer(CACHE), EVE: explorer(CACHE)})
    last = run.facts(BarrierPassed)[-1]
    assert [(each.seat, each.violation) for each in last.violations] == [
        (ADA, "random_explore_not_executed")
    ]


def test_an_incomplete_decision_report_weighs_as_the_source_says() -> None:
    """S-22: a missing threshold is MINOR, what the source does not list is a WARNING."""
    run = SwarmRun(
        build_swarm_plan(
            4,
            platform="mailbox",
            max_rounds=2,
            collisions=0,
            protection=False,
            random_exploration=False,
        )
    )

    def sloppy(ask: Ask, state: Swarm) -> object:
        report = build_valid_report(state, ask.seat, "x", CACHE)
        assert report.decision_report is not None
        missing = {"threshold": None} if state.round == 1 else {"selection_reason": " "}
        return replace(report, decision_report=replace(report.decision_report, **missing))

    run.play({ADA: exploring(sloppy), **{agent_name(at): explorer(BUY) for at in (2, 3, 4)}})
    found = [
        (each.violation, each.severity)
        for fact in run.facts(BarrierPassed)
        for each in fact.violations
    ]
    assert found == [
        ("decision_report_missing_threshold", "MINOR"),
        ("decision_report_missing_selectionReason", "WARNING"),
    ]
    assert run.state.agents[ADA].score == 4


def test_fifteen_points_end_an_agent_and_its_operations_find_nobody() -> None:
    """S-22: terminated for compliance_violation; S-6: agent_not_found."""
    run = SwarmRun(build_swarm_plan(4, max_rounds=4, collisions=0, platform="mailbox"))

    def outlaw(ask: Ask, state: Swarm) -> object:
        return RoundReport(
            direction="x",
            operations=(build_deposit("x"),),
            confirmed_operations=("op-0",),
            conflict_review=ConflictReview(),
        )

    run.play(
        {
            ADA: exploring(outlaw),
            **{agent_name(at): explorer(CACHE, direction=f"way {at}") for at in (2, 3, 4)},
        }
    )
    agent = run.state.agents[ADA]
    assert (agent.status, agent.ended) == ("terminated", "compliance_violation")
    assert agent.score >= 15
    results = [
        each for fact in run.facts(OperationsProcessed) for each in fact.results if each.seat == ADA
    ]
    assert [each.error for each in results] == ["", "agent_not_found"]
    assert all(ask.turn <= 2 for ask in run.asks if ask.seat == ADA), (
        "a terminated agent is asked for nothing"
    )
