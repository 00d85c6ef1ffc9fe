"""A swarm whose explorers come from outside, over JSON-RPC: rounds, reports, sealing, losses, a server that dies."""

import re
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from tests.acceptance.doors import Cli
from tests.acceptance.server import DEADLINE, Client, Server, at_once

NAMES = ("TanWei", "SuYuan", "DongCha", "QiuSuo", "XiLi")
CACHE, BUY = "Put a cache at the edge.", "Buy faster machines."
SETTINGS = {"collisions": 0, "round_timeout": 120, "random_exploration": False}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    with Server(Cli(folder / "home", folder)) as found:
        yield found


def opened(client: Client, **changes: Any) -> str:
    plan: dict[str, Any] = {
        "task": "How do we make the catalogue fast?",
        "seats": [*NAMES],
        "seed": 7,
        "settings": SETTINGS,
        **changes,
    }
    return str(client("moot.swarmOpen", **plan)["sessionId"])


def asked(client: Client, session: str, seat: str) -> dict[str, Any]:
    found = client("moot.swarmRound", sessionId=session, seat=seat, timeoutSeconds=100)
    return dict(found)


def report(client: Client, session: str, seat: str, idea: str) -> dict[str, Any]:
    """A report that keeps the rules, made from what the agent is told alone."""
    told = re.search(r'"threshold": ([0-9.]+)', asked(client, session, seat)["ask"]["instructions"])
    assert told is not None
    own = float(told[1])
    return {
        "direction": f"way of {seat}",
        "findings": [{"coreIdea": idea, "perspective": seat}],
        "operations": [
            {"operation": "deposit_pheromone", "params": {"direction": f"way of {seat}"}}
        ],
        "decisionReport": {
            "threshold": own,
            "candidates": [],
            "selectedDirection": seat,
            "selectionReason": "r",
        },
        "conflictReview": {"conflictsFound": 0},
        "randomExploreForced": True,
    }


def takes_part(client: Client, session: str, seat: str, idea: str) -> str:
    """An agent's loop; its last status."""
    while True:
        found = asked(client, session, seat)
        if found["status"] == "ended":
            return str(found["status"])
        if found["status"] == "pending":
            continue
        said: dict[str, Any] = {"acknowledged": True}
        if found["ask"]["kind"] == "explore":
            said = report(client, session, seat, idea)
        if found["ask"]["kind"] == "ballot":
            said = {
                "votes": [
                    {"answer": 1, "position": "support", "confidence": 0.8, "reason": "It is so."}
                ]
            }
        if found["ask"]["kind"] == "synthesis":
            said = {"content": "A cache it is (finding-001), says finding-999."}
        client(
            "moot.swarmReport", sessionId=session, seat=seat, ask=found["ask"]["ask"], report=said
        )


def test_five_agents_elsewhere_converge_vote_and_go_gently(server: Server) -> None:
    """S-10, S-23, S-29, S-33."""
    client = server.local
    session = opened(client)
    ideas = dict.fromkeys(NAMES, CACHE) | {"XiLi": BUY}
    ended = at_once(
        [partial(takes_part, server.local, session, seat, ideas[seat]) for seat in NAMES]
    )
    assert set(ended) == {"ended"}
    found = client("moot.swarmStatus", sessionId=session, whole=True)
    assert (found["status"], found["endedBy"], found["converged"], found["round"]) == (
        "concluded",
        "converged",
        True,
        3,
    )
    agents = found["blackboard"]["agentStates"]
    assert {agent["terminationReason"] for agent in agents.values()} == {"graceful"}
    decision = client("moot.getSession", sessionId=session)
    assert decision["decision"] == CACHE
    assert decision["consensusType"] == "unanimous"
    standing = found["standing"]
    assert (standing["leading"]["text"], standing["converged"]) == (CACHE, True)
    assert standing["question"] == "How do we make the catalogue fast?"
    assert standing["synthesis"]["unknown"] == ["finding-999"]
    assert "## Consensus ideas" in client("moot.exportSession", sessionId=session)["text"]
    assert "<svg" in client("moot.exportSession", sessionId=session, form="html")["text"]


def test_what_others_bring_in_a_round_is_sealed_until_it_is_over(server: Server) -> None:
    """S-10, S-28: agents that could read each other in the middle of a round would not be independent."""
    client = server.local
    session = opened(client)
    asked(client, session, "TanWei")
    client(
        "moot.swarmReport",
        sessionId=session,
        seat="TanWei",
        report=report(client, session, "TanWei", "A secret idea."),
    )
    told = str(client("moot.getEntries", sessionId=session)) + str(
        client("moot.swarmStatus", sessionId=session, whole=True)
    )
    assert "A secret idea." not in told
    assert "A secret idea." not in asked(client, session, "SuYuan")["ask"]["briefing"]
    for seat in NAMES[1:]:
        client(
            "moot.swarmReport",
            sessionId=session,
            seat=seat,
            report=report(client, session, seat, CACHE),
        )
    second = asked(client, session, "SuYuan")
    assert "A secret idea." in second["ask"]["briefing"]
    assert "round_start" in second["ask"]["instructions"]
    assert "A secret idea." in str(client("moot.getEntries", sessionId=session))
    client("moot.closeSession", sessionId=session)
    assert client("moot.swarmStatus", sessionId=session).get("endedBy") in {None, "called"}


def test_an_agent_that_breaks_the_rules_is_degraded_and_terminated_at_fifteen_points(
    server: Server,
) -> None:
    """S-21, S-22: each violation is recorded with its severity and shown; below 15 points the agent is still asked."""
    client = server.local
    session = opened(client, maxRounds=5)
    outlaw, honest = NAMES[-1], NAMES[:-1]
    own: dict[str, Any] = report(client, session, outlaw, "")["decisionReport"]
    # By round: what it makes up or leaves out, what is found, and where it stands after that.
    rounds: list[tuple[dict[str, Any], list[tuple[str, str]], int, str]] = [
        (
            {"confirmedOperations": ["op-999"]},
            [("reported_operation_not_found", "MAJOR")],
            5,
            "degraded",
        ),
        (
            {"decisionReport": {**own, "selectionReason": ""}, "confirmedOperations": ["op-998"]},
            [
                ("reported_operation_not_found", "MAJOR"),
                ("decision_report_missing_selectionReason", "WARNING"),
            ],
            11,
            "degraded",
        ),
        # Who sends nothing of it is held to nothing of it (M-3, S-39).
        ({"decisionReport": None, "conflictReview": None}, [], 11, "degraded"),
        (
            {"confirmedOperations": ["op-997"]},
            [("reported_operation_not_found", "MAJOR")],
            16,
            "terminated",
        ),
    ]
    found: list[tuple[str, str]] = []
    for number, (change, violations, score, status) in enumerate(rounds, 1):
        for seat in NAMES:
            said = report(client, session, seat, f"{seat} in round {number}")
            client(
                "moot.swarmReport",
                sessionId=session,
                seat=seat,
                report={**said, **(change if seat == outlaw else {})},
            )
        asked(client, session, honest[0])
        found += violations
        agents = client("moot.swarmStatus", sessionId=session, whole=True)["blackboard"][
            "agentStates"
        ]
        assert [
            (each["violation"], each["severity"]) for each in agents[outlaw]["violations"]
        ] == found
        assert (agents[outlaw]["violationScore"], agents[outlaw]["status"]) == (score, status)
        assert {agents[seat]["violationScore"] for seat in honest} == {0}
    assert agents[outlaw]["terminationReason"] == "compliance_violation"
    late = client.refused(
        "moot.swarmReport", sessionId=session, seat=outlaw, report={"direction": "x"}
    )
    assert f"nothing is asked of '{outlaw}'" in str(late)
    client("moot.closeSession", sessionId=session)
    ended = at_once([partial(takes_part, server.local, session, seat, CACHE) for seat in honest])
    assert set(ended) == {"ended"}
    text = client("moot.exportSession", sessionId=session)["text"]
    assert f"✗ {outlaw}: reported operation not found (major) op-999" in text
    assert f"✗ {outlaw}: degraded → terminated (broke the rules too often)" in text


def test_what_an_agent_may_not_say_is_refused(server: Server) -> None:
    client = server.local
    session = opened(client)
    asked(client, session, "TanWei")
    good = report(client, session, "TanWei", CACHE)
    assert "findings" in str(
        client.refused("moot.swarmReport", sessionId=session, seat="TanWei", report={"findings": 5})
    )
    assert "no seat" in str(
        client.refused("moot.swarmReport", sessionId=session, seat="ghost", report=good)
    )
    wrong = client.refused(
        "moot.swarmReport", sessionId=session, seat="TanWei", ask="10.explore.SuYuan", report=good
    )
    assert "not put to the seat" in str(wrong)
    client("moot.swarmReport", sessionId=session, seat="TanWei", report=good, idempotencyKey="k")
    again = client(
        "moot.swarmReport", sessionId=session, seat="TanWei", report=good, idempotencyKey="k"
    )
    assert again["entry"]
    assert "nothing is asked of 'TanWei'" in str(
        client.refused("moot.swarmReport", sessionId=session, seat="TanWei", report=good)
    )
    debate = client.open()
    assert "is not a swarm" in str(client.refused("moot.swarmStatus", sessionId=debate))
    assert "hybrid" in str(
        client.refused(
            "moot.swarmOpen", task="x", seats=list(NAMES), mode="emergent", directions=["a"]
        )
    )
    assert "agents is 2" in str(
        client.refused("moot.swarmOpen", task="x", seats=list(NAMES), agents=2)
    )
    client("moot.cancelSession", sessionId=session)


def test_agents_that_never_come_are_given_up_on(server: Server) -> None:
    """S-12, S-23: the barrier's timeout holds for agents elsewhere, too; the run ends, all of them terminated."""
    client = server.local
    session = opened(
        client, settings={**SETTINGS, "round_timeout": 0.2, "recovery_seconds": 0.3}, maxRounds=3
    )
    end = time.monotonic() + DEADLINE
    while (found := client("moot.swarmStatus", sessionId=session, whole=True))[
        "status"
    ] != "concluded":
        assert time.monotonic() < end, found
        client("moot.swarmRound", sessionId=session, seat="TanWei", timeoutSeconds=0.1)
    assert found["endedBy"] == "insufficient_active_agents"
    agents = found["blackboard"]["agentStates"]
    assert {agent["status"] for agent in agents.values()} == {"terminated"}
    assert {agent["terminationReason"] for agent in agents.values()} == {"forced"}


def test_a_server_that_dies_in_a_round_goes_on_with_it(cli: Cli) -> None:
    """S-26: what was reported stays reported; nobody is asked for it again."""
    with Server(cli) as server:
        client = server.local
        session = opened(client, maxRounds=1)
        asked(client, session, "TanWei")
        for seat in NAMES[:3]:
            client(
                "moot.swarmReport",
                sessionId=session,
                seat=seat,
                report=report(client, session, seat, CACHE),
            )
        server.kill()
        server.start()
        client = server.local
        assert client("moot.swarmRound", sessionId=session, seat="TanWei")["status"] == "pending"
        for seat in NAMES[3:]:
            client.insisting(
                "moot.swarmReport",
                sessionId=session,
                seat=seat,
                report=report(client, session, seat, CACHE),
            )
        ended = at_once([partial(takes_part, server.local, session, seat, CACHE) for seat in NAMES])
        assert set(ended) == {"ended"}
        board = client("moot.swarmStatus", sessionId=session, whole=True)["blackboard"]
        assert board["operations"] == {"requested": 10, "processed": 10, "failed": 0}
