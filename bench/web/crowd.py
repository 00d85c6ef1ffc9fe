"""What viewers cost those who contribute (`python -m bench.web.crowd [CONTRIBUTIONS]`): see docs/bench-web.md.

The server, the viewers and whoever contributes are processes of their own. Contributions follow each other without a pause, with
nobody looking, with 50 and with 500 viewers, in turn; then with 500 of whom one has stopped reading. As a program with more
arguments this module is the viewers: it reads streams until its standard input ends, and says how far each has come when asked.
"""

import asyncio
import http.client
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, NamedTuple

from bench.web.meeting import SEATS, record_meeting
from bench.web.viewers import Served, serve

VIEWERS: Final = (0, 50, 500)
ROUNDS: Final = 3
DOORS: Final = {"the page's stream": "/events?session={session}", "entries": "/events/{session}"}
STOPPED: Final = "stopped"
# By its text: parsing all of it for 500 viewers would keep a core busy.
SEQ: Final = re.compile(rb'data: \{(?:"sessionId": "[^"]*", )?"seq": (\d+)')


class Cost(NamedTuple):
    """What a contribution took, in milliseconds: its call (median and mean), and the server's CPU until all have seen it."""

    middle: float
    mean: float
    cpu: float


def main() -> None:
    if len(sys.argv) > 2:
        asyncio.run(read_streams(*sys.argv[1:]))
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        session = asyncio.run(record_meeting(home, 50))
        with serve(home) as served:
            table = Speakers(served, session, 50)
            table.speak(count)
            print(
                "| viewers | ms per contribution | ÷ none | mean | ÷ none | server, CPU ms | ÷ none |"
            )
            print("|---|---|---|---|---|---|---|")
            for name, path in DOORS.items():
                measure_door(table, name, path.format(session=session), count)


def measure_door(table: "Speakers", name: str, path: str, count: int) -> None:
    """Print the rows of one kind of stream."""
    kinds = [(str(number), number, "") for number in VIEWERS] + [
        (f"{VIEWERS[-1]}, one stopped reading", VIEWERS[-1], STOPPED)
    ]
    found: dict[str, list[Cost]] = {label: [] for label, _, _ in kinds}
    for _ in range(ROUNDS):
        for label, number, extra in kinds:
            with open_viewers(table, path, number, extra) as viewers:
                found[label].append(measure(table, viewers, count))
    none = pick_middle(found["0"])
    for label, each in found.items():
        cost = pick_middle(each)
        cells = [
            f"{value:.1f} | {value / base:.2f}" for value, base in zip(cost, none, strict=True)
        ]
        print(f"| {name}: {label} | {' | '.join(cells)} |", flush=True)


def pick_middle(costs: list[Cost]) -> Cost:
    return Cost(*(statistics.median(values) for values in zip(*costs, strict=True)))


def measure(table: "Speakers", viewers: "Viewers | None", count: int) -> Cost:
    before = table.served.read_cpu()
    waited = table.speak(count)
    if viewers is not None:
        viewers.wait_for(table.head)
    spent = (table.served.read_cpu() - before) / count
    return Cost(1_000 * statistics.median(waited), 1_000 * statistics.mean(waited), 1_000 * spent)


class Speakers:
    """The seats of the meeting, who speak in turn over one connection."""

    def __init__(self, served: Served, session: str, spoken: int) -> None:
        self.served, self.session, self._spoken = served, session, spoken
        self._link = http.client.HTTPConnection(served.address, timeout=120)

    @property
    def head(self) -> int:
        return int(self.served("moot.getEntries", sessionId=self.session, after=10**9)["head"])

    def speak(self, times: int) -> list[float]:
        """How long each call took, in seconds."""
        found = []
        # The server closes a connection that has been idle for a while.
        self._link.close()
        for _ in range(times):
            said = (
                f"number {self._spoken}: I agree with the last speaker. "
                + "So do those before. " * 40
            )
            params = {
                "sessionId": self.session,
                "seat": SEATS[self._spoken % len(SEATS)],
                "answer": said,
            }
            body = json.dumps(
                {"jsonrpc": "2.0", "id": 1, "method": "moot.answer", "params": params}
            )
            began = time.perf_counter()
            self._link.request(
                "POST", "/rpc", body, {"Content-Type": "application/json", **self.served.headers}
            )
            answer = json.load(self._link.getresponse())
            found.append(time.perf_counter() - began)
            assert "error" not in answer, answer
            self._spoken += 1
        return found


@dataclass(frozen=True, slots=True)
class Viewers:
    """A process that reads streams."""

    ask: IO[str]
    answer: IO[str]

    def wait_for(self, entry: int) -> None:
        """Wait until all who read have an entry."""
        end = time.monotonic() + 120
        while True:
            print(file=self.ask, flush=True)
            seen = int(self.answer.readline())
            if seen >= entry:
                return
            assert time.monotonic() < end, f"a viewer has {seen}, not {entry}"
            time.sleep(0.02)


@contextmanager
def open_viewers(table: Speakers, path: str, number: int, extra: str) -> Iterator[Viewers | None]:
    if number == 0:
        yield None
        return
    words = [
        sys.executable,
        "-m",
        "bench.web.crowd",
        table.served.address,
        table.served.key,
        path,
        str(number),
        str(table.head),
        extra,
    ]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield Viewers(process.stdin, process.stdout)
        finally:
            process.kill()


async def read_streams(
    address: str, key: str, path: str, number: str, head: str, extra: str
) -> None:
    """Read so many streams; answer each line of standard input with the least entry that all of them have."""
    seen = [0] * int(number)
    reading = [
        asyncio.create_task(
            read_stream(
                address, build_request(address, key, path, int(head)), int(head), seen, place
            )
        )
        for place in range(int(number))
    ]
    if extra == STOPPED:
        host, _, port = address.partition(":")
        _, writer = await asyncio.open_connection(host, int(port), limit=1_024)
        writer.write(build_request(address, key, path, int(head)))
    while any(each == 0 for each in seen):  # noqa: ASYNC110  # many readers, each with its own count
        await asyncio.sleep(0.01)
    print("ready", flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        print(min(seen), flush=True)
    for task in reading:
        task.cancel()


def build_request(address: str, key: str, path: str, head: int) -> bytes:
    last = f"Last-Event-ID: {head}\r\n" if "?" not in path else ""
    known = f"Host: {address}\r\nAuthorization: Bearer {key}\r\n"
    return f"GET {path} HTTP/1.1\r\n{known}Accept: text/event-stream\r\n{last}\r\n".encode()


async def read_stream(address: str, request: bytes, head: int, seen: list[int], place: int) -> None:
    host, _, port = address.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=2**24)
    writer.write(request)
    while line := await reader.readline():
        if line.startswith(b"retry:"):
            seen[place] = max(seen[place], head)
        elif found := SEQ.match(line):
            seen[place] = max(seen[place], int(found[1]))


if __name__ == "__main__":
    main()
