"""The start of a swarm, its rounds, inhibition and roles."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.support.play_swarm import (
    SESSION,
    Says,
    SwarmRun,
    build_deposit,
    build_stop_signal,
    build_swarm_plan,
    build_valid_report,
)
from tests.support.swarm_scenes import ADA, BALLOT, BOB, BUY, CACHE, EVE, explorer, exploring, five

from moothall.domain.effects import Ask, Brief, CompareTexts, Record
from moothall.domain.facts import AsksSent, Entry, Fact, InputGiven, SessionForked, SessionResumed
from moothall.domain.groups import AnswerJudgement, AnswerJudgements
from moothall.domain.replace import fast_replace
from moothall.domain.roster import DIRECTOR, MAILBOX
from moothall.errors import BadRoster, BadSetting
from moothall.protocols.swarm import round_message
from moothall.protocols.swarm.answers import (
    Collision,
    ComparedPair,
    Operation,
    SimilarityReport,
)
from moothall.protocols.swarm.facts import (
    KINDS,
    AgentsTerminated,
    BarrierPassed,
    IdeasSorted,
    OperationsProcessed,
    RoundBegun,
    RoundSettled,
    SwarmClosed,
    SwarmCompleted,
    SwarmFormed,
    SwarmOpened,
)
from moothall.protocols.swarm.json_fields import agent_name
from moothall.protocols.swarm.plugin import open_session
from moothall.protocols.swarm.reports.files import render_blackboard
from moothall.protocols.swarm.rules import endings, operations, review, round_start
from moothall.protocols.swarm.rules.operations import BlackboardEditor
from moothall.protocols.swarm.rules.review import compare_by_words
from moothall.protocols.swarm.rules.rulebook import RULES
from moothall.protocols.swarm.state import ExecutionProgress, Swarm
from moothall.scoring.stigmergy import Diversity
from moothall_testkit.rulebook_contract import START

# Start


def test_the_snapshot_of_a_round_is_written_once_for_all_agents() -> None:
    """Its length grows with the blackboard, and every explorer reads the same one."""
    says = exploring(
        lambda ask, state: build_valid_report(state, ask.seat, "caching", f"Cache for {ask.seat}.")
    )
    run = SwarmRun(build_swarm_plan(5, platform="mailbox")).play(
        says, until=lambda state: state.round == 2 and state.stage == "explore"
    )
    asks = [
        effect
        for effect in RULES.decide(run.state)
        if isinstance(effect, Ask) and effect.kind == "explore"
    ]
    round_message._render_board.cache_clear()
    shared = {RULES.brief(run.state, ask).shared for ask in asks}
    assert (len(asks), len(shared), round_message._render_board.cache_info().misses) == (5, 1, 1)


def test_explorers_have_their_names_and_then_numbers() -> None:
    """S-2."""
    names = [agent_name(number) for number in range(1, 9)]
    assert names == [
        "TanWei",
        "SuYuan",
        "DongCha",
        "QiuSuo",
        "XiLi",
        "JianWei",
        "Explorer7",
        "Explorer8",
    ]


def test_a_swarm_has_two_to_sixty_four_explorers() -> None:
    """S-1."""
    assert len(open_session(build_swarm_plan(64)).seats) == 64
    for count in (1, 65):
        with pytest.raises(BadRoster, match="2 to 64"):
            open_session(build_swarm_plan(count))


def test_the_validator_is_a_model_where_there_is_one() -> None:
    """S-2: all explorers are equal, so that a panel's stances do not reach them."""
    plan = build_swarm_plan(2, platform="openai:gpt-5-mini")
    found = open_session(
        replace(
            plan,
            seats=tuple(
                replace(seat, stance="sceptic", instructions="Doubt.") for seat in plan.seats
            ),
        )
    )
    assert [(seat.id, seat.platform) for seat in found.seats[2:]] == [
        ("validator", "openai:gpt-5-mini")
    ]
    assert {(seat.stance, seat.instructions) for seat in found.seats} == {("", "")}
    assert [seat.id for seat in open_session(build_swarm_plan(2)).seats] == ["TanWei", "SuYuan"]


def test_moot_itself_compares_texts_by_the_chosen_measure() -> None:
    """S-8: no seat is asked; pairs that were not to be compared are left out."""
    run = SwarmRun(
        build_swarm_plan(
            3, max_rounds=1, collisions=0, vote=False, measure="words", platform="openai:m"
        )
    )

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "compare":
            assert brief.seat == DIRECTOR
            assert brief.chore == CompareTexts(
                new=tuple(f"Idea of {seat}" for seat in state.agents), nearest=12, by="words"
            )
            places = ((0, 1), (2, 1), (2, 7), (9, 0))
            return SimilarityReport(
                by="words",
                pairs=tuple(
                    ComparedPair(one=one, other=other, likeness=0.7) for one, other in places
                ),
            )
        if ask.kind == "judge":
            assert [(pair.one, pair.other) for pair in state.review.pairs] == [(2, 1)]
            return AnswerJudgements(judgements=(AnswerJudgement(pair=1, verdict="same"),))
        return build_valid_report(state, ask.seat, "x", f"Idea of {ask.seat}")

    run.play(says)
    assert [finding.idea for finding in run.state.board.findings] == [1, 2, 2]


def test_directions_belong_to_the_hybrid_mode() -> None:
    """S-1."""
    with pytest.raises(BadSetting, match="hybrid only"):
        open_session(build_swarm_plan(2, directions=("caching",)))
    with pytest.raises(BadSetting, match="needs directions"):
        open_session(build_swarm_plan(2, mode="hybrid"))
    run = SwarmRun(build_swarm_plan(2, mode="hybrid", directions=("Caching", "hardware")))
    run.step()
    found = run.state.board.pheromones
    assert {each.direction: each.concentration for each in found.values()} == {
        "Caching": 0.1,
        "hardware": 0.1,
    }


def test_thresholds_come_from_the_seed() -> None:
    """S-3: θ in [0.3, 0.6], random exploration in [0.1, 0.2]; another seed, another draw."""
    drawn = []
    for seed in (1, 1, 2):
        run = SwarmRun(build_swarm_plan(30, seed=seed))
        run.step()
        (formed,) = run.facts(SwarmFormed)
        assert all(
            0.3 <= each.threshold <= 0.6 and 0.1 <= each.random_explore <= 0.2
            for each in formed.agents
        )
        drawn.append(formed)
    assert drawn[0] == drawn[1] != drawn[2]


def test_the_same_seed_and_answers_give_the_same_blackboard_whoever_answers_first() -> None:
    """S-3: byte for byte, in whatever order the answers come in; another seed gives another run."""

    def board(seed: int, order: int) -> str:
        run = SwarmRun(
            build_swarm_plan(5, seed=seed), shuffle=lambda asks: asks[order:] + asks[:order]
        )
        says: dict[str, Says] = {
            agent_name(at): explorer(CACHE, direction=f"way {at}") for at in range(1, 6)
        }
        return render_blackboard(run.play(says).timeline)

    assert board(1, 0) == board(1, 2) == board(1, 4)
    assert board(1, 0) != board(2, 0)


# A round


def test_a_round_start_says_all_that_the_protocol_promises() -> None:
    """S-9."""
    run = SwarmRun(build_swarm_plan(3, seed=5, platform="mailbox"))

    def report(ask: Ask, state: Swarm) -> object:
        operations = (build_deposit("caching", 0.3), Operation(operation="fly"))
        return build_valid_report(state, ask.seat, "caching", CACHE, operations=operations)

    run.play(exploring(report), until=lambda state: state.round == 2 and state.stage == "explore")
    ask = next(effect for effect in RULES.decide(run.state) if isinstance(effect, Ask))
    brief = RULES.brief(run.state, ask)
    lines = [
        json.loads(line.removeprefix("| "))
        for line in brief.own.splitlines()
        if line.startswith("| {")
    ]
    found = {name: value for line in lines for name, value in line.items()}
    agent = run.state.agents[ADA]
    strength = run.state.board.pheromones["caching"].concentration
    assert found["type"] == "round_start"
    assert found["round"] == 2
    assert found["agentState"]["internalThreshold"] == agent.threshold
    assert found["decisionSupport"]["topDirections"] == [
        {
            "direction": "caching",
            "rawConcentration": round(strength, 4),
            "effectiveConcentration": round(strength, 4),
            "responseProbability": round(strength**2 / (strength**2 + agent.threshold**2), 4),
        }
    ]
    assert set(found["instructions"]) == {
        "forceRandomExplore",
        "mustSwitchDirection",
        "currentDirectionInhibited",
        "recommendedDirection",
    }
    assert [(each["success"], each.get("error")) for each in found["operationResults"]] == [
        (True, None),
        (False, "unknown_operation"),
        (True, None),
    ]
    assert "70 %" in brief.shared


def test_all_explore_at_once_and_nobody_reads_the_round_under_way() -> None:
    """S-10: one barrier; what others bring in a round is not shown before it is over."""
    run = SwarmRun(build_swarm_plan(3))
    batch = run.step()
    assert [ask.seat for ask in batch.asks] == [ADA, BOB, EVE]
    said = build_valid_report(run.state, ADA, "caching", "A secret idea.")
    before = RULES.brief(run.state, batch.asks[1])
    run.play({ADA: exploring(lambda ask, state: said)}, until=lambda state: bool(state.answered))
    assert "A secret idea." not in RULES.brief(run.state, batch.asks[1]).shared
    assert before.shared == RULES.brief(run.state, batch.asks[1]).shared


def test_an_unconfirmed_step_is_an_error() -> None:
    """S-14: the run stops with the fault on its record, and every agent is ended."""
    run = SwarmRun(build_swarm_plan(2))
    run.step()
    broken = fast_replace(run.state, stage="settle")
    (effect,) = RULES.decide(broken)
    assert isinstance(effect, Record)
    assert isinstance(effect.fact, SwarmClosed)
    assert (
        effect.fact.fault == "the step ROUND:settle_round would follow ROUND:broadcast_round_start"
    )
    after = RULES.evolve(broken, Entry(seq=9, at=START, fact=effect.fact))
    assert {agent.ended for agent in after.agents.values()} == {"graceful"}
    with pytest.raises(
        ValueError, match="after ROUND:broadcast_round_start comes ROUND:wait_responses"
    ):
        run.state.execution.with_confirmed("ROUND:settle_round")


def test_operations_that_do_not_add_up_stop_the_run() -> None:
    """S-6: requests = processed + failed, or the run stops loudly."""
    run = SwarmRun(build_swarm_plan(2))
    run.step()
    (effect,) = RULES.decide(
        fast_replace(
            run.state, board=fast_replace(run.state.board, requests=3, operations=1, refused=1)
        )
    )
    assert isinstance(effect, Record)
    assert isinstance(effect.fact, SwarmClosed)
    assert (effect.fact.reason, effect.fact.fault) == (
        "fault",
        "3 operations were requested, 1 processed, 1 refused",
    )


@pytest.mark.parametrize(
    ("change", "told"), [("lost", "2 processed, 1"), ("doubled", "4 processed, 1")]
)
def test_an_operation_that_is_lost_or_doubled_stops_the_run(change: str, told: str) -> None:
    """S-6: requests are counted as the reports come in, not by what became of them."""

    def report(ask: Ask, state: Swarm) -> object:
        operations = (build_deposit("caching"), build_deposit("", 9)) if ask.seat == ADA else ()
        return build_valid_report(state, ask.seat, "caching", CACHE, operations=operations)

    run = SwarmRun(build_swarm_plan(2, collisions=0)).play(
        exploring(report), until=lambda state: state.stage == "review"
    )
    at = next(
        at for at, entry in enumerate(run.entries) if isinstance(entry.fact, OperationsProcessed)
    )
    entry = run.entries[at]
    assert isinstance(entry.fact, OperationsProcessed)
    assert (entry.fact.requests, entry.fact.processed, entry.fact.failed) == (4, 3, 1)
    results = entry.fact.results
    wrong = results[:-1] if change == "lost" else (*results, results[-1])
    state = folded([*run.entries[:at], entry._replace(fact=replace(entry.fact, results=wrong))])
    (effect,) = RULES.decide(state)
    assert isinstance(effect, Record)
    assert isinstance(effect.fact, SwarmClosed)
    assert (effect.fact.reason, effect.fact.fault) == (
        "fault",
        f"4 operations were requested, {told} refused",
    )


def test_a_report_that_is_not_carried_out_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """S-6: also where the rulebook itself would lose one."""
    run = SwarmRun(build_swarm_plan(2, collisions=0))
    monkeypatch.setattr(operations, "run_operations", BlackboardEditor)
    run.play(exploring(lambda ask, state: build_valid_report(state, ask.seat, "caching", CACHE)))
    (closed,) = run.facts(SwarmClosed)
    assert (closed.reason, closed.fault) == (
        "fault",
        "2 operations were requested, 0 processed, 0 refused",
    )


def folded(entries: Sequence[Entry]) -> Swarm:
    first, *rest = entries
    assert isinstance(first.fact, SwarmOpened)
    state = RULES.initial(first.fact)
    for entry in rest:
        state = RULES.evolve(state, entry)
    return state


def busy() -> SwarmRun:
    """A run in which everything is computed that can be: seeds, deposits, signals, roles, violations, a lost measure, a vote."""

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "compare":
            return None
        if ask.kind != "explore":
            return {"collide": Collision(action="extend"), "ballot": BALLOT}.get(
                ask.kind, NotImplemented
            )
        number = list(state.agents).index(ask.seat)
        if number == 4 and state.round == 2:
            return None
        operations = (
            build_deposit(f"way {number % 3}", 0.29),
            build_stop_signal("way 1") if number == 3 else build_deposit("way 0", 0.07),
        )
        said = build_valid_report(
            state,
            ask.seat,
            f"way {number % 3}",
            (CACHE, BUY, f"{CACHE} Now.")[number % 3],
            operations=operations,
        )
        return replace(said, conflict_review=None) if number == 2 else said

    return SwarmRun(
        build_swarm_plan(
            5,
            mode="hybrid",
            directions=("Way 0", "way 7", "WAY 7"),
            max_rounds=7,
            platform="openai:m",
        )
    ).play(says)


def _shaken(reckon: Callable[..., Any]) -> Callable[..., Any]:
    """The same, off by one in the last bit."""

    def shaken(*args: Any, **named: Any) -> Any:
        found = reckon(*args, **named)
        if isinstance(found, Diversity):
            coverage, orthogonality, entropy, diversity = (
                math.nextafter(each, 2.0)
                for each in (found.coverage, found.orthogonality, found.entropy, found.diversity)
            )
            return replace(
                found,
                coverage=coverage,
                orthogonality=orthogonality,
                entropy=entropy,
                diversity=diversity,
            )
        return math.nextafter(found, 2.0)

    return shaken


def _compare_otherwise(compared: CompareTexts) -> SimilarityReport:
    """The same pairs, each a little less alike."""
    report = compare_by_words(compared)
    return replace(
        report, pairs=tuple(replace(pair, likeness=pair.likeness / 2) for pair in report.pairs)
    )


def test_a_run_is_told_the_same_where_figures_come_out_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """S-3, S-17: the record is what happened; another machine, or a later version, reads it and reckons nothing anew."""
    run = busy()
    before, state = render_blackboard(run.timeline), run.state
    assert {type(entry.fact) for entry in run.entries} >= {SwarmFormed, SwarmCompleted, SwarmClosed}
    assert any(fact.by == "words (fallback)" for fact in run.facts(IdeasSorted))
    assert any(fact.roles for fact in run.facts(RoundSettled))
    for module in (round_start, endings, operations):
        for name in (
            "add_deposit",
            "evaporate",
            "apply_stop_signal",
            "compute_inhibition",
            "compute_effective_concentration",
            "compute_response",
            "compute_diversity",
        ):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, _shaken(getattr(module, name)))
    monkeypatch.setattr(review, "compare_by_words", _compare_otherwise)
    monkeypatch.setattr(endings, "build_resolutions", lambda state: ())
    assert folded(run.entries) == state
    assert render_blackboard(run.timeline) == before


def test_a_step_of_other_seats_or_another_round_changes_nothing() -> None:
    """S-14."""
    run = SwarmRun(build_swarm_plan(2, collisions=0)).play(
        explorer(CACHE), until=lambda state: state.round == 2
    )
    for entry in run.entries:
        if type(entry.fact) in KINDS.values() and not isinstance(
            entry.fact, SwarmClosed | SwarmOpened
        ):
            after = RULES.evolve(run.state, Entry(seq=99, at=run.now, fact=entry.fact))
            assert (after.stage, after.board) == (run.state.stage, run.state.board)


def test_the_steps_of_the_source_are_confirmed_in_their_order() -> None:
    """S-14."""
    run = five()
    assert run.state.execution.last == "SHUTDOWN:mark_all_terminated"
    rounds = run.state.round
    assert run.state.execution.count == 4 + rounds * (6 + 3) + 1 + 4
    kinds = [
        type(entry.fact)
        for entry in run.entries
        if type(entry.fact) in {BarrierPassed, OperationsProcessed, IdeasSorted}
    ]
    assert kinds == [BarrierPassed, OperationsProcessed, IdeasSorted] * rounds
    assert not ExecutionProgress().can_confirm("ROUND:broadcast_round_start")


def test_settlement_goes_in_its_order() -> None:
    """S-14: evaporation, expired signals, opinions, roles, round counts."""
    run = five()
    (first, *_) = run.facts(RoundSettled)
    assert [(each.before, each.after) for each in first.evaporated] == [(0.1, 0.1)] * 5
    assert list(first.opinions.values()) == [(1,)] * 4 + [(2,)]
    assert first.counted == tuple(run.state.explorers)


def test_a_signal_takes_its_part_once_and_expires_after_five_minutes() -> None:
    """S-15: 30 % at once and never again, however many rounds it stays active; out after 5 minutes of the run's clock."""
    run = SwarmRun(build_swarm_plan(3, max_rounds=8, collisions=0), seconds=60)

    def report(ask: Ask, state: Swarm) -> object:
        operations = {1: (build_deposit("caching", 0.3),), 2: (build_stop_signal("caching"),)}.get(
            state.round, ()
        )
        if ask.seat != ADA and state.round == 2:
            operations = ()
        return build_valid_report(state, ask.seat, "caching", CACHE, operations=operations)

    run.play(exploring(report))
    changes = [
        each["after"] / each["before"]
        for each in run.timeline.events
        if each["type"] == "pheromone_stopped"
    ]
    assert changes == [pytest.approx(0.7)]
    settled = {fact.round: fact.expired for fact in run.facts(RoundSettled)}
    assert [number for number, expired in settled.items() if expired == ("signal-1",)] == [7]


def test_time_without_a_process_is_not_the_runs_time() -> None:
    """S-15: the run's clock stands still while nobody runs the session."""
    run = SwarmRun(build_swarm_plan(2))
    run.step()
    before = run.state.clock
    run.seconds = 10_000
    run.step(SessionResumed())
    assert run.state.clock == before
    run.step(InputGiven(text="x"))
    assert run.state.clock == before


@pytest.mark.parametrize(
    "stray",
    [InputGiven(text="x"), SessionForked(source=SESSION, entry=9, swaps=())],
    ids=["input", "fork"],
)
def test_a_day_between_is_nobodys_time(stray: Fact) -> None:
    """S-15, S-23: what another process writes a day later neither ends signals nor makes agents silent."""

    def report(ask: Ask, state: Swarm) -> object:
        operations = (
            (build_deposit("caching", 0.3), build_stop_signal("caching"))
            if state.round == 1
            else ()
        )
        return build_valid_report(state, ask.seat, "caching", CACHE, operations=operations)

    run = SwarmRun(build_swarm_plan(3, max_rounds=4, collisions=0))
    run.play(exploring(report), until=lambda state: state.round == 2)
    before = run.state.clock
    run.now += timedelta(days=1)
    run.step(stray, SessionResumed())
    assert run.state.clock == before
    run.play(exploring(report))
    assert not [seat for fact in run.facts(RoundSettled) for seat in fact.expired]
    assert {reason for fact in run.facts(AgentsTerminated) for reason in fact.ends.values()} == {
        "graceful"
    }


def test_waiting_for_agents_elsewhere_counts_no_longer_than_a_round_waits() -> None:
    """S-15: they may take their time, but a day in which nobody was there is no day of the run."""
    run = SwarmRun(build_swarm_plan(2, platform=MAILBOX, round_timeout=30.0))
    run.step()
    assert run.state.pending
    put = AsksSent(asks=tuple(run.state.pending), outside=True)
    state = RULES.evolve(run.state, Entry(seq=20, at=run.now, fact=put))
    before = state.clock
    soon, late = run.now + timedelta(seconds=10), run.now + timedelta(days=1)
    state = RULES.evolve(state, Entry(seq=21, at=soon, fact=InputGiven(text="x")))
    assert state.clock == before + 10
    state = RULES.evolve(state, Entry(seq=22, at=late, fact=InputGiven(text="y")))
    assert state.clock == before + 40


# Inhibition and roles


def test_an_inhibited_direction_must_be_left_below_the_threshold() -> None:
    """S-15: effective S = S × (1 − strength); below θ the agent must switch, and is not sent back there."""
    run = SwarmRun(build_swarm_plan(3, random_exploration=False, protection=False, collisions=0))

    def report(ask: Ask, state: Swarm) -> object:
        if state.round == 1:
            return build_valid_report(
                state,
                ask.seat,
                "caching",
                CACHE,
                operations=(build_deposit("caching", 0.1), build_deposit("hardware", 0.1)),
            )
        operations = (build_stop_signal("caching"),) if state.round == 2 and ask.seat == ADA else ()
        return build_valid_report(state, ask.seat, "caching", CACHE, operations=operations)

    run.play(exploring(report), until=lambda state: state.round == 3 and state.stage == "explore")
    orders = run.facts(RoundBegun)[-1].orders
    assert all(
        order.must_switch and order.inhibited and order.recommended == "hardware"
        for order in orders
    )


def test_a_strong_direction_inhibits_by_chance_only() -> None:
    """S-15: above θ an agent is inhibited with the probability 1 − P(S, θ)."""
    run = SwarmRun(build_swarm_plan(40, random_exploration=False, protection=False, collisions=0))

    def report(ask: Ask, state: Swarm) -> object:
        operations: tuple[Operation, ...] = (build_deposit("caching", 0.3),)
        if state.round == 2 and ask.seat == ADA:
            operations = (*operations, build_stop_signal("caching"))
        return build_valid_report(
            state, ask.seat, "caching", f"Idea of {ask.seat}", operations=operations
        )

    run.play(exploring(report), until=lambda state: state.round == 3 and state.stage == "explore")
    orders = run.facts(RoundBegun)[-1].orders
    left = run.state.board.pheromones["caching"].concentration * 0.7
    for order in orders:
        assert order.must_switch == (left < run.state.agents[order.seat].threshold)
    free = [order for order in orders if not order.must_switch]
    assert 0 < sum(order.inhibited for order in free) < len(free)


def test_roles_follow_their_rules() -> None:
    """S-16: strong pheromone and three deposits, a stop signal, two rounds; in that order, drawn by the seed."""
    run = SwarmRun(build_swarm_plan(20, max_rounds=4, protection=False, collisions=0, seed=3))

    def report(ask: Ask, state: Swarm) -> object:
        operations: tuple[Operation, ...] = ()
        if ask.seat == ADA:
            operations = (build_deposit("caching", 0.3),) * 3
        if ask.seat == BOB and state.round == 1:
            operations = (build_deposit("hardware"), build_stop_signal("hardware"))
        return build_valid_report(
            state, ask.seat, "caching", f"Idea of {ask.seat}", operations=operations
        )

    run.play(exploring(report))
    roles = {role.seat: role for fact in run.facts(RoundSettled) for role in fact.roles}
    assert (roles[BOB].new, roles[BOB].round, roles[BOB].probability) == ("DEBATER", 1, 1.0)
    assert roles[ADA].new == "DEEP_ANALYST"
    others = [role for seat, role in roles.items() if seat not in {ADA, BOB}]
    assert {role.new for role in others} == {"SYNTHESIZER"}
    assert {role.round for role in others} <= {3, 4}
    assert all(role.drawn < role.probability for role in roles.values())
    agent = run.state.agents[BOB]
    assert (agent.role, [change.new for change in agent.role_history]) == ("DEBATER", ["DEBATER"])


def test_a_requested_role_is_granted_when_the_rule_allows_it() -> None:
    """S-16."""
    run = SwarmRun(
        build_swarm_plan(3, max_rounds=2, collisions=0, protection=False, platform="mailbox")
    )

    def report(ask: Ask, state: Swarm) -> object:
        wanted = "DEBATER" if ask.seat == ADA else "DEEP_ANALYST"
        operations = [
            Operation(operation="transition_role", params={"newRole": wanted, "reason": "r"})
        ]
        if ask.seat == ADA:
            operations = [build_deposit("caching"), build_stop_signal("caching"), *operations]
        return build_valid_report(state, ask.seat, "caching", CACHE, operations=tuple(operations))

    run.play(exploring(report), until=lambda state: state.round == 2 and state.stage == "explore")
    (settled,) = run.facts(RoundSettled)
    assert [(role.seat, role.new, role.reason) for role in settled.roles] == [
        (ADA, "DEBATER", "requested")
    ]
    assert settled.refused == (BOB, EVE)
    asks = [effect for effect in RULES.decide(run.state) if isinstance(effect, Ask)]
    assert "EXPLORER → DEBATER" in RULES.brief(run.state, asks[0]).own
    assert "was not granted" in RULES.brief(run.state, asks[1]).own
