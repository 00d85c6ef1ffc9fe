-- name: finish
WITH gone AS (DELETE FROM moot_calls WHERE call = $2 RETURNING account),
kept AS (UPDATE moot_session_slots SET ends_at = clock_timestamp() + $4::float8 * interval '1 second' WHERE call = $2)
UPDATE moot_limits SET tokens = tokens - $3 WHERE account = $1 AND EXISTS (SELECT FROM gone)

-- name: report
-- `least` ignores NULL: a bucket that does not exist yet is made by the next call, full.
INSERT INTO moot_limits (account, learned_requests, learned_tokens, closed_until)
VALUES ($1, $2, $3, clock_timestamp() + $6::float8 * interval '1 second')
ON CONFLICT (account) DO UPDATE SET
    learned_requests = coalesce(excluded.learned_requests, moot_limits.learned_requests),
    learned_tokens = coalesce(excluded.learned_tokens, moot_limits.learned_tokens),
    requests = CASE WHEN moot_limits.requests IS NULL THEN NULL ELSE least(moot_limits.requests, $4::float8) END,
    tokens = CASE WHEN moot_limits.tokens IS NULL THEN NULL ELSE least(moot_limits.tokens, $5::float8) END,
    closed_until = greatest(moot_limits.closed_until, excluded.closed_until)
