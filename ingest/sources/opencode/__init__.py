"""OpenCode: a database, a tree of JSON files, and exports."""
