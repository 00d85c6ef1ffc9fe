"""Deliberations over JSON-RPC: participants in processes of their own, across restarts, and what is refused on the way."""

import json
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import Cli, facts, write_script
from tests.acceptance.server import (
    CONDITION,
    DEADLINE,
    HSM,
    SEATS,
    STEPS,
    Client,
    Event,
    Participant,
    Server,
    at_once,
    thrown,
)

VOTES = {
    "emerson": ("support", 0.85),
    "minski": ("support", 0.80),
    "code-reviewer": ("conditional_support", 0.70),
}
DECIDED = "HSM for parallel + attention fallback"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that stays up for all tests of this file."""
    folder = tmp_path_factory.mktemp("served")
    with Server(Cli(folder / "home", folder)) as found:
        yield found


def check_result(result: dict[str, Any]) -> None:
    """It has the shape and the outcome of the source's."""
    assert result["decision"] == DECIDED
    assert isinstance(result["confidence"], float)
    assert 0.5 < result["confidence"] < 1
    assert result["consensusType"] == "convergent"
    votes = {
        seat: (vote["position"], vote["confidence"])
        for seat, vote in result["participantVotes"].items()
    }
    assert votes == VOTES
    assert all(isinstance(text, str) for text in result["dissent"])
    assert CONDITION in result["dissent"]
    assert result["participantVotes"]["code-reviewer"]["condition"] == CONDITION


def spoken(read: dict[str, Any]) -> list[tuple[str, str]]:
    return [(line["participant"], line["type"]) for line in read["contributions"]]


# The three protocols


def test_three_processes_hold_the_sources_deliberation_in_its_plain_order(server: Server) -> None:
    """D-1, D-2, D-3, D-7, D-11: seven steps, no passes, each call by the participant's own process."""
    with ExitStack() as stack:
        processes = {seat: stack.enter_context(Participant(server)) for seat in SEATS}
        opened = processes["emerson"]("cstp.openDeliberation", **HSM)
        session = opened["deliberationId"]
        assert (opened["status"], opened["phase"], opened["waitingFor"]) == (
            "open",
            "propose",
            list(SEATS),
        )
        for seat, words in STEPS:
            processes[seat]("cstp.contribute", deliberationId=session, participant=seat, **words)
        result = processes["emerson"]("cstp.closeDeliberation", deliberationId=session)
        read = processes["minski"]("cstp.getDeliberation", deliberationId=session)
    check_result(result)
    assert read["status"] == "closed"
    assert read["result"] == result
    by_number = sorted(read["contributions"], key=lambda line: line["id"])
    assert [(line["participant"], line["type"]) for line in by_number] == [
        (seat, words["type"]) for seat, words in STEPS
    ]
    assert [line["id"] for line in by_number] == list(range(2, 9))


def test_the_history_stands_in_the_order_in_which_it_was_said(server: Server) -> None:
    """D-4, D-13: the source's example, read back."""
    session = server.local.held()
    assert spoken(server.local.read(session)) == [(seat, words["type"]) for seat, words in STEPS]


def test_three_processes_that_wait_for_their_turns_come_to_the_sources_result(
    server: Server,
) -> None:
    """D-2, D-5, D-7: everyone has a turn in each phase; who has nothing to say passes; each reads each line once."""
    session = server.local.open()
    skips = {"type": "pass"}
    words = {seat: {"vote": [step]} for seat, step in STEPS if step["type"] == "vote"}
    said = {step["type"]: step for _, step in STEPS}
    plan: dict[str, dict[str, list[Any]]] = {
        "emerson": {
            "propose": [said["propose"]],
            "argue": [skips],
            "answer": [skips],
            "synthesize": [said["synthesize"]],
        },
        "minski": {"propose": [skips], "argue": [said["support"]], "synthesize": [skips]},
        "code-reviewer": {"propose": [skips], "argue": [said["challenge"]], "synthesize": [skips]},
    }
    with ExitStack() as stack:
        processes = [
            stack.enter_context(
                Participant.looping(server, session, seat, {**plan[seat], **words[seat]})
            )
            for seat in SEATS
        ]
        ends = [process.ended() for process in processes]
    for end in ends:
        check_result(end["result"])
        assert sorted(line["id"] for line in end["read"]) == list(range(2, 9))
    silences = server.local.read(session)["silences"]
    assert {(silence["participant"], silence["phase"], silence["why"]) for silence in silences} == {
        ("emerson", "argue", "passed"),
        ("emerson", "answer", "passed"),
        ("minski", "propose", "passed"),
        ("minski", "synthesize", "passed"),
        ("code-reviewer", "propose", "passed"),
        ("code-reviewer", "synthesize", "passed"),
    }


def test_an_owner_hears_advice_and_decides_and_says_how_each_was_taken(server: Server) -> None:
    """D-8: advisory_panel."""
    client = server.local
    session = client.open(protocol="advisory_panel", owner="minski")
    client.say(session, "minski", "propose", text="Adopt HSM")
    for seat in ("emerson", "code-reviewer"):
        client.say(session, seat, "pass")
    for seat in ("emerson", "code-reviewer"):
        client.say(session, seat, "challenge", text=f"{seat} warns", refersTo=2)
    head = client.head(session)
    decision = {"text": "Adopt HSM after a pilot", "confidence": 0.9}
    error = client.refused(
        "cstp.contribute",
        deliberationId=session,
        participant="minski",
        type="synthesize",
        taken=[{"entry": 3, "how": "adopted"}],
        **decision,
    )
    assert (error.code, error.kind) == (-32602, "BadAnswer")
    assert "leaves out the advice in line 4" in error.message
    assert client.head(session) == head
    taken = [
        {"entry": 3, "how": "adopted"},
        {"entry": 4, "how": "declined", "why": "measured already"},
    ]
    said = client.say(session, "minski", "synthesize", taken=taken, **decision)
    assert said["status"] == "closed"
    result = client("cstp.closeDeliberation", deliberationId=session)
    assert (result["decision"], result["consensusType"], result["endedBy"]) == (
        "Adopt HSM after a pilot",
        "owner_decision",
        "decided",
    )
    read = client.read(session)
    assert [(each["id"], each["state"]) for each in read["challenges"]] == [
        (3, "accepted"),
        (4, "answered"),
    ]
    assert [each["how"] for each in read["contributions"][-1]["taken"]] == ["adopted", "declined"]


def agree(client: Client, session: str, number: int, confidences: Sequence[float]) -> None:
    """One synthesis by whoever is asked, and a vote of all."""
    (turn,) = client.read(session)["waitingFor"]
    client.say(session, turn, "synthesize", text=f"draft {number}")
    for seat, confidence in zip(SEATS, confidences, strict=True):
        client.vote(session, seat, confidence=confidence)


def test_objections_go_back_for_another_synthesis_until_all_agree(server: Server) -> None:
    """D-9: consensus reaches its threshold in the second round."""
    client = server.local
    session = client.open(protocol="consensus", threshold=0.75)
    for seat in SEATS:
        client.say(session, seat, "propose")
    for seat in SEATS:
        client.say(session, seat, "pass")
    agree(client, session, 1, (0.9, 0.9, 0.6))
    read = client.read(session)
    assert (read["status"], read["round"], read["phase"]) == ("open", 2, "synthesize")
    agree(client, session, 2, (0.9, 0.8, 0.75))
    result = client("cstp.closeDeliberation", deliberationId=session)
    assert (result["decision"], result["consensusType"]) == ("draft 2", "unanimous")
    lines = client.read(session)["contributions"]
    assert [
        (line["round"], line["participant"]) for line in lines if line["type"] == "synthesize"
    ] == [
        (1, "emerson"),
        (2, "minski"),
    ]


def test_what_cannot_be_agreed_on_closes_with_the_positions_as_they_stand(server: Server) -> None:
    """D-9, D-11, D-12: consensus at its round limit; the objection is listed with who raised it."""
    client = server.local
    session = client.open(protocol="consensus", rounds=1)
    for seat in SEATS:
        client.say(session, seat, "propose")
    for seat in SEATS:
        client.say(session, seat, "pass")
    client.say(session, "emerson", "synthesize")
    client.vote(session, "emerson")
    client.vote(session, "minski")
    client.vote(session, "code-reviewer", "oppose", text="It was never tried.")
    result = client.read(session)["result"]
    assert result.get("decision") is None
    assert result["consensusType"] == "no_consensus"
    assert {seat: vote["position"] for seat, vote in result["participantVotes"].items()} == {
        "emerson": "support",
        "minski": "support",
        "code-reviewer": "oppose",
    }
    assert ("code-reviewer", "It was never tried.") in [
        (each["participant"], each["text"]) for each in result["dissentDetails"]
    ]


def test_a_scripted_participant_and_two_from_outside_decide_together(
    server: Server, tmp_path: Path
) -> None:
    """D-1, D-7: what Moot asks and what comes in by calls is one deliberation."""
    platform = write_script(
        tmp_path / "emerson.toml",
        {
            "emerson": {
                "propose": [{"type": "propose", "text": "Adopt HSM", "confidence": 0.8}],
                "argue": [{"type": "support", "text": "It is fast", "confidence": 0.8}],
                "synthesize": [
                    {"type": "synthesize", "text": "Adopt HSM, carefully", "confidence": 0.8}
                ],
                "vote": [{"type": "vote", "position": "support", "confidence": 0.8}],
            }
        },
    )
    client = server.local
    session = client.open(
        participants=[{"id": "emerson", "platform": platform}, "minski", "code-reviewer"]
    )
    words = {
        "propose": [{"type": "pass"}],
        "argue": [{"type": "pass"}],
        "synthesize": [{"type": "pass"}],
    }
    vote = {"vote": [{"type": "vote", "position": "support", "confidence": 0.8}]}
    with ExitStack() as stack:
        ends = [
            stack.enter_context(Participant.looping(server, session, seat, {**words, **vote}))
            for seat in ("minski", "code-reviewer")
        ]
        results = [end.ended()["result"] for end in ends]
    assert results[0] == results[1]
    assert (results[0]["decision"], results[0]["consensusType"]) == (
        "Adopt HSM, carefully",
        "unanimous",
    )
    error = client.refused(
        "cstp.contribute", deliberationId=session, participant="emerson", type="vote"
    )
    assert (error.code, error.kind) == (-32004, "UnknownSeat")
    assert "nobody else may speak for it" in error.message


def test_a_deliberation_is_listed_and_found_by_who_sits_in_it(server: Server) -> None:
    """D-5: list open and closed ones."""
    client = server.local
    mine = client.open(participants=["ada", "bob"])
    done = client.held()
    listed = client("cstp.listDeliberations", participant="ada", status="open")["deliberations"]
    assert [line["deliberationId"] for line in listed] == [mine]
    closed = [
        line["deliberationId"]
        for line in client("cstp.listDeliberations", status="closed")["deliberations"]
    ]
    assert done in closed
    assert mine not in closed


def test_a_close_before_any_vote_is_refused_unless_forced(server: Server) -> None:
    """D-3, D-6: with force it closes with what there is."""
    client = server.local
    session = client.open()
    client.say(session, "emerson", "propose")
    head = client.head(session)
    error = client.refused("cstp.closeDeliberation", deliberationId=session)
    assert (error.code, error.kind) == (-32003, "OutOfTurn")
    assert "no vote has been cast" in error.message
    assert client.head(session) == head
    result = client("cstp.closeDeliberation", deliberationId=session, force=True)
    assert (result["consensusType"], result["endedBy"], result["missing"]) == (
        "no_consensus",
        "called",
        list(SEATS),
    )
    assert client("cstp.closeDeliberation", deliberationId=session, force=True) == result


def test_a_close_in_the_vote_counts_the_votes_there_are(server: Server) -> None:
    """D-3, D-12: who did not vote is named."""
    client = server.local
    session = client.open()
    for seat, words in STEPS[:4]:
        client("cstp.contribute", deliberationId=session, participant=seat, **words)
    client.say(session, "minski", "pass")
    client.say(session, "code-reviewer", "pass")
    for seat, words in STEPS[4:6]:
        client("cstp.contribute", deliberationId=session, participant=seat, **words)
    result = client("cstp.closeDeliberation", deliberationId=session)
    assert (result["decision"], result["consensusType"], result["missing"]) == (
        DECIDED,
        "convergent",
        ["code-reviewer"],
    )
    assert "Did not vote: code-reviewer." in result["note"]


def test_a_close_counts_votes_that_came_before_the_vote_was_begun(server: Server) -> None:
    """D-3, D-12: the plain order of the source, in which the last participant stays away; the others' votes stand."""
    client = server.local
    session = client.open()
    for seat, words in STEPS[:-1]:
        client("cstp.contribute", deliberationId=session, participant=seat, **words)
    result = client("cstp.closeDeliberation", deliberationId=session, force=True)
    assert {seat: vote["position"] for seat, vote in result["participantVotes"].items()} == {
        "emerson": "support",
        "minski": "support",
    }
    assert (result["decision"], result["missing"]) == (DECIDED, ["code-reviewer"])


def test_a_cancelled_deliberation_cannot_be_closed_with_a_result(server: Server) -> None:
    """D-6: the code says that the session has ended."""
    client = server.local
    session = client.open()
    client("moot.cancelSession", sessionId=session, reason="asked the wrong question")
    assert client.refused("cstp.closeDeliberation", deliberationId=session).code == -32005


# Across processes and restarts


def test_one_trace_across_a_restart_and_the_command_line(server: Server) -> None:
    """D-13, D-16: opened over the wire, gone on with after a restart, also by `moot answer`, closed over the wire."""
    session = server.local.open()
    server.local.say(session, "emerson", "propose", text="Adopt HSM")
    server.restart()
    with Participant(server) as minski:
        minski("cstp.contribute", deliberationId=session, participant="minski", **STEPS[1][1])
    server.cli("answer", session, json.dumps(STEPS[2][1]), "--seat", "code-reviewer")
    assert server.local.read(session)["phase"] == "argue"
    server.kill()
    server.cli("answer", session, '{"type": "pass"}', "--seat", "emerson")
    server.start()
    for seat, words in STEPS[3:]:
        server.local("cstp.contribute", deliberationId=session, participant=seat, **words)
    result = server.local("cstp.closeDeliberation", deliberationId=session)
    assert (result["decision"], result["consensusType"]) == (DECIDED, "convergent")
    assert server.cli.verify(session) == {session: None}
    server.cli("replay", session)
    record = facts(server.cli("export", session, "jsonl").out)
    said = [
        (fact["seat"], fact["said"]["type"])
        for fact in record
        if fact["fact"] == "council.contributed"
    ]
    steps = [(seat, words["type"]) for seat, words in STEPS]
    assert said == [*steps[:3], ("emerson", "pass"), *steps[3:]]


def test_a_participant_that_was_waiting_when_the_other_answered_by_the_command_line_gets_its_turn(
    server: Server,
) -> None:
    """D-5, D-16: what another process writes wakes who waits at the server."""
    client = server.local
    session = client.open()
    client.say(session, "emerson", "propose")
    client.say(session, "minski", "pass")
    cursor = client.read(session)["cursor"]
    with thrown(
        [
            lambda: client(
                "cstp.waitForTurn",
                deliberationId=session,
                participant="emerson",
                cursor=cursor,
                timeoutSeconds=100,
            )
        ]
    ) as (waiting,):
        server.cli("answer", session, '{"type": "pass"}', "--seat", "code-reviewer")
        turn = waiting.result(timeout=DEADLINE)
    assert (turn["status"], turn["ask"]["phase"]) == ("your_turn", "argue")


def test_who_comes_back_gets_what_it_missed(server: Server) -> None:
    """D-5, D-16: without a cursor since its own last words but one, with one since then; the briefing has it all."""
    client = server.local
    session = client.open()
    for seat in SEATS:
        client.say(session, seat, "propose", text=f"{seat}'s plan")
    first = client(
        "cstp.waitForTurn", deliberationId=session, participant="emerson", timeoutSeconds=100
    )
    assert [line["text"] for line in first["new"]] == ["minski's plan", "code-reviewer's plan"]
    client.say(session, "emerson", "support", text="mine is best", refersTo=2)
    client.say(session, "minski", "challenge", text="too dear", refersTo=2)
    server.restart()
    client.say(session, "code-reviewer", "challenge", text="too slow", refersTo=2)
    back = client(
        "cstp.waitForTurn", deliberationId=session, participant="emerson", timeoutSeconds=100
    )
    assert back["status"] == "your_turn"
    assert back["ask"]["phase"] == "answer"
    assert [line["text"] for line in back["new"]] == [
        "minski's plan",
        "code-reviewer's plan",
        "too dear",
        "too slow",
    ]
    assert all(
        text in back["ask"]["briefing"]
        for text in ("emerson's plan", "minski's plan", "too dear", "too slow")
    )
    since = client(
        "cstp.waitForTurn",
        deliberationId=session,
        participant="emerson",
        cursor=first["cursor"],
        timeoutSeconds=100,
    )
    assert [line["text"] for line in since["new"]] == ["mine is best", "too dear", "too slow"]
    joined = client("cstp.joinDeliberation", deliberationId=session, participant="emerson")
    assert len(joined["new"]) == 6
    assert joined["ask"] == back["ask"]


def test_what_was_said_ahead_while_sealed_is_new_once_it_is_revealed(server: Server) -> None:
    """D-16, D-19: minski supports before the proposals are opened; emerson's cursor is behind that entry."""
    client = server.local
    session = client.open()
    client.say(session, "emerson", "propose")
    client.say(session, "minski", "support", text="MIT data supports this")
    before = client(
        "cstp.waitForTurn",
        deliberationId=session,
        participant="emerson",
        cursor=0,
        timeoutSeconds=0,
    )
    assert [line["participant"] for line in before["new"]] == ["emerson"]
    client.say(session, "code-reviewer", "challenge", text="No production benchmarks")
    after = client(
        "cstp.waitForTurn",
        deliberationId=session,
        participant="emerson",
        cursor=before["cursor"],
        timeoutSeconds=100,
    )
    assert [line["text"] for line in after["new"]] == [
        "MIT data supports this",
        "No production benchmarks",
    ]


def test_pages_of_the_history_leave_nothing_out(server: Server) -> None:
    """D-4: blind proposals come to light at one entry; a page may end among them."""
    client = server.local
    session = client.open()
    for seat in SEATS:
        client.say(session, seat, "propose")
    found, since = [], 0
    while True:
        page = client.read(session, since=since, limit=2)
        found += [line["participant"] for line in page["contributions"]]
        if page.get("nextSince") is None:
            break
        since = page["nextSince"]
    assert found == list(SEATS)


def test_the_history_since_an_entry_is_what_came_behind_it(server: Server) -> None:
    """D-4: a cursor from before gives the rest, and nothing twice."""
    client = server.local
    session = client.open(blind=False)
    client.say(session, "emerson", "propose")
    cursor = client.read(session)["cursor"]
    client.say(session, "minski", "propose")
    client.say(session, "code-reviewer", "propose")
    assert spoken(client.read(session, since=cursor)) == [
        ("minski", "propose"),
        ("code-reviewer", "propose"),
    ]
    page = client.read(session, limit=1)
    assert spoken(page) == [("emerson", "propose")]
    assert spoken(client.read(session, since=page["nextSince"])) == [
        ("minski", "propose"),
        ("code-reviewer", "propose"),
    ]


# What is refused


def test_a_refused_contribution_says_what_was_expected_and_changes_nothing(server: Server) -> None:
    """D-6: wrong order, wrong participant, malformed values, unknown lines; code and words."""
    client = server.local
    session = client.opened()
    words = {"text": "words", "confidence": 0.8}
    cases: list[tuple[dict[str, Any], int, str]] = [
        (
            {"type": "vote", "position": "support", "confidence": 0.8},
            -32003,
            "'vote' is not allowed in the phase 'propose'",
        ),
        ({"type": "synthesize", **words}, -32003, "expected of 'emerson' now: propose, pass"),
        ({"type": "support", **words}, -32003, "waiting for: emerson, minski, code-reviewer"),
        (
            {"type": "propose", "participant": "stranger", **words},
            -32004,
            "the seats are: emerson, minski, code-reviewer",
        ),
        (
            {"type": "propose", "participant": "no such!", **words},
            -32602,
            "may hold letters and digits",
        ),
        (
            {"type": "propose", "deliberationId": "nothing", **words},
            -32002,
            "no session is called 'nothing'",
        ),
        (
            {"type": "propose", "deliberationId": "../etc", **words},
            -32602,
            "must have 1 to 80 ASCII letters",
        ),
        ({"type": "propose", "text": "", "confidence": 0.8}, -32602, "a propose needs a text"),
        (
            {"type": "propose", "text": "words", "confidence": 1.5},
            -32602,
            "confidence: Input should be less than or equal to 1",
        ),
        ({"type": "propose", "text": "words", "confidence": "very"}, -32602, "confidence"),
        (
            {"type": "propose", "position": "support", **words},
            -32602,
            "a position belongs to a vote",
        ),
        (
            {"type": "propose", "refersTo": 17, **words},
            -32602,
            "line 17 does not exist; the lines are 1 to 1",
        ),
        (
            {"type": "propose", "answers": [1], **words},
            -32602,
            "line 1 is no challenge; the challenges are: none",
        ),
        (
            {"type": "shout", **words},
            -32602,
            "'propose', 'support', 'challenge', 'synthesize', 'vote' or 'pass'",
        ),
        (
            {"type": "propose", "loud": True, **words},
            -32602,
            "loud does not belong to the parameters",
        ),
        ({**words}, -32602, "type is missing"),
        (
            {"type": "propose", "text": "x" * 20_001, "confidence": 0.8},
            -32602,
            "text has 20001 characters; at most 20000 are kept",
        ),
    ]
    head = client.head(session)
    for given, code, told in cases:
        error = client.refused(
            "cstp.contribute", **{"deliberationId": session, "participant": "emerson", **given}
        )
        assert (error.code, told in error.message) == (code, True), (given, str(error))
    assert client.head(session) == head
    nobody = client.refused("cstp.contribute", deliberationId=session, type="propose", **words)
    assert (nobody.code, "'participant' is missing" in nobody.message) == (-32001, True)
    assert client.head(session) == head


def test_a_refused_vote_says_what_it_needs_and_changes_nothing(server: Server) -> None:
    """D-2, D-6"""
    client = server.local
    session = client.open()
    for seat, words in STEPS[:4]:
        client("cstp.contribute", deliberationId=session, participant=seat, **words)
    head = client.head(session)
    cases: list[tuple[dict[str, Any], str]] = [
        (
            {"confidence": 0.8},
            "a vote needs a position: support, conditional_support, oppose or abstain",
        ),
        ({"position": "support", "confidence": "perhaps"}, "confidence"),
        (
            {"position": "support", "confidence": 0.8, "movedBy": 99},
            "line 99 does not exist; the lines are 1 to 5",
        ),
        (
            {"position": "maybe", "confidence": 0.8},
            "'support', 'conditional_support', 'oppose' or 'abstain'",
        ),
    ]
    for given, told in cases:
        error = client.refused(
            "cstp.contribute", deliberationId=session, participant="minski", type="vote", **given
        )
        assert (error.code, told in error.message) == (-32602, True), (given, str(error))
    assert client.head(session) == head
    assert client.vote(session, "minski", "abstain", confidence=0.0)["status"] == "open"


def test_a_confidence_that_was_not_stated_stays_unstated(server: Server) -> None:
    """D-2, M-2: a proposal and a vote without one are taken, and nothing is invented for them."""
    client = server.local
    session = client.open()
    for seat, words in STEPS[:4]:
        given = {name: value for name, value in words.items() if name != "confidence"}
        client("cstp.contribute", deliberationId=session, participant=seat, **given)
    client(
        "cstp.contribute",
        deliberationId=session,
        participant="minski",
        type="vote",
        position="support",
    )
    read = client.read(session, participant="minski")
    assert [line.get("confidence") for line in read["contributions"]] == [None] * 5


def test_a_closed_deliberation_takes_nothing_more(server: Server) -> None:
    """D-6: contributing, giving input and cancelling are refused; its result stands."""
    client = server.local
    session = client.held()
    head, result = client.head(session), client.read(session)["result"]
    for method, params in (
        (
            "cstp.contribute",
            {
                "deliberationId": session,
                "participant": "minski",
                "type": "vote",
                "position": "abstain",
            },
        ),
        ("moot.giveInput", {"sessionId": session, "text": "one more thing"}),
        ("moot.cancelSession", {"sessionId": session}),
        ("moot.closeSession", {"sessionId": session}),
    ):
        error = client.refused(method, **params)
        assert (error.code, error.kind) == (-32005, "SessionClosed"), error
        assert "has ended" in error.message
    assert client.head(session) == head
    turn = client("cstp.waitForTurn", deliberationId=session, participant="minski")
    assert (turn["status"], turn["result"]) == ("closed", result)


def test_ending_and_resuming_a_session_with_a_key_counts_once(server: Server) -> None:
    """D-6: a caller that did not hear the answer repeats the call; other words under the same key are refused."""
    client = server.local
    for method, words in (
        ("moot.closeSession", {}),
        ("moot.cancelSession", {"reason": "wrong question"}),
    ):
        session, other = client.opened(), client.opened()
        first = client(method, sessionId=session, **words, idempotencyKey=f"end {session}")
        head = client.head(session)
        again = [
            client(method, sessionId=session, **words, idempotencyKey=f"end {session}")
            for _ in range(2)
        ]
        assert (again, client.head(session)) == ([first, first], head)
        error = client.refused(method, sessionId=other, **words, idempotencyKey=f"end {session}")
        assert (error.code, error.kind) == (-32006, "KeyReused")
        assert (
            client.refused(method, sessionId=session, **words, idempotencyKey="another").kind
            == "SessionClosed"
        )
        # What was refused has not used its key up.
        assert client(method, sessionId=other, **words, idempotencyKey=f"end {other}")["entry"]
    session = client.opened()
    swap = {
        "sessionId": session,
        "swaps": {"minski": "mailbox"},
        "idempotencyKey": f"swap {session}",
    }
    client("moot.resumeSession", **swap)
    head = client.head(session)
    client("moot.resumeSession", **swap)
    assert client.head(session) == head


def test_openings_that_make_no_sense_are_refused(server: Server) -> None:
    """D-1, D-6: the words say what was expected; no session comes of it."""
    client = server.local
    before = len(client("moot.listSessions", limit=1000)["sessions"])
    cases: list[tuple[dict[str, Any], str]] = [
        ({"topic": "   "}, "topic is empty"),
        ({"participants": ["one"]}, "participants: List should have at least 2 items"),
        ({"participants": ["twin", "twin"]}, "twin"),
        ({"participants": ["USER", "bob"]}, "reserved"),
        ({"participants": [f"s{number}" for number in range(65)]}, "at most 64 items"),
        ({"protocol": "shouting"}, "known: advisory, consensus, consultation, debate"),
        ({"stakes": "enormous"}, "'low', 'medium', 'high' or 'critical'"),
        ({"protocol": "consensus", "threshold": 1.2}, "threshold"),
        ({"threshold": 0.9}, "threshold"),
        ({"protocol": "advisory_panel", "owner": "nobody"}, "is not a seat"),
        ({"rounds": 0}, "rounds"),
        ({"patienceSeconds": 0}, "patienceSeconds"),
    ]
    for given, told in cases:
        error = client.refused("cstp.openDeliberation", **{**HSM, **given})
        assert (error.code, told in error.message) == (-32602, True), (given, str(error))
    unknown = client.refused("cstp.openDeliberation", **{**HSM, "thread": "no-such"})
    assert (unknown.code, unknown.kind) == (-32002, "UnknownThread")
    assert len(client("moot.listSessions", limit=1000)["sessions"]) == before


# Counted once


def test_a_later_vote_replaces_an_earlier_one_and_both_are_on_record(server: Server) -> None:
    """D-2, D-13."""
    client = server.local
    session = client.open()
    for seat, words in STEPS[:6]:
        client("cstp.contribute", deliberationId=session, participant=seat, **words)
    client.vote(session, "minski", "oppose", 0.9, text="I have looked again.", movedBy=4)
    seat, words = STEPS[6]
    client("cstp.contribute", deliberationId=session, participant=seat, **words)
    read = client.read(session)
    votes = read["result"]["participantVotes"]
    assert (votes["minski"]["position"], votes["minski"]["movedBy"]) == ("oppose", 4)
    cast = [
        (line["participant"], line["position"])
        for line in read["contributions"]
        if line["type"] == "vote"
    ]
    assert cast == [
        ("emerson", "support"),
        ("minski", "support"),
        ("minski", "oppose"),
        ("code-reviewer", "conditional_support"),
    ]
    assert read["result"]["consensusType"] in {"majority", "contested", "no_consensus"}


def test_the_same_key_with_other_words_is_refused(server: Server) -> None:
    """D-6: also for openings; the same words again are found, before and after the end."""
    client = server.local
    opened = client("cstp.openDeliberation", idempotencyKey="open me", **HSM)
    session = opened["deliberationId"]
    assert client.open(idempotencyKey="open me") == session
    error = client.refused(
        "cstp.openDeliberation", **{**HSM, "topic": "Something else?", "idempotencyKey": "open me"}
    )
    assert (error.code, error.kind) == (-32006, "KeyReused")
    first = client.say(session, "emerson", "propose", text="one", idempotencyKey="k")
    head = client.head(session)
    assert (
        client.say(session, "emerson", "propose", text="one", idempotencyKey="k")["entry"]
        == first["entry"]
    )
    error = client.refused(
        "cstp.contribute",
        deliberationId=session,
        participant="emerson",
        type="propose",
        text="other",
        confidence=0.8,
        idempotencyKey="k",
    )
    assert (error.code, error.kind) == (-32006, "KeyReused")
    assert f"entry {first['entry']}" in error.message
    assert client.head(session) == head
    assert (
        client.say(session, "minski", "propose", text="another's key", idempotencyKey="k")["entry"]
        > first["entry"]
    )
    client("cstp.closeDeliberation", deliberationId=session, force=True)
    assert (
        client.say(session, "emerson", "propose", text="one", idempotencyKey="k")["entry"]
        == first["entry"]
    )


def test_the_same_key_with_other_participants_is_refused(server: Server) -> None:
    """D-6: a caller that asked for other participants is not handed a deliberation that they have no seat in."""
    client = server.local
    client.open(idempotencyKey="who sits here")
    changed = {
        **HSM,
        "participants": ["ada", "bob"],
        "protocol": "consensus",
        "idempotencyKey": "who sits here",
    }
    assert client.refused("cstp.openDeliberation", **changed).code == -32006


def test_the_same_words_without_a_key_are_counted_once(server: Server) -> None:
    """D-2: a retry after an answer that was lost on the way; the last vote also after it has closed the session."""
    client = server.local
    session = client.open()
    for seat, words in STEPS:
        first = client("cstp.contribute", deliberationId=session, participant=seat, **words)
        head = client.head(session)
        again = client("cstp.contribute", deliberationId=session, participant=seat, **words)
        assert (again["entry"], again["id"]) == (first["entry"], first["id"])
        assert client.head(session) == head
    assert len(client.read(session)["contributions"]) == len(STEPS)


def test_the_same_words_without_a_key_at_once_are_counted_once(server: Server) -> None:
    """D-2: an impatient client that sends again before the first answer has come; often enough to meet itself."""
    client = server.local
    for _ in range(8):
        session = client.opened()
        at_once([partial(client.say, session, "emerson", "propose", text="Adopt HSM")] * 20)
        assert spoken(client.read(session, participant="emerson")) == [("emerson", "propose")]


def test_a_stranger_has_no_turn_in_a_closed_deliberation_either(server: Server) -> None:
    """D-6: -32004, before and after the end."""
    client = server.local
    session = client.open()
    for _ in range(2):
        assert (
            client.refused("cstp.waitForTurn", deliberationId=session, participant="stranger").code
            == -32004
        )
        client("cstp.closeDeliberation", deliberationId=session, force=True)


# How it stops, what it counts


@dataclass(frozen=True, slots=True)
class Stopped:
    """What came of a server that was told to stop while three clients waited and one watched."""

    code: int
    log: str
    answers: list[str]
    waiting_for: list[str]
    stream: list[Event]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    folder = tmp_path_factory.mktemp("stopped")
    with Server(Cli(folder / "home", folder)) as server:
        client = server.local
        session = client.opened()
        client.say(session, "emerson", "propose")

        def waits() -> str:
            try:
                params = {
                    "deliberationId": session,
                    "participant": "emerson",
                    "timeoutSeconds": 300,
                }
                return str(client("cstp.waitForTurn", **params)["status"])
            except Exception as error:
                return type(error).__name__

        with thrown([waits, waits, waits]) as waiting, client.events(session) as stream:
            seen = stream.entries(3)
            # The three calls have come, however busy the machine is.
            ends = time.monotonic() + DEADLINE
            while b"\nmoot_calls_open 3.0" not in client.get("/metrics").body:
                assert time.monotonic() < ends, "the calls have not come"
                time.sleep(0.05)
            code = server.stop()
            answers = [each.result(timeout=DEADLINE) for each in waiting]
        log = server.logged()
        server.start()
        return Stopped(code, log, answers, client.read(session)["waitingFor"], seen)


def test_a_server_told_to_stop_ends_although_clients_wait(stopped: Stopped) -> None:
    """D-16: SIGTERM; nobody is told of a turn that is none, and the next server goes on where this one was."""
    assert stopped.code in {0, 130, -signal.SIGTERM}
    assert "your_turn" not in stopped.answers
    assert stopped.waiting_for == ["minski", "code-reviewer"]
    assert [event.id for event in stopped.stream] == [1, 2, 3]


def test_who_waits_when_the_server_stops_is_answered_and_no_fault_is_logged(
    stopped: Stopped,
) -> None:
    """D-5, D-6: nothing yet, call again."""
    assert "Traceback" not in stopped.log
    assert stopped.answers == ["pending"] * 3


def test_calls_are_counted_by_method_and_outcome(server: Server) -> None:
    """D-5: /metrics, for whoever runs the server."""
    client = server.local

    def counted() -> dict[str, float]:
        lines = client.get("/metrics").body.decode().splitlines()
        return {
            line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
            for line in lines
            if line.startswith("moot_")
        }

    before = counted()
    session = client.open()
    client.say(session, "emerson", "propose")
    client.refused("cstp.contribute", deliberationId="nothing", participant="emerson", type="pass")
    client.refused("made.up")
    after = counted()
    more = {
        name: after[name] - before.get(name, 0)
        for name in after
        if name.startswith(("moot_calls_total", "moot_call_seconds_count"))
    }
    assert {name: number for name, number in more.items() if number} == {
        'moot_calls_total{method="cstp.openDeliberation",outcome="ok"}': 1,
        'moot_calls_total{method="cstp.contribute",outcome="ok"}': 1,
        'moot_calls_total{method="cstp.contribute",outcome="-32002"}': 1,
        'moot_calls_total{method="unknown",outcome="-32601"}': 1,
        'moot_call_seconds_count{method="cstp.openDeliberation"}': 1,
        'moot_call_seconds_count{method="cstp.contribute"}': 2,
        'moot_call_seconds_count{method="unknown"}': 1,
    }
