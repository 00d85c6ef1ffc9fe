"""Limits of providers that all workers of one PostgreSQL database share."""

from moot.ledgers.postgres_queue import PostgresQueue
from moot.ports.limits import Allowance, LimitReport

_FINISH = """
WITH gone AS (DELETE FROM moot_calls WHERE call = $2 RETURNING account)
UPDATE moot_limits SET tokens = tokens - $3 WHERE account = $1 AND EXISTS (SELECT FROM gone)
"""

# `least` ignores NULL: a bucket that does not exist yet is made by the next call, full.
_REPORT = """
INSERT INTO moot_limits (account, learned_requests, learned_tokens, closed_until)
VALUES ($1, $2, $3, clock_timestamp() + $6::float8 * interval '1 second')
ON CONFLICT (account) DO UPDATE SET
    learned_requests = coalesce(excluded.learned_requests, moot_limits.learned_requests),
    learned_tokens = coalesce(excluded.learned_tokens, moot_limits.learned_tokens),
    requests = CASE WHEN moot_limits.requests IS NULL THEN NULL ELSE least(moot_limits.requests, $4::float8) END,
    tokens = CASE WHEN moot_limits.tokens IS NULL THEN NULL ELSE least(moot_limits.tokens, $5::float8) END,
    closed_until = greatest(moot_limits.closed_until, excluded.closed_until)
"""


class PostgresLimits:
    """Implements `ProviderLimits` with the tables of an open queue."""

    def __init__(self, queue: PostgresQueue) -> None:
        self._queue = queue

    async def take(self, account: str, call: str, *, tokens: int, allowance: Allowance, lasts: float) -> float:
        values = (account, call, float(tokens), allowance.requests, allowance.tokens, allowance.at_once, lasts)
        return float(await self._queue.fetch_value("SELECT moot_take($1, $2, $3, $4, $5, $6, $7)", *values))

    async def finish(self, account: str, call: str, *, tokens: int) -> None:
        await self._queue.execute(_FINISH, account, call, float(tokens))

    async def report(self, account: str, report: LimitReport) -> None:
        values = (report.requests, report.tokens, report.requests_left, report.tokens_left, report.closed_for)
        await self._queue.execute(_REPORT, account, *values)
