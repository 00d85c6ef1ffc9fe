"""What other users of a machine may do to a server while its owner works on: real processes, another user where possible."""

import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.acceptance.doors import Cli, until
from tests.acceptance.server import Client, Refused, Server

NOBODY = 65_534
SETTINGS = "[limits.seat]\nat_once = 5\n"
BEGIN = """
import encodings.idna, http.client, json, os, socket, sys, threading, time, urllib.request
host, port = sys.argv[1].split(":")
if os.geteuid() == 0:
    os.setgid({nobody}); os.setuid({nobody})
print(os.geteuid(), flush=True)
"""
HALF_OPEN = """
links = []
end = time.monotonic() + 60
while time.monotonic() < end:
    if len(links) >= 1300:
        links.pop(0).close()
    try:
        link = socket.create_connection((host, int(port)), 1)
        link.sendall(b"GET / HTTP/1.1\\r\\nHost: x")
    except OSError:
        time.sleep(0.01)
    else:
        links.append(link)
        if len(links) == 1300:
            print("full", flush=True)
            time.sleep(0.005)
"""
LOGINS = """

def guess():
    while True:
        body = json.dumps({"token": "SECRET"}).encode()
        try:
            urllib.request.urlopen(urllib.request.Request(
                f"http://{host}:{port}/login", body, {"Content-Type": "application/json"}), timeout=5).read()
        except OSError:
            pass
for _ in range(12):
    threading.Thread(target=guess, daemon=True).start()
time.sleep(1)
print("full", flush=True)
time.sleep(60)
"""
GUESSES = LOGINS.replace("SECRET", "moot_abc_wrong")
SILENT = """
links = []
for number in range(1200):
    link = socket.create_connection((host, int(port)), 10)
    if number % 2:
        link.sendall(b"POST /login HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 900\\r\\n\\r\\n{")
    links.append(link)
print("full", flush=True)
time.sleep(60)
"""
"""Connections that say nothing at all, and bodies that stop after their first character."""


@contextmanager
def attack(server: Server, program: str) -> Iterator[None]:
    """Let another user run a program against a server, from the moment on when it is in full swing."""
    words = [sys.executable, "-c", BEGIN.format(nobody=NOBODY) + program, server.address]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert int(process.stdout.readline()) == (NOBODY if os.geteuid() == 0 else os.geteuid())
            assert process.stdout.readline() == "full\n"
            yield
            assert process.poll() is None, "the attack ended before its time"
        finally:
            process.send_signal(signal.SIGKILL)


def work_for(client: Client, seconds: float) -> float:
    """Call a server again and again; return the longest time that a call took."""
    end, longest = time.monotonic() + seconds, 0.0
    while (start := time.monotonic()) < end:
        client("moot.listProtocols")
        longest = max(longest, time.monotonic() - start)
    return longest


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "server.toml").write_text(SETTINGS)
    with Server(Cli(home, tmp_path)) as server:
        yield server


def test_half_open_connections_of_another_user_do_not_keep_the_owner_out(server: Server) -> None:
    """N-7: 1,300 of them against 1,024 descriptors; every call is answered, and the log has one line."""
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (1_024, 1_024))
    with attack(server, HALF_OPEN):
        assert work_for(server.local, 3.0) < 5.0
        open_files = len(list(Path(f"/proc/{server.pid}/fd").iterdir()))
        assert open_files < 300
    assert server.log.read_text().count("connections were closed by a limit") == 1


def test_guessed_logins_do_not_keep_the_owner_out(server: Server) -> None:
    """N-7: twelve threads of another user guess; the owner's key opens a login, and calls go on."""
    body = f'{{"token": "{server.cli.key}"}}'.encode()
    with attack(server, GUESSES):
        statuses = [server.nobody.request("POST", "/login", body).status for _ in range(6)]
        assert statuses == [204] * 6
        assert work_for(server.local, 2.0) < 5.0


def test_a_token_that_signs_in_again_and_again_writes_a_few_entries(server: Server) -> None:
    """N-7: twelve threads of another user have a seat's token; its own limit holds at the door, and the owner signs in."""
    session = server.local.opened()
    secret = server.cli.json("invite", session, "--seat", "minski")["token"]
    body = f'{{"token": "{server.cli.key}"}}'.encode()
    with attack(server, LOGINS.replace("SECRET", secret)):
        assert [server.nobody.request("POST", "/login", body).status for _ in range(6)] == [204] * 6
        assert work_for(server.local, 2.0) < 5.0
    signed_in = [
        row
        for row in server.cli.json("access", "log")
        if row["event"] == "signed in" and row.get("for") != "owner"
    ]
    assert 0 < sum(int(row.get("times", 1)) for row in signed_in) < 40


def test_connections_that_say_nothing_do_not_keep_the_owner_out(server: Server) -> None:
    """N-7: 600 silent connections and 600 silent bodies of another user against 1,024 descriptors."""
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (1_024, 1_024))
    with attack(server, SILENT):
        assert work_for(server.local, 2.0) < 5.0
        assert len(list(Path(f"/proc/{server.pid}/fd").iterdir())) < 300


def test_a_flood_of_guesses_is_a_few_entries_of_the_log_that_an_owner_reads(server: Server) -> None:
    """N-7: logins and refused secrets are in `moot access log`, counted, after a restart too, and no secret is."""
    guess = "moot_0badbeef_this-is-somebodys-secret"
    assert (
        server.nobody.request("POST", "/login", f'{{"token": "{server.cli.key}"}}'.encode()).status
        == 204
    )
    with attack(server, GUESSES):
        for _ in range(3):
            assert server.client(guess).get("/me").status in {401, 429}

        def read_refused() -> list[dict[str, object]]:
            return [row for row in server.cli.json("access", "log") if row["event"] == "refused"]

        until(read_refused)
    server.restart()
    rows = server.cli.json("access", "log")
    refused = [row for row in rows if row["event"] == "refused"]
    assert {(row["from"], row["why"], row.get("tokenId")) for row in refused} == {
        ("127.0.0.1", "unknown secret", None)
    }
    assert sum(int(row["times"]) for row in refused) > 20 > len(refused)
    mine = server.cli.json("access", "key")["id"]
    assert ("signed in", mine, "owner", "127.0.0.1") in [
        (row["event"], row.get("tokenId"), row.get("for"), row.get("from")) for row in rows
    ]
    assert "refused" in server.cli("access", "log").out
    assert len(server.cli.json("access", "log", "--limit", "1")) == 1
    stored = b"".join(
        path.read_bytes() for path in server.cli.home.rglob("ledger.db*") if path.is_file()
    )
    assert b"somebodys-secret" not in stored
    assert server.cli.key.encode() not in stored


def test_one_token_cannot_take_all_streams(server: Server) -> None:
    """N-7: beyond its limit a seat's streams and long polls are refused until one of them ends; others do not notice."""
    session = server.local.opened()
    seat = server.client(server.cli.json("invite", session, "--seat", "minski")["token"])
    streams = [seat.events(session) for _ in range(5)]
    for each in streams:
        each.__enter__()
    error = seat.refused("moot.listProtocols")
    assert (error.code, "5 calls and streams of this token are under way" in error.message) == (
        -32009,
        True,
    )
    assert server.local("moot.listProtocols")
    streams.pop().__exit__(None, None, None)

    def is_answered() -> bool:
        try:
            return bool(seat("moot.listProtocols"))
        except Refused:
            return False

    until(is_answered)
    for each in streams:
        each.__exit__(None, None, None)


def test_a_client_that_leaves_while_it_sends_is_not_a_traceback(server: Server) -> None:
    """N-7: whatever it was sending; nothing is done, and the log has nothing to say."""
    host, port = server.address.split(":")
    for path in ("/rpc", "/login", "/v1/chat/completions", "/mcp"):
        head = f"POST {path} HTTP/1.1\r\nHost: {server.address}\r\nAuthorization: Bearer {server.cli.key}\r\n"
        with socket.create_connection((host, int(port))) as link:
            link.sendall(
                f'{head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{"json'.encode()
            )
            time.sleep(0.5)
    assert server.local("moot.listProtocols")
    assert "Traceback" not in server.log.read_text()
