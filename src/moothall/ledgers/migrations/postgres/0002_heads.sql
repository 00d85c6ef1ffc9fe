-- The hash of entry `hashed` of a session, written with it. A Moot without these columns moves `head` alone.
ALTER TABLE moot_sessions ADD COLUMN hashed bigint NOT NULL DEFAULT 0, ADD COLUMN head_hash bytea NOT NULL DEFAULT '';
UPDATE moot_sessions s SET hashed = e.seq, head_hash = e.hash FROM moot_entries e WHERE e.session = s.number AND e.seq = s.head;
