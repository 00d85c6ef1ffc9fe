"""Many viewers of one session: what each event costs the server for each of them.

The server is a process of its own, and so are the viewers (this one): what is measured is the server's CPU time and memory.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.web.meeting import environ_of
from moothall.memory.tokens import load_owner_key

MOOT = Path(sys.executable).with_name("moot")


@dataclass(frozen=True, slots=True)
class Served:
    """A running `moot serve`."""

    address: str
    pid: int
    key: str

    def __call__(self, method: str, /, **params: Any) -> Any:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        request = urllib.request.Request(
            f"http://{self.address}/rpc", body, {"Content-Type": "application/json", **self.headers}
        )
        with urllib.request.urlopen(request, timeout=60) as found:
            answer = json.load(found)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    @property
    def headers(self) -> dict[str, str]:
        """What says that the owner of its home calls."""
        return {"Authorization": f"Bearer {self.key}"}

    def speak(self, session: str, text: str) -> None:
        """Let the seat whose turn it is say something."""
        seat = self("moot.getView", sessionId=session, since=10**9)["waiting"][0]["seat"]
        self("moot.answer", sessionId=session, seat=seat, answer=text)

    def read_cpu(self) -> float:
        """Seconds of CPU that it has used."""
        fields = (
            Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        )
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def read_memory(self) -> float:
        """MB of memory that are its own."""
        found = re.search(
            r"Private_Dirty:\s+(\d+) kB",
            Path(f"/proc/{self.pid}/smaps_rollup").read_text(encoding="utf-8"),
        )
        assert found
        return int(found[1]) / 1024


@contextmanager
def serve(home: Path, **more: str) -> Iterator[Served]:
    """`moot serve` on this home, with `more` in its environment."""
    environ = {**environ_of(home), "PATH": os.environ.get("PATH", ""), **more}
    process = subprocess.Popen(
        [MOOT, "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environ,
        text=True,
    )
    try:
        assert process.stdout is not None
        found = re.search(r"http://([^ /]+)", process.stdout.readline())
        assert found
        yield Served(found[1], process.pid, load_owner_key(home))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


class Viewer:
    """One reader of the stream; counts its views, and all bytes that come on its line."""

    def __init__(self) -> None:
        self.views = 0
        self.received = 0

    async def read(self, served: Served, session: str) -> None:
        host, _, port = served.address.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=2**24)
        headers = {"Host": served.address, "Accept": "text/event-stream", **served.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"GET /events?session={session} HTTP/1.1\r\n{lines}\r\n".encode())
        try:
            while line := await reader.readline():
                self.received += len(line)
                if line.startswith(b"event: view"):
                    self.views += 1
        finally:
            writer.close()


async def until(found: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not found():  # noqa: ASYNC110  # many readers, each with its own count
            await asyncio.sleep(0.005)


def have_all_seen(viewers: list[Viewer], before: list[int]) -> bool:
    return all(viewer.views > old for viewer, old in zip(viewers, before, strict=True))


@dataclass(frozen=True, slots=True)
class ViewerCost:
    """What one of `viewers` costs: milliseconds of CPU for each event, MB, and bytes on its line for each event."""

    viewers: int
    cpu_ms: float
    memory_mb: float
    event_bytes: float


async def measure_viewers(
    served: Served, session: str, speak: Callable[[int], Awaitable[None]], viewers: int, events: int
) -> ViewerCost:
    """Let `events` entries be recorded with one viewer, then with `viewers` more, and compare."""
    first = Viewer()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(first.read(served, session))]
        await until(lambda: first.views >= 1)

        async def spend(watching: list[Viewer]) -> float:
            before = served.read_cpu()
            for number in range(events):
                seen = [viewer.views for viewer in watching]
                await speak(number)
                # Each entry an event of its own: the stream puts together what comes within a tenth of a second.
                await until(partial(have_all_seen, watching, seen))
            return served.read_cpu() - before

        await spend([first])
        before = first.received
        alone = await spend([first])
        received = first.received - before
        memory = served.read_memory()
        crowd = [Viewer() for _ in range(viewers)]
        tasks += [group.create_task(each.read(served, session)) for each in crowd]
        await until(lambda: all(each.views >= 1 for each in crowd))
        held = served.read_memory()
        together = await spend([first, *crowd])
        grown = max(held, served.read_memory()) - memory
        for task in tasks:
            task.cancel()
    return ViewerCost(
        viewers, 1_000 * (together - alone) / (viewers * events), grown / viewers, received / events
    )
