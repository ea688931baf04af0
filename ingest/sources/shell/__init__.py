"""Shell histories: one document a day."""
