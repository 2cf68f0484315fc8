"""The gateway: a page, an API, the journal's RPC and MCP, on loopback, for whoever has the token."""
