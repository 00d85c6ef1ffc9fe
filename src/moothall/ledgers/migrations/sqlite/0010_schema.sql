-- `head` and `head_hash` say how far a session went, written with its entries: what is missing at its end is noticed.
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    head INTEGER NOT NULL DEFAULT 0,
    head_hash BLOB NOT NULL DEFAULT x''
) STRICT;

-- Rows lie in the order in which they were written, whatever their session: a group commit then touches few pages.
CREATE TABLE entries (
    session INTEGER NOT NULL REFERENCES sessions (number),
    seq INTEGER NOT NULL CHECK (seq > 0),
    at INTEGER NOT NULL,
    body BLOB NOT NULL,
    hash BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX entries_by_session ON entries (session, seq)
