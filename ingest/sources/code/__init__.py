"""Code: one document a symbol."""
