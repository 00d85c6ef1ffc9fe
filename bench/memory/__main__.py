"""The memory of a server over many sessions (`python -m bench.memory [SESSIONS]`).

Every session is opened, spoken in, viewed and closed over JSON-RPC; the memory that is the server's own is read at ten marks. The
first marks fill its caches; what grows in the second half, grows with the sessions. Nobody is told of earlier decisions
(`MOOT_MEMORY=off`): looking for them takes longer than everything else.
"""

import json
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

from bench.web.viewers import Served, serve

BATCH = 20
MARKS = 10
MAX_BYTES = 1_024
"""What a session may cost for good: its line in decision memory, without what was said."""
SAID = "Yes, it is enough for us. " * 80
"""Two thousand characters, as a model writes them."""


def call_all(served: Served, calls: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    """The results of several calls in one request."""
    body = json.dumps(
        [
            {"jsonrpc": "2.0", "id": at, "method": name, "params": params}
            for at, (name, params) in enumerate(calls)
        ]
    )
    headers = {"Content-Type": "application/json", **served.headers}
    request = urllib.request.Request(f"http://{served.address}/rpc", body.encode(), headers)
    with urllib.request.urlopen(request, timeout=600) as found:
        answers = sorted(json.load(found), key=lambda answer: int(answer["id"]))
    wrong = next((answer["error"]["message"] for answer in answers if "error" in answer), None)
    if wrong is not None:
        raise RuntimeError(wrong)
    return [answer["result"] for answer in answers]


def hold_sessions(served: Served, first: int, count: int) -> None:
    """Hold so many short deliberations, to their ends."""
    for start in range(first, first + count, BATCH):
        numbers = range(start, min(start + BATCH, first + count))
        plan = {"protocol": "debate", "seats": ["ada", "bob"]}
        opened = call_all(
            served,
            [("moot.openSession", {"topic": f"Is {number} enough?", **plan}) for number in numbers],
        )
        names = [each["sessionId"] for each in opened]
        said = {"participant": "ada", "type": "propose", "text": SAID, "confidence": 0.8}
        call_all(served, [("cstp.contribute", {"deliberationId": name, **said}) for name in names])
        call_all(served, [("moot.getView", {"sessionId": name}) for name in names])
        call_all(
            served,
            [("cstp.closeDeliberation", {"deliberationId": name, "force": True}) for name in names],
        )


def main() -> None:
    sessions = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    step = max(BATCH, sessions // MARKS)
    marks: list[tuple[int, float]] = []
    print(
        "| sessions | memory of the server, MB | CPU, ms per session |\n|---|---|---|", flush=True
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        serve(Path(folder) / "home", MOOT_MEMORY="off") as served,
    ):
        done = 0
        while done < sessions:
            before = served.read_cpu()
            hold_sessions(served, done, min(step, sessions - done))
            taken, done = min(step, sessions - done), min(done + step, sessions)
            marks.append((done, served.read_memory()))
            cpu = 1_000 * (served.read_cpu() - before) / taken
            print(f"| {done:,} | {marks[-1][1]:.1f} | {cpu:.1f} |", flush=True)
    (first, start), (last, end) = marks[len(marks) // 2 - 1], marks[-1]
    each = (end - start) * 1_048_576 / max(1, last - first)
    met = "met" if each <= MAX_BYTES else "MISSED"
    print(
        f"\nFrom {first:,} to {last:,} sessions: {each:,.0f} bytes for each ({met}: ≤ {MAX_BYTES:,})."
    )


if __name__ == "__main__":
    main()
