"""What happens around a session: its process is stopped, its disk is full, its ledger is away."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest
from tests.acceptance.doors import Cli, until
from tests.acceptance.server import Server, first_line

STOPPED_SECONDS = 9.0

MEETING = """
import asyncio, sys
from moothall import Moot, Seat

async def main(recipe):
    seats = [
        Seat(id="ada", platform=f"command:{recipe}", patience=8.0),
        Seat(id="bob", platform="mailbox", patience=8.0),
        Seat(id="cem", platform="mailbox", patience=8.0),
    ]
    async with Moot() as moot:
        session = await moot.open("Shall we?", seats=seats, protocol="debate", check=False, session="s")
        print(session, flush=True)
        await moot.run(session, wait=True)

asyncio.run(main(sys.argv[1]))
"""


def facts_of(cli: Cli, kind: str) -> list[Any]:
    entries = [json.loads(line) for line in cli("export", "s", "jsonl").out.splitlines()]
    found = [
        json.loads(each["body"]) if isinstance(each.get("body"), str) else each for each in entries
    ]
    return [each for each in found if kind in json.dumps(each)]


def test_a_stopped_process_is_no_seats_silence(tmp_path: Path) -> None:
    """Past the deadlines of a program and of outside seats; all have what was left of their time, and use it."""
    recipe = tmp_path / "slow.toml"
    said = json.dumps({"type": "propose", "text": "Yes.", "choice": "yes", "confidence": 0.8})
    recipe.write_text(
        f"argv = [{json.dumps('/bin/sh')}, '-c', {json.dumps(f'sleep 2; echo {chr(39)}{said}{chr(39)}')}, '{{prompt}}']\n"
    )
    cli = Cli(tmp_path / "home", tmp_path)
    # The first command loads Moot, which takes longer than the seats have.
    cli("list")
    words = [sys.executable, "-c", MEETING, str(recipe)]
    process = subprocess.Popen(
        words, env=cli.environ, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert first_line(process) == "s\n"
        until(lambda: facts_of(cli, "asks_sent"))
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(STOPPED_SECONDS)
        os.kill(process.pid, signal.SIGCONT)
        cli("answer", "s", "--seat", "bob", stdin=said)
        until(lambda: len(facts_of(cli, '"Yes.')) == 2)
        assert facts_of(cli, "seat_lost") == []
        # Who says nothing after it is lost all the same.
        until(lambda: facts_of(cli, "seat_lost"))
        assert '"cem"' in json.dumps(facts_of(cli, "seat_lost")[0])
    finally:
        process.kill()
        process.communicate()


PROPOSAL = {"type": "propose", "text": "Yes.", "choice": "yes", "confidence": 0.8}


def write_slow_agent(folder: Path) -> tuple[Path, Path]:
    """The marker and the recipe of an agent that waits for `marker.go`; `marker` has its asks, `marker.given` its answers."""
    marker, recipe = folder / "marker", folder / "slow.toml"
    waits = f"until [ -e {marker}.go ]; do sleep 0.05; done"
    line = json.dumps(
        f"echo asked >> {marker}; {waits}; echo '{json.dumps(PROPOSAL)}'; echo given >> {marker}.given"
    )
    recipe.write_text(f'argv = ["/bin/sh", "-c", {line}, "{{prompt}}"]\n')
    return marker, recipe


@pytest.mark.skipif(
    shutil.which("prlimit") is None, reason="the limit of another process cannot be set here"
)
def test_a_disk_that_is_full_for_a_while_is_one_sentence_and_a_retry(tmp_path: Path) -> None:
    """Callers are told to repeat the call, a session that runs waits and goes on, and nobody is asked twice."""
    marker, recipe = write_slow_agent(tmp_path)
    with Server(Cli(tmp_path / "home", tmp_path)) as server:
        other = server.local.opened()
        page = {"origin": f"http://{server.address}"}
        login = server.nobody.request(
            "POST", "/login", json.dumps({"token": server.cli.key}).encode(), **page
        )
        page["cookie"] = login.headers["set-cookie"].partition(";")[0]
        seats = [{"id": "ada", "platform": f"command:{recipe}"}, "bob"]
        session = server.local("moot.openSession", topic="t", protocol="debate", seats=seats)[
            "sessionId"
        ]
        until(marker.exists)
        # Files cannot grow beyond this: the log still can, the ledger's -wal is larger already.
        limit_files(server.pid, "16384:unlimited")
        Path(f"{marker}.go").touch()
        until(lambda: "trying again for" in server.log.read_text())
        error = server.local.refused(
            "cstp.contribute", deliberationId=other, participant="minski", **PROPOSAL
        )
        assert (error.code, error.kind) == (-32008, "LedgerUnavailable")
        assert "check that the disk is neither full nor broken" in error.message
        assert server.local("moot.listSessions")["sessions"]
        # Who signs out is still signed in, and is told so.
        left = server.nobody.request("POST", "/logout", b"{}", **page)
        assert (
            left.status,
            left.json()["error"]["code"],
            server.nobody.get("/me", **page).status,
        ) == (503, -32008, 200)
        limit_files(server.pid, "unlimited:unlimited")
        assert server.local.say(other, "minski", "propose")
        until(lambda: "Yes." in json.dumps(server.local.read(session, participant="ada")))
        assert marker.read_text() == "asked\n"
        assert "Traceback" not in server.log.read_text()
        assert server.log.read_text().count("trying again for") == 1


def test_a_full_disk_names_the_file_that_has_no_room(tmp_path: Path) -> None:
    """N-7: the backup's and the restored ledger's, not the ledger that is read; output that has no room is one sentence."""
    cli, full = Cli(tmp_path / "home", tmp_path), tmp_path / "full"
    with Server(cli) as server:
        session = server.local.open()
    cli("ledger", "backup", str(tmp_path / "good.db"))
    with Path("/dev/full").open("w") as nowhere:
        for more in (["ledger", "heads"], ["--help"], ["decisions", "schema"]):
            words = [sys.executable, "-m", "moothall.surfaces.cli.main", *more]
            done = subprocess.run(
                words,
                env=cli.environ,
                stdout=nowhere,
                stderr=subprocess.PIPE,
                text=True,
                timeout=120,
                check=False,
            )
            assert (done.returncode, done.stderr) == (
                1,
                "moot: the output cannot be written: its disk is full\n",
            )
    full.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(full)], check=False
    ).returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        refused = [cli("ledger", "backup", str(full / "b.db"), code=1).err]
        refused.append(
            cli.elsewhere("full/home")("ledger", "restore", str(tmp_path / "good.db"), code=1).err
        )
        assert [
            f"{full}/b.db has no room" in refused[0],
            f"{full}/home/ledger.db" in refused[1],
        ] == [True, True], refused
        assert [path.name for path in full.rglob("*") if path.is_file()] == []
        exported = cli("export", session, "html", "-o", str(full / "page.html"), code=1)
        assert f"{full}/page.html cannot be written: No space left" in exported.err
    finally:
        subprocess.run(["umount", str(full)], check=True)


def test_heads_that_nobody_could_sign_end_a_job_with_an_error(tmp_path: Path) -> None:
    """N-7, N-8: a file of unsigned heads proves nothing, and who stores it every night must learn of it."""
    cli = Cli(tmp_path / "home", tmp_path)
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home" / "heads.key").mkdir()
    unsigned = cli("ledger", "heads", code=1)
    assert "not signed: no key can be made in MOOT_HOME" in unsigned.err
    assert cli("ledger", "heads", "--unsigned").code == 0


def limit_files(pid: int, size: str) -> None:
    subprocess.run(["prlimit", f"--pid={pid}", f"--fsize={size}"], check=True)


@contextmanager
def database_away(address: str) -> Iterator[None]:
    """A PostgreSQL that is stopped, as its clients see it: connections are cut, and nobody listens any more."""
    folder = Path(parse_qs(urlsplit(address).query)["host"][0])
    name, door = urlsplit(address).path[1:], folder / ".s.PGSQL.5432"

    async def cut() -> None:
        connection = await asyncpg.connect(address.replace(name, "postgres", 1))
        door.rename(folder / "closed")
        quiet = 0
        # A connection that is just being made is not listed yet.
        while quiet < 5:
            ended = await connection.fetch(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name
            )
            quiet = 0 if ended else quiet + 1
            await asyncio.sleep(0.1)
        await connection.close()

    asyncio.run(cut())
    try:
        yield
    finally:
        (folder / "closed").rename(door)


def test_a_database_that_is_stopped_and_started_is_one_sentence_and_a_retry(
    tmp_path: Path, postgres_address: str
) -> None:
    """Under a server without workers: callers are told, watchers are served again, sessions go on, and nobody is asked twice."""
    marker, recipe = write_slow_agent(tmp_path)
    with Server(Cli(tmp_path / "home", tmp_path, MOOT_LEDGER=postgres_address)) as server:
        client = server.local
        other = client.opened()
        seats = [{"id": "ada", "platform": f"command:{recipe}"}, "bob"]
        sessions = [
            client("moot.openSession", topic="t", protocol="debate", seats=seats)["sessionId"]
            for _ in range(3)
        ]
        until(lambda: marker.exists() and marker.read_text().count("asked") == 3)
        with client.events(other) as events:
            events.entries(2)
            with database_away(postgres_address):
                Path(f"{marker}.go").touch()
                # Whoever of the server meets it first says so.
                until(lambda: "trying again" in server.log.read_text())
                until(
                    lambda: (
                        Path(f"{marker}.given").exists()
                        and Path(f"{marker}.given").read_text().count("given") == 3
                    )
                )
                error = client.refused(
                    "cstp.contribute", deliberationId=other, participant="minski", **PROPOSAL
                )
                assert (error.code, error.kind) == (-32008, "LedgerUnavailable")
                assert client.get("/healthz").status == 503
        until(lambda: client.get("/healthz").status == 200)
        assert client.say(other, "minski", "propose")
        for session in sessions:
            until(
                lambda session=session: (  # type: ignore[misc]
                    "Yes." in json.dumps(client.read(session, participant="ada"))
                )
            )
        with client.events(other, after=2) as events:
            events.entries(3)
        assert marker.read_text() == "asked\n" * 3
        log = server.log.read_text()
        assert "Traceback" not in log
        assert log.count("the PostgreSQL ledger failed") == log.count("trying again") == 1, log
        assert client("moot.verifySession", sessionId=sessions[0]).get("fault") is None
