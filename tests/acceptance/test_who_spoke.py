"""Who spoke: through which door, for whom, and what that means for trust (M-12); what lists say of a session (M-9)."""

import getpass
import json
from collections.abc import Iterator

import pytest
from tests.acceptance.doors import Cli
from tests.acceptance.server import SEATS, Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    with Server(Cli(folder / "home", folder)) as found:
        yield found


def test_an_entry_names_its_door_and_an_owner_who_speaks_for_another_is_marked_and_not_trusted(
    server: Server,
) -> None:
    """M-12: a token's id and never its secret; the owner's words for an invited seat are no forecast of that seat."""
    local, cli = server.local, server.cli
    session = local.open(category="doors")
    invited = cli.json("invite", session, "--seat", "minski")
    minski = server.client(invited["token"])
    for seat in ("emerson", "code-reviewer"):
        local.say(session, seat, "propose", choice="HSM")
    minski(
        "cstp.contribute",
        deliberationId=session,
        type="propose",
        text="HSM too",
        choice="HSM",
        confidence=0.8,
    )
    for seat in SEATS:
        local.say(session, seat, "pass")
    local.say(session, "emerson", "synthesize", text="Take HSM", choice="HSM")
    for seat in local.read(session)["waitingFor"]:
        local.say(session, seat, "pass")
    for seat in SEATS:
        local.vote(session, seat, confidence=0.9)
    lines = {
        (line["participant"], line["type"]): line.get("via")
        for line in local.read(session)["contributions"]
    }
    assert lines["emerson", "propose"] == "local"
    assert lines["minski", "propose"] == f"token:{invited['tokenId']}"
    assert lines["minski", "vote"] == "owner:local"
    assert lines["emerson", "vote"] == "local"
    entries = local("moot.getEntries", sessionId=session)["entries"]
    assert {entry["what"]["origin"] for entry in entries if "origin" in entry["what"]} == {
        "local",
        "owner:local",
        f"token:{invited['tokenId']}",
    }
    record = (
        cli("export", session, "jsonl").out
        + cli("show", session).out
        + cli("export", session, "html").out
    )
    assert invited["token"] not in record
    assert "spoken by the owner for this seat" in cli("show", session).out
    assert "spoken by the owner for this seat" in cli("export", session, "html").out
    assert f"with the token {invited['tokenId']}" in cli("show", session, "--report").out
    local("cstp.reviewDecision", decisionId=session, outcome="failure")
    assert local("cstp.getSourceTrust", source="minski")["cases"] == 0
    assert local("cstp.getSourceTrust", source="emerson")["cases"] == 1


def test_the_result_and_every_list_say_what_was_decided_and_what_it_is_worth(
    server: Server,
) -> None:
    """M-9, T-1: the same words on JSON-RPC, in lists, in decision memory and in the terminal; running and cancelled are told apart."""
    local, cli = server.local, server.cli
    session, other, gone = (
        local.held(topic="Which architecture?"),
        local.opened(topic="And now?"),
        local.open(topic="Never mind?"),
    )
    local("moot.cancelSession", sessionId=gone)
    result = local.read(session)["result"]
    assert (result["choice"], result["strength"]) == (
        "HSM for parallel + attention fallback",
        "fair",
    )
    listed = {each["sessionId"]: each for each in local("moot.listSessions")["sessions"]}
    assert (listed[session]["standing"], listed[session]["strength"]) == ("decided", "fair")
    assert listed[session]["choice"] == result["choice"]
    assert listed[other]["standing"] == "waiting"
    assert listed[gone]["standing"] == "cancelled"
    found = {
        each["deliberationId"]: each for each in local("cstp.listDeliberations")["deliberations"]
    }
    assert (found[session]["standing"], found[session]["choice"]) == ("decided", result["choice"])
    assert local("moot.getSession", sessionId=session)["strength"] == "fair"
    memo = local("moot.getSession", sessionId=session)["memo"]
    assert memo["result"].endswith(f"{result['choice']}.")
    assert memo["reservations"]
    kept = next(
        each for each in local("cstp.listDecisions")["decisions"] if each["decisionId"] == session
    )
    assert kept["strength"] == "fair"
    lines = {line.split("\t")[0]: line.split("\t") for line in cli("list").out.splitlines()}
    assert lines[session][2:3] + lines[session][5:] == [
        "decided",
        "all 3 ! objection open",
        f"{result['choice']}.",
    ]
    assert (lines[other][2], lines[gone][2]) == ("waiting", "cancelled")
    assert lines[gone][5:] == ["–", "Cancelled before a decision."]
    assert lines[other][6].startswith("Waiting for ")
    memo = local("moot.getSession", sessionId=session)["memo"]
    for each in (listed[session], kept):
        assert (each["badge"], each["what"]) == (memo["badge"], memo["what"])
        assert each["reservation"] == memo["reservations"][0]["short"]
    assert (listed[other]["badge"], listed[gone]["badge"]) == ("waits", "cancelled")
    assert json.loads(cli("show", session, "--json").out)["strength"] == "fair"
    assert f"all 3 ! objection open  not reviewed  Which architecture?  → {memo['what']}" in (
        cli("decisions").out
    )


def test_the_local_user_and_a_program_are_named(cli: Cli) -> None:
    """M-12: `moot answer` names the user of this machine, a command seat its program; neither counts as the owner's word."""
    agent = cli.cwd / "echo.sh"
    agent.write_text(
        '#!/bin/sh\ncat >/dev/null\necho \'{"type": "propose", "text": "Yes.", "choice": "yes", "confidence": 0.8}\'\n'
    )
    agent.chmod(0o755)
    recipe = cli.cwd / "echoer.toml"
    recipe.write_text(f'argv = ["{agent}"]\nwords = "{{prompt}}"\n')
    words = (
        "--seat",
        f"ada=command:{recipe}",
        "--seat",
        "eve=mailbox",
        "--protocol",
        "debate",
        "--session",
        "doors",
    )
    cli("run", "Ship?", *words, code=3)
    cli(
        "answer",
        "doors",
        "--seat",
        "eve",
        '{"type": "propose", "text": "No.", "choice": "no", "confidence": 0.7}',
    )
    shown = cli("show", "doors").out
    assert "by the program echoer" in shown
    assert f"on this machine, {getpass.getuser()}" in shown
    assert "spoken by the owner" not in shown
