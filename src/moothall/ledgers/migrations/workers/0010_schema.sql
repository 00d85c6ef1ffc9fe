-- One row for each session that a worker may have to run. A session needs a worker as long as its head is past `seen`; a job of
-- the queue is a hint that can get lost.
CREATE TABLE moot_runs (
    session bigint PRIMARY KEY REFERENCES moot_sessions (number) ON DELETE CASCADE,
    seen bigint NOT NULL DEFAULT 0,
    status text NOT NULL DEFAULT 'new',
    due timestamptz,
    tries integer NOT NULL DEFAULT 0,
    queue text NOT NULL DEFAULT 'moot',
    left_by text[] NOT NULL DEFAULT '{}',
    asks integer NOT NULL DEFAULT 0
);

CREATE INDEX moot_runs_due ON moot_runs (due) WHERE due IS NOT NULL;
CREATE INDEX moot_runs_left ON moot_runs (session) WHERE status = 'left';
CREATE INDEX moot_runs_open ON moot_runs (status) WHERE status NOT IN ('closed', 'foreign');

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
        SELECT queue INTO chosen FROM moot_runs WHERE session = NEW.number AND status NOT IN ('closed', 'foreign');
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

-- What is left of a provider's limits for one key, and the calls under way.
CREATE TABLE moot_limits (
    account text PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    requests float8,
    tokens float8,
    learned_requests float8,
    learned_tokens float8,
    closed_until timestamptz NOT NULL DEFAULT '-infinity',
    waits bigint NOT NULL DEFAULT 0
);

CREATE TABLE moot_calls (
    call text PRIMARY KEY,
    account text NOT NULL,
    ends_at timestamptz NOT NULL
);

CREATE INDEX moot_calls_account ON moot_calls (account);

-- A tenth of a minute's allowance may be spent at once, the rest flows in evenly: no minute has more than the allowance.
-- `least` and `greatest` ignore NULL, which stands for no limit.
CREATE FUNCTION moot_take(of text, name text, wanted float8, rpm float8, tpm float8, most integer, lasts float8)
RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    b moot_limits;
    now timestamptz;
    passed float8;
    wait float8;
BEGIN
    INSERT INTO moot_limits (account) VALUES (of) ON CONFLICT DO NOTHING;
    SELECT * INTO b FROM moot_limits WHERE account = of FOR UPDATE;
    now := clock_timestamp();
    passed := greatest(0, extract(epoch FROM now - b.at));
    rpm := least(rpm, b.learned_requests);
    tpm := least(tpm, b.learned_tokens);
    -- A full bucket where there was none; no bucket where there is no limit.
    IF rpm IS NULL THEN b.requests := NULL;
    ELSE b.requests := least(greatest(1, rpm * 0.1), coalesce(b.requests, rpm) + rpm * 0.9 * passed / 60); END IF;
    IF tpm IS NULL THEN b.tokens := NULL;
    ELSE b.tokens := least(greatest(1, tpm * 0.1), coalesce(b.tokens, tpm) + tpm * 0.9 * passed / 60); END IF;
    wait := greatest(
        0,
        CASE WHEN b.closed_until > now THEN extract(epoch FROM b.closed_until - now) END,
        (1 - b.requests) * 60 / (rpm * 0.9),
        (least(wanted, greatest(1, tpm * 0.1)) - b.tokens) * 60 / (tpm * 0.9)
    );
    IF most IS NOT NULL AND wait = 0 THEN
        DELETE FROM moot_calls WHERE account = of AND ends_at <= now;
        IF (SELECT count(*) FROM moot_calls WHERE account = of) >= most THEN wait := 1; END IF;
    END IF;
    IF wait > 0 THEN
        UPDATE moot_limits SET waits = waits + 1 WHERE account = of;
        RETURN wait;
    END IF;
    UPDATE moot_limits SET at = now, requests = b.requests - 1, tokens = b.tokens - wanted WHERE account = of;
    INSERT INTO moot_calls (call, account, ends_at) VALUES (name, of, now + lasts * interval '1 second') ON CONFLICT DO NOTHING;
    RETURN 0;
END;
$$;

-- The sessions that use a provider at once: each call holds a slot of its session.
CREATE TABLE moot_session_slots (
    call text PRIMARY KEY,
    account text NOT NULL,
    session text NOT NULL,
    ends_at timestamptz NOT NULL
);

CREATE INDEX moot_session_slots_account ON moot_session_slots (account, session);

-- moot_take for a call of a session, of which at most `slots` may use the account at once. A call that has to wait keeps the slot of
-- its session for `keeps` seconds, in which it asks again.
CREATE FUNCTION moot_take_slot(
    who text, slots integer, keeps float8, of text, name text, wanted float8, rpm float8, tpm float8, most integer, lasts float8
)
RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    now timestamptz;
    wait float8;
BEGIN
    INSERT INTO moot_limits (account) VALUES (of) ON CONFLICT DO NOTHING;
    -- Calls of an account are counted one after the other.
    PERFORM FROM moot_limits WHERE account = of FOR UPDATE;
    now := clock_timestamp();
    DELETE FROM moot_session_slots WHERE account = of AND ends_at <= now;
    IF NOT EXISTS (SELECT FROM moot_session_slots WHERE account = of AND session = who)
        AND (SELECT count(DISTINCT session) FROM moot_session_slots WHERE account = of) >= slots
    THEN
        UPDATE moot_limits SET waits = waits + 1 WHERE account = of;
        RETURN 1;
    END IF;
    wait := moot_take(of, name, wanted, rpm, tpm, most, lasts);
    INSERT INTO moot_session_slots (call, account, session, ends_at)
    VALUES (name, of, who, now + CASE WHEN wait = 0 THEN lasts ELSE keeps END * interval '1 second')
    ON CONFLICT (call) DO UPDATE SET ends_at = excluded.ends_at;
    RETURN wait;
END;
$$;
