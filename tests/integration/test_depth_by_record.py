"""A seat earns a reviewed record, and is then asked alone."""

import asyncio
from pathlib import Path

from moothall import Moot
from moothall.domain.effects import Brief
from moothall.domain.topic import ReviewedKind
from moothall.reports.decision import Decision

ASKED: list[str] = []


def answer_yes(brief: Brief) -> object:
    ASKED.append(f"{brief.ask.kind} {brief.ask.seat}")
    return {"type": "propose", "text": "The figures say so.", "choice": "yes", "confidence": 0.95}


def test_a_record_of_reviewed_decisions_lets_one_mind_decide(tmp_path: Path) -> None:
    """G-4: from the library down to the ledger; the reviews count, and are recorded in the opening."""

    async def play() -> None:
        seats = {f"python:{name}": answer_yes for name in ("ada", "bob")}
        async with Moot(
            environ={"MOOT_HOME": str(tmp_path), "MOOT_LEDGER": "memory:"}, participants=seats
        ) as moot:

            async def decide(number: int) -> Decision:
                ASKED.clear()
                places = [f"{name}=python:{name}" for name in ("ada", "bob")]
                decision = await moot.hold(
                    f"Question {number}?",
                    seats=places,
                    depth="auto",
                    options=["yes", "no"],
                    stakes="low",
                    check=False,
                )
                await (await moot.recall()).review(decision.session, "success")
                return decision

            first = await decide(0)
            assert first.depth is not None
            assert (first.depth.stage, first.depth.reason, len(ASKED)) == (
                "blind_vote",
                "no_record",
                2,
            )
            for number in range(1, 10):
                await decide(number)
            alone = await decide(10)
            assert alone.depth is not None
            assert (alone.depth.stage, alone.ended_by, ASKED) == (
                "one_mind",
                "one_mind",
                ["propose ada"],
            )
            opened = (await moot.engine.load_snapshot(alone.session)).session_state.opened
            assert opened.subject.reviewed == (
                ReviewedKind(agreement="agreed_blind", cases=10, right=10),
            )
            assert {
                group.agreement: group.cases
                for group in (await moot.memory.reliability()).list_groups()
            } == {
                "agreed_blind": 10,
                "agreed_alone": 1,
            }

    asyncio.run(asyncio.wait_for(play(), 60))
