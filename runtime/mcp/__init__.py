"""Brain's own MCP tools, served by the transports of ``qmd.mcp``."""
