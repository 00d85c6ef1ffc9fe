-- name: forward
-- Not while the session runs: whoever runs it looks for another job at the end.
WITH ready AS (
    SELECT id FROM procrastinate_jobs j WHERE task_name = 'moot.advance' AND status = 'todo' AND queue_name = ANY ($1::text[])
    AND (scheduled_at IS NULL OR scheduled_at <= now())
    AND NOT EXISTS (SELECT FROM procrastinate_jobs d WHERE d.status = 'doing' AND d.lock = j.lock)
    ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED
)
UPDATE procrastinate_jobs j SET scheduled_at = now() + $2::integer * interval '1 second' FROM ready r WHERE j.id = r.id
RETURNING j.id, j.args ->> 'session' AS session, j.queue_name

-- name: take
UPDATE procrastinate_jobs SET status = 'doing', scheduled_at = NULL, worker_id = $2
WHERE status = 'todo' AND queueing_lock = 'moot/' || $1
AND NOT EXISTS (SELECT FROM procrastinate_jobs WHERE status = 'doing' AND lock = 'moot/' || $1)
RETURNING id

-- name: mine
SELECT id, args ->> 'session' AS session, abort_requested FROM procrastinate_jobs WHERE status = 'doing' AND worker_id = $1

-- name: give_back
WITH gone AS (
    DELETE FROM procrastinate_jobs WHERE status = 'doing' AND id = ANY ($1::bigint[])
    RETURNING args ->> 'session' AS id, queue_name
)
SELECT count(moot_enqueue(id, queue_name)) FROM gone
