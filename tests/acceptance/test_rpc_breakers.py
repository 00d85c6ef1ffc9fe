"""D-17 over JSON-RPC: asking, deciding and being refused alone, agents' tokens, policy, and keys that bind."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.acceptance.doors import Cli
from tests.acceptance.server import Client, Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    with Server(Cli(folder / "home", folder)) as found:
        yield found


def agent(server: Server, name: str) -> Client:
    """A client with the token of an agent of that name."""
    return server.client(server.cli.json("invite", "--agent", name)["token"])


def decide(client: Client, **more: Any) -> Any:
    return client(
        "cstp.recordDecision",
        **{"topic": "Which one?", "decision": "This one.", "confidence": 0.9, **more},
    )


def fail(server: Server, client: Client, category: str, times: int = 3) -> None:
    for _ in range(times):
        decision = decide(client, category=category)["decisionId"]
        server.local("cstp.reviewDecision", decisionId=decision, outcome="failure")


def test_an_agent_that_fails_is_stopped_and_nobody_else(server: Server) -> None:
    """D-17: its own scope opens, the category, the stakes and the global one stay closed."""
    ada, bob = agent(server, "ada"), agent(server, "bob")
    fail(server, ada, "scoped")
    states = {one["scope"]: one["state"] for one in ada("cstp.listBreakers")["breakers"]}
    assert (states["agent:ada"], states["category:scoped"], states["global"]) == (
        "open",
        "closed",
        "closed",
    )
    assert ada("cstp.mayDecideAlone", confidence=0.9, category="scoped")["openCircuits"] == [
        "agent:ada"
    ]
    assert bob("cstp.mayDecideAlone", confidence=0.9, category="scoped")["allowed"] is True
    assert decide(bob, category="scoped")["status"] == "recorded"


def test_asking_records_nothing_and_says_what_deciding_would_answer(server: Server) -> None:
    """D-17: neither a decision, nor a deliberation, nor an entry of the register."""
    ask = agent(server, "asker")
    before = (
        server.local("moot.listSessions"),
        server.local("cstp.listDecisions"),
        server.cli.json("verify"),
    )
    asked = ask("cstp.mayDecideAlone", confidence=0.9, stakes="critical")
    assert (asked["allowed"], asked["rules"]) == (
        False,
        ["stakes: what is critical is decided by a deliberation"],
    )
    assert ask("cstp.mayDecideAlone", confidence=0.9)["allowed"] is True
    assert before == (
        server.local("moot.listSessions"),
        server.local("cstp.listDecisions"),
        server.cli.json("verify"),
    )
    assert decide(ask, stakes="critical")["rules"] == asked["rules"]
    assert server.local.refused("cstp.mayDecideAlone", confidence=0.9).code == -32001
    assert ask.refused("cstp.mayDecideAlone", confidence=1.5).code == -32602


def test_the_refused_decision_is_the_first_proposal_and_is_not_asked_for_again(
    server: Server,
) -> None:
    """D-17: blind as every proposal; reviewers by their trust in the category, never one that failed; a retry changes nothing."""
    local = server.local
    good, bad = agent(server, "good"), agent(server, "bad")
    other, late = agent(server, "other"), agent(server, "late")
    for client, category in ((good, "reviewed"), (good, "reviewed"), (other, "elsewhere")):
        local(
            "cstp.reviewDecision",
            decisionId=decide(client, category=category)["decisionId"],
            outcome="success",
        )
    fail(server, bad, "reviewed")
    assert bad("cstp.mayDecideAlone", confidence=0.9, category="reviewed")["reviewers"][0] == "good"
    given = {
        "decision": "Use LRU",
        "category": "reviewed",
        "confidence": 0.7,
        "idempotencyKey": "once",
    }
    required = decide(bad, **given)
    session = required["deliberationId"]
    assert required["status"] == "deliberation_required"
    assert (required["participants"][0], required["reviewers"][0]) == ("bad", "good")
    assert "ada" not in required["participants"], "ada failed herself"
    assert decide(bad, **given) == required
    own = bad.read(session)["contributions"]
    assert [
        (line["participant"], line["type"], line["text"], line["confidence"]) for line in own
    ] == [("bad", "propose", "Use LRU", 0.7)]
    assert good.read(session)["contributions"] == [], "sealed until all have written"
    assert bad("cstp.joinDeliberation", deliberationId=session)["status"] == "pending"
    assert "bad" not in bad.read(session)["waitingFor"]
    assert good("cstp.joinDeliberation", deliberationId=session)["ask"]["phase"] == "propose"
    assert (
        good.refused("cstp.contribute", deliberationId=session, participant="bad", type="pass").code
        == -32001
    )
    assert late.refused("cstp.contribute", deliberationId=session, type="pass").code == -32004
    error = local.refused(
        "cstp.recordDecision",
        agent="x",
        topic="t",
        decision="d",
        confidence=1,
        stakes="critical",
        participants=["bad"],
    )
    assert (error.code, error.kind) == (-32602, "BadRoster")


def test_where_no_reviewer_is_known_the_answer_says_so(server: Server) -> None:
    """D-17: a seat is held free, and the words say who fills it."""
    with Server(Cli(server.cli.home.parent / "empty", server.cli.home.parent)) as lonely:
        found = decide(lonely.local, agent="reviewer", stakes="critical")
    assert (found["participants"], found["reviewers"]) == (["reviewer", "reviewer-2"], [])
    assert "No reviewer with a record is known" in found["note"]
    assert f"moot invite {found['deliberationId']} --seat reviewer-2" in found["note"]


def test_who_records_decisions_neither_resets_nor_judges_nor_speaks_for_others(
    server: Server,
) -> None:
    """D-17: an agent's token."""
    client = agent(server, "humble")
    made = decide(client)["decisionId"]
    calls: list[tuple[str, dict[str, Any], str]] = [
        ("cstp.resetCircuit", {"scope": "agent:humble"}, "an owner's token"),
        ("cstp.setPolicy", {"failures": 1_000}, "an owner's token"),
        ("cstp.reviewDecision", {"decisionId": made, "outcome": "success"}, "an owner's token"),
        ("cstp.openDeliberation", {"topic": "t", "participants": ["a", "b"]}, "an owner's token"),
        (
            "cstp.recordDecision",
            {"agent": "bob", "topic": "t", "decision": "d", "confidence": 1},
            "only for the agent 'humble'",
        ),
        ("cstp.mayDecideAlone", {"agent": "bob", "confidence": 1}, "only for the agent 'humble'"),
        (
            "cstp.recordDecision",
            {"topic": "t", "decision": "d", "confidence": 1, "participants": ["friend"]},
            "does not choose its own reviewers",
        ),
    ]
    for method, params, told in calls:
        error = client.refused(method, **params)
        assert (error.code, error.kind) == (-32001, "NotAllowed"), (method, error)
        assert told in error.message
    assert client("cstp.getDecision", decisionId=made)["reviews"] == []
    assert client("cstp.getPolicy") == server.local("cstp.getPolicy")


def test_the_policy_is_read_set_in_part_and_validated(server: Server) -> None:
    """D-17: category rules bind at once; what is left out stays."""
    local, client = server.local, agent(server, "ruled")
    before = local("cstp.getPolicy")
    after = local(
        "cstp.setPolicy",
        deliberateCategories=["Vault"],
        categoryConfidence=[{"category": "payments", "minConfidence": 0.95}],
        idempotencyKey="p1",
    )
    assert after == {
        **before,
        "deliberateCategories": ["Vault"],
        "categoryConfidence": [{"category": "payments", "minConfidence": 0.95}],
    }
    assert client("cstp.mayDecideAlone", confidence=1, category="VAULT")["allowed"] is False
    assert client("cstp.mayDecideAlone", confidence=0.94, category="payments")["rules"] == [
        "confidence: 0.94 is below the 0.95 that the category 'payments' needs"
    ]
    for wrong in (
        {"failures": 0},
        {"scopeSources": 1},
        {"deliberateStakes": ["enormous"]},
        {"windowSeconds": -1},
        {"other": 1},
    ):
        assert local.refused("cstp.setPolicy", **wrong).code == -32602
    assert local("cstp.listBreakers")["policy"] == after
    assert local("cstp.setPolicy", deliberateCategories=[], categoryConfidence=[]) == before


KEYED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "cstp.recordDecision",
        {"agent": "k", "topic": "t", "decision": "d", "confidence": 0.9},
        {"decision": "e"},
    ),
    (
        "cstp.recordDecision",
        {"agent": "k2", "topic": "t", "decision": "d", "confidence": 0.9},
        {"confidence": 0.8},
    ),
    (
        "cstp.recordDecision",
        {
            "agent": "k3",
            "topic": "t",
            "decision": "d",
            "confidence": 0.9,
            "stakes": "critical",
            "participants": ["p"],
        },
        {"participants": ["q"]},
    ),
    ("cstp.createThread", {"title": "One"}, {"title": "Two"}),
    ("cstp.askInThread", {"thread": "keyed", "question": "Why?"}, {"question": "How?"}),
    ("cstp.settleQuestion", {"thread": "keyed", "number": 1}, {"number": 2}),
    ("cstp.setThreadStatus", {"thread": "keyed", "status": "active"}, {"status": "paused"}),
    ("cstp.resumeThread", {"thread": "keyed", "participant": "minski"}, {"thread": "other"}),
    ("cstp.reviewDecision", {"decisionId": "", "outcome": "partial"}, {"note": "more"}),
    ("cstp.setPolicy", {"probeSeconds": 4_000}, {"probeSeconds": 5_000}),
    ("cstp.resetCircuit", {"scope": "tag:nothing"}, {"scope": "tag:else"}),
    ("cstp.openDeliberation", {"topic": "t", "participants": ["a", "b"]}, {"topic": "u"}),
    ("cstp.closeDeliberation", {"deliberationId": "", "force": True}, {"force": False}),
    ("moot.giveInput", {"sessionId": "", "text": "Mind the cost."}, {"text": "Mind the time."}),
]


@pytest.mark.parametrize(
    ("method", "params", "other"), KEYED, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_key_counts_once_and_is_refused_with_other_words(
    server: Server, method: str, params: dict[str, Any], other: dict[str, Any]
) -> None:
    """D-6, D-17: also where the write changes nothing; another caller's key is its own."""
    local = server.local
    local("cstp.createThread", title="Keyed", thread="keyed")
    local("cstp.createThread", title="Other", thread="other")
    local("cstp.askInThread", thread="keyed", question="First?")
    local("cstp.askInThread", thread="keyed", question="Second?")
    if "deliberationId" in params:
        params = {**params, "deliberationId": local.open()}
    if "decisionId" in params:
        kept = local(
            "cstp.recordDecision", agent="reviewed", topic="t", decision="d", confidence=0.9
        )
        params = {**params, "decisionId": kept["decisionId"]}
    if "sessionId" in params:
        opened = local(
            "moot.openSession", topic="t", protocol="persona", seats=["ada", "bob"], language="en"
        )
        params = {**params, "sessionId": opened["sessionId"]}
    key = {"idempotencyKey": "the key"}
    first = local(method, **params, **key)
    size = (
        local("cstp.listDecisions", limit=1_000),
        local("cstp.listThreads"),
        len(local("moot.listSessions", limit=1_000)),
    )
    again = local(method, **params, **key)
    if method not in {"cstp.openDeliberation", "moot.giveInput"}:
        assert again == first
    error = local.refused(method, **{**params, **other}, **key)
    assert (error.code, error.kind) == (-32006, "KeyReused")
    assert size == (
        local("cstp.listDecisions", limit=1_000),
        local("cstp.listThreads"),
        len(local("moot.listSessions", limit=1_000)),
    )
    if (
        "agent" not in params
        and "participant" not in params
        and not {"deliberationId", "sessionId"} & set(params)
    ):
        owner = server.client(server.cli.json("invite", "--owner")["token"])
        owner(method, **{**params, **other}, **key)
