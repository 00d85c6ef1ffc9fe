CREATE TABLE sessions (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE
) STRICT;

-- Rows lie in the order in which they were written, whatever their session: a group commit then touches few pages.
CREATE TABLE entries (
    session INTEGER NOT NULL REFERENCES sessions (number),
    seq INTEGER NOT NULL CHECK (seq > 0),
    at INTEGER NOT NULL,
    body BLOB NOT NULL,
    hash BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX entries_by_session ON entries (session, seq);
