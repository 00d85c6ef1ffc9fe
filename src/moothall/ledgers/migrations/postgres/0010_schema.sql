-- `head` and `head_hash` say how far a session went, written with its entries: what is missing at its end is noticed.
CREATE TABLE moot_sessions (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    head bigint NOT NULL DEFAULT 0,
    head_hash bytea NOT NULL DEFAULT ''
);

-- `session` is a number of moot_sessions. It has no foreign key: the statement that writes entries writes their sessions, too, and
-- looking up the session of each entry again took two thirds of its time.
CREATE TABLE moot_entries (
    session bigint NOT NULL,
    seq bigint NOT NULL CHECK (seq > 0),
    at bigint NOT NULL,
    body bytea NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (session, seq)
);
