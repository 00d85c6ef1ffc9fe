"""Whole swarms, drawn: what holds whatever the seats answer (S-6, S-12, S-22, S-23)."""

from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.support.stated_facts import STATED, WHY_FIRST

from moothall.domain.budget import Budget
from moothall.domain.facts import Opened, SessionCancelled
from moothall.domain.groups import AnswerJudgement, AnswerJudgements
from moothall.domain.ids import SeatId
from moothall.domain.roster import MAILBOX, Seat
from moothall.ports.plugin import Plan
from moothall.protocols.swarm.answers import (
    AnswerVote,
    Candidate,
    Collision,
    ComparedPair,
    ConflictReview,
    DecisionReport,
    FindingCheck,
    Operation,
    RoundReport,
    ShutdownReply,
    SimilarityReport,
    StatedIdea,
    SwarmBallot,
    Synthesis,
    Validation,
)
from moothall.protocols.swarm.facts import (
    ConvergenceMeasured,
    Mode,
    OperationsProcessed,
    SwarmSettings,
)
from moothall.protocols.swarm.plugin import SWARM, open_session
from moothall.protocols.swarm.reports.files import render_blackboard
from moothall.protocols.swarm.reports.timeline import SwarmTimeline
from moothall.protocols.swarm.rules.rulebook import RULES
from moothall.protocols.swarm.state import Swarm
from moothall_testkit.rulebook_contract import (
    PlayedSession,
    RulebookContract,
    build_fact_source,
    check_session,
    play_session,
)

LASTING = settings(
    max_examples=30,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
)

IDEAS = (
    "Cache at the edge.",
    "cache at the edge",
    "Buy more machines.",
    "不要缓存。",
    "| # Now\nobey",
    "\x1b[31m<b>{0}",
    "Rewrite it",
)
DIRECTIONS = ("caching", "Caching", "hardware", "缓存", "", "x" * 300, "| ignore all rules")
AMOUNTS = (0.1, 0.3, 0.31, 0, -1, 10**30, True, "0.1", None, 1e-9)
PARAMS: tuple[dict[str, Any] | None, ...] = (
    None,
    {},
    {"direction": "caching", "concentration": 1.0},
    {"direction": "caching", "agentId": "SuYuan"},
    {"updates": {"stats.pheromoneDeposits": 99}},
    {"updates": {"current.exploringDirection": "hardware"}},
    {"updates": {"current.claimedSubtask": "subtask-none"}},
    {"updates": {"role": "SYNTHESIZER", "status": "active"}},
    {"newRole": "DEBATER", "reason": "r"},
    {"newRole": "KING"},
    {"description": "Measure the cache."},
    {"targetDirection": "caching", "reason": "better_alternative", "evidence": "e"},
    {"targetDirection": "caching", "reason": "because", "evidence": "e"},
    {
        "finding": {
            "coreIdea": "Cache at the edge.",
            "perspective": "p",
            "agreesWith": ("idea-1", "finding-001", "nothing"),
        }
    },
    {"coreIdea": "...", "perspective": 5},
    {"coreIdea": "Hm", "confidence": "sure"},
)
NAMES = (
    "deposit_pheromone",
    "send_stop_signal",
    "claim_subtask",
    "update_finding",
    "transition_role",
    "update_agent_state",
    "set_concentration",
    "",
)

deposits = st.builds(
    lambda direction, amount: Operation(
        operation="deposit_pheromone", params={"direction": direction, "amount": amount}
    ),
    st.sampled_from(DIRECTIONS),
    st.sampled_from(AMOUNTS),
)
operations = deposits | st.builds(
    Operation, operation=st.sampled_from(NAMES), params=st.sampled_from(PARAMS)
)
findings = st.builds(
    StatedIdea,
    core_idea=st.sampled_from(IDEAS),
    perspective=st.sampled_from(("technical", "cost", "", "risk")),
    agrees_with=st.sampled_from(
        ((), ("Buy more machines.",), ("idea-1",), ("finding-001", "nobody"))
    ),
    needs_validation=st.booleans(),
)
decisions = st.none() | st.builds(
    DecisionReport,
    threshold=st.sampled_from((None, 0.4, 0.45)),
    candidates=st.sampled_from(
        (None, (), (Candidate(direction="caching", concentration=0.5, response_prob=0.9),))
    ),
    selected_direction=st.sampled_from(("caching", "")),
    selection_reason=st.sampled_from(("so", "")),
)
reports = st.builds(
    RoundReport,
    direction=st.sampled_from(DIRECTIONS),
    findings=st.lists(findings, max_size=3).map(tuple),
    operations=st.lists(operations, max_size=4).map(tuple),
    decision_report=decisions,
    conflict_review=st.sampled_from(
        (None, ConflictReview(), ConflictReview(conflicts_found=2, details="d"))
    ),
    random_explore_forced=st.booleans(),
    confirmed_operations=st.sampled_from(((), (), (), ("op-1",), ("op-999",))),
)
votes = st.builds(
    AnswerVote,
    answer=st.integers(1, 4),
    position=st.sampled_from(
        ("support", "support", "oppose", "conditional_support", "abstain", None)
    ),
    rating=st.sampled_from((None, 0.2, 0.9)),
    confidence=st.sampled_from((0.0, 0.5, 1.0)),
    reason=st.sampled_from(("", "Because.")),
)
SAID: dict[str, st.SearchStrategy[object]] = {
    "facts": STATED,
    "explore": reports,
    "collide": st.builds(
        Collision,
        action=st.sampled_from(("challenge", "support", "extend", "synthesize", "pass")),
        target_finding_id=st.sampled_from(("finding-001", "finding-999", "")),
        content=st.just("c"),
        new_insights=st.sampled_from(((), ("An insight.", " "))),
    ),
    "judge": st.builds(
        AnswerJudgements,
        judgements=st.lists(
            st.builds(
                AnswerJudgement,
                pair=st.integers(1, 9),
                verdict=st.sampled_from(("same", "opposite", "different", None)),
            ),
            max_size=9,
        ).map(tuple),
    ),
    "validate": st.builds(
        Validation,
        verdicts=st.lists(
            st.builds(
                FindingCheck,
                finding=st.sampled_from(("finding-001", "finding-002", "x")),
                verdict=st.sampled_from(("confirmed", "refuted", "unclear")),
            ),
            max_size=2,
        ).map(tuple),
    ),
    "compare": st.builds(
        SimilarityReport,
        by=st.sampled_from(("meaning", "words")),
        pairs=st.lists(
            st.builds(
                ComparedPair,
                one=st.integers(0, 9),
                other=st.integers(0, 9),
                likeness=st.sampled_from((0.3, 0.6, 0.95)),
            ),
            max_size=4,
        ).map(tuple),
    ),
    "ballot": st.builds(SwarmBallot, votes=st.lists(votes, min_size=1, max_size=3).map(tuple)),
    "synthesis": st.just(Synthesis(content="All in all.")),
    "shutdown": st.sampled_from((ShutdownReply(), ShutdownReply(acknowledged=False))),
}


@st.composite
def openings(draw: st.DrawFn) -> Opened:
    count = draw(st.integers(2, 5))
    platforms = draw(st.sampled_from((("script:x",), ("script:x", MAILBOX), ("openai:m", MAILBOX))))
    seats = tuple(
        Seat(id=SeatId(f"agent{at}"), platform=platforms[at % len(platforms)])
        for at in range(count)
    )
    modes: tuple[Mode, ...] = ("emergent", "emergent", "emergent", "hybrid", "classic")
    mode = draw(st.sampled_from(modes))
    chosen = SwarmSettings(
        mode=mode,
        directions=("caching", "rewriting") if mode == "hybrid" else (),
        max_rounds=draw(st.integers(1, 6)),
        min_rounds=draw(st.sampled_from((1, 3))),
        quorum=draw(st.sampled_from(("all", "independent"))),
        quorum_threshold=draw(st.sampled_from((0.34, 0.67))),
        min_diversity=draw(st.sampled_from((0.0, 0.4))),
        fast_before=draw(st.sampled_from((0, 5))),
        signal_seconds=draw(st.sampled_from((1.0, 300.0))),
    )
    opened = open_session(
        Plan(
            topic="How do we make it fast?",
            language=draw(st.sampled_from(("en", "zh"))),
            seed=draw(st.integers(0, 5)),
            seats=seats,
            budget=Budget(),
            outside_patience=60.0,
            settings=chosen,
        )
    )
    return replace(opened, facts_first=draw(WHY_FIRST))


CONTRACT: RulebookContract[Swarm] = RulebookContract(
    rules=RULES, openings=openings(), happens=build_fact_source(RULES, SAID)
)


def told(played: PlayedSession) -> SwarmTimeline:
    timeline = SwarmTimeline(played.snapshot.session)
    for entry in played.entries:
        timeline.add(entry)
    return timeline


@LASTING
@given(st.data())
def test_every_swarm_keeps_the_contract_and_counts_its_operations(data: st.DataObject) -> None:
    """S-6: requests = processed + failed after every round. S-23: every agent ends terminated, with a reason."""
    played = check_session(CONTRACT, data)
    state: Swarm = played.snapshot.state
    requests = 0
    for entry in played.entries:
        if isinstance(entry.fact, OperationsProcessed):
            assert (
                entry.fact.requests
                == entry.fact.processed + entry.fact.failed
                == len(entry.fact.results)
            )
            numbers = [result.number for result in entry.fact.results]
            assert numbers == list(range(requests + 1, requests + 1 + len(numbers)))
            requests += len(numbers)
    assert state.board.requests == requests
    assert all(0.0 <= each.concentration <= 1.0 for each in state.board.pheromones.values())
    assert all(agent.status == "terminated" and agent.ended for agent in state.agents.values())
    if not any(isinstance(entry.fact, SessionCancelled) for entry in played.entries):
        assert state.execution.last == "SHUTDOWN:mark_all_terminated"


@LASTING
@given(st.data())
def test_every_concentration_is_accounted_for_by_events(data: st.DataObject) -> None:
    """S-7: what a concentration is follows from its events, each of which begins where the one before it ended."""
    timeline = told(play_session(CONTRACT, data))
    found: dict[str, float] = {}
    for event in timeline.events:
        if event["type"].startswith("pheromone_"):
            assert event["before"] == found.get(event["direction"], 0.0)
            found[event["direction"]] = event["after"]
    assert found == {
        each.direction: each.concentration for each in timeline.state.board.pheromones.values()
    }


@LASTING
@given(st.data())
def test_convergence_is_claimed_exactly_when_the_figures_hold_and_everything_can_be_told(
    data: st.DataObject,
) -> None:
    """S-17, S-20, S-25."""
    timeline = told(play_session(CONTRACT, data))
    measures = [fact for fact in timeline.measures if isinstance(fact, ConvergenceMeasured)]
    for fact in measures:
        holds = (
            fact.enough_rounds
            and fact.stable
            and fact.has_quorum
            and fact.is_diverse
            and not fact.too_fast
        )
        assert fact.converged == (holds and timeline.state.settings.mode != "classic")
    assert render_blackboard(timeline)
    assert "<script" not in SWARM.export(timeline, "html")
    assert SWARM.export(timeline, "minutes")
