"""Work on the tables of a PostgreSQL ledger: the columns of an append, checks, a copy of one moment, the removal of sessions."""

from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from operator import add
from pathlib import Path
from typing import Any, Final

from moothall.codec.chain import HEADS
from moothall.domain.ids import SessionId
from moothall.domain.records import StorageReport, StoredRecord
from moothall.errors import SeqConflict
from moothall.ledgers.sqlite_upkeep import write_copy

PAGE: Final = 1_000
_INSERT: Final = "INSERT INTO moot_entries (session, seq, at, body, hash) VALUES ($1, $2, $3, $4, $5)"


async def inspect(pool: Any, session: SessionId | None) -> StorageReport:
    """Compare the list of sessions with the entries, and read the heads that are in it."""
    if session is not None:
        rows = await pool.fetch("SELECT id, head, head_hash FROM moot_sessions WHERE head > 0 AND id = $1", session)
        return StorageReport([], {SessionId(row[0]): (row[1], row[2]) for row in rows})
    rows = await pool.fetch("SELECT id, head, head_hash FROM moot_sessions WHERE head > 0")
    faults = ["the register of heads is missing"] if rows and not any(row[0] == HEADS for row in rows) else []
    return StorageReport(faults, {SessionId(row[0]): (row[1], row[2]) for row in rows})


async def copy_to(pool: Any, path: Path) -> None:
    """Copy everything as one transaction sees it."""
    query = "SELECT id, seq, at, body, hash FROM moot_entries JOIN moot_sessions ON session = number ORDER BY number, seq"
    with write_copy(path) as add:
        async with pool.acquire() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
            cursor = await connection.cursor(query)
            while rows := await cursor.fetch(PAGE):
                for row in rows:
                    add(SessionId(row[0]), [StoredRecord(*tuple(row)[1:])])


async def remove(pool: Any, sessions: Sequence[SessionId]) -> None:
    """Remove the entries of sessions. Their rows stay with their heads, so that no other session takes their ids."""
    query = "DELETE FROM moot_entries WHERE session IN (SELECT number FROM moot_sessions WHERE id = ANY($1::text[]))"
    await pool.execute(query, list(sessions))


async def list_removed(pool: Any) -> list[SessionId]:
    """Return the sessions that have a head and no entries."""
    query = "SELECT id FROM moot_sessions WHERE head > 0 AND NOT EXISTS (SELECT 1 FROM moot_entries WHERE session = number)"
    return [SessionId(row[0]) for row in await pool.fetch(query)]


async def reserve(pool: Any, heads: Mapping[SessionId, tuple[int, bytes]]) -> None:
    """Take the ids of archived sessions with their heads; what is there stays."""
    insert = "INSERT INTO moot_sessions (id, head, head_hash) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING"
    await pool.executemany(insert, [(session, *head) for session, head in heads.items()])


async def put_back(pool: Any, session: SessionId, records: Sequence[StoredRecord]) -> None:
    """Write the entries of a removed session again; raises SeqConflict if they do not end at its head."""
    async with pool.acquire() as connection, connection.transaction():
        row = await connection.fetchrow("SELECT number, head, head_hash FROM moot_sessions WHERE id = $1 FOR UPDATE", session)
        number, head, digest = row or (None, 0, b"")
        held = await connection.fetchval("SELECT count(*) FROM moot_entries WHERE session = $1", number)
        if number is None or held or (records[-1].seq, records[-1].hash) != (head, digest):
            raise SeqConflict(session, records[-1].seq, head)
        await connection.executemany(_INSERT, [(number, *record) for record in records])


def build_columns(batches: Mapping[SessionId, Sequence[StoredRecord]]) -> list[str | bytes]:
    """Return what the query `append` takes: the sessions, their records, and in one piece each body and the hash behind it."""
    # Sorted: two processes that write to the same sessions in different order could wait for each other.
    names = sorted(batches)
    records = [record for name in names for record in batches[name]]
    seqs, times, bodies, hashes = zip(*records, strict=True)
    sizes, hash_sizes = list(map(len, bodies)), list(map(len, hashes))
    starts = list(accumulate(map(add, sizes, hash_sizes), initial=1))  # PostgreSQL counts from 1
    lasts = [end - 1 for end in accumulate(len(batches[name]) for name in names)]
    sessions = (
        [batches[name][0].seq for name in names],
        [seqs[last] for last in lasts],
        [starts[last] + sizes[last] for last in lasts],
        [hash_sizes[last] for last in lasts],
    )
    owners = "\n".join(name for name in names for _ in batches[name])
    return [
        "\n".join(names),
        *map(_join_numbers, sessions),
        owners,
        *map(_join_numbers, (seqs, times, starts[:-1], sizes, hash_sizes)),
        b"".join(chain.from_iterable(zip(bodies, hashes, strict=True))),
    ]


def _join_numbers(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))
