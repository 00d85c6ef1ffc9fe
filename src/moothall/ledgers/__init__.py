"""The ledgers: in memory, in an SQLite file, in PostgreSQL."""
