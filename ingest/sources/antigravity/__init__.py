"""Antigravity: journals of steps."""
