"""A choice that was taken from a sentence is on the record with its words, is listed in every report, and may be forbidden."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.test_pipeline_rules import CHECK, MODEL, Line

from moothall import Moot
from moothall.app.session_options import SeatFiller
from moothall.domain.effects import Brief
from moothall.domain.facts import ReadingRule, Reply, SeatLost, list_worded_choices
from moothall.domain.ids import parse_seat_id, parse_session_id
from moothall.errors import BadAnswer
from moothall.features.pipeline.rules import RULES
from moothall.reading.answers import read_answer

SENTENCE = "OK, I oppose this."


async def vote(brief: Brief) -> dict[str, Any]:
    """Vote against in a sentence; take part in everything else."""
    if brief.ask.kind == "vote":
        return {
            "position": SENTENCE if brief.seat.id == "ada" else "support",
            "text": "It was never tried.",
        }
    kind = {"propose": "propose", "argue": "challenge", "synthesize": "synthesize"}[brief.ask.kind]
    return {"type": kind, "text": f"{brief.seat.id} would wait until spring.", "confidence": 0.7}


async def _hold(**options: Any) -> tuple[list[Any], dict[str, str]]:
    async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
        seats = dict.fromkeys(("ada", "bob", "cy"), vote)
        decision = await moot.hold(
            "Ship now?", protocol="consensus", seats=seats, seed=1, **options
        )
        facts = [entry.fact for entry in await moot.engine.entries(decision.session)]
        return facts, {
            form: await moot.export(decision.session, form) for form in ("minutes", "html")
        }


@pytest.mark.parametrize("language", ["en", "zh"])
def test_reports_list_the_choices_read_from_words_with_the_words(language: str) -> None:
    """M-14"""
    facts, reports = asyncio.run(_hold(language=language))
    voted = [
        fact for fact in facts if isinstance(fact, Reply) and list_worded_choices(fact.corrections)
    ]
    assert {fact.seat for fact in voted} == {"ada"}
    assert list_worded_choices(voted[0].corrections) == [f"words position {SENTENCE!r} → 'oppose'"]
    for text in reports.values():
        section = text[
            text.index({"en": "Choices read from words", "zh": "从句子中读出的选择"}[language]) :
        ]
        assert "OK, I oppose this." in section


def test_a_strict_reading_takes_no_choice_from_a_sentence() -> None:
    """M-14: whoever names the choice is read as ever."""
    facts, _ = asyncio.run(_hold(reading="strict"))
    lost = [fact for fact in facts if isinstance(fact, SeatLost)]
    assert {fact.seat for fact in lost} == {"ada"}
    assert "a choice must be named here" in lost[0].cause.words
    assert facts[0].reading == "strict"


def test_an_outside_answer_is_previewed_recorded_with_its_words_and_refused_where_reading_is_strict() -> (
    None
):
    """M-14"""

    async def hold(reading: ReadingRule) -> None:
        async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
            seats: dict[str, SeatFiller] = {"eve": "mailbox", "bob": vote}
            session = parse_session_id(
                await moot.open("Ship now?", protocol="debate", seats=seats, reading=reading)
            )
            eve = parse_seat_id("eve")
            for _ in range(9):
                await moot.run(session)
                asked = await moot.engine.find_open_ask(session, eve)
                assert asked is not None
                if asked.ask.kind == "vote":
                    break
                await moot.engine.contribute(
                    session, eve, "We should wait." if asked.ask.kind == "propose" else "/pass"
                )
            before = len(await moot.engine.entries(session))
            if reading == "strict":
                with pytest.raises(BadAnswer, match="must be named"):
                    await moot.engine.preview_answer(session, eve, SENTENCE)
                await moot.engine.contribute(session, eve, "oppose")
                return
            read = await moot.engine.preview_answer(session, eve, SENTENCE)
            assert getattr(read.said, "position", None) == "oppose"
            assert len(await moot.engine.entries(session)) == before, "nothing is recorded"
            entry = await moot.engine.contribute(session, eve, SENTENCE)
            assert isinstance(entry.fact, Reply)
            assert list_worded_choices(entry.fact.corrections) == [f"words the answer {SENTENCE!r}"]

    asyncio.run(hold("lenient"))
    asyncio.run(hold("strict"))


@pytest.mark.parametrize(
    ("text", "is_named"),
    [("REJECTED\nIt is slow.", True), ("reject", True), ("OK, I reject it.", False)],
)
def test_a_verdict_on_a_first_line_of_its_own_is_named(text: str, is_named: bool) -> None:
    """C-11, M-14"""
    brief = build_gate_brief()
    assert bool(list_worded_choices(read_answer(brief, text).mends)) is not is_named
    strict = replace(brief, reading="strict")
    if is_named:
        assert read_answer(strict, text).said == read_answer(brief, text).said
    else:
        with pytest.raises(BadAnswer, match="must be named"):
            read_answer(strict, text)


def build_gate_brief() -> Brief:
    line = Line(MODEL, CHECK).makes("y = x")
    return RULES.brief(line.state, line.ask)
