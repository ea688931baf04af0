"""The MCP server over an index: tools, resources, and the transports stdio and Streamable HTTP."""
