"""Git: one document a day and repository."""
