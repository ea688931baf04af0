"""The beginning of the mark that replaces a secret: ``[redacted:<kind>]``."""

MARK = "[redacted:"
