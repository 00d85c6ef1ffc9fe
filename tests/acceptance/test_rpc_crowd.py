"""Many participants at once, each impatient; a server that is killed under them. Everything counts once."""

import http.client
import random
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from tests.acceptance.doors import Cli, facts
from tests.acceptance.server import DEADLINE, Client, Refused, Server, at_once, thrown

PHASES = ("propose", "argue", "synthesize", "vote")
DOCUMENTED = frozenset({-32700, -32600, -32601, -32602, *range(-32009, -32000)})
CROWDS = (12, 50)


def crowd_of(size: int) -> list[str]:
    return [f"seat-{number:02d}" for number in range(size)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    with Server(Cli(folder / "home", folder)) as found:
        yield found


def words_of(seat: str, phase: str) -> dict[str, Any]:
    """What a seat says in a phase: half support and half challenge, one synthesizes, one in ten opposes."""
    number = int(seat.rpartition("-")[2])
    match phase:
        case "propose":
            return {
                "type": "propose",
                "text": f"{seat}'s plan",
                "confidence": 0.8,
                "choice": f"plan {number}",
            }
        case "argue":
            kind = "support" if number % 2 else "challenge"
            return {"type": kind, "text": f"{seat} {kind}s", "confidence": 0.7, "refersTo": 2}
        case "synthesize" if number == 0:
            return {"type": "synthesize", "text": f"{seat} sums up", "confidence": 0.8}
        case "synthesize":
            return {"type": "pass"}
        case _:
            return {
                "type": "vote",
                "position": "oppose" if number % 10 == 9 else "support",
                "confidence": 0.8,
            }


def says(client: Client, session: str, seat: str, phase: str) -> int:
    """The entry that holds what a seat says in a phase."""
    params = {
        "deliberationId": session,
        "participant": seat,
        "idempotencyKey": f"{seat} {phase}",
        **words_of(seat, phase),
    }
    return int(client.insisting("cstp.contribute", **params)["entry"])


class Crowd:
    """Sends every call once, twice or thrice at once, and some again later, as chance will have it."""

    def __init__(self, client: Client, size: int) -> None:
        self.client = client
        self.seats = crowd_of(size)
        self.session = client.open(participants=self.seats, rebuttal=False)
        self.acknowledged: dict[tuple[str, str], int] = {}
        self._chance = random.Random(size)

    def __call__(self) -> None:
        """All phases, each by everybody at once; the next begins when everybody's call has been answered."""
        for phase in PHASES:
            works = [
                partial(self._say, seat, phase, self._chance.choice((1, 2, 3)))
                for seat in self.seats
            ]
            at_once(works)

    def _say(self, seat: str, phase: str, times: int) -> None:
        found = set(at_once([lambda: says(self.client, self.session, seat, phase)] * times))
        assert len(found) == 1
        self.acknowledged[seat, phase] = found.pop()
        earlier = PHASES[times % (PHASES.index(phase) + 1)]
        assert says(self.client, self.session, seat, earlier) == self.acknowledged[seat, earlier]


def check_whole(server: Server, crowd: Crowd) -> None:
    """Everything that was acknowledged stands where it was said to, once; the record holds together."""
    cli, session = server.cli, crowd.session
    assert cli.verify(session) == {session: None}
    cli("replay", session)
    record = facts(cli("export", session, "jsonl").out)
    entries = server.local("moot.getEntries", sessionId=session, limit=1000)["entries"]
    assert [entry["seq"] for entry in entries] == list(range(1, len(record) + 1))
    said = {
        number: fact
        for number, fact in enumerate(record, 1)
        if fact["fact"] == "council.contributed"
    }
    expected = {
        f"{seat} {phase}": words_of(seat, phase)["type"] for seat in crowd.seats for phase in PHASES
    }
    assert len(said) == len(expected)
    assert {fact["key"]: fact["said"]["type"] for fact in said.values()} == expected
    assert {fact["key"]: number for number, fact in said.items()} == {
        f"{seat} {phase}": number for (seat, phase), number in crowd.acknowledged.items()
    }
    read = server.local.read(session, limit=1000)
    listed = [line["id"] for line in read["contributions"]]
    page = read
    while page.get("nextSince") is not None:
        page = server.local.read(session, limit=1000, since=page["nextSince"])
        listed += [line["id"] for line in page["contributions"]]
    lines = len(said) - list(expected.values()).count("pass")
    assert sorted(listed) == list(range(2, 2 + lines))
    result = read["result"]
    votes = {seat: vote["position"] for seat, vote in result["participantVotes"].items()}
    assert votes == {seat: words_of(seat, "vote")["position"] for seat in crowd.seats}
    assert (result["consensusType"], result["missing"]) == ("majority", [])
    assert len(result["openChallenges"]) == list(expected.values()).count("challenge")


@pytest.mark.parametrize("size", CROWDS)
def test_a_crowd_that_sends_everything_more_than_once_is_counted_once(
    server: Server, size: int
) -> None:
    """D-2, D-7, D-12: propose, argue, synthesize or pass, vote; every call also retried with its key, at once and later."""
    crowd = Crowd(server.local, size)
    crowd()
    check_whole(server, crowd)


@pytest.mark.parametrize("size", CROWDS)
def test_nothing_acknowledged_is_lost_or_doubled_when_the_server_is_killed(
    server: Server, size: int
) -> None:
    """D-13, D-16: kill -9 while they propose and while they vote; the crowd insists until somebody answers."""
    crowd = Crowd(server.local, size)
    kills = [size // 2, 3 * size + size // 2]
    with thrown([crowd]) as (running,):
        end = time.monotonic() + 2 * DEADLINE
        while not running.done():
            assert time.monotonic() < end
            if kills and len(crowd.acknowledged) >= kills[0]:
                server.kill()
                server.start()
                kills.pop(0)
            time.sleep(0.002)
        running.result()
    assert not kills, "it was killed twice"
    check_whole(server, crowd)


def test_a_crowd_that_keeps_no_order_meets_documented_errors_only(server: Server) -> None:
    """D-6: everyone sends everything at once, whoever's turn it is; what was taken is there once, the rest was refused."""
    session = server.local.open(participants=crowd_of(12))
    codes: Counter[int] = Counter()
    taken: list[int] = []

    def storms(seat: str) -> None:
        chance = random.Random(seat)
        for phase in chance.choices(("vote", "synthesize", "argue", "propose"), k=12):
            try:
                taken.append(says(server.local, session, seat, phase))
            except Refused as error:
                codes[error.code] += 1
            except http.client.HTTPException:
                codes[0] += 1

    at_once([partial(storms, seat) for seat in crowd_of(12)])
    assert set(codes) <= DOCUMENTED
    assert server.local.get("/healthz").status == 200
    record = facts(server.cli("export", session, "jsonl").out)
    said = [
        number for number, fact in enumerate(record, 1) if fact["fact"] == "council.contributed"
    ]
    assert sorted(set(taken)) == said
    assert server.cli.verify(session) == {session: None}
    server.cli("replay", session)
