"""Pi: transcripts as trees of entries."""
