"""A seat earns a reviewed record, is then asked alone, and loses that when what it decided alone proves wrong."""

import asyncio
from pathlib import Path

from moothall import Moot
from moothall.domain.effects import Brief
from moothall.reports.decision import Decision

ASKED: list[str] = []


def answer_yes(brief: Brief) -> object:
    ASKED.append(f"{brief.ask.kind} {brief.ask.seat}")
    return {"type": "propose", "text": "The figures say so.", "choice": "yes", "confidence": 0.95}


def test_a_record_of_reviewed_decisions_lets_one_mind_decide_and_takes_it_back(tmp_path: Path) -> None:
    """G-4: from the library down to the ledger; the reviews count, and are recorded in the opening."""

    async def play() -> None:
        seats = {f"python:{name}": answer_yes for name in ("ada", "bob")}
        async with Moot(environ={"MOOT_HOME": str(tmp_path), "MOOT_LEDGER": "memory:"}, participants=seats) as moot:

            async def decide(number: int, outcome: str = "success") -> Decision:
                ASKED.clear()
                places = [f"{name}=python:{name}" for name in ("ada", "bob")]
                decision = await moot.hold(
                    f"Question {number}?", seats=places, depth="auto", options=["yes", "no"], stakes="low", check=False
                )
                await (await moot.recall()).review(decision.session, outcome)  # type: ignore[arg-type]
                return decision

            begins = [(await decide(number)).depth for number in range(12)]
            assert begins[0] is not None
            assert (begins[0].stage, begins[0].reason) == ("blind_vote", "no_record")
            alone = await decide(20, "failure")
            assert alone.depth is not None
            assert (alone.depth.stage, alone.ended_by, ASKED) == ("one_mind", "one_mind", ["propose ada"])
            for number in range(21, 33):
                await decide(number, "failure")
            again = await decide(40)
            assert again.depth is not None
            assert again.depth.reason in {"poor_record", "unclear"}
            assert len(ASKED) > 1

    asyncio.run(asyncio.wait_for(play(), 60))
