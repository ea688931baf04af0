"""The background: watching folders, and embedding."""
