"""A swarm of models behind a real client, with the validator and the measure (S-2, S-8, S-9, S-10)."""

import asyncio
import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.play_swarm import SwarmRun, build_swarm_plan, build_valid_report

from moothall.app.moot import Moot
from moothall.domain.effects import CompareTexts
from moothall.participants import semantic_similarity
from moothall.participants.director import DirectorParticipant
from moothall.participants.semantic_similarity import compare_texts, is_installed
from moothall.ports.participant import Answer, NoAnswer
from moothall.protocols.swarm.answers import SimilarityReport
from moothall.protocols.swarm.rules.rulebook import RULES
from moothall_testkit.stub_server import Request, StubReply, StubServer

IDEA = "Put a cache at the edge."


def mind(request: Request) -> StubReply:
    """What a model that does as it is told would answer."""
    prompt = request.text
    if "Check each finding" in prompt:
        finding = re.findall(r"finding-\d+", prompt)[-1]
        return StubReply(
            text=json.dumps(
                {
                    "verdicts": [
                        {"finding": finding, "verdict": "confirmed", "reason": "It is known."}
                    ]
                }
            )
        )
    if "the one that you speak to" in prompt:
        return StubReply(
            text='{"targetFindingId": "finding-001", "action": "extend", "content": "And it is cheap."}'
        )
    if "Judge each of" in prompt:
        return StubReply(
            text='{"votes": [{"answer": 1, "position": "support", "confidence": 0.9, "reason": "It is measured."}]}'
        )
    if "Write a synthesis" in prompt:
        return StubReply(text="A cache at the edge, all say (finding-001).")
    name = re.search(r"You are (\w+)\.", prompt.rpartition("# You")[2])
    assert name is not None
    report = {
        "direction": "caching",
        "findings": [
            {"coreIdea": IDEA, "perspective": name[1], "needsValidation": True, "confidence": "low"}
        ],
        "operations": [
            {
                "operation": "deposit_pheromone",
                "params": {"direction": f"way of {name[1]}", "amount": 0.2},
            }
        ],
    }
    return StubReply(text=f"Here is my report:\n```json\n{json.dumps(report)}\n```")


def test_a_swarm_of_models(tmp_path: Path) -> None:
    """S-2: the validator is asked for what needs it alone; nobody pays for the shutdown."""

    async def work() -> None:
        async with StubServer([mind]) as stub:
            environ = {
                "MOOT_HOME": str(tmp_path),
                "OPENAI_API_KEY": "k",
                "OPENAI_BASE_URL": stub.base_url,
            }
            async with Moot(environ=environ) as moot:
                seats = dict.fromkeys(("TanWei", "SuYuan", "DongCha"), "openai:stub")
                decision = await moot.hold(
                    "How do we make it fast?",
                    protocol="swarm",
                    seats=seats,
                    seed=1,
                    settings={"max_rounds": 5, "measure": "words"},
                    check=False,
                )
                assert decision.decision is not None
                assert (decision.decision.text, decision.consensus_type, decision.ended_by) == (
                    IDEA,
                    "unanimous",
                    "converged",
                )
                assert decision.lost == ()
                timeline = await moot.load_timeline(decision.session)
            swarm = timeline.state
            assert {agent.score for agent in swarm.agents.values()} == {0}
            assert {finding.verdict for finding in swarm.board.findings} <= {"confirmed", None}
            prompts = [json.dumps(request.body) for request in stub.asked]
            assert not any("shutdown" in prompt for prompt in prompts)
            assert decision.spent.calls == len(prompts)
            assert swarm.synthesis == "A cache at the edge, all say (finding-001)."

    asyncio.run(asyncio.wait_for(work(), 120))


TEXTS = CompareTexts(
    known=("Put a cache at the edge.", "Buy machines."),
    new=("Put a cache at the edge now.", "Buy machines"),
    nearest=3,
    by="words",
)


def test_the_measure_answers_with_the_pairs_that_are_like() -> None:
    """S-8: places in the list of what was compared, four digits, each new text with all before it."""
    by, pairs = compare_texts(TEXTS)
    assert by == "words"
    assert {(pair.one, pair.other) for pair in pairs} >= {(2, 0), (3, 1)}
    assert all(pair.likeness == round(pair.likeness, 4) and pair.other < pair.one for pair in pairs)


@pytest.mark.parametrize("is_meant", [False, True])
def test_the_measure_of_a_full_round_fits_its_answer(
    monkeypatch: pytest.MonkeyPatch, is_meant: bool
) -> None:
    """S-8: 64 explorers with three findings each that are all alike; of each text the pairs that are most like."""
    if is_meant and not is_installed():
        pytest.skip("the extra embedded is not installed")
    texts = tuple(
        f"Serve pictures of kind {number} from a cache at the edge of the network"
        for number in range(492)
    )
    if is_meant:
        # The encoder itself is slow: here only the amount matters.
        numpy = pytest.importorskip("numpy")
        monkeypatch.setattr(semantic_similarity, "_vectors", {})
        monkeypatch.setattr(
            semantic_similarity, "encode_texts", lambda texts: numpy.eye(len(texts), 512)
        )
    asked = CompareTexts(
        known=texts[:300], new=texts[300:], nearest=12, by="meaning" if is_meant else "words"
    )
    by, pairs = compare_texts(asked)
    assert by == asked.by
    assert set(Counter(pair.one for pair in pairs).values()) == {12}


def test_an_encoder_that_fails_leaves_the_work_to_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """S-8: offline, with or without the extra."""

    def fail(texts: object) -> None:
        raise RuntimeError("the weights are damaged")

    monkeypatch.setattr(semantic_similarity, "_vectors", {})
    monkeypatch.setattr(semantic_similarity, "encode_texts", fail)
    assert compare_texts(replace(TEXTS, by="meaning")) == compare_texts(TEXTS)


def test_moot_itself_answers_with_what_it_compared_and_does_nothing_that_it_was_not_asked_for() -> (
    None
):
    """S-8"""
    plan = build_swarm_plan(
        3, max_rounds=1, collisions=0, vote=False, measure="words", platform="openai:m"
    )
    run = SwarmRun(plan)
    run.play(
        lambda ask, brief, state: build_valid_report(state, ask.seat, "x", f"Idea of {ask.seat}"),
        until=lambda state: state.stage == "review",
    )
    (ask,) = [ask for ask in run.step().asks if ask.kind == "compare"]
    brief = RULES.brief(run.state, ask)
    answer = asyncio.run(DirectorParticipant().respond(brief, lambda _: None))
    assert isinstance(answer, Answer)
    assert isinstance(answer.said, SimilarityReport)
    assert answer.said.by == "words"
    assert [(pair.one, pair.other) for pair in answer.said.pairs] == [(1, 0), (2, 0), (2, 1)]
    idle = asyncio.run(DirectorParticipant().respond(replace(brief, chore=None), lambda _: None))
    assert isinstance(idle, NoAnswer)
