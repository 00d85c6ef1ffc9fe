"""MCP: the calls of the table as tools, sessions as resources, how to join as a prompt."""
