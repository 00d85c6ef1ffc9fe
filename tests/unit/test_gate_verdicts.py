"""What opens a gate and what does not: the verdict is read like every other choice, never across a denial (C-11)."""

from typing import Any

import pytest
from tests.unit.test_pipeline_rules import CHECK, MODEL, Line

from moothall.errors import BadAnswer
from moothall.features.pipeline.facts import Artefact, GateVerdict, WorkDone
from moothall.features.pipeline.rules import RULES
from moothall.reading.answers import parse_answer
from moothall.reading.schemas import build_request_schema, build_user_prompt

APPROVALS = (
    "APPROVED",
    "**APPROVED**\nIt holds, and nothing is missing.",
    "Approved.",
    "OK, approved.",
    "Verdict: approve\nIt holds.",
    "My decision is: accepted",
    "I approve this work.",
    "All figures stand in the results.\nAPPROVED",
    "```\nAPPROVED\n```\nIt holds.",
    '{"verdict": "APPROVED", "content": "It holds."}',
    'I have read it twice.\n```json\n{"verdict": "approved", "reasons": "It holds."}\n```',
    '{"verdict": "REJECTED"}\nOn second thoughts:\n{"verdict": "APPROVED", "content": "It holds."}',
    "通过",
    "批准。",
    "结论：通过了",
    "我批准该方案。",
)
REJECTIONS = (
    "REJECTED\nToo thin.",
    "REJECTED: it is not said on which data it was measured, and nobody can tell.",
    "Rejected – no station effect.",
    "Rejected: bad input is not rejected.",
    "Not approved. It leaks.",
    "OK, rejected.",
    "I reject it.",
    "The error is too large.\nREJECTED",
    '{"verdict": "OK, rejected."}',
    "I am sorry for the delay.\nIt does not run.\n\nREJECTED",
    "驳回：没有测试",
    "不通过，太慢。",
    "不批准",
    "我不同意",
)
NEITHER = (
    "It is fine.",
    "Approval is pending.",
    "APPROVED? No.",
    "Approved? Not yet.",
    "APPROVED, not REJECTED",
    "APPROVED it is not.",
    "Not APPROVED, not REJECTED",
    "Not approved, but not rejected either.",
    "不批准，也不驳回",
    "Approve nothing of this.",
    "APPROVED\n\nOn reflection: REJECTED",
    "The work is not\nAPPROVED",
    "I would never say\n\nAPPROVED",
    "I cannot say APPROVED.",
    "Nobody approved.",
    "approved, if the tests pass",
    "APPROVED would be a lie.",
    "The author says: APPROVED",
    "I pass on approving this",
    "Yes, I object.",
    '{"verdict": "I pass on approving this"}',
    '{"verdict": "APPROVED | REJECTED"}',
    '{"verdict": "not APPROVED yet, maybe later"}',
    '{"verdict": ""}',
    '{"content": "It holds."}',
    "通过还是驳回？",
    "还不能通过",
    "没有通过",
    "通过不了",
    "",
    "…",
)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [*((text, "APPROVED") for text in APPROVALS), *((text, "REJECTED") for text in REJECTIONS)],
)
def test_a_verdict_is_read_as_it_was_meant(text: str, verdict: str) -> None:
    """C-11"""
    said = parse_answer(RULES.forms["validate"], text)
    assert isinstance(said, GateVerdict)
    assert said.verdict == verdict


@pytest.mark.parametrize("text", NEITHER)
def test_what_is_not_a_verdict_is_asked_for_again(text: str) -> None:
    """C-11, M-14"""
    with pytest.raises(BadAnswer):
        parse_answer(RULES.forms["validate"], text)


@pytest.mark.parametrize(
    "refusal", ["I'm sorry, but I can't assist with that request.", "抱歉，我无法协助。"]
)
def test_an_apology_opens_no_gate(refusal: str) -> None:
    """C-11, M-14"""
    with pytest.raises(BadAnswer) as caught:
        parse_answer(RULES.forms["review"], refusal)
    assert caught.value.loss == "refused"


def test_a_provider_with_a_schema_is_sent_the_two_verdicts_as_a_choice() -> None:
    """C-11"""
    line = Line(MODEL, CHECK)
    line.put(WorkDone(ask=line.ask.id, seat=line.ask.seat, said=Artefact(content="y = x")))
    brief = RULES.brief(line.state, line.ask)
    schema: dict[str, Any] = build_request_schema(brief)
    assert schema["properties"]["verdict"]["enum"] == ["APPROVED", "REJECTED"]
    assert schema["required"] == ["content", "verdict"], "the reasons first"
    assert "content, verdict" in build_user_prompt(brief), (
        "and whoever takes none is shown the form"
    )
