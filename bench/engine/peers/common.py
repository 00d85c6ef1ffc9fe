"""What every peer of the engine benchmark shares: the work, the meter and the row printed at the end.

Standard library only, so that each peer's own environment can import it by running its script in this folder.

The work is the same for all: ``SEATS`` seats speak in round-robin order, one message of ``TEXT_BYTES`` bytes per turn,
each shown the last ``WINDOW`` messages. In the scenario ``single`` one session runs and a reply is instant; in
``crowd`` many sessions run at once and a reply takes ``REPLY_SECONDS``.

CPU and wall seconds run from the opening of the session to its last turn. Every peer first holds one short session
(``WARM_UP_TURNS``) that touches no disk, so that imports made on first use count as set-up, not as work.
"""

from __future__ import annotations

import argparse
import json
import resource
import sqlite3
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

SEATS = 5
WINDOW = 6
TEXT_BYTES = 800
REPLY_SECONDS = 0.05
WARM_UP_TURNS = SEATS

VARIANTS: dict[str, dict[str, tuple[str, ...]]] = {
    "moot": {
        "single": ("ring", "ring-memory", "persona", "persona-memory", "roundtable"),
        "crowd": ("ring", "ring-memory", "persona", "persona-memory"),
    },
    "loop": {
        "single": ("commit",),
        "crowd": ("commit", "group"),
    },
    "autogen": {
        "single": ("memory", "saved"),
        "crowd": ("memory", "saved"),
    },
    "langgraph": {
        "single": tuple(
            f"{api}-{durability}-{channel}"
            for api in ("aio", "blocking")
            for durability in ("sync", "async", "exit")
            for channel in ("full", "delta", "delta5000")
        ),
        "crowd": (
            "aio-sync-full",
            "aio-sync-delta",
            "aio-sync-delta-own",
            "aio-async-full",
            "aio-async-delta",
            "aio-exit-full",
            "aio-exit-delta",
        ),
    },
}
"""The variants each peer can run, by peer and scenario; the first of each is its default."""

_PARAGRAPH = (
    "The proposal before us is sound in its outline, but two of its assumptions need to be tested before we commit. "
    "First, the estimate of demand rests on a single season, and the season was an unusual one; a second reading from "
    "the northern sites would settle whether the figure holds. Second, the plan treats the migration as reversible, "
    "yet nothing in the schedule sets aside the time to reverse it. I would rather move a week later with a rehearsed "
    "way back than a week sooner without one. If the others agree, I can draft the rehearsal tonight and bring the "
    "revised schedule to the next round, together with the costs and the names of those who would carry it out. "
)


def text_of(seat: int, turn: int) -> str:
    """The message that a seat gives on a turn: ASCII, exactly ``TEXT_BYTES`` long, the same in every run."""
    head = f"Seat {seat}, turn {turn}: "
    padding = _PARAGRAPH * (TEXT_BYTES // len(_PARAGRAPH) + 1)
    return (head + padding)[:TEXT_BYTES]


def seat_of(turn: int) -> int:
    """The seat that speaks on a turn."""
    return turn % SEATS


def check_transcript(texts: Iterable[str], turns: int) -> None:
    """Raise unless ``texts`` is the whole transcript of a session of ``turns`` turns, in order."""
    if list(texts) != [text_of(seat_of(turn), turn) for turn in range(turns)]:
        raise RuntimeError("the stored transcript is not the one that was spoken")


@dataclass(frozen=True)
class Job:
    """One run of one peer, as asked for on the command line."""

    peer: str
    variant: str
    scenario: str
    turns: int
    sessions: int
    db: Path

    @property
    def reply_seconds(self) -> float:
        """How long a participant takes to answer."""
        return REPLY_SECONDS if self.scenario == "crowd" else 0.0


@dataclass
class Meter:
    """A context manager that takes the CPU and wall seconds of its body, and the peak memory at its end."""

    cpu_s: float = 0.0
    wall_s: float = 0.0
    rss_mb: float = 0.0
    _cpu_start: float = field(default=0.0, repr=False)
    _wall_start: float = field(default=0.0, repr=False)

    def __enter__(self) -> Meter:
        self._wall_start = time.perf_counter()
        self._cpu_start = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu_s = time.process_time() - self._cpu_start
        self.wall_s = time.perf_counter() - self._wall_start
        self.rss_mb = peak_rss_mb()


def peak_rss_mb() -> float:
    """The peak resident memory of this process.

    ``ru_maxrss`` on Linux starts from the peak of the process that forked this one, so the kernel's own high-water
    mark is read where there is one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024) if sys.platform == "darwin" else peak / 1024


def job_from_command_line(peer: str) -> Job:
    """Read the run to make from the command line of a peer's script."""
    parser = argparse.ArgumentParser(description=f"Run the benchmark's work on the peer {peer!r}.")
    parser.add_argument("--scenario", choices=("single", "crowd"), required=True)
    parser.add_argument(
        "--variant", help="which way to run the peer; without it, the scenario's first"
    )
    parser.add_argument("--turns", type=int, default=20, help="turns of each session")
    parser.add_argument("--sessions", type=int, default=1, help="sessions held at once")
    parser.add_argument(
        "--db", type=Path, required=True, help="directory for the database of this run"
    )
    options = parser.parse_args()
    variants = VARIANTS[peer][options.scenario]
    variant = options.variant or variants[0]
    if variant not in variants:
        parser.error(
            f"{peer} has no variant {variant!r} in the scenario {options.scenario}: one of {list(variants)}"
        )
    if options.scenario == "single" and options.sessions != 1:
        parser.error("the scenario single holds one session")
    return Job(peer, variant, options.scenario, options.turns, options.sessions, options.db)


def fresh_database(job: Job, part: int = 0) -> Path:
    """The path of this run's database (or of one part of it), with whatever an earlier run left there removed."""
    job.db.mkdir(parents=True, exist_ok=True)
    path = job.db / f"{job.peer}-{job.variant}-{job.scenario}-{part}.db"
    for leftover in (path, *_companions(path)):
        leftover.unlink(missing_ok=True)
    return path


def disk_bytes(path: Path) -> int:
    """What a closed database takes on disk: the file, and its write-ahead log if one was left."""
    wal, _ = _companions(path)
    return sum(part.stat().st_size for part in (path, wal) if part.exists())


def open_durable(path: Path | str, *, any_thread: bool = False) -> sqlite3.Connection:
    """Open a database in WAL mode with ``synchronous=FULL``: a commit is on disk when it returns."""
    connection = sqlite3.connect(path, check_same_thread=not any_thread)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def print_row(job: Job, meter: Meter, *, disk: int, durable: bool, text: int | None = None) -> None:
    """Print the one JSON line of a run. ``durable``: a finished turn is on disk before the next begins.

    ``text`` is given where more was said than the messages.
    """
    row = {
        "peer": job.peer,
        "variant": job.variant,
        "scenario": job.scenario,
        "turns": job.turns,
        "sessions": job.sessions,
        "durable": durable,
        "cpu_s": round(meter.cpu_s, 6),
        "wall_s": round(meter.wall_s, 6),
        "disk_bytes": disk,
        "text_bytes": TEXT_BYTES * job.turns * job.sessions if text is None else text,
        "rss_mb": round(meter.rss_mb, 1),
    }
    print(json.dumps(row))


def _companions(path: Path) -> tuple[Path, Path]:
    return path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")
