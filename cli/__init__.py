"""Commands: one small module each, with its options, its one call into ``runtime`` and its output."""
