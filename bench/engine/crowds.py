"""Many agents in one debate: what a contribution costs in process, by JSON-RPC and by MCP: `python -m bench.engine.crowds`.

Every seat is an agent from outside. In three phases each contributes 800 bytes, then each votes on all syntheses; the last vote
closes the debate. First the agents speak one after the other, which gives the CPU time of a contribution; then a second debate is
held in which all speak at once, which gives their waiting times. Over a port the CPU is that of the server's process alone.
In a third one each agent does what agents do: it waits for its turn, reads what is new, and speaks, until the debate is closed.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.engine.peers.common import text_of
from bench.web.meeting import environ_of
from bench.web.viewers import Served, serve
from moothall.app.deliberations import Deliberations
from moothall.app.moot import Moot

SEATS: Final = (5, 20, 50)
PHASES: Final = ("propose", "support", "synthesize")
AIM_CPU_MS: Final = 3.0
AIM_P99_MS: Final = 200.0
AIM_GROWTH: Final = 1.2
MAX_IDLE_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Door:
    """A way to open a debate and to contribute to it, and the CPU seconds that whoever answers has used."""

    open: Callable[[list[str]], Awaitable[str]]
    contribute: Callable[[str, dict[str, Any]], Awaitable[None]]
    read_cpu: Callable[[], float]


@dataclass(frozen=True, slots=True)
class CrowdCost:
    """Milliseconds: CPU of a contribution and of a vote; where all spoke, or voted, at once: how long each waited, and the CPU of
    one such burst, which is the least that the last one waits on a machine that does nothing else.
    """

    door: str
    seats: int
    cpu: float
    vote_cpu: float
    waits: list[float]
    vote_waits: list[float]
    burst_cpu: float
    vote_burst_cpu: float


def build_contribution(phase: str, seat: int) -> dict[str, Any]:
    """What a seat says in a phase; the question is line 1, and the proposals follow it."""
    said = {
        "participant": f"agent{seat:02}",
        "type": phase,
        "confidence": 0.7,
        "text": text_of(seat, PHASES.index(phase)),
    }
    return (
        {**said, "refersTo": 2 + seat}
        if phase == "support"
        else {**said, "choice": f"way {seat % 3}"}
    )


def build_vote(seat: int, seats: int) -> dict[str, Any]:
    """A vote on every synthesis: these come after the proposals and the arguments."""
    first = 2 + 2 * seats
    ballot = [
        {"candidate": first + number, "position": "oppose" if number % 7 else "support"}
        for number in range(seats)
    ]
    return {"participant": f"agent{seat:02}", "type": "vote", "confidence": 0.7, "ballot": ballot}


async def measure_crowd(name: str, door: Door, seats: int) -> CrowdCost:
    """Hold two debates: one in which the agents speak in turn, and one in which all speak at once."""
    names = [f"agent{number:02}" for number in range(seats)]
    session = await door.open(names)
    began = door.read_cpu()
    for phase in PHASES:
        for seat in range(seats):
            await door.contribute(session, build_contribution(phase, seat))
    spoken = door.read_cpu()
    for seat in range(seats):
        await door.contribute(session, build_vote(seat, seats))
    voted = door.read_cpu()
    session = await door.open(names)
    rested = door.read_cpu()
    waits = [
        wait
        for phase in PHASES
        for wait in await measure_waits(
            door, session, [build_contribution(phase, seat) for seat in range(seats)]
        )
    ]
    all_spoken = door.read_cpu()
    vote_waits = await measure_waits(
        door, session, [build_vote(seat, seats) for seat in range(seats)]
    )
    all_voted = door.read_cpu()
    return CrowdCost(
        name,
        seats,
        1e3 * (spoken - began) / (len(PHASES) * seats),
        1e3 * (voted - spoken) / seats,
        waits,
        vote_waits,
        1e3 * (all_spoken - rested) / len(PHASES),
        1e3 * (all_voted - all_spoken),
    )


async def measure_waits(door: Door, session: str, said: list[dict[str, Any]]) -> list[float]:
    """Let all contribute at once; return how long each waited."""

    async def wait(each: dict[str, Any]) -> float:
        began = time.perf_counter()
        await door.contribute(session, each)
        return 1e3 * (time.perf_counter() - began)

    return list(await asyncio.gather(*(wait(each) for each in said)))


@asynccontextmanager
async def open_in_process(home: Path) -> AsyncIterator[Door]:
    async with Moot(environ=environ_of(home)) as moot:
        deliberations = Deliberations(moot)

        async def open_debate(names: list[str]) -> str:
            return await deliberations.open(
                "Which way?", seats=dict.fromkeys(names, "mailbox"), protocol="debate"
            )

        async def contribute(session: str, said: dict[str, Any]) -> None:
            given = {
                "refers_to" if name == "refersTo" else name: value for name, value in said.items()
            }
            await deliberations.contribute(session, given.pop("participant"), given)

        yield Door(open_debate, contribute, time.process_time)


class Connection:
    """One agent's connection to the server, kept open; the least that HTTP/1.1 needs, because its cost is not the server's."""

    def __init__(self, served: Served) -> None:
        self._address = served.address
        self._key = served.key
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._used_at = 0.0

    async def post(self, path: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Make one call and return its result; raises RuntimeError if it is refused."""
        host, _, port = self._address.partition(":")
        # The server ends connections that were idle for a while, and agents that speak in turn may be on a busy machine.
        if self._streams is None or time.monotonic() > self._used_at + MAX_IDLE_SECONDS:
            self._streams = await asyncio.open_connection(host, int(port), limit=2**24)
        reader, writer = self._streams
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self._address}\r\nContent-Type: application/json\r\n"
        )
        head += f"Authorization: Bearer {self._key}\r\n"
        head += (
            f"Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        found = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        if "content-length: " in found:
            answer = await reader.readexactly(
                int(found.partition("content-length: ")[2].partition("\r\n")[0])
            )
        else:
            answer = b""
            while length := int(await reader.readline(), 16):
                answer += (await reader.readexactly(length + 2))[:-2]
            await reader.readline()
        # An answer of MCP may come as one event of a stream.
        _, event, data = answer.partition(b"data: {")
        self._used_at = time.monotonic()
        told: dict[str, Any] = json.loads(b"{" + data.partition(b"\n")[0] if event else answer)
        if "error" in told or told["result"].get("isError"):
            raise RuntimeError(f"the server refused: {told}")
        result: dict[str, Any] = told["result"]
        return result


def connect(served: Served, name: str) -> Door:
    """Return the door of a server by JSON-RPC or by MCP; every agent has a connection of its own."""
    connections: dict[str, Connection] = {}

    async def open_debate(names: list[str]) -> str:
        # The server ends connections that were idle for a while.
        connections.clear()
        opened = await asyncio.to_thread(
            lambda: served(
                "cstp.openDeliberation", topic="Which way?", participants=names, protocol="debate"
            )
        )
        return str(opened["deliberationId"])

    async def contribute(session: str, said: dict[str, Any]) -> None:
        connection = connections.setdefault(said["participant"], Connection(served))
        params = {"deliberationId": session, **said}
        if name == "MCP":
            await connection.post("/mcp", "tools/call", {"name": "contribute", "arguments": params})
        else:
            await connection.post("/rpc", "cstp.contribute", params)

    return Door(open_debate, contribute, served.read_cpu)


async def measure_waiting(served: Served, seats: int) -> float:
    """Milliseconds of the server's CPU for each contribution of agents that wait for their turn and read what is new."""
    names = [f"agent{number:02}" for number in range(seats)]
    session = await connect(served, "JSON-RPC").open(names)
    began = served.read_cpu()

    async def take_part(seat: int) -> int:
        connection, cursor, spoken = Connection(served), 0, 0
        while True:
            wanted = {"deliberationId": session, "participant": names[seat], "cursor": cursor}
            turn = await connection.post("/rpc", "cstp.waitForTurn", wanted)
            cursor = turn["cursor"]
            if turn["status"] == "closed":
                return spoken
            if turn["status"] == "your_turn" and not turn["more"]:
                phase = turn["ask"]["phase"]
                words = "support" if phase == "argue" else phase
                said = (
                    build_vote(seat, seats) if phase == "vote" else build_contribution(words, seat)
                )
                await connection.post(
                    "/rpc", "cstp.contribute", {"deliberationId": session, **said}
                )
                spoken += 1

    spoken = sum(await asyncio.gather(*(take_part(seat) for seat in range(seats))))
    return 1e3 * (served.read_cpu() - began) / spoken


async def measure_doors(seats: tuple[int, ...]) -> tuple[list[CrowdCost], dict[int, float]]:
    """Measure every door, each after a small debate that loads what is loaded at first use; then agents that wait."""
    rows, waiting = list[CrowdCost](), dict[int, float]()
    for name in ("in process", "JSON-RPC", "MCP"):
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder) / "home"
            if name == "in process":
                async with open_in_process(home) as door:
                    rows += await _measure_sizes(name, door, seats)
            else:
                with serve(home) as served:
                    rows += await _measure_sizes(name, connect(served, name), seats)
                    if name == "JSON-RPC":
                        waiting = {
                            number: await measure_waiting(served, number) for number in seats
                        }
    return rows, waiting


async def _measure_sizes(name: str, door: Door, seats: tuple[int, ...]) -> list[CrowdCost]:
    await measure_crowd(name, door, 3)
    return [await measure_crowd(name, door, number) for number in seats]


def render_crowds(rows: list[CrowdCost], waiting: dict[int, float]) -> list[str]:
    """Return the table, and below it what was aimed at and what agents that wait cost."""
    lines = [
        "| a debate of agents | seats | CPU ms a contribution | a vote "
        "| all at once: p50 ms | p99 | CPU of all | all vote at once: p50 ms | the last | CPU of all |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        once = [statistics.median(row.waits), find_p99(row.waits), row.burst_cpu]
        once += [statistics.median(row.vote_waits), max(row.vote_waits), row.vote_burst_cpu]
        shown = " | ".join(
            [f"{row.cpu:.2f}", f"{row.vote_cpu:.2f}", *(f"{figure:.0f}" for figure in once)]
        )
        lines.append(f"| {row.door} | {row.seats} | {shown} |")
    lines.append("")
    most = max(row.seats for row in rows)
    for row in (row for row in rows if row.seats == most):
        least = next(each for each in rows if each.door == row.door)
        growth = row.cpu / least.cpu
        lines.append(
            _compare(
                f"{row.door}: CPU of a contribution at {most} seats ÷ at {least.seats}",
                growth,
                AIM_GROWTH,
            )
        )
        if row.door != "in process":
            slowest = max(find_p99(row.waits), *row.vote_waits)
            lines.append(
                _compare(
                    f"{row.door}: CPU ms of a contribution at {most} seats", row.cpu, AIM_CPU_MS
                )
            )
            lines.append(
                _compare(
                    f"{row.door}: {most} at once, ms, p99 and the closing vote", slowest, AIM_P99_MS
                )
            )
    for number, cost in waiting.items():
        lines.append(
            f"- JSON-RPC, {number} agents that wait for their turn and read all: {cost:.1f} ms of CPU a contribution"
        )
    return lines


def find_p99(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.99 * len(values)))]


def _compare(what: str, found: float, aim: float) -> str:
    return f"- {what}: {found:.2f}, aimed at ≤ {aim:g}: {'met' if found <= aim else 'MISSED'}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Measure what a contribution costs among many agents."
    )
    parser.add_argument(
        "--seats", type=int, nargs="+", default=list(SEATS), help="numbers of seats"
    )
    print("\n".join(render_crowds(*asyncio.run(measure_doors(tuple(parser.parse_args().seats))))))


if __name__ == "__main__":
    main()
