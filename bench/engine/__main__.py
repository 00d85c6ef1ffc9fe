"""Runs the engine bench and prints its tables: `python -m bench.engine [--quick] [--only turns,crowd,start-up,length]`.

Every cell is run several times, the peers in turn. The tables have the median of the runs and their range; where the runs of a
cell fall into two heaps (a disk that is quick and then slow), both are told.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from bench.engine.commands import measure_length, measure_start_up
from bench.engine.peers.common import REPLY_SECONDS
from bench.engine.peers.environments import environments, script

ROOT = Path(__file__).resolve().parents[2]
TURNS = (20, 200, 1_000)
SINGLE = {
    "moot": ("ring", "roundtable", "persona", "ring-memory"),
    "loop": ("commit",),
    "langgraph": (
        "blocking-sync-delta",
        "blocking-sync-delta5000",
        "aio-sync-delta",
        "aio-sync-full",
    ),
    "autogen": ("memory", "saved"),
}
CROWD = {
    "moot": ("ring", "persona"),
    "loop": ("group",),
    "langgraph": ("aio-sync-delta", "aio-sync-delta-own"),
    "autogen": ("memory",),
}
CROWD_TURNS, CROWD_SESSIONS = 20, 200
CALLS_IN_A_ROW = {"persona": 2}
"""Replies that one turn waits for one after the other, where it is not one."""
CROWD_AIMS = {"ring": 1.5, "persona": 2.0}
TABLES = ("turns", "crowd", "start-up", "length")
APART = 1.25
"""How far two runs must lie apart, one divided by the other, to belong to two heaps."""


@dataclass(frozen=True)
class Cell:
    peer: str
    variant: str
    scenario: str
    turns: int
    sessions: int


def cells(tables: Sequence[str]) -> Iterator[Cell]:
    for turns in TURNS if "turns" in tables else ():
        for peer, variants in SINGLE.items():
            yield from (Cell(peer, variant, "single", turns, 1) for variant in variants)
    for peer, variants in CROWD.items() if "crowd" in tables else ():
        yield from (
            Cell(peer, variant, "crowd", CROWD_TURNS, CROWD_SESSIONS) for variant in variants
        )


def run(cell: Cell, interpreters: dict[str, Path], folder: Path) -> dict[str, Any]:
    """One run in a process of its own."""
    options = ["--scenario", cell.scenario, "--variant", cell.variant, "--turns", str(cell.turns)]
    options += ["--sessions", str(cell.sessions), "--db", str(folder)]
    if cell.peer == "moot":
        command, where = [sys.executable, "-m", "bench.engine.peer_moot", *options], ROOT
    else:
        command, where = (
            [str(interpreters[cell.peer]), str(script(cell.peer)), *options],
            script(cell.peer).parent,
        )
    done = subprocess.run(
        command, cwd=where, check=True, capture_output=True, text=True, timeout=600
    )
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def summarize(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The median of each figure over the runs of one cell, with the CPU of all of them."""
    medians = {
        key: median(row[key] for row in rows) for key in ("cpu_s", "wall_s", "rss_mb", "disk_bytes")
    }
    return {**rows[0], **medians, "runs": sorted(row["cpu_s"] for row in rows)}


def split_heaps(values: Sequence[float]) -> list[list[float]]:
    """Sorted values in two heaps, at the widest gap; in one where no gap is wide."""
    gaps = [after / before for before, after in pairwise(values)]
    if not gaps or max(gaps) < APART:
        return [list(values)]
    at = gaps.index(max(gaps)) + 1
    return [list(values[:at]), list(values[at:])]


def per_turn(row: dict[str, Any], cpu_s: float | None = None) -> float:
    spent = float(row["cpu_s"]) if cpu_s is None else cpu_s
    return spent / (int(row["turns"]) * int(row["sessions"])) * 1e6


def show_range(row: dict[str, Any]) -> str:
    least, most = (per_turn(row, row["runs"][at]) for at in (0, -1))
    return f"{per_turn(row):.0f} ({least:.0f}–{most:.0f})"


def tell_heaps(rows: list[dict[str, Any]]) -> list[str]:
    """Say where the runs of one cell fall into two heaps."""
    lines = []
    for row in rows:
        heaps = split_heaps(row["runs"])
        if row["scenario"] == "single" and len(heaps) == 2:
            told = ", ".join(f"{len(heap)} × {per_turn(row, median(heap)):.0f}" for heap in heaps)
            lines.append(f"- {row['peer']} {row['variant']}, {row['turns']} turns: {told} µs")
    return ["Runs in two heaps:", "", *lines, ""] if lines else []


def ideal(row: dict[str, Any]) -> float:
    """How long a crowd takes when nothing costs anything; a persona meeting ends with a draft and a vote."""
    calls = CALLS_IN_A_ROW.get(row["variant"], 1)
    closing = 2 if row["variant"] == "persona" else 0
    return (int(row["turns"]) * calls + closing) * REPLY_SECONDS


def single_table(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "| one session, its opening included | durable | µs CPU per turn, 20 | 200 | 1,000 | bytes on disk ÷ text | peak MB |",
        "|---|---|---|---|---|---|---|",
    ]
    for peer, variants in SINGLE.items():
        for variant in variants:
            found = {
                row["turns"]: row
                for row in rows
                if (row["peer"], row["variant"], row["scenario"]) == (peer, variant, "single")
            }
            last = found[TURNS[-1]]
            figures = " | ".join(show_range(found[turns]) for turns in TURNS)
            disk = f"{last['disk_bytes'] / last['text_bytes']:.2f}" if last["disk_bytes"] else "–"
            durable = "yes" if last["durable"] else "no"
            lines.append(
                f"| {peer} {variant} | {durable} | {figures} | {disk} | {last['rss_mb']:.0f} |"
            )
    return lines


def crowd_table(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        f"| {CROWD_SESSIONS} sessions × {CROWD_TURNS} turns, {REPLY_SECONDS * 1e3:.0f} ms model "
        "| durable | CPU s | wall s | ideal s | wall ÷ ideal |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        if row["scenario"] == "crowd":
            durable = "yes" if row["durable"] else "no"
            figures = f"{row['cpu_s']:.2f} | {row['wall_s']:.2f} | {ideal(row):.2f} | {row['wall_s'] / ideal(row):.2f}"
            lines.append(f"| {row['peer']} {row['variant']} | {durable} | {figures} |")
    return lines


def turn_verdicts(rows: list[dict[str, Any]]) -> list[str]:
    """What one session was aimed at, and whether it was reached."""

    def single(peer: str, variant: str, turns: int) -> dict[str, Any]:
        return next(
            r
            for r in rows
            if (r["peer"], r["variant"], r["scenario"], r["turns"])
            == (peer, variant, "single", turns)
        )

    graphs = [
        row
        for row in rows
        if row["peer"] == "langgraph" and row["scenario"] == "single" and row["durable"]
    ]
    lines = []
    for turns in TURNS:
        rival = min(per_turn(row) for row in graphs if row["turns"] == turns)
        share = per_turn(single("moot", "ring", turns)) / rival
        lines.append(
            _verdict(f"CPU per turn ÷ LangGraph's best durable, {turns} turns", share, 0.25)
        )
    growth = per_turn(single("moot", "ring", 1_000)) / per_turn(single("moot", "ring", 20))
    lines.append(_verdict("CPU per turn at 1,000 turns ÷ at 20 (ring)", growth, 1.2))
    growth = per_turn(single("moot", "persona", 1_000)) / per_turn(single("moot", "persona", 20))
    lines.append(_verdict("CPU per turn at 1,000 turns ÷ at 20 (persona)", growth, 1.2))
    row = single("moot", "ring", 1_000)
    lines.append(
        _verdict("bytes on disk ÷ text (ring)", row["disk_bytes"] / row["text_bytes"], 3.0)
    )
    row = single("moot", "persona", 1_000)
    lines.append(
        _verdict(
            "bytes on disk ÷ text (persona, speeches and reasons)",
            row["disk_bytes"] / row["text_bytes"],
            3.0,
        )
    )
    return lines


def crowd_verdicts(rows: list[dict[str, Any]]) -> list[str]:
    """What many sessions at once were aimed at, and whether it was reached."""
    lines = []
    for row in rows:
        if row["peer"] == "moot" and row["scenario"] == "crowd":
            aim = CROWD_AIMS[row["variant"]]
            lines.append(
                _verdict(
                    f"200 sessions, wall ÷ ideal ({row['variant']})",
                    row["wall_s"] / ideal(row),
                    aim,
                )
            )
    return lines


def _verdict(what: str, found: float, aim: float) -> str:
    return f"- {what}: {found:.2f}, aimed at ≤ {aim:g}: {'met' if found <= aim else 'MISSED'}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the engine beside its peers.")
    parser.add_argument("--runs", type=int, default=5, help="runs of each cell")
    parser.add_argument("--quick", action="store_true", help="one run of each cell")
    parser.add_argument(
        "--only", default=",".join(TABLES), metavar="TABLES", help=f"some of {','.join(TABLES)}"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=ROOT / ".cache" / "bench",
        help="where the peers' environments are kept",
    )
    options = parser.parse_args()
    tables, runs = options.only.split(","), 1 if options.quick else options.runs
    if unknown := set(tables) - set(TABLES):
        parser.error(f"--only {','.join(sorted(unknown))}: expected some of {','.join(TABLES)}")
    wanted = list(cells(tables))
    options.cache.mkdir(parents=True, exist_ok=True)
    interpreters = environments(options.cache) if wanted else {}
    rows: dict[Cell, list[dict[str, Any]]] = {}
    lines = [
        f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, {runs} runs a cell: median (least–most)",
        "",
    ]
    with tempfile.TemporaryDirectory(prefix="bench-", dir=options.cache) as folder:
        for number in range(runs):
            for cell in wanted:
                print(
                    f"run {number + 1}: {cell.peer} {cell.variant} {cell.scenario} {cell.turns}",
                    file=sys.stderr,
                )
                rows.setdefault(cell, []).append(run(cell, interpreters, Path(folder)))
        found = [summarize(each) for each in rows.values()]
        if "turns" in tables:
            lines += [*single_table(found), "", *tell_heaps(found), *turn_verdicts(found), ""]
        if "crowd" in tables:
            lines += [*crowd_table(found), "", *crowd_verdicts(found), ""]
        if "start-up" in tables:
            lines += [*measure_start_up(Path(folder), runs), ""]
        if "length" in tables:
            lines += [*measure_length(Path(folder)), ""]
    print("\n".join(lines).rstrip())


if __name__ == "__main__":
    main()
