-- Sessions at once at a provider. A table of its own beside those of the first version, so that older workers go on beside newer ones.
CREATE TABLE moot_places (
    call text PRIMARY KEY,
    account text NOT NULL,
    session text NOT NULL,
    ends_at timestamptz NOT NULL
);

CREATE INDEX moot_places_account ON moot_places (account, session);

-- moot_take for a call of a session, of which at most `places` may use the account at once. A call that has to wait keeps the place of
-- its session for `keeps` seconds, in which it asks again.
CREATE FUNCTION moot_take_place(
    who text, places integer, keeps float8, of text, name text, wanted float8, rpm float8, tpm float8, most integer, lasts float8
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
    DELETE FROM moot_places WHERE account = of AND ends_at <= now;
    IF NOT EXISTS (SELECT FROM moot_places WHERE account = of AND session = who)
        AND (SELECT count(DISTINCT session) FROM moot_places WHERE account = of) >= places
    THEN
        UPDATE moot_limits SET waits = waits + 1 WHERE account = of;
        RETURN 1;
    END IF;
    wait := moot_take(of, name, wanted, rpm, tpm, most, lasts);
    INSERT INTO moot_places (call, account, session, ends_at)
    VALUES (name, of, who, now + CASE WHEN wait = 0 THEN lasts ELSE keeps END * interval '1 second')
    ON CONFLICT (call) DO UPDATE SET ends_at = excluded.ends_at;
    RETURN wait;
END;
$$;
