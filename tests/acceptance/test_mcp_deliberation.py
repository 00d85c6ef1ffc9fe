"""Deliberations over MCP: the source's own example, waiting for one's turn, cancelling, and a server that is killed between."""

import asyncio
import json
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client
from tests.acceptance.doors import DEADLINE, Cli, held
from tests.acceptance.mcp_doors import (
    HANDSHAKE,
    MODERN,
    SDK_MODES,
    Begun,
    Json,
    RawAgent,
    Server,
    Stdio,
    by_hand,
    message,
    participating,
    plain,
    refused,
    sdk,
    serving,
)
from tests.acceptance.server import HSM, STEPS

from moothall import Seat
from moothall.app.deliberations import Deliberations, DeliberationState
from moothall.domain.ids import parse_seat_id, parse_session_id
from moothall.domain.roster import MAILBOX

TOPIC = "Should we adopt HSM architecture for long-context processing?"
MOTION = "Adopt HSM with attention fallback for sequential tasks"
CONDITION = "No production benchmarks yet - revisit after pilot"
PASS = {"type": "pass"}
SAYS: dict[str, dict[str, Json]] = {
    "emerson": {
        "propose": {
            "type": "propose",
            "text": "Adopt HSM for long-context",
            "confidence": 0.80,
            "choice": "HSM",
        },
        "argue": PASS,
        "answer": PASS,
        "synthesize": {
            "type": "synthesize",
            "text": MOTION,
            "confidence": 0.82,
            "choice": "HSM",
            "answers": "challenge",
        },
        "vote": {"type": "vote", "position": "support", "confidence": 0.85},
    },
    "minski": {
        "propose": PASS,
        "argue": {
            "type": "support",
            "text": "MIT data supports this",
            "confidence": 0.85,
            "evidence": ["MIT research confirms 81% improvement"],
            "refersTo": "propose",
        },
        "synthesize": PASS,
        "vote": {"type": "vote", "position": "support", "confidence": 0.80},
    },
    "code-reviewer": {
        "propose": PASS,
        "argue": {
            "type": "challenge",
            "text": "No production benchmarks",
            "confidence": 0.70,
            "refersTo": "propose",
        },
        "synthesize": PASS,
        "vote": {
            "type": "vote",
            "position": "conditional_support",
            "confidence": 0.70,
            "condition": CONDITION,
        },
    },
}


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("mcp")) as found:
        yield found


@pytest.fixture
def server(started: Server) -> Server:
    """A server that is up, whatever the test before did to it."""
    if not started.is_up:
        started.start()
    return started


def played(server: Server, session: str) -> dict[str, Json]:
    """What three programs came to that took part at the same time: one by each era over HTTP, one over stdio."""
    ways: dict[str, Any] = {
        "emerson": {"url": server.mcp},
        "minski": {},
        "code-reviewer": {"url": server.mcp, "mode": "legacy"},
    }
    running = {
        seat: participating(
            server.cli,
            {"session": session, "says": SAYS[seat]},
            server.invited(session, seat),
            **way,
        )
        for seat, way in ways.items()
    }
    try:
        ended = {
            seat: process.communicate(timeout=2 * DEADLINE) for seat, process in running.items()
        }
    finally:
        for process in running.values():
            process.kill()
    for seat, process in running.items():
        assert process.returncode == 0, (seat, ended[seat][1].decode())
    return {seat: json.loads(out) for seat, (out, _) in ended.items()}


def test_the_sources_example_is_decided_by_three_programs_over_mcp(server: Server) -> None:
    """D-1, D-2, D-3, D-7: OPEN, PROPOSE, SUPPORT, CHALLENGE, SYNTHESIZE, VOTE, CLOSE; one seat over stdio beside the server."""
    session = server.opened(
        *SAYS, topic=TOPIC, category="architecture", protocol="structured_debate"
    )

    told = played(server, session)

    assert {seat: found["revision"] for seat, found in told.items()} == {
        "emerson": MODERN,
        "minski": MODERN,
        "code-reviewer": HANDSHAKE[-1],
    }
    closed = held(_called(server, "close_deliberation", deliberationId=session))
    assert [found["result"] for found in told.values()] == [closed] * 3
    assert closed["decision"] == MOTION
    assert closed["consensusType"] == "convergent"
    # D-12: one proposal, agreed on after reading, is one voice, whatever the three say of their sureness.
    assert (closed["confidence"], closed["confidenceFrom"]) == (0.65, "one_voice")
    assert {
        seat: (vote["position"], vote["confidence"])
        for seat, vote in closed["participantVotes"].items()
    } == {
        "emerson": ("support", 0.85),
        "minski": ("support", 0.80),
        "code-reviewer": ("conditional_support", 0.70),
    }
    assert closed["dissent"] == [CONDITION]
    assert closed["endedBy"] == "voted"

    history = held(_called(server, "get_deliberation", deliberationId=session))
    assert history["result"] == closed
    steps = [
        (line["phase"], line["participant"], line["type"], line.get("confidence"))
        for line in history["contributions"]
    ]
    assert steps[0] == ("propose", "emerson", "propose", 0.80)
    assert sorted(steps[1:3]) == [
        ("argue", "code-reviewer", "challenge", 0.70),
        ("argue", "minski", "support", 0.85),
    ]
    assert steps[3] == ("synthesize", "emerson", "synthesize", 0.82)
    assert sorted(steps[4:]) == [
        ("vote", "code-reviewer", "vote", 0.70),
        ("vote", "emerson", "vote", 0.85),
        ("vote", "minski", "vote", 0.80),
    ]
    assert [each["state"] for each in history["challenges"]] == ["answered"]
    for seat, found in told.items():
        answers = ["answer"] if seat == "emerson" else []
        assert [turn["phase"] for turn in found["turns"]] == [
            "propose",
            "argue",
            *answers,
            "synthesize",
            "vote",
        ]
        # In the order of ids: whoever was there until the end has read everything, each line once.
        assert sorted(line["id"] for line in found["read"]) == [
            line["id"] for line in history["contributions"]
        ]


def test_the_sources_example_is_made_call_by_call_over_mcp(server: Server) -> None:
    """D-1, D-2, D-3, D-7, D-22: its names, its fields and its order, unchanged; nobody waits, nobody passes."""

    async def work() -> tuple[Json, Json]:
        async with sdk(server, "auto") as client:
            opened = await _call(client, "open_deliberation", **HSM)
            session = {"deliberationId": opened["deliberationId"]}
            for seat, words in STEPS:
                await _call(client, "contribute", participant=seat, **session, **words)
            return await _call(client, "close_deliberation", **session), await _call(
                client, "get_deliberation", **session
            )

    closed, history = held(work())
    assert (closed["decision"], closed["consensusType"]) == (STEPS[3][1]["text"], "convergent")
    assert {
        seat: (vote["position"], vote["confidence"])
        for seat, vote in closed["participantVotes"].items()
    } == {seat: (words["position"], words["confidence"]) for seat, words in STEPS[4:]}
    assert closed["dissent"] == [CONDITION, STEPS[2][1]["text"]]
    assert [(each["by"], each["text"], each["state"]) for each in closed["obligations"]] == [
        ("code-reviewer", CONDITION, "open")
    ]
    spoken = sorted(history["contributions"], key=lambda line: line["id"])
    assert [(line["participant"], line["type"]) for line in spoken] == [
        (seat, words["type"]) for seat, words in STEPS
    ]


def test_a_decision_made_over_mcp_is_found_and_reviewed_over_mcp(server: Server) -> None:
    """D-5, D-13: search, then review with its outcome."""
    session = server.opened(
        "ada", "bob", topic="Shall the zeppelin carry mail?", category="logistics", stakes="low"
    )
    for seat in ("ada", "bob"):
        server.says(session, seat, "propose", "The zeppelin carries mail.", choice="yes")

    async def work() -> None:
        async with sdk(server, "auto") as client:
            closed = await _call(client, "close_deliberation", deliberationId=session)
            assert (closed["endedBy"], closed["consensusType"]) == ("agreed_blind", "unanimous")
            (found,) = (await _call(client, "search_decisions", query="zeppelin"))["decisions"]
            assert (found["decisionId"], found["decision"]) == (
                session,
                "The zeppelin carries mail.",
            )
            reviewed = await _call(
                client,
                "review_decision",
                decisionId=session,
                outcome="success",
                idempotencyKey="r1",
            )
            assert reviewed["outcome"] == "success"
            again = await _call(
                client,
                "review_decision",
                decisionId=session,
                outcome="success",
                idempotencyKey="r1",
            )
            assert again["reviews"] == reviewed["reviews"]

    held(work())


@pytest.mark.parametrize("revision", [HANDSHAKE[0], HANDSHAKE[-1]])
def test_a_short_call_is_answered_plainly_and_one_that_waits_with_a_stream(
    server: Server, revision: str
) -> None:
    """A stream is for progress and for waiting; what is not a call at all is refused as before."""
    session = server.opened("ada", "bob")
    says = {
        "deliberationId": session,
        "participant": "ada",
        "type": "propose",
        "text": "Left.",
        "confidence": 0.7,
    }
    waits = {"deliberationId": session, "participant": "ada", "timeoutSeconds": 0}

    async def work() -> None:
        async with by_hand(server, revision) as agent:

            async def find_kind(name: str, arguments: Json, **more: Json) -> str:
                response = await agent.post(
                    "tools/call", {"name": name, "arguments": arguments, **more}
                )
                assert not message(response)["result"].get("isError"), response.text
                return str(response.headers["content-type"]).partition(";")[0]

            assert await find_kind("contribute", says) == "application/json"
            assert (
                await find_kind("contribute", says, _meta={"progressToken": "p"})
                == "text/event-stream"
            )
            assert await find_kind("wait_for_turn", waits) == "text/event-stream"
            for careless in (["contribute"], {"a": 1}, None, "no such tool"):
                answer = message(
                    await agent.post("tools/call", {"name": careless, "arguments": {}})
                )
                assert answer["error"]["code"] == -32602, answer

    held(work())


@pytest.mark.parametrize("mode", SDK_MODES)
def test_waiting_ends_within_its_time_with_pending_and_a_cursor(server: Server, mode: str) -> None:
    """D-5: nothing to do yet is an answer, and it says where to go on reading."""
    session = server.opened("ada", "bob")
    server.says(session, "ada", "propose", "Yes.")

    async def work() -> None:
        async with sdk(server, mode, server.invited(session, "ada")) as client:
            for seconds in (0, 0.2):
                turn = await _call(
                    client, "wait_for_turn", deliberationId=session, timeoutSeconds=seconds
                )
                assert turn["status"] == "pending"
                assert turn["cursor"] == server.entries(session)[-1]["seq"]
                assert turn["new"] == []
                assert "ask" not in turn
                assert "wait_for_turn" in turn["note"]

    held(work())


@pytest.mark.parametrize("mode", SDK_MODES)
def test_a_waiting_client_is_told_of_its_turn_when_another_has_spoken(
    server: Server, mode: str
) -> None:
    """D-5, D-16: by the order of events; the answer has what is new since the cursor, and how to answer."""
    session = server.opened("ada", "bob")
    server.says(session, "ada", "propose", "Ada's view.")
    events: list[str] = []

    async def work() -> None:
        async with (
            sdk(server, mode, server.invited(session, "ada")) as ada,
            sdk(server, "auto", server.invited(session, "bob")) as bob,
        ):
            before = await _call(ada, "wait_for_turn", deliberationId=session, timeoutSeconds=0)
            begun = Begun()

            async def wait() -> Json:
                arguments = {
                    "deliberationId": session,
                    "cursor": before["cursor"],
                    "timeoutSeconds": 600,
                }
                turn = plain(
                    await ada.call_tool("wait_for_turn", arguments, progress_callback=begun)
                )
                events.append(turn["status"])
                return turn

            async with asyncio.TaskGroup() as tasks:
                waiting = tasks.create_task(wait())
                await begun.wait()
                events.append("bob speaks")
                said = await _call(
                    bob,
                    "contribute",
                    deliberationId=session,
                    type="propose",
                    text="Bob's view.",
                    confidence=0.6,
                )
            assert events == ["bob speaks", "your_turn"]
            turn = waiting.result()
            assert [(line["participant"], line["text"]) for line in turn["new"]] == [
                ("bob", "Bob's view.")
            ]
            assert turn["cursor"] >= said["entry"] > before["cursor"]
            assert turn["ask"]["phase"] == "argue"
            assert {"support", "challenge", "pass"} <= set(turn["ask"]["expected"])
            assert "Bob's view." in turn["ask"]["briefing"]
            assert turn["ask"]["instructions"]
            again = await _call(
                ada,
                "wait_for_turn",
                deliberationId=session,
                cursor=turn["cursor"],
                timeoutSeconds=0,
            )
            assert (again["status"], again["new"]) == ("your_turn", [])

    held(work())


def test_a_client_that_waits_at_the_server_is_woken_by_one_over_stdio(server: Server) -> None:
    """D-5: two processes on one ledger, one of them no client of the server."""
    session = server.opened("ada", "bob")
    server.says(session, "ada", "propose", "Ada's view.")

    async def work(stdio: Stdio) -> None:
        async with sdk(server, "auto", server.invited(session, "ada")) as ada:
            begun = Begun()
            arguments = {"deliberationId": session, "timeoutSeconds": 600}
            async with asyncio.TaskGroup() as tasks:
                waiting = tasks.create_task(
                    ada.call_tool("wait_for_turn", arguments, progress_callback=begun)
                )
                await begun.wait()
                said = {
                    "deliberationId": session,
                    "type": "propose",
                    "text": "Bob's view.",
                    "confidence": 0.6,
                }
                answer = await asyncio.to_thread(stdio.call, "contribute", **said)
                assert not answer["isError"]
            turn = plain(waiting.result())
            assert turn["status"] == "your_turn"
            assert [line["text"] for line in turn["new"]] == ["Bob's view."]

    with Stdio(server.cli, MOOT_TOKEN=server.invited(session, "bob")) as stdio:
        stdio.greet()
        held(work(stdio))
        assert stdio.ended()[0] == 0


def test_a_long_wait_reports_progress_in_both_eras(server: Server) -> None:
    """D-5: at the start and every ten seconds, so that no client gives up on it."""
    session = server.opened("ada", "bob")
    server.says(session, "ada", "propose", "Yes.")

    async def reports(mode: str) -> list[float]:
        begun = Begun()
        async with sdk(server, mode, server.invited(session, "ada")) as client:
            arguments = {"deliberationId": session, "timeoutSeconds": 12}
            turn = plain(
                await client.call_tool("wait_for_turn", arguments, progress_callback=begun)
            )
        assert turn["status"] == "pending"
        return begun.reports

    async def work() -> list[list[float]]:
        return await asyncio.gather(*(reports(mode) for mode in SDK_MODES))

    for found in held(work()):
        assert len(found) >= 2
        assert found == sorted(set(found))


@pytest.mark.parametrize("mode", SDK_MODES)
def test_a_cancelled_wait_leaves_the_server_well_and_nothing_on_record(
    server: Server, mode: str
) -> None:
    """D-5, D-6: the same client goes on, and its turn comes as if nothing had been."""
    session = server.opened("ada", "bob")
    server.says(session, "ada", "propose", "Yes.")
    before = server.entries(session)

    async def work() -> None:
        async with sdk(server, mode, server.invited(session, "ada")) as client:
            for _ in range(3):
                begun = Begun()
                arguments = {"deliberationId": session, "timeoutSeconds": 600}
                waiting = asyncio.create_task(
                    client.call_tool("wait_for_turn", arguments, progress_callback=begun)
                )
                await begun.wait()
                waiting.cancel()
                await asyncio.wait([waiting])
                assert waiting.cancelled()
            assert server.entries(session) == before
            assert (await _call(client, "wait_for_turn", deliberationId=session, timeoutSeconds=0))[
                "status"
            ] == "pending"
            server.says(session, "bob", "propose", "No.")
            assert (await _call(client, "wait_for_turn", deliberationId=session))[
                "status"
            ] == "your_turn"

    held(work())


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_notification_cancels_the_call_that_it_names_and_no_other(
    server: Server, revision: str
) -> None:
    """D-6: sent by hand on a request of its own; the same number by another client's hand cancels nothing."""
    session = server.opened("ada", "bob")
    server.says(session, "ada", "propose", "Yes.")
    cancel = {"requestId": 7}

    async def begun(agent: RawAgent, tasks: asyncio.TaskGroup) -> asyncio.Task[Json]:
        """A wait that has reached the server."""
        arguments = {"deliberationId": session, "participant": "ada", "timeoutSeconds": 600}
        params = {"name": "wait_for_turn", "arguments": arguments, "_meta": {"progressToken": "p"}}
        reported = asyncio.Event()

        async def answered() -> Json:
            async with agent.stream("tools/call", params, 7) as response:
                async for line in response.aiter_lines():
                    found: Json = (
                        json.loads(line.removeprefix("data: "))
                        if line.startswith("data: {")
                        else {}
                    )
                    if found.get("method") == "notifications/progress":
                        reported.set()
                    elif found:
                        return found
            return {}

        task = tasks.create_task(answered())
        await reported.wait()
        return task

    async def work() -> None:
        async with (
            by_hand(server, revision) as one,
            by_hand(server, revision) as other,
            asyncio.TaskGroup() as tasks,
        ):
            first, second = await begun(one, tasks), await begun(other, tasks)
            await one.notify("notifications/cancelled", cancel)
            assert (await first)["error"]["code"] == -32800
            assert not second.done()
            server.says(session, "bob", "propose", "No.")
            assert (await second)["result"]["structuredContent"]["status"] == "your_turn"
            await other.notify("notifications/cancelled", cancel)
            listed = await one.request("tools/list", {})
            assert listed["tools"]

    held(work())


def test_clients_of_both_eras_go_on_after_the_server_was_killed(server: Server) -> None:
    """D-16: an idle client's next call works, and a contribution that is sent again with its key counts once."""
    session = server.opened("ada", "bob")
    same = {
        "deliberationId": session,
        "type": "propose",
        "confidence": 0.6,
        "idempotencyKey": "once",
    }
    said: dict[str, Json] = {
        seat: {**same, "text": f"The view of {seat}."} for seat in ("ada", "bob")
    }
    tokens = {seat: server.invited(session, seat) for seat in said}

    async def work() -> None:
        ada_comes, bob_comes = (
            sdk(server, "auto", tokens["ada"]),
            sdk(server, "legacy", tokens["bob"]),
        )
        async with (
            ada_comes as ada,
            bob_comes as bob,
            by_hand(server, "2025-06-18") as hand,
            by_hand(server, MODERN) as modern,
        ):
            clients = {"ada": ada, "bob": bob}
            first = [
                await _call(client, "contribute", **said[seat]) for seat, client in clients.items()
            ]
            before = server.entries(session)
            assert server.stop(signal.SIGKILL) == -signal.SIGKILL
            server.start()
            again = [
                await _call(client, "contribute", **said[seat]) for seat, client in clients.items()
            ]
            assert [each["entry"] for each in again] == [each["entry"] for each in first]
            for agent in (hand, modern):
                call = {"name": "get_deliberation", "arguments": {"deliberationId": session}}
                read = (await agent.request("tools/call", call))["structuredContent"]
                assert [line["participant"] for line in read["contributions"]] == ["ada", "bob"]
            assert server.entries(session)[: len(before)] == before
            assert "once" in refused(
                await ada.call_tool("contribute", {**said["ada"], "text": "Something else."})
            )

    held(work())


def test_whoever_waited_at_a_killed_server_comes_back_with_its_cursor(server: Server) -> None:
    """D-16: and gets what it missed, nothing twice."""
    session = server.opened("ada", "bob")
    server.says(session, "ada", "propose", "Ada's view.")
    token = server.invited(session, "ada")
    cursor = server.entries(session)[-1]["seq"]
    arguments = {"deliberationId": session, "cursor": cursor}
    params = {"name": "wait_for_turn", "arguments": arguments, "_meta": {"progressToken": 1}}

    async def cut() -> None:
        async with (
            by_hand(server, HANDSHAKE[-1], token) as old,
            by_hand(server, MODERN, token) as new,
            old.stream("tools/call", params, 3) as one,
            new.stream("tools/call", params, 3) as other,
        ):
            for response in (one, other):
                first = await anext(
                    line async for line in response.aiter_lines() if line.startswith("data: {")
                )
                assert "notifications/progress" in first
            server.stop(signal.SIGKILL)

    async def back() -> None:
        for mode in SDK_MODES:
            async with sdk(server, mode, token) as client:
                turn = await _call(client, "wait_for_turn", **arguments)
                assert turn["status"] == "your_turn"
                assert [line["text"] for line in turn["new"]] == ["Bob's view."]

    held(cut())
    server.start()
    server.says(session, "bob", "propose", "Bob's view.")
    held(back())


def test_a_wait_that_falls_together_with_the_close_is_not_refused(cli: Cli) -> None:
    """D-5: it ended, or it is pending and the next wait tells; `wait_for_turn` has no other word for it."""

    async def work() -> None:
        async with cli.moot() as moot:
            seats = [Seat(id=parse_seat_id(name), platform=MAILBOX) for name in ("ada", "bob")]
            session = await moot.open("Shall we?", seats=seats, protocol="debate")

            class Closing(Deliberations):
                """The session is closed by somebody else behind the first look at it."""

                async def load_state(self, session: str) -> DeliberationState:
                    found = await super().load_state(session)
                    if not found.snapshot.is_closed:
                        await moot.engine.call_close(parse_session_id(session))
                    return found

            turn = await Closing(moot).wait(session, "ada", timeout=0)
            assert turn.status in {"closed", "pending"}

    held(work())


def test_a_call_gives_the_same_over_mcp_and_over_json_rpc(server: Server) -> None:
    """D-1 to D-4: one table, two doors; refusals are the same sentence."""
    session = server.opened("ada", "bob", category="doors")
    server.says(session, "ada", "propose", "Ada's view.", evidence=["a fact"], choice="yes")
    pairs: list[tuple[str, str, Json]] = [
        ("get_deliberation", "cstp.getDeliberation", {"deliberationId": session}),
        (
            "get_deliberation",
            "cstp.getDeliberation",
            {"deliberationId": session, "participant": "ada"},
        ),
        ("list_deliberations", "cstp.listDeliberations", {"participant": "ada"}),
        (
            "wait_for_turn",
            "cstp.waitForTurn",
            {"deliberationId": session, "participant": "bob", "timeoutSeconds": 0},
        ),
        ("get_session", "moot.getSession", {"sessionId": session, "timeoutSeconds": 0}),
    ]
    wrong: list[tuple[str, str, Json]] = [
        ("get_deliberation", "cstp.getDeliberation", {"deliberationId": "nowhere"}),
        ("get_deliberation", "cstp.getDeliberation", {"deliberationId": session, "limit": 0}),
        (
            "contribute",
            "cstp.contribute",
            {"deliberationId": session, "participant": "ada", "type": "vote"},
        ),
    ]

    async def work() -> None:
        async with sdk(server, "auto") as client, by_hand(server, "2024-11-05") as agent:
            for tool, method, params in pairs:
                expected = server.rpc(method, params)["result"]
                assert plain(await client.call_tool(tool, params)) == expected
                by_hands = await agent.request("tools/call", {"name": tool, "arguments": params})
                assert by_hands["structuredContent"] == expected
                assert json.loads(by_hands["content"][0]["text"]) == expected
            for tool, method, params in wrong:
                told = server.rpc(method, params)["error"]["message"]
                assert refused(await client.call_tool(tool, params)) == told
                assert message(await agent.post("tools/call", {"name": tool, "arguments": params}))[
                    "result"
                ] == {
                    "content": [{"type": "text", "text": told}],
                    "isError": True,
                }

    held(work())


async def _call(client: Client, tool: str, **arguments: Any) -> Json:
    return plain(await client.call_tool(tool, arguments))


async def _called(server: Server, tool: str, **arguments: Any) -> Json:
    """One call by a client that comes for it alone."""
    async with sdk(server, "auto") as client:
        return await _call(client, tool, **arguments)
