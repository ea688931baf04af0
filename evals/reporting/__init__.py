"""The report of a run: a page and its charts."""
