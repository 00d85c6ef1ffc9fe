"""Who may do what over the wire: tokens, roles, hosts, origins, rates."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.acceptance.doors import DEADLINE, Cli, until
from tests.acceptance.server import HSM, Client, Server

from moothall.surfaces.api.method import RateLimiter
from moothall.surfaces.http.app import build_app


@dataclass(frozen=True, slots=True)
class Guarded:
    """A server on the loopback address with two sessions, and a token of each kind."""

    server: Server
    session: str
    other: str
    secrets: dict[str, str]

    def __getattr__(self, name: str) -> Client:
        """A client with the token of this name."""
        return self.server.client(self.secrets[name])


def issued(cli: Cli, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = cli.json("invite", *words)
    return found


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("served")
    cli = Cli(folder / "home", folder)
    with Server(cli, "--log-level", "debug") as server:
        session, other = server.local.opened(), server.local.opened()
        secrets = {
            "minski": issued(cli, session, "--seat", "minski")["token"],
            "emerson": issued(cli, session, "--seat", "emerson")["token"],
            "owner": issued(cli, "--owner")["token"],
            "bound_owner": issued(cli, session, "--owner")["token"],
            "observer": issued(cli, "--observer")["token"],
            "bound_observer": issued(cli, session, "--observer")["token"],
        }
        yield Guarded(server, session, other, secrets)


def check_refused(client: Client, method: str, told: str, /, **params: Any) -> None:
    error = client.refused(method, **params)
    assert (error.code, error.kind) == (-32001, "NotAllowed"), error
    assert told in error.message, error


SAID = {"type": "propose", "text": "words", "confidence": 0.8}


def test_a_seats_token_speaks_for_its_seat_alone(guarded: Guarded) -> None:
    """D-6: not for another seat, not in another session; left out, the seat is its own."""
    local, session, other = guarded.server.local, guarded.session, guarded.other
    heads = local.head(session), local.head(other)
    minski = guarded.minski
    check_refused(
        minski,
        "cstp.contribute",
        "only for the seat 'minski'",
        deliberationId=session,
        participant="emerson",
        **SAID,
    )
    check_refused(minski, "cstp.contribute", "only for the session", deliberationId=other, **SAID)
    check_refused(
        minski,
        "cstp.contribute",
        "only for the session",
        deliberationId=other,
        participant="minski",
        **SAID,
    )
    for method in ("cstp.waitForTurn", "cstp.joinDeliberation"):
        check_refused(
            minski,
            method,
            "only for the seat 'minski'",
            deliberationId=session,
            participant="emerson",
        )
        check_refused(minski, method, "only for the session", deliberationId=other)
    check_refused(
        minski, "moot.getAsks", "only for the seat 'minski'", sessionId=session, seat="emerson"
    )
    check_refused(
        minski,
        "moot.answer",
        "only for the seat 'minski'",
        sessionId=session,
        seat="emerson",
        answer={"type": "pass"},
    )
    ask = "1.propose.emerson"
    check_refused(
        minski,
        "moot.answer",
        "not put to the seat",
        sessionId=session,
        ask=ask,
        answer={"type": "pass"},
    )
    assert (local.head(session), local.head(other)) == heads
    assert [each["seat"] for each in minski("moot.getAsks", sessionId=session)["asks"]] == [
        "minski"
    ]
    own = local.opened()
    secret = issued(guarded.server.cli, own, "--seat", "minski")["token"]
    said = guarded.server.client(secret)("cstp.contribute", deliberationId=own, **SAID)
    assert (said["id"], said["waitingFor"]) == (2, ["emerson", "code-reviewer"])


def test_a_seats_token_opens_closes_and_reviews_nothing(guarded: Guarded) -> None:
    """D-6: nor records, resets, cancels or gives input."""
    local, session = guarded.server.local, guarded.session
    head, listed = local.head(session), local("moot.listSessions")
    minski = guarded.minski
    calls: list[tuple[str, dict[str, Any]]] = [
        ("cstp.openDeliberation", dict(HSM)),
        ("cstp.closeDeliberation", {"deliberationId": session, "force": True}),
        ("cstp.reviewDecision", {"decisionId": session, "outcome": "success"}),
        ("cstp.createThread", {"title": "t"}),
        ("cstp.resetCircuit", {"scope": "global"}),
        ("cstp.setPolicy", {"failures": 9}),
        ("moot.openSession", {"topic": "t", "protocol": "debate", "seats": ["a", "b"]}),
        ("moot.closeSession", {"sessionId": session}),
        ("moot.cancelSession", {"sessionId": session}),
        ("moot.giveInput", {"sessionId": session, "text": "t"}),
        ("moot.groupAnswers", {"sessionId": session, "answers": ["a", "b"]}),
    ]
    for method, params in calls:
        check_refused(minski, method, "an owner's token; yours is a seat's", **params)
    alone = {"agent": "minski", "topic": "t", "decision": "d", "confidence": 0.9}
    check_refused(
        minski,
        "cstp.recordDecision",
        "needs an agent's, a recorder's or an owner's token; yours is a seat's",
        **alone,
    )
    check_refused(
        minski, "cstp.getDeliberation", "only for the session", deliberationId=guarded.other
    )
    for method in (
        "moot.getSession",
        "moot.getEntries",
        "moot.exportSession",
        "moot.verifySession",
    ):
        check_refused(minski, method, "only for the session", sessionId=guarded.other)
    # D-16: a seat may look into memory; it does not learn which other sessions go on.
    assert minski("cstp.searchDecisions", query="HSM")["deliberations"] == []
    assert minski.get(f"/events/{guarded.other}").status in {403, 404}
    assert (local.head(session), local("moot.listSessions")) == (head, listed)
    assert [line["sessionId"] for line in minski("moot.listSessions")["sessions"]] == [session]


def test_an_observer_reads_and_nothing_else(guarded: Guarded) -> None:
    """D-6: all sessions, or the one that its token is for."""
    local, session = guarded.server.local, guarded.session
    head = local.head(session)
    assert guarded.observer.read(session)["deliberationId"] == session
    assert guarded.bound_observer("moot.getSession", sessionId=session)["status"] == "thinking"
    check_refused(
        guarded.bound_observer,
        "cstp.getDeliberation",
        "only for the session",
        deliberationId=guarded.other,
    )
    for client in (guarded.observer, guarded.bound_observer):
        check_refused(
            client,
            "cstp.contribute",
            "yours is an observer's",
            deliberationId=session,
            participant="minski",
            **SAID,
        )
        check_refused(
            client,
            "cstp.waitForTurn",
            "yours is an observer's",
            deliberationId=session,
            participant="minski",
        )
        check_refused(
            client, "cstp.closeDeliberation", "yours is an observer's", deliberationId=session
        )
        check_refused(client, "cstp.openDeliberation", "yours is an observer's", **HSM)
        check_refused(client, "moot.exportSession", "own machine", sessionId=session, form="jsonl")
    assert local.head(session) == head


def test_an_owner_opens_speaks_and_closes(guarded: Guarded) -> None:
    """D-1, D-3: one that is bound to a session there alone, and opens none."""
    owner, bound = guarded.owner, guarded.bound_owner
    session = owner.open(idempotencyKey="owned")
    assert guarded.server.local.open(idempotencyKey="owned") != session, "a key is its caller's own"
    owner.say(session, "minski", "propose")
    check_refused(
        bound, "cstp.closeDeliberation", "only for the session", deliberationId=session, force=True
    )
    check_refused(bound, "cstp.openDeliberation", "needs a token for all sessions", **HSM)
    check_refused(
        bound,
        "cstp.reviewDecision",
        "needs a token for all sessions",
        decisionId=session,
        outcome="success",
    )
    assert (
        owner("cstp.closeDeliberation", deliberationId=session, force=True)["endedBy"] == "called"
    )
    assert (
        "nothing to review"
        in owner.refused("cstp.reviewDecision", decisionId=session, outcome="failure").message
    )


@pytest.mark.parametrize(
    "platform",
    ["script:/etc/hostname", "human", "embedded", "openai:gpt-5@http://169.254.169.254/"],
)
def test_a_token_gives_no_seat_to_what_reaches_into_the_servers_machine(
    guarded: Guarded, platform: str
) -> None:
    """D-6: files, people and addresses of the server's own."""
    participants = [{"id": "ada", "platform": platform}, "bob"]
    error = guarded.owner.refused("cstp.openDeliberation", **{**HSM, "participants": participants})
    assert (error.code, error.kind) == (-32602, "BadRoster")
    assert "only on the server's own machine" in error.message
    error = guarded.owner.refused(
        "moot.openSession", topic="t", protocol="debate", seats=participants
    )
    assert (error.code, error.kind) == (-32602, "BadRoster")


def test_expired_and_revoked_tokens_are_refused_with_words_that_say_which(guarded: Guarded) -> None:
    """D-6: 401, and the challenge that HTTP asks for."""
    cli, server = guarded.server.cli, guarded.server
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "moot.listProtocols"}).encode()
    revoked, expired = issued(cli, "--owner"), issued(cli, "--owner", "--lasts", "1s")
    assert server.client(revoked["token"]).post(body).status == 200
    cli("invite", "--revoke", revoked["tokenId"])
    found = server.client(revoked["token"]).post(body)
    assert (found.status, found.json()["error"]["message"]) == (401, "the token was revoked")
    assert found.headers["www-authenticate"].startswith("Bearer")
    until(lambda: server.client(expired["token"]).post(body).status == 401)
    error = server.client(expired["token"]).post(body).json()["error"]
    assert (
        error["code"],
        error["message"].startswith("the token has expired; ask whoever runs the server"),
    ) == (-32001, True)
    unknown = server.client(f"{expired['token']}x").post(body).json()["error"]["message"]
    assert unknown == "the token is unknown"
    assert server.client(revoked["token"]).get(f"/events/{guarded.session}").status == 401


def test_a_token_is_nowhere_in_clear(guarded: Guarded) -> None:
    """D-6: not in the ledger, not in the log at its most talkative, not in what is exported."""
    server = guarded.server
    for name in guarded.secrets:
        getattr(guarded, name)("moot.listProtocols")
    with guarded.minski.events(guarded.session) as stream:
        stream.entries(2)
    files = [path for path in Path(server.cli.home).rglob("*") if path.is_file()]
    assert files
    stored = b"".join(path.read_bytes() for path in files)
    seen = (
        server.logged()
        + server.local.get("/metrics").body.decode()
        + server.cli("invite", "--list", "--json").out
    )
    for secret in guarded.secrets.values():
        assert secret.encode() not in stored
        assert secret.split("_", 2)[2].encode() not in stored
        assert secret not in seen
        assert secret.split("_", 2)[2] not in seen


def test_an_observer_that_names_a_seat_reads_nothing_sealed(guarded: Guarded) -> None:
    """D-19: what is sealed is open to its author alone."""
    session = guarded.server.local.opened()
    guarded.server.local.say(session, "emerson", "propose", text="my secret plan")
    assert guarded.observer.read(session, participant="emerson")["contributions"] == []


# Doors


def test_pages_of_other_sites_and_other_names_are_refused(guarded: Guarded) -> None:
    """D-6: cross-site requests and DNS rebinding; nothing is opened by them."""
    local = guarded.server.local
    before = local("moot.listSessions")
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "cstp.openDeliberation", "params": dict(HSM)}
    ).encode()
    assert local.post(body, origin="https://evil.example").status == 403
    assert local.post(body, origin="null").status == 403
    assert local.post(body, origin="http://127.0.0.1:1").status == 403
    assert local.post(body, sec_fetch_site="cross-site").status == 403
    assert local.post(body, host="evil.example").status == 421
    assert local.post(body, host="evil.example:80", origin="http://evil.example:80").status == 421
    assert local.post(body, host="127.0.0.1.evil.example").status == 421
    assert local.post(body, content_type="text/plain").status == 415
    assert local.post(body, content_type="application/x-www-form-urlencoded").status == 415
    assert local.get(f"/events/{guarded.session}", origin="https://evil.example").status == 403
    assert local.get("/healthz", host="evil.example").status == 421
    assert local("moot.listSessions") == before
    assert local.post(body, origin=f"http://{local.address}").status == 200
    port = local.address.rpartition(":")[2]
    assert local.get("/healthz", host=f"localhost:{port}").status == 200


def test_an_address_that_others_reach_is_not_served_without_a_token(cli: Cli) -> None:
    """D-6: exit code 2 and a sentence; with a token it starts, and nobody comes in without."""
    done = cli("serve", "--host", "0.0.0.0", "--port", "0", code=2)
    assert done.out == ""
    assert done.err.startswith(
        "moot: 0.0.0.0 can be reached from other machines, and no valid token exists"
    )
    assert "moot invite --owner" in done.err
    revoked = issued(cli, "--owner")
    cli("invite", "--revoke", revoked["tokenId"])
    cli("serve", "--host", "0.0.0.0", "--port", "0", code=2)
    secret = issued(cli, "--owner")["token"]
    with Server(cli, "--host", "0.0.0.0") as server:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "moot.listProtocols"}).encode()
        found = server.nobody.post(body)
        assert (found.status, found.json()["error"]["code"]) == (401, -32001)
        assert "Authorization: Bearer TOKEN" in found.json()["error"]["message"]
        for path in ("/metrics", "/openrpc.json", "/events/any"):
            assert server.nobody.get(path).status == 401
        assert server.nobody.get("/healthz").status == 200
        owner = server.client(secret)
        assert owner.open()
        assert owner.get("/metrics").status == 200
        assert server.client(revoked["token"]).post(body).status == 401


def test_a_port_that_is_taken_is_refused_with_a_sentence(cli: Cli) -> None:
    """D-6: code 1, the world's."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = cli("serve", "--port", port, code=1)
    assert f"127.0.0.1:{port} cannot be bound" in done.err


class _Stopped:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def served(
    cli: Cli, rates: RateLimiter, work: Callable[[httpx2.AsyncClient], Awaitable[None]]
) -> None:
    """Work on an app in this process."""

    async def within() -> None:
        app = build_app(cli.moot(), is_local=True, rates=rates)
        async with asyncio.timeout(DEADLINE), app.router.lifespan_context(app):
            transport = httpx2.ASGITransport(app=app)
            owner = {"Authorization": f"Bearer {cli.key}"}
            async with httpx2.AsyncClient(
                transport=transport, base_url="http://127.0.0.1", headers=owner
            ) as client:
                await work(client)

    asyncio.run(within())


def test_over_the_rate_calls_are_refused_until_time_has_passed(cli: Cli) -> None:
    """D-6: 429 with Retry-After; each caller has its own measure, and health is not measured."""
    secret = issued(cli, "--owner")["token"]
    clock = _Stopped()
    body = {"jsonrpc": "2.0", "id": 1, "method": "moot.listProtocols"}

    async def work(client: httpx2.AsyncClient) -> None:
        assert [(await client.post("/rpc", json=body)).status_code for _ in range(4)] == [
            200,
            200,
            200,
            429,
        ]
        refused = await client.post("/rpc", json=body)
        assert refused.headers["retry-after"] == "1"
        assert refused.json()["error"]["code"] == -32009
        assert (await client.get("/healthz")).status_code == 200
        other = {"Authorization": f"Bearer {secret}"}
        assert (await client.post("/rpc", json=body, headers=other)).status_code == 200
        clock.now += 1.0
        assert [(await client.post("/rpc", json=body)).status_code for _ in range(2)] == [200, 429]

    served(cli, RateLimiter(1.0, 3.0, clock), work)
