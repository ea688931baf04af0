"""Zed: threads of the agent panel in a database."""
