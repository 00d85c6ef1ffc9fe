"""What commands cost: CPU from the start of a process to its first answer, and the memory that a long session takes."""

import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

MOOT: Final = (sys.executable, "-m", "moothall.surfaces.cli.main")
WAIT_SECONDS: Final = 60.0
LONG_SESSION: Final = "long"
LONG_TURNS: Final = 8_880
"""A persona meeting of this many turns has 80,000 entries, but for seventy."""

_INITIALIZE: Final = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        },
    }
)


class Cost(NamedTuple):
    """The CPU seconds of a process, and its peak memory."""

    cpu_s: float
    peak_mb: float


class Command(NamedTuple):
    """A row of the start-up table: how it is measured, and how many CPU seconds it may take."""

    name: str
    measure: Callable[[], Cost]
    aim: float | None = None


def run_to_end(command: Sequence[str], environ: Mapping[str, str]) -> Cost:
    """Run a command; raises RuntimeError if it fails."""
    process = subprocess.Popen(
        command,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    told = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    if process.returncode:
        raise RuntimeError(
            f"{' '.join(command)} ended with {process.returncode}: {told.decode()[-500:]}"
        )
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def run_to_first_output(command: Sequence[str], environ: Mapping[str, str], sent: str = "") -> Cost:
    """Run a command in a terminal, or with something sent to its standard input, until it says anything; then stop it."""
    if sent:
        process = subprocess.Popen(
            command,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{sent}\n".encode())
        process.stdout.read(1)
        spent = _read_cpu(process.pid)
    else:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(command, env=environ, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        os.read(ours, 1)
        spent = _read_cpu(process.pid)
    process.kill()
    process.wait(WAIT_SECONDS)
    if not sent:
        os.close(ours)
    return Cost(spent, 0.0)


def _read_cpu(process: int) -> float:
    """The CPU seconds that all threads of a running process have taken; Linux alone tells."""
    threads = Path(f"/proc/{process}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def list_commands(folder: Path) -> list[Command]:
    """The commands of the start-up table; `folder` is for their homes."""
    empty, used = ({**os.environ, "MOOT_HOME": str(folder / name)} for name in ("empty", "used"))
    # Bytecode is written once and then read, as it is where Moot is installed.
    for environ in (empty, used):
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
    for protocol in ("debate", "persona"):
        words = [
            "run",
            "Shall we?",
            "--protocol",
            protocol,
            "--seat",
            "ada=mailbox",
            "--seat",
            "bob=mailbox",
        ]
        subprocess.run([*MOOT, *words], env=used, check=False, capture_output=True)
    python = sys.executable
    return [
        Command("an empty Python", lambda: run_to_end([python, "-c", ""], empty)),
        Command("`import moot`", lambda: run_to_end([python, "-c", "import moothall"], empty), 0.1),
        Command("`moot --version`", lambda: run_to_end([*MOOT, "--version"], empty), 0.12),
        Command("`moot list`, no session yet", lambda: run_to_end([*MOOT, "list"], empty), 0.25),
        Command(
            "`moot list`, a debate and a meeting under way",
            lambda: run_to_end([*MOOT, "list"], used),
            0.25,
        ),
        Command(
            "the same after both have gone on",
            lambda: run_to_end([*MOOT, "list"], _forget_list(used)),
        ),
        Command(
            "`moot run`, to its first line",
            lambda: run_to_first_output([*MOOT, "run", "Shall we?"], empty),
            0.4,
        ),
        Command(
            "`moot mcp`, to the answer of initialize",
            lambda: run_to_first_output([*MOOT, "mcp"], empty, _INITIALIZE),
            0.8,
        ),
    ]


def _forget_list(environ: Mapping[str, str]) -> Mapping[str, str]:
    for path in Path(environ["MOOT_HOME"], "search").glob("list-*.json"):
        path.unlink()
    return environ


def measure_start_up(folder: Path, runs: int) -> list[str]:
    """The start-up table: medians of interleaved runs."""
    commands = list_commands(folder)
    for command in commands:
        command.measure()  # writes the bytecode
    costs: dict[str, list[float]] = {command.name: [] for command in commands}
    for number in range(runs):
        print(f"run {number + 1}: start-up", file=sys.stderr)
        for command in commands:
            costs[command.name].append(command.measure().cpu_s)
    lines = ["| start-up | CPU s | least–most | aim |", "|---|---|---|---|"]
    for command in commands:
        found = costs[command.name]
        aim = (
            "–"
            if command.aim is None
            else f"≤ {command.aim:g}: {'met' if median(found) <= command.aim else 'MISSED'}"
        )
        lines.append(
            f"| {command.name} | {median(found):.3f} | {min(found):.3f}–{max(found):.3f} | {aim} |"
        )
    return lines


def measure_length(folder: Path) -> list[str]:
    """The length table: the peak memory of commands on a session of 80,000 entries."""
    environ = {**os.environ, "MOOT_HOME": str(folder / "long")}
    print("writing a session of 80,000 entries", file=sys.stderr)
    # In a process of its own: Linux counts the memory of whoever starts a process to its peak.
    subprocess.run(
        [sys.executable, "-m", "bench.engine.long_session", str(folder / "long")],
        env=environ,
        check=True,
    )
    lines = [
        "| a session of 80,000 entries | peak MB | CPU s | wall s | aim |",
        "|---|---|---|---|---|",
    ]
    export = str(folder / "long.jsonl")
    for words in (
        ["verify", LONG_SESSION],
        ["replay", LONG_SESSION],
        ["export", LONG_SESSION, "jsonl", "-o", export],
        ["show", LONG_SESSION, "--json"],
        ["show", LONG_SESSION],
        ["export", LONG_SESSION, "minutes", "-o", export],
        ["export", LONG_SESSION, "html", "-o", export],
    ):
        print(f"length: {' '.join(words[:3])}", file=sys.stderr)
        started = time.monotonic()
        cost = run_to_end([*MOOT, *words], environ)
        aim = "met" if cost.peak_mb <= 100 else "MISSED"
        name = " ".join(word for word in words[:4] if word not in {LONG_SESSION, "-o"})
        lines.append(
            f"| `moot {name}` | {cost.peak_mb:.0f} | {cost.cpu_s:.1f} | {time.monotonic() - started:.1f} | ≤ 100: {aim} |"
        )
    return lines
