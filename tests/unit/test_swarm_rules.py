"""The rulebook of a swarm: facts in, effects out (S-1 … S-29)."""

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

from moot.domain.effects import Ask, Brief, Record
from moot.domain.facts import AsksPut, BudgetExhausted, CloseCalled, Entry, Fact, InputGiven, SessionForked, SessionResumed
from moot.domain.ids import SeatId
from moot.domain.replace import fast_replace
from moot.domain.roster import MAILBOX, Seat
from moot.errors import BadRoster, BadSetting
from moot.protocols.swarm.answers import (
    Candidate,
    Collision,
    ComparedPair,
    FindingCheck,
    IdeaVote,
    Operation,
    RoundReport,
    ShutdownReply,
    SimilarityReport,
    SwarmBallot,
    Synthesis,
    Validation,
)
from moot.protocols.swarm.facts import (
    KINDS,
    AgentsTerminated,
    BarrierPassed,
    Compared,
    ConvergenceMeasured,
    IdeasSorted,
    OperationsProcessed,
    RoundBegun,
    RoundSettled,
    ShutdownNoticed,
    SwarmClosed,
    SwarmCompleted,
    SwarmFormed,
    SwarmOpened,
)
from moot.protocols.swarm.plugin import open_session
from moot.protocols.swarm.prompt_text import agent_name
from moot.protocols.swarm.records.blackboard import render_blackboard
from moot.protocols.swarm.reports.timeline import build_decision
from moot.protocols.swarm.rules import compliance, convergence, ideas, operations, round_start, rulebook, settle_round, shutdown
from moot.protocols.swarm.rules.execution import ExecutionProgress
from moot.protocols.swarm.rules.operations import BlackboardEditor
from moot.protocols.swarm.rules.rulebook import RULES
from moot.protocols.swarm.state import Swarm
from moot.scoring.stigmergy import Diversity
from moot.testing.rulebook_contract import START

ADA, BOB, EVE = SeatId("TanWei"), SeatId("SuYuan"), SeatId("DongCha")
CACHE, BUY = "Put a cache at the edge.", "Buy faster machines."
BALLOT = SwarmBallot(votes=(IdeaVote(idea=1, position="support", confidence=0.7),))


def explorer(*ideas: str, direction: str = "caching", vote: str = "support") -> Says:
    """A seat that keeps every rule and holds the same ideas all the time."""

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore":
            return build_valid_report(state, ask.seat, direction, *ideas, operations=(build_deposit(direction),))
        if ask.kind == "collide":
            return Collision(action="pass")
        if ask.kind == "ballot":
            return SwarmBallot(votes=tuple(_vote(number, vote) for number in range(1, 4)))
        return NotImplemented

    return says


def _vote(number: int, position: str) -> IdeaVote:
    return IdeaVote(idea=number, position=position, confidence=0.8, reason="So it is.")  # type: ignore[arg-type]  # a position


def five(**chosen: Any) -> SwarmRun:
    """Five explorers, four of one mind."""
    run = SwarmRun(build_swarm_plan(5, **chosen))
    says: dict[str, Says] = {agent_name(at): explorer(CACHE, direction=f"way {at}") for at in range(1, 5)}
    return run.play({**says, agent_name(5): explorer(BUY, direction="hardware", vote="oppose")})


def exploring(report: Callable[[Ask, Swarm], object]) -> Says:
    """A seat that is told what to bring, and passes otherwise."""

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore":
            return report(ask, state)
        if ask.kind == "collide":
            return Collision(action="pass")
        return SwarmBallot() if ask.kind == "ballot" else NotImplemented

    return says


def status(run: SwarmRun, seat: str = "TanWei") -> str:
    return run.state.agents[SeatId(seat)].status


# Start


def test_explorers_have_their_names_and_then_numbers() -> None:
    """S-2."""
    names = [agent_name(number) for number in range(1, 9)]
    assert names == ["TanWei", "SuYuan", "DongCha", "QiuSuo", "XiLi", "JianWei", "Explorer7", "Explorer8"]


def test_a_swarm_has_two_to_sixty_four_explorers() -> None:
    """S-1."""
    assert len(open_session(build_swarm_plan(64)).seats) == 65
    for count in (1, 65):
        with pytest.raises(BadRoster, match="2 to 64"):
            open_session(build_swarm_plan(count))


def test_the_validator_is_a_model_where_there_is_one_and_likeness_is_always_measured() -> None:
    """S-2, S-8: all explorers are equal, so that a panel's stances do not reach them."""
    plan = build_swarm_plan(2, platform="openai:gpt-5-mini")
    found = open_session(
        replace(plan, seats=tuple(replace(seat, stance="sceptic", instructions="Doubt.") for seat in plan.seats))
    )
    assert [(seat.id, seat.platform) for seat in found.seats[2:]] == [
        ("validator", "openai:gpt-5-mini"),
        ("likeness", "measure"),
    ]
    assert {(seat.stance, seat.instructions) for seat in found.seats} == {("", "")}
    assert [seat.id for seat in open_session(build_swarm_plan(2)).seats] == ["TanWei", "SuYuan", "likeness"]


def test_a_person_explores_by_mailbox() -> None:
    """S-10: a report has lists that a terminal does not ask for field by field."""
    with pytest.raises(BadRoster, match="seat a person as mailbox"):
        open_session(build_swarm_plan(2, platform="human"))


def test_any_mind_can_take_the_seat_of_the_measure() -> None:
    """S-8: pluggable; a mind reads the ideas by their numbers."""
    plan = build_swarm_plan(3, max_rounds=1, collisions=0, vote=False)
    run = SwarmRun(replace(plan, seats=(*plan.seats, Seat(id=SeatId("likeness"), platform="openai:m"))))

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "compare":
            assert "| 0. Idea of TanWei\n| 1. Idea of SuYuan\n| 2. Idea of DongCha" in brief.own
            assert "from number 0 on" in brief.own
            assert brief.fault(SimilarityReport(by="meaning", pairs=(ComparedPair(one=0, other=1, likeness=1.0),))) is not None
            return SimilarityReport(by="meaning", pairs=(ComparedPair(one=2, other=1, likeness=0.7),))
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
    assert {each.direction: each.concentration for each in found.values()} == {"Caching": 0.1, "hardware": 0.1}


def test_thresholds_come_from_the_seed() -> None:
    """S-3: θ in [0.3, 0.6], random exploration in [0.1, 0.2]; another seed, another draw."""
    drawn = []
    for seed in (1, 1, 2):
        run = SwarmRun(build_swarm_plan(30, seed=seed))
        run.step()
        (formed,) = run.facts(SwarmFormed)
        assert all(0.3 <= each.threshold <= 0.6 and 0.1 <= each.random_explore <= 0.2 for each in formed.agents)
        drawn.append(formed)
    assert drawn[0] == drawn[1] != drawn[2]


def test_the_same_seed_and_answers_give_the_same_blackboard_whoever_answers_first() -> None:
    """S-3: byte for byte, in whatever order the answers come in; another seed gives another run."""

    def board(seed: int, order: int) -> str:
        run = SwarmRun(build_swarm_plan(5, seed=seed), shuffle=lambda asks: asks[order:] + asks[:order])
        says: dict[str, Says] = {agent_name(at): explorer(CACHE, direction=f"way {at}") for at in range(1, 6)}
        return render_blackboard(run.play(says).timeline)

    assert board(1, 0) == board(1, 2) == board(1, 4)
    assert board(1, 0) != board(2, 0)


# A round


def test_a_round_start_says_all_that_the_protocol_promises() -> None:
    """S-9."""
    run = SwarmRun(build_swarm_plan(3, seed=5))

    def report(ask: Ask, state: Swarm) -> object:
        operations = (build_deposit("caching", 0.3), Operation(operation="fly"))
        return build_valid_report(state, ask.seat, "caching", CACHE, operations=operations)

    run.play(exploring(report), until=lambda state: state.round == 2 and state.stage == "explore")
    ask = next(effect for effect in RULES.decide(run.state) if isinstance(effect, Ask))
    brief = RULES.brief(run.state, ask)
    lines = [json.loads(line.removeprefix("| ")) for line in brief.own.splitlines() if line.startswith("| {")]
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
    assert effect.fact.fault == "the step ROUND:settle_round would follow ROUND:broadcast_round_start"
    after = RULES.evolve(broken, Entry(seq=9, at=START, fact=effect.fact))
    assert {agent.ended for agent in after.agents.values()} == {"graceful"}
    with pytest.raises(ValueError, match="after ROUND:broadcast_round_start comes ROUND:wait_responses"):
        run.state.execution.with_confirmed("ROUND:settle_round")


def test_operations_that_do_not_add_up_stop_the_run() -> None:
    """S-6: requests = processed + failed, or the run stops loudly."""
    run = SwarmRun(build_swarm_plan(2))
    run.step()
    (effect,) = RULES.decide(fast_replace(run.state, board=fast_replace(run.state.board, requests=3, operations=1, refused=1)))
    assert isinstance(effect, Record)
    assert isinstance(effect.fact, SwarmClosed)
    assert (effect.fact.reason, effect.fact.fault) == ("fault", "3 operations were requested, 1 processed, 1 refused")


@pytest.mark.parametrize(("change", "told"), [("lost", "2 processed, 1"), ("doubled", "4 processed, 1")])
def test_an_operation_that_is_lost_or_doubled_stops_the_run(change: str, told: str) -> None:
    """S-6: requests are counted as the reports come in, not by what became of them."""

    def report(ask: Ask, state: Swarm) -> object:
        operations = (build_deposit("caching"), build_deposit("", 9)) if ask.seat == ADA else ()
        return build_valid_report(state, ask.seat, "caching", CACHE, operations=operations)

    run = SwarmRun(build_swarm_plan(2, collisions=0)).play(exploring(report), until=lambda state: state.stage == "review")
    at = next(at for at, entry in enumerate(run.entries) if isinstance(entry.fact, OperationsProcessed))
    entry = run.entries[at]
    assert isinstance(entry.fact, OperationsProcessed)
    assert (entry.fact.requests, entry.fact.processed, entry.fact.failed) == (4, 3, 1)
    results = entry.fact.results
    wrong = results[:-1] if change == "lost" else (*results, results[-1])
    state = folded([*run.entries[:at], entry._replace(fact=replace(entry.fact, results=wrong))])
    (effect,) = RULES.decide(state)
    assert isinstance(effect, Record)
    assert isinstance(effect.fact, SwarmClosed)
    assert (effect.fact.reason, effect.fact.fault) == ("fault", f"4 operations were requested, {told} refused")


def test_a_report_that_is_not_carried_out_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """S-6: also where the rulebook itself would lose one."""
    run = SwarmRun(build_swarm_plan(2, collisions=0))
    monkeypatch.setattr(rulebook, "run_operations", BlackboardEditor)
    run.play(exploring(lambda ask, state: build_valid_report(state, ask.seat, "caching", CACHE)))
    (closed,) = run.facts(SwarmClosed)
    assert (closed.reason, closed.fault) == ("fault", "2 operations were requested, 0 processed, 0 refused")


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
            return {"collide": Collision(action="extend"), "ballot": BALLOT}.get(ask.kind, NotImplemented)
        number = list(state.agents).index(ask.seat)
        if number == 4 and state.round == 2:
            return None
        operations = (
            build_deposit(f"way {number % 3}", 0.29),
            build_stop_signal("way 1") if number == 3 else build_deposit("way 0", 0.07),
        )
        said = build_valid_report(
            state, ask.seat, f"way {number % 3}", (CACHE, BUY, f"{CACHE} Now.")[number % 3], operations=operations
        )
        return replace(said, conflict_review=None) if number == 2 else said

    return SwarmRun(build_swarm_plan(5, mode="hybrid", directions=("Way 0", "way 7", "WAY 7"), max_rounds=7)).play(says)


def _shaken(reckon: Callable[..., Any]) -> Callable[..., Any]:
    """The same, off by one in the last bit."""

    def shaken(*args: Any, **named: Any) -> Any:
        found = reckon(*args, **named)
        if isinstance(found, Diversity):
            return Diversity(*(math.nextafter(each, 2.0) for each in found))
        return math.nextafter(found, 2.0)

    return shaken


def test_a_run_is_told_the_same_where_figures_come_out_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """S-3, S-17: the record is what happened; another machine, or a later version, reads it and reckons nothing anew."""
    run = busy()
    before, state = render_blackboard(run.timeline), run.state
    assert {type(entry.fact) for entry in run.entries} >= {SwarmFormed, SwarmCompleted, SwarmClosed}
    assert any(fact.by == "words (fallback)" for fact in run.facts(IdeasSorted))
    assert any(fact.roles for fact in run.facts(RoundSettled))
    for module in (round_start, settle_round, convergence, operations, compliance):
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
    monkeypatch.setattr(ideas, "compare_by_words", lambda compared: SimilarityReport(by="words"))
    monkeypatch.setattr(shutdown, "build_resolutions", lambda state: ())
    assert folded(run.entries) == state
    assert render_blackboard(run.timeline) == before


def test_a_step_of_other_seats_or_another_round_changes_nothing() -> None:
    """S-14."""
    run = SwarmRun(build_swarm_plan(2, collisions=0)).play(explorer(CACHE), until=lambda state: state.round == 2)
    for entry in run.entries:
        if type(entry.fact) in KINDS.values() and not isinstance(entry.fact, SwarmClosed | SwarmOpened):
            after = RULES.evolve(run.state, Entry(seq=99, at=run.now, fact=entry.fact))
            assert (after.stage, after.board) == (run.state.stage, run.state.board)


def test_the_steps_of_the_source_are_confirmed_in_their_order() -> None:
    """S-14."""
    run = five()
    assert run.state.execution.is_over
    rounds = run.state.round
    assert run.state.execution.count == 4 + rounds * (6 + 3) + 1 + 4
    kinds = [type(entry.fact) for entry in run.entries if type(entry.fact) in {BarrierPassed, OperationsProcessed, IdeasSorted}]
    assert kinds == [BarrierPassed, OperationsProcessed, IdeasSorted] * rounds
    assert not ExecutionProgress().can_confirm("ROUND:broadcast_round_start")


def test_settlement_goes_in_its_order() -> None:
    """S-14: evaporation, expired signals, opinions, roles, round counts."""
    run = five()
    (first, *_) = run.facts(RoundSettled)
    assert [(each.before, each.after) for each in first.evaporated] == [(0.1, 0.1)] * 5
    assert [each.ideas for each in first.opinions] == [(1,)] * 4 + [(2,)]
    assert first.counted == tuple(run.state.explorers)


def test_a_signal_takes_its_part_once_and_expires_after_five_minutes() -> None:
    """S-15: 30 % at once and never again, however many rounds it stays active; out after 5 minutes of the run's clock."""
    run = SwarmRun(build_swarm_plan(3, max_rounds=8, collisions=0), seconds=60)

    def report(ask: Ask, state: Swarm) -> object:
        operations = {1: (build_deposit("caching", 0.3),), 2: (build_stop_signal("caching"),)}.get(state.round, ())
        if ask.seat != ADA and state.round == 2:
            operations = ()
        return build_valid_report(state, ask.seat, "caching", CACHE, operations=operations)

    run.play(exploring(report))
    changes = [each["after"] / each["before"] for each in run.timeline.events if each["type"] == "pheromone_stopped"]
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


@pytest.mark.parametrize("stray", [InputGiven(text="x"), SessionForked(source=SESSION, at=9, swaps=())], ids=["input", "fork"])
def test_a_day_between_is_nobodys_time(stray: Fact) -> None:
    """S-15, S-23: what another process writes a day later neither ends signals nor makes agents silent."""

    def report(ask: Ask, state: Swarm) -> object:
        operations = (build_deposit("caching", 0.3), build_stop_signal("caching")) if state.round == 1 else ()
        return build_valid_report(state, ask.seat, "caching", CACHE, operations=operations)

    run = SwarmRun(build_swarm_plan(3, max_rounds=4, collisions=0))
    run.play(exploring(report), until=lambda state: state.round == 2)
    before = run.state.clock
    run.now += timedelta(days=1)
    run.step(stray, SessionResumed())
    assert run.state.clock == before
    run.play(exploring(report))
    assert not [seat for fact in run.facts(RoundSettled) for seat in fact.expired]
    assert {each.reason for fact in run.facts(AgentsTerminated) for each in fact.ends} == {"graceful"}


def test_waiting_for_agents_elsewhere_counts_no_longer_than_a_round_waits() -> None:
    """S-15: they may take their time, but a day in which nobody was there is no day of the run."""
    run = SwarmRun(build_swarm_plan(2, platform=MAILBOX, round_timeout=30.0))
    run.step()
    assert run.state.pending
    put = AsksPut(asks=tuple(run.state.pending), outside=True)
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
                state, ask.seat, "caching", CACHE, operations=(build_deposit("caching", 0.1), build_deposit("hardware", 0.1))
            )
        operations = (build_stop_signal("caching"),) if state.round == 2 and ask.seat == ADA else ()
        return build_valid_report(state, ask.seat, "caching", CACHE, operations=operations)

    run.play(exploring(report), until=lambda state: state.round == 3 and state.stage == "explore")
    orders = run.facts(RoundBegun)[-1].orders
    assert all(order.must_switch and order.inhibited and order.recommended == "hardware" for order in orders)


def test_a_strong_direction_inhibits_by_chance_only() -> None:
    """S-15: above θ an agent is inhibited with the probability 1 − P(S, θ)."""
    run = SwarmRun(build_swarm_plan(40, random_exploration=False, protection=False, collisions=0))

    def report(ask: Ask, state: Swarm) -> object:
        operations: tuple[Operation, ...] = (build_deposit("caching", 0.3),)
        if state.round == 2 and ask.seat == ADA:
            operations = (*operations, build_stop_signal("caching"))
        return build_valid_report(state, ask.seat, "caching", f"Idea of {ask.seat}", operations=operations)

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
        return build_valid_report(state, ask.seat, "caching", f"Idea of {ask.seat}", operations=operations)

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
    run = SwarmRun(build_swarm_plan(3, max_rounds=2, collisions=0, protection=False))

    def report(ask: Ask, state: Swarm) -> object:
        wanted = "DEBATER" if ask.seat == ADA else "DEEP_ANALYST"
        operations = [Operation(operation="transition_role", params={"newRole": wanted, "reason": "r"})]
        if ask.seat == ADA:
            operations = [build_deposit("caching"), build_stop_signal("caching"), *operations]
        return build_valid_report(state, ask.seat, "caching", CACHE, operations=tuple(operations))

    run.play(exploring(report), until=lambda state: state.round == 2 and state.stage == "explore")
    (settled,) = run.facts(RoundSettled)
    assert [(role.seat, role.new, role.reason) for role in settled.roles] == [(ADA, "DEBATER", "requested")]
    assert settled.refused == (BOB, EVE)
    asks = [effect for effect in RULES.decide(run.state) if isinstance(effect, Ask)]
    assert "EXPLORER → DEBATER" in RULES.brief(run.state, asks[0]).own
    assert "was not granted" in RULES.brief(run.state, asks[1]).own


# Losses


def test_a_late_agent_is_reminded_then_degraded_then_removed() -> None:
    """S-12: 1st timeout round_retry, 2nd degraded, 3rd removed; the others go on; it ends forced."""
    run = SwarmRun(build_swarm_plan(4, max_rounds=3, collisions=0))
    prompts: list[str] = []

    def late(ask: Ask, brief: Brief, state: Swarm) -> object:
        prompts.append(brief.own)
        return None

    run.play({ADA: late, **{agent_name(at): explorer(CACHE, direction=f"way {at}") for at in (2, 3, 4)}})
    changes = [(each.seat, each.old, each.new) for fact in run.facts(BarrierPassed) for each in fact.changes]
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
        return build_valid_report(state, ask.seat, "caching", CACHE) if state.lost.get(ask.seat) else "malformed"

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
    assert [(each.old, each.new, each.reason) for each in barrier.changes] == [("interrupted", "active", "recovered")]


def test_an_agent_that_stays_interrupted_is_degraded_after_its_two_minutes() -> None:
    """S-12: three pings within 120 s, then degraded; after that its next failure removes it."""
    run = SwarmRun(build_swarm_plan(4, max_rounds=3, collisions=0))
    run.play({ADA: exploring(lambda ask, state: "error"), **{agent_name(at): explorer(CACHE) for at in (2, 3, 4)}})
    asks = [(ask.id, ask.patience) for ask in run.asks if ask.seat == ADA]
    assert [patience for _, patience in asks] == [120.0, 40.0, 40.0, 40.0, 120.0]
    changes = [(each.old, each.new) for fact in run.facts(BarrierPassed) for each in fact.changes]
    assert changes == [("interrupted", "degraded"), ("degraded", "removed")]


def test_a_silent_agent_is_woken_and_then_degraded() -> None:
    """S-12: after 2 rounds of silence force_wake with forced random exploration; after 3 failed wakes degraded."""
    run = SwarmRun(build_swarm_plan(4, max_rounds=8, collisions=0, random_exploration=False, protection=False))

    def silent(ask: Ask, state: Swarm) -> object:
        return build_valid_report(state, ask.seat, "caching")

    says: dict[str, Says] = {agent_name(at): explorer(f"Idea {at}", direction=f"way {at}") for at in (2, 3, 4)}
    run.play({ADA: exploring(silent), **says})
    woken = [fact.round for fact in run.facts(RoundBegun) for order in fact.orders if order.wake and order.seat == ADA]
    assert woken[:3] == [3, 4, 5]
    assert all(order.random for fact in run.facts(RoundBegun) for order in fact.orders if order.wake)
    changes = [(fact.round, each.new, each.reason) for fact in run.facts(BarrierPassed) for each in fact.changes]
    assert changes == [(5, "degraded", "prolonged_silence")]


def test_a_woken_agent_that_speaks_is_as_before() -> None:
    """S-12."""
    run = SwarmRun(build_swarm_plan(3, max_rounds=4, collisions=0, random_exploration=False, protection=False))

    def sleepy(ask: Ask, state: Swarm) -> object:
        return build_valid_report(state, ask.seat, "caching", *([CACHE] if state.orders[ADA].wake else []))

    run.play({ADA: exploring(sleepy), BOB: explorer(BUY), EVE: explorer("Rewrite it all.")})
    agent = run.state.agents[ADA]
    assert (agent.silence, agent.wakes, agent.ended) == (1, 0, "graceful")


def test_a_round_that_loses_more_than_half_is_degraded_and_the_run_ends_when_one_is_left() -> None:
    """S-12: fewer than 2 active: an early end with a report of what there is."""
    run = SwarmRun(build_swarm_plan(3, collisions=0))
    run.play({ADA: explorer(CACHE), BOB: exploring(lambda ask, state: None), EVE: exploring(lambda ask, state: None)})
    (barrier,) = run.facts(BarrierPassed)
    assert barrier.is_degraded
    closed = run.facts(SwarmClosed)[0]
    assert (closed.reason, closed.converged, closed.rounds) == ("insufficient_active_agents", False, 1)
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
            return build_valid_report(state, ask.seat, f"way {ask.seat}", f"Idea of {ask.seat}", perspective="cost")
        return NotImplemented

    run.play(says)
    asked = [ask for ask in run.asks if ask.kind == "collide"]
    assert len(asked) == 3
    reviewed = [finding for finding in run.state.board.findings if finding.reviews]
    assert sum(len(finding.reviews) for finding in reviewed) == 3
    assert all(finding.weight == 1.5 * len(finding.reviews) for finding in reviewed)
    assert all(review.mode == "review_challenge" and review.insights for each in reviewed for review in each.reviews)
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
    assert len(run.state.review.invitations) == 2, "all are on one direction: no more than two collide there"


def test_a_synthesizer_that_is_idle_makes_an_early_synthesis_and_the_busy_do_not_collide() -> None:
    """S-13."""
    run = SwarmRun(build_swarm_plan(4, max_rounds=5, random_exploration=False, protection=False, seed=2))

    def report(ask: Ask, state: Swarm) -> object:
        claim = Operation(operation="claim_subtask", params={"description": f"Part of {ask.seat}"})
        operations = (claim,) if ask.seat in {ADA, BOB} else ()
        return build_valid_report(state, ask.seat, f"way {ask.seat}", f"Idea of {ask.seat}", operations=operations)

    run.play(exploring(report))
    seats = {ask.seat for ask in run.asks if ask.kind == "collide"}
    assert seats == {EVE, SeatId("QiuSuo")}
    modes = {event["mode"] for event in run.timeline.events if event["type"] == "collision" and event["round"] > 3}
    assert modes == {"early_synthesis"}


def test_one_finding_is_too_few_to_collide_with() -> None:
    """S-13: at least 2 findings."""
    run = colliding()
    run.play(exploring(lambda ask, state: build_valid_report(state, ask.seat, "caching", *([CACHE] if ask.seat == ADA else []))))
    assert [ask for ask in run.asks if ask.kind == "collide"] == []


def test_the_validator_checks_what_needs_it() -> None:
    """S-2, S-27: it explores nothing, and its verdict stands beside the finding."""
    plan = build_swarm_plan(2, max_rounds=1, collisions=0)
    run = SwarmRun(replace(plan, seats=(*plan.seats, Seat(id=SeatId("validator"), platform="script:x"))))

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
            return replace(report, findings=(replace(report.findings[0], needs_validation=ask.seat == ADA),))
        return NotImplemented

    run.play(says)
    assert [(each.verdict, each.checked) for each in run.state.board.findings] == [("refuted", "It is not so."), (None, "")]
    assert {ask.kind for ask in run.asks if ask.seat == "validator"} == {"validate"}


# Ideas


def test_ideas_are_joined_by_words_by_agreement_and_by_measure() -> None:
    """S-8: and the record says which, and why."""
    run = SwarmRun(build_swarm_plan(5, max_rounds=1, collisions=0))
    texts = (CACHE, "put a CACHE at the edge", "An edge cache it is.", "Own words entirely.", "Never put a cache at the edge.")

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "compare":
            assert brief.comparing.known == ()
            assert brief.comparing.new == (texts[0], texts[2], texts[4])
            pairs = (ComparedPair(one=1, other=0, likeness=0.8), ComparedPair(one=2, other=0, likeness=0.9, opposed=True))
            return SimilarityReport(by="meaning", pairs=pairs)
        if ask.kind == "explore":
            at = state.explorers.index(ask.seat)
            return build_valid_report(state, ask.seat, "caching", texts[at], agrees_with=(CACHE,) if at == 3 else ())
        return NotImplemented

    run.play(says)
    (found,) = run.facts(IdeasSorted)
    assert [(each.text, each.idea, each.reason, each.likeness) for each in found.placed] == [
        (texts[0], 1, "new", None),
        (texts[2], 1, "measure", 0.8),
        (texts[3], 1, "agreesWith", None),
        (texts[4], 2, "new", None),
    ]
    assert [each.idea for each in run.state.board.findings] == [1, 1, 1, 1, 2]
    assert [(join.id, join.placed.like) for join in run.timeline.joins] == [("join-1", CACHE), ("join-2", CACHE)]


def test_no_chain_of_likenesses_joins() -> None:
    """S-8: a text is one with an idea when it is like that idea's first text, never by way of another that was joined to it."""
    run = SwarmRun(build_swarm_plan(3, max_rounds=1, collisions=0, vote=False))
    texts = ("Raise the price.", "Change the price.", "Lower the price.")

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "compare":
            near = (ComparedPair(one=1, other=0, likeness=0.8), ComparedPair(one=2, other=1, likeness=0.8))
            return SimilarityReport(by="meaning", pairs=(*near, ComparedPair(one=2, other=0, likeness=0.9, opposed=True)))
        return build_valid_report(state, ask.seat, "price", texts[state.explorers.index(ask.seat)])

    run.play(says)
    (found,) = run.facts(IdeasSorted)
    assert [(each.idea, each.reason) for each in found.placed] == [(1, "new"), (1, "measure"), (2, "new")]


def test_a_measure_that_is_lost_is_replaced_by_words_and_that_is_said() -> None:
    """S-8."""
    run = SwarmRun(build_swarm_plan(2, max_rounds=1, collisions=0, vote=False))

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "compare":
            return "error"
        return build_valid_report(state, ask.seat, "caching", "Put a cache at the edge now" if ask.seat == ADA else CACHE)

    run.play(says)
    (found,) = run.facts(IdeasSorted)
    assert found.by == "words (fallback)"
    assert "measure_lost" in {event["type"] for event in run.timeline.events}
    assert run.facts(Compared) == []


def test_ideas_that_are_to_stay_apart_do() -> None:
    """S-8: reversible; a setting keeps an idea to itself."""
    run = SwarmRun(build_swarm_plan(2, max_rounds=1, collisions=0, vote=False, apart=("An edge cache it is.",)))
    texts = {ADA: CACHE, BOB: "An edge cache it is."}

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        assert ask.kind != "compare", "there is nothing left to compare"
        return build_valid_report(state, ask.seat, "caching", texts[ask.seat], agrees_with=(CACHE,) if ask.seat == BOB else ())

    run.play(says)
    assert [each.idea for each in run.state.board.findings] == [1, 2]


def test_what_an_agent_leaves_out_it_no_longer_holds() -> None:
    """S-17: an opinion is what the last report with findings says; a silent round changes nothing."""
    run = SwarmRun(build_swarm_plan(2, max_rounds=3, collisions=0))
    says = {1: (CACHE, BUY), 2: (BUY,), 3: ()}
    run.play(exploring(lambda ask, state: build_valid_report(state, ask.seat, "x", *says[state.round])))
    assert [fact.opinions[0].ideas for fact in run.facts(RoundSettled)] == [(1, 2), (2,), (2,)]


def test_agreement_after_reading_is_told_from_agreement_before() -> None:
    """S-28: who held an idea in the round in which it first stood there is independent; whoever came later joined."""
    run = SwarmRun(build_swarm_plan(3, max_rounds=2, collisions=0, quorum="independent"))

    def report(ask: Ask, state: Swarm) -> object:
        mine = CACHE if ask.seat != EVE or state.round > 1 else BUY
        return build_valid_report(state, ask.seat, "caching", mine)

    run.play(exploring(report))
    last = run.facts(ConvergenceMeasured)[-1]
    (cache,) = last.backing
    assert (cache.backers, cache.independent) == ((ADA, BOB, EVE), (ADA, BOB))
    assert (last.consensus_rate, last.quorum_ideas) == (pytest.approx(2 / 3), ())
    assert run.state.board.ideas[0].independent == (ADA, BOB)


# Consensus


def test_four_of_five_converge_in_the_third_round_and_vote() -> None:
    """S-17, S-29: the figures, then a vote whose dissent is kept."""
    run = five(collisions=0)
    closed = run.facts(SwarmClosed)[0]
    assert (closed.reason, closed.converged, closed.rounds) == ("converged", True, 3)
    reasons = [fact.reason for fact in run.facts(ConvergenceMeasured)]
    assert reasons == ["min_rounds", "min_rounds", ""]
    decision = build_decision(run.timeline)
    assert decision.decision is not None
    assert (decision.decision.text, decision.consensus_type, decision.heads) == (CACHE, "majority", 5)
    assert [(voice.seat, voice.kind) for voice in decision.dissent] == [("XiLi", "oppose")]
    assert decision.ended_by == "converged"


def test_all_of_one_mind_is_too_fast_before_the_fifth_round() -> None:
    """S-17, S-19: protection until then: all explore at random, the first explorer debates."""
    run = SwarmRun(build_swarm_plan(5, collisions=0, seed=4))
    run.play({agent_name(at): explorer(CACHE, direction=f"way {at}") for at in range(1, 6)})
    measures = run.facts(ConvergenceMeasured)
    assert [fact.round for fact in measures if fact.converged] == [5]
    assert [fact.too_fast for fact in measures] == [True] * 4 + [False]
    assert all("diversity_warning" in fact.warnings and fact.all_random for fact in measures[:4])
    assert measures[0].debater is not None
    assert measures[0].debater.seat == ADA
    begun = run.facts(RoundBegun)
    assert all(order.random for fact in begun[1:] for order in fact.orders)


def test_a_dominant_direction_is_cut_and_the_event_says_so() -> None:
    """S-19: above 0.7, by 30 %."""
    run = SwarmRun(build_swarm_plan(4, max_rounds=2, collisions=0))

    def report(ask: Ask, state: Swarm) -> object:
        return build_valid_report(
            state, ask.seat, "caching", CACHE, perspective="cost", operations=(build_deposit("caching", 0.3),)
        )

    run.play(exploring(report))
    first, last = run.facts(ConvergenceMeasured)
    assert first.cut is not None
    assert first.cut.after == pytest.approx(first.cut.before * 0.7)
    assert last.cut is None, "nothing is protected once the run is over"
    assert [each["type"] for each in run.timeline.events if each["type"].startswith("pheromone_p")] == ["pheromone_protected"]


def test_three_rounds_without_change_are_stagnation() -> None:
    """S-19."""
    run = SwarmRun(build_swarm_plan(3, max_rounds=6, collisions=0))
    run.play({ADA: explorer(CACHE), BOB: explorer(BUY, direction="b"), EVE: explorer("Rewrite it all.", direction="c")})
    stagnant = [fact.round for fact in run.facts(ConvergenceMeasured) if "stagnation_warning" in fact.warnings]
    assert stagnant == [4, 5]


def test_the_last_round_gives_a_partial_report_without_a_claim() -> None:
    """S-20."""
    run = SwarmRun(build_swarm_plan(3, max_rounds=2, collisions=0))
    run.play({ADA: explorer(CACHE), BOB: explorer(BUY), EVE: explorer("Rewrite it all.")})
    closed = run.facts(SwarmClosed)[0]
    assert (closed.reason, closed.converged) == ("max_rounds", False)
    assert build_decision(run.timeline).decision is None


# Compliance


def liar(**changes: Any) -> Says:
    return exploring(lambda ask, state: replace(build_valid_report(state, ask.seat, "caching", CACHE), **changes))


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
    run = SwarmRun(build_swarm_plan(4, max_rounds=1, collisions=0))
    run.play({ADA: liar(**changes), **{agent_name(at): explorer(CACHE) for at in (2, 3, 4)}})
    (barrier,) = run.facts(BarrierPassed)
    assert [(each.seat, each.violation, each.severity) for each in barrier.violations] == [(ADA, violation, severity)]
    assert bool(barrier.changes) == (severity == "MAJOR")
    assert run.state.agents[ADA].score == {"MAJOR": 5, "MINOR": 3}[severity]


def test_a_lie_about_probabilities_or_the_threshold_is_found() -> None:
    """S-21: right within 0.01 of P(S, θ) by the blackboard and the agent's own threshold, whatever the report states."""
    run = SwarmRun(build_swarm_plan(4, max_rounds=3, collisions=0, random_exploration=False, protection=False))

    def lies(ask: Ask, state: Swarm) -> object:
        report = build_valid_report(state, ask.seat, "caching", CACHE, operations=(build_deposit("caching", 0.3),))
        assert report.decision_report is not None
        decision = report.decision_report
        if state.round == 2:
            lie = Candidate(direction="caching", concentration=0.9, response_prob=0.9)
            decision = replace(decision, candidates=(lie,))
        if state.round == 3:
            assert decision.threshold is not None
            decision = replace(decision, threshold=decision.threshold + 0.02)
        return replace(report, decision_report=decision)

    run.play({ADA: exploring(lies), **{agent_name(at): explorer(BUY, direction="b") for at in (2, 3, 4)}})
    found = [[each.violation for each in fact.violations] for fact in run.facts(BarrierPassed)]
    assert found == [[], ["response_prob_calculation_error"], ["response_prob_calculation_error"]]


def test_ordered_random_exploration_must_be_carried_out() -> None:
    """S-21: ordered by protection for all in the second round."""
    run = SwarmRun(build_swarm_plan(3, max_rounds=2, collisions=0))
    stubborn = exploring(lambda ask, state: replace(build_valid_report(state, ask.seat, "x", CACHE), random_explore_forced=False))
    run.play({ADA: stubborn, BOB: explorer(CACHE), EVE: explorer(CACHE)})
    last = run.facts(BarrierPassed)[-1]
    assert [(each.seat, each.violation) for each in last.violations] == [(ADA, "random_explore_not_executed")]


def test_an_incomplete_decision_report_weighs_as_the_source_says() -> None:
    """S-22: a missing threshold is MINOR, what the source does not list is a WARNING."""
    run = SwarmRun(build_swarm_plan(4, max_rounds=2, collisions=0, protection=False, random_exploration=False))

    def sloppy(ask: Ask, state: Swarm) -> object:
        report = build_valid_report(state, ask.seat, "x", CACHE)
        assert report.decision_report is not None
        missing = {"threshold": None} if state.round == 1 else {"selection_reason": " "}
        return replace(report, decision_report=replace(report.decision_report, **missing))

    run.play({ADA: exploring(sloppy), **{agent_name(at): explorer(BUY) for at in (2, 3, 4)}})
    found = [(each.violation, each.severity) for fact in run.facts(BarrierPassed) for each in fact.violations]
    assert found == [("decision_report_missing_threshold", "MINOR"), ("decision_report_missing_selectionReason", "WARNING")]
    assert run.state.agents[ADA].score == 4


def test_fifteen_points_end_an_agent_and_its_operations_find_nobody() -> None:
    """S-22: terminated for compliance_violation; S-6: agent_not_found."""
    run = SwarmRun(build_swarm_plan(4, max_rounds=4, collisions=0))

    def outlaw(ask: Ask, state: Swarm) -> object:
        return RoundReport(direction="x", operations=(build_deposit("x"),), confirmed_operations=("op-0",))

    run.play({ADA: exploring(outlaw), **{agent_name(at): explorer(CACHE, direction=f"way {at}") for at in (2, 3, 4)}})
    agent = run.state.agents[ADA]
    assert (agent.status, agent.ended) == ("terminated", "compliance_violation")
    assert agent.score >= 15
    results = [each for fact in run.facts(OperationsProcessed) for each in fact.results if each.seat == ADA]
    assert [each.error for each in results] == ["", "agent_not_found"]
    assert all(ask.turn <= 2 for ask in run.asks if ask.seat == ADA), "a terminated agent is asked for nothing"


# The end


def outside(count: int = 3, **chosen: Any) -> SwarmRun:
    return SwarmRun(build_swarm_plan(count, platform=MAILBOX, max_rounds=1, collisions=0, **chosen))


def test_agents_elsewhere_say_goodbye_and_others_are_not_troubled() -> None:
    """S-23: a notice, then a request to those elsewhere alone; whoever answers ends gracefully, whoever does not is forced."""
    run = outside()

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "shutdown":
            assert ask.patience == 20.0
            return {ADA: ShutdownReply(), BOB: None, EVE: ShutdownReply(acknowledged=False)}[ask.seat]
        return explorer(f"Idea of {ask.seat}")(ask, brief, state)

    run.play(says)
    (notice,) = run.facts(ShutdownNoticed)
    assert notice.awaited == (ADA, BOB, EVE)
    (ended,) = run.facts(AgentsTerminated)
    assert [each.reason for each in ended.ends] == ["graceful", "forced", "forced"]
    inside = five(collisions=0)
    assert [ask for ask in inside.asks if ask.kind == "shutdown"] == []


def test_an_agent_silent_for_two_minutes_is_ended_without_being_asked() -> None:
    """S-23: auto_forced."""
    run = SwarmRun(build_swarm_plan(4, platform=MAILBOX, max_rounds=2, collisions=0), seconds=50)
    run.play({ADA: exploring(lambda ask, state: None), **{agent_name(at): explorer(CACHE) for at in (2, 3, 4)}})
    assert run.state.agents[ADA].ended == "auto_forced"
    assert ADA not in run.facts(ShutdownNoticed)[0].awaited


def test_everyone_is_completed_before_the_shutdown() -> None:
    """S-23: state sync."""
    run = outside()
    run.play(explorer(CACHE), until=lambda state: state.stage == "graceful")
    assert {agent.status for agent in run.state.agents.values()} == {"completed"}
    (done,) = run.facts(SwarmCompleted)
    assert done.synced == (ADA, BOB, EVE)


@pytest.mark.parametrize("at", ["explore", "review", "vote"])
def test_a_run_that_is_called_off_keeps_what_was_brought(at: str) -> None:
    """S-12, S-26: what was reported is carried out, nothing more is asked for, all agents end."""
    run = SwarmRun(build_swarm_plan(5))
    says: dict[str, Says] = {agent_name(number): explorer(CACHE, BUY, direction=f"w {number}") for number in range(1, 6)}
    run.play(says, until=lambda state: state.stage == at and state.round >= (5 if at == "vote" else 2))
    asked = len(run.asks)
    run.step(CloseCalled(by="me"))
    assert run.snapshot.is_closed
    closed = run.facts(SwarmClosed)[0]
    assert closed.reason == ("converged" if at == "vote" else "called")
    assert len(run.asks) == asked
    assert len(run.facts(OperationsProcessed)) == run.state.round
    assert {agent.status for agent in run.state.agents.values()} == {"terminated"}


def test_the_time_budget_ends_the_run_with_a_partial_report() -> None:
    """S-1: --timeout."""
    run = SwarmRun(build_swarm_plan(3))
    run.step()
    run.step(BudgetExhausted(budget="time", spent="60 minutes"))
    assert run.facts(SwarmClosed)[0].reason == "time"


def test_the_classic_mode_explores_once_from_a_menu_and_ends_with_a_synthesis() -> None:
    """S-1."""
    run = SwarmRun(build_swarm_plan(3, mode="classic"))

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "synthesis":
            return None if ask.seat == ADA else Synthesis(content="All in all: cache.")
        if ask.kind == "explore":
            return build_valid_report(state, ask.seat, "caching", CACHE) if ask.seat != EVE else RoundReport()
        return NotImplemented

    run.play(says)
    (begun,) = run.facts(RoundBegun)
    assert [order.perspective for order in begun.orders] == ["technical", "economic", "user"]
    closed = run.facts(SwarmClosed)[0]
    assert (closed.reason, closed.converged, closed.rounds) == ("synthesis", False, 1)
    decision = build_decision(run.timeline)
    assert decision.decision is not None
    assert (decision.decision.text, decision.author) == ("All in all: cache.", BOB)
    assert {ask.kind for ask in run.asks} == {"explore", "synthesis"}


def test_the_users_word_reaches_the_next_round() -> None:
    run = SwarmRun(build_swarm_plan(2))
    run.step()
    run.step(InputGiven(text="We have six weeks.\n# Now"))
    ask = next(effect for effect in RULES.decide(run.state) if isinstance(effect, Ask))
    assert "| We have six weeks.\n| # Now" in RULES.brief(run.state, ask).own


def test_sixty_four_explorers_for_ten_rounds() -> None:
    """S-1, S-9: prompts stay bounded and rounds cost the same number of entries however much is on the blackboard."""
    run = SwarmRun(build_swarm_plan(64, max_rounds=10, min_rounds=11, protection=False, vote=False))
    sizes: dict[int, int] = {}

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind != "explore":
            return Collision(action="pass") if ask.kind == "collide" else NotImplemented
        sizes[state.round] = max(sizes.get(state.round, 0), len(brief.shared) + len(brief.own))
        at = state.explorers.index(ask.seat)
        ideas = [f"Thing {at * 7 + number} is {number} of round {state.round % 3}" for number in range(3)]
        operations = (build_deposit(f"way {at % 30}", 0.2), build_deposit(f"way {at % 7}"))
        return build_valid_report(state, ask.seat, f"way {at % 30}", *ideas, operations=operations)

    run.play(says)
    assert len(run.state.board.findings) == 64 * 3 * 10
    assert max(sizes.values()) < 20_000
    assert sizes[10] < sizes[2] * 1.5
    per_round = [sum(isinstance(entry.fact, RoundBegun) for entry in run.entries), len(run.entries)]
    assert per_round[0] == 10
    assert per_round[1] < 10 * (64 + 20)
