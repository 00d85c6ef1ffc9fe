"""Work on the tables of a PostgreSQL database: queries, the columns of an append, and the upkeep of a ledger."""

from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from operator import add
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import asyncpg

from moothall.codec.chain import HEADS
from moothall.domain.ids import SessionId
from moothall.domain.records import StorageReport, StoredRecord
from moothall.errors import LedgerFull, LedgerUnavailable, SeqConflict
from moothall.ledgers.sqlite_file import write_copy

PAGE: Final = 1_000
_INSERT: Final = (
    "INSERT INTO moot_entries (session, seq, at, body, hash) VALUES ($1, $2, $3, $4, $5)"
)


class translate_errors:  # noqa: N801 - reads as a verb where it is used
    """Translates the driver's errors into Moot's, in one place."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, asyncpg.exceptions.DiskFullError):
            raise LedgerFull(
                f"the ledger has no room to write ({error}); free disk space on the database server"
            ) from error
        # InternalClientError: the driver's own state after a connection was cut in the middle of an answer.
        if isinstance(
            error,
            asyncpg.PostgresError | asyncpg.InterfaceError | asyncpg.InternalClientError | OSError,
        ):
            why = (str(error) or type(error).__name__).splitlines()[0]
            raise LedgerUnavailable(
                f"the PostgreSQL ledger failed ({why}); check MOOT_LEDGER and the server"
            ) from error


async def keep_connection(connection: Any) -> None:
    """Leave a pool's connection as it is: nothing here changes its state, and a reset costs a round trip for each query."""


class PostgresTables:
    """Runs queries on a database; the driver's errors become Moot's."""

    query_seconds: float | None = None
    """How long a query may take that says nothing else; None leaves it to the connection."""

    def __init__(self, address: str, *, name: str = "moot") -> None:
        self._address = address
        self._settings = {"application_name": name}
        self._pool: asyncpg.Pool[Any] | None = None

    def _build_pool(self, command_timeout: float | None = None) -> "asyncpg.Pool[Any]":
        # None in reserve: the driver would log each try to restore it while the server is away.
        return asyncpg.create_pool(
            self._address,
            min_size=0,
            max_size=4,
            command_timeout=command_timeout,
            server_settings=self._settings,
            reset=keep_connection,
        )

    def _open_pool(self) -> "asyncpg.Pool[Any]":
        assert self._pool is not None, "use it as an async context manager"
        return self._pool

    async def execute(self, query: str, *values: object, timeout: float | None = None) -> None:
        with translate_errors():
            await self._open_pool().execute(query, *values, timeout=timeout or self.query_seconds)

    async def fetch(self, query: str, *values: object, timeout: float | None = None) -> list[Any]:
        with translate_errors():
            return await self._open_pool().fetch(
                query, *values, timeout=timeout or self.query_seconds
            )

    async def fetch_value(self, query: str, *values: object, timeout: float | None = None) -> Any:
        with translate_errors():
            return await self._open_pool().fetchval(
                query, *values, timeout=timeout or self.query_seconds
            )


class PostgresUpkeep(PostgresTables):
    """Implements `LedgerUpkeep`: checks, a copy of one moment, the removal of sessions."""

    async def inspect(self, session: SessionId | None = None) -> StorageReport:
        """Compare the list of sessions with the entries, and read the heads that are in it."""
        query = "SELECT id, head, head_hash FROM moot_sessions WHERE head > 0 AND ($1::text IS NULL OR id = $1)"
        rows = await self.fetch(query, session)
        is_missing = session is None and rows and not any(row[0] == HEADS for row in rows)
        faults = ["the register of heads is missing"] if is_missing else []
        return StorageReport(faults, {SessionId(row[0]): (row[1], row[2]) for row in rows})

    async def copy_to(self, path: Path) -> None:
        """Copy everything as one transaction sees it."""
        query = "SELECT id, seq, at, body, hash FROM moot_entries JOIN moot_sessions ON session = number ORDER BY number, seq"
        with translate_errors(), write_copy(path) as add:
            async with (
                self._open_pool().acquire() as connection,
                connection.transaction(isolation="repeatable_read", readonly=True),
            ):
                cursor = await connection.cursor(query)
                while rows := await cursor.fetch(PAGE):
                    for row in rows:
                        add(SessionId(row[0]), [StoredRecord(*tuple(row)[1:])])

    async def remove(self, sessions: Sequence[SessionId]) -> None:
        """Remove the entries of sessions. Their rows stay with their heads, so that no other session takes their ids."""
        query = "DELETE FROM moot_entries WHERE session IN (SELECT number FROM moot_sessions WHERE id = ANY($1::text[]))"
        await self.execute(query, list(sessions))

    async def list_removed(self) -> list[SessionId]:
        """Return the sessions that have a head and no entries."""
        query = "SELECT id FROM moot_sessions WHERE head > 0 AND NOT EXISTS (SELECT 1 FROM moot_entries WHERE session = number)"
        return [SessionId(row[0]) for row in await self.fetch(query)]

    async def reserve(self, heads: Mapping[SessionId, tuple[int, bytes]]) -> None:
        """Take the ids of archived sessions with their heads; what is there stays."""
        insert = "INSERT INTO moot_sessions (id, head, head_hash) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING"
        with translate_errors():
            await self._open_pool().executemany(
                insert, [(session, *head) for session, head in heads.items()]
            )

    async def put_back(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        """Write the entries of a removed session again; raises SeqConflict if they do not end at its head."""
        select = "SELECT number, head, head_hash FROM moot_sessions WHERE id = $1 FOR UPDATE"
        with translate_errors():
            async with self._open_pool().acquire() as connection, connection.transaction():
                number, head, digest = await connection.fetchrow(select, session) or (None, 0, b"")
                held = await connection.fetchval(
                    "SELECT count(*) FROM moot_entries WHERE session = $1", number
                )
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
    first_seqs = [batches[name][0].seq for name in names]
    last_seqs = [seqs[last] for last in lasts]
    hash_starts = [starts[last] + sizes[last] for last in lasts]
    last_hash_sizes = [hash_sizes[last] for last in lasts]
    session_columns = (first_seqs, last_seqs, hash_starts, last_hash_sizes)
    owners = "\n".join(name for name in names for _ in batches[name])
    record_columns = (seqs, times, starts[:-1], sizes, hash_sizes)
    bytes_of_records = b"".join(chain.from_iterable(zip(bodies, hashes, strict=True)))
    return [
        "\n".join(names),
        *map(_join_numbers, session_columns),
        owners,
        *map(_join_numbers, record_columns),
        bytes_of_records,
    ]


def _join_numbers(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))
