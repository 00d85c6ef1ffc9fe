"""The seat of an editor's user in the chat of `moot acp`: one question at a time, and what may be left empty (A-1, W-5)."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from moothall import Moot
from moothall.domain.effects import Brief
from moothall.domain.ids import SessionId
from moothall.errors import BadAnswer
from moothall.protocols.council.facts import Contributed, Contribution
from moothall.surfaces.acp import SEAT, SKIP, EditorSeat
from moothall.surfaces.api.chat import ChatMeeting
from moothall.surfaces.api.method import Call, Caller
from moothall.surfaces.api.methods import open_server_context

DEADLINE = 60.0


def say(brief: Brief) -> object:
    """Propose, and vote for what one has proposed oneself."""
    seat = brief.seat.id
    if brief.ask.kind == "propose":
        return {"type": "propose", "text": f"{seat} has a plan.", "confidence": 0.7}
    if brief.ask.kind != "vote":
        return {"type": "pass"}
    return {"type": "vote", "ballot": [{"candidate": 2, "position": "abstain"}]}


@asynccontextmanager
async def open_chat(home: Path) -> AsyncIterator[tuple[Call, EditorSeat]]:
    """A debate in which the editor's user is asked."""
    async with open_server_context(Moot(environ={"MOOT_HOME": str(home)})) as context:
        seats: Any = {SEAT: "mailbox", "bob": say, "cem": say}
        session = await context.moot.open(
            "Ship on Friday?", protocol="debate", seats=seats, language="en"
        )
        context.runner.wake(session)
        call = Call(context=context, caller=Caller())
        yield call, EditorSeat(ChatMeeting(session=session))


async def wait_for_question(call: Call, seat: EditorSeat) -> str:
    while not (question := await seat.find_question(call)):  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    return question


async def list_said(call: Call, seat: EditorSeat) -> list[Contribution]:
    entries = await call.moot.engine.entries(SessionId(seat.meeting.session))
    facts = [entry.fact for entry in entries if isinstance(entry.fact, Contributed)]
    return [fact.said for fact in facts if fact.seat == SEAT]


def test_an_editors_user_is_asked_about_each_candidate_and_may_skip_each(tmp_path: Path) -> None:
    """A-1, W-5: what is skipped has no position, what it means stands beside it, and a ballot without any is refused."""

    async def work() -> None:
        async with open_chat(tmp_path) as (call, seat):
            await wait_for_question(call, seat)
            await seat.answer(call, "We should wait.")
            question = await wait_for_question(call, seat)
            while "Your position?" not in question:
                assert SKIP not in question or "no line is named" in question
                await seat.answer(call, "/pass")
                question = await wait_for_question(call, seat)
            for _ in range(2):
                assert f"- `{SKIP}`: no position on it is recorded" in question
                await seat.answer(call, SKIP)
                question = await wait_for_question(call, seat)
            with pytest.raises(BadAnswer, match="no position is named"):
                await seat.answer(call, SKIP)
            question = await wait_for_question(call, seat)
            asked = list[int]()
            for given in (SKIP, "support", ""):
                asked += [int(number) for number in re.findall(r"Resolution #(\d)", question)]
                await seat.answer(call, given)
                question = await seat.find_question(call)
            assert sorted(asked) == [2, 3, 4]
            assert question == ""
            said = await list_said(call, seat)
            assert [(vote.candidate, vote.position) for vote in said[-1].ballot] == [
                (asked[1], "support")
            ]
            assert said[-1].confidence is None

    async def bounded() -> None:
        async with asyncio.timeout(DEADLINE):
            await work()

    asyncio.run(bounded())
