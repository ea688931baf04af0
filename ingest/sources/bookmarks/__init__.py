"""Bookmarks and reading lists of browsers: one document a month."""
