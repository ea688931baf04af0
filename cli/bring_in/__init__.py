"""Commands that bring sources into the index."""
