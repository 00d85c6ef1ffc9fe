"""What is said at opening takes effect, and each filter of a list leaves out what it says (D-1, D-5): RPC, command and Python."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.acceptance.doors import Cli, facts, held, seat_words, write_script
from tests.acceptance.server import SEATS, Client, Refused, Server

from moothall.domain.ids import SessionId
from moothall.domain.topic import Stakes, build_topic

STAKES: tuple[Stakes, ...] = get_args(Stakes)
STOPPING = {"low", "medium"}
"""At these stakes positions that agree blind end a deliberation; above, they are argued all the same."""

OFFER = {
    "propose": [{"type": "propose", "text": "Yes.", "choice": "Yes", "confidence": 0.9}],
    "vote": [{"type": "vote", "position": "support", "confidence": 0.9}],
}
LEAD = {
    **OFFER,
    "synthesize": [{"type": "synthesize", "text": "Yes.", "choice": "Yes", "confidence": 0.9}],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    with Server(Cli(folder / "home", folder)) as found:
        yield found


@pytest.fixture
def agreeing(tmp_path: Path) -> list[str]:
    """Two seats that choose alike, have nothing to argue, and vote for it."""
    return seat_words(
        write_script(tmp_path / "s.toml", {"ada": LEAD, "bob": OFFER}), ["ada", "bob"]
    )


@pytest.mark.parametrize("stakes", STAKES)
def test_stakes_given_over_rpc_are_recorded_and_decide_whether_agreement_ends_it(
    server: Server, stakes: str
) -> None:
    """D-1, D-19"""
    client = server.local
    session = client.open(stakes=stakes)
    for seat in SEATS:
        client.say(session, seat, "propose", choice="HSM")
    found = client.read(session)
    assert found["stakes"] == stakes
    assert (found["status"] == "closed") == (stakes in STOPPING)


def test_stakes_left_out_over_rpc_are_medium(server: Server) -> None:
    """D-1: whichever call opens it."""
    client = server.local
    opened = client(
        "cstp.openDeliberation",
        topic="Tea?",
        category="",
        participants=list(SEATS),
        protocol="structured_debate",
    )
    assert client.read(opened["deliberationId"])["stakes"] == "medium"
    seats = [{"id": seat, "platform": "mailbox"} for seat in SEATS]
    for given, recorded in (({}, "medium"), ({"stakes": "critical"}, "critical")):
        session = client("moot.openSession", topic="Tea?", seats=seats, protocol="debate", **given)[
            "sessionId"
        ]
        assert client.read(session)["stakes"] == recorded
    with pytest.raises(Refused, match="stakes"):
        client.open(stakes="enormous")


@pytest.mark.parametrize("stakes", [None, *STAKES])
def test_stakes_given_to_the_command_are_recorded_and_take_effect(
    cli: Cli, agreeing: list[str], stakes: Stakes | None
) -> None:
    """D-1, D-19"""
    words = () if stakes is None else ("--stakes", stakes)
    cli("run", "Easy?", "--protocol", "debate", *agreeing, *words, "--session", "s")
    check_stakes(cli, stakes or "medium")


@pytest.mark.parametrize("stakes", [None, *STAKES])
def test_stakes_given_to_the_library_are_recorded_and_take_effect(
    cli: Cli, tmp_path: Path, stakes: Stakes | None
) -> None:
    """D-1, D-19"""
    platform = write_script(tmp_path / "s.toml", {"ada": LEAD, "bob": OFFER})
    options: dict[str, Any] = {} if stakes is None else {"stakes": stakes}

    async def work() -> None:
        async with cli.moot() as moot:
            await moot.hold(
                "Easy?",
                seats={"ada": platform, "bob": platform},
                protocol="debate",
                session=SessionId("s"),
                **options,
            )

    held(work())
    check_stakes(cli, stakes or "medium")
    assert build_topic(category="tea").stakes == "medium"


def check_stakes(cli: Cli, stakes: Stakes) -> None:
    """The stakes of the session `s`, as opened, as remembered, and as they took effect."""
    opened, *_, closed = facts(cli("export", "s", "jsonl").out)
    # A field that has its default is not written.
    assert opened.get("subject", {}).get("stakes", "medium") == stakes
    assert closed["fact"] == "council.closed"
    assert (closed.get("reason") == "agreed_blind") == (stakes in STOPPING)
    (found,) = cli.json("decisions")["decisions"]
    assert found["stakes"] == stakes


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("decided")
    with Server(Cli(folder / "home", folder)) as found:
        client = found.local
        record: dict[str, Any] = {"topic": "Which one?", "decision": "This one.", "confidence": 0.9}
        for agent, category, outcome in (
            ("solo", "db", "success"),
            ("solo", "food", "partial"),
            ("pair", "db", None),
        ):
            kept = client("cstp.recordDecision", agent=agent, category=category, **record)[
                "decisionId"
            ]
            if outcome is not None:
                client("cstp.reviewDecision", decisionId=kept, outcome=outcome)
        session = client.open(category="db", topic="Which one of both?", stakes="low")
        for seat in SEATS:
            client.say(session, seat, "propose", choice="HSM")
        assert client.read(session)["status"] == "closed"
        yield found


class TestDecisions:
    """Four decisions: two alone by solo (db, food), one alone by pair (db), one of a deliberation (db)."""

    CASES: tuple[tuple[dict[str, Any], list[int]], ...] = (
        ({}, [4, 3, 2, 1]),
        ({"category": "db"}, [4, 3, 1]),
        ({"category": " DB "}, [4, 3, 1]),
        ({"category": "none"}, []),
        ({"outcome": "success"}, [1]),
        ({"outcome": "partial"}, [2]),
        ({"outcome": "failure"}, []),
        ({"outcome": "unreviewed"}, [4, 3]),
        ({"source": "solo"}, [2, 1]),
        ({"source": "minski"}, [4]),
        ({"source": "nobody"}, []),
        ({"limit": 1}, [4]),
        ({"limit": 3}, [4, 3, 2]),
        ({"category": "db", "source": "solo"}, [1]),
        ({"category": "db", "outcome": "unreviewed", "limit": 1}, [4]),
    )

    @pytest.mark.parametrize(("asked", "numbers"), CASES, ids=str)
    def test_each_filter_of_decisions_over_rpc_and_command(
        self, decided: Server, asked: dict[str, Any], numbers: list[int]
    ) -> None:
        """D-5"""
        names = {
            name: number for number, name in enumerate(self.list_names(decided.local)[::-1], 1)
        }
        assert [names[name] for name in self.list_names(decided.local, **asked)] == numbers
        words = [word for name, value in asked.items() for word in (f"--{name}", str(value))]
        assert [
            names[each["decisionId"]] for each in decided.cli.json("decisions", *words)["decisions"]
        ] == numbers

    def test_decisions_over_rpc_by_protocol_and_by_page(self, decided: Server) -> None:
        """D-5"""
        client = decided.local
        everything = self.list_names(client)
        assert self.list_names(client, protocol="debate") == everything[:1]
        assert self.list_names(client, protocol="alone") == everything[1:]
        assert self.list_names(client, before=everything[1]) == everything[2:]
        assert self.list_names(client, before=everything[0], limit=2) == everything[1:3]
        assert self.list_names(client, before=everything[-1]) == []
        with pytest.raises(Refused, match="nope"):
            client("cstp.listDecisions", before="nope")

    @pytest.mark.parametrize(
        ("asked", "count"),
        [({}, 4), ({"category": "food"}, 1), ({"category": "none"}, 0), ({"limit": 2}, 2)],
    )
    def test_each_filter_of_the_search_over_rpc_and_command(
        self, decided: Server, asked: dict[str, Any], count: int
    ) -> None:
        """D-5"""
        found = decided.local("cstp.searchDecisions", query="which one", **asked)["decisions"]
        words = [word for name, value in asked.items() for word in (f"--{name}", str(value))]
        assert (
            len(found)
            == len(decided.cli.json("decisions", "search", "which one", *words)["decisions"])
            == count
        )

    @staticmethod
    def list_names(client: Client, **asked: Any) -> list[str]:
        return [each["decisionId"] for each in client("cstp.listDecisions", **asked)["decisions"]]


@pytest.fixture(scope="module")
def held_there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, list[str]]]:
    folder = tmp_path_factory.mktemp("listed")
    with Server(Cli(folder / "home", folder)) as found:
        client = found.local
        seats = (["ada", "bob"], ["ada", "bob"], ["ada", "cem"], ["bob", "cem"])
        names = [client.opened(participants=each, stakes="low") for each in seats]
        for seat in seats[1]:
            client.say(names[1], seat, "propose", choice="HSM")
        client("moot.cancelSession", sessionId=names[2])
        yield client, names


class TestSessions:
    """Open (ada, bob), closed (ada, bob), cancelled (ada, cem) and open (bob, cem); the last to change comes first."""

    @pytest.mark.parametrize(
        ("asked", "numbers"),
        [
            ({}, [3, 2, 4, 1]),
            ({"status": "all"}, [3, 2, 4, 1]),
            ({"status": "open"}, [4, 1]),
            ({"status": "closed"}, [2]),
            ({"status": "parked"}, []),
            ({"participant": "ada"}, [3, 2, 1]),
            ({"participant": "cem"}, [3, 4]),
            ({"participant": "bob", "status": "open"}, [4, 1]),
            ({"participant": "nobody"}, []),
            ({"limit": 2}, [3, 2]),
            ({"participant": "ada", "limit": 1}, [3]),
        ],
        ids=str,
    )
    def test_each_filter_of_deliberations(
        self, held_there: tuple[Client, list[str]], asked: dict[str, Any], numbers: list[int]
    ) -> None:
        """D-5"""
        client, names = held_there
        found = client("cstp.listDeliberations", **asked)["deliberations"]
        assert [names.index(each["deliberationId"]) + 1 for each in found] == numbers

    @pytest.mark.parametrize(
        ("asked", "numbers"),
        [
            ({}, [3, 2, 4, 1]),
            ({"status": "thinking"}, [4, 1]),
            ({"status": "concluded"}, [2]),
            ({"status": "cancelled"}, [3]),
            ({"status": "damaged"}, []),
            ({"limit": 3}, [3, 2, 4]),
        ],
        ids=str,
    )
    def test_each_filter_of_sessions(
        self, held_there: tuple[Client, list[str]], asked: dict[str, Any], numbers: list[int]
    ) -> None:
        client, names = held_there
        found = client("moot.listSessions", **asked)["sessions"]
        assert [names.index(each["sessionId"]) + 1 for each in found] == numbers
