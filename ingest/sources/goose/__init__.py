"""Goose: a database of sessions; before it JSON Lines."""
