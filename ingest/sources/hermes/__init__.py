"""Hermes: a database of sessions; before it one document a session."""
