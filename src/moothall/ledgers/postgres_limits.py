"""Limits of providers that all workers of one PostgreSQL database share."""

from moothall.ledgers.postgres_queue import PostgresQueue
from moothall.ports.participant import PLACE_SECONDS, Allowance, LimitReport

_TAKE_SLOT = "SELECT moot_take_slot($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"

_FINISH = """
WITH gone AS (DELETE FROM moot_calls WHERE call = $2 RETURNING account),
kept AS (UPDATE moot_session_slots SET ends_at = clock_timestamp() + $4::float8 * interval '1 second' WHERE call = $2)
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

    async def take(self, account: str, call: str, *, tokens: int, allowance: Allowance, lasts: float, session: str = "") -> float:
        values = (account, call, float(tokens), allowance.requests, allowance.tokens, allowance.at_once, lasts)
        if not session or allowance.sessions is None:
            return float(await self._queue.fetch_value("SELECT moot_take($1, $2, $3, $4, $5, $6, $7)", *values))
        place = (session, allowance.sessions, PLACE_SECONDS)
        return float(await self._queue.fetch_value(_TAKE_SLOT, *place, *values))

    async def finish(self, account: str, call: str, *, tokens: int) -> None:
        await self._queue.execute(_FINISH, account, call, float(tokens), PLACE_SECONDS)

    async def report(self, account: str, report: LimitReport) -> None:
        values = (report.requests, report.tokens, report.requests_left, report.tokens_left, report.closed_for)
        await self._queue.execute(_REPORT, account, *values)
