"""`moot mcp`: what a coding agent starts by itself and speaks to over standard streams."""

import asyncio
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from tests.acceptance.doors import DEADLINE, MOOT, Cli, Item, held, write_script
from tests.acceptance.mcp_doors import (
    HANDSHAKE,
    MODERN,
    SDK_MODES,
    Begun,
    Json,
    Stdio,
    checked_message,
    plain,
    refused,
)

from moothall.surfaces.api.toolsets import ROLE_TOOLS

SEATS = ["--seat", "ada=mailbox", "--seat", "bob=mailbox"]
PREFIX = "io.modelcontextprotocol/"


def opened(cli: Cli) -> str:
    """A deliberation of two that are elsewhere."""
    cli("run", "Shall we?", "--protocol", "debate", *SEATS, "--session", "s", code=3)
    return "s"


def invited(cli: Cli, seat: str, *more: str) -> Json:
    found: Json = cli.json("invite", "s", "--seat", seat, *more)
    return found


def ledger(cli: Cli, session: str = "s") -> str:
    return cli("export", session, "jsonl").out


def test_it_answers_requests_of_the_newest_revision_without_a_handshake(cli: Cli) -> None:
    """D-5: stateless, each request with its own envelope."""
    meta = {f"{PREFIX}protocolVersion": MODERN, f"{PREFIX}clientCapabilities": {}}
    with Stdio(cli) as stdio:
        call = {"name": "list_deliberations", "arguments": {}, "_meta": meta}
        assert stdio.request("tools/call", call)["structuredContent"] == {"deliberations": []}
        # A client may cut a text in the middle of a character: its call is answered, too.
        half = {"name": "search_decisions", "arguments": {"query": "half \ud83d"}, "_meta": meta}
        assert not stdio.request("tools/call", half).get("isError")
        assert stdio.ended() == (0, "")


def test_it_writes_the_protocol_alone_from_the_handshake_to_the_end_of_its_input(
    cli: Cli, tmp_path: Path
) -> None:
    """D-5: whatever is said beside it: by seats that Moot asks, a provider that is not there, every warning of Python."""
    seats: dict[str, dict[str, list[Item]]] = {
        "carl": {
            "propose": [
                {"type": "propose", "text": "Left.\nRight.", "choice": "left", "confidence": 0.6}
            ],
            "argue": [{"type": "pass"}],
            "synthesize": [{"type": "pass"}],
            "vote": [{"type": "vote", "position": "support", "confidence": 0.6}],
        },
        "dora": {"propose": [{"fail": "error"}]},
    }
    platform = write_script(tmp_path / "talk.toml", seats)
    with Stdio(cli, is_fresh=True, PYTHONWARNINGS="always", PYTHONASYNCIODEBUG="1") as stdio:
        agreed = stdio.greet(HANDSHAKE[0])
        assert (agreed["protocolVersion"], agreed["serverInfo"]["name"]) == (HANDSHAKE[0], "moot")
        assert {tool["name"] for tool in stdio.request("tools/list", {})["tools"]} == set(
            ROLE_TOOLS["owner"]
        )
        missing = [{"id": "ada"}, {"id": "bob", "platform": "http://127.0.0.1:9/v1#none"}]
        assert stdio.call("open_deliberation", topic="Nobody there?", participants=missing)[
            "isError"
        ]
        participants = [
            {"id": "ada"},
            {"id": "carl", "platform": platform},
            {"id": "dora", "platform": platform},
        ]
        answer = stdio.call(
            "open_deliberation", topic="Left or right?", participants=participants, stakes="high"
        )
        session = answer["structuredContent"]["deliberationId"]
        ada = {"deliberationId": session, "participant": "ada"}
        said: dict[str, Json] = {
            "propose": {"type": "propose", "text": "Left.", "choice": "left", "confidence": 0.7},
            "argue": {"type": "pass"},
            "synthesize": {
                "type": "synthesize",
                "text": "Left it is.",
                "choice": "left",
                "confidence": 0.7,
            },
            "vote": {"type": "vote", "position": "support", "confidence": 0.7},
        }
        turn = stdio.call("join_deliberation", **ada)["structuredContent"]
        while turn["status"] != "closed":
            if turn["status"] == "your_turn":
                stdio.call("contribute", **ada, **said[turn["ask"]["phase"]])
            turn = stdio.call("wait_for_turn", **ada, timeoutSeconds=100)["structuredContent"]
        assert turn["result"]["participantVotes"].keys() >= {"ada", "carl"}
        assert [lost["participant"] for lost in turn["result"]["lost"]] == ["dora"]
        code, _ = stdio.ended()
        assert code == 0
        for line in stdio.lines:
            checked_message(line)


def test_a_token_in_the_environment_gives_the_seat(cli: Cli) -> None:
    """D-6: it speaks for its seat alone and need not say its name. Its input may end while a call waits: code 0 all the same."""
    opened(cli)
    view = {"deliberationId": "s", "type": "propose", "confidence": 0.6}
    with Stdio(cli, MOOT_TOKEN=invited(cli, "ada")["token"]) as stdio:
        stdio.greet()
        other = stdio.call("contribute", **view, participant="bob", text="As bob.")
        assert other["isError"]
        assert "only for the seat 'ada'" in other["content"][0]["text"]
        assert stdio.call("open_deliberation", topic="x", participants=["a", "b"])["isError"]
        assert not stdio.call("contribute", **view, text="As ada.")["isError"]
        before = ledger(cli)
        assert (before.count("As ada."), before.count("As bob.")) == (1, 0)
        waits = {
            "name": "wait_for_turn",
            "arguments": {"deliberationId": "s"},
            "_meta": {"progressToken": 1},
        }
        stdio.send({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": waits})
        assert stdio.read()["method"] == "notifications/progress"
        assert stdio.ended() == (0, "")
        for line in stdio.lines:
            checked_message(line)
    assert ledger(cli) == before


def test_a_wrong_token_ends_it_with_a_sentence(cli: Cli) -> None:
    """D-6: on standard error, with code 2, and not a byte for the client."""
    with Stdio(cli, MOOT_TOKEN="made-up") as stdio:
        assert stdio.ended() == (
            2,
            "moot: MOOT_TOKEN is unknown; `moot invite` creates a new one\n",
        )
        assert stdio.lines == []


def test_a_token_that_is_revoked_meanwhile_opens_nothing_more(cli: Cli) -> None:
    """D-6: as over HTTP, where the next call is refused."""
    opened(cli)
    made = invited(cli, "ada")
    with Stdio(cli, MOOT_TOKEN=made["token"]) as stdio:
        stdio.greet()
        cli("invite", "--revoke", made["tokenId"])
        said = stdio.call(
            "contribute", deliberationId="s", type="propose", text="Still here.", confidence=0.6
        )
        assert said["isError"]


@pytest.mark.parametrize("mode", SDK_MODES)
def test_a_cancelled_wait_leaves_it_well(cli: Cli, mode: str) -> None:
    """D-5, D-6: in both eras; the next call works and nothing is recorded."""
    opened(cli)
    environ = {**cli.environ, "MOOT_TOKEN": invited(cli, "ada")["token"]}
    parameters = StdioServerParameters(command=str(MOOT), args=["mcp"], env=environ)

    async def work() -> None:
        async with Client(parameters, mode=mode) as client:
            said = {"deliberationId": "s", "type": "propose", "text": "Yes.", "confidence": 0.6}
            plain(await client.call_tool("contribute", said))
            before = await asyncio.to_thread(ledger, cli)
            begun = Begun()
            arguments = {"deliberationId": "s", "timeoutSeconds": 600}
            waiting = asyncio.create_task(
                client.call_tool("wait_for_turn", arguments, progress_callback=begun)
            )
            await begun.wait()
            waiting.cancel()
            await asyncio.wait([waiting])
            assert waiting.cancelled()
            turn = plain(
                await client.call_tool("wait_for_turn", {**arguments, "timeoutSeconds": 0})
            )
            assert turn["status"] == "pending"
            assert "is not allowed" in refused(
                await client.call_tool(
                    "contribute", {**said, "type": "vote", "position": "support"}
                )
            )
            assert await asyncio.to_thread(ledger, cli) == before

    held(work())


def test_a_signal_ends_it(cli: Cli) -> None:
    """D-5: as it ends every command, with code 130 and nothing on standard output; its client may still hold the other end."""
    opened(cli)
    with Stdio(cli, is_fresh=True) as stdio:
        stdio.greet()
        ada = {"deliberationId": "s", "participant": "ada"}
        stdio.call("contribute", **ada, type="propose", text="Yes.", confidence=0.6)
        # While this call lasts, it comes to rest at its input.
        stdio.call("wait_for_turn", **ada, timeoutSeconds=1)
        answers = len(stdio.lines)
        assert stdio.stopped(signal.SIGTERM, within=DEADLINE) == 130
        stdio.ended()
        assert len(stdio.lines) == answers


def test_what_it_left_unfinished_is_taken_up_by_whoever_waits_next(
    cli: Cli, tmp_path: Path
) -> None:
    """D-16: a seat that Moot asks had not answered when the agent went; the next one to wait gets its answer."""
    late = {"type": "propose", "text": "Left.", "choice": "left", "confidence": 0.6, "delay": 60}
    platform = write_script(tmp_path / "talk.toml", {"carl": {"propose": [late]}})
    participants = [{"id": "ada"}, {"id": "carl", "platform": platform}]
    with Stdio(cli) as stdio:
        stdio.greet()
        answer = stdio.call(
            "open_deliberation", topic="Left or right?", participants=participants, stakes="high"
        )
        session = answer["structuredContent"]["deliberationId"]
        said = {"type": "propose", "text": "Right.", "choice": "right", "confidence": 0.6}
        assert not stdio.call("contribute", deliberationId=session, participant="ada", **said)[
            "isError"
        ]
        assert stdio.ended()[0] == 0
    write_script(tmp_path / "talk.toml", {"carl": {"propose": [{**late, "delay": 0}]}})
    with Stdio(cli) as stdio:
        stdio.greet()
        turn = stdio.call(
            "wait_for_turn", deliberationId=session, participant="ada", timeoutSeconds=100
        )["structuredContent"]
        assert turn["status"] == "your_turn"
        assert [line["participant"] for line in turn["new"]] == ["carl"]


def test_a_damaged_session_does_not_keep_a_participant_from_finding_the_others(cli: Cli) -> None:
    """D-5: `moot verify` tells of the damage."""
    opened(cli)
    cli("run", "And that?", "--protocol", "debate", *SEATS, "--session", "other", code=3)
    with closing(sqlite3.connect(cli.home / "ledger.db")) as connection, connection:
        named = "(SELECT number FROM sessions WHERE id = 'other')"
        connection.execute(f"UPDATE entries SET at = at + 1 WHERE seq = 2 AND session = {named}")
    with Stdio(cli) as stdio:
        stdio.greet()
        found = stdio.call("list_deliberations", participant="ada")
        assert not found["isError"], found
        assert "s" in {
            each["deliberationId"] for each in found["structuredContent"]["deliberations"]
        }


def test_the_first_answer_comes_before_the_library_is_loaded_and_is_the_same(cli: Cli) -> None:
    """D-5: an `initialize` with an envelope is left to the library; a plain one is answered at once, and once."""
    answers = []
    for more in ({}, {"_meta": {"progressToken": 7}}):
        with Stdio(cli, is_fresh=True) as stdio:
            params = {
                "protocolVersion": HANDSHAKE[0],
                "capabilities": {},
                "clientInfo": {"name": "c", "version": "1"},
                **more,
            }
            answers.append(stdio.request("initialize", params))
            assert stdio.request("ping", {}) == {}
            assert stdio.ended() == (0, "")
    assert answers[0] == answers[1]
