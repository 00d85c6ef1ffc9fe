"""The bench of evidence: its questions have one answer, and split evidence needs talk."""

import asyncio
import re
from random import Random

import pytest
from bench.evidence.__main__ import WAYS, measure
from bench.evidence.questions import FACTS, KINDS, guess_answer, make_question


@pytest.mark.parametrize("kind", KINDS)
def test_who_notices_every_fact_knows_the_answer(kind: str) -> None:
    for seed in range(20):
        question = make_question(kind, seed)
        text = "\n".join(each.text for each in question.files)
        facts: dict[str, re.Match[str]] = {
            fact[0]: fact for pattern in FACTS for fact in pattern.finditer(text)
        }
        assert guess_answer(question, facts, Random(1))[0] == question.answer


def test_a_debate_brings_split_evidence_together() -> None:
    """E-2: seats that see one file each; perfect readers, who know nothing by themselves and everything after a debate."""
    scores = asyncio.run(measure("contradictions", 1.0, 4, WAYS[1:7]))
    assert scores["debate, split"].right == 4
    assert scores["blind vote, split"].right < 4
    assert scores["debate, shared"].tokens > scores["debate, split"].tokens


def test_minds_that_search_miss_less() -> None:
    """E-2: of the passages that a seat searches for it misses nothing, however little it takes in of a file."""
    scores = asyncio.run(measure("one clause", 0.2, 3, ("debate, split", "debate, split, tools")))
    assert scores["debate, split, tools"].right == 3
    assert scores["debate, split, tools"].looked_up == 15
    assert scores["debate, split"].right < 3
