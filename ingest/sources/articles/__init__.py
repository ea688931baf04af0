"""Articles and other files that a person adds."""
