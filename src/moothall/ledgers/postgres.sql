-- name: append
-- One statement and so one transaction and one round trip: the sessions whose head is where the batch begins move on, and only
-- their records are written. Where another process was faster the condition is checked again on the row that it wrote. Notified at
-- commit: a listener never hears of an entry that it cannot read yet; one notification names many sessions, because each wakes
-- every listening process. The columns come as texts, bodies and hashes in one piece: to encode arrays takes the driver a third of
-- what a process spends on an append.
WITH given AS (
    SELECT id, first, last, substr($12::bytea, start, size) AS hash
    FROM unnest(string_to_array($1, chr(10)), string_to_array($2, ' ')::bigint[], string_to_array($3, ' ')::bigint[],
        string_to_array($4, ' ')::int[], string_to_array($5, ' ')::int[]) AS g (id, first, last, start, size)
),
opened AS (
    INSERT INTO moot_sessions AS s (id, head, head_hash)
    SELECT id, last, hash FROM given WHERE first = 1 ORDER BY id
    ON CONFLICT (id) DO UPDATE SET head = excluded.head, head_hash = excluded.head_hash WHERE s.head = 0
    RETURNING id, number
),
moved AS (
    UPDATE moot_sessions s SET head = g.last, head_hash = g.hash
    FROM given g WHERE s.id = g.id AND g.first > 1 AND s.head = g.first - 1
    RETURNING s.id, s.number
),
written AS (SELECT * FROM opened UNION ALL SELECT * FROM moved),
stored AS (
    INSERT INTO moot_entries (session, seq, at, body, hash)
    SELECT w.number, r.seq, r.at, substr($12::bytea, r.start, r.size), substr($12::bytea, r.start + r.size, r.hash_size)
    FROM unnest(string_to_array($6, chr(10)), string_to_array($7, ' ')::bigint[], string_to_array($8, ' ')::bigint[],
        string_to_array($9, ' ')::int[], string_to_array($10, ' ')::int[], string_to_array($11, ' ')::int[])
        AS r (id, seq, at, start, size, hash_size)
    JOIN written w ON w.id = r.id
)
SELECT string_agg(id, chr(10)) AS ids, pg_notify($13, string_agg(id, chr(10))) FROM (
    SELECT id, (row_number() OVER () - 1) / $14::bigint AS part FROM written
) AS w GROUP BY part

-- name: lock
-- Advisory locks are numbers: the session id is hashed to 64 bits. The prefix keeps clear of other programs in the same database.
SELECT pg_try_advisory_lock(hashtextextended('moot/' || id, 0)) FROM unnest($1::text[]) WITH ORDINALITY AS g (id, n) ORDER BY n

-- name: read
SELECT seq, at, body, hash FROM moot_entries JOIN moot_sessions ON session = number
WHERE id = $1 AND seq > $2 ORDER BY seq LIMIT $3

-- name: read_end
SELECT seq, at, hash FROM moot_entries JOIN moot_sessions ON session = number WHERE id = $1 ORDER BY seq DESC LIMIT 1

-- name: count_sessions
SELECT count(*) FROM moot_sessions s WHERE s.id NOT LIKE '\_%' AND EXISTS (SELECT FROM moot_entries WHERE session = s.number)

-- name: list_newest
SELECT n.id, a.seq, a.at, a.body, a.hash, z.seq, z.at, z.body, z.hash FROM (
    SELECT s.number, s.id, e.seq FROM moot_sessions s
    JOIN moot_entries e ON e.session = s.number AND e.seq = s.head
    WHERE s.id NOT LIKE '\_%' ORDER BY e.at DESC, s.id DESC LIMIT $1 OFFSET $2
) n
JOIN moot_entries a ON a.session = n.number
AND a.seq = (SELECT min(seq) FROM moot_entries WHERE session = n.number)
JOIN moot_entries z ON z.session = n.number AND z.seq = n.seq
ORDER BY z.at DESC, n.id DESC

-- name: read_heads
-- min(seq) and not 1: a session whose first record is missing is still listed.
SELECT s.id, a.seq, a.at, a.body, a.hash, z.seq, z.at, z.body, z.hash FROM moot_sessions s
JOIN moot_entries a ON a.session = s.number
AND a.seq = (SELECT min(seq) FROM moot_entries WHERE session = s.number)
JOIN moot_entries z ON z.session = s.number AND z.seq = s.head
WHERE starts_with(s.id, $1) AND s.id <> $2 ORDER BY s.id
