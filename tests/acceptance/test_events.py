"""What is sealed stays sealed through every door; the stream of events goes on where it was left, also across a restart."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import Cli, write_script
from tests.acceptance.server import DEADLINE, HSM, SEATS, STEPS, Client, Event, Server, thrown
from tests.acceptance.test_page_server import streamed

SECRET = "the-plan-nobody-may-read-yet"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    with Server(Cli(folder / "home", folder)) as found:
        yield found


def sealed(client: Client, **changes: Any) -> str:
    """A session in which emerson has written and the others have not."""
    session = client.opened(**changes)
    client.say(session, "emerson", "propose", text=SECRET, choice=SECRET, evidence=[SECRET])
    return session


def everything(client: Client, session: str, reader: Client) -> dict[str, str]:
    """What each door shows of a session to somebody who is not emerson, as text."""
    place = {"deliberationId": session}
    with reader.events(session) as stream:
        stream_text = json.dumps(
            [event.data for event in stream.entries(client.read(session)["cursor"])]
        )
    return {
        "getDeliberation": json.dumps(reader("cstp.getDeliberation", **place)),
        "getDeliberation since": json.dumps(
            reader("cstp.getDeliberation", since=1, limit=1, **place)
        ),
        "listDeliberations": json.dumps(reader("cstp.listDeliberations")),
        "getEntries": json.dumps(reader("moot.getEntries", sessionId=session)),
        "getSession": json.dumps(reader("moot.getSession", sessionId=session)),
        "minutes": reader("moot.exportSession", sessionId=session, form="minutes")["text"],
        "html": reader("moot.exportSession", sessionId=session, form="html")["text"],
        "events": stream_text,
        **page_doors(session, reader),
    }


def page_doors(session: str, reader: Client) -> dict[str, str]:
    """What the page's calls and its stream show of a session (W-3, W-9)."""
    view = reader("moot.getView", sessionId=session)
    with streamed(reader, session) as stream:
        stream.until("view", sessionId=session)
    return {
        "getView": json.dumps(view),
        "getSession at": json.dumps(reader("moot.getSession", sessionId=session, at=view["head"])),
        "getDeliberation at": json.dumps(
            reader("cstp.getDeliberation", deliberationId=session, at=view["head"])
        ),
    }


def past_doors(session: str, reader: Client, at: int) -> dict[str, str]:
    """The same calls for the state after an earlier entry."""
    return {
        "getView at": json.dumps(reader("moot.getView", sessionId=session, at=at)),
        "getSession at": json.dumps(reader("moot.getSession", sessionId=session, at=at)),
        "getDeliberation at": json.dumps(
            reader("cstp.getDeliberation", deliberationId=session, at=at)
        ),
    }


def refuse_text(session: str, reader: Client, text: str) -> None:
    """The number under which a sealed text lies opens nothing to anybody else."""
    for entry in range(1, 20):
        answer = reader.send(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "moot.getText",
                "params": {"sessionId": session, "entry": entry},
            }
        )
        assert text not in json.dumps(answer)


def test_a_sealed_proposal_is_seen_through_no_door(server: Server) -> None:
    """D-19: by nobody but its author, neither by another seat nor by who watches."""
    client = server.local
    session = sealed(client)
    secret = server.cli.json("invite", session, "--seat", "minski")["token"]
    for reader in (client, server.client(secret)):
        shown = everything(client, session, reader)
        assert [door for door, text in shown.items() if SECRET in text] == []
        assert "emerson" in shown["getEntries"]
        refuse_text(session, reader, SECRET)
    minski = {"deliberationId": session, "participant": "minski"}
    turn = client("cstp.waitForTurn", timeoutSeconds=100, cursor=0, **minski)
    assert turn["status"] == "your_turn"
    assert SECRET not in json.dumps(turn)
    assert SECRET not in json.dumps(client("cstp.joinDeliberation", **minski))
    assert SECRET not in json.dumps(client("moot.getAsks", sessionId=session, seat="minski"))
    assert SECRET not in json.dumps(client("cstp.getDeliberation", **minski))
    assert SECRET in json.dumps(
        client("cstp.getDeliberation", deliberationId=session, participant="emerson")
    )


def test_what_was_sealed_is_seen_through_every_door_once_all_have_written(server: Server) -> None:
    """D-4, D-19."""
    client = server.local
    session = sealed(client)
    sealed_at = client.read(session)["cursor"]
    client.say(session, "minski", "pass")
    client.say(session, "code-reviewer", "pass")
    # What was sealed then is sealed in what is told of that time.
    assert [
        door for door, text in past_doors(session, client, sealed_at).items() if SECRET in text
    ] == []
    shown = everything(client, session, client)
    assert [door for door, text in shown.items() if SECRET not in text] == ["listDeliberations"]
    turn = client(
        "cstp.waitForTurn",
        deliberationId=session,
        participant="minski",
        timeoutSeconds=100,
        cursor=0,
    )
    assert SECRET in json.dumps(turn["new"])
    assert SECRET in turn["ask"]["briefing"]


@pytest.fixture
def challenged(server: Server) -> dict[str, str]:
    """What the third seat is shown while a challenge lies sealed beside the proposal."""
    client = server.local
    session = sealed(client)
    client.say(session, "minski", "challenge", text=f"against {SECRET}")
    secret = server.cli.json("invite", session, "--seat", "code-reviewer")["token"]
    return everything(client, session, server.client(secret))


def test_what_is_said_ahead_is_sealed_with_the_rest(challenged: dict[str, str]) -> None:
    """D-19."""
    assert {door for door, text in challenged.items() if SECRET in text} <= {"getSession"}


def test_the_decision_as_it_stands_tells_no_sealed_challenge(challenged: dict[str, str]) -> None:
    """D-19, D-21."""
    assert SECRET not in challenged["getSession"]


def test_a_sealed_vote_is_streamed_without_its_words_and_revealed_at_the_end(
    server: Server,
) -> None:
    """D-18, D-23: over the event stream, entry by entry."""
    client = server.local
    session = client.opened()
    for seat in SEATS:
        client.say(session, seat, "propose")
    for seat in SEATS:
        client.say(session, seat, "pass")
    client.say(session, "emerson", "synthesize")
    for seat in SEATS[1:]:
        client.say(session, seat, "pass")
    client.vote(session, "emerson", "conditional_support", condition=SECRET, text=SECRET)
    secret = server.cli.json("invite", session, "--seat", "minski")["token"]
    for reader in (client, server.client(secret)):
        shown = everything(client, session, reader)
        assert [door for door, text in shown.items() if SECRET in text] == []
        refuse_text(session, reader, SECRET)
        with streamed(reader, session) as views:
            views.until("view", sessionId=session)
            server.cli("input", session, "Go on.")
            assert SECRET not in json.dumps(views.until("line", sessionId=session))
    assert "sealed" in client.refused("moot.exportSession", sessionId=session, form="jsonl").message
    # The user has spoken since: the vote is put once more to who had voted.
    client.vote(session, "emerson", "conditional_support", condition=SECRET, text=SECRET)
    with client.events(session) as stream:
        for seat in SEATS[1:]:
            client.vote(session, seat)
        (closing,) = [
            event
            for event in stream.rest()
            if event.kind == "entry" and event.data["fact"] == "DeliberationClosed"
        ]
    revealed = {
        line["participant"]: line["position"]
        for line in closing.data["revealed"]
        if line["type"] == "vote"
    }
    assert revealed == {
        "emerson": "conditional_support",
        "minski": "support",
        "code-reviewer": "support",
    }


def test_a_model_that_writes_sealed_is_not_overheard(server: Server, tmp_path: Path) -> None:
    """D-19: the stream carries no text of a seat that Moot asks while the others have not written."""
    said = {"type": "propose", "text": SECRET, "confidence": 0.8}
    platform = write_script(tmp_path / "model.toml", {"model": {"propose": [said]}})
    client = server.local
    session = client.open(
        participants=[{"id": "model", "platform": platform}, "minski", "code-reviewer"]
    )
    with client.events(session) as stream:
        found = stream.until(
            lambda event: event.kind == "entry" and event.data["fact"] == "Contributed"
        )
        assert SECRET not in json.dumps([event.data for event in found])
        assert found[-1].data["what"] == {"seat": "model", "ask": "1.propose.model", "sealed": True}


def test_the_stream_reveals_at_the_entry_that_ends_the_sealed_phase(server: Server) -> None:
    """D-18, D-19: who watches from the beginning sees that somebody wrote, then what."""
    client = server.local
    session = client.opened()
    with client.events(session) as stream:
        found = stream.entries(2)
        for seat in SEATS[:-1]:
            client.say(session, seat, "propose", text=f"{seat}'s plan")
            found.append(stream.next())
            assert found[-1].data["what"] == {
                "seat": seat,
                "ask": f"1.propose.{seat}",
                "sealed": True,
            }
        client.say(session, SEATS[-1], "propose", text=f"{SEATS[-1]}'s plan")
        found += stream.until(lambda event: event.data["fact"] == "PhaseBegun")
    assert [line["text"] for line in found[-1].data["revealed"]] == [
        f"{seat}'s plan" for seat in SEATS
    ]
    assert [event.id for event in found] == list(range(1, len(found) + 1))


def test_a_stream_tells_the_whole_deliberation_and_ends_with_it(server: Server) -> None:
    """D-18: every entry once, in order; then the end."""
    client = server.local
    session = client.open()
    with client.events(session) as stream:
        for seat, words in STEPS:
            client("cstp.contribute", deliberationId=session, participant=seat, **words)
        found = stream.rest()
    assert [event.id for event in found[:-1]] == list(range(1, len(found)))
    assert found[-2].data["fact"] == "DeliberationClosed"
    entries = client("moot.getEntries", sessionId=session)["entries"]
    assert [event.data["seq"] for event in found[:-1]] == [entry["seq"] for entry in entries]
    with client.events(session) as again:
        assert [event.data for event in again.rest()[:-1]] == entries
    with client.events(session, after=len(entries)) as over:
        assert [event.kind for event in over.rest()] == ["end"]


def ids(events: list[Event]) -> list[int | None]:
    return [event.id for event in events]


def test_a_stream_resumed_gets_exactly_what_lies_behind(server: Server) -> None:
    """D-16, D-18: with Last-Event-ID or `after`, while the session goes on."""
    client = server.local
    session = client.opened()
    client.say(session, "emerson", "propose")
    with client.events(session, after=2) as stream:
        assert ids(stream.entries(3)) == [3]
        with thrown(
            [lambda seat=seat: client.say(session, seat, "propose") for seat in SEATS[1:]]  # type: ignore[misc]
        ) as saying:
            found = stream.until(lambda event: event.data.get("fact") == "AsksSent")
            assert ids(found) == list(range(4, 4 + len(found)))
            assert [each.result(timeout=DEADLINE)["status"] for each in saying] == ["open", "open"]
    assert client.get("/events/nothing").status == 404
    assert client.get(f"/events/{session}", last_event_id="soon").status == 400


def test_a_stream_goes_on_across_a_restart_without_a_gap(server: Server) -> None:
    """D-16, D-18: cut off by kill -9, resumed at the next server with the last id that was seen."""
    client = server.local
    session = client.opened()
    client.say(session, "emerson", "propose")
    with client.events(session) as stream:
        before = stream.entries(3)
        server.kill()
        with pytest.raises((ConnectionError, OSError)):
            stream.next()
    server.start()
    client.say(session, "minski", "pass")
    with client.events(session, after=before[-1].id) as stream:
        client.say(session, "code-reviewer", "pass")
        after = stream.until(lambda event: event.data.get("fact") == "AsksSent")
        assert ids(before) + ids(after) == list(range(1, 1 + len(before) + len(after)))
        assert any("revealed" in event.data for event in after)
        for seat, words in STEPS[1:]:
            client("cstp.contribute", deliberationId=session, participant=seat, **words)
        rest = stream.rest()
    assert ids(rest[:-1]) == list(
        range(1 + len(before) + len(after), len(before) + len(after) + len(rest))
    )


def test_many_who_watch_all_see_the_same(server: Server) -> None:
    """D-18: twenty streams, some from the middle; they are counted, and let go when they leave."""
    client = server.local
    session = client.opened()

    def watch(after: int) -> list[int | None]:
        with client.events(session, after=after) as stream:
            return ids(stream.rest()[:-1])

    with thrown([lambda after=after: watch(after) for after in [0, 1, 2, 3] * 5]) as watching:  # type: ignore[misc]
        for seat, words in STEPS:
            client("cstp.contribute", deliberationId=session, participant=seat, **words)
        found = [each.result(timeout=DEADLINE) for each in watching]
    last = client("moot.getEntries", sessionId=session)["head"]
    assert found == [list(range(after + 1, last + 1)) for after in [0, 1, 2, 3] * 5]


def test_an_advisory_panel_is_sealed_as_a_debate_is(server: Server) -> None:
    """D-8, D-19."""
    client = server.local
    session = sealed(client, protocol="advisory_panel")
    shown = everything(client, session, client)
    assert [door for door, text in shown.items() if SECRET in text] == []


def test_what_is_not_blind_is_seen_at_once(server: Server) -> None:
    """D-19: who opens it may choose so."""
    client = server.local
    session = sealed(client, blind=False)
    assert SECRET in json.dumps(client.read(session))
    with client.events(session) as stream:
        assert SECRET in json.dumps(stream.entries(3)[-1].data)
    assert HSM["topic"] == client.read(session)["topic"]
