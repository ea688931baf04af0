"""How many examples hypothesis draws for a property."""

from __future__ import annotations

from hypothesis import settings

# `make test` draws a part of the examples; `make long` draws them all, with `--hypothesis-profile=thorough`.
QUICK = 20
THOROUGH = 100


def examples(most: int) -> int:
    """Return ``most`` in the thorough profile and as large a part of it elsewhere as other properties get."""
    return max(3, most * settings().max_examples // THOROUGH)
