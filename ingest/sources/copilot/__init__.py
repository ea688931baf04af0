"""Copilot CLI: journals of events, and the database made of them."""
