-- name: settle
-- A job that came in meanwhile is taken with it: the queue would start it only when it looks again. Otherwise the job that ran the
-- session ends here.
WITH given AS (
    SELECT g.*, s.number, 'moot/' || g.id AS lock
    FROM unnest($1::text[], $2::bigint[], $3::text[], $4::float8[], $5::integer[], $6::integer[], $7::bigint[])
        AS g (id, seen, status, due, tries, asks, job)
    LEFT JOIN moot_sessions s ON s.id = g.id
    -- What a worker says that was frozen meanwhile is older than what its successor said.
    WHERE EXISTS (SELECT FROM moot_workers WHERE name = $8)
),
again AS (
    DELETE FROM procrastinate_jobs j USING given g
    WHERE g.status IN ('waiting', 'parked', 'closed') AND j.status = 'todo' AND j.queueing_lock = g.lock
    RETURNING g.id, g.status
),
settled AS (
    UPDATE moot_runs r
    SET seen = greatest(r.seen, g.seen), status = g.status, tries = g.tries, asks = g.asks,
    -- Somebody wants it looked at now: that stays until somebody looks.
    due = CASE WHEN r.due <= now() AND g.status <> 'closed' THEN r.due ELSE now() + g.due * interval '1 second' END
    FROM given g WHERE r.session = g.number AND (g.seen >= r.seen OR g.seen = 0)
),
ended AS (
    DELETE FROM procrastinate_jobs j USING given g
    WHERE j.id = g.job AND j.status = 'doing' AND g.id NOT IN (SELECT id FROM again WHERE status <> 'closed')
)
SELECT id FROM again WHERE status <> 'closed'

-- name: leave
-- A session that another build of Moot can perhaps read: only workers of that build listen to its queue.
UPDATE moot_runs SET status = 'left', due = NULL, queue = 'moot', left_by = array_append(array_remove(left_by, $2), $2)
WHERE session = (SELECT number FROM moot_sessions WHERE id = $1)

-- name: take_left
WITH taken AS (
    UPDATE moot_runs SET status = 'new', seen = 0, queue = $1 WHERE session IN (
        SELECT session FROM moot_runs WHERE status = 'left' AND NOT $1 = ANY (left_by) LIMIT 1000 FOR UPDATE SKIP LOCKED
    ) RETURNING session
)
SELECT count(moot_enqueue(s.id, $1)) FROM taken t JOIN moot_sessions s ON s.number = t.session

-- name: wake
-- `seen = 0`: should the job get lost, the session is still found to need a worker.
WITH woken AS (
    UPDATE moot_runs r SET seen = 0, due = CASE WHEN s.id = ANY ($2::text[]) THEN now() ELSE r.due END
    FROM moot_sessions s WHERE s.number = r.session AND s.id = ANY ($1::text[]) AND r.status NOT IN ('closed', 'foreign')
    AND (r.seen < s.head OR s.id = ANY ($2::text[]))
    RETURNING s.id, r.queue
)
SELECT count(moot_enqueue(id, queue)) FROM woken

-- name: look
-- Whoever looks takes the wish to look with it.
WITH found AS (
    SELECT session, tries, due FROM moot_runs WHERE session = (SELECT number FROM moot_sessions WHERE id = $1) FOR UPDATE
)
UPDATE moot_runs r SET due = CASE WHEN f.due <= now() THEN NULL ELSE f.due END FROM found f WHERE r.session = f.session
RETURNING f.tries, extract(epoch FROM f.due - now())::float8

-- name: due
WITH due AS (
    UPDATE moot_runs SET due = NULL, seen = 0 WHERE session IN (
        SELECT session FROM moot_runs WHERE due <= now() ORDER BY due LIMIT 1000 FOR UPDATE SKIP LOCKED
    ) RETURNING session, queue
)
SELECT count(moot_enqueue(s.id, d.queue)) FROM due d JOIN moot_sessions s ON s.number = d.session

-- name: quiet
SELECT count(moot_enqueue(s.id, r.queue)) FROM moot_runs r JOIN moot_sessions s ON s.number = r.session
WHERE s.head > r.seen AND r.due IS NULL AND r.status NOT IN ('closed', 'foreign', 'left', 'damaged')
AND NOT EXISTS (SELECT FROM procrastinate_jobs j WHERE j.status = 'doing' AND j.lock = 'moot/' || s.id)
AND NOT EXISTS (SELECT FROM procrastinate_jobs j WHERE j.status = 'todo' AND j.queueing_lock = 'moot/' || s.id)

-- name: orphaned
-- A queue that no worker listens to any more: everybody may try its sessions again.
WITH freed AS (
    UPDATE moot_runs SET queue = 'moot', left_by = '{}'
    WHERE queue <> 'moot' AND queue NOT IN (SELECT queue FROM moot_workers)
)
UPDATE procrastinate_jobs SET queue_name = 'moot'
WHERE task_name = 'moot.advance' AND status = 'todo' AND queue_name <> 'moot'
AND queue_name NOT IN (SELECT queue FROM moot_workers)

-- name: bury
-- Cut first, then hand over: a frozen worker that wakes up finds its claims gone. Its late appends fail by their numbers. One that
-- died before it wrote down its number in the queue holds jobs under that number all the same.
WITH dead AS (
    DELETE FROM moot_workers m WHERE m.started_at < now() - m.lease
    AND NOT EXISTS (SELECT FROM procrastinate_workers w WHERE w.id = m.worker AND w.last_heartbeat > now() - m.lease)
    RETURNING m.name, m.worker
),
gone AS (
    DELETE FROM procrastinate_workers w WHERE w.id IN (SELECT worker FROM dead)
    OR w.last_heartbeat < now() - $1::interval AND NOT EXISTS (
        SELECT FROM moot_workers m WHERE m.worker = w.id OR (m.worker IS NULL AND m.started_at >= now() - m.lease)
    )
),
cut AS (SELECT a.application_name AS name, count(pg_terminate_backend(a.pid)) AS cut
        FROM pg_stat_activity a WHERE a.application_name IN (SELECT name FROM dead) GROUP BY 1)
SELECT dead.name, coalesce(cut.cut, 0) FROM dead LEFT JOIN cut USING (name)

-- name: bow_out
-- With what it holds in the queue: a database that was away for a moment may have missed that the worker left it.
WITH ended AS (DELETE FROM moot_workers WHERE name = $1 RETURNING worker)
DELETE FROM procrastinate_workers w USING ended e WHERE w.id = e.worker

-- name: hand_over
-- Not a retry of the dead job: where a job waits already, that one would break the rule of one waiting job for each session.
WITH gone AS (
    DELETE FROM procrastinate_jobs WHERE status = 'doing' AND task_name = 'moot.advance' AND worker_id IS NULL
    RETURNING args ->> 'session' AS id, queue_name
)
SELECT count(moot_enqueue(id, queue_name)) FROM gone

-- name: count
-- By an index that those which ended are not in: what is counted here does not grow with the age of the ledger.
WITH open AS (
    SELECT status, count(*) AS n, sum(asks) AS asks FROM moot_runs WHERE status NOT IN ('closed', 'foreign') GROUP BY 1
)
SELECT (SELECT coalesce(json_object_agg(status, n), '{}') FROM open)::text,
       (SELECT count(*) FROM moot_workers),
       (SELECT count(*) FROM moot_calls WHERE ends_at > now()), (SELECT coalesce(sum(waits), 0)::bigint FROM moot_limits),
       (SELECT count(*) FROM procrastinate_jobs WHERE task_name = 'moot.advance' AND status = 'doing'),
       count(j.id), coalesce(extract(epoch FROM clock_timestamp() - min(e.at)), 0)::float8,
       (SELECT coalesce(sum(asks), 0)::bigint FROM open)
FROM procrastinate_jobs j LEFT JOIN procrastinate_events e ON e.job_id = j.id AND e.type = 'deferred'
WHERE j.task_name = 'moot.advance' AND j.status = 'todo'

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
