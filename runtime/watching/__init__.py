"""Watching folders, and the work in the background."""
