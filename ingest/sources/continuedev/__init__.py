"""Continue: one document a session."""
