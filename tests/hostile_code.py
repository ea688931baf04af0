"""Texts that a grammar takes long or much memory to parse, which no bound on their size prevents."""

from __future__ import annotations

HOSTILE = [
    ('r#"' * 20_000, "rust"),
    ("`" * 150_001, "go"),
    ('"""' * 100_001, "java"),
    ("a<" * 200_000, "cpp"),
]
