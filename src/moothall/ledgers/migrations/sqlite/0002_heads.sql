-- How far each session went, written with its entries: what is missing at the end of a session is found.
ALTER TABLE sessions ADD COLUMN head INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN head_hash BLOB NOT NULL DEFAULT x'';
UPDATE sessions SET (head, head_hash) = (
    SELECT seq, hash FROM entries WHERE session = number ORDER BY seq DESC LIMIT 1
) WHERE EXISTS (SELECT 1 FROM entries WHERE session = number)
