"""The day on which to say how a decision turned out: in the record, the memo, for programs, and by the habit of a category."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from moothall import Moot
from moothall.errors import BadSetting
from moothall.memory.facts import DecisionRecorded
from moothall.plugins import Brief
from moothall.reports.memo import encode_with_memo


def speak(brief: Brief) -> str:
    return "Ship it. I support that."


async def hold(moot: Moot, session: str, **options: Any) -> str:
    """Hold a short meeting and return the memo of its decision."""
    seats = {"a": speak, "b": speak}
    await moot.hold("Shall we ship?", seats=seats, turns=2, session=session, **options)
    return str(encode_with_memo(await moot.decision(session))["memo"]["text"])


def held(home: Path, work: Any) -> None:
    async def run() -> None:
        async with Moot(environ={"MOOT_HOME": str(home), "HOME": str(home)}) as moot:
            await work(moot)

    asyncio.run(run())


def test_the_day_of_a_review_stands_in_record_memo_and_json_until_it_is_made(
    tmp_path: Path,
) -> None:
    """T-1"""

    async def work(moot: Moot) -> None:
        text = await hold(moot, "s1", review_in="30d")
        decision = await moot.decision("s1")
        remembered = await (await moot.recall()).get("s1")
        assert remembered is not None
        closed = remembered.record.closed_at
        day = f"{closed + timedelta(days=30):%Y-%m-%d}"
        assert (decision.review_on, remembered.record.review_on) == (day, day)
        assert "Review this on " in text
        memo = encode_with_memo(decision)["memo"]
        assert {"kind": "review", "due": day, "state": "open"}.items() <= memo["next"][-1].items()
        await moot.memory.review("s1", "success")
        after = encode_with_memo(await moot.decision("s1"))["memo"]
        assert "Review this on " not in after["text"]
        assert after["next"][-1]["state"] == "met"
        assert "Review this on " not in await hold(moot, "s2")
        assert (await moot.decision("s2")).review_on == ""

    held(tmp_path, work)


def test_a_category_has_the_habit_of_its_reviews(tmp_path: Path) -> None:
    """T-1: the median of the days, from three reviewed decisions on; what the opener says comes first."""
    closed = datetime.now(UTC) - timedelta(days=40)

    async def work(moot: Moot) -> None:
        for number, days in enumerate((10, 20, 35)):
            assert await moot.memory.find_review_habit("Release") == 0
            await moot.memory.keep(
                DecisionRecorded(
                    session=f"old{number}",
                    protocol="debate",
                    topic="Ship?",
                    text="Ship.",
                    category="release",
                    opened_at=closed,
                    closed_at=closed + timedelta(days=40 - days),
                )
            )
            await moot.memory.review(f"old{number}", "success")
        assert await moot.memory.find_review_habit("Release") == 20
        await hold(moot, "s1", category="release")
        await hold(moot, "s2", category="release", review_in="36h")
        await hold(moot, "s3", category="other")
        recorded: list[int] = []
        for session in ("s1", "s2", "s3"):
            opened = (await moot.engine.load_snapshot(session)).session_state.opened  # type: ignore[arg-type]
            recorded.append(opened.subject.review_days)
        assert recorded == [20, 2, 0]

    held(tmp_path, work)


@pytest.mark.parametrize("given", ["soon", "0", "-3d", True, ["30d"], "99999999d"])
def test_what_is_no_span_of_time_is_refused(tmp_path: Path, given: Any) -> None:
    async def work(moot: Moot) -> None:
        with pytest.raises(BadSetting, match="review_in"):
            await hold(moot, "s1", review_in=given)

    held(tmp_path, work)
