"""Reviewed decisions as the questions of a bench."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from moothall import Moot
from moothall.errors import BadSetting
from moothall.features.bench.questions import BenchQuestion, list_reviewed_questions
from moothall.memory.facts import DecisionRecorded

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def test_a_reviewed_decision_whose_right_choice_is_known_is_a_question(tmp_path: Path) -> None:
    """G-3: a success stands for its choice, a failure for what its review names; the rest is no question."""

    async def work() -> None:
        async with Moot(environ={"MOOT_HOME": str(tmp_path), "MOOT_LEDGER": "memory:"}) as moot:
            with pytest.raises(BadSetting, match="no decision with a known right choice"):
                await list_reviewed_questions(moot.memory)
            for name, options in {
                "won": ("A", "B"),
                "lost": ("A", "B"),
                "unknown": ("A", "B"),
                "open": (),
            }.items():
                await moot.memory.keep(
                    DecisionRecorded(
                        session=name,
                        protocol="debate",
                        topic=f"{name}?",
                        text="A it is.",
                        choice="A",
                        options=options,
                        category="c",
                        opened_at=NOW,
                        closed_at=NOW,
                    )
                )
            await moot.memory.review("won", "success")
            await moot.memory.review("lost", "failure", choice="B")
            await moot.memory.review("unknown", "failure")
            assert await list_reviewed_questions(moot.memory) == [
                BenchQuestion(question="won?", answer="A", options=("A", "B"), category="c"),
                BenchQuestion(question="lost?", answer="B", options=("A", "B"), category="c"),
            ]

    asyncio.run(asyncio.wait_for(work(), 60))
