"""Models that write: a question in other words, for ``query``. None is used unless one is named."""
