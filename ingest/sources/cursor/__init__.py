"""Cursor: the editor's databases and its agents' transcripts."""
