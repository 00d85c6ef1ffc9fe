"""Notices: receivers that are down, slow, broken or hang, two servers on one ledger, kill -9; real processes."""

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import Cli, until
from tests.acceptance.server import Server

RECEIVER = Path(__file__).with_name("notice_receiver.py")


class Receiver:
    """A receiver's process; its port stays the same when it is started again."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "received.jsonl"
        self.log.touch()
        self.port = 0

    @contextmanager
    def running(self, *script: str) -> Iterator[None]:
        words = [sys.executable, str(RECEIVER), str(self.port), str(self.log), *script]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            self.port = int(process.stdout.readline())
            try:
                yield
            finally:
                process.send_signal(signal.SIGKILL)

    def requests(self) -> list[tuple[str, str, str, dict[str, Any]]]:
        return [tuple(json.loads(line)) for line in self.log.read_text().splitlines()]

    def taken(self) -> list[dict[str, Any]]:
        return [body for word, _, _, body in self.requests() if word in {"ok", "slow"}]


def test_a_receiver_that_fails_in_every_way_gets_each_notice_once_and_in_order(
    tmp_path: Path,
) -> None:
    """G-2: down, 500, a redirect, no HTTP, silence, slow; the texts speak the session's language, and hold no secret."""
    cli, receiver = Cli(tmp_path / "home", tmp_path), Receiver(tmp_path)
    with receiver.running("ok"):
        pass
    hook = cli.json(
        "notify",
        "add",
        f"http://127.0.0.1:{receiver.port}/in?x=1",
        "--private",
        "--page",
        "http://moot.example",
    )
    assert cli("notify", "test", hook["id"], code=1).err.count("\n") == 1
    with Server(cli) as server:
        session = server.local.open(topic="要在周五发布吗？")
        server.local("moot.cancelSession", sessionId=session)
        until(lambda: "did not reach" in server.logged())
        with receiver.running("500", "redirect", "garbage", "hang", "slow", "ok"):
            until(lambda: len(receiver.taken()) >= 4)
            cli("notify", "test", hook["id"])
            words = [word for word, _, _, _ in receiver.requests()]
            notices = receiver.taken()[:-1]
            assert words[:5] == ["500", "redirect", "garbage", "hang", "slow"]
            assert {path for _, path, _, _ in receiver.requests()} == {"/in?x=1"}
            assert [each["event"] for each in notices] == ["turn", "turn", "turn", "decided"]
            assert [each["seq"] for each in notices] == sorted(each["seq"] for each in notices)
            assert len({each["id"] for each in notices}) == 4
            assert "轮到你发言了" in notices[0]["text"]
            assert notices[0]["link"] == f"http://moot.example/seat/{session}/{notices[0]['seat']}"
            memo = server.local("moot.getSession", sessionId=session)["memo"]
            assert f"“要在周五发布吗？”——{memo['result']} http" in notices[3]["text"]
            until(lambda: [row["delivered"] for row in cli.json("notify", "list")] == [4])
            everything = receiver.log.read_text()
            assert cli.key not in everything
            assert hook["secret"] not in everything + cli("notify", "list").out + server.logged()
        stored = b"".join(
            path.read_bytes() for path in cli.home.glob("ledger.db*") if path.is_file()
        )
        assert hook["secret"].encode() not in stored
        cli("notify", "remove", hook["id"])
        assert cli.json("notify", "list") == []


def test_two_servers_deliver_once_and_one_goes_on_when_the_other_is_killed(tmp_path: Path) -> None:
    """G-2: none lost, in the order of each session; at most the one that was under way comes twice, under its id."""
    cli, receiver = Cli(tmp_path / "home", tmp_path), Receiver(tmp_path)
    with receiver.running("ok"), Server(cli) as one, Server(cli) as other:
        cli("notify", "add", f"http://127.0.0.1:{receiver.port}/", "--private")
        before = [one.local.open(topic=f"Question {number}?") for number in range(4)]
        until(lambda: len(receiver.taken()) >= 3 * len(before))
        assert max(Counter(each["id"] for each in receiver.taken()).values()) == 1
        sessions = before + [other.local.open(topic=f"Another {number}?") for number in range(4)]
        one.kill()
        for session in sessions:
            other.local("moot.cancelSession", sessionId=session)
        until(lambda: len({each["id"] for each in receiver.taken()}) >= 4 * len(sessions))
        one.start()
        other.kill()
        last = one.local.open(topic="The last one?")
        until(lambda: any(each["session"] == last for each in receiver.taken()))
        counted = Counter(each["id"] for each in receiver.taken())
        assert sum(times - 1 for times in counted.values()) <= 2
        for session in sessions:
            seqs = [each["seq"] for each in receiver.taken() if each["session"] == session]
            assert seqs == sorted(seqs)


def test_a_receiver_gets_what_it_was_added_for_and_nothing_from_before(tmp_path: Path) -> None:
    """G-2: by session, seat and event; bad addresses change nothing, and a private one needs the owner's word."""
    cli, receiver = Cli(tmp_path / "home", tmp_path), Receiver(tmp_path)
    for url in (
        "ftp://x.example",
        "slack://",
        "https://",
        "https://me:secret@x.example",
        "not an address",
        "https://x.example/\n",
    ):
        cli("notify", "add", url, code=2)
    assert cli.json("notify", "list") == []
    with receiver.running("ok"), Server(cli) as server:
        old = server.local.open(topic="Before?")
        # Every language that Moot has words in.
        plain = f"http://127.0.0.1:{receiver.port}/plain"
        refused = cli("notify", "add", plain, "--language", "de", code=2)
        assert "private network" in refused.err
        by_language = cli.json("notify", "add", plain, "--private", "--language", "de")["id"]
        cli("notify", "remove", by_language)
        here = f"http://127.0.0.1:{receiver.port}"
        cli("notify", "add", f"{here}/minski", "--private", "--seat", "minski", "--event", "turn")
        cli("notify", "add", f"{here}/old", "--private", "--session", old)
        new = server.local.open(topic="After?")
        for session in (old, new):
            server.local("moot.cancelSession", sessionId=session)
        until(lambda: len(receiver.taken()) >= 2)
        got = {
            (path, body["session"], body["event"], body["seat"])
            for _, path, _, body in receiver.requests()
        }
        assert got == {("/minski", new, "turn", "minski"), ("/old", old, "decided", "")}
        cli("notify", "remove", "nobody", code=2)


def test_an_address_of_chat_is_shown_nowhere(tmp_path: Path) -> None:
    """G-2: neither when it is added, nor in a list, nor by a failure; the owner's receiver gets no seat's turns."""
    pytest.importorskip("apprise")
    cli = Cli(tmp_path / "home", tmp_path)
    secret = "T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"
    added = cli("notify", "add", "-", "--owner", stdin=f"slack://{secret}/#board\n")
    chat = cli.json("notify", "list")[0]
    assert (chat["place"], chat["secret"], "turn" in chat["events"]) == ("slack://…", "", False)
    refused = cli("notify", "add", "mailto://me:T1JJ3T3L2@127.0.0.1?from=a@x.example", code=2)
    assert "--private" in refused.err
    away = cli("notify", "add", "ntfy://127.0.0.1:1/T1JJ3T3L2", "--private").out.split()[0]
    failed = cli("notify", "test", away, code=1)
    cli("notify", "add", "https://x.example", "--owner", "--event", "turn", code=2)
    shown = [
        added,
        refused,
        failed,
        cli("notify", "list"),
        cli("notify", "list", "--json"),
        cli("notify", "remove", away),
    ]
    assert not any(word in done.out + done.err for done in shown for word in secret.split("/"))
