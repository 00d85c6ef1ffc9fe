"""Where ledgers live: in memory, in an SQLite file, in PostgreSQL."""
