"""What seats that Moot asks itself are asked in a swarm, and what Moot makes of their plain answers (S-37, S-38, S-39)."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from bench.swarm.tokens import measure_swarm
from tests.support.play_swarm import SwarmRun, build_swarm_plan

from moothall.domain.effects import Ask, Brief
from moothall.domain.facts import Language
from moothall.domain.groups import AnswerJudgement, AnswerJudgements
from moothall.domain.safe_text import MARKS
from moothall.domain.topic import Topic
from moothall.errors import UnclearChoice
from moothall.protocols.swarm.answers import Collision, Synthesis
from moothall.protocols.swarm.facts import OperationsProcessed, Reported, SwarmCompleted
from moothall.protocols.swarm.plugin import SWARM
from moothall.protocols.swarm.reports.decision import build_decision
from moothall.protocols.swarm.reports.files import render_agent_report, render_operation_log
from moothall.protocols.swarm.state import Swarm
from moothall.reading.answers import read_answer
from moothall.reading.ask_back import Meant, build_small_ask
from moothall.reading.schemas import build_request_schema, build_user_prompt
from moothall_testkit.prompt_size import count_tokens

MACHINERY: Mapping[Language, tuple[str, ...]] = {
    "en": (
        "pheromone",
        "concentration",
        "deposit",
        "threshold",
        "swarm",
        "explorer",
        "blackboard",
        "stigmerg",
        "evaporat",
        "inhibit",
        "stop signal",
        "round_start",
        "force",
        "mustswitch",
        "coverfirst",
        "recommendeddirection",
        "quorum",
        "converge",
        "collision",
        "role",
        "debater",
        "synthesizer",
        "validator",
        "subtask",
    ),
    "zh": (
        "信息素",
        "浓度",
        "沉积",
        "阈值",
        "蜂群",
        "探索者",
        "黑板",
        "抑制",
        "停止信号",
        "法定",
        "角色",
        "碰撞",
        "子任务",
    ),
}
IDEAS = ("Put a cache at the edge.", "Buy faster machines.", "Index the product table.")
Says = Callable[[Ask, Brief, Swarm], object]


def read_json(brief: Brief, said: object) -> object:
    """An answer as a model gives it: JSON that is read as any answer is."""
    return read_answer(brief, json.dumps(said, ensure_ascii=False)).said


def list_numbers(brief: Brief, name: str, number: str) -> list[Any]:
    assert brief.schema is not None
    listed: list[Any] = brief.schema["properties"][name]["items"]["properties"][number]["enum"]
    return listed


class PlainSeats:
    """Seats that answer in the form that they are asked for; `prompts` are all that were sent to them."""

    def __init__(
        self,
        explore: Callable[[Ask, Swarm], Mapping[str, Any]] | None = None,
        vote: Callable[[Ask, int, int], Mapping[str, Any]] | None = None,
    ) -> None:
        self._explore, self._vote = explore, vote
        self.briefs: list[tuple[Ask, Brief, int]] = []

    def __call__(self, ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind not in {"compare", "shutdown"}:
            self.briefs.append((ask, brief, state.round))
        match ask.kind:
            case "explore":
                return read_json(brief, self.report(ask, state))
            case "collide":
                said = {"content": "It lacks a figure.", "newInsights": ["Measure first."]}
                return read_json(brief, {**said, "action": "challenge"})
            case "judge":
                pairs = list_numbers(brief, "judgements", "pair")
                return AnswerJudgements(
                    judgements=tuple(AnswerJudgement(pair=at, verdict="different") for at in pairs)
                )
            case "validate":
                findings = list_numbers(brief, "verdicts", "finding")
                checks = [{"finding": each, "verdict": "confirmed"} for each in findings]
                return read_json(brief, {"verdicts": checks})
            case "ballot":
                votes = [
                    self.vote(ask, at, number)
                    for at, number in enumerate(list_numbers(brief, "votes", "answer"))
                ]
                return read_json(brief, {"votes": votes})
            case "synthesis":
                return Synthesis(content="They share a place (finding-001).")
            case _:
                return NotImplemented

    def report(self, ask: Ask, state: Swarm) -> Mapping[str, Any]:
        if self._explore is not None:
            return self._explore(ask, state)
        at = (state.explorers.index(ask.seat) + state.round) % 3
        said = {
            "coreIdea": IDEAS[at],
            "details": f"Seen by {ask.seat}.",
            "rating": (0.8, 0.1, 0.6)[at],
        }
        return {"findings": [said], "holds": [], "choice": "cache"}

    def vote(self, ask: Ask, at: int, number: int) -> Mapping[str, Any]:
        if self._vote is not None:
            return self._vote(ask, at, number)
        position = "oppose" if at else "support"
        rating = 0.2 if at else 0.8
        return {
            "answer": number,
            "reason": "By what was seen.",
            "rating": rating,
            "position": position,
        }


def play(says: Says, *, options: tuple[str, ...] = (), **chosen: Any) -> SwarmRun:
    plan = build_swarm_plan(
        5, **{"max_rounds": 3, "platform": "openai:m", "synthesis": "always", **chosen}
    )
    return SwarmRun(replace(plan, subject=Topic(options=options))).play(says)


def count_sent(brief: Brief) -> int:
    """All tokens that an ask sends where the provider shows the schema to the model."""
    is_json = brief.form.form == "json"
    prompt = f"{brief.system}\n{build_user_prompt(brief, shows_form=not is_json)}"
    if not is_json:
        return count_tokens(prompt)
    schema = json.dumps(build_request_schema(brief, is_shown=True), ensure_ascii=False)
    return count_tokens(prompt) + count_tokens(schema)


def count_beside_matter(brief: Brief) -> int:
    """The same without the lines that others wrote."""
    is_json = brief.form.form == "json"
    lines = f"{brief.system}\n{build_user_prompt(brief, shows_form=not is_json)}".split("\n")
    own = "\n".join(line for line in lines if not line.startswith(MARKS))
    if not is_json:
        return count_tokens(own)
    schema = json.dumps(build_request_schema(brief, is_shown=True), ensure_ascii=False)
    return count_tokens(own) + count_tokens(schema)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("options", [(), ("Postgres", "MySQL")])
def test_each_ask_stays_within_its_budget_and_names_every_field(
    language: Language, options: tuple[str, ...]
) -> None:
    """S-37, M-4: schema and scaffolding counted; at most 400 tokens in all where nothing was found yet."""
    seats = PlainSeats()
    play(seats, options=options, language=language)
    kinds = {ask.kind for ask, _, _ in seats.briefs}
    assert kinds >= {"explore", "collide", "ballot", "synthesis"}
    for ask, brief, number in seats.briefs:
        limit = 420 if ask.kind == "ballot" else 350
        assert count_beside_matter(brief) <= limit, (ask.kind, brief.own)
        if ask.kind == "explore" and number == 1:
            assert count_sent(brief) <= 400
        if brief.form.form == "json":
            for field in re.findall(r'"(\w+)": \{', json.dumps(build_request_schema(brief))):
                if field not in {"properties", "items"}:
                    assert field in brief.own, (ask.kind, field)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("mode", ["emergent", "hybrid", "classic"])
def test_no_word_of_the_mechanism_stands_in_a_prompt(language: Language, mode: str) -> None:
    """S-37: warnings, stop signals, roles and retries included; a small model takes such words for the matter."""
    seats = PlainSeats()
    more = {"directions": ("caching", "hardware")} if mode == "hybrid" else {}

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore" and ask.seat == "XiLi" and not state.lost.get(ask.seat):
            return "malformed"
        return seats(ask, brief, state)

    play(says, language=language, mode=mode, max_rounds=5, **more)
    assert len(seats.briefs) > 5
    for ask, brief, _ in seats.briefs:
        text = f"{brief.system}\n{build_user_prompt(brief)}".casefold()
        # The names of the source that an answer is given under stay.
        text = text.replace("synthesize", "")
        assert [word for word in MACHINERY[language] if word in text] == [], (ask.kind, text)


def test_a_whole_swarm_sends_less_than_half_of_what_it_did() -> None:
    """S-37: three rounds of five seats were 36,500 tokens in English and 32,900 in Chinese by the same count."""
    assert measure_swarm("en").tokens.total() <= 17_500
    assert measure_swarm("zh").tokens.total() <= 15_600


def test_a_rating_is_recorded_as_an_operation_by_moot() -> None:
    """S-39: a deposit of its share, a stop signal for what is rated low with details, a claim of the given direction."""
    run = play(PlainSeats())
    log = json.loads(render_operation_log(run.timeline))
    made = [each for each in log if each.get("by") == "Moot"]
    assert {each["operation"] for each in made} == {
        "deposit_pheromone",
        "send_stop_signal",
        "claim_subtask",
        "update_agent_state",
    }
    assert {each["operation"] for each in log if each.get("by") != "Moot"} == {"update_finding"}
    first = [each for each in made if each["round"] == 1 and each["from"] == "TanWei"]
    assert [(each["operation"], each["params"]) for each in first] == [
        ("deposit_pheromone", {"direction": IDEAS[1], "amount": 0.03})
    ]
    signal = next(each for each in made if each["operation"] == "send_stop_signal")
    assert signal["params"]["targetDirection"] == IDEAS[1]
    assert signal["params"]["evidence"].startswith("Seen by")
    for fact in run.facts(OperationsProcessed):
        assert fact.requests == fact.processed + fact.failed
        assert not fact.failed
    # What its author rates low is not what it stands behind.
    holders = run.state.group_holders(run.state.agents)
    assert 1 not in holders or run.state.board.ideas[1].text != IDEAS[1]


def test_an_answer_is_named_by_its_number_and_an_idea_of_others_is_held() -> None:
    """S-38: no twin comes of a restatement, and `holds` keeps an opinion without saying it again."""

    def explore(ask: Ask, state: Swarm) -> Mapping[str, Any]:
        if state.round == 1:
            finding = {"coreIdea": IDEAS[0], "details": "First.", "rating": 0.9}
            return {"findings": [finding] if ask.seat == "TanWei" else [], "choice": "cache"}
        if ask.seat == "SuYuan":
            return {
                "findings": [{"coreIdea": "#1", "details": "Again.", "rating": 0.7}],
                "holds": [],
            }
        return {"findings": [], "holds": [1, 99]}

    run = play(PlainSeats(explore), max_rounds=2)
    assert {idea.text for idea in run.state.board.ideas.values()} == {IDEAS[0]}
    assert set(run.state.group_holders(run.state.agents)[1]) == set(run.state.explorers)


def test_what_an_agent_sends_unasked_is_kept_and_the_rest_is_not_stated() -> None:
    """S-39: its conflict review, its confidence and its search stood as 0 and as nothing."""
    sent = {
        "findings": [
            {
                "coreIdea": IDEAS[0],
                "details": "Looked up.",
                "rating": 0.8,
                "confidence": "low",
                "searchAttempted": True,
                "perspective": "operations",
            }
        ],
        "conflictReview": {
            "conflictsFound": 3,
            "details": "TanWei and SuYuan contradict each other.",
        },
        "decisionReport": {"selectedDirection": "caching", "selectionReason": "It is near."},
        "randomExploreForced": False,
        "choice": "cache",
    }

    def explore(ask: Ask, state: Swarm) -> Mapping[str, Any]:
        if ask.seat == "TanWei":
            return sent
        return {"findings": [{"coreIdea": IDEAS[1], "details": "Seen.", "rating": 0.5}]}

    run = play(PlainSeats(explore), max_rounds=1)
    reports = {fact.seat: fact.said for fact in run.facts(Reported)}
    said = reports["TanWei"]
    assert said.conflict_review.conflicts_found == 3
    assert said.decision_report.selection_reason == "It is near."
    assert said.random_explore_forced is False
    assert (said.findings[0].confidence, said.findings[0].search_attempted) == ("low", True)
    other = reports["SuYuan"]
    assert (other.conflict_review, other.decision_report, other.random_explore_forced) == (
        None,
    ) * 3
    assert other.findings[0].search_attempted is None
    pages = {
        str(each.seat): render_agent_report(run.timeline, each) for each in run.timeline.reports
    }
    assert "Conflict review: 3" in pages["TanWei"]
    assert "Conflict review: not stated" in pages["SuYuan"]
    assert "Conflict review: 0" not in pages["SuYuan"]
    assert not any(agent.violations for agent in run.state.agents.values())


DATABASES = ("modular monolith", "microservices", "serverless")


def vote_on_options(*positions: str) -> Callable[[Ask, int, int], Mapping[str, Any]]:
    """Votes of the five seats on the first option, in this order; all oppose the others."""
    seats: tuple[str, ...] = ("TanWei", "SuYuan", "DongCha", "QiuSuo", "XiLi")

    def vote(ask: Ask, at: int, number: int) -> Mapping[str, Any]:
        position = positions[seats.index(ask.seat)] if at == 0 else "oppose"
        said = {
            "answer": number,
            "reason": f"{ask.seat} has its reason.",
            "rating": {"support": 0.9, "conditional_support": 0.7}.get(position, 0.1),
            "position": position,
        }
        if position == "conditional_support":
            said["condition"] = "the tests run in ten minutes"
        return said

    return vote


def explore_options(ask: Ask, state: Swarm) -> Mapping[str, Any]:
    """Each looks into the option that it is given, while its own answer is the first one."""
    option = state.orders[ask.seat].given
    assert option in DATABASES
    finding = {
        "option": option,
        "coreIdea": f"{option} was tried.",
        "details": "It ran.",
        "rating": 0.5,
    }
    return {"findings": [finding], "direction": option, "choice": DATABASES[0]}


def test_an_explorer_may_explore_one_option_and_hold_another() -> None:
    """S-38: it was asked which of the two it means, and lost."""
    run = play(PlainSeats(explore_options, vote_on_options(*["support"] * 5)), options=DATABASES)
    assert all(fact.said.choice == DATABASES[0] for fact in run.facts(Reported) if fact.said.choice)
    assert not run.state.losses
    assert {fact.said.direction for fact in run.facts(Reported)} == set(DATABASES)


def test_a_unanimous_vote_for_an_option_decides_with_its_support() -> None:
    """S-38: it was "one voice; nobody else stands behind it"."""
    run = play(PlainSeats(explore_options, vote_on_options(*["support"] * 5)), options=DATABASES)
    decision = build_decision(run.timeline)
    assert (decision.choice, decision.support, decision.voters) == (DATABASES[0], 1.0, 5)
    assert {each.verdict for each in decision.positions} == {"support"}
    assert len(decision.reasons) == 5


def test_dissent_and_conditions_on_an_option_stand() -> None:
    """S-38: two oppose, one sets a condition."""
    votes = vote_on_options("support", "support", "conditional_support", "oppose", "support")
    decision = build_decision(play(PlainSeats(explore_options, votes), options=DATABASES).timeline)
    assert decision.choice == DATABASES[0]
    assert [(each.seat, each.text) for each in decision.dissent] == [
        ("QiuSuo", "QiuSuo has its reason.")
    ]
    assert [each.text for each in decision.obligations] == ["the tests run in ten minutes"]


def test_an_option_that_most_oppose_is_not_decided() -> None:
    """S-38: with options the outcome is an option or nothing, and the record says who was against it."""
    votes = vote_on_options("support", "oppose", "oppose", "oppose", "conditional_support")
    decision = build_decision(play(PlainSeats(explore_options, votes), options=DATABASES).timeline)
    assert decision.decision is None
    assert decision.choice == ""
    assert decision.support is not None
    assert decision.support < 0.5
    assert {each.seat for each in decision.dissent} == {"SuYuan", "DongCha", "QiuSuo"}


@pytest.mark.parametrize("settle", ["evidence", "quorum"])
@pytest.mark.parametrize("position", ["support", "oppose", "abstain"])
def test_with_options_nothing_else_is_ever_decided(settle: str, position: str) -> None:
    """S-38: where all ratings were alike, an idea such as "MySQL replicates well." was decided."""

    def explore(ask: Ask, state: Swarm) -> Mapping[str, Any]:
        said = {**explore_options(ask, state)}
        said["findings"] = [{**said["findings"][0], "coreIdea": "It replicates well."}]
        return said

    def vote(ask: Ask, at: int, number: int) -> Mapping[str, Any]:
        return {"answer": number, "reason": "Alike.", "rating": 0.5, "position": position}

    run = play(PlainSeats(explore, vote), options=DATABASES, settle=settle, max_rounds=4)
    decision = build_decision(run.timeline)
    assert decision.choice in {"", *DATABASES}
    assert decision.decision is None or decision.decision.text in DATABASES
    (done,) = run.facts(SwarmCompleted)
    assert all(not each.idea for each in done.resolved)


def test_an_undecided_run_names_its_first_answers_on_every_surface() -> None:
    """S-35: two camps, each with its own readings."""
    camps = {"TanWei": IDEAS[0], "SuYuan": IDEAS[1], "DongCha": IDEAS[0], "QiuSuo": IDEAS[1]}

    def explore(ask: Ask, state: Swarm) -> Mapping[str, Any]:
        findings = [
            {
                "coreIdea": idea,
                "details": "Seen.",
                "rating": 0.9 if camps[ask.seat] == idea else 0.4,
            }
            for idea in IDEAS[:2]
        ]
        return {"findings": findings, "holds": [], "choice": "cache"}

    def vote(ask: Ask, at: int, number: int) -> Mapping[str, Any]:
        rating = 0.9 if camps[ask.seat] == IDEAS[number - 1] else 0.4
        return {"answer": number, "reason": "Even.", "rating": rating, "position": "abstain"}

    plan = build_swarm_plan(4, max_rounds=3, platform="openai:m")
    run = SwarmRun(plan).play(PlainSeats(explore, vote))
    decision = build_decision(run.timeline)
    assert decision.decision is None
    assert {each.idea for each in decision.leading} == {IDEAS[0], IDEAS[1]}
    assert all(0 <= each.value <= 1 and each.readers == 4 for each in decision.leading)
    given = decision.to_json()
    assert {each["idea"] for each in given["leading"]} == {IDEAS[0], IDEAS[1]}
    assert IDEAS[0] in decision.leading_note
    assert IDEAS[1] in decision.leading_note


def test_readings_that_rank_nothing_have_no_table() -> None:
    """S-35: a converged swarm said that the readings do not tell apart what it had decided by its vote."""

    def explore(ask: Ask, state: Swarm) -> Mapping[str, Any]:
        return {
            "findings": [{"coreIdea": IDEAS[0], "details": "Seen.", "rating": 0.8}],
            "holds": [],
        }

    def vote(ask: Ask, at: int, number: int) -> Mapping[str, Any]:
        return {"answer": number, "reason": "So it is.", "rating": 0.8, "position": "support"}

    run = play(PlainSeats(explore, vote))
    minutes = SWARM.export(run.timeline, "minutes")
    assert "do not tell" not in minutes
    assert "## What decided" not in minutes
    assert build_decision(run.timeline).decision is not None


def test_a_mind_that_takes_every_word_for_the_matter_never_decides_the_mechanism() -> None:
    """S-37: it answers with sentences of words that Moot itself wrote into its prompt."""

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind == "explore":
            own = "\n".join(line for line in brief.own.splitlines() if not line.startswith(MARKS))
            words = re.findall(r"[a-z]{4,}", f"{brief.system} {own}".casefold())
            at = 7 * state.explorers.index(ask.seat) + 3 * state.round
            idea = "We rewrite it with " + ", ".join(words[at : at + 5])
            finding = {"coreIdea": idea, "details": " ".join(words[:9]), "rating": 0.9}
            return read_json(brief, {"findings": [finding], "choice": words[at]})
        return seats(ask, brief, state)

    seats = PlainSeats(
        vote=lambda ask, at, number: {"answer": number, "rating": 0.9, "position": "support"}
    )
    run = play(says)
    decision = build_decision(run.timeline)
    texts = [idea.text for idea in run.state.board.ideas.values()]
    texts += [each.idea for each in decision.leading]
    assert len(texts) > 3
    for text in texts:
        assert [word for word in MACHINERY["en"] if word in text.casefold()] == []


def test_agents_from_outside_get_the_messages_of_the_source() -> None:
    """S-9, S-11: what S-37 asks for holds for the seats that Moot asks."""
    briefs: list[Brief] = []

    def says(ask: Ask, brief: Brief, state: Swarm) -> object:
        if ask.kind in {"explore", "collide"}:
            briefs.append(brief)
        return None if ask.kind == "explore" else Collision(action="pass")

    play(says, platform="mailbox", max_rounds=1)
    assert all('"type": "round_start"' in brief.own for brief in briefs)
    assert all("70 %" in brief.shared for brief in briefs)
    assert all("operations" in (brief.schema or {})["properties"] for brief in briefs)


def test_a_small_question_to_an_explorer_is_read_by_its_own_form() -> None:
    """Q-6: what an explorer may send beside its findings says nothing of how the small question is read."""
    seats = PlainSeats()
    play(seats, max_rounds=1)
    brief = next(brief for ask, brief, _ in seats.briefs if ask.kind == "explore")
    assert brief.reads is not None
    unclear = UnclearChoice(
        "unclear", field="choice", choices=("Redis", "Postgres"), words="either would do"
    )
    small = build_small_ask(brief, unclear)
    read = read_answer(small, '{"words": "either would do", "meant": "Postgres"}')
    assert read.said == Meant(words="either would do", meant="Postgres")
