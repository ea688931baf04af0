"""Commands that take in notes and articles, and those that connect agents."""
