"""The six operations: valid, invalid and forged (S-5, S-6, S-7)."""

import math
from typing import Any

import pytest
from tests.support.play_swarm import SwarmRun, build_swarm_plan

from moothall.domain.ids import SeatId
from moothall.protocols.swarm.answers import Operation
from moothall.protocols.swarm.facts import OperationResult
from moothall.protocols.swarm.rules.operations import BlackboardEditor
from moothall.protocols.swarm.state import Swarm

ADA, BOB = SeatId("TanWei"), SeatId("SuYuan")


@pytest.fixture
def bench() -> BlackboardEditor:
    run = SwarmRun(build_swarm_plan(5))
    run.step()
    state: Swarm = run.state
    return BlackboardEditor(state)


def do(
    bench: BlackboardEditor, operation: str, seat: SeatId = ADA, **params: Any
) -> OperationResult:
    return bench.execute(seat, Operation(operation=operation, params=params))


def test_a_deposit_keeps_who_and_adds_up(bench: BlackboardEditor) -> None:
    """S-5: 0.1 unless said otherwise; the same direction in other letters is the same; at most 1.0 in all."""
    first = do(bench, "deposit_pheromone", direction="Caching")
    second = do(bench, "deposit_pheromone", BOB, direction=" caching ", amount=0.3)
    assert (first.success, first.before, first.after) == (True, 0.0, 0.1)
    assert (second.before, second.after, second.target) == (0.1, 0.4, "Caching")
    for _ in range(3):
        last = do(bench, "deposit_pheromone", direction="caching", amount=0.3)
    assert last.after == 1.0
    found = bench.board.pheromones["caching"]
    assert (found.deposited_by, bench.agents[ADA].deposits, bench.agents[BOB].deposits) == (
        (ADA, BOB),
        4,
        1,
    )


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"direction": ""},
        {"direction": "  "},
        {"direction": 5},
        {"direction": "x" * 501},
        {"direction": "x", "amount": 0},
        {"direction": "x", "amount": -0.1},
        {"direction": "x", "amount": 0.31},
        {"direction": "x", "amount": 10**400},
        {"direction": "x", "amount": math.nan},
        {"direction": "x", "amount": math.inf},
        {"direction": "x", "amount": "0.1"},
        {"direction": "x", "amount": True},
        {"direction": "x", "amount": None},
        {"direction": "x", "concentration": 0.9},
        {"direction": "x", "agentId": "SuYuan"},
    ],
)
def test_a_deposit_that_is_wrong_or_forged_is_refused_and_changes_nothing(
    bench: BlackboardEditor, params: dict[str, Any]
) -> None:
    """S-5, S-6, S-7: a huge amount, NaN, a concentration, in another's name."""
    result = do(bench, "deposit_pheromone", **params)
    assert (result.success, result.error) == (False, "invalid_params")
    assert result.detail
    assert bench.board.pheromones == {}


def test_a_stop_signal_takes_thirty_percent_at_once(bench: BlackboardEditor) -> None:
    """S-15."""
    do(bench, "deposit_pheromone", direction="caching", amount=0.3)
    bench.set_direction(BOB, "caching")
    done = do(
        bench,
        "send_stop_signal",
        targetDirection="CACHING",
        reason="contradictory_evidence",
        evidence="It was tried.",
    )
    assert (done.before, done.detail) == (0.3, "signal-1")
    assert done.after == pytest.approx(0.21)
    assert (bench.agents[ADA].signals_sent, bench.agents[BOB].signals_received) == (1, 1)


@pytest.mark.parametrize(
    "params",
    [
        {"targetDirection": "nowhere", "reason": "better_alternative", "evidence": "e"},
        {"targetDirection": "caching", "reason": "because", "evidence": "e"},
        {"targetDirection": "caching", "reason": "better_alternative"},
        {"targetDirection": "caching", "reason": "better_alternative", "evidence": " "},
        {
            "targetDirection": "caching",
            "reason": "better_alternative",
            "evidence": "e",
            "strength": 1.0,
        },
        {"targetDirection": "caching", "reason": ["better_alternative"], "evidence": "e"},
    ],
)
def test_a_stop_signal_that_is_wrong_or_forged_is_refused(
    bench: BlackboardEditor, params: dict[str, Any]
) -> None:
    do(bench, "deposit_pheromone", direction="caching")
    result = do(bench, "send_stop_signal", **{**params, "reason": params.get("reason")})
    assert (result.success, result.error) == (False, "invalid_params")
    assert bench.board.pheromones["caching"].concentration == 0.1
    assert bench.board.signals == ()


def test_a_subtask_takes_three_agents(bench: BlackboardEditor) -> None:
    """S-5: the fourth is refused with max_agents_reached; claiming again changes nothing."""
    seats = list(bench.agents)
    results = [
        do(bench, "claim_subtask", seat, description="Measure the cache.")
        for seat in (*seats[:3], seats[0], seats[3])
    ]
    assert [each.success for each in results] == [True, True, True, True, False]
    assert results[-1].error == "max_agents_reached"
    (claim,) = bench.board.claims.values()
    assert claim.claimed_by == tuple(seats[:3])
    assert bench.agents[seats[0]].subtask == claim.id
    assert do(bench, "claim_subtask", description="").error == "invalid_params"
    assert do(bench, "claim_subtask", description="x", maxAgents=9).error == "invalid_params"


def test_a_finding_is_kept_with_its_marks(bench: BlackboardEditor) -> None:
    """S-5, S-27: flat or under `finding`, as the source has both."""
    flat = do(
        bench,
        "update_finding",
        coreIdea="Cache it.",
        perspective="cost",
        details="d",
        agreesWith=("idea-1",),
        confidence="medium",
        needsValidation=True,
        searchAttempted=True,
    )
    nested = do(
        bench, "update_finding", BOB, finding={"coreIdea": "Buy more.", "perspective": "cost"}
    )
    assert (flat.target, nested.target) == ("finding-001", "finding-002")
    first = bench.board.findings[0]
    assert (first.confidence, first.needs_validation, first.search_attempted) == (
        "medium",
        True,
        True,
    )
    assert bench.board.perspectives == {"cost"}


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"coreIdea": ""},
        {"coreIdea": "…"},
        {"coreIdea": "x" * 501},
        {"coreIdea": 5},
        {"coreIdea": "x", "agreesWith": 5},
        {"coreIdea": "x", "agreesWith": (1,)},
        {"coreIdea": "x", "confidence": "certain"},
        {"coreIdea": "x", "needsValidation": "yes"},
        {"coreIdea": "x", "agentId": "SuYuan"},
        {"coreIdea": "x", "round": 1},
        {"finding": "x"},
    ],
)
def test_a_finding_that_is_wrong_or_forged_is_refused(
    bench: BlackboardEditor, params: dict[str, Any]
) -> None:
    if params == {"coreIdea": "…"}:
        params = {"coreIdea": "..."}
    assert do(bench, "update_finding", **params).error == "invalid_params"
    assert bench.board.findings == ()


def test_a_role_is_requested_and_not_taken(bench: BlackboardEditor) -> None:
    """S-16: a request alone."""
    assert do(bench, "transition_role", newRole="DeepAnalyst", reason="r").success
    assert (bench.agents[ADA].role, bench.agents[ADA].wanted_role) == ("EXPLORER", "DEEP_ANALYST")
    assert do(bench, "transition_role", newRole="KING", reason="r").error == "invalid_params"
    assert do(bench, "transition_role", newRole=None).error == "invalid_params"
    assert (
        do(bench, "transition_role", newRole="DEBATER", agentId="SuYuan").error == "invalid_params"
    )


@pytest.mark.parametrize(
    "updates",
    [
        {"stats.pheromoneDeposits": 99},
        {"status": "active"},
        {"internalThreshold": 0.01},
        {"roleHistory": ()},
        {"violations": ()},
        {"violationScore": 0},
        {"role": "SYNTHESIZER"},
        {"agentStates.SuYuan.status": "terminated"},
        {"pheromones.caching.concentration": 1.0},
        {"current.claimedSubtask": "subtask-of-others"},
        {"current.exploringDirection": 5},
        {"current.exploringDirection": "ok", "role": "DEBATER"},
    ],
)
def test_an_agent_sets_its_direction_and_subtask_alone(
    bench: BlackboardEditor, updates: dict[str, Any]
) -> None:
    """S-7: the source lets an agent write any path; here that is refused, and changes nothing of what else is in the update."""
    before = dict(bench.agents)
    result = do(bench, "update_agent_state", updates=updates)
    assert (result.success, result.error) == (False, "invalid_params")
    assert bench.agents == before


def test_an_agent_may_set_its_direction_and_give_back_its_subtask(bench: BlackboardEditor) -> None:
    done = do(bench, "claim_subtask", description="Measure.")
    assert do(
        bench, "update_agent_state", updates={"current.exploringDirection": "hardware"}
    ).success
    assert do(bench, "update_agent_state", updates={"current.claimedSubtask": done.target}).success
    assert (bench.agents[ADA].direction, bench.agents[ADA].subtask) == ("hardware", done.target)
    assert do(bench, "update_agent_state", updates={"current.claimedSubtask": None}).success
    assert bench.agents[ADA].subtask == ""
    assert do(bench, "update_agent_state", updates={}).error == "invalid_params"
    assert (
        do(
            bench,
            "update_agent_state",
            updates={"current.exploringDirection": "x"},
            agentId="SuYuan",
        ).error
        == "invalid_params"
    )


def test_every_operation_is_numbered_and_answered(bench: BlackboardEditor) -> None:
    """S-6: also those that nobody knows, and those of nobody."""
    results = [
        do(bench, "set_concentration", direction="x", value=1),
        do(bench, "deposit_pheromone", SeatId("ghost"), direction="x"),
        do(bench, "deposit_pheromone", direction="x"),
        bench.execute(ADA, Operation(operation="claim_subtask")),
        bench.execute(ADA, Operation(operation="\x1b[31mdeposit_pheromone\n")),
    ]
    assert [each.error for each in results] == [
        "unknown_operation",
        "agent_not_found",
        "",
        "invalid_params",
        "unknown_operation",
    ]
    assert [each.number for each in results] == [1, 2, 3, 4, 5]
    board = bench.board
    assert (board.operations, board.refused) == (1, 4)
    assert len(results[0].detail.split(", ")) == 6


def test_the_blackboard_cannot_be_flooded(bench: BlackboardEditor) -> None:
    results = [
        do(bench, "deposit_pheromone", direction=f"direction {number}") for number in range(300)
    ]
    assert sum(each.success for each in results) == 256
