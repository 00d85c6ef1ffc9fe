"""A swarm of models behind a real client, with the validator and the measure (S-2, S-8, S-9, S-10)."""

import asyncio
import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from moothall.app.moot import Moot
from moothall.domain.context import ContextWindow, Perception
from moothall.domain.effects import Ask, Brief, CompareTexts
from moothall.domain.ids import AskId, SeatId
from moothall.domain.roster import Seat
from moothall.errors import UnknownPlatform
from moothall.participants.semantic_similarity import MeasureParticipant, is_installed
from moothall.ports.participant import Answer, NoAnswer
from moothall.protocols.swarm.answer_table import FORMS
from moothall.protocols.swarm.answers import SimilarityReport
from moothall_testkit.stub_server import Request, StubReply, StubServer

IDEA = "Put a cache at the edge."


def mind(request: Request) -> StubReply:
    """What a model that does as it is told would answer."""
    prompt = request.text
    if "validator of a swarm" in prompt:
        return StubReply(
            text=json.dumps({"verdicts": [{"finding": "finding-001", "verdict": "confirmed", "reason": "It is known."}]})
        )
    if "collision_invitation" in prompt:
        return StubReply(text='{"targetFindingId": "finding-001", "action": "extend", "content": "And it is cheap."}')
    if "Vote on each" in prompt:
        return StubReply(text='{"votes": [{"idea": 1, "position": "support", "confidence": 0.9, "reason": "It is measured."}]}')
    if "Write a synthesis" in prompt:
        return StubReply(text="A cache at the edge, all say (finding-001).")
    name = re.search(r"You are (\w+)", prompt.rpartition("# The blackboard")[2])
    assert name is not None
    report = {
        "direction": "caching",
        "findings": [{"coreIdea": IDEA, "perspective": name[1], "needsValidation": True, "confidence": "low"}],
        "operations": [{"operation": "deposit_pheromone", "params": {"direction": f"way of {name[1]}", "amount": 0.2}}],
    }
    return StubReply(text=f"Here is my report:\n```json\n{json.dumps(report)}\n```")


def test_a_swarm_of_models(tmp_path: Path) -> None:
    """S-2: the validator is asked for what needs it alone; nobody pays for the shutdown."""

    async def work() -> None:
        async with StubServer([mind]) as stub:
            environ = {"MOOT_HOME": str(tmp_path), "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": stub.base_url}
            async with Moot(environ=environ) as moot:
                seats = dict.fromkeys(("TanWei", "SuYuan", "DongCha"), "openai:stub") | {"likeness": "measure:words"}
                decision = await moot.hold(
                    "How do we make it fast?", protocol="swarm", seats=seats, seed=1, settings={"max_rounds": 5}, check=False
                )
                assert decision.decision is not None
                assert (decision.decision.text, decision.consensus_type, decision.ended_by) == (IDEA, "unanimous", "converged")
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


def comparing(kind: str = "compare") -> Brief:
    ask = Ask(id=AskId("10.compare.likeness"), seat=SeatId("likeness"), kind=kind, turn=1, patience=120.0)
    texts = CompareTexts(
        known=("Put a cache at the edge.", "Buy machines."), new=("Put a cache at the edge now.", "Buy machines"), nearest=3
    )
    return Brief(
        ask=ask,
        seat=Seat(id=SeatId("likeness"), platform="measure:words"),
        form=FORMS[kind],
        language="en",
        seed=1,
        nth=1,
        perception=Perception(goal="g", memory=ContextWindow(window=1)),
        system="",
        shared="",
        own="",
        comparing=texts,
    )


def test_the_measure_answers_with_the_pairs_that_are_like() -> None:
    """S-8: places in the list of what was compared, four digits, each new text with all before it."""
    found = asyncio.run(MeasureParticipant("words").respond(comparing(), lambda _: None))
    assert isinstance(found, Answer)
    assert isinstance(found.said, SimilarityReport)
    assert found.said.by == "words"
    assert {(pair.one, pair.other) for pair in found.said.pairs} >= {(2, 0), (3, 1)}
    assert all(pair.likeness == round(pair.likeness, 4) and pair.other < pair.one for pair in found.said.pairs)


@pytest.mark.parametrize("name", ["words", "meaning"])
def test_the_measure_of_a_full_round_fits_its_answer(name: str) -> None:
    """S-8: 64 explorers with three findings each that are all alike; of each text the pairs that are most like."""
    if name == "meaning" and not is_installed():
        pytest.skip("the extra embedded is not installed")
    texts = tuple(f"Serve pictures of kind {number} from a cache at the edge of the network" for number in range(492))
    brief = replace(comparing(), comparing=CompareTexts(known=texts[:300], new=texts[300:], nearest=12))
    found = asyncio.run(MeasureParticipant(name).respond(brief, lambda _: None))
    assert isinstance(found, Answer)
    assert isinstance(found.said, SimilarityReport)
    told = Counter(pair.one for pair in found.said.pairs)
    assert max(told.values(), default=0) <= 12


def test_a_measure_does_nothing_else() -> None:
    found = asyncio.run(MeasureParticipant("words").respond(comparing("explore"), lambda _: None))
    assert isinstance(found, NoAnswer)
    with pytest.raises(UnknownPlatform, match="known: meaning, words"):
        MeasureParticipant("colour")
