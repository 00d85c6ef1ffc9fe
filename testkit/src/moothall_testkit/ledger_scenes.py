"""What the contracts of ledgers are played with: chains of records, races, and a deadline for all that waits."""

import asyncio
from collections.abc import Awaitable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, TypeVar

from moothall.codec.chain import compute_record_hash, compute_root_hash
from moothall.domain.ids import SessionId
from moothall.domain.records import StoredRecord
from moothall.errors import MootError, SeqConflict, SessionBusy
from moothall.ports.ledger import Ledger

T = TypeVar("T")
E = TypeVar("E", bound=MootError)

DEADLINE: Final = 120.0
"""Seconds after which a test that waits in vain fails."""

ONE: Final = SessionId("one")
TWO: Final = SessionId("two")


def build_chain(session: SessionId, count: int, text: str = "entry") -> list[StoredRecord]:
    """The first `count` records of a session, in a chain that holds."""
    records: list[StoredRecord] = []
    before = compute_root_hash(session)
    for seq in range(1, count + 1):
        body = f'{{"fact":"{text}","n":{seq}}}'.encode()
        records.append(
            StoredRecord(
                seq,
                1_700_000_000_000_000 + seq,
                body,
                compute_record_hash(before, seq, 1_700_000_000_000_000 + seq, body),
            )
        )
        before = records[-1].hash
    return records


def run_with_deadline(work: Coroutine[Any, Any, T], seconds: float = DEADLINE) -> T:
    """Run to the end, or fail at the deadline."""

    async def within() -> T:
        async with asyncio.timeout(seconds):
            return await work

    return asyncio.run(within())


async def expect_error(kind: type[E], work: Awaitable[object]) -> E:
    """The error of this kind that the work ends in; fails when it ends well."""
    try:
        await work
    except kind as error:
        return error
    raise AssertionError(f"expected {kind.__name__}, but it was taken")


async def enter_claim(claim: AbstractAsyncContextManager[None]) -> None:
    """Take a claim and give it back."""
    async with claim:
        pass


async def wait_for_written(ledger: Ledger, after: int, wanted: set[SessionId]) -> int:
    """The position at which these sessions, and no others, were written to; a ledger may learn of it a moment later."""
    found: set[SessionId] = set()
    while True:
        written = await ledger.list_written(after)
        found |= written.sessions or set()
        if found >= wanted:
            assert found == wanted
            return written.position
        await asyncio.sleep(0.01)


async def race_writers(handles: Sequence[Ledger], wins: int = 8) -> None:
    """Let one writer per handle append to one session until each has won some seqs; checks that they make one order."""
    won: dict[int, StoredRecord] = {}

    async def write(name: int, ledger: Ledger) -> None:
        mine = 0
        while mine < wins:
            seq = len(await ledger.read(ONE)) + 1
            record = StoredRecord(seq, seq, f"writer {name}".encode(), bytes([name]) * 32)
            try:
                await ledger.append(ONE, [record])
            except SeqConflict:
                continue
            assert seq not in won
            won[seq] = record
            mine += 1

    await asyncio.gather(*(write(name, ledger) for name, ledger in enumerate(handles)))
    assert await handles[0].read(ONE) == [won[seq] for seq in range(1, len(handles) * wins + 1)]


async def race_claims(handles: Sequence[Ledger]) -> None:
    """Let all claim one session at once; checks that one holds it, the others are told, and it is free again after."""
    done = asyncio.Event()
    told: list[int] = []

    async def hold(name: int, ledger: Ledger) -> None:
        try:
            async with ledger.claim(ONE):
                await done.wait()
        except SessionBusy:
            told.append(name)
            if len(told) == len(handles) - 1:
                done.set()

    await asyncio.gather(*(hold(name, ledger) for name, ledger in enumerate(handles)))
    assert len(told) == len(handles) - 1
    await enter_claim(handles[0].claim(ONE))
