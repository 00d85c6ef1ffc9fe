-- One row for each session that a worker may have to run. A session needs a worker as long as its head is past `seen`; a job of
-- the queue is a hint that can get lost.
CREATE TABLE moot_runs (
    session bigint PRIMARY KEY REFERENCES moot_sessions (number) ON DELETE CASCADE,
    seen bigint NOT NULL DEFAULT 0,
    standing text NOT NULL DEFAULT 'new',
    due timestamptz,
    tries integer NOT NULL DEFAULT 0,
    queue text NOT NULL DEFAULT 'moot',
    left_by text[] NOT NULL DEFAULT '{}'
);

CREATE INDEX moot_runs_due ON moot_runs (due) WHERE due IS NOT NULL;
CREATE INDEX moot_runs_left ON moot_runs (session) WHERE standing = 'left';

-- The processes that run sessions. Their connections have the same name, so that those of a dead one can be cut.
CREATE TABLE moot_workers (
    name text PRIMARY KEY,
    queue text NOT NULL,
    worker bigint,
    lease interval NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now()
);

-- The unique index of the queue allows one waiting job for each session: a second wake changes nothing.
CREATE FUNCTION moot_enqueue(id text, queue text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args)
    VALUES (queue, 'moot.advance', 'moot/' || id, 'moot/' || id, jsonb_build_object('session', id))
    ON CONFLICT (queueing_lock) WHERE status = 'todo' DO NOTHING
$$;

CREATE FUNCTION moot_wake() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    chosen text := 'moot';
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO moot_runs (session) VALUES (NEW.number) ON CONFLICT DO NOTHING;
    ELSE
        SELECT queue INTO chosen FROM moot_runs WHERE session = NEW.number AND standing NOT IN ('closed', 'foreign');
    END IF;
    IF chosen IS NOT NULL THEN
        PERFORM moot_enqueue(NEW.id, chosen);
    END IF;
    RETURN NULL;
END;
$$;

-- In the transaction of the append, whoever appends. What a worker writes itself wakes nobody: it is running that session.
CREATE TRIGGER moot_opened AFTER INSERT ON moot_sessions FOR EACH ROW
    WHEN (NOT starts_with(NEW.id, '_')) EXECUTE FUNCTION moot_wake();
CREATE TRIGGER moot_moved AFTER UPDATE OF head ON moot_sessions FOR EACH ROW
    WHEN (NOT starts_with(NEW.id, '_') AND NOT starts_with(current_setting('application_name'), 'moot worker '))
    EXECUTE FUNCTION moot_wake();

INSERT INTO moot_runs (session) SELECT number FROM moot_sessions WHERE NOT starts_with(id, '_');
