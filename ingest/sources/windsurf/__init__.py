"""Windsurf: transcripts that its hooks write; conversations themselves are encrypted."""
