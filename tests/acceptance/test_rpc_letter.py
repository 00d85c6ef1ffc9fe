"""JSON-RPC 2.0 to the letter, and a description that every call keeps."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from tests.acceptance.doors import Cli
from tests.acceptance.server import HSM, MET, SEATS, Answer, Client, Server

PROTOCOLS = {
    "protocols": [
        "advisory",
        "consensus",
        "consultation",
        "debate",
        "persona",
        "pipeline",
        "review",
        "roundtable",
        "swarm",
    ]
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    with Server(Cli(folder / "home", folder)) as running:
        yield running


@pytest.fixture(scope="module")
def client(server: Server) -> Client:
    return server.local


@pytest.fixture(scope="module")
def document(client: Client) -> dict[str, Any]:
    """The description of all calls."""
    found: dict[str, Any] = client("rpc.discover")
    return found


def request(method: str, params: object = None, **more: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "method": method,
        **({} if params is None else {"params": params}),
        **more,
    }


def error_of(answer: dict[str, Any]) -> tuple[object, int]:
    """The id and the code of an error response, which has no other members."""
    assert set(answer) == {"jsonrpc", "id", "error"}
    assert answer["jsonrpc"] == "2.0"
    assert isinstance(answer["error"]["message"], str)
    assert answer["error"]["message"]
    assert set(answer["error"]) <= {"code", "message", "data"}
    MET.add(answer["error"]["code"])
    return answer["id"], answer["error"]["code"]


# The examples of the specification, in its order


def test_parameters_may_be_given_by_position(client: Client) -> None:
    """D-6: in the order of the description, either way round."""
    session = client.open()
    found = client.send(request("moot.getEntries", [session, 0, 1], id=1))
    assert (found["id"], found["result"]["sessionId"], len(found["result"]["entries"])) == (
        1,
        session,
        1,
    )
    assert (
        client.send(request("moot.verifySession", [session], id=2))["result"]["sessionId"]
        == session
    )


def test_parameters_may_be_given_by_name_in_any_order(client: Client) -> None:
    session = client.opened()
    one = client.send(
        request("moot.getEntries", {"sessionId": session, "after": 0, "limit": 1}, id=3)
    )
    other = client.send(
        request("moot.getEntries", {"limit": 1, "after": 0, "sessionId": session}, id=3)
    )
    assert one == other
    assert set(one) == {"jsonrpc", "id", "result"}


def test_more_parameters_than_there_are_is_refused(client: Client) -> None:
    found = client.send(request("moot.verifySession", ["a", "b"], id=4))
    assert error_of(found) == (4, -32602)


def test_a_notification_is_carried_out_and_answered_with_nothing(client: Client) -> None:
    """D-6: HTTP 204 without a body, also when it fails or the method does not exist."""
    session = client.opened()
    said = {
        "deliberationId": session,
        "participant": "emerson",
        "type": "propose",
        "text": "quietly",
        "confidence": 0.8,
    }
    for body in (
        request("cstp.contribute", said),
        request("cstp.contribute", {"type": 1}),
        request("foobar"),
    ):
        found = client.post(json.dumps(body).encode())
        assert (found.status, found.body) == (204, b"")
    assert [
        line["text"] for line in client.read(session, participant="emerson")["contributions"]
    ] == ["quietly"]


def test_an_unknown_method_is_refused(client: Client) -> None:
    found = client.send(request("foobar", id="1"))
    assert error_of(found) == ("1", -32601)
    assert "foobar" in found["error"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]',
        b'[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},{"jsonrpc": "2.0", "method"]',
        b"",
        b"\xff\xfe",
        b"nothing",
        b'{"jsonrpc": "2.0", "method": "rpc.discover", "id": NaN}',
    ],
)
def test_what_is_no_json_is_a_parse_error(client: Client, body: bytes) -> None:
    found = client.post(body)
    assert found.status == 200
    assert error_of(found.json()) == (None, -32700)


@pytest.mark.parametrize(
    ("body", "number"),
    [
        ({"jsonrpc": "2.0", "method": 1, "params": "bar"}, None),
        ({"jsonrpc": "2.0", "method": "rpc.discover", "params": "bar", "id": 5}, 5),
        ({"jsonrpc": "2.0", "method": "rpc.discover", "params": 7, "id": 5}, 5),
        ({"jsonrpc": "2.0", "method": None, "id": "x"}, "x"),
        ({"jsonrpc": "2.0", "id": 6}, 6),
        ({"jsonrpc": "1.0", "method": "rpc.discover", "id": 7}, 7),
        ({"jsonrpc": 2.0, "method": "rpc.discover", "id": 7}, 7),
        ({"method": "rpc.discover", "id": 8}, 8),
        ({"jsonrpc": "2.0", "method": "rpc.discover", "id": [1]}, None),
        ({"jsonrpc": "2.0", "method": "rpc.discover", "id": {"a": 1}}, None),
        ({"jsonrpc": "2.0", "method": "rpc.discover", "id": True}, None),
        ("a string", None),
        (17, None),
        (None, None),
        ({}, None),
    ],
)
def test_what_is_no_request_is_an_invalid_request(
    client: Client, body: object, number: object
) -> None:
    assert error_of(client.send(body)) == (number, -32600)


@pytest.mark.parametrize(
    "number", ["1", "", "\u00e9\u4f60", "\ud800", 0, -7, 2**63, 1.5, None, "x" * 1_000]
)
def test_an_answer_bears_the_id_of_its_request(client: Client, number: object) -> None:
    """D-6: string, number or null, in results and in errors."""
    found = client.send(request("moot.listProtocols", id=number))
    assert (found["id"], found["result"]) == (number, PROTOCOLS)
    assert type(found["id"]) is type(number)
    assert error_of(client.send(request("foobar", id=number))) == (number, -32601)


def test_an_empty_batch_is_one_invalid_request(client: Client) -> None:
    assert error_of(client.send([])) == (None, -32600)


def test_a_batch_of_garbage_is_answered_one_by_one(client: Client) -> None:
    assert [error_of(each) for each in client.send([1])] == [(None, -32600)]
    assert [error_of(each) for each in client.send([1, 2, 3])] == [(None, -32600)] * 3


def test_a_mixed_batch_is_answered_but_for_its_notifications(client: Client) -> None:
    """D-6: the example of the specification, with methods that exist."""
    found = client.send(
        [
            request("moot.listProtocols", id="1"),
            request("moot.listProtocols", []),
            request("cstp.getSourceTrust", ["nobody"], id="2"),
            {"foo": "boo"},
            request("foo.get", {"name": "myself"}, id="5"),
            request("moot.listProtocols", id="9"),
        ]
    )
    assert [each["id"] for each in found] == ["1", "2", None, "5", "9"]
    assert found[0]["result"] == found[4]["result"] == PROTOCOLS
    assert found[1]["result"]["trust"] == 0.5
    assert [error_of(found[2]), error_of(found[3])] == [(None, -32600), ("5", -32601)]


def test_a_batch_of_notifications_is_answered_with_nothing(client: Client) -> None:
    found = client.post(json.dumps([request("moot.listProtocols"), request("foobar")]).encode())
    assert (found.status, found.body) == (204, b"")


def test_a_batch_is_carried_out_in_its_order(client: Client) -> None:
    """D-6: what is sent together counts as if it had been sent one after another."""
    session = client.opened()
    said = {"deliberationId": session, "type": "propose", "text": "words", "confidence": 0.8}
    found = client.send(
        [request("cstp.contribute", {**said, "participant": seat}, id=seat) for seat in SEATS]
    )
    assert [each["id"] for each in found] == list(SEATS)
    assert [each["result"]["id"] for each in found] == [2, 3, 4]
    assert found[-1]["result"]["phase"] == "argue"


def test_a_batch_has_a_bound(client: Client) -> None:
    assert (
        len(client.send([request("moot.listProtocols", id=number) for number in range(100)])) == 100
    )
    assert error_of(
        client.send([request("moot.listProtocols", id=number) for number in range(101)])
    ) == (None, -32600)


def test_only_a_post_of_json_is_a_call(client: Client) -> None:
    assert client.get("/rpc").status == 405
    assert client.request("PUT", "/rpc", b"{}").status == 405
    assert client.post(b"{}", content_type="text/plain").status == 415
    assert (
        client.post(
            json.dumps(request("moot.listProtocols", id=1)).encode(),
            content_type="application/json; charset=utf-8",
        ).status
        == 200
    )


def test_a_number_too_large_for_a_float_is_answered_with_json(client: Client) -> None:
    found = client.post(b'{"jsonrpc": "2.0", "method": "moot.listProtocols", "id": 1e999}')
    assert found.json()["jsonrpc"] == "2.0"


# The description


def test_the_description_is_the_same_by_call_and_by_page(
    client: Client, document: dict[str, Any]
) -> None:
    """By rpc.discover and by /openrpc.json."""
    page = client.get("/openrpc.json")
    assert page.headers["content-type"] == "application/json"
    assert page.json() == document
    assert document["openrpc"].startswith("1.")
    assert {"title", "version"} <= set(document["info"])


def test_the_calls_of_the_source_are_described(document: dict[str, Any]) -> None:
    """D-1 to D-5."""
    names = [method["name"] for method in document["methods"]]
    assert len(set(names)) == len(names)
    assert {
        "cstp.openDeliberation",
        "cstp.contribute",
        "cstp.closeDeliberation",
        "cstp.getDeliberation",
        "cstp.waitForTurn",
        "cstp.joinDeliberation",
        "cstp.listDeliberations",
        "cstp.reviewDecision",
        "cstp.searchDecisions",
    } <= set(names)


def test_every_schema_of_the_description_is_one(document: dict[str, Any]) -> None:
    """D-6: JSON Schema 2020-12, with every reference inside its own schema; required parameters come first."""
    for method in document["methods"]:
        schemas = [param["schema"] for param in method["params"]] + [method["result"]["schema"]]
        for schema in schemas:
            Draft202012Validator.check_schema(schema)
            list(Draft202012Validator(schema).iter_errors({"reaches": "every reference"}))
        assert {error["$ref"].rpartition("/")[2] for error in method["errors"]} == set(
            document["components"]["errors"]
        )


CONFERENCE = {"conference": "cache"}
SUBJECT: dict[str, Any] = {
    "language": "en",
    "category": "c",
    "stakes": "low",
    "reviewIn": "30d",
    "tags": [],
    "thread": "",
    "builtOn": [],
    "seed": 7,
    "patience": "3d",
    "reading": "strict",
    "chance": True,
    "allowSecrets": True,
    "memory": False,
    "check": True,
}
FRAME: dict[str, Any] = {"kind": "open", "frame": "auto", "facts": "auto"}
LIMITS: dict[str, Any] = {"tokens": 100_000, "money": 1.5, "time": "10m"}
TOOLS: dict[str, Any] = {"tools": "auto", "toolCalls": 3, "toolBudget": {"seat.calls": 9}}
CONSULT: dict[str, Any] = {
    "consult": True,
    "consultLimit": 2,
    "consultTotal": 5,
    "consultPatience": 60,
    "gate": False,
}
PLANNED: dict[str, Any] = {
    **SUBJECT,
    **FRAME,
    **LIMITS,
    **CONSULT,
    **TOOLS,
    "topic": "What now?",
    "protocol": "debate",
    "seats": ["ada", {"id": "bob"}],
    "panel": "",
    "models": [],
    "options": [],
    "settings": {"rounds": 2},
    "files": [{"name": "plan.md", "text": "# Plan"}],
    "idempotencyKey": "any protocol",
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "moot.newConference": {
        **CONFERENCE,
        **SUBJECT,
        **TOOLS,
        "topic": "Which cache?",
        "files": [{"name": "plan.md", "text": "# Plan"}],
        "roles": ["architect", {"id": "reviewer", "instructions": "Doubt it."}],
        "moderator": "mailbox",
        "agenda": "The catalogue is slow.",
        "prompt": "Open it.",
        "maxRounds": 2,
        "settings": {},
    },
    "moot.listConferences": {},
    "moot.conferenceStatus": CONFERENCE,
    "moot.giveConferenceInput": {
        **CONFERENCE,
        "text": "Half the budget.",
        "idempotencyKey": "half",
    },
    "moot.joinConference": {**CONFERENCE, "role": "architect", "timeoutSeconds": 0},
    "moot.sayInConference": {
        **CONFERENCE,
        "role": "architect",
        "text": "## Stance\nRedis.",
        "idempotencyKey": "first",
    },
    "moot.skipSpeaker": {**CONFERENCE, "role": "reviewer", "why": "away"},
    "moot.relayConference": CONFERENCE,
    "moot.checkConference": CONFERENCE,
    "moot.repairConference": CONFERENCE,
    "moot.conferenceMinutes": CONFERENCE,
    "cstp.openDeliberation": {
        **HSM,
        "kind": "choice",
        "frame": "auto",
        **LIMITS,
        **TOOLS,
        **CONSULT,
        "files": [{"name": "plan.md", "text": "# Plan"}],
        "seed": 7,
        "reviewIn": "30d",
        "reading": "strict",
        "chance": True,
        "facts": "auto",
        "allowSecrets": True,
        "check": True,
        "order": "open",
        "tags": ["memory"],
        "options": ["HSM", "attention"],
        "thread": "hsm",
        "builtOn": ["alone.1"],
        "memory": True,
        "blind": True,
        "debate": "always",
        "rounds": 2,
        "patienceSeconds": 3600,
        "language": "en",
        "rebuttal": True,
        "panel": "all",
        "panelOrder": "roster",
        "idempotencyKey": "letter",
        "carryAt": 0.5,
        "choose": "votes",
    },
    "cstp.contribute": {
        "participant": "emerson",
        "type": "propose",
        "text": "Adopt HSM",
        "confidence": 0.8,
        "choice": "HSM",
        "refersTo": 1,
        "evidence": ["MIT"],
        "answers": [],
        "accepts": [],
        "condition": "",
        "taken": [],
        "idempotencyKey": "letter",
    },
    "cstp.getDeliberation": {"participant": "emerson", "since": 0, "limit": 10, "at": 1},
    "cstp.waitForTurn": {"participant": "minski", "cursor": 0, "timeoutSeconds": 0},
    "cstp.joinDeliberation": {
        "participant": "minski",
        "family": "claude-opus-4",
        "cursor": 0,
        "limit": 50,
    },
    "cstp.closeDeliberation": {"force": True, "idempotencyKey": "letter"},
    "cstp.listDeliberations": {
        "status": "all",
        "participant": "emerson",
        "limit": 10,
        "query": "HSM",
    },
    "cstp.recordDecision": {
        "agent": "emerson",
        "topic": "Which cache?",
        "decision": "LRU",
        "confidence": 0.9,
        "category": "caching",
        "stakes": "low",
        "tags": ["memory"],
        "builtOn": [],
        "participants": ["minski"],
        "idempotencyKey": "letter",
    },
    "cstp.reviewDecision": {
        "decisionId": "alone.1",
        "outcome": "success",
        "choice": "",
        "note": "works",
        "idempotencyKey": "r",
    },
    "cstp.searchDecisions": {
        "within": "decisions",
        "query": "cache",
        "category": "caching",
        "limit": 5,
    },
    "cstp.listDecisions": {
        "category": "caching",
        "protocol": "alone",
        "outcome": "success",
        "source": "emerson",
        "limit": 5,
    },
    "cstp.getDecision": {"decisionId": "alone.1"},
    "cstp.listObligations": {"decisionId": "alone.1", "onlyOpen": True, "limit": 5},
    "cstp.settleObligation": {
        "decisionId": "",
        "number": 1,
        "state": "met",
        "note": "measured",
        "idempotencyKey": "s",
    },
    "cstp.getSourceTrust": {"source": "emerson", "category": "caching"},
    "cstp.listSources": {},
    "cstp.getAmplificationStats": {},
    "cstp.getReliability": {"protocol": "debate"},
    "cstp.getAmplificationChain": {"decisionId": "alone.1"},
    "cstp.createThread": {
        "title": "Long context",
        "category": "architecture",
        "thread": "hsm",
        "idempotencyKey": "t",
    },
    "cstp.resumeThread": {"thread": "hsm", "participant": "emerson", "idempotencyKey": "t"},
    "cstp.getThreadStatus": {"thread": "hsm"},
    "cstp.setThreadStatus": {
        "thread": "hsm",
        "status": "active",
        "note": "",
        "idempotencyKey": "t",
    },
    "cstp.askInThread": {"thread": "hsm", "question": "How long?", "idempotencyKey": "t"},
    "cstp.settleQuestion": {"thread": "hsm", "number": 1, "idempotencyKey": "t"},
    "cstp.listThreads": {},
    "cstp.getCircuitState": {"scope": "category:caching"},
    "cstp.listBreakers": {},
    "cstp.resetCircuit": {"scope": "category:caching", "note": "mended", "idempotencyKey": "c"},
    "cstp.mayDecideAlone": {
        "agent": "emerson",
        "confidence": 0.9,
        "category": "caching",
        "stakes": "low",
        "tags": ["memory"],
    },
    "cstp.getPolicy": {},
    "cstp.setPolicy": {
        "failures": 4,
        "windowSeconds": 86_400,
        "cooldownSeconds": 60,
        "probeSeconds": 3_600,
        "deliberateStakes": ["critical"],
        "minConfidence": 0.7,
        "deliberateCategories": ["security"],
        "categoryConfidence": [{"category": "payments", "minConfidence": 0.9}],
        "scopeSources": 2,
        "stakesSources": 3,
        "globalSources": 4,
        "idempotencyKey": "p",
    },
    "moot.swarmOpen": {
        "task": "Where to look?",
        "agents": 3,
        "seats": ["ada", {"id": "bob"}],
        "models": ["mailbox"],
        "mode": "hybrid",
        "directions": ["up", "down"],
        "maxRounds": 2,
        "quorum": "independent",
        "settings": {"collisions": 0},
        "panel": "",
        "options": [],
        "files": [],
        **TOOLS,
        **SUBJECT,
        **FRAME,
        **LIMITS,
        **dict.fromkeys(CONSULT),
        "idempotencyKey": "swarm",
    },
    "moot.swarmStatus": {"whole": True, "at": 1},
    "moot.swarmRound": {"seat": "ada", "timeoutSeconds": 0},
    "moot.swarmReport": {
        "seat": "ada",
        "ask": "10.explore.ada",
        "report": {"direction": "up", "findings": [{"coreIdea": "Look up.", "perspective": "p"}]},
        "idempotencyKey": "r",
    },
    "moot.openSession": PLANNED,
    "moot.consult": {
        "seat": "bob",
        "to": "ada",
        "question": "What does it cost?",
        "background": "The price is not given.",
        "understanding": "Little.",
        "kind": "confirmation",
        "timeoutSeconds": 0,
        "idempotencyKey": "letter",
    },
    "moot.openPipeline": {
        "pipeline": "[[agent]]\nid = 'ada'\n[[step]]\nname = 'read'\nagent = 'ada'\ntask = 'Read it.'\n",
        "task": "Forecast it.",
        "models": ["mailbox"],
        "seats": [],
        "settings": {},
        "files": [],
        **TOOLS,
        **SUBJECT,
        **LIMITS,
        **CONSULT,
        "idempotencyKey": "a pipeline",
    },
    "moot.getPipeline": {},
    "moot.listSessions": {
        "tag": "",
        "status": "all",
        "limit": 10,
        "query": "now",
        "protocol": "debate",
        "after": 0,
    },
    "moot.getSession": {"timeoutSeconds": 0, "at": 1},
    "moot.getView": {"at": 1, "since": 0, "near": 1, "limit": 10},
    "moot.getItems": {"at": 1, "begin": 0, "limit": 10},
    "moot.getText": {"entry": 1},
    "moot.previewAnswer": {"seat": "ada", "answer": "We should wait."},
    "moot.getPersonAsks": {"seat": "ada"},
    "moot.answerAsPerson": {
        "seat": "ada",
        "ask": "1.propose.ada",
        "answers": {"words": "Left.", "confidence": "sure"},
        "idempotencyKey": "by a person",
    },
    "moot.forkSession": {"at": 1, "swaps": {}},
    "moot.labelSession": {"tags": ["a"], "isAway": False},
    "moot.inviteSeat": {
        "seat": "bob",
        "family": "gpt-5",
        "lastsHours": 1,
        "url": "http://127.0.0.1:8760",
    },
    "moot.joinByCode": {"code": ""},
    "moot.shareSession": {"lastsHours": 1, "url": "http://127.0.0.1:8760"},
    "moot.listTokens": {},
    "moot.revokeToken": {"tokenId": ""},
    "moot.getTrustHistory": {"source": "emerson"},
    "moot.getOpening": {"language": "en"},
    "moot.listDemos": {"language": "en"},
    "moot.playDemo": {
        "name": "persona",
        "language": "en",
        "pace": "fast",
        "idempotencyKey": "a demo",
    },
    "moot.planSession": PLANNED,
    "moot.frameQuestion": PLANNED,
    "moot.getEntries": {"after": 0, "limit": 10},
    "moot.getAsks": {"seat": "ada", "timeoutSeconds": 0},
    "moot.answer": {
        "seat": "ada",
        "ask": "1.propose.ada",
        "answer": {"type": "pass"},
        "idempotencyKey": "letter",
    },
    "moot.giveInput": {"text": "Mind the cost.", "idempotencyKey": "letter"},
    "moot.groupAnswers": {"answers": ["use HSM", "HSM"], "part": False},
    "moot.exportSession": {"form": "minutes"},
    "moot.verifySession": {},
    "moot.resumeSession": {"swaps": {}, "idempotencyKey": "letter"},
    "moot.closeSession": {"idempotencyKey": "letter"},
    "moot.cancelSession": {"reason": "asked the wrong question", "idempotencyKey": "letter"},
    "moot.listProtocols": {},
}
ORDER = (
    "cstp.createThread",
    "cstp.recordDecision",
    "cstp.openDeliberation",
    "cstp.contribute",
    "moot.openSession",
    "moot.openPipeline",
    "moot.swarmOpen",
)
"""What others rest on."""
UNSEEN = {
    "cstp.contribute": {
        "position",
        "movedBy",
        "ballot",
        "due",
        "ownChoice",
        "toUser",
        "headline",
        "actions",
        "who",
        "number",
    },
    "cstp.openDeliberation": {"threshold", "owner", "quorum", "turns", "depth", "judge"},
    "cstp.listDecisions": {"before"},
    "moot.answerAsPerson": {"command", "consult"},
    "moot.openSession": {"turns", "depth"},
    "moot.planSession": {"turns", "depth"},
    "moot.frameQuestion": {"turns", "depth"},
    "moot.consult": {
        *SUBJECT,
        *LIMITS,
        *TOOLS,
        "consultPatience",
        "files",
        "models",
        "panel",
        "seats",
        "settings",
    },
}
"""Parameters that the example has no place for: they belong to another type or protocol."""


def test_every_call_of_the_description_can_be_made_as_described(
    server: Server, document: dict[str, Any]
) -> None:
    """D-1 to D-6: every parameter by its documented name, valid by its schema; every result valid by its own."""
    client, methods = server.local, {method["name"]: method for method in document["methods"]}
    assert set(EXAMPLES) == set(methods)
    sessions: dict[str, str] = {}
    rest = [name for name in methods if name not in ORDER]
    closing = ("cstp.closeDeliberation", "moot.closeSession", "moot.cancelSession")
    names = [*ORDER, *(name for name in rest if name not in closing), *closing]
    for name in names:
        params = dict(EXAMPLES[name])
        schemas = {param["name"]: param["schema"] for param in methods[name]["params"]}
        required = {param["name"] for param in methods[name]["params"] if param["required"]}
        if "deliberationId" in schemas:
            params["deliberationId"] = sessions["cstp.openDeliberation"]
        if name == "cstp.settleObligation":
            params["decisionId"] = client.held()
        if name == "moot.revokeToken":
            params["tokenId"] = client("moot.shareSession", sessionId=sessions["moot.openSession"])[
                "tokenId"
            ]
        if name == "moot.joinByCode":
            invited = server.cli.json(
                "invite", sessions["moot.openSession"], "--seat", "bob", "--code"
            )
            params["code"] = invited["code"]
        if "sessionId" in schemas:
            opening = {
                "moot.cancelSession": "cancelled",
                "moot.answerAsPerson": "cancelled",
                "moot.getPipeline": "moot.openPipeline",
            }
            params["sessionId"] = sessions[opening.get(name, "moot.openSession")]
        if name.startswith("moot.swarm") and "sessionId" in schemas:
            params["sessionId"] = sessions["moot.swarmOpen"]
        if name == "moot.groupAnswers":
            params["sessionId"] = client.open(idempotencyKey="to group", stakes="high")
            for seat, choice in (
                ("emerson", "use HSM"),
                ("minski", "HSM"),
                ("code-reviewer", "HSM"),
            ):
                client.say(params["sessionId"], seat, "propose", choice=choice)
        assert required <= set(params)
        assert set(schemas) - set(params) == UNSEEN.get(name, set()), name
        for key, value in params.items():
            assert key in schemas, (name, key)
            Draft202012Validator(schemas[key]).validate(value)
        result = client(name, **params)
        Draft202012Validator(methods[name]["result"]["schema"]).validate(result)
        if name == "cstp.openDeliberation":
            sessions[name] = result["deliberationId"]
        if name in {"moot.openPipeline", "moot.swarmOpen"}:
            sessions[name] = result["sessionId"]
        if name == "moot.openSession":
            sessions[name] = result["sessionId"]
            sessions["cancelled"] = client(name, **{**params, "idempotencyKey": "to cancel"})[
                "sessionId"
            ]


def test_results_of_every_protocol_are_as_described(
    client: Client, document: dict[str, Any]
) -> None:
    """D-3, D-4: a deliberation that has ended, read and closed again."""
    results = {method["name"]: method["result"]["schema"] for method in document["methods"]}
    session = client.held()
    for name in ("cstp.getDeliberation", "cstp.closeDeliberation", "cstp.joinDeliberation"):
        params = {"participant": "minski"} if name == "cstp.joinDeliberation" else {}
        Draft202012Validator(results[name]).validate(client(name, deliberationId=session, **params))
    for name in ("moot.getSession", "moot.getEntries", "moot.verifySession", "moot.exportSession"):
        Draft202012Validator(results[name]).validate(client(name, sessionId=session))
    Draft202012Validator(results["cstp.getDecision"]).validate(
        client("cstp.getDecision", decisionId=session)
    )


def test_every_error_that_is_met_is_in_the_description(
    client: Client, document: dict[str, Any]
) -> None:
    """D-6: a sample of each kind; the code, and that a sentence comes with it."""
    listed = {int(code): error for code, error in document["components"]["errors"].items()}
    assert all(error["code"] == code and error["message"] for code, error in listed.items())
    session = client.held()
    client.open(idempotencyKey="errors")
    samples: dict[int, Answer] = {
        -32700: client.post(b"{"),
        -32600: client.post(b"[]"),
        -32601: client.post(json.dumps(request("foobar", id=1)).encode()),
    }
    calls: dict[int, tuple[str, dict[str, Any]]] = {
        -32602: ("cstp.openDeliberation", {}),
        -32001: ("cstp.waitForTurn", {"deliberationId": session}),
        -32002: ("cstp.getDecision", {"decisionId": "nothing"}),
        -32003: ("cstp.closeDeliberation", {"deliberationId": client.open()}),
        -32004: (
            "cstp.joinDeliberation",
            {"deliberationId": client.open(), "participant": "stranger"},
        ),
        -32005: ("moot.cancelSession", {"sessionId": session}),
        -32006: ("cstp.openDeliberation", {**HSM, "topic": "Another?", "idempotencyKey": "errors"}),
    }
    for code, (name, params) in calls.items():
        samples[code] = client.post(json.dumps(request(name, params, id=1)).encode())
    samples[-32009] = client.post(b" " * 16_777_217)
    for code, answer in samples.items():
        assert error_of(answer.json())[1] == code
    assert set(samples) <= set(listed)
    assert set(listed) >= MET
