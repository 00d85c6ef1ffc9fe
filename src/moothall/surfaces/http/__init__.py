"""One port for everything: `/rpc`, `/mcp`, `/v1`, `/events`, `/healthz`, `/metrics`."""
