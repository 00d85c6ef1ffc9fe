"""Appends to the ledgers: `python -m bench.engine.ledgers [--source FOLDER]`.

One session appends one entry after the other; then 200 sessions do so at once. Every append is durable before the next one of its
session. The ledgers take turns, so that what else the machine does falls on all of them; a PostgreSQL server is started for each
version. Then four processes append to one SQLite file at once, each as fast as it can. `--source FOLDER` measures the ledgers of
another version of Moot beside these.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final
from uuid import uuid4

from bench.scale.database import open_database
from moothall.domain.ids import SessionId
from moothall.domain.records import StoredRecord
from moothall.ports.ledger import Ledger

ALONE, CROWD, EACH = 300, 200, 20
PROCESSES, SECONDS = 4, 4.0
BODY: Final = b'{"fact":"bench","text":"' + b"a" * 400 + b'"}'
AIM_CROWD, AIM_SHARE, AIM_GAIN = 1.0, 0.5, 5.0


def build_record(number: int) -> StoredRecord:
    return StoredRecord(number, 1_700_000_000_000_000 + number, BODY, bytes(32))


def open_bench_ledger(address: str) -> "Ledger":
    if address.startswith("postgres"):
        from moothall.ledgers.postgres import PostgresLedger

        return PostgresLedger(address)
    from moothall.ledgers.sqlite import SqliteLedger

    return SqliteLedger(Path(address))


async def append_all(address: str) -> dict[str, float]:
    """Append with one session, then with many; return appends a second, and CPU µs of this process for each."""
    ledger, tag = open_bench_ledger(address), uuid4().hex[:8]

    async def append(name: str, count: int) -> None:
        for number in range(1, count + 1):
            await ledger.append(SessionId(f"{name}-{tag}"), [build_record(number)])

    async with ledger:  # type: ignore[attr-defined]  # those measured here are opened so
        await append("first", 1)
        wall, cpu = time.perf_counter(), time.process_time()
        await append("alone", ALONE)
        middle, cpu_middle = time.perf_counter(), time.process_time()
        await asyncio.gather(*(append(f"many{number}", EACH) for number in range(CROWD)))
        end, cpu_end = time.perf_counter(), time.process_time()
    return {
        "one": ALONE / (middle - wall),
        "many": CROWD * EACH / (end - middle),
        "cpu_one": 1e6 * (cpu_middle - cpu) / ALONE,
        "cpu_many": 1e6 * (cpu_end - cpu_middle) / (CROWD * EACH),
    }


async def append_for(address: str, begin: float) -> int:
    """Append to a session of one's own from a moment on, for SECONDS; return how many appends that were."""
    name, done = SessionId(f"own-{uuid4().hex[:8]}"), 0
    async with open_bench_ledger(address) as ledger:  # type: ignore[attr-defined]
        await asyncio.sleep(max(0.0, begin - time.time()))
        while time.time() < begin + SECONDS:
            done += 1
            await ledger.append(name, [build_record(done)])
    return done


def start_child(*arguments: str, source: Path | None = None) -> "subprocess.Popen[str]":
    """Start one run in a process of its own, with this version of Moot or another one's source."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), "."] if source else ["."])}
    command = [sys.executable, "-m", "bench.engine.ledgers", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ)


def read_child(child: "subprocess.Popen[str]") -> str:
    told, _ = child.communicate(timeout=300)
    if child.returncode:
        raise RuntimeError(f"a run of the bench failed ({child.returncode})")
    return told.splitlines()[-1]


def measure_ledgers(
    folder: Path, runs: int, addresses: list[str], source: Path | None
) -> list[str]:
    """Let all ledgers take turns; return the table of their medians, and what was aimed at."""
    cells: dict[str, tuple[str, Path | None]] = {
        "SQLite": ("", None),
        "PostgreSQL": (addresses[0], None),
    }
    if source is not None:
        cells["SQLite, the other version"] = ("", source)
        cells["PostgreSQL, the other version"] = (addresses[1], source)
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in cells}
    for _ in range(runs):
        for name, (address, code) in cells.items():
            child = start_child(
                "--append", address or str(folder / f"{uuid4().hex}.db"), source=code
            )
            rows[name].append(json.loads(read_child(child)))
    found = {
        name: {key: statistics.median(row[key] for row in each) for key in each[0]}
        for name, each in rows.items()
    }
    lines = [
        f"| ledger | appends/s, one session (least to most) | {CROWD} sessions | CPU µs an append, one | {CROWD} |",
        "|---|---|---|---|---|",
    ]
    for name, each in found.items():
        shown = [f"{each[key]:,.0f} ({_show_range(rows[name], key)})" for key in ("one", "many")]
        lines.append(
            f"| {name} | {shown[0]} | {shown[1]} | {each['cpu_one']:.0f} | {each['cpu_many']:.0f} |"
        )
    share = found["PostgreSQL"]["many"] / found["SQLite"]["many"]
    lines += ["", _compare(f"PostgreSQL ÷ SQLite, {CROWD} sessions", share, AIM_CROWD)]
    if source is not None:
        gain = found["PostgreSQL"]["one"] / found["PostgreSQL, the other version"]["one"]
        lines.append(_compare("PostgreSQL ÷ the other version, one session", gain, AIM_GAIN))
    return lines


def measure_processes(folder: Path, runs: int, source: Path | None) -> list[str]:
    """Let four processes append to one file; return the table."""
    lines = [
        "| four processes on one SQLite file, appends/s | all | least ÷ most |",
        "|---|---|---|",
    ]
    verdict = ""
    for name, code in (("this version", None), ("the other version", source)):
        if name != "this version" and source is None:
            continue
        shares: list[list[float]] = []
        for _ in range(runs):
            path, begin = folder / f"{uuid4().hex}.db", time.time() + 6
            children = [
                start_child("--append", str(path), "--begin", str(begin), source=code)
                for _ in range(PROCESSES)
            ]
            shares.append(
                sorted((int(read_child(child)) / SECONDS for child in children), reverse=True)
            )
        middle = sorted(shares, key=lambda each: each[-1] / each[0])[len(shares) // 2]
        fair = middle[-1] / middle[0]
        lines.append(
            f"| {name}: {', '.join(f'{each:,.0f}' for each in middle)} | {sum(middle):,.0f} | {fair:.2f} |"
        )
        verdict = verdict or _compare("least ÷ most of four processes", fair, AIM_SHARE)
    return [*lines, "", verdict]


def _show_range(rows: list[dict[str, float]], key: str) -> str:
    return f"{min(row[key] for row in rows):,.0f} to {max(row[key] for row in rows):,.0f}"


def _compare(what: str, found: float, aim: float) -> str:
    return f"- {what}: {found:.2f}, aimed at ≥ {aim:g}: {'met' if found >= aim else 'MISSED'}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure appends to the ledgers.")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--source", type=Path, help="the folder `src` of another version of Moot")
    parser.add_argument("--append", help=argparse.SUPPRESS)
    parser.add_argument("--begin", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.append and options.begin:
        print(asyncio.run(append_for(options.append, options.begin)))
    elif options.append:
        print(json.dumps(asyncio.run(append_all(options.append))))
    else:
        with (
            tempfile.TemporaryDirectory() as name,
            open_database() as database,
            open_database() as other,
        ):
            lines = measure_ledgers(
                Path(name), options.runs, [database.address, other.address], options.source
            )
            print(
                "\n".join(
                    [*lines, "", *measure_processes(Path(name), options.runs, options.source)]
                )
            )


if __name__ == "__main__":
    main()
