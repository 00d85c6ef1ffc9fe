"""What outlives a deliberation, over JSON-RPC: outcomes and trust, amplification, search, threads, circuit breakers."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.acceptance.doors import Cli, until
from tests.acceptance.server import SEATS, Client, Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    with Server(Cli(folder / "home", folder)) as found:
        yield found


@pytest.fixture
def client(server: Server) -> Client:
    """A client, with every circuit closed: failures count in more scopes than a test's own."""
    found = server.local
    for circuit in found("cstp.listBreakers")["breakers"]:
        found("cstp.resetCircuit", scope=circuit["scope"])
    return found


def decided(client: Client, category: str, choice: str = "HSM", **changes: Any) -> str:
    """A deliberation that chose `choice`; minski had another one at first, and two options there were."""
    session = client.open(category=category, options=["HSM", "attention"], **changes)
    firsts = {
        "emerson": choice,
        "minski": "attention" if choice == "HSM" else "HSM",
        "code-reviewer": choice,
    }
    for seat in SEATS:
        client.say(session, seat, "propose", choice=firsts[seat])
    for seat in SEATS:
        client.say(session, seat, "pass")
    client.say(session, "emerson", "synthesize", text=f"Take {choice}", choice=choice)
    for seat in client.read(session)["waitingFor"] if "protocol" not in changes else ():
        client.say(session, seat, "pass")
    for seat, confidence in zip(SEATS, (0.9, 0.6, 0.8), strict=True):
        client.vote(session, seat, confidence=confidence)
    return session


def alone(client: Client, category: str, **more: Any) -> Any:
    params = {
        "agent": "solo",
        "topic": "Which one?",
        "decision": "This one.",
        "confidence": 0.9,
        "category": category,
        **more,
    }
    return client("cstp.recordDecision", **params)


def test_a_reviewed_outcome_moves_trust_from_the_neutral_prior(client: Client) -> None:
    """D-5, D-14: up for who was sure and right, down for who was sure and wrong; more for who was surer."""
    assert client("cstp.getSourceTrust", source="nobody-yet") == {
        "source": "nobody-yet",
        "category": "",
        "trust": 0.5,
        "accuracy": 0.65,
        "cases": 0,
        "categories": [],
        "quotations": 0,
        "quotationsHeld": 0,
    }
    right = decided(client, "trusting")
    before = client("cstp.getSourceTrust", source="emerson", category="trusting")["trust"]
    client(
        "cstp.reviewDecision",
        decisionId=right,
        outcome="success",
        note="it held",
        idempotencyKey="r1",
    )
    after = {
        seat: client("cstp.getSourceTrust", source=seat, category="trusting")["trust"]
        for seat in SEATS
    }
    assert after["emerson"] > before
    assert after["emerson"] > after["code-reviewer"] > after["minski"]
    reviewed = client(
        "cstp.reviewDecision",
        decisionId=right,
        outcome="success",
        note="it held",
        idempotencyKey="r1",
    )
    assert len(reviewed["reviews"]) == 1
    wrong = decided(client, "trusting")
    client("cstp.reviewDecision", decisionId=wrong, outcome="failure")
    fallen = client("cstp.getSourceTrust", source="emerson", category="trusting")
    assert fallen["trust"] < after["emerson"]
    assert [
        (each["category"], each["cases"])
        for each in fallen["categories"]
        if each["category"] == "trusting"
    ] == [("trusting", 2)]
    listed = {source["source"]: source for source in client("cstp.listSources")["sources"]}
    assert set(SEATS) <= set(listed)
    assert listed["emerson"]["cases"] >= 2
    assert 0 <= listed["emerson"]["brier"] <= 1


def test_what_was_trusted_weighs_in_the_next_deliberation(server: Server, client: Client) -> None:
    """D-12, D-14."""
    client("cstp.reviewDecision", decisionId=decided(client, "weighing"), outcome="failure")
    opened = client(
        "cstp.openDeliberation",
        topic="Again?",
        category="weighing",
        participants=["emerson", "newcomer"],
    )
    trust = {participant["id"]: participant["trust"] for participant in opened["participants"]}
    assert trust["newcomer"] == 0.5
    assert trust["emerson"] == pytest.approx(
        client("cstp.getSourceTrust", source="emerson", category="weighing")["trust"], abs=1e-3
    )
    assert trust["emerson"] != 0.5


def test_amplification_compares_the_group_with_its_members_and_says_of_how_many(
    server: Server, client: Client
) -> None:
    """D-15: two cases with two options each; a member alone is its blind first choice."""
    client(
        "cstp.reviewDecision",
        decisionId=decided(client, "a", protocol="consensus", threshold=0.5),
        outcome="success",
    )
    client(
        "cstp.reviewDecision",
        decisionId=decided(client, "a", "attention", protocol="consensus", threshold=0.5),
        outcome="failure",
    )
    client(
        "cstp.reviewDecision",
        decisionId=decided(client, "a", protocol="consensus", threshold=0.5),
        outcome="partial",
    )
    (stats,) = [
        each
        for each in client("cstp.getAmplificationStats")["protocols"]
        if each["protocol"] == "consensus"
    ]
    assert (stats["cases"], stats["partial"]) == (3, 1)
    assert stats["group"] == stats["compared"] == {"right": 1.0, "of": 2}
    assert (stats["membersKnown"], stats["membersRight"], stats["membersUnknown"]) == (6, 3, 0)
    assert (stats["membersBlank"], stats["casesBlank"]) == (0, 0)
    assert stats["members"]["of"] == 2
    assert stats["members"]["right"] == pytest.approx(1.0)
    assert stats["amplification"] == pytest.approx(1.0)


def test_a_decision_built_on_one_that_failed_says_so(client: Client) -> None:
    """D-13, D-15: the chain, both ways."""
    basis = decided(client, "chained")
    built = decided(client, "chained", builtOn=[basis])
    on_top = alone(client, "chained", builtOn=[built])["decisionId"]
    assert client("cstp.getAmplificationChain", decisionId=on_top)["standsOnFailure"] is False
    client("cstp.reviewDecision", decisionId=basis, outcome="failure")
    chain = client("cstp.getAmplificationChain", decisionId=on_top)
    assert [(link["decisionId"], link["steps"]) for link in chain["builtOn"]] == [
        (built, 1),
        (basis, 2),
    ]
    assert (chain["failed"], chain["standsOnFailure"]) == ([basis], True)
    below = client("cstp.getAmplificationChain", decisionId=basis)
    assert [link["decisionId"] for link in below["basisOf"]] == [built, on_top]
    unknown = client.refused(
        "cstp.recordDecision",
        agent="a",
        topic="t",
        decision="d",
        confidence=0.9,
        builtOn=["nothing"],
    )
    assert (unknown.code, unknown.kind) == (-32002, "UnknownDecision")


def test_a_deliberation_built_on_nothing_known_is_refused(client: Client) -> None:
    """D-6, D-13: as a decision taken alone is."""
    error = client.refused(
        "cstp.openDeliberation", topic="t", participants=["a", "b"], builtOn=["no-such-decision"]
    )
    assert error.code == -32002


def test_decisions_are_found_by_two_chinese_characters(client: Client) -> None:
    """D-5, D-16: also by English words; a like topic is offered at the next opening."""
    topic = "是否采用分层状态机处理超长上下文？"
    session = decided(client, "zh", topic=topic)
    found = client("cstp.searchDecisions", query="分层")["decisions"]
    assert found[0]["decisionId"] == session
    assert client("cstp.searchDecisions", query="海洋")["decisions"] == []
    assert client("cstp.searchDecisions", query="分层", category="elsewhere")["decisions"] == []
    again = client("cstp.openDeliberation", topic=topic, participants=["a", "b"])
    assert session in [earlier["decisionId"] for earlier in again["earlierDecisions"]]


def test_a_thread_tells_who_comes_back_what_it_missed(server: Server, client: Client) -> None:
    """D-16: across a restart; the deliberation in it, the question left open, the visit."""
    thread = client(
        "cstp.createThread", title="Long context", category="architecture", thread="long-context"
    )["thread"]
    assert (
        client("cstp.createThread", title="Long context", thread="long-context")["thread"] == thread
    )
    assert client.refused("cstp.createThread", title="Other", thread="long-context").code == -32006
    first = client("cstp.resumeThread", thread=thread, participant="minski")
    assert first.get("lastVisit") is None
    session = decided(client, "architecture", thread=thread)
    client("cstp.askInThread", thread=thread, question="Does it hold at scale?")
    server.restart()
    status = client("cstp.getThreadStatus", thread=thread)
    assert (status["status"], [each["decisionId"] for each in status["decisions"]]) == (
        "active",
        [session],
    )
    assert [question["text"] for question in status["openQuestions"]] == ["Does it hold at scale?"]
    back = client("cstp.resumeThread", thread=thread, participant="minski")
    assert back["lastVisit"] is not None
    assert session in {missed["decisionId"] for missed in back["missed"]}
    assert "Does it hold at scale?" in {missed["text"] for missed in back["missed"]}
    assert client("cstp.resumeThread", thread=thread, participant="minski")["missed"] == []
    client("cstp.settleQuestion", thread=thread, number=1)
    client("cstp.setThreadStatus", thread=thread, status="completed", note="done")
    assert client("cstp.listThreads")["threads"][0]["status"] == "completed"
    error = client.refused("cstp.getThreadStatus", thread="nothing")
    assert (error.code, error.kind) == (-32002, "UnknownThread")


def test_who_resumes_a_thread_sees_what_is_still_deliberated_in_it(client: Client) -> None:
    """D-16: where it stands and whom it waits for, until it has ended; what was decided is in the thread itself."""
    thread = client("cstp.createThread", title="Rate limits", thread="rate-limits")["thread"]
    session = client.open(topic="How many calls may a partner make?", thread=thread)
    (running,) = client("cstp.resumeThread", thread=thread, participant="minski")["running"]
    assert (running["deliberationId"], running["status"], running["waitingFor"]) == (
        session,
        "open",
        list(SEATS),
    )
    assert running["topic"] == "How many calls may a partner make?"
    client("cstp.closeDeliberation", deliberationId=session, force=True)
    assert client("cstp.resumeThread", thread=thread, participant="minski")["running"] == []


def test_open_deliberations_and_threads_are_searched(client: Client) -> None:
    """D-5, D-16: by words and by meaning; what has ended is not among the open ones."""
    client("cstp.createThread", title="Electric vans", thread="vans")
    going = client.open(topic="Should drivers use electric vans?")
    ended = client.open(topic="Should we lease electric vans?")
    client("cstp.closeDeliberation", deliberationId=ended, force=True)
    found = client("cstp.listDeliberations", query="battery powered cars", status="open")[
        "deliberations"
    ]
    assert found[0]["deliberationId"] == going
    assert ended not in {each["deliberationId"] for each in found}
    listed = client("cstp.listDeliberations", query="electric vans")["deliberations"]
    assert {each["deliberationId"] for each in listed[:2]} == {going, ended}
    everything = client("cstp.searchDecisions", query="electric vans")
    assert [each["sessionId"] for each in everything["deliberations"]][:1] == [going]
    assert everything["threads"][0]["thread"] == "vans"
    only = client("cstp.searchDecisions", query="electric vans", within="threads")
    assert (only["decisions"], only["deliberations"], only["threads"][0]["title"]) == (
        [],
        [],
        "Electric vans",
    )
    assert client("moot.listSessions", query="electric vans")["sessions"][0]["sessionId"] in {
        going,
        ended,
    }
    assert "all" in client.refused("cstp.searchDecisions", query="x", within="everything").message


def test_a_seat_searches_trust_and_an_observer_of_one_session_does_not(
    server: Server, client: Client
) -> None:
    """D-16, D-6: a seat's token finds what others decided and how far they are trusted."""
    decision = alone(client, "vans", agent="carrier")["decisionId"]
    client("cstp.reviewDecision", decisionId=decision, outcome="success")
    session = client.open(topic="Who carries our parcels?")
    seat = server.client(server.cli.json("invite", session, "--seat", SEATS[0])["token"])
    (source,) = seat("cstp.searchDecisions", query="carrier", within="trust")["sources"]
    assert (source["source"], source["cases"]) == ("carrier", 1)
    assert seat("cstp.getSourceTrust", source="carrier")["cases"] == 1
    assert "carrier" in {each["source"] for each in seat("cstp.listSources")["sources"]}
    assert [each["right"] for each in seat("moot.getTrustHistory", source="carrier")["cases"]] == [
        1.0
    ]
    thread = client("cstp.createThread", title="Parcels", thread="parcels")["thread"]
    assert seat("cstp.getThreadStatus", thread=thread)["title"] == "Parcels"
    assert thread in {each["thread"] for each in seat("cstp.listThreads")["threads"]}
    assert ("alone", "no_vote") in {
        (each["protocol"], each["agreement"]) for each in seat("cstp.getReliability")["groups"]
    }
    assert "all sessions" in seat.refused("cstp.listDecisions").message
    watching = server.client(server.cli.json("invite", session, "--observer")["token"])
    for method, params in (
        ("cstp.getSourceTrust", {"source": "carrier"}),
        ("cstp.listThreads", {}),
        ("cstp.getReliability", {}),
    ):
        assert "only for the session" in watching.refused(method, **params).message
    assert (
        "only for the session" in watching.refused("cstp.searchDecisions", query="carrier").message
    )


def failed(client: Client, category: str, times: int) -> None:
    for number in range(times):
        decision = alone(client, category, agent=f"agent-{number}")["decisionId"]
        client("cstp.reviewDecision", decisionId=decision, outcome="failure")


def test_a_decision_alone_is_recorded_and_a_retry_counts_once(client: Client) -> None:
    """D-13, D-17."""
    first = alone(client, "alone", idempotencyKey="k")
    assert first["status"] == "recorded"
    assert alone(client, "alone", idempotencyKey="k") == first
    kept = client("cstp.getDecision", decisionId=first["decisionId"])
    assert (kept["decision"], kept["category"], kept["members"][0]["source"]) == (
        "This one.",
        "alone",
        "solo",
    )
    error = client.refused(
        "cstp.recordDecision",
        agent="solo",
        topic="Another?",
        decision="d",
        confidence=0.9,
        idempotencyKey="k",
    )
    assert (error.code, error.kind) == (-32006, "KeyReused")


def test_critical_stakes_and_little_confidence_call_for_a_deliberation(client: Client) -> None:
    """D-17: rules by stakes and by confidence; the words say which."""
    critical = alone(client, "ruled", stakes="critical")
    assert critical["status"] == "deliberation_required"
    assert critical["rules"] == ["stakes: what is critical is decided by a deliberation"]
    unsure = alone(client, "ruled", stakes="high", confidence=0.3)
    assert unsure["rules"] == ["confidence: 0.3 is below the 0.6 that high stakes need"]


def test_three_failures_open_a_circuit_and_the_deliberation_can_be_joined(
    server: Server, client: Client
) -> None:
    """D-17: nothing is recorded alone, the deliberation is open, a retry opens no second one; it survives a restart."""
    failed(client, "architecture", 3)
    assert client("cstp.getCircuitState", scope="category:architecture")["state"] == "open"
    required = alone(
        client, "architecture", idempotencyKey="again", participants=["minski", "code-reviewer"]
    )
    assert (required["status"], required.get("decisionId")) == ("deliberation_required", None)
    assert "category:architecture" in required["openCircuits"]
    assert required["participants"] == ["solo", "minski", "code-reviewer"]
    session = required["deliberationId"]
    assert (
        alone(
            client, "architecture", idempotencyKey="again", participants=["minski", "code-reviewer"]
        )
        == required
    )
    server.kill()
    server.start()
    assert client("cstp.getCircuitState", scope="category:architecture")["state"] == "open"
    listed = [
        line["deliberationId"]
        for line in client("cstp.listDeliberations", status="open")["deliberations"]
    ]
    assert listed.count(session) == 1
    joined = client("cstp.joinDeliberation", deliberationId=session, participant="minski")
    assert (joined["status"], joined["ask"]["phase"]) == ("your_turn", "propose")
    for seat in required["participants"]:
        client.say(session, seat, "propose")
    for seat in required["participants"]:
        client.say(session, seat, "pass")
    client.say(session, "solo", "synthesize", text="That one.")
    for seat in required["participants"]:
        client.vote(session, seat)
    assert client.read(session)["result"]["decision"] == "That one."
    reset = client("cstp.resetCircuit", scope="category:architecture", note="mended")
    assert (reset["state"], reset["failures"]) == ("closed", 0)
    server.restart()
    assert client("cstp.getCircuitState", scope="category:architecture")["state"] == "closed"


def test_after_the_cooldown_one_probe_may_go_and_its_outcome_decides(
    server: Server, client: Client
) -> None:
    """D-17: half-open; a second one must wait; a probe that holds closes the circuit, one that fails opens it anew."""
    server.cli("breakers", "policy", "--cooldown", "1s", "--failures", "3")
    failed(client, "probed", 3)
    assert client("cstp.listBreakers")["policy"]["cooldownSeconds"] == 1.0
    until(lambda: client("cstp.getCircuitState", scope="category:probed")["state"] == "half_open")
    until(
        lambda: (
            {each["state"] for each in client("cstp.listBreakers")["breakers"]}
            <= {"half_open", "closed"}
        )
    )
    probe = alone(client, "probed")
    assert probe["status"] == "recorded"
    assert "category:probed" in probe["probeFor"]
    assert (
        client("cstp.getCircuitState", scope="category:probed")["probe"]["decisionId"]
        == probe["decisionId"]
    )
    assert alone(client, "probed", agent="second")["status"] == "deliberation_required"
    client("cstp.reviewDecision", decisionId=probe["decisionId"], outcome="failure")
    until(lambda: client("cstp.getCircuitState", scope="category:probed")["state"] == "half_open")
    until(
        lambda: (
            {each["state"] for each in client("cstp.listBreakers")["breakers"]}
            <= {"half_open", "closed"}
        )
    )
    second = alone(client, "probed", agent="third")
    assert second["status"] == "recorded"
    client("cstp.reviewDecision", decisionId=second["decisionId"], outcome="success")
    circuit = client("cstp.getCircuitState", scope="category:probed")
    assert (circuit["state"], circuit["failures"]) == ("closed", 0)
    assert alone(client, "probed", agent="fourth")["status"] == "recorded"
    server.cli("breakers", "policy", "--cooldown", "1h")


def test_a_call_with_unusable_participants_changes_nothing(client: Client) -> None:
    """D-6, D-17: the key is not used up by a call that was refused."""
    given = {
        "agent": "solo",
        "decision": "d",
        "confidence": 0.9,
        "stakes": "critical",
        "idempotencyKey": "unused",
    }
    assert (
        client.refused("cstp.recordDecision", topic="One?", participants=["no such!"], **given).code
        == -32602
    )
    assert (
        client("cstp.recordDecision", topic="Another?", **given)["status"]
        == "deliberation_required"
    )


def test_a_review_of_what_is_unknown_or_contradicts_itself_is_refused(client: Client) -> None:
    """D-6."""
    unknown = client.refused("cstp.reviewDecision", decisionId="nothing", outcome="success")
    assert (unknown.code, unknown.kind) == (-32002, "UnknownDecision")
    session = decided(client, "refused")
    wrong = client.refused(
        "cstp.reviewDecision", decisionId=session, outcome="success", choice="attention"
    )
    assert (wrong.code, wrong.kind) == (-32602, "BadSetting")
    assert (
        client.refused("cstp.reviewDecision", decisionId=session, outcome="splendid").code == -32602
    )
    assert client.refused("cstp.getCircuitState", scope="nonsense").code == -32602
    assert client("cstp.getDecision", decisionId=session)["reviews"] == []


def test_what_the_description_allows_is_taken(client: Client) -> None:
    """D-6, D-14: a model's platform may be long, a key too."""
    assert alone(client, "long", idempotencyKey="k" * 100)["status"] == "recorded"
    assert alone(client, "long", agent="openai:" + "m" * 93)["status"] == "recorded"
