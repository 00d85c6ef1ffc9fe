"""Q-7: what looks like an echo, a refusal or a contradiction is asked about or marked, and costs no other part of its answer."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.test_non_answers import SORRY, build_brief
from tests.unit.test_review_answers import CI, RUN, build_diff, build_inspection, write_finding
from tests.unit.test_review_rules import Board

from moothall import Moot
from moothall.domain.effects import Brief
from moothall.domain.facts import Fact, SeatLost
from moothall.domain.topic import ContextFile
from moothall.errors import AnswerRefused, BadAnswer, UnclearSide
from moothall.features.review.facts import FindingsWeighed, RaisedFinding
from moothall.features.review.rules import RULES
from moothall.reading.answers import read_answer
from moothall.reading.ask_back import is_within_item
from moothall.reading.non_answers import EchoCheck, check_echo


def build_check() -> Brief:
    """What a reviewer is asked of the two findings of another one."""
    raised = [write_finding(), write_finding(file="src/app.py")]
    findings = tuple(RaisedFinding(**each) for each in raised)
    board = Board("a", "b", "c", text=build_diff(CI, "src/app.py")).raises(a=findings, b=(), c=())
    return RULES.brief(board.state, board.asks["b"])


@pytest.mark.parametrize("bad", [SORRY, "string", "…", "text"])
def test_a_bad_item_of_a_list_costs_itself(bad: str) -> None:
    """Q-7, M-13, M-14: the conclusion and the other reasons count, and the record says what was left out."""
    given = {
        "decision": {"text": "Build it."},
        "confidence": 1.0,
        "reasons": [{"text": "Cars wait."}, {"text": bad}, {"text": "Ferries sink."}],
    }
    read = read_answer(build_brief("draft"), given)
    said: Any = read.said
    assert [each.text for each in said.reasons] == ["Cars wait.", "Ferries sink."]
    assert [note for note in read.mends if note.startswith("left_out reasons.1 ")]


@pytest.mark.parametrize("claim", [SORRY, "string", "claim"])
def test_a_finding_that_is_no_finding_is_counted_and_the_others_stand(claim: str) -> None:
    """Q-7, G-1: it is set apart with what was wrong, and is never the loss of its reviewer."""
    given = {"findings": [write_finding(), write_finding(claim=claim), write_finding(line=None)]}
    said: Any = read_answer(build_inspection(), given).said
    assert (len(said.findings), len(said.unread)) == (2, 1)
    with pytest.raises(BadAnswer):
        read_answer(build_inspection(), {"findings": [write_finding(claim=claim)]})


def test_an_echo_in_a_field_that_need_not_be_there_is_left_out() -> None:
    """Q-7, M-2: the bid counts without it."""
    brief = build_brief("intent")
    given = {"reaction_score": 0.5, "intent_to_speak": True, "reason": "string"}
    read = read_answer(brief, given)
    said: Any = read.said
    assert (said.reaction_score, said.intent_to_speak, said.reason) == (0.5, True, "")
    assert [note for note in read.mends if note.startswith("left_out reason ")]


def test_a_listed_word_is_no_echo_whichever_form_of_the_item_lists_it() -> None:
    """Q-7: a person's position on a candidate, whose item has a form of its own where it has a condition."""
    position: dict[str, object] = {"type": "string", "enum": ["support", "oppose"]}
    forms = [{"type": "object", "properties": {"position": position}}] * 2
    items: dict[str, object] = {"type": "array", "items": {"anyOf": forms}}
    whole = {"type": "object", "properties": {"ballot": items}}
    schema = {"anyOf": [whole, {"type": "object", "properties": {"text": {"type": "string"}}}]}
    own = "position: support, oppose or abstain."
    brief = replace(build_brief("stand"), own=own, explains_fields=True)
    said = {"ballot": [{"position": "support", "why": "support"}]}
    echo = EchoCheck(brief, schema)
    check_echo(echo, said, schema, (), in_lists=True)
    with pytest.raises(BadAnswer):
        echo.check("position", "support")


def test_a_condition_that_is_an_echo_is_asked_about() -> None:
    """Q-7: without it the rest would say something else."""
    brief = build_brief("stand")
    with pytest.raises(BadAnswer):
        read_answer(brief, {"verdict": "conditional", "condition": "string"})


def test_a_refusal_beside_a_vote_is_asked_about() -> None:
    """Q-7, M-14: a form that must hold a vote gets one also from who declines."""
    given = {"verdict": "support", "position": SORRY}
    with pytest.raises(UnclearSide) as caught:
        read_answer(build_brief("stand"), given)
    assert (caught.value.field, caught.value.loss) == ("verdict", "refused")
    assert set(caught.value.choices) >= {"support", "oppose", "abstain"}
    said: Any = read_answer(build_brief("stand"), given, settled={"verdict": "oppose"}).said
    assert said.verdict == "oppose"
    with pytest.raises(AnswerRefused):
        read_answer(build_brief("stand"), given, is_strict=True)


OTHER_SIDE = {"finding": 2, "stand": "confirm", "reason": "I dispute this finding."}
STANDS = {"stands": [{"finding": 1, "stand": "dispute", "reason": "It is checked."}, OTHER_SIDE]}


def test_a_contradiction_in_an_item_is_asked_about_and_costs_at_most_the_item() -> None:
    """Q-5, Q-7: what its seat meant counts; where it means none, the others do."""
    brief = build_check()
    with pytest.raises(UnclearSide) as caught:
        read_answer(brief, STANDS)
    unclear = caught.value
    assert unclear.field == "stands.1.stand"
    assert is_within_item(unclear)
    assert set(unclear.choices) == {"confirm", "dispute", "unsure"}
    said: Any = read_answer(brief, STANDS, settled={unclear.field: "dispute"}).said
    assert [(each.finding, each.stand) for each in said.stands] == [(1, "dispute"), (2, "dispute")]
    said = read_answer(brief, STANDS, settled={unclear.field: ""}).said
    assert [(each.finding, each.stand) for each in said.stands] == [(1, "dispute")]
    assert len(said.unread) == 1


@pytest.mark.parametrize(
    ("meant", "stand"),
    [
        ({"meant": "dispute", "words": "I dispute this finding."}, "dispute"),
        ("confirm", "confirm"),
        ("unclear", None),
        (ValueError("no such question"), None),
    ],
)
def test_a_reviewer_is_asked_what_it_meant_of_one_finding(meant: object, stand: str | None) -> None:
    """Q-6, Q-7: in a whole review; its other answers count whatever it says."""
    asked: list[str] = []

    def find(brief: Brief) -> object:
        if brief.form.kind != "inspect":
            return {"stands": []}
        findings = [write_finding(), write_finding(file="src/app.py")]
        return {"findings": findings}

    def check(brief: Brief) -> object:
        if brief.form.kind == "which":
            asked.append(brief.own)
            if isinstance(meant, Exception):
                raise meant
            return meant
        return {"inspect": {"findings": []}, "check": STANDS}.get(brief.form.kind, {"stands": []})

    async def hold() -> list[Fact]:
        async with asyncio.timeout(60), Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
            change = ContextFile(name="change.diff", text=build_diff(CI, "src/app.py"))
            seats: Any = {
                "ada": find,
                "bob": check,
                "cy": lambda brief: {"findings": [], "stands": []},
            }
            decision = await moot.hold(
                "Review this.", protocol="review", seats=seats, seed=1, files=[change]
            )
            return [entry.fact for entry in await moot.engine.entries(decision.session)]

    facts = asyncio.run(hold())
    assert not [each for each in facts if isinstance(each, SeatLost) and each.seat == "bob"]
    weighed = [each for each in facts if isinstance(each, FindingsWeighed) and each.seat == "bob"]
    stands = {each.finding: each.stand for each in weighed[0].said.stands}
    assert stands == ({1: "dispute"} if stand is None else {1: "dispute", 2: stand})
    assert len(asked) == 1
    assert RUN not in asked[0]
    notes = [each for each in weighed[0].corrections if each.startswith("meant stands.1.stand ")]
    assert len(notes) == (stand is not None)
