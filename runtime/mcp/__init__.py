"""Brain's own MCP tools: what ``qmd.mcp``'s transports serve for it."""
