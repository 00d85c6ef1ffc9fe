-- name: fetch
-- A job waits as long as one with its lock is running. Jobs of the queue have no date: deadlines are rows of `moot_runs`.
WITH found AS (
    SELECT id FROM procrastinate_jobs j
    WHERE status = 'todo' AND task_name = $4 AND queue_name = ANY ($1::text[])
    AND NOT EXISTS (SELECT FROM procrastinate_jobs o WHERE o.status = 'doing' AND o.lock = j.lock)
    ORDER BY priority DESC, id LIMIT $3 FOR UPDATE SKIP LOCKED
)
UPDATE procrastinate_jobs j SET status = 'doing', worker_id = $2 FROM found WHERE j.id = found.id RETURNING j.id, j.args

-- name: return
-- Jobs that this worker has and does not run: a fetch whose answer got lost with its connection, an end that could not be written.
WITH gone AS (
    DELETE FROM procrastinate_jobs WHERE status = 'doing' AND worker_id = $1 AND task_name = $3 AND id <> ALL ($2::bigint[])
    RETURNING args ->> 'session' AS id, queue_name
)
SELECT count(moot_enqueue(id, queue_name)) FROM gone
