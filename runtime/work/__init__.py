"""Questions about the work of sessions: by command, error, file and topic."""
