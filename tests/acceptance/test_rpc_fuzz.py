"""Whatever is sent, the answer is a documented one, the server stays up, and what is refused changes nothing."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.acceptance.doors import Cli
from tests.acceptance.server import HSM, SEATS, Answer, Client, Server

FAULT = -32603
FEW = settings(max_examples=80, suppress_health_check=list(HealthCheck))

WORDS = st.text(max_size=20) | st.sampled_from(
    [
        "\x00",
        "\ud800",
        "\udfff x",
        "\u202e",
        "e\u0301",
        "\U0001f600",
        "../../etc",
        "USER",
        "a b",
        "'; DROP",
        "{{7*7}}",
        "x" * 300,
    ]
)
NUMBERS = (
    st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([2**63, -(2**63), 2**64, 10**30, 1e308])
)
PLAIN = st.none() | st.booleans() | NUMBERS | WORDS
VALUES = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)


@dataclass(frozen=True, slots=True)
class Target:
    """A live server with a session in the middle of its first phase, and the tokens of two seats."""

    server: Server
    session: str
    tokens: dict[str, str]
    codes: frozenset[int]
    methods: dict[str, list[str]]

    @property
    def local(self) -> Client:
        return self.server.local

    def check(self, answer: Answer) -> bool:
        """The answer is a documented one; whether it is an error."""
        assert answer.status in {200, 204, 401, 413, 431, 400}, answer
        if answer.status in {204, 400, 431}:
            return answer.status != 204
        found = answer.json()
        errors = [
            each["error"]
            for each in (found if isinstance(found, list) else [found])
            if "error" in each
        ]
        for error in errors:
            assert error["code"] in self.codes
            assert error["code"] != FAULT, error
            assert error["message"]
        return bool(errors)

    def check_alive(self) -> None:
        assert self.server.is_up
        assert self.local.get("/healthz").json() == {"status": "ok"}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    folder = tmp_path_factory.mktemp("served")
    cli = Cli(folder / "home", folder)
    cli.home.mkdir(mode=0o700)
    (cli.home / "server.toml").write_text('proxies = ["127.0.0.1"]\n')
    with Server(cli) as server:
        client = server.local
        session = client.opened()
        client.say(session, "emerson", "propose", text="Adopt HSM")
        document = client("rpc.discover")
        yield Target(
            server,
            session,
            {seat: cli.json("invite", session, "--seat", seat)["token"] for seat in SEATS[:2]},
            frozenset(int(code) for code in document["components"]["errors"]),
            {
                method["name"]: [param["name"] for param in method["params"]]
                for method in document["methods"]
            },
        )


def test_any_value_in_any_parameter_is_answered_or_refused_with_a_documented_code(
    target: Target,
) -> None:
    """D-6: wrong types, missing and unknown parameters, for every call; a refused one leaves the session as it was."""
    heads = [target.local.head(target.session)]

    @FEW
    @given(st.data())
    def sends(data: st.DataObject) -> None:
        method = data.draw(st.sampled_from(sorted(target.methods)))
        names = target.methods[method]
        params = {name: data.draw(VALUES) for name in names if data.draw(st.booleans())}
        if "timeoutSeconds" in names:
            params["timeoutSeconds"] = data.draw(st.sampled_from([0, -1, "soon", None, 601, [0]]))
        for name in ("deliberationId", "sessionId"):
            if name in names and data.draw(st.integers(0, 3)):
                params[name] = target.session
        if "participant" in names and data.draw(st.booleans()):
            params["participant"] = data.draw(st.sampled_from(SEATS))
        if isinstance(after := params.get("after"), int | float) and after >= 2**63:
            # test_an_entry_beyond_any_session_is_answered
            del params["after"]
        if method in {"moot.cancelSession", "moot.closeSession", "cstp.closeDeliberation"}:
            params["unknown"] = True
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        is_refused = target.check(target.local.post(json.dumps(request).encode()))
        head = target.local.head(target.session)
        assert not is_refused or head == heads[-1]
        heads.append(head)

    sends()
    target.check_alive()


def test_any_json_at_all_is_answered(target: Target) -> None:
    """D-6: whole requests that are nothing like one."""

    @FEW
    @given(
        VALUES
        | st.fixed_dictionaries(
            {"jsonrpc": st.just("2.0"), "method": VALUES, "id": VALUES, "params": VALUES}
        )
        | st.lists(VALUES, min_size=1, max_size=5)
    )
    def sends(value: object) -> None:
        target.check(target.local.post(json.dumps(value).encode()))

    head = target.local.head(target.session)
    sends()
    target.check_alive()
    assert target.local.head(target.session) == head


def test_any_bytes_are_answered(target: Target) -> None:
    """D-6: no JSON, no UTF-8, cut off in the middle."""
    whole = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "cstp.openDeliberation", "params": HSM}
    ).encode()

    @FEW
    @given(st.binary(max_size=60) | st.integers(0, len(whole) - 1).map(lambda at: whole[:at]))
    def sends(body: bytes) -> None:
        target.check(target.local.post(body))

    sends()
    target.check_alive()


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"jsonrpc":"2.0","id":1,"method":"moot.openSession","params":{"topic":"t","seats":["a"],"settings":{"a":'
        + b"[" * 700
        + b"]" * 700
        + b"}}}",
        b'{"jsonrpc":"2.0","id":1,"method":"moot.answer","params":{"session":"SESSION","seat":"minski","answer":{"type":'
        + b"[" * 700
        + b"]" * 700
        + b"}}}",
        b'{"jsonrpc":"2.0","id":1,"method":"cstp.contribute","params":'
        + b"[" * 900
        + b"]" * 900
        + b"}",
        b'{"jsonrpc":"2.0","id":' + b"9" * 5_000 + b',"method":"moot.listProtocols"}',
        b'{"jsonrpc":"2.0","id":1,"method":"' + b"m" * 500_000 + b'"}',
        b'{"jsonrpc":"2.0","id":1,"method":"cstp.getDeliberation","params":{"deliberationId":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"cstp.getDeliberation","params":{"deliberationId":-Infinity}}',
        b'{"jsonrpc":"2.0","id":1,"method":"cstp.getDeliberation","params":{"deliberationId":"SESSION","since":1e999}}',
        b'{"jsonrpc":"2.0","id":1,"method":"cstp.getDeliberation","params":{"deliberationId":"\\u0000"}}',
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"moot.nothing"}',
    ],
    ids=lambda body: body[:60].decode(errors="replace") if isinstance(body, bytes) else "",
)
def test_hostile_bodies_are_refused(target: Target, body: bytes) -> None:
    """D-6: deep nesting, numbers that are none, endless names."""
    head = target.local.head(target.session)
    assert target.check(target.local.post(body.replace(b"SESSION", target.session.encode())))
    target.check_alive()
    assert target.local.head(target.session) == head


def test_a_body_that_is_too_large_is_refused(target: Target) -> None:
    """D-6: 413, and the code that is documented for it."""
    found = target.local.post(
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":["' + b"x" * 16_800_000 + b'"]}'
    )
    assert found.status == 413
    assert found.json()["error"]["code"] == -32009
    target.check_alive()


def test_numbers_that_are_at_the_edge_are_answered(target: Target) -> None:
    """D-6: limits and cursors beyond any session; the session has what it had."""
    client, session = target.local, target.session
    edges: list[tuple[str, dict[str, Any]]] = [
        ("moot.getEntries", {"sessionId": session, "after": 2**63 - 1, "limit": 1000}),
        ("cstp.getDeliberation", {"deliberationId": session, "since": 10**30}),
        (
            "cstp.waitForTurn",
            {
                "deliberationId": session,
                "participant": "minski",
                "cursor": 10**30,
                "timeoutSeconds": 0,
            },
        ),
    ]
    for method, params in edges:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        target.check(client.post(json.dumps(request).encode()))
    for after in ("99999999999999", "-1", "1.5", "x", "\u0664", "\u00b2"):
        assert (
            client.get(
                f"/events/{session}", last_event_id=after.encode("utf-8").decode("latin-1")
            ).status
            == 400
        )
    target.check_alive()


def test_an_entry_beyond_any_session_is_answered(target: Target) -> None:
    """D-6: nothing lies behind it, or it is refused."""
    request = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "moot.getEntries",
        "params": {"sessionId": target.session, "after": 2**63},
    }
    target.check(target.local.post(json.dumps(request).encode()))


def test_half_characters_are_kept_out_or_put_right(target: Target) -> None:
    """D-6: a lone surrogate, escaped as JSON allows; what is stored and given back is valid text."""
    client = target.local
    session = client.opened(participants=["ada", "b\u00f6b"])
    error = client.refused(
        "cstp.contribute",
        deliberationId=session,
        participant="ada",
        type="propose",
        text="half \ud800 here",
        confidence=0.8,
    )
    assert (error.code, error.message.startswith("text: ")) == (-32602, True)
    said = {
        "type": "propose",
        "text": "half \ud800 here",
        "confidence": 0.8,
        "evidence": ["and \udfff here"],
    }
    target.check(
        client.post(
            json.dumps(_request("moot.answer", session=session, seat="ada", answer=said)).encode()
        )
    )
    json.dumps(client.read(session, participant="ada"), ensure_ascii=False).encode("utf-8")
    assert client("moot.verifySession", sessionId=session).get("fault") is None
    for method, params in (
        ("cstp.openDeliberation", {**HSM, "topic": "half \ud800"}),
        (
            "moot.openSession",
            {
                "topic": "t",
                "protocol": "debate",
                "seats": ["a", "b"],
                "settings": {"\ud800": "\ud800"},
            },
        ),
        ("cstp.createThread", {"title": "half \ud800"}),
        ("cstp.searchDecisions", {"query": "\ud800"}),
        (
            "cstp.recordDecision",
            {"agent": "a", "topic": "half \ud800", "decision": "d", "confidence": 0.5},
        ),
        ("cstp.joinDeliberation", {"deliberationId": session, "participant": "\ud800"}),
        ("cstp.getThreadStatus", {"thread": "\ud800"}),
        ("cstp.getCircuitState", {"scope": "tag:\ud800"}),
    ):
        assert target.check(
            client.post(json.dumps({**_request(method, **params), "id": "\ud800"}).encode())
        ), method
    target.check_alive()


def _request(method: str, /, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def test_any_token_but_a_real_one_is_refused(target: Target) -> None:
    """D-6: 401 and the code; nothing is done.

    Each comes from an address of its own, as a proxy tells it: of one address they would be held longer each time.
    """
    head = target.local.head(target.session)
    addresses = (f"198.18.{number // 256}.{number % 256}" for number in itertools.count())
    real = target.tokens["emerson"]
    printable = st.text(
        st.characters(min_codepoint=0x21, max_codepoint=0xFF, exclude_characters="\x7f"),
        min_size=1,
        max_size=80,
    )
    said = {"deliberationId": target.session, "type": "propose", "text": "mine", "confidence": 0.8}
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "cstp.contribute", "params": said}
    ).encode()

    @FEW
    @given(
        printable
        | st.sampled_from(
            [
                real[:-1],
                real + "x",
                real.upper(),
                "moot_",
                f"moot_{real.split('_')[1]}_",
                "a" * 5_000,
            ]
        )
    )
    def sends(token: str) -> None:
        found = target.local.post(
            body, authorization=f"Bearer {token}", x_forwarded_for=next(addresses)
        )
        if not token.strip():
            return
        assert found.status == 401, found
        assert found.json()["error"]["code"] == -32001
        assert token not in found.json()["error"]["message"] or len(token) < 8

    sends()
    for header in ("Bearer", "Bearer ", "Basic dXNlcjpwYXNz", real, f"bearer\t{real}"):
        assert (
            target.local.post(body, authorization=header, x_forwarded_for=next(addresses)).status
            == 401
        ), header
    assert target.local.head(target.session) == head
    target.check_alive()


def test_a_seats_token_with_any_values_changes_nothing_for_another_seat(target: Target) -> None:
    """D-6: whoever it names, only its own seat is ever spoken for."""
    client = target.server.client(target.tokens["minski"])

    @FEW
    @given(
        st.sampled_from(["participant", "agent", "agentId", "seat"]),
        st.sampled_from([*SEATS[::2], "USER", "stranger"])
        | WORDS.filter(lambda word: word not in {"minski", ""}),
    )
    def sends(name: str, other: str) -> None:
        said = {
            "deliberationId": target.session,
            name: other,
            "type": "propose",
            "text": "not mine",
            "confidence": 0.8,
        }
        request = {"jsonrpc": "2.0", "id": 1, "method": "cstp.contribute", "params": said}
        found = client.post(json.dumps(request).encode()).json()
        assert found["error"]["code"] in {-32001, -32602}

    head = target.local.head(target.session)
    sends()
    assert target.local.head(target.session) == head
    both = {
        "deliberationId": target.session,
        "participant": "minski",
        "agent": "emerson",
        "type": "pass",
    }
    assert client.refused("cstp.contribute", **both).code in {-32001, -32602}
    assert target.local.head(target.session) == head
