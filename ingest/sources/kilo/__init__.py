"""Kilo Code: tasks as Cline keeps them, and since 2026 a database as OpenCode keeps it."""
