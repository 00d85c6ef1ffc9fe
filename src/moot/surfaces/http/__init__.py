"""One port for everything: `/rpc`, `/mcp`, `/events`, `/healthz`, `/metrics`."""
