"""Agent2Agent both ways: a session as a task of another agent's, and another agent as a seat (A-2)."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from fasta2a import schema  # type: ignore[import-untyped]
from pydantic import TypeAdapter
from tests.acceptance.doors import (
    Cli,
    Script,
    draft,
    listens,
    position,
    speech,
    stand,
    wants,
    write_script,
)
from tests.acceptance.server import Client, Server

from moothall.app.version import VERSION

PERSONA: Script = {
    seat: {
        "position": [position(f"{seat} before the talk")],
        "intent": [wants(0.5), listens(), listens()],
        "speech": [speech("The river is close.")] * 3,
        "draft": [draft("By the river.", [1, 2])],
        "stand": [stand(position="By the river.")],
    }
    for seat in ("ada", "bob")
}
MAILBOXES = [{"id": "ada"}, {"id": "bob"}]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("a2a")
    with Server(Cli(folder / "home", folder)) as running:
        yield running


def build_message(text: str, **more: Any) -> dict[str, Any]:
    return {
        "message": {
            "messageId": f"m {text}",
            "role": "ROLE_USER",
            "parts": [{"text": text}],
            **more,
        }
    }


def ask(client: Client, method: str, params: Any) -> Any:
    """The JSON-RPC answer of the door."""
    body = json.dumps({"jsonrpc": "2.0", "id": "1", "method": method, "params": params}).encode()
    return client.request("POST", "/a2a", body).json()


def test_the_card_is_open_and_everything_else_needs_a_token(server: Server) -> None:
    """A-2: the card at the well-known place."""
    stranger = Client(server.address)
    card = stranger.get("/.well-known/agent-card.json").json()
    assert (card["name"], card["version"]) == ("Moot", VERSION)
    assert card["supportedInterfaces"][0]["url"] == f"http://{server.address}/a2a"
    assert {skill["id"] for skill in card["skills"]} >= {"persona", "debate", "swarm"}
    assert all(skill["inputModes"] and skill["outputModes"] for skill in card["skills"])
    assert stranger.request("POST", "/a2a", b"{}").status == 401


def test_a_message_opens_a_session_and_its_task_is_cancelled(server: Server) -> None:
    """A-2: a task has the id of its session; input is required of seats from outside; a retry opens nothing twice."""
    local = server.local
    message = build_message(
        "River or hill?", metadata={"moot": {"protocol": "debate", "seats": MAILBOXES}}
    )
    task = ask(local, "SendMessage", message)["result"]["task"]
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert '"seat": "ada"' in task["status"]["message"]["parts"][0]["text"]
    assert task["metadata"]["link"].endswith(f"/s/{task['id']}")
    assert ask(local, "SendMessage", message)["result"]["task"]["id"] == task["id"]
    assert local("moot.getSession", sessionId=task["id"])["topic"] == "River or hill?"
    ended = ask(local, "CancelTask", {"id": task["id"]})["result"]
    assert ended["status"]["state"] == "TASK_STATE_CANCELED"
    assert ask(local, "CancelTask", {"id": task["id"]})["error"]["code"] == -32002


def test_the_next_messages_answer_for_seats_from_outside_until_the_decision(server: Server) -> None:
    """A-2: input required; with one ask open the words alone are its answer, else the data names it."""
    local = server.local
    settings = {"protocol": "consultation", "seats": MAILBOXES}
    task = ask(
        local, "SendMessage", build_message("Is the river safe?", metadata={"moot": settings})
    )["result"]["task"]
    for at in range(12):
        if task["status"]["state"] != "TASK_STATE_INPUT_REQUIRED":
            break
        more = build_message(f"The river is safe in summer, says answer {at}.", taskId=task["id"])
        found = ask(local, "SendMessage", more)
        assert "result" in found, (found, server.logged()[-3000:])
        task = found["result"]["task"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    (artifact,) = task["artifacts"]
    assert artifact["parts"][1]["data"]["sessionId"] == task["id"]
    assert "The river is safe in summer" in artifact["parts"][2]["text"]
    assert (
        ask(local, "GetTask", {"id": task["id"]})["result"]["status"]["state"]
        == "TASK_STATE_COMPLETED"
    )


def test_a_stream_tells_what_is_said_and_ends_with_the_decision(
    server: Server, tmp_path: Path
) -> None:
    """A-2: progress as status updates, the decision as an artifact, then the last status."""
    # On a busy machine a meeting can end before its stream begins: then there is nothing to tell.
    slow = {
        seat: {**kinds, "stand": [{**kinds["stand"][0], "delay": 2}]}
        for seat, kinds in PERSONA.items()
    }
    platform = write_script(tmp_path / "scene.toml", slow)
    seats = [{"id": name, "platform": platform} for name in PERSONA]
    settings = {"protocol": "persona", "seats": seats, "turns": 1, "language": "en"}
    body = {"jsonrpc": "2.0", "id": 7, "method": "SendStreamingMessage"}
    body["params"] = build_message("Where do we camp?", metadata={"moot": settings})
    raw = server.local.request("POST", "/a2a", json.dumps(body).encode()).body.decode()
    events = [
        json.loads(line.removeprefix("data: "))["result"]
        for line in raw.splitlines()
        if line.startswith("data: ")
    ]
    assert next(iter(events[0])) == "task"
    said = [each["statusUpdate"]["status"]["message"]["parts"][0]["text"] for each in events[1:-2]]
    assert any("The river is close." in text for text in said)
    assert events[-2]["artifactUpdate"]["artifact"]["artifactId"] == "decision"
    assert events[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_the_librarys_own_client_sends_polls_and_streams(server: Server) -> None:
    """A-2: the requests as its client builds them, to the address that it makes of the card's, read with its own shapes."""

    def post(request: bytes) -> bytes:
        return server.local.request("POST", "/a2a/", request).body

    part = schema.Part(text="Valley or hill?")
    settings = {"moot": {"protocol": "debate", "seats": MAILBOXES}}
    message = schema.Message(
        role="user", parts=[part], message_id="of the library", metadata=settings
    )
    params = schema.MessageSendParams(message=message)
    sent = schema.SendMessageRequest(jsonrpc="2.0", id="1", method="message/send", params=params)
    answer = schema.send_message_response_ta.validate_json(
        post(schema.send_message_request_ta.dump_json(sent, by_alias=True))
    )
    task = answer["result"]["task"]
    asked = schema.GetTaskRequest(
        jsonrpc="2.0", id="2", method="tasks/get", params={"id": task["id"]}
    )
    polled = TypeAdapter(schema.GetTaskResponse).validate_json(
        post(schema.a2a_request_ta.dump_json(asked, by_alias=True))
    )
    assert task["status"]["state"] == polled["result"]["status"]["state"] == "input-required"
    streamed = schema.StreamMessageRequest(
        jsonrpc="2.0", id="3", method="message/stream", params=params
    )
    lines = (
        post(schema.stream_message_request_ta.dump_json(streamed, by_alias=True))
        .decode()
        .splitlines()
    )
    events = [
        schema.stream_message_response_ta.validate_json(line[6:])
        for line in lines
        if line.startswith("data: ")
    ]
    assert events[0]["result"]["task"]["id"] == task["id"]


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("GetTask", {"id": "nothing"}, -32001),
        ("GetTask", {}, -32602),
        ("GetTask", [1], -32600),
        ("MakeCoffee", {}, -32601),
        (
            "SendMessage",
            {"message": {"messageId": "1", "role": "ROLE_USER", "parts": "hello"}},
            -32602,
        ),
        (
            "SendMessage",
            {
                "message": {
                    "messageId": "1",
                    "role": "ROLE_USER",
                    "parts": [{"text": "a"}],
                    "taskId": "x",
                }
            },
            -32001,
        ),
        ("ListTasks", {}, -32004),
        (
            "SendMessage",
            {
                "message": {
                    "messageId": "1",
                    "role": "ROLE_USER",
                    "parts": [{"url": "http://127.0.0.1/x"}],
                }
            },
            -32005,
        ),
        (
            "SendMessage",
            {"message": {"messageId": "2", "role": "ROLE_USER", "parts": [{"text": ""}]}},
            -32602,
        ),
        ("SendMessage", build_message("Which?", metadata={"moot": {"colour": "red"}}), -32602),
        ("SendMessage", build_message("Which?", metadata={"moot": "red"}), -32602),
        (
            "SendMessage",
            build_message("Which?", metadata={"moot": {"name": "red", "self": 1}}),
            -32602,
        ),
        ("GetTask", {"id": "nothing", "configuration": "x"}, -32001),
    ],
)
def test_wrong_requests_are_refused_with_a_code_and_a_sentence(
    server: Server, method: str, params: Any, code: int
) -> None:
    """A-2: nothing is opened, nothing breaks."""
    before = server.local("moot.listSessions")["total"]
    found = ask(server.local, method, params)
    assert found["error"]["code"] == code, found
    # A sentence, and not what Python shows of an exception.
    assert not found["error"]["message"].startswith("(")
    assert server.local("moot.listSessions")["total"] == before


def test_data_that_names_the_call_itself_ends_no_answer(server: Server) -> None:
    """A-2: the task says which session is meant; an id that is no text comes back with the answer."""
    settings = {"protocol": "debate", "seats": MAILBOXES}
    task = ask(
        server.local, "SendMessage", build_message("Lake or sea?", metadata={"moot": settings})
    )["result"]["task"]
    said = {"type": "propose", "text": "The lake is closer.", "confidence": 0.8}
    data = {
        "seat": "ada",
        "ask": "1.propose.ada",
        "answer": said,
        "sessionId": "another",
        "idempotencyKey": "x",
    }
    found = ask(
        server.local,
        "SendMessage",
        build_message("Mine", taskId=task["id"], parts=[{"data": data}]),
    )
    assert found["result"]["task"]["id"] == task["id"]
    body = {"jsonrpc": "2.0", "id": "\ud800", "method": "CancelTask", "params": {"id": task["id"]}}
    answer = server.local.request("POST", "/a2a", json.dumps(body).encode())
    assert (answer.status, answer.json()["id"]) == (200, "\ud800")


class Agent(BaseHTTPRequestHandler):
    """An agent elsewhere: what it does is said by the first part of its path."""

    calls: ClassVar[list[tuple[str, str]]] = []

    def do_GET(self) -> None:
        kind = self.path.split("/")[1]
        if kind == "redirects":
            self.send_response(302)
            self.send_header("Location", "/honest/.well-known/agent-card.json")
            self.end_headers()
            return
        host = "http://127.0.0.2:9" if kind == "elsewhere" else f"http://{self.headers['Host']}"
        interface = {
            "protocolBinding": "JSONRPC",
            "url": f"{host}/{kind}",
            "protocolVersion": "1.0",
        }
        card: Any = {"name": kind, "supportedInterfaces": [interface]}
        if kind == "old":
            card = {"name": kind, "url": f"{host}/{kind}", "protocolVersion": "0.3.0"}
        self.answer(card if kind != "huge" else {**card, "description": "x" * 400_000})

    def do_POST(self) -> None:
        kind = self.path.strip("/")
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.calls.append((kind, asked["method"]))
        text = (
            {"reaction_score": 0.9, "intent_to_speak": True}
            if "reaction_score" in json.dumps(asked)
            else None
        )
        said = json.dumps(text) if text else "The valley has shade."
        done = {
            "id": "t",
            "contextId": "c",
            "artifacts": [{"artifactId": "a", "parts": [{"text": said}]}],
        }
        match kind, asked["method"]:
            case "fails", _:
                result: Any = {"task": {**done, "status": {"state": "TASK_STATE_FAILED"}}}
            case "slow", "SendMessage":
                result = {
                    "task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}
                }
            case "slow", _:
                result = {**done, "status": {"state": "TASK_STATE_COMPLETED"}}
            case "old", _:
                result = {
                    "kind": "message",
                    "messageId": "1",
                    "role": "agent",
                    "parts": [{"kind": "text", "text": said}],
                }
            case _:
                result = {
                    "message": {"messageId": "1", "role": "ROLE_AGENT", "parts": [{"text": said}]}
                }
        self.answer({"jsonrpc": "2.0", "id": asked["id"], "result": result})

    def answer(self, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: Any) -> None:
        pass


@contextmanager
def hold_agent() -> Iterator[str]:
    Agent.calls.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Agent) as agent:
        threading.Thread(target=agent.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{agent.server_address[1]}"
        agent.shutdown()


def hold_meeting(client: Client, tmp_path: Path, platform: str) -> Any:
    """A persona meeting of a scripted seat and the agent; what it came to."""
    script = write_script(tmp_path / "scene.toml", PERSONA)
    seats = [
        {"id": "ada", "platform": script},
        {"id": "bob", "platform": script},
        {"id": "eve", "platform": platform},
    ]
    opened = client(
        "moot.openSession",
        topic="Where do we camp?",
        protocol="persona",
        seats=seats,
        turns=2,
        language="en",
    )
    end = time.monotonic() + 60
    while (found := client("moot.getSession", sessionId=opened["sessionId"], timeoutSeconds=5))[
        "status"
    ] == "thinking":
        assert time.monotonic() < end
    return found


@pytest.mark.parametrize("kind", ["honest", "old", "slow"])
def test_an_agent_elsewhere_takes_a_seat(server: Server, tmp_path: Path, kind: str) -> None:
    """A-2: a2a:URL; by a message, by a task that is polled, and by the version before."""
    with hold_agent() as url:
        found = hold_meeting(server.local, tmp_path, f"a2a:{url}/{kind}")
        minutes = server.local("moot.exportSession", sessionId=found["sessionId"])["text"]
    assert "The valley has shade." in minutes
    assert ("slow", "GetTask") in Agent.calls or kind != "slow"
    assert ("old", "message/send") in Agent.calls or kind != "old"


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("redirects", "redirects are not followed"),
        ("elsewhere", "another host"),
        ("huge", "more than 262144 bytes"),
    ],
)
def test_a_malicious_card_is_refused_before_anything_is_sent(
    server: Server, tmp_path: Path, kind: str, why: str
) -> None:
    """A-2: no redirect, no other host, no flood; the reason is said when the session is opened."""
    with hold_agent() as url:
        seats = [{"id": "ada", "platform": f"a2a:{url}/{kind}"}, {"id": "bob"}]
        refused = server.local.refused(
            "moot.openSession", topic="Where?", protocol="persona", seats=seats
        )
        assert why in refused.message
    assert Agent.calls == []


def test_a_task_that_fails_is_a_loss_on_record(server: Server, tmp_path: Path) -> None:
    """A-2: the meeting goes on without it."""
    with hold_agent() as url:
        found = hold_meeting(server.local, tmp_path, f"a2a:{url}/fails")
    assert found["status"] == "concluded"
    assert any(each["seat"] == "eve" for each in found["lost"])


def test_a_caller_from_the_network_seats_no_agent_of_its_choice(server: Server) -> None:
    """A-2, D-5: an address of the caller's choice is refused like any other."""
    token = server.cli.json("invite", "--operator")["token"]
    seats = [{"id": "ada", "platform": "a2a:http://127.0.0.1:9"}, {"id": "bob"}]
    assert (
        "a2a"
        in Client(server.address, token)
        .refused("moot.openSession", topic="Where?", seats=seats)
        .message
    )
