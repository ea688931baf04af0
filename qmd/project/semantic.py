"""The half of a project's search that needs a model."""

from __future__ import annotations

from core.errors import EngineMissing

NONE = "none"


def backend() -> str:
    """The embedding backend's name; ``none`` where there is none."""
    return NONE


def require() -> None:
    """Raise EngineMissing where there is no embedding backend: words are not meaning, and are not passed off as it."""
    raise EngineMissing(
        "there is no embedding backend, so nothing can be found by meaning",
        'by words: commonplace-search-keyword "…"',
    )
