"""Seats of one model bid in one call, through the library and a loopback model server (P-9)."""

import asyncio
import json
from pathlib import Path

from moothall.app.moot import Moot
from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall_testkit.stub_server import Request, StubReply, StubServer

DRAFT = {"decision": {"text": "Ship.", "entries": [2]}, "confidence": 0.8}


def answer(request: Request) -> StubReply:
    """The first joint bid leaves bob out; then everyone is quiet."""
    asked = str(request.body["messages"])
    if "For each of these seats" in asked:
        bid = {
            "node_id": "ada",
            "reaction_score": 0.9,
            "intent_to_speak": "[#2" not in asked,
            "reason": "It is ready.",
        }
        quiet = [
            {"node_id": name, "reaction_score": 0.1, "intent_to_speak": False}
            for name in ("ada", "bob")
        ]
        return StubReply(text=json.dumps({"bids": quiet if "[#2" in asked else [bid]}))
    if "intent_to_speak" in asked:
        return StubReply(text=json.dumps({"reaction_score": 0.1, "intent_to_speak": False}))
    if "Your turn to speak" in asked:
        return StubReply(text="We should ship, because the tests pass.")
    if "Write its conclusion" in asked:
        return StubReply(text=json.dumps(DRAFT))
    return StubReply(text=json.dumps({"verdict": "support"}))


def test_a_meeting_of_one_model_bids_in_one_call_and_asks_apart_whom_it_left_out(
    tmp_path: Path,
) -> None:
    """P-9"""

    async def hold() -> tuple[str | None, list[str]]:
        async with (
            asyncio.timeout(120),
            StubServer([answer]) as stub,
            Moot(environ={"MOOT_HOME": str(tmp_path)}) as moot,
        ):
            platform = f"{stub.base_url}#stub"
            seats = [Seat(id=SeatId(name), platform=platform) for name in ("ada", "bob")]
            session = await moot.open(
                "Should we ship?", seats=seats, settings={"bids": "together", "blind": False}
            )
            decision = await moot.run(session)
            kinds = [
                next(
                    mark
                    for mark in (
                        "For each of these seats",
                        "Do you need to speak now?",
                        "Your turn to speak",
                        "conclusion",
                        "last word",
                    )
                    if mark in text
                )
                for text in (str(request.body["messages"]) for request in stub.asked)
            ]
            return decision.decision.text if decision.decision else None, kinds

    text, kinds = asyncio.run(hold())
    assert text == "Ship."
    assert kinds == [
        "For each of these seats",
        "Do you need to speak now?",
        "Your turn to speak",
        "For each of these seats",
        "conclusion",
        "last word",
    ]
