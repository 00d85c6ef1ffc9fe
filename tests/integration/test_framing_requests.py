"""Q-1: a model server gets one request to frame a question, whatever it answers."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from moothall.app.moot import Moot
from moothall.domain.facts import FramingCall
from moothall.domain.ids import parse_session_id
from moothall_testkit.stub_server import Drop, Fail, Step, StubReply, StubServer

QUESTION = "Which database should a small clinic use?"
LISTED = {"assumes": "", "criteria": [], "kind": "choice", "answers": ["Postgres", "SQLite"]}


async def open_at(stub: StubServer, home: Path) -> tuple[Any, FramingCall]:
    environ = {"MOOT_HOME": str(home), "HOME": str(home), "MOOT_LEDGER": "memory:"}
    async with stub, Moot(environ=environ) as moot:
        seats = {"ada": f"{stub.base_url}#m", "bob": "mailbox", "cy": "mailbox"}
        session = await moot.open(QUESTION, protocol="debate", seats=seats, check=False)
        state = (await moot.engine.load_snapshot(parse_session_id(session))).session_state
        assert state.opened.framing is not None
        assert state.spent.calls == state.opened.framing.usage.calls
        return state.opened.frame, state.opened.framing


@pytest.mark.parametrize(
    ("step", "fault"),
    [
        (StubReply(text=json.dumps(LISTED)), None),
        (StubReply(text="Postgres, because a clinic has tables."), "unreadable"),
        (StubReply(text="I'm sorry, but I can't assist with that request."), "refused"),
        (StubReply(text=""), "unreadable"),
        (Fail(status=500), "failed"),
        (Fail(status=429), "failed"),
        (Drop(), "failed"),
    ],
    ids=["listed", "prose", "refusal", "empty", "broken", "limited", "dropped"],
)
def test_a_server_gets_one_request(tmp_path: Path, step: Step, fault: str | None) -> None:
    """Q-1: never more than its one call."""
    stub = StubServer([step, StubReply(text=json.dumps(LISTED))])
    frame, call = asyncio.run(open_at(stub, tmp_path))
    assert call.fault == fault
    assert len(stub.asked) == 1
    if fault is None:
        assert frame.answers == ("Postgres", "SQLite")
        assert frame.added == ("Postgres", "SQLite")
        assert call.usage.calls == 1
