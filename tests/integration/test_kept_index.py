"""The search index is kept in a file: a new process goes on from it, and whatever happens to the file costs time only."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from moothall.app.resources import SystemClock
from moothall.ledgers.memory import MemoryLedger
from moothall.memory.decision_memory import DecisionMemory
from moothall.memory.decision_search import read_index
from moothall.memory.facts import DecisionRecorded
from moothall.memory.search import SearchHit

AT = datetime(2026, 1, 1, tzinfo=UTC)
TREES = ("oak", "ash", "elm", "yew", "fir")
QUERIES = ("which oak for the roof", "yew 决定", "hedge 7", "nothing of this", "决定3")


def build_decision(number: int) -> DecisionRecorded:
    return DecisionRecorded(
        session=f"d{number}",
        protocol="debate",
        topic=f"Which {TREES[number % 5]} for roof {number}? 决定{number}",
        text=f"Hedge {number}.",
        category="wood" if number % 2 else "stone",
        search_text=f"It was argued that {TREES[(number + 1) % 5]} lasts longer in wind {number}. "
        * 3,
        opened_at=AT,
        closed_at=AT,
    )


async def keep(memory: DecisionMemory, numbers: Sequence[int]) -> None:
    for number in numbers:
        await memory.keep(build_decision(number))


async def find_all(memory: DecisionMemory) -> list[list[SearchHit]]:
    found = [
        await memory.search(query, category=category)
        for query in QUERIES
        for category in (None, "wood")
    ]
    return found + [await memory.find_similar(query) for query in QUERIES]


class CountingLedger(MemoryLedger):
    """Counts the records that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.records = 0

    async def read(self, session, after=0, limit=None):  # type: ignore[no-untyped-def]
        found = await super().read(session, after, limit)
        self.records += len(found)
        return found


def test_a_new_process_finds_the_same_and_reads_only_what_it_shows_and_what_is_new(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        ledger, path = CountingLedger(), tmp_path / "search" / "index.bin"
        plain = DecisionMemory(ledger, SystemClock())
        await keep(plain, range(120))
        expected = await find_all(plain)
        assert await find_all(DecisionMemory(ledger, SystemClock(), None, path)) == expected
        assert path.stat().st_mode & 0o777 == 0o600
        ledger.records = 0
        later = DecisionMemory(ledger, SystemClock(), None, path)
        assert await later.search(QUERIES[0]) == expected[0]
        assert ledger.records == 1 + len(expected[0])
        # What another process decided since is found as well, and what this one decides.
        await keep(plain, range(120, 130))
        await keep(later, range(130, 140))
        assert await find_all(later) == await find_all(plain) != expected
        kept = read_index(path)
        assert kept is not None
        assert len(kept[0].decisions) == 120

    asyncio.run(work())


@pytest.mark.parametrize("damage", ["cut", "other", "empty", "folder", "another ledger"])
def test_a_damaged_index_is_built_again(tmp_path: Path, damage: str) -> None:
    async def work() -> None:
        ledger, path = MemoryLedger(), tmp_path / "index.bin"
        memory = DecisionMemory(ledger, SystemClock(), None, path)
        await keep(memory, range(60))
        expected = await find_all(memory)
        content = path.read_bytes()
        if damage == "folder":
            path.unlink()
            path.mkdir()
        elif damage == "another ledger":
            ledger = MemoryLedger()
            memory = DecisionMemory(ledger, SystemClock())
            await keep(memory, range(1, 61))
            expected = await find_all(memory)
        else:
            path.write_bytes(
                {"cut": content[:-9], "other": content.replace(b"roof", b"reef"), "empty": b""}[
                    damage
                ]
            )
        assert await find_all(DecisionMemory(ledger, SystemClock(), None, path)) == expected

    asyncio.run(work())
