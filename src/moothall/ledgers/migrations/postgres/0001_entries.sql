CREATE TABLE moot_sessions (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    head bigint NOT NULL DEFAULT 0
);

CREATE TABLE moot_entries (
    session bigint NOT NULL REFERENCES moot_sessions (number),
    seq bigint NOT NULL CHECK (seq > 0),
    at bigint NOT NULL,
    body bytea NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (session, seq)
);
