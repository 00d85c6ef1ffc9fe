"""Each rule of a swarm at its boundaries: one value on either side, so that no figure of the protocol can change unnoticed.

S-9, S-10, S-13, S-16, S-19, S-20, S-22, S-29.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.support.play_swarm import (
    ABSTAINS,
    SwarmRun,
    build_deposit,
    build_stop_signal,
    build_swarm_plan,
    build_valid_report,
)
from tests.support.swarm_scenes import ADA, BOB, BUY, CACHE, EVE, explorer, exploring

from moothall.domain.effects import Ask, Brief
from moothall.domain.ids import SeatId
from moothall.domain.replace import fast_replace
from moothall.domain.seeded_random import random_unit
from moothall.protocols.swarm.answers import (
    Action,
    AnswerVote,
    Candidate,
    Collision,
    DecisionReport,
    Operation,
    RoundReport,
    StatedIdea,
    SwarmBallot,
)
from moothall.protocols.swarm.facts import (
    BarrierPassed,
    ConvergenceMeasured,
    Role,
    RoundOrder,
    Severity,
    SwarmClosed,
    SwarmCompleted,
    Violation,
)
from moothall.protocols.swarm.json_fields import agent_name
from moothall.protocols.swarm.plugin import SWARM
from moothall.protocols.swarm.rules.endings import (
    build_resolutions,
    build_settlement,
    find_vote,
    list_open_roles,
    measure_convergence,
)
from moothall.protocols.swarm.rules.review import build_invitations, choose_mode
from moothall.protocols.swarm.rules.round_start import (
    apply_barrier,
    build_barrier,
    build_orders,
    find_violations,
)
from moothall.protocols.swarm.rules.rulebook import RULES
from moothall.protocols.swarm.state import (
    Agent,
    Board,
    CollisionReview,
    Finding,
    Pheromone,
    Signal,
    Swarm,
)
from moothall.reading.answers import read_answer
from moothall.reports.plain_text import render_decision_lines

BUSY = Operation(operation="claim_subtask", params={"description": "A part."})


def exploring_run(count: int = 3, *, rounds: int = 1, **chosen: Any) -> SwarmRun:
    """A run whose explorers have just been sent out for the round after so many."""
    run = SwarmRun(
        build_swarm_plan(
            count, **{"collisions": 0, "random_exploration": False, "protection": False, **chosen}
        )
    )
    report = exploring(
        lambda ask, state: build_valid_report(
            state, ask.seat, f"way of {ask.seat}", f"Idea of {ask.seat}"
        )
    )
    return run.play(report, until=lambda state: state.round == rounds and state.stage == "explore")


def with_board(state: Swarm, **changes: Any) -> Swarm:
    return fast_replace(state, board=fast_replace(state.board, **changes))


def with_agent(state: Swarm, seat: SeatId, **changes: Any) -> Swarm:
    return fast_replace(
        state, agents={**state.agents, seat: fast_replace(state.agents[seat], **changes)}
    )


def build_pheromones(**strengths: float) -> dict[str, Pheromone]:
    return {
        name: Pheromone(direction=name, concentration=value, deposited_by=(ADA,), round=1)
        for name, value in strengths.items()
    }


def build_signal(number: int, target: str) -> Signal:
    return Signal(
        id=f"signal-{number}",
        sender=BOB,
        target=target,
        reason="r",
        evidence="e",
        strength=0.3,
        round=1,
        at=0.0,
    )


def build_finding(number: int, seat: SeatId, **changes: Any) -> Finding:
    values = {
        "direction": f"way {number}",
        "core_idea": f"idea {number}",
        "perspective": "",
        "details": "",
        **changes,
    }
    return Finding(number=number, seat=seat, round=1, **values)


def read_message(state: Swarm, seat: SeatId) -> dict[str, Any]:
    """The parts of `round_start` as an agent reads them."""
    ask = next(each for each in RULES.decide(state) if isinstance(each, Ask) and each.seat == seat)
    lines = [
        line.removeprefix("| ")
        for line in RULES.brief(state, ask).own.splitlines()
        if line.startswith("| {")
    ]
    return {name: value for line in lines for name, value in json.loads(line).items()}


# S-9


def test_decision_support_has_the_three_strongest_directions_with_raw_and_effective_concentration() -> (
    None
):
    """S-9: by effective concentration; P(S, θ) of the effective one."""
    state = exploring_run(platform="mailbox").state
    state = with_board(
        state,
        pheromones=build_pheromones(one=0.9, two=0.8, three=0.4, four=0.2),
        signals=(build_signal(1, "one"), build_signal(2, "one")),
    )
    state = with_agent(state, ADA, threshold=0.5)
    support = read_message(state, ADA)["decisionSupport"]
    # Two signals of 0.3 inhibit by 0.5 at most: 0.9 is left with 0.45, and 0.8 is the strongest.
    expected = [("two", 0.8, 0.8), ("one", 0.9, 0.45), ("three", 0.4, 0.4)]
    assert support == {
        "threshold": 0.5,
        "topDirections": [
            {
                "direction": name,
                "rawConcentration": raw,
                "effectiveConcentration": left,
                "responseProbability": round(left**2 / (left**2 + 0.25), 4),
            }
            for name, raw, left in expected
        ],
    }


@pytest.mark.parametrize("name", ["random", "must_switch", "inhibited"])
def test_each_order_is_told_under_its_own_name(name: str) -> None:
    """S-9: forceRandomExplore, mustSwitchDirection, currentDirectionInhibited, recommendedDirection."""
    flags: dict[str, Any] = {name: True}
    order = RoundOrder(seat=ADA, recommended="elsewhere", **flags)
    state = fast_replace(exploring_run(platform="mailbox").state, orders={ADA: order})
    assert read_message(state, ADA)["instructions"] == {
        "forceRandomExplore": name == "random",
        "mustSwitchDirection": name == "must_switch",
        "currentDirectionInhibited": name == "inhibited",
        "recommendedDirection": "elsewhere",
    }


def test_who_explores_at_random_is_sent_nowhere_and_who_must_switch_is_not_sent_back() -> None:
    """S-9: recommendedDirection, where the readings do not decide (then directions that nobody read come first, S-30)."""
    state = with_board(
        exploring_run(settle="quorum").state,
        pheromones=build_pheromones(one=0.9, two=0.3),
        signals=(),
    )
    assert {order.recommended for order in build_orders(state)} == {"one"}
    assert {
        (order.random, order.recommended)
        for order in build_orders(fast_replace(state, all_random=True))
    } == {(True, "")}
    inhibited = with_board(
        state, pheromones=build_pheromones(one=0.5, two=0.2), signals=(build_signal(1, "one"),)
    )
    inhibited = with_agent(inhibited, ADA, threshold=0.4, direction="one")
    order = next(each for each in build_orders(inhibited) if each.seat == ADA)
    # 0.5 × 0.7 = 0.35 is below θ, and still the strongest direction.
    assert (order.must_switch, order.recommended) == (True, "two")


def test_an_agent_is_told_its_state_its_results_and_its_new_role() -> None:
    """S-9: what became of its last operations, and any role change."""
    run = SwarmRun(build_swarm_plan(3, collisions=0, protection=False, platform="mailbox"))

    def report(ask: Ask, state: Swarm) -> object:
        operations = (
            build_deposit("caching", 0.2),
            build_stop_signal("caching"),
            build_deposit("caching", 5.0),
        )
        return build_valid_report(
            state, ask.seat, "caching", CACHE, operations=operations if ask.seat == ADA else ()
        )

    run.play(exploring(report), until=lambda state: state.round == 2 and state.stage == "explore")
    told = read_message(run.state, ADA)
    assert (told["type"], told["round"], told["agentState"]["role"]) == (
        "round_start",
        2,
        "DEBATER",
    )
    results = [(each["operation"], each["success"]) for each in told["operationResults"]]
    assert sorted(results) == [
        ("deposit_pheromone", False),
        ("deposit_pheromone", True),
        ("send_stop_signal", True),
        ("update_finding", True),
    ]
    ask = next(
        each for each in RULES.decide(run.state) if isinstance(each, Ask) and each.seat == ADA
    )
    assert "EXPLORER → DEBATER" in RULES.brief(run.state, ask).own


# S-10


def test_all_are_asked_at_once_and_the_barrier_waits_for_each() -> None:
    """S-10: as long as the round's timeout; what one reports does not end the round for the others."""
    run = SwarmRun(build_swarm_plan(3, round_timeout=33.0, collisions=0))
    seen: list[tuple[SeatId, ...]] = []

    def report(ask: Ask, state: Swarm) -> object:
        return build_valid_report(state, ask.seat, "caching", CACHE)

    asks = run.step().asks
    for at in range(3):
        seen.append(tuple(ask.seat for ask in RULES.decide(run.state) if isinstance(ask, Ask)))
        assert {ask.patience for ask in RULES.decide(run.state) if isinstance(ask, Ask)} == {33.0}
        assert run.facts(BarrierPassed) == []
        assert run.state.is_sealed
        run.step(run._build_fact(asks[at], exploring(report)))
    assert seen == [(ADA, BOB, EVE), (BOB, EVE), (EVE,)]
    (barrier,) = run.facts(BarrierPassed)
    assert (barrier.answered, barrier.lost) == ((ADA, BOB, EVE), ())
    assert [each.seat for each in run.state.board.findings] == [ADA, BOB, EVE]
    assert not fast_replace(run.state, stage="review").is_sealed


def test_the_barrier_says_who_answered_and_who_did_not() -> None:
    """S-10: it waits for all or the timeout."""
    run = SwarmRun(build_swarm_plan(3, max_rounds=1, collisions=0, vote=False))
    run.play({ADA: lambda ask, brief, state: None, BOB: explorer(CACHE), EVE: explorer(BUY)})
    (barrier,) = run.facts(BarrierPassed)
    assert (barrier.answered, barrier.lost, barrier.is_degraded) == ((BOB, EVE), (ADA,), False)


def test_the_report_has_every_part_that_the_protocol_asks_for() -> None:
    """S-10: direction, findings, operations, decision report, conflict review, random exploration."""
    state = exploring_run(platform="mailbox").state
    ask = next(each for each in RULES.decide(state) if isinstance(each, Ask))
    sent = {"findings": [{"coreIdea": CACHE}], "decisionReport": {"threshold": 0.4}}
    read = read_answer(RULES.answer_rules(state, ask), sent, is_strict=True).said
    assert isinstance(read, RoundReport)
    assert (read.direction, read.findings, read.operations) == (
        CACHE,
        (StatedIdea(core_idea=CACHE),),
        (),
    )
    # What is sent stands, and is checked; what is not sent is not stated (S-39).
    assert (read.conflict_review, read.random_explore_forced) == (None, None)
    assert read.decision_report == DecisionReport(threshold=0.4)
    violations = [each.violation for each in find_violations(state, state.agents[ask.seat], read)]
    assert violations == ["decision_report_missing_candidates", "conflict_review_missing"]
    filled = read_answer(
        RULES.answer_rules(state, ask), {"findings": [{"coreIdea": CACHE}]}, is_strict=True
    ).said
    assert isinstance(filled, RoundReport)
    assert find_violations(state, state.agents[ask.seat], filled) == []


# S-13


@pytest.mark.parametrize(
    ("action", "weight"),
    [("challenge", 1.5), ("support", 0.8), ("extend", 1.2), ("synthesize", 1.0), ("pass", 0.0)],
)
def test_each_answer_to_a_finding_has_its_weight(action: Action, weight: float) -> None:
    """S-13: and the finding weighs what its answers weigh together."""
    run = SwarmRun(build_swarm_plan(2, max_rounds=1, collisions=1, vote=False))

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "collide":
            return Collision(action=action, content="c", new_insights=("Measure first.", " "))
        return (
            build_valid_report(state, ask.seat, f"way {ask.seat}", f"Idea {ask.seat}")
            if ask.kind == "explore"
            else NotImplemented
        )

    findings = run.play(says).state.board.findings
    assert sum(each.weight for each in findings) == weight
    insights = [
        text for each in findings for review in each.reviews for text in review.new_insights
    ]
    assert insights == ([] if action == "pass" else ["Measure first."])
    review = CollisionReview(seat=BOB, mode="debate", action="challenge", weight=1.5, content="c")
    assert replace(findings[0], reviews=(review, replace(review, weight=0.8))).weight == 2.3


@pytest.mark.parametrize(
    ("role", "strongest", "perspectives", "mode"),
    [
        ("EXPLORER", 0.6, 2, "review_challenge"),
        ("EXPLORER", 0.6, 3, "debate"),
        ("EXPLORER", 0.61, 3, "collaborate_deepen"),
        ("DEBATER", 0.61, 1, "collaborate_deepen"),
        ("DEEP_ANALYST", 0.0, 0, "review_challenge"),
        ("SYNTHESIZER", 0.9, 5, "early_synthesis"),
    ],
)
def test_the_mode_of_a_collision_at_its_boundaries(
    role: Role, strongest: float, perspectives: int, mode: str
) -> None:
    """S-13: debate with more than 2 perspectives, deepening above 0.6."""
    state = exploring_run().state
    views = frozenset(str(number) for number in range(perspectives))
    state = with_board(state, pheromones=build_pheromones(one=strongest), perspectives=views)
    assert choose_mode(state, fast_replace(state.agents[ADA], role=role)) == mode


def build_review_state(count: int, findings: tuple[Finding, ...], **board: Any) -> Swarm:
    """A round in which all have reported, with these findings on the blackboard."""
    state = exploring_run(count, collisions=3).state
    report = build_valid_report(state, ADA, "caching")
    return with_board(
        fast_replace(state, answered=dict.fromkeys(state.explorers, report)),
        findings=findings,
        **board,
    )


@pytest.mark.parametrize(("count", "invited"), [(0, 0), (1, 0), (2, 3), (9, 3)])
def test_collisions_need_two_findings_and_are_three_at_most(count: int, invited: int) -> None:
    """S-13."""
    state = build_review_state(
        6, tuple(build_finding(at, SeatId("nobody")) for at in range(1, count + 1))
    )
    assert len(build_invitations(state)) == invited
    assert len(build_invitations(fast_replace(state, is_close_called=True))) == 0


@pytest.mark.parametrize(("ways", "invited"), [(1, 2), (2, 3)])
def test_at_most_two_collide_on_one_direction(ways: int, invited: int) -> None:
    """S-13."""
    findings = tuple(
        build_finding(at, SeatId("nobody"), direction=f"way {at % ways}") for at in range(1, 5)
    )
    assert len(build_invitations(build_review_state(6, findings))) == invited


def test_only_who_is_idle_collides_and_never_with_itself() -> None:
    """S-13: idle is who has reported, is active and holds no subtask."""
    findings = (build_finding(1, ADA), build_finding(2, ADA))
    state = build_review_state(4, findings)
    assert {each.seat for each in build_invitations(state)} == set(state.explorers) - {ADA}
    busy = with_agent(with_agent(state, BOB, subtask="subtask-1"), EVE, status="degraded")
    assert {each.seat for each in build_invitations(busy)} == set(state.explorers) - {ADA, BOB, EVE}
    silent = fast_replace(state, answered={ADA: state.answered[ADA]})
    assert build_invitations(silent) == ()


def find_first_target(state: Swarm) -> int:
    return next(each for each in build_invitations(state) if each.seat == BOB).targets[0]


def test_what_is_collided_with_suits_the_mode() -> None:
    """S-13: the strongest direction to deepen, another perspective to debate, what has fewest reviews to examine, the newest."""
    review = CollisionReview(seat=EVE, mode="debate", action="support", weight=0.8, content="c")
    findings = (
        build_finding(1, ADA, perspective="mine", direction="strong"),
        build_finding(2, ADA, perspective="other", direction="weak", reviews=(review,)),
        build_finding(3, ADA, perspective="mine", direction="weak", reviews=(review, review)),
        build_finding(4, BOB, perspective="mine", direction="weak"),
    )
    calm = build_review_state(2, findings, perspectives=frozenset())
    assert find_first_target(calm) == 1
    assert (
        find_first_target(
            fast_replace(calm, board=fast_replace(calm.board, perspectives=frozenset("abc")))
        )
        == 2
    )
    strong = build_pheromones(strong=0.9, weak=0.1)
    assert find_first_target(with_board(calm, pheromones=strong)) == 1
    assert (
        find_first_target(with_board(calm, pheromones=build_pheromones(strong=0.1, weak=0.9))) == 2
    )
    bare = tuple(replace(each, reviews=()) for each in findings)
    assert find_first_target(with_board(calm, findings=bare)) == 3


@pytest.mark.parametrize(
    ("named", "reviewed"), [("finding-001", 1), ("finding-002", 2), ("finding-003", 2), ("", 2)]
)
def test_an_answer_is_about_the_finding_that_it_names_if_that_was_shown(
    named: str, reviewed: int
) -> None:
    """S-13: else about the first that it was shown."""
    run = SwarmRun(build_swarm_plan(2, max_rounds=1, collisions=1, vote=False, seed=2))

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "collide":
            assert ask.seat == BOB
            return Collision(action="support", target_finding_id=named, content="c")
        ideas = ("one", "two") if ask.seat == ADA else ("three",)
        claim = () if ask.seat == BOB else (BUSY,)
        return (
            build_valid_report(state, ask.seat, "x", *ideas, operations=claim)
            if ask.kind == "explore"
            else NotImplemented
        )

    findings = run.play(says).state.board.findings
    assert [each.number for each in findings if each.reviews] == [reviewed]


# S-16


@pytest.mark.parametrize(
    ("strongest", "deposits", "signals", "rounds", "roles"),
    [
        (0.7, 3, 0, 0, {"DEEP_ANALYST": 0.49 / (0.49 + 0.16)}),
        (0.9, 7, 0, 0, {"DEEP_ANALYST": 0.81 / (0.81 + 0.16)}),
        (0.69, 3, 0, 1, {}),
        (0.7, 2, 0, 1, {}),
        (0.0, 0, 1, 0, {"DEBATER": 1.0}),
        (0.0, 0, 0, 2, {"SYNTHESIZER": 0.8}),
        (0.7, 3, 2, 3, {"DEEP_ANALYST": 0.49 / (0.49 + 0.16), "DEBATER": 1.0, "SYNTHESIZER": 0.8}),
    ],
)
def test_the_rule_of_each_role_at_its_boundaries(
    strongest: float, deposits: int, signals: int, rounds: int, roles: Mapping[Role, float]
) -> None:
    """S-16: in this order, with these probabilities."""
    agent = Agent(
        seat=ADA,
        threshold=0.4,
        random_explore=0.1,
        deposits=deposits,
        signals_sent=signals,
        rounds=rounds,
    )
    found = list_open_roles(agent, Board(pheromones=build_pheromones(one=strongest)))
    assert list(found) == list(roles)
    assert found == pytest.approx(roles)


def build_settled_state(count: int = 3, **changes: Any) -> Swarm:
    """A round that is to be settled, whose agents all have these values."""
    state = exploring_run(count).state
    report = build_valid_report(state, ADA, "caching", CACHE)
    agents = {seat: fast_replace(agent, **changes) for seat, agent in state.agents.items()}
    return fast_replace(state, agents=agents, answered=dict.fromkeys(state.explorers, report))


def test_a_role_is_taken_exactly_where_the_draw_is_below_its_probability() -> None:
    """S-16: drawn from the run's seed; the first role that is drawn."""
    state = build_settled_state(64, rounds=2)
    draws = {
        seat: random_unit(state.opened.seed, "role", state.round, seat, "SYNTHESIZER")
        for seat in state.explorers
    }
    taken = {role.seat for role in build_settlement(state).roles}
    assert taken == {seat for seat, drawn in draws.items() if drawn < 0.8}
    assert 0 < len(taken) < 64
    assert all(drawn > 0.8 or drawn < 0.8 for drawn in draws.values())
    between = [drawn for drawn in draws.values() if 0.7 <= drawn < 0.9]
    assert between, "the seed has a draw near the probability on either side"
    # An agent that has a role takes no other; one that is not active takes none.
    assert build_settlement(build_settled_state(8, rounds=2, role="DEBATER")).roles == ()
    assert build_settlement(build_settled_state(8, rounds=2, status="degraded")).roles == ()


def test_roles_are_checked_in_order_on_what_evaporation_leaves() -> None:
    """S-16: 0.75 evaporates to 0.69, which makes no analyst; 0.77 to 0.7084 does."""
    state = build_settled_state(deposits=3, signals_sent=1, threshold=0.001)
    for strength, role in ((0.75, "DEBATER"), (0.77, "DEEP_ANALYST")):
        settled = build_settlement(with_board(state, pheromones=build_pheromones(one=strength)))
        assert {each.new for each in settled.roles} == {role}


def test_a_request_is_granted_without_a_draw_where_the_rule_allows_it() -> None:
    """S-16: and refused, which the agent is told, where it does not."""
    state = build_settled_state(32, rounds=2, wanted_role="SYNTHESIZER")
    settled = build_settlement(state)
    assert {(role.seat, role.new, role.reason) for role in settled.roles} == {
        (seat, "SYNTHESIZER", "requested") for seat in state.explorers
    }
    assert settled.refused == ()
    refused = build_settlement(build_settled_state(4, rounds=1, wanted_role="SYNTHESIZER"))
    assert (refused.roles, len(refused.refused)) == ((), 4)


def test_only_rounds_that_an_agent_explored_count() -> None:
    """S-16: two rounds explored make a synthesizer possible; a round without a report is none."""
    state = build_settled_state()
    settled = build_settlement(fast_replace(state, answered={ADA: state.answered[ADA]}))
    assert settled.counted == (ADA,)
    run = SwarmRun(build_swarm_plan(4, max_rounds=3, collisions=0, protection=False, vote=False))
    silent = {ADA: lambda ask, brief, state: None}
    run.play({agent_name(at): explorer(CACHE) for at in range(1, 5)} | silent)
    assert run.state.agents[ADA].rounds == 0
    assert run.state.agents[BOB].rounds == 3


# S-19


def build_measured_state(**changes: Any) -> Swarm:
    """Four agents of one mind after a round, too many for so early: protection is due."""
    run = SwarmRun(build_swarm_plan(4, max_rounds=8, collisions=0, vote=False))
    run.play(
        {agent_name(at): explorer(CACHE) for at in range(1, 5)},
        until=lambda state: bool(state.measured),
    )
    agents = {
        seat: fast_replace(agent, role="EXPLORER") for seat, agent in run.state.agents.items()
    }
    return fast_replace(fast_replace(run.state, stage="measure", agents=agents), **changes)


@pytest.mark.parametrize(("strength", "after"), [(0.7, None), (0.71, 0.497), (0.9, 0.63)])
def test_a_concentration_is_dominant_above_seven_tenths_and_loses_three(
    strength: float, after: float | None
) -> None:
    """S-19: the strongest alone is cut."""
    state = with_board(
        build_measured_state(), pheromones=build_pheromones(weak=0.3, strong=strength, other=0.7)
    )
    cut = measure_convergence(state).cut
    assert (None if cut is None else (cut.direction, cut.before, round(cut.after, 6))) == (
        None if after is None else ("strong", strength, after)
    )


@pytest.mark.parametrize(("unchanged", "warned"), [(2, False), (3, True), (9, True)])
def test_three_rounds_without_change_are_warned_of(unchanged: int, warned: bool) -> None:
    """S-19: stagnation_warning."""
    measured = measure_convergence(
        build_measured_state(history=(frozenset({9}), *[frozenset({1})] * (unchanged + 1)))
    )
    assert ("stagnation_warning" in measured.warnings) == warned


def test_protection_follows_too_little_diversity_or_consensus_too_fast_and_nothing_else() -> None:
    """S-19: all explore at random, the first explorer turns debater; without the setting there is the warning alone."""
    state = build_measured_state()
    fast = measure_convergence(state)
    assert (fast.too_fast, fast.warnings[0], fast.all_random) == (True, "diversity_warning", True)
    assert fast.debater is not None
    assert (fast.debater.seat, fast.debater.new, fast.debater.reason) == (
        ADA,
        "DEBATER",
        "diversity_protection",
    )
    taken = with_agent(state, ADA, role="SYNTHESIZER")
    found = measure_convergence(taken).debater
    assert found is not None
    assert found.seat == BOB
    off = fast_replace(
        state, opened=replace(state.opened, settings=replace(state.settings, protection=False))
    )
    bare = measure_convergence(off)
    assert (bare.warnings, bare.all_random, bare.cut, bare.debater) == (
        ("diversity_warning",),
        False,
        None,
        None,
    )
    # From the fifth round on, the same agreement is not too fast; whether it is diverse enough decides alone.
    for diverse in (0.0, 1.0):
        settings = replace(state.settings, min_diversity=diverse)
        late = measure_convergence(
            fast_replace(state, round=5, opened=replace(state.opened, settings=settings))
        )
        assert (late.too_fast, late.is_diverse, late.all_random) == (
            False,
            diverse == 0.0,
            diverse == 1.0,
        )


# S-20


def restless(count: int, rounds: int) -> SwarmRun:
    """All back one idea, and one of them has a new idea beside it each round: a quorum that is never stable."""
    run = SwarmRun(build_swarm_plan(count, max_rounds=rounds, collisions=0, protection=False))

    def report(ask: Ask, state: Swarm) -> object:
        aside = (f"Aside: matter number {state.round}.",) if ask.seat == ADA else ()
        return build_valid_report(
            state, ask.seat, f"way {ask.seat}", CACHE if ask.seat != EVE else BUY, *aside
        )

    return run.play(exploring(report))


@pytest.mark.parametrize("rounds", [1, 4, 6])
def test_the_last_round_ends_the_run_and_its_report_is_partial(rounds: int) -> None:
    """S-20: exactly after so many; a quorum that is not stable is not claimed as convergence, in any form."""
    run = restless(4, rounds)
    (closed,) = run.facts(SwarmClosed)
    assert (closed.reason, closed.converged, closed.rounds) == ("max_rounds", False, rounds)
    assert run.facts(ConvergenceMeasured)[-1].has_quorum
    assert [done.converged for done in run.facts(SwarmCompleted)] == [False]
    timeline = run.timeline
    board = json.loads(SWARM.export(timeline, "blackboard"))
    assert (board["result"]["converged"], board["convergence"][-1]["converged"]) == (False, False)
    for text in (
        SWARM.export(timeline, "minutes"),
        SWARM.export(timeline, "html"),
        SWARM.export(timeline, "convergence"),
    ):
        assert "PARTIAL REPORT" in text
        assert "Converged: all figures hold." not in text
    first = render_decision_lines(SWARM.report(timeline))[0].text
    assert first.startswith("Not decided: “Put a cache at the edge” leads with 3 of 4")


def test_a_run_that_converged_says_so_and_is_not_called_partial() -> None:
    """S-20: with the figures."""
    run = SwarmRun(build_swarm_plan(5))
    says = {agent_name(at): explorer(CACHE, direction=f"way {at}") for at in range(1, 5)}
    timeline = run.play({**says, agent_name(5): explorer(BUY, direction="hardware")}).timeline
    text = SWARM.export(timeline, "minutes")
    assert "Converged: all figures hold." in text
    assert "PARTIAL" not in text
    (closed,) = run.facts(SwarmClosed)
    assert (closed.reason, closed.converged, closed.rounds) == ("converged", True, 3)


# S-22


def punish(score: int, *severities: Severity) -> tuple[str, int, list[str]]:
    """The status and the score of an agent with so many points after these violations, and the changes of its status."""
    state = exploring_run(4).state
    report = build_valid_report(state, ADA, "x", CACHE)
    state = with_agent(
        fast_replace(state, answered=dict.fromkeys(state.explorers, report)), ADA, score=score
    )
    broken = tuple(
        Violation(seat=ADA, violation=f"v{at}", severity=each) for at, each in enumerate(severities)
    )
    with pytest.MonkeyPatch.context() as patch:
        found = {ADA: list(broken)}
        patch.setattr(
            "moothall.protocols.swarm.rules.round_start.find_violations",
            lambda state, agent, report: found.get(agent.seat, []),
        )
        barrier = build_barrier(state)
    agent = apply_barrier(state, barrier).agents[ADA]
    return agent.status, agent.score, [change.new for change in barrier.changes]


@pytest.mark.parametrize(
    ("score", "severities", "status", "total"),
    [
        (0, ("WARNING",), "active", 1),
        (0, ("MINOR",), "active", 3),
        (0, ("MAJOR",), "degraded", 5),
        (0, ("CRITICAL",), "terminated", 10),
        (0, ("WARNING", "MINOR"), "active", 4),
        (11, ("MINOR",), "active", 14),
        (12, ("MINOR",), "terminated", 15),
        (13, ("WARNING",), "active", 14),
        (14, ("WARNING",), "terminated", 15),
        (9, ("MAJOR",), "degraded", 14),
        (10, ("MAJOR",), "terminated", 15),
        # What follows the end is not counted any more.
        (0, ("CRITICAL", "MINOR"), "terminated", 10),
    ],
)
def test_violations_add_up_and_fifteen_points_end_an_agent(
    score: int, severities: tuple[Severity, ...], status: str, total: int
) -> None:
    """S-22: WARNING 1, MINOR 3, MAJOR 5 and degraded, CRITICAL 10; terminated at 15 in all."""
    found = punish(score, *severities)
    assert found[:2] == (status, total)
    assert found[2][-1:] == ([] if status == "active" else [status])


@pytest.mark.parametrize(
    ("changes", "violation", "severity"),
    [
        ({"confirmed_operations": ("op-99",)}, "reported_operation_not_found", "MAJOR"),
        ({"decision_report": None}, "decision_report_missing", "MAJOR"),
        ({"random_explore_forced": False}, "random_explore_not_executed", "MAJOR"),
        ({"conflict_review": None}, "conflict_review_missing", "MINOR"),
        ({"threshold": None}, "decision_report_missing_threshold", "MINOR"),
        ({"threshold": 0.99}, "response_prob_calculation_error", "MINOR"),
        (
            {"candidates": (Candidate(direction="caching", response_prob=0.99),)},
            "response_prob_calculation_error",
            "MINOR",
        ),
        ({"candidates": None}, "decision_report_missing_candidates", "WARNING"),
        ({"selection_reason": ""}, "decision_report_missing_selectionReason", "WARNING"),
        ({}, "", ""),
    ],
)
def test_each_violation_has_the_severity_of_the_source(
    changes: dict[str, Any], violation: str, severity: str
) -> None:
    """S-22."""
    state = exploring_run(platform="mailbox").state
    state = with_board(state, pheromones=build_pheromones(caching=0.5))
    state = fast_replace(state, orders={ADA: replace(state.orders[ADA], random=True)})
    report = build_valid_report(state, ADA, "caching", CACHE)
    assert report.decision_report is not None
    own = {
        name: value for name, value in changes.items() if name in RoundReport.__dataclass_fields__
    }
    inner = {name: value for name, value in changes.items() if name not in own}
    report = replace(report, **{"decision_report": replace(report.decision_report, **inner), **own})
    found = [
        (each.violation, each.severity)
        for each in find_violations(state, state.agents[ADA], report)
    ]
    assert found == ([(violation, severity)] if violation else [])


# S-29


def build_ballot(
    position: Any, confidence: float = 0.8, idea: int = 1, reason: str = "So it is."
) -> SwarmBallot:
    return SwarmBallot(
        votes=(AnswerVote(answer=idea, position=position, confidence=confidence, reason=reason),)
    )


def voting(
    *ballots: SwarmBallot | None, ideas: tuple[str, ...] = (CACHE,), **chosen: Any
) -> SwarmRun:
    """As many explorers as ballots, all of one mind until they vote."""
    run = SwarmRun(
        build_swarm_plan(
            len(ballots), **{"max_rounds": 2, "collisions": 0, "protection": False, **chosen}
        )
    )

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "ballot":
            return ballots[state.explorers.index(ask.seat)]
        return (
            build_valid_report(state, ask.seat, f"way {ask.seat}", *ideas)
            if ask.kind == "explore"
            else NotImplemented
        )

    return run.play(says)


def test_the_active_vote_once_on_the_ideas_with_a_quorum_and_may_be_spared_it() -> None:
    """S-29: with `vote` off nobody is asked; a degraded agent is not."""
    yes = build_ballot("support")
    assert [ask.seat for ask in voting(yes, yes, yes).asks if ask.kind == "ballot"] == [
        ADA,
        BOB,
        EVE,
    ]
    assert [ask for ask in voting(yes, yes, yes, vote=False).asks if ask.kind == "ballot"] == []
    state = with_agent(voting(yes, yes, yes, yes).state, ADA, status="degraded")
    open_again = fast_replace(state, stage="vote", ballots={}, is_close_called=False, synthesis="x")
    for seat in (BOB, EVE, SeatId("QiuSuo")):
        open_again = with_agent(open_again, seat, status="active")
    asked = [each.seat for each in RULES.decide(open_again) if isinstance(each, Ask)]
    assert asked == [BOB, EVE, SeatId("QiuSuo")]
    alone = fast_replace(open_again, measured=replace(_measured(open_again), active=1))
    assert [each for each in RULES.decide(alone) if isinstance(each, Ask)] == []


def _measured(state: Swarm) -> ConvergenceMeasured:
    assert state.measured is not None
    return state.measured


def test_five_ideas_at_most_are_voted_on_the_best_backed_first() -> None:
    """S-29."""
    ideas = tuple(
        f"Matter {name} must be looked into."
        for name in ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot")
    )
    run = voting(*[ABSTAINS] * 3, ideas=ideas)
    (done,) = run.facts(SwarmCompleted)
    assert len(done.resolved) == min(5, len(run.state.board.ideas))
    assert [each.idea for each in done.resolved] == list(_measured(run.state).quorum_ideas[:5])


@pytest.mark.parametrize(
    ("ballot", "counted"),
    [
        (build_ballot("support", 0.9), ("support", 0.9)),
        (build_ballot("oppose", 0.0), ("oppose", None)),
        (build_ballot("abstain", 0.9), ("abstain", None)),
        (build_ballot("support", 0.9, idea=2), ("abstain", None)),
        (SwarmBallot(votes=(AnswerVote(answer=1, rating=0.9),)), (None, None)),
        (None, (None, None)),
    ],
)
def test_what_a_ballot_says_to_an_idea(
    ballot: SwarmBallot | None, counted: tuple[str | None, float | None]
) -> None:
    """S-29, M-2: an idea that is left out is abstained on; no ballot at all is a missing vote; a confidence is not invented."""
    run = voting(ballot, build_ballot("support"), build_ballot("support"))
    assert find_vote(run.state, ADA, 1) == counted


def test_the_vote_decides_by_weight_trust_and_who_is_missing() -> None:
    """S-29: the figures are those of a deliberation's vote."""
    yes, no = build_ballot("support"), build_ballot("oppose")
    state = voting(yes, yes, no).state
    (even,) = build_resolutions(state)
    assert (even.carried, even.voters, even.turnout, even.outcome_uncertain) == (
        True,
        3,
        1.0,
        False,
    )

    def reseat(**changes: Any) -> Swarm:
        seats = tuple(replace(seat, **changes) if seat.id == EVE else seat for seat in state.seats)
        return fast_replace(state, seats=seats)

    (heavy,) = build_resolutions(reseat(weight=5.0))
    (trusted,) = build_resolutions(reseat(trust=0.99))
    assert even.support is not None
    assert heavy.support is not None
    assert trusted.support is not None
    assert not heavy.carried
    assert trusted.support < even.support
    assert heavy.support < even.support
    silent = voting(yes, no, None)
    (missing,) = build_resolutions(silent.state)
    assert missing.outcome_uncertain
    assert [(each.seat, each.did_not_vote) for each in SWARM.decision(silent.timeline).lost] == [
        (EVE, True)
    ]
    (against,) = build_resolutions(voting(no, no, yes).state)
    assert not against.carried
    assert SWARM.decision(voting(no, no, yes).timeline).decision is None


def test_dissent_is_kept_as_in_a_deliberation() -> None:
    """S-29: opposing votes with their reasons; those that support, on a condition or not, or abstain are none."""
    run = voting(
        build_ballot("support", reason="a"),
        build_ballot("oppose", reason="b"),
        build_ballot("conditional_support", reason="c"),
        build_ballot("abstain", reason="d"),
    )
    decision = SWARM.decision(run.timeline)
    assert [(each.seat, each.kind, each.text) for each in decision.dissent] == [
        (BOB, "oppose", "b")
    ]
    # D-12: a condition is an obligation, not dissent.
    assert [(each.seat, each.text) for each in decision.obligations] == [(EVE, "c")]
