"""What a client of MCP finds: tools with their schemas, refusals, seats, resources, the prompt, and how it is invited."""

import asyncio
import json
import shlex
import sqlite3
import tomllib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from mcp import Client, MCPError
from mcp.types import TextContent, TextResourceContents
from tests.acceptance.doors import held
from tests.acceptance.mcp_doors import (
    CLIENTS,
    HANDSHAKE,
    MODERN,
    SDK_MODES,
    Agent,
    Json,
    Server,
    by_hand,
    message,
    plain,
    reached,
    refused,
    sdk,
    serving,
)

from moothall.surfaces.api.methods import TOOLS
from moothall.surfaces.api.toolsets import SEAT_TOOLS

SECRET = "The word is heliotrope."


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("mcp")) as found:
        yield found


def timeline(session: str) -> str:
    return f"moot://sessions/{session}/timeline"


@pytest.mark.parametrize("kind", CLIENTS)
def test_clients_of_every_revision_work_at_one_address(server: Server, kind: str) -> None:
    """D-1 to D-5 as MCP tools: list, call, read, get the prompt; with the SDK's client and by hand."""
    session = server.opened("ada", "bob", topic="Does every revision work?")
    token = server.invited(session, "ada")

    async def work() -> None:
        async with reached(server, kind, token) as agent:
            tools = (await agent.request("tools/list", {}))["tools"]
            assert {tool["name"] for tool in tools} == set(SEAT_TOOLS["deliberation"])
            turn = (await _tool(agent, "join_deliberation", deliberationId=session))[
                "structuredContent"
            ]
            assert (turn["status"], turn["ask"]["phase"]) == ("your_turn", "propose")
            said = await _tool(
                agent,
                "contribute",
                deliberationId=session,
                type="propose",
                text=f"By {kind}.",
                confidence=0.5,
            )
            assert said["structuredContent"]["waitingFor"] == ["bob"]
            assert json.loads(said["content"][0]["text"]) == said["structuredContent"]
            assert not said["isError"]
            listed = (await agent.request("resources/list", {}))["resources"]
            assert [each["uri"] for each in listed] == [timeline(session)]
            (read,) = (await agent.request("resources/read", {"uri": timeline(session)}))[
                "contents"
            ]
            assert read["mimeType"] == "text/markdown"
            assert "Does every revision work?" in read["text"]
            prompt = await agent.request(
                "prompts/get", {"name": "join", "arguments": {"session": session}}
            )
            assert session in prompt["messages"][0]["content"]["text"]

    held(work())
    assert [line["text"] for line in _read_as(server, session, "ada")] == [f"By {kind}."]


def _read_as(server: Server, session: str, seat: str) -> list[Json]:
    found: list[Json] = server.result(
        "cstp.getDeliberation", deliberationId=session, participant=seat
    )["contributions"]
    return found


@pytest.mark.parametrize(("mode", "revision"), [("auto", MODERN), ("legacy", HANDSHAKE[-1])])
def test_a_client_is_told_what_the_server_is_for(server: Server, mode: str, revision: str) -> None:
    """D-5: instructions name the loop that a participant runs."""

    async def work() -> None:
        async with sdk(server, mode) as client:
            assert client.protocol_version == revision
            assert client.server_info is not None
            assert client.server_info.name == "moot"
            told = client.instructions or ""
            assert all(
                name in told for name in ("open_session", "get_session", "get_asks", "answer_ask")
            )

    held(work())


def test_every_tool_is_described_and_its_schemas_are_valid(server: Server) -> None:
    """D-1 to D-5: a description and an input schema, an object of JSON Schema 2020-12 without references; no output schema."""

    async def work() -> None:
        async with sdk(server, "auto", query="?tools=all") as client:
            tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == set(TOOLS)
        for tool in tools:
            assert tool.description, tool.name
            assert tool.output_schema is None, tool.name
            assert tool.input_schema["type"] == "object", tool.name
            assert "$ref" not in json.dumps(tool.input_schema), tool.name
            Draft202012Validator.check_schema(tool.input_schema)
            for name, about in tool.input_schema["properties"].items():
                assert about, (tool.name, name)

    held(work())


async def conference_held(call: Callable[..., Awaitable[Json]]) -> None:
    """A conference in files, from its beginning to its minutes (R-4, R-5, R-6, R-9, R-16)."""
    at = {"conference": "doors"}
    await call(
        "new_conference",
        **at,
        topic="Which door?",
        roles=[{"id": "ada", "description": "Keeps the keys"}, "bob"],
        maxRounds=1,
    )
    blocked = await call("join_conference", **at, role="bob", timeoutSeconds=0.2)
    assert (
        blocked["message"]
        == "[Conference blocked] It is ada's turn to speak; please schedule that agent."
    )
    first = await call("join_conference", **at, role="ada")
    assert first["isYourTurn"]
    assert "Which door?" in first["agenda"]
    assert "- ada: Keeps the keys\n- bob\n" in first["agenda"]
    said = await call(
        "say_in_conference", **at, role="ada", text="## Stance\nLeft.", idempotencyKey="1"
    )
    assert (said["file"], said["nextSpeaker"]) == ("001_ada.md", "bob")
    assert said["missingSections"] == ["Analysis", "Response and questions"]
    again = await call(
        "say_in_conference", **at, role="ada", text="## Stance\nLeft.", idempotencyKey="1"
    )
    assert again["isRepeated"]
    second = await call("join_conference", **at, role="bob")
    assert [speech["text"] for speech in second["speeches"]] == ["## Stance\nLeft.\n"]
    await call("say_in_conference", **at, role="bob", text="## Stance\nRight.")
    assert (await call("conference_status", **at))["turn"]["status"] == "concluding"
    await call("relay_conference", **at)
    assert (await call("check_conference", **at))["damage"] == []
    assert (await call("repair_conference", **at))["done"] == []
    returned = await call(
        "say_in_conference", **at, role="moderator", text="## Summary\nTwo doors."
    )
    assert (returned["status"], returned["missingSections"]) == (
        "concluding",
        ["consensus", "disagreements", "actions"],
    )
    assert "and came back" in returned["message"]
    await call("say_in_conference", **at, role="moderator", text="## Summary\nTwo doors.")
    minutes = await call("conference_minutes", **at)
    assert (minutes["minutes"], minutes["missingSections"]) == (
        "## Summary\nTwo doors.",
        returned["missingSections"],
    )


def test_what_every_tool_gives_is_what_its_schema_says(server: Server) -> None:
    """D-1 to D-5: one call of each tool at least, on a deliberation that is held to its end."""
    given: list[str] = []

    async def work(client: Client) -> None:
        listed = (await client.list_tools()).tools
        schemas = {
            tool.name: (tool.input_schema, TOOLS[tool.name].output_schema()) for tool in listed
        }

        async def call(tool: str, **arguments: Any) -> Json:
            takes, gives = schemas[tool]
            Draft202012Validator(takes).validate(arguments)
            found = plain(await client.call_tool(tool, arguments))
            Draft202012Validator(gives).validate(found)
            given.append(tool)
            return found

        opened = await call(
            "open_deliberation",
            topic="Which door is the right one?",
            participants=["ada", {"id": "bob", "stance": "wary"}],
            stakes="high",
            options=["left", "right"],
            tags=["doors"],
        )
        session = opened["deliberationId"]
        at = {"deliberationId": session}
        await call("join_deliberation", **at, participant="ada")
        await call(
            "contribute",
            **at,
            participant="ada",
            type="propose",
            text="Left.",
            choice="left",
            confidence=0.6,
        )
        await call("wait_for_turn", **at, participant="ada", timeoutSeconds=0)
        await call("get_asks", sessionId=session, seat="bob")
        answer = {"type": "propose", "text": "Right.", "choice": "right", "confidence": 0.7}
        await call("answer_ask", sessionId=session, seat="bob", answer=answer)
        await call(
            "contribute",
            **at,
            participant="ada",
            type="challenge",
            text="Why?",
            refersTo=3,
            confidence=0.6,
            evidence=["x"],
        )
        await call("contribute", **at, participant="bob", type="pass")
        synthesis = {
            "type": "synthesize",
            "text": "Right, then left.",
            "choice": "right",
            "answers": [4],
            "confidence": 0.7,
        }
        await call("contribute", **at, participant="bob", **synthesis)
        await call("contribute", **at, participant="ada", type="pass")
        vote = {
            "position": "conditional_support",
            "condition": "a handrail",
            "movedBy": 3,
            "confidence": 0.6,
        }
        await call("contribute", **at, participant="ada", type="vote", **vote)
        await call("get_deliberation", **at)
        await call(
            "contribute", **at, participant="bob", type="vote", position="support", confidence=0.7
        )
        result = await call("close_deliberation", **at)
        assert result["decision"] == "Right, then left."
        await call("get_deliberation", **at)
        await call("wait_for_turn", **at, participant="ada", timeoutSeconds=0)
        await call("list_deliberations", status="closed")
        await call("search_decisions", query="right door")
        await call("get_decision", decisionId=session)
        owed = await call("list_obligations", decisionId=session)
        assert [each["text"] for each in owed["obligations"]] == ["a handrail"]
        await call("settle_obligation", decisionId=session, number=1, state="met")
        await call("review_decision", decisionId=session, outcome="partial", note="It creaks.")
        await call("get_source_trust", source="ada")
        recorded = await call(
            "record_decision",
            agent="ada",
            topic="Oil it?",
            decision="Oil it.",
            confidence=0.8,
            stakes="low",
        )
        assert recorded["status"] == "recorded"
        required = await call(
            "record_decision",
            agent="ada",
            topic="Tear it down?",
            decision="Yes.",
            confidence=0.9,
            stakes="critical",
        )
        assert required["status"] == "deliberation_required"
        asked = await call("may_decide_alone", agent="ada", confidence=0.9, stakes="critical")
        assert (asked["allowed"], asked["rules"]) == (False, required["rules"])
        await call("get_circuit_state", scope="stakes:critical")
        thread = (await call("create_thread", title="Doors"))["thread"]
        await call("resume_thread", thread=thread, participant="ada")
        painted = await call("open_session", topic="Paint it?", seats=["ada", "bob"])
        await call("resume_session", sessionId=painted["sessionId"])
        invited = await asyncio.to_thread(
            server.cli.json, "invite", painted["sessionId"], "--seat", "ada", "--code"
        )
        await call("join_by_code", code=invited["code"])
        await call("get_session", sessionId=session)
        await call("list_sessions", limit=3)
        await conference_held(call)
        await consult(call)
        swarm = (await call("open_swarm", task="Where to look?", seats=["ada", "bob"]))["sessionId"]
        asked = await call("swarm_round", sessionId=swarm, seat="ada", timeoutSeconds=100)
        assert asked["ask"]["kind"] == "explore"
        report = {
            "direction": "up",
            "findings": [{"coreIdea": "Look up.", "perspective": "height"}],
        }
        await call("swarm_report", sessionId=swarm, seat="ada", report=report)
        await call("swarm_status", sessionId=swarm)
        assert set(given) == set(schemas)

    async def run() -> None:
        async with sdk(server, "auto", query="?tools=all") as client:
            await work(client)

    held(run())


async def consult(call: Callable[..., Awaitable[Json]]) -> None:
    """C-1, C-2, C-9, C-10: a seat that sits elsewhere asks another one; a question on its own; a pipeline."""
    settings = {"max_rounds": 1}
    table = {
        "protocol": "roundtable",
        "seats": ["ada", "bob"],
        "settings": settings,
        "consult": True,
    }
    session = (await call("open_session", topic="Buy it?", **table))["sessionId"]
    at = {"sessionId": session}
    asked = await call(
        "consult", **at, seat="ada", to="bob", question="What does it cost?", timeoutSeconds=0
    )
    assert asked["status"] == "pending"
    (ask,) = (await call("get_asks", **at, seat="bob", timeoutSeconds=100))["asks"]
    assert ask["kind"] == "consult"
    assert "What does it cost?" in ask["instructions"]
    await call(
        "answer_ask",
        **at,
        seat="bob",
        answer="FROM @bob:\n**Answer**: Five.\n**Ask instead**: @eve",
    )
    (again,) = (await call("get_asks", **at, seat="ada", timeoutSeconds=100))["asks"]
    assert "| **Answer**: Five." in again["instructions"]
    assert "docs/consultation/" in again["instructions"]
    refused = await call(
        "consult", **at, seat="ada", to="eve", question="Is it so?", timeoutSeconds=100
    )
    assert (refused["status"], refused["reason"]) == ("refused", "unknown")
    alone = await call(
        "consult", to="bob", question="Which?", seats=["bob"], seat="ada", timeoutSeconds=0
    )
    assert alone["status"] == "pending"
    pipeline = await call("open_pipeline", pipeline="contest")
    while pipeline["status"] == "thinking":
        await call("get_asks", sessionId=pipeline["sessionId"], timeoutSeconds=100)
        pipeline = await call("get_pipeline", sessionId=pipeline["sessionId"])
    assert (pipeline["endedBy"], len(pipeline["consultations"])) == ("completed", 6)


@pytest.mark.parametrize("mode", SDK_MODES)
def test_a_refusal_is_an_error_of_the_tool_with_a_sentence(server: Server, mode: str) -> None:
    """D-6: wrong order, wrong seat, unknown session, bad arguments; the deliberation is unchanged."""
    session = server.opened("ada", "bob")
    before = server.entries(session)
    ada = {"deliberationId": session, "participant": "ada"}
    wrong: list[tuple[str, Json, str]] = [
        (
            "contribute",
            {**ada, "type": "vote", "position": "support", "confidence": 0.5},
            "expected of 'ada' now: propose",
        ),
        (
            "contribute",
            {**ada, "participant": "eve", "type": "propose", "text": "x", "confidence": 0.5},
            "the seats are: ada, bob",
        ),
        (
            "contribute",
            {**ada, "deliberationId": "none", "type": "pass"},
            "no session is called 'none'",
        ),
        ("contribute", {**ada, "type": "propose", "text": "x", "confidence": 1.5}, "confidence: "),
        ("contribute", {**ada, "type": "shout", "text": "x"}, "type: "),
        ("contribute", {**ada, "type": "propose", "text": "", "confidence": 0.5}, "needs a text"),
        ("contribute", {"participant": "ada", "type": "pass"}, "deliberationId is missing"),
        ("contribute", {"deliberationId": session, "type": "pass"}, "'participant' is missing"),
        (
            "contribute",
            {**ada, "type": "pass", "loudly": True},
            "loudly does not belong to the parameters",
        ),
        ("close_deliberation", {"deliberationId": session}, "no vote has been cast"),
        ("wait_for_turn", {**ada, "timeoutSeconds": 601}, "timeoutSeconds: "),
        ("open_deliberation", {"topic": "x", "participants": ["ada"]}, "participants: "),
        (
            "open_deliberation",
            {"topic": "x", "participants": ["ada", "ada"]},
            "two seats are called 'ada'",
        ),
        ("get_decision", {"decisionId": session}, "no decision"),
        ("review_decision", {"decisionId": session, "outcome": "success"}, session),
    ]

    async def work() -> None:
        async with sdk(server, mode) as client:
            for tool, arguments, expected in wrong:
                told = refused(await client.call_tool(tool, arguments))
                assert expected in told, (tool, arguments, told)
                assert "Traceback" not in told
            with pytest.raises(MCPError, match="no tool is called 'shout'") as unknown:
                await client.call_tool("shout", {})
            assert unknown.value.code == -32602

    held(work())
    assert server.entries(session) == before


def test_a_contribution_for_a_closed_deliberation_is_refused(server: Server) -> None:
    """D-6: it has ended, and says so."""
    session = server.opened("ada", "bob")
    token = server.invited(session, "ada")
    server.result("cstp.closeDeliberation", deliberationId=session, force=True)

    async def work() -> None:
        async with sdk(server, "auto", token) as client:
            said = {
                "deliberationId": session,
                "type": "propose",
                "text": "Too late.",
                "confidence": 0.5,
            }
            assert "ended" in refused(await client.call_tool("contribute", said))
            turn = plain(await client.call_tool("wait_for_turn", {"deliberationId": session}))
            assert (turn["status"], turn["result"]["endedBy"]) == ("closed", "called")

    held(work())


@pytest.mark.parametrize("mode", SDK_MODES)
def test_an_agents_token_asks_decides_and_takes_part_under_its_own_name(
    server: Server, mode: str
) -> None:
    """D-17: shown what it needs, without its name; what is refused becomes its proposal; it reviews nothing."""
    name = f"solo-{mode}"
    token = str(server.cli.json("invite", "--agent", name)["token"])

    async def work() -> None:
        async with sdk(server, mode, token) as agent:
            shown = {
                tool.name: tool.input_schema["properties"]
                for tool in (await agent.list_tools()).tools
            }
            assert {
                "may_decide_alone",
                "record_decision",
                "get_asks",
                "answer_ask",
                "search_decisions",
            } <= set(shown)
            assert not {"agent", "participant", "participants"} & {
                each for properties in shown.values() for each in properties
            }
            risky = {"confidence": 0.9, "stakes": "critical"}
            assert plain(await agent.call_tool("may_decide_alone", risky))["allowed"] is False
            given = {**risky, "topic": "Fell it?", "decision": "Fell it.", "idempotencyKey": "k"}
            required = plain(await agent.call_tool("record_decision", given))
            session = required["deliberationId"]
            assert (required["status"], required["participants"][0]) == (
                "deliberation_required",
                name,
            )
            assert "moot invite" not in refused(
                await agent.call_tool("record_decision", {**given, "decision": "Keep it."})
            )
            turn = plain(
                await agent.call_tool(
                    "wait_for_turn", {"deliberationId": session, "timeoutSeconds": 0}
                )
            )
            assert turn["status"] == "pending"
            said = plain(await agent.call_tool("get_deliberation", {"deliberationId": session}))[
                "contributions"
            ]
            assert [(line["participant"], line["text"]) for line in said] == [(name, "Fell it.")]
            told = refused(
                await agent.call_tool(
                    "review_decision", {"decisionId": session, "outcome": "success"}
                )
            )
            assert "an owner's token; yours is an agent's" in told
            told = refused(
                await agent.call_tool(
                    "contribute", {"deliberationId": session, "participant": "x", "type": "pass"}
                )
            )
            assert f"only for the agent '{name}'" in told

    held(work())


@pytest.mark.parametrize("mode", SDK_MODES)
def test_a_seats_token_speaks_for_its_seat_alone(server: Server, mode: str) -> None:
    """D-6: in its own session, under its own name, which it need not give; it owns nothing."""
    session, other = server.opened("ada", "bob"), server.opened("ada", "bob")
    before = server.entries(other)
    view = {"type": "propose", "text": "Ada's view.", "confidence": 0.5}
    wrong: list[tuple[str, Json, str]] = [
        (
            "contribute",
            {**view, "deliberationId": session, "participant": "bob"},
            "only for the seat 'ada'",
        ),
        (
            "wait_for_turn",
            {"deliberationId": session, "participant": "bob", "timeoutSeconds": 0},
            "only for the seat 'ada'",
        ),
        (
            "join_deliberation",
            {"deliberationId": session, "participant": "bob"},
            "only for the seat 'ada'",
        ),
        (
            "answer_ask",
            {"sessionId": session, "seat": "bob", "answer": view},
            "only for the seat 'ada'",
        ),
        (
            "answer_ask",
            {"sessionId": session, "ask": "1.propose.bob", "answer": view},
            "not put to the seat 'ada'",
        ),
        ("contribute", {**view, "deliberationId": other}, f"only for the session '{session}'"),
        ("get_deliberation", {"deliberationId": other}, f"only for the session '{session}'"),
        ("get_session", {"sessionId": other}, f"only for the session '{session}'"),
        ("get_decision", {"decisionId": other}, f"only for the session '{session}'"),
        ("open_deliberation", {"topic": "x", "participants": ["ada", "bob"]}, "an owner's token"),
        ("close_deliberation", {"deliberationId": session, "force": True}, "an owner's token"),
        (
            "record_decision",
            {"agent": "ada", "topic": "x", "decision": "x", "confidence": 0.5},
            "a recorder's or an owner's token",
        ),
        ("review_decision", {"decisionId": session, "outcome": "success"}, "an owner's token"),
    ]

    async def work() -> None:
        async with sdk(server, mode, server.invited(session, "ada")) as ada:
            for tool, arguments, expected in wrong:
                told = refused(await ada.call_tool(tool, arguments))
                assert expected in told, (tool, arguments, told)
            plain(await ada.call_tool("contribute", {**view, "deliberationId": session}))
            plain(
                await ada.call_tool(
                    "get_deliberation", {"deliberationId": session, "participant": "ada"}
                )
            )
            mine = plain(await ada.call_tool("list_deliberations", {}))["deliberations"]
            assert [each["deliberationId"] for each in mine] == [session]
            # D-16: a seat may search memory, which does not show what others deliberate now.
            found = plain(await ada.call_tool("search_decisions", {"query": "deliberation"}))
            assert (found["deliberations"], {"decisions", "threads", "sources"} <= set(found)) == (
                [],
                True,
            )
            with pytest.raises(MCPError, match=f"only for the session '{session}'"):
                await ada.read_resource(timeline(other))

    held(work())
    assert [(line["participant"], line["text"]) for line in _read_as(server, session, "ada")] == [
        ("ada", "Ada's view.")
    ]
    assert _read_as(server, session, "bob") == []
    assert server.entries(other) == before


def test_without_a_token_this_machine_may_speak_for_anyone(server: Server) -> None:
    """D-6: on loopback; but it says for whom."""
    session = server.opened("ada", "bob")

    async def work() -> None:
        async with sdk(server, "auto") as client:
            for seat in ("ada", "bob"):
                said = {
                    "deliberationId": session,
                    "participant": seat,
                    "type": "propose",
                    "text": seat,
                    "confidence": 0.5,
                }
                plain(await client.call_tool("contribute", said))

    held(work())
    assert [line["participant"] for line in _read_as(server, session, "ada")] == ["ada", "bob"]


def test_a_token_that_is_unknown_or_revoked_opens_nothing(server: Server) -> None:
    """D-6: 401 and a sentence, in both eras; a token that only reads does not speak."""
    session = server.opened("ada", "bob")
    made = server.cli.json("invite", session, "--seat", "ada")
    observer = server.cli.json("invite", "--observer")["token"]
    call = {"name": "list_deliberations", "arguments": {}}

    async def status(revision: str, token: str) -> tuple[int, Json]:
        async with by_hand(server, revision) as agent:
            response = await agent.post("tools/call", call, token=token)
            return response.status_code, message(response)

    async def observing() -> None:
        async with sdk(server, "auto", observer) as client:
            read = plain(await client.call_tool("get_deliberation", {"deliberationId": session}))
            assert read["deliberationId"] == session
            told = refused(
                await client.call_tool(
                    "contribute", {"deliberationId": session, "participant": "ada", "type": "pass"}
                )
            )
            assert (
                told
                == "this call needs a seat's, an operator's or an owner's token; yours is an observer's"
            )

    for revision in (HANDSHAKE[-1], MODERN):
        assert held(status(revision, made["token"]))[0] == 200
        code, told = held(status(revision, "made-up"))
        assert (code, told["error"]["message"]) == (401, "the token is unknown")
    server.cli("invite", "--revoke", made["tokenId"])
    for revision in (HANDSHAKE[-1], MODERN):
        code, told = held(status(revision, made["token"]))
        assert (code, told["error"]["message"]) == (401, "the token was revoked")
    held(observing())


def test_the_timeline_of_a_session_is_a_resource_in_markdown(server: Server) -> None:
    """D-4, D-18: listed, templated and readable; the title, who said what, the decision once there is one."""
    session = server.opened("ada", "bob", topic="Shall the bell ring?", stakes="low")
    for seat in ("ada", "bob"):
        server.says(session, seat, "propose", f"Ring it, says {seat}.", choice="ring")

    async def work() -> None:
        async with sdk(server, "auto") as client:
            listed = {each.uri: each for each in (await client.list_resources()).resources}
            assert listed[timeline(session)].mime_type == "text/markdown"
            assert "Shall the bell ring?" in listed[timeline(session)].name
            (template,) = (await client.list_resource_templates()).resource_templates
            assert template.uri_template == timeline("{session}")
            text = await _resource(client, session)
            assert text.startswith("# ")
            for part in ("Shall the bell ring?", "Ring it, says ada.", "Ring it, says bob."):
                assert part in text

    held(work())


def test_what_was_written_blind_is_behind_no_door_before_all_have_written(server: Server) -> None:
    """D-19: neither in the timeline nor in any answer, for whoever reads; then in all of them."""
    session = server.opened("ada", "bob")
    server.says(session, "ada", "propose", SECRET, choice="heliotrope", evidence=["heliotrope too"])

    async def seen(client: Client, *more: tuple[str, Json]) -> list[bool]:
        found = [await _resource(client, session)]
        calls: list[tuple[str, Json]] = [
            ("get_deliberation", {"deliberationId": session}),
            ("get_session", {"sessionId": session, "timeoutSeconds": 0}),
        ]
        for tool, arguments in (*calls, *more):
            found.append(json.dumps(plain(await client.call_tool(tool, arguments))))
        return ["heliotrope" in each for each in found]

    async def work(*, is_open: bool) -> None:
        as_bob: list[tuple[str, Json]] = [
            ("join_deliberation", {"deliberationId": session}),
            ("wait_for_turn", {"deliberationId": session, "cursor": 0, "timeoutSeconds": 0}),
            ("get_asks", {"sessionId": session, "timeoutSeconds": 0}),
        ]
        async with (
            sdk(server, "auto") as anyone,
            sdk(server, "legacy", server.invited(session, "bob")) as bob,
        ):
            assert await seen(anyone) == [is_open] * 3
            assert await seen(bob, *as_bob) == [is_open] * 6

    held(work(is_open=False))
    server.says(session, "bob", "propose", "Something else.")
    held(work(is_open=True))


@pytest.mark.parametrize("kind", ["auto", "2025-06-18"])
def test_no_trick_with_an_address_reads_anything_else(server: Server, kind: str) -> None:
    """D-6: an error of the protocol that repeats the address at most."""
    session = server.opened("ada", "bob")
    server.invited(session, "ada")
    tricks = [
        timeline("..%2F_access"),
        timeline("%2e%2e%2f_access"),
        timeline("../../home/moot.db"),
        timeline("_access"),
        timeline("_decisions"),
        timeline(""),
        timeline("nobody_knows_it"),
        timeline(f"{session}%00"),
        timeline(f"{session}%2F"),
        timeline("a" * 5_000),
        timeline(session) + "?form=jsonl",
        timeline(session) + "/../../_access/timeline",
        f"moot://sessions/{session}/jsonl",
        f"moot://sessions/{session}",
        "ui://moot/sessions/_access",
        "ui://moot/sessions/..%2F_access",
        "file:///etc/passwd",
        "",
    ]

    async def work() -> None:
        if kind == "auto":
            async with sdk(server, kind) as client:
                for uri in tricks:
                    with pytest.raises(MCPError) as error:
                        await client.read_resource(uri)
                    assert error.value.code == -32602, uri
            return
        async with by_hand(server, kind) as agent:
            for uri in tricks:
                answer = message(await agent.post("resources/read", {"uri": uri}))
                assert answer["error"]["code"] == -32602, answer
                assert "digest" not in json.dumps(answer)

    held(work())


def test_the_prompt_names_the_session_and_the_seat(server: Server) -> None:
    """D-5: the seat that is given, else the token's; without a session it is refused."""
    session = server.opened("ada", "bob")

    async def text(client: Client, **arguments: str) -> str:
        (said,) = (await client.get_prompt("join", arguments)).messages
        assert isinstance(said.content, TextContent)
        return said.content.text

    async def work() -> None:
        async with (
            sdk(server, "auto") as anyone,
            sdk(server, "legacy", server.invited(session, "bob")) as bob,
        ):
            (listed,) = (await anyone.list_prompts()).prompts
            assert [(each.name, each.required) for each in listed.arguments or []] == [
                ("session", True),
                ("seat", False),
            ]
            as_ada = await text(anyone, session=session, seat="ada")
            assert f"the seat ada in the Moot session {session}" in as_ada
            assert "seat=ada" in as_ada
            assert f"the seat bob in the Moot deliberation {session}" in await text(
                bob, session=session
            )
            for name, arguments in (("join", {}), ("leave", {"session": session})):
                with pytest.raises(MCPError):
                    await anyone.get_prompt(name, arguments)

    held(work())


def test_a_server_starts_beside_a_session_that_cannot_be_read(tmp_path: Path) -> None:
    """D-16: the other deliberations go on; `moot verify` tells of the damage."""
    server = Server(tmp_path)
    for session in ("good", "bad"):
        seats = ("--seat", "ada=mailbox", "--seat", "bob=mailbox")
        server.cli("run", "Shall we?", "--protocol", "debate", *seats, "--session", session, code=3)
    with closing(sqlite3.connect(server.cli.home / "ledger.db")) as connection, connection:
        named = "(SELECT number FROM sessions WHERE id = 'bad')"
        connection.execute(
            f"UPDATE entries SET body = CAST('gone' AS BLOB) WHERE seq = 1 AND session = {named}"
        )
    try:
        server.start()
        assert server.result("cstp.getDeliberation", deliberationId="good")["status"] == "open"
    finally:
        server.close()


def parts(text: str) -> dict[str, str]:
    """The parts of an invitation by the first word of their titles."""
    found = {}
    for part in text.split("── ")[1:]:
        title, _, body = part.partition("\n")
        found[title.split(",")[0].split()[0].lower()] = body.strip()
    return found


def test_an_invitation_has_the_configuration_of_every_agent(server: Server) -> None:
    """D-5: JSON that parses, TOML that parses, a command for a shell; each with the address and the token."""
    session = server.opened("ada", "bob")
    text = server.cli("invite", session, "--seat", "ada", "--url", server.url).out
    token = text.splitlines()[0].rpartition(" ")[2]
    address, header = server.mcp, f"Bearer {token}"
    found = parts(text)
    agents = {
        "claude",
        "codex",
        "gemini",
        "qwen",
        "opencode",
        "copilot",
        "continue",
        "cursor",
        "vs",
    }
    assert found.keys() == {*agents, "in", "with", "then", "or"}
    assert found["in"].startswith(f"{server.url}/seat/{session}/ada#ticket=")
    assert f"moot serve answers at {server.url}" in text

    words = shlex.split(found["claude"])
    assert words[:3] == ["claude", "mcp", "add"]
    assert {address, f"Authorization: {header}"} < set(words)
    codex = tomllib.loads(found["codex"])["mcp_servers"]["moot"]
    assert (codex["url"], codex["http_headers"]) == (address, {"Authorization": header})
    gemini = json.loads(found["gemini"])["mcpServers"]["moot"]
    assert (gemini["httpUrl"], gemini["headers"]) == (address, {"Authorization": header})
    opencode = json.loads(found["opencode"])["mcp"]["moot"]
    assert (opencode["type"], opencode["url"], opencode["headers"]) == (
        "remote",
        address,
        {"Authorization": header},
    )
    cursor = json.loads(found["cursor"])["mcpServers"]["moot"]
    assert (cursor["url"], cursor["headers"]) == (address, {"Authorization": header})
    qwen = json.loads(found["qwen"])["mcpServers"]["moot"]
    assert qwen == gemini
    copilot = json.loads(found["copilot"])["mcpServers"]["moot"]
    assert copilot == {
        "type": "http",
        "url": address,
        "tools": ["*"],
        "headers": {"Authorization": header},
    }
    assert f'url: "{address}"' in found["continue"]
    assert header in found["continue"]
    vscode = json.loads(found["vs"])["servers"]["moot"]
    assert (vscode["type"], vscode["url"], vscode["headers"]) == (
        "http",
        address,
        {"Authorization": header},
    )
    assert f"the seat ada in the Moot deliberation {session}" in found["then"]

    async def taken() -> None:
        async with sdk(server, "auto", token) as client:
            turn = plain(await client.call_tool("join_deliberation", {"deliberationId": session}))
            assert turn["status"] == "your_turn"

    held(taken())


def test_an_invitation_is_narrowed_to_one_agent_or_printed_as_json(server: Server) -> None:
    """D-5: --for, --json, and a sentence where it makes no sense."""
    session = server.opened("ada", "bob")
    for agent, title in (("codex", "codex"), ("vscode", "vs")):
        text = server.cli("invite", session, "--seat", "bob", "--for", agent).out
        assert parts(text).keys() == {title, "then", "or"}
        assert text.splitlines()[0].rpartition(" ")[2] in parts(text)[title]
    made = server.cli.json("invite", session, "--seat", "bob", "--url", server.url)
    assert {name: made[name] for name in ("sessionId", "seat", "url")} == {
        "sessionId": session,
        "seat": "bob",
        "url": server.url,
    }
    assert (
        httpx2.get(
            f"{server.url}/metrics", headers={"authorization": f"Bearer {made['token']}"}
        ).status_code
        == 200
    )
    for words, expected in (
        ((session, "--seat", "eve"), "free seats: ada, bob"),
        (("--seat", "ada"), "moot invite SESSION --seat NAME"),
    ):
        assert expected in server.cli("invite", *words, code=2).err


async def _tool(agent: Agent, name: str, **arguments: Any) -> Json:
    return await agent.request("tools/call", {"name": name, "arguments": arguments})


async def _resource(client: Client, session: str) -> str:
    (content,) = (await client.read_resource(timeline(session))).contents
    assert isinstance(content, TextResourceContents)
    return content.text
