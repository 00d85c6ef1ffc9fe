"""JSON-RPC 2.0: the calls of the table, and their description."""
