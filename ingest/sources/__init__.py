"""The built-in sources: one package a tool."""
