"""The ``qmd`` command: one module a group of verbs, and what they share: arguments, session, output."""
