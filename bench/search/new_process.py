"""The first search of a new process over many decisions: with the index that an earlier process kept, and without."""

import asyncio
import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.search.corpus import DECISIONS
from moothall.app.resources import SystemClock
from moothall.ledgers.sqlite import SqliteLedger
from moothall.memory.decision_memory import DecisionMemory
from moothall.memory.facts import DecisionRecorded
from moothall.participants.semantic_similarity import build_meaning_index

RUNS: Final = 5
AIM_MS: Final = 50.0
_AT: Final = datetime(2026, 1, 1, tzinfo=UTC)
_ARGUED: Final = "{topic} It was argued for {number} minutes that {decided} is what the costs and the last outage speak for. "


async def keep_decisions(path: Path, decisions: int) -> None:
    """Fill a ledger with so many decisions, each with about 600 characters of argument."""
    async with SqliteLedger(path) as ledger:
        memory = DecisionMemory(ledger, SystemClock())
        for number in range(decisions):
            each = DECISIONS[number % len(DECISIONS)]
            argued = _ARGUED.format(topic=each.topic, number=number, decided=each.decided) * 4
            fact = DecisionRecorded(
                session=f"d{number}",
                protocol="debate",
                topic=f"{each.topic} ({number})",
                text=each.decided,
                search_text=argued,
                opened_at=_AT,
                closed_at=_AT,
            )
            await memory.keep(fact)


async def search_twice(path: Path, *, with_index: bool, by_meaning: bool) -> list[float]:
    """Return the CPU milliseconds of the first search in this process, and of the second."""
    meaning = build_meaning_index(path.with_name("vectors.bin")) if by_meaning else None
    async with SqliteLedger(path) as ledger:
        memory = DecisionMemory(
            ledger, SystemClock(), meaning, path.with_name("index.bin") if with_index else None
        )
        spent = []
        for query in ("which database for invoices", "which queue for the mails"):
            began = time.process_time()
            assert await memory.search(query)
            spent.append(1e3 * (time.process_time() - began))
    return spent


def report_new_process(decisions: int) -> list[str]:
    """Return a line for each way to search: the least of some runs, each in a process of its own."""
    lines = [
        f"{decisions:,} decisions, CPU ms of a search in a new process",
        f"  {'':<34}{'first':>8}{'second':>8}",
    ]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        asyncio.run(keep_decisions(path, decisions))
        for by_meaning in (False, True):
            for with_index in (False, True):
                runs = [
                    _search_apart(path, with_index=with_index, by_meaning=by_meaning)
                    for _ in range(RUNS + with_index)
                ]
                # The first with an index is the one that makes it.
                first, second = (min(column) for column in zip(*runs[with_index:], strict=True))
                name = f"by {'words and meaning' if by_meaning else 'words'}, {'kept' if with_index else 'no'} index"
                aim = (
                    f"   aimed at ≤ {AIM_MS:g}: {'met' if first <= AIM_MS else 'MISSED'}"
                    if with_index
                    else ""
                )
                lines.append(f"  {name:<34}{first:>8.0f}{second:>8.0f}{aim}")
    return lines


def _search_apart(path: Path, *, with_index: bool, by_meaning: bool) -> list[float]:
    options = json.dumps({"with_index": with_index, "by_meaning": by_meaning})
    command = [sys.executable, "-m", "bench.search.new_process", str(path), options]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    print(json.dumps(asyncio.run(search_twice(Path(sys.argv[1]), **json.loads(sys.argv[2])))))
