"""Cline: tasks of the extension, and sessions of its SDK and CLI."""
