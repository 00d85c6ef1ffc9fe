-- name: number
SELECT number FROM sessions WHERE id = ?

-- name: newest
SELECT seq FROM entries WHERE session = ? ORDER BY seq DESC LIMIT 1

-- name: read_new
SELECT seq, at, body, hash FROM entries WHERE session = ? AND seq > ? ORDER BY seq

-- name: read
SELECT seq, at, body, hash FROM entries JOIN sessions ON session = number
WHERE id = ? AND seq > ? ORDER BY seq LIMIT ?

-- name: insert
INSERT INTO entries (session, seq, at, body, hash) VALUES (?, ?, ?, ?, ?)

-- name: head
SELECT head FROM sessions WHERE number = ?

-- name: add_session
INSERT INTO sessions (id, head, head_hash) VALUES (?, ?, ?)

-- name: move_head
UPDATE sessions SET head = ?, head_hash = ? WHERE number = ?

-- name: register_end
SELECT seq, at, hash FROM entries JOIN sessions ON session = number WHERE id = ? ORDER BY seq DESC LIMIT 1

-- name: read_heads
SELECT s.id, a.seq, a.at, a.body, a.hash, z.seq, z.at, z.body, z.hash FROM sessions s
JOIN entries a ON a.session = s.number AND a.seq = (SELECT min(seq) FROM entries WHERE session = s.number)
JOIN entries z ON z.session = s.number AND z.seq = (SELECT max(seq) FROM entries WHERE session = s.number)
WHERE s.id >= ? AND s.id < ? AND s.id <> ? ORDER BY s.id

-- name: last_seq
SELECT max(seq) FROM entries WHERE session = (SELECT number FROM sessions WHERE id = ?)

-- name: written
SELECT DISTINCT id FROM entries JOIN sessions ON session = number WHERE entries.rowid > ? AND entries.rowid <= ?

-- name: count_sessions
SELECT count(*) FROM sessions s WHERE s.id NOT GLOB '_*' AND EXISTS (SELECT 1 FROM entries WHERE session = s.number)

-- name: list_newest
-- The bodies of those alone that are listed: the ends of the others are only compared.
SELECT n.id, a.seq, a.at, a.body, a.hash, z.seq, z.at, z.body, z.hash FROM (
    SELECT s.number, s.id, e.seq FROM sessions s
    JOIN entries e ON e.session = s.number AND e.seq = (SELECT max(seq) FROM entries WHERE session = s.number)
    WHERE s.id NOT GLOB '_*' ORDER BY e.at DESC, s.id DESC LIMIT ? OFFSET ?
) n
JOIN entries a ON a.session = n.number AND a.seq = (SELECT min(seq) FROM entries WHERE session = n.number)
JOIN entries z ON z.session = n.number AND z.seq = n.seq
ORDER BY z.at DESC, n.id DESC
