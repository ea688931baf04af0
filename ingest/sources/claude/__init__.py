"""Claude Code: transcripts as JSON Lines."""
