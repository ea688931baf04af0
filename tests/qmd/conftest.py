"""The shipped model and its tokenizer are loaded once for all tests of a process: a load takes longer than a test."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from qmd.embedding import local

_LOADS = ("load_session", "load_tokenizer")
_ONCE = {name: functools.cache(getattr(local, name)) for name in _LOADS}


@pytest.fixture(autouse=True)
def _one_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def loading(name: str) -> Callable[..., Any]:
        again, once = getattr(local, name), _ONCE[name]

        def load(path: str, *others: Any) -> Any:
            # A folder of a test's own may change between two loads.
            return (once if "site-packages" in path else again)(path, *others)

        return load

    for name in _LOADS:
        monkeypatch.setattr(local, name, loading(name))
