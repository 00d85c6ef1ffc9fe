"""The same decision by every door is the same object, field by field: one JSON dialect."""

import asyncio
import html
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from tests.acceptance.doors import DEADLINE, Cli
from tests.acceptance.mcp_doors import Server, plain, sdk, serving
from tests.acceptance.server import SEATS, STEPS
from tests.support.model_provider import ModelProvider

from moothall import Moot
from moothall.locale.catalogues import SHARED_REPORT
from moothall.memory.facts import DecisionRecorded
from moothall.reports.memo import encode_with_memo
from moothall.reports.wording import format_percent

PAGE_FIELDS: Final = ("sessionId", "topic", "status", "parked", "choice", "strength")
"""What a view says of the decision beside its blocks."""
REMEMBERED_FIELDS: Final = ("decision", "strength", "consensusType")
"""What decision memory, which the page lists, and the result of a deliberation say of it."""


EARLIER: Final = datetime(2025, 1, 1, tzinfo=UTC)


def decide(server: Server) -> str:
    """Hold a deliberation to its end; its id."""
    session = server.opened(*SEATS, topic="Adopt HSM?", category="architecture")
    for seat, said in STEPS:
        server.result("cstp.contribute", deliberationId=session, participant=seat, **said)
    return session


async def load_from_library(environ: Mapping[str, str], session: str) -> dict[str, Any]:
    async with Moot(environ=environ) as moot:
        return encode_with_memo(await moot.decision(session))


async def call_tool(server: Server, session: str) -> dict[str, Any]:
    async with sdk(server, "auto") as client:
        return plain(await client.call_tool("get_session", {"sessionId": session}))


def test_a_decision_is_the_same_by_command_library_rpc_mcp_and_page(tmp_path: Path) -> None:
    """L-4: whoever scripts the command line and moves to the server reads the same fields."""
    with serving(tmp_path) as server:
        session = decide(server)
        command = server.cli.json("show", session)
        library = asyncio.run(load_from_library(server.cli.environ, session))
        called = server.result("moot.getSession", sessionId=session)
        by_tool = asyncio.run(call_tool(server, session))
        view = server.result("moot.getView", sessionId=session)
        remembered = server.result("cstp.getDecision", decisionId=session)
        result = server.result("cstp.getDeliberation", deliberationId=session)["result"]
        open_session, plan = (
            server.opened("ada", "bob", topic="Next?"),
            {"topic": "Next?", "seats": ["ada", "bob"]},
        )
        going_on = server.cli.json("show", open_session)
        planned = server.cli.json(
            "run", "Next?", "--seat", "ada=mailbox", "--seat", "bob=mailbox", "--dry-run"
        )
        # Of sealed answers the server shows no figure.
        assert server.result("moot.getSession", sessionId=open_session).items() <= going_on.items()
        assert planned.pop("opened")["topic"] == "Next?"
        assert planned == server.result("moot.planSession", **plan)
    assert going_on["waitingFor"] == ["ada", "bob"]
    assert command == library == called == by_tool
    assert command["memo"]["result"]
    assert (command["status"], command["decision"]) == (
        "concluded",
        "HSM for parallel + attention fallback",
    )
    assert {name: view[name] for name in PAGE_FIELDS} == {
        name: command[name] for name in PAGE_FIELDS
    }
    for answer in (remembered, result):
        assert {name: answer[name] for name in REMEMBERED_FIELDS} == {
            name: command[name] for name in REMEMBERED_FIELDS
        }
        assert answer["confidence"] == pytest.approx(command["confidence"], abs=1e-4)
        assert all(isinstance(each["decision"], str) for each in (answer, command, called))


async def remember_reviewed(environ: Mapping[str, str], kinds: Mapping[str, Any]) -> None:
    """Twelve earlier decisions of one kind, nine of them right."""
    async with Moot(environ=environ) as moot:
        memory = await moot.recall()
        for number in range(12):
            record = DecisionRecorded(
                session=f"debate_2025010{number // 4}_{number:03}",
                protocol="debate",
                topic="An earlier question?",
                text="So be it.",
                confidence=0.8,
                opened_at=EARLIER,
                closed_at=EARLIER,
                **kinds,
            )
            await memory.keep(record)
            await memory.review(record.session, "success" if number < 9 else "failure")


def test_every_surface_says_the_same_confidence_strength_and_agreement(tmp_path: Path) -> None:
    """D-26, D-12, D-25: chat, terminal, minutes, HTML, page, RPC, MCP, memory, library and list, all by one rule."""
    with ModelProvider() as provider:
        server = Server(tmp_path)
        cli = server.cli = Cli(
            tmp_path / "home", tmp_path, OPENAI_API_KEY="sk-x", OPENAI_BASE_URL=provider.base_url
        )
        asyncio.run(
            remember_reviewed(cli.environ, {"consensus_type": "unanimous", "agreement": "blind"})
        )
        server.start()
        try:
            body = {
                "model": "moot/debate:board",
                "messages": [{"role": "user", "content": "Should we ship on Friday?"}],
            }
            owner = {"Authorization": f"Bearer {cli.key}"}
            asked = httpx2.post(
                f"{server.url}/v1/chat/completions", json=body, headers=owner, timeout=DEADLINE
            )
            session, chat = (
                asked.headers["x-moot-session"],
                asked.json()["choices"][0]["message"]["content"],
            )
            called = server.result("moot.getSession", sessionId=session)
            answers = {
                "rpc": called,
                "deliberation": server.result("cstp.getDeliberation", deliberationId=session)[
                    "result"
                ],
                "memory": server.result("cstp.getDecision", decisionId=session),
                "library": asyncio.run(load_from_library(cli.environ, session)),
                "mcp": asyncio.run(call_tool(server, session)),
                "command": cli.json("show", session),
            }
            texts = {
                "chat": chat,
                "memo": cli("show", session, "--memo").out,
                "terminal": cli("show", session).out,
                "minutes": cli("export", session, "minutes").out,
                "html": html.unescape(re.sub("<[^>]+>", " ", cli("export", session, "html").out)),
                "page": json.dumps(
                    server.result("moot.getView", sessionId=session), ensure_ascii=False
                ),
            }
            listed = next(
                line
                for line in server.result("moot.listSessions")["sessions"]
                if line["sessionId"] == session
            )
            shown = cli("list").out
        finally:
            server.close()
    words = SHARED_REPORT["en"]
    expected = {
        name: called[name] for name in ("strength", "consensusType", "agreement", "trackRecord")
    }
    assert expected["trackRecord"] == {"cases": 12, "right": 9}
    for name, answer in answers.items():
        assert {field: answer[field] for field in expected} == expected, name
        assert answer["confidence"] == pytest.approx(called["confidence"], abs=1e-4), name
    sure = format_percent(called["confidence"])
    # One memo, and first of all that each of them says.
    memo = [line["text"] for line in called["memo"]["lines"]]
    assert memo[0] == called["memo"]["result"]
    for name, text in texts.items():
        plain_text = " ".join(re.sub(r"[*\\]|\n *", " ", text).split())
        for said in memo:
            assert said in plain_text, (name, said)
    # The figures stand in one place, below it.
    for name in ("terminal", "minutes", "html"):
        plain_text = " ".join(re.sub(r"[*\\]|\n *", " ", texts[name]).split())
        for said in (
            sure,
            words.strengths[called["strength"]],
            words.agreements[called["agreement"]],
            "of 12 decisions like this, 9 were right",
        ):
            assert plain_text.index(said) > plain_text.index(memo[-1]), (name, said)
    assert listed["strength"] == called["strength"]
    assert called["memo"]["reservations"][0]["short"] in shown
