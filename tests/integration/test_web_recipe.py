"""The web service of docs/recipes.md, as it stands there, while sessions fail and callers err."""

import asyncio
import json
import logging
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import moothall
from moothall.domain.ids import SessionId
from moothall.domain.records import StoredRecord
from moothall.errors import LedgerDamaged
from moothall.ledgers.memory import MemoryLedger

ROOT = Path(__file__).parents[2]


class FailingLedger(MemoryLedger):
    """A ledger on which one session cannot go on after its opening."""

    failing = ""

    async def append(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        if session == self.failing and records[0].seq > 1:
            raise LedgerDamaged("the disk has gone")
        await super().append(session, records)


def load_recipe(ledger: FailingLedger) -> Any:
    """Run the first block of the page, on this ledger."""
    page = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
    [block] = re.findall(r"## A web framework.*?```python\n(.*?)```", page, re.DOTALL)
    source = block.replace("import moothall\n", "")
    names = {name: getattr(moothall, name) for name in ("CallerError", "MootError", "WorldError")}
    scope: dict[str, Any] = {
        "moothall": SimpleNamespace(Moot=partial(moothall.Moot, ledger=ledger), **names)
    }
    exec(source, scope)
    return scope["app"]


async def request(app: Any, method: str, path: str, body: bytes = b"") -> tuple[int, Any]:
    """Send one request to an ASGI application, and return status and JSON."""
    sent: list[dict[str, Any]] = []
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
        "scheme": "http",
        "server": ("board", 80),
        "client": ("1.1.1.1", 1),
        "root_path": "",
        "app": app,
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    text = b"".join(each.get("body", b"") for each in sent[1:])
    return sent[0]["status"], json.loads(text)


def ask(question: str) -> bytes:
    return json.dumps({"question": question}).encode()


def test_a_session_that_fails_stops_no_other_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """G-8: a failed session is logged; the service takes questions before, beside and after it."""
    monkeypatch.setenv("MOOT_HOME", str(tmp_path))
    monkeypatch.chdir(ROOT)
    caplog.set_level(logging.ERROR, logger="board")

    async def work() -> None:
        ledger = FailingLedger()
        app = load_recipe(ledger)
        async with app.router.lifespan_context(app):
            status, first = await request(app, "POST", "/decisions", ask("Ship on Friday?"))
            assert status == 202
            status, broken = await request(app, "POST", "/decisions", ask("Ship on Monday?"))
            assert status == 202
            ledger.failing = broken["session"]
            await asyncio.gather(*app.state.tasks)
            status, later = await request(app, "POST", "/decisions", ask("Ship on Sunday?"))
            assert status == 202
            await asyncio.gather(*app.state.tasks)
            for each, expected in (
                (first, "concluded"),
                (broken, "thinking"),
                (later, "concluded"),
            ):
                status, decision = await request(app, "GET", f"/decisions/{each['session']}")
                assert (status, decision["status"]) == (200, expected)

    asyncio.run(work())
    [line] = [record.getMessage() for record in caplog.records if record.name == "board"]
    assert line.endswith("stopped")


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/decisions", b"{", 400),
        ("POST", "/decisions", b"[]", 400),
        ("POST", "/decisions", b"{}", 400),
        ("POST", "/decisions", b'{"question": 5}', 400),
        ("POST", "/decisions", b'{"question": ""}', 400),
        ("GET", "/decisions/think_20200101_001", b"", 404),
        ("GET", "/decisions/no name", b"", 404),
    ],
)
def test_what_a_caller_gets_wrong_is_the_callers(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    path: str,
    body: bytes,
    status: int,
) -> None:
    """G-8: no wrong body and no unknown session is a failure of the service."""
    monkeypatch.setenv("MOOT_HOME", str(tmp_path))
    monkeypatch.chdir(ROOT)

    async def work() -> tuple[int, Any]:
        app = load_recipe(FailingLedger())
        async with app.router.lifespan_context(app):
            return await request(app, method, path, body)

    got, said = asyncio.run(work())
    assert got == status
    assert said["error"]
