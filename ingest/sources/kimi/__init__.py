"""Kimi CLI: the context of each session as JSON Lines."""
