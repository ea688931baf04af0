"""Texts that a grammar takes long or much memory to parse, which no bound on their size prevents."""

from __future__ import annotations

import pytest

# Each one takes a second until it is stopped, and then as long again.
HOSTILE = [
    ('r#"' * 20_000, "rust"),
    pytest.param("`" * 150_001, "go", marks=pytest.mark.long),
    pytest.param('"""' * 100_001, "java", marks=pytest.mark.long),
    pytest.param("a<" * 200_000, "cpp", marks=pytest.mark.long),
]
