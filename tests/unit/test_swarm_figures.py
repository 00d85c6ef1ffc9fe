"""The figures of any reported run follow from its blackboard.json by a few lines of arithmetic (S-17, S-18, S-20, S-28)."""

import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.support.play_swarm import (
    ABSTAINS,
    Says,
    SwarmRun,
    build_deposit,
    build_swarm_plan,
    build_valid_report,
)

from moothall.domain.effects import Ask, Brief
from moothall.domain.groups import AnswerJudgement, AnswerJudgements
from moothall.errors import BadSetting
from moothall.protocols.swarm.answers import Collision
from moothall.protocols.swarm.facts import VALIDATOR, ConvergenceMeasured
from moothall.protocols.swarm.json_fields import agent_name
from moothall.protocols.swarm.reports.files import render_blackboard
from moothall.protocols.swarm.reports.report import build_swarm_report, render_convergence_report
from moothall.protocols.swarm.reports.standing import compute_what_if, replay_rounds
from moothall.protocols.swarm.state import Swarm
from moothall.reports.page import render_page
from moothall.reports.plain_text import render_markdown

IDEAS = ("Cache it.", "Cache it now.", "Buy machines.", "Rewrite all of it.", "不要缓存。")


def figures(board: dict[str, Any], number: int) -> dict[str, Any]:
    """All figures of one round, from the blackboard alone and by no code of Moot's."""
    config = board["config"]
    active = list(
        next(each["opinions"] for each in board["opinionHistory"] if each["round"] == number)
    )
    said = [each for each in board["findings"] if each["round"] <= number]

    def held(agent: str, until: int) -> set[str]:
        own = [each for each in said if each["agentId"] == agent and each["round"] <= until]
        last = max((each["round"] for each in own), default=0)
        return {
            idea
            for each in own
            if each["round"] == last
            for idea in (each["idea"], *each["alsoBacks"])
        }

    def union(until: int) -> set[str]:
        agents = [
            agent
            for each in board["opinionHistory"]
            if each["round"] == until
            for agent in each["opinions"]
        ]
        return {idea for agent in agents for idea in held(agent, until)}

    born: dict[str, int] = {}
    since: dict[tuple[str, str], int] = {}
    for each in said:
        for idea in (each["idea"], *each["alsoBacks"]):
            born[idea] = min(born.get(idea, each["round"]), each["round"])
            since[idea, each["agentId"]] = min(
                since.get((idea, each["agentId"]), each["round"]), each["round"]
            )
    backers: dict[str, list[str]] = {}
    for agent in active:
        for idea in held(agent, number):
            if config["quorum"] == "all" or since[idea, agent] == born[idea]:
                backers.setdefault(idea, []).append(agent)
    rate = (
        max((len(seats) / len(active) for seats in backers.values()), default=0.0)
        if active
        else 0.0
    )
    last: dict[str, float] = {}
    for event in board["events"]:
        if event["round"] <= number and event["type"].startswith("pheromone_"):
            if event["type"] == "pheromone_protected" and event["round"] == number:
                continue
            last[event["direction"]] = event["after"]
    total = sum(last.values())
    shares = [value / total for value in last.values() if value] if total else []
    entropy = (
        -sum(share * math.log2(share) for share in shares) / math.log2(max(len(last), 2))
        if total
        else 0.0
    )
    views = {each["perspective"].casefold() for each in said if each["perspective"]}
    parts = (
        min(len(views) / 6, 1),
        len({each["idea"] for each in said}) / max(len(said), 1),
        entropy,
    )
    diversity = sum(parts) / 3
    sets = (
        [union(at) for at in range(number - config["beta"] + 1, number + 1)]
        if number >= config["beta"]
        else []
    )
    stable = bool(sets) and bool(sets[-1]) and all(each == sets[-1] for each in sets)
    converged = (
        number >= config["minRounds"]
        and stable
        and rate >= config["quorumThreshold"] - 1e-9
        and diversity >= config["minDiversity"] - 1e-9
        and not (rate > config["maxConsensus"] and number < config["fastBefore"])
    )
    return {"rate": rate, "diversity": diversity, "stable": stable, "converged": converged}


@settings(
    max_examples=30,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.data())
def test_the_figures_of_a_run_can_be_reckoned_from_its_blackboard(data: st.DataObject) -> None:
    """S-17, S-20: convergence is claimed exactly when they hold."""
    plan = build_swarm_plan(
        data.draw(st.integers(2, 6)),
        seed=data.draw(st.integers(0, 9)),
        max_rounds=data.draw(st.integers(2, 7)),
        quorum=data.draw(st.sampled_from(("all", "all", "independent"))),
        beta=data.draw(st.sampled_from((2, 2, 3))),
    )
    tastes = st.sampled_from((IDEAS[:1], IDEAS[:1], IDEAS[:2], IDEAS[2:3], IDEAS[3:], ()))
    steady: dict[str, tuple[str, ...]] = {}

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "collide":
            return Collision(action="pass")
        if ask.kind == "ballot":
            return ABSTAINS
        if ask.kind != "explore":
            return NotImplemented
        if data.draw(st.integers(0, 11)) == 11:
            return None
        if ask.seat not in steady or data.draw(st.integers(0, 5)) == 5:
            steady[ask.seat] = data.draw(tastes)
        amount = data.draw(st.sampled_from((0.1, 0.3)))
        way = data.draw(st.sampled_from(("a", "b", "c")))
        agrees = data.draw(
            st.sampled_from(
                ((), (), (), ("idea-1",), ("Cache it.", "idea-2"), ("finding-002", "nobody"))
            )
        )
        operations = (build_deposit(way, amount),)
        return build_valid_report(
            state, ask.seat, way, *steady[ask.seat], operations=operations, agrees_with=agrees
        )

    run = SwarmRun(plan).play(says)
    board = json.loads(render_blackboard(run.timeline))
    for measured in board["convergence"]:
        found = figures(board, measured["round"])
        assert found == {
            "rate": pytest.approx(measured["quorum"]["consensusRate"]),
            "diversity": pytest.approx(measured["diversity"]["overall"]),
            "stable": measured["betaStability"]["stable"],
            "converged": measured["converged"],
        }
    assert board["result"]["converged"] == (
        bool(board["convergence"]) and board["convergence"][-1]["converged"]
    )
    measures = run.facts(ConvergenceMeasured)
    again = replay_rounds(run.timeline, {})
    assert [each.converged for each in again.rounds] == [each.converged for each in measures]
    assert [each.diversity for each in again.rounds] == [each.diversity for each in measures]


def joined_run() -> SwarmRun:
    texts = ("Serve it from a cache at the edge", "Serve it from a cache at the edge now")
    says: dict[str, Says] = {}
    for at in range(1, 6):
        mine = texts[at % 2] if at < 5 else "Buy machines."

        def report(ask: Ask, brief: Brief, state: Swarm, mine: str = mine) -> object:
            if ask.kind == "explore":
                return build_valid_report(
                    state,
                    ask.seat,
                    f"way {ask.seat}",
                    mine,
                    operations=(build_deposit(f"way {ask.seat}"),),
                )
            return ABSTAINS if ask.kind == "ballot" else NotImplemented

        says[agent_name(at)] = report

    def judge(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind != "judge":
            return NotImplemented
        pairs = [
            {state.review.texts[pair.one], state.review.texts[pair.other]} == set(texts)
            for pair in state.review.pairs
        ]
        return AnswerJudgements(
            judgements=tuple(
                AnswerJudgement(pair=at, verdict="same" if same else "different")
                for at, same in enumerate(pairs, 1)
            )
        )

    return SwarmRun(build_swarm_plan(5, collisions=0, platform="openai:m")).play(
        {**says, VALIDATOR: judge}
    )


def test_a_join_can_be_undone_and_the_figures_reckoned_anew() -> None:
    """S-8: reversible, from the record."""
    run = joined_run()
    timeline = run.timeline
    assert [join.id for join in timeline.joins] == ["join-1"]
    assert compute_what_if(timeline).rounds[-1].converged
    apart = compute_what_if(timeline, ["join-1"])
    last = apart.rounds[-1]
    assert (last.converged, last.reason) == (False, "no_quorum")
    assert last.consensus_rate == pytest.approx(0.4)
    for text in (
        render_markdown(build_swarm_report(timeline, ["join-1"])),
        render_page(build_swarm_report(timeline, ["join-1"])),
        render_convergence_report(timeline, ["join-1"]),
    ):
        assert "RECKONED ANEW" in text
        assert "PARTIAL" in text
    assert "RECKONED" not in render_markdown(build_swarm_report(timeline))
    with pytest.raises(BadSetting, match="there is no join 'join-9'; known: join-1"):
        compute_what_if(timeline, ["join-9"])
