"""What the bench starts: workers, one of them behind a line that can be cut, and a server; and what they are measured by."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.temporal_server import TemporalServer

from bench.scale.database import Database, read_cpu
from bench.scale.network import Line
from moothall.memory.tokens import load_owner_key

ROOT = Path(__file__).resolve().parents[2]
QUICK_SECONDS = 0.5
"""How long a participant takes where the load is to be as high as the workers can bear."""
SESSIONS = 1_000
"""How many sessions one worker runs at once."""


class CallMade(NamedTuple):
    """A participant was called: when, in the session of which seed, for which ask, by which process."""

    at: float
    seed: int
    ask: str
    pid: int


def tell(what: str) -> None:
    """Print a line of progress; tables go to the standard output."""
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


@dataclass
class Stage:
    """Processes on one database, and what they wrote down."""

    database: Database
    line: Line
    folder: Path
    lease: float
    seconds: float
    temporal: TemporalServer | None = None
    far_temporal: str = ""
    workers: list["subprocess.Popen[bytes]"] = field(default_factory=list)
    far_worker: "subprocess.Popen[bytes] | None" = None
    server: "subprocess.Popen[bytes] | None" = None
    port: int = 0
    _calls: list[CallMade] = field(default_factory=list)
    _read: int = 0

    @property
    def environ(self) -> dict[str, str]:
        environ = {
            **os.environ,
            "MOOT_LEDGER": self.database.address,
            "MOOT_HOME": str(self.folder / "home"),
            "MOOT_RUNNER": "workers",
        }
        return environ | ({"MOOT_TEMPORAL": self.temporal.address} if self.temporal else {})

    @property
    def log(self) -> Path:
        return self.folder / "workers.log"

    def start_worker(self) -> None:
        self.workers.append(self._start(self._build_command(), self.environ))

    def start_old_worker(self, tree: Path) -> int:
        """Start a worker with the code of another tree of Moot; its process id."""
        self.workers.append(
            self._start(
                self._build_command(), {**self.environ, "PYTHONPATH": str(tree / "src")}, tree
            )
        )
        return self.workers[-1].pid

    def start_far_worker(self) -> None:
        """Start the worker at the far end of the line."""
        environ = {**self.environ, "MOOT_LEDGER": self.line.address}
        environ |= {"MOOT_TEMPORAL": self.far_temporal} if self.far_temporal else {}
        self.far_worker = self._start([*self.line.command, *self._build_command()], environ)
        self.workers.append(self.far_worker)

    def _build_command(self) -> list[str]:
        arguments = [
            str(self.folder / "calls"),
            str(QUICK_SECONDS),
            str(self.lease),
            str(SESSIONS),
            str(self.seconds),
        ]
        return [sys.executable, "-m", "bench.scale.counted_worker", *arguments]

    def choose_worker(self) -> "subprocess.Popen[bytes]":
        """The oldest worker that is not at the far end of the line."""
        return next(worker for worker in self.workers if worker is not self.far_worker)

    def start_server(self) -> None:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        arguments = [
            "-m",
            "moothall.surfaces.cli.main",
            "serve",
            "--workers",
            "--port",
            str(self.port),
        ]
        self.server = self._start([sys.executable, *arguments], self.environ)

    def _start(
        self, command: list[str], environ: dict[str, str], tree: Path = ROOT
    ) -> "subprocess.Popen[bytes]":
        with self.log.open("ab") as log:
            return subprocess.Popen(command, cwd=tree, env=environ, stdout=log, stderr=log)

    def kill_worker(self, worker: "subprocess.Popen[bytes]") -> None:
        worker.kill()
        worker.wait()
        self.workers.remove(worker)

    def list_calls(self) -> list[CallMade]:
        """All calls so far, in the order in which they were written down."""
        path = self.folder / "calls"
        if path.exists():
            with path.open() as lines:
                lines.seek(self._read)
                new = lines.read()
            new = new[: new.rfind("\n") + 1]
            self._read += len(new)
            for at, seed, ask, pid in map(str.split, new.splitlines()):
                self._calls.append(CallMade(float(at), int(seed), ask, int(pid)))
        return self._calls

    def measure_cpu(self) -> float:
        """Seconds of CPU that the living workers have taken."""
        return sum(read_cpu(worker.pid, 11, 12) for worker in self.workers)

    def measure_memory(self) -> int:
        """The largest worker in MB."""
        return max(map(read_memory, [worker.pid for worker in self.workers]))

    def is_server_well(self) -> bool:
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.port}/healthz", timeout=5.0
            ) as response:
                return bool(response.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def call_server(self, method: str, **params: object) -> Any:
        """Call the server as its owner, over HTTP; raises OSError, or AssertionError for an error that it answers."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        key = load_owner_key(self.folder / "home")
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/rpc", body, headers)
        with urllib.request.urlopen(request, timeout=30.0) as response:
            answer = json.load(response)
        assert "result" in answer, answer
        return answer["result"]

    def stop(self) -> None:
        for process in [*self.workers, *([self.server] if self.server else [])]:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


def read_memory(pid: int) -> int:
    """How much memory a process holds, in MB; 0 if it has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20
