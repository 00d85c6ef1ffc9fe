"""The calls that other programs make, once for JSON-RPC, MCP and the page: what they take, give and require."""
