"""What a person leaves empty is not recorded, whichever door the answer comes by (W-5, D-7)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support.typing_person import TypingPerson

from moothall import Moot
from moothall.domain.effects import Brief
from moothall.domain.ids import SeatId, SessionId
from moothall.engine.outside_answers import OutstandingAsk
from moothall.participants.human import PersonInterview
from moothall.protocols.council.facts import Contributed, Contribution
from moothall.surfaces.api.method import Call, Caller
from moothall.surfaces.api.methods import TABLE, open_server_context

DEADLINE = 60.0
ADA = SeatId("ada")


def say(brief: Brief) -> object:
    """Propose, and abstain."""
    if brief.ask.kind == "propose":
        return {"type": "propose", "text": f"{brief.seat.id} has a plan.", "confidence": 0.7}
    if brief.ask.kind != "vote":
        return {"type": "pass"}
    return {"type": "vote", "ballot": [{"candidate": 2, "position": "abstain"}]}


@dataclass(frozen=True)
class Given:
    """One answer as it is given by each door: fields, words, and the lines that are typed at the questions."""

    fields: dict[str, Any]
    words: str
    lines: Sequence[str]


GIVEN = {
    "propose": Given(
        {"type": "propose", "text": "Wait.", "choice": "", "confidence": None},
        "Wait.",
        ("Wait.", "", ""),
    ),
    "argue": Given(
        {"type": "support", "text": "I like it.", "refers_to": "", "moved_by": None},
        "I support it: I like it.",
        ("support", "", "I like it."),
    ),
    "vote": Given(
        {
            "type": "vote",
            "ballot": [{"candidate": 3, "position": "support", "condition": ""}],
            "text": "",
            "confidence": "",
            "moved_by": None,
        },
        "3: support",
        ("", "support", "", "", "", ""),
    ),
}


PASS = Given({"type": "pass"}, "/pass", ("/pass",))


async def answer(door: str, call: Call, session: SessionId, asked: OutstandingAsk) -> None:
    given = GIVEN.get(asked.ask.kind, PASS)
    said: object = given.words if door == "words" else given.fields
    if door == "terminal":
        person = TypingPerson(given.lines)
        said = await PersonInterview().ask_for_answer(person, asked.brief)
        assert [question.complaint for question, _ in person.asked] == [""] * len(person.asked)
        for question, typed in person.asked:
            assert typed or "Enter: " in question.text
        await call.moot.answer(session, asked.ask.id, said)
        call.context.runner.wake(session)
        return
    params = {"sessionId": session, "seat": ADA, "ask": asked.ask.id, "answer": said}
    await TABLE["moot.answer"].invoke(call, params)


@pytest.mark.parametrize("door", ["fields", "words", "terminal"])
def test_only_what_was_named_is_recorded(tmp_path: Path, door: str) -> None:
    """W-5, D-7: no choice, no entry, no confidence, and a position on that one resolution alone."""

    async def work() -> None:
        async with open_server_context(Moot(environ={"MOOT_HOME": str(tmp_path)})) as context:
            seats: Any = {ADA: "mailbox", "bob": say, "cem": say}
            session = await context.moot.open(
                "Ship on Friday?", protocol="debate", seats=seats, language="en"
            )
            context.runner.wake(session)
            call, engine = Call(context=context, caller=Caller()), context.moot.engine
            answered: list[str] = []
            while "vote" not in answered:
                for asked in await engine.list_outstanding(session):
                    await answer(door, call, session, asked)
                    answered.append(asked.ask.kind)
                await asyncio.sleep(0.02)
            entries = await engine.entries(session)
        facts = [entry.fact for entry in entries if isinstance(entry.fact, Contributed)]
        said = {fact.said.type: fact.said for fact in facts if fact.seat == ADA}
        assert said["propose"] == Contribution(type="propose", text="Wait.")
        assert (said["support"].refers_to, said["support"].confidence) == (None, None)
        assert [vote.position for vote in said["vote"].ballot] == ["support"]
        for each in said.values():
            assert (each.refers_to, each.moved_by, each.confidence) == (None, None, None)

    async def bounded() -> None:
        async with asyncio.timeout(DEADLINE):
            await work()

    asyncio.run(bounded())
