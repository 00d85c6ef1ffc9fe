"""Limits of providers that all workers of one PostgreSQL database share."""

from typing import Final

from moothall.ledgers.migrations import load_queries
from moothall.ledgers.postgres_queue import PostgresQueue
from moothall.ports.participant import PLACE_SECONDS, Allowance, LimitReport

QUERIES: Final = load_queries(__name__)

_TAKE_SLOT = "SELECT moot_take_slot($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"


class PostgresLimits:
    """Implements `ProviderLimits` with the tables of an open queue."""

    def __init__(self, queue: PostgresQueue) -> None:
        self._queue = queue

    async def take(self, account: str, call: str, *, tokens: int, allowance: Allowance, lasts: float, session: str = "") -> float:
        values = (account, call, float(tokens), allowance.requests, allowance.tokens, allowance.at_once, lasts)
        if not session or allowance.sessions is None:
            return float(await self._queue.fetch_value("SELECT moot_take($1, $2, $3, $4, $5, $6, $7)", *values))
        place = (session, allowance.sessions, PLACE_SECONDS)
        return float(await self._queue.fetch_value(_TAKE_SLOT, *place, *values))

    async def finish(self, account: str, call: str, *, tokens: int) -> None:
        await self._queue.execute(QUERIES["finish"], account, call, float(tokens), PLACE_SECONDS)

    async def report(self, account: str, report: LimitReport) -> None:
        values = (report.requests, report.tokens, report.requests_left, report.tokens_left, report.closed_for)
        await self._queue.execute(QUERIES["report"], account, *values)
