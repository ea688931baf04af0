"""OpenClaw: transcripts in files and databases."""
