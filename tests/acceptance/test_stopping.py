"""Ctrl-C and SIGTERM end a command, whatever it reads at that moment; what is recorded stays whole."""

import os
import signal
import subprocess
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path

import pytest
from tests.acceptance.doors import MOOT, Cli
from tests.acceptance.server import Refused, Server
from tests.acceptance.test_costly_pdfs import build_costly_pdf
from tests.acceptance.test_given_files import MEETING

ENDS_WITHIN = 60.0
"""Seconds: generous, because the machine may be busy. Without an end of its own the command would wait for ever."""
MORE_THAN_A_PIPE = b"word\n" * 40_000

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def start(cli: Cli, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [str(MOOT), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=cli.environ,
        cwd=cli.cwd,
        start_new_session=True,
    )


def list_children(pid: int) -> list[int]:
    children = []
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = each.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            children.append(int(each.parent.name))
    return children


def until(check: Callable[[], object]) -> None:
    end = time.monotonic() + ENDS_WITHIN
    while not check():
        assert time.monotonic() < end
        time.sleep(0.05)


def stop(process: subprocess.Popen[bytes], number: int) -> str:
    """Send a signal, once; what was said then. Fails where that does not end it."""
    try:
        process.send_signal(number)
        process.wait(ENDS_WITHIN)
        assert process.stderr is not None
        assert process.returncode == 130
        return process.stderr.read().decode()
    finally:
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "words",
    [
        (*MEETING, "--file", "-"),
        ("review", "-"),
        ("answer", "s", "--seat", "ada", "-"),
    ],
    ids=lambda words: words[0],
)
def test_a_command_that_reads_what_never_ends_is_stopped(
    cli: Cli, number: int, words: tuple[str, ...]
) -> None:
    """On a thread of its own, which nothing can stop and nobody waits for."""
    cli(*MEETING, "--session", "s", code=3)
    process = start(cli, *words)
    assert process.stdin is not None
    # Whoever takes more than a pipe holds is reading.
    process.stdin.write(MORE_THAN_A_PIPE)
    process.stdin.flush()
    stop(process, number)
    assert cli.verify("s") == {"s": None}


DEAF = """
import asyncio, signal, sys
from moothall.surfaces.cli import output, stopping

stopping.END_SECONDS = 0.5

async def read():
    # As where a signal comes just before a read that then waits: the main thread runs no handler.
    signal.pthread_sigmask(signal.SIG_BLOCK, stopping.SIGNALS)
    print("reading", flush=True)
    sys.stdin.buffer.read()

async def rest():
    print("resting", flush=True)
    try:
        await asyncio.sleep(3600)
    finally:
        await asyncio.sleep(0)
        print("cleaned up", flush=True)

output.run({"read": read, "rest": rest}[sys.argv[1]], stopped=lambda: "Stopped.")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("work", "said"), [("read", ""), ("rest", "cleaned up\n")])
def test_a_signal_counts_where_the_main_thread_hears_of_none(
    work: str, said: str, number: int
) -> None:
    """What a loop does is cancelled once, and cleans up; what no loop does is ended."""
    process = subprocess.Popen(
        [sys.executable, "-c", DEAF, work],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().decode().strip() == f"{work}ing"
    assert stop(process, number) == "Stopped.\n"
    assert process.stdout.read().decode() == said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_reads_a_costly_pdf_is_stopped_with_its_reader(
    cli: Cli, tmp_path: Path, number: int
) -> None:
    """E-1: no process is left."""
    (tmp_path / "costly.pdf").write_bytes(build_costly_pdf(5_000_000))
    process = start(cli, *MEETING, "--file", "costly.pdf")
    until(lambda: list_children(process.pid))
    (child,) = list_children(process.pid)
    said = stop(process, number)
    assert "Traceback" not in said
    until(lambda: not Path(f"/proc/{child}").exists())
    assert cli.json("list")["sessions"] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_reads_a_costly_pdf_is_stopped_with_its_reader(cli: Cli, number: int) -> None:
    """E-1: eight calls wait for it, and the server answers and ends all the same."""
    file = {"name": "costly.pdf", "data": b64encode(build_costly_pdf(5_000_000)).decode()}

    def ask(server: Server) -> None:
        with suppress(OSError, HTTPException, Refused):
            server.local.open(files=[file])

    with Server(cli) as server:
        callers = [threading.Thread(target=ask, args=(server,)) for _ in range(8)]
        for each in callers:
            each.start()
        until(lambda: len(list_children(server.pid)) == 2)
        children = list_children(server.pid)
        assert server.nobody.get("/livez").status == 200
        server.local.open(files=[{"name": "a.md", "text": "The rent is 9 euros."}])
        os.kill(server.pid, number)
        until(lambda: not server.is_up)
        until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))
        for each in callers:
            each.join(ENDS_WITHIN)
