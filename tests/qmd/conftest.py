"""The shipped model is loaded once for all tests of a process: each load takes longer than most tests."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from qmd.embedding import local

_load_once = functools.cache(local.load_session)


@pytest.fixture(autouse=True)
def _one_session(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(path: str, threads: int, fix: str) -> Any:
        # A folder of a test's own may change between two loads.
        return _load_once(path, threads, fix) if "site-packages" in path else load_again(path, threads, fix)

    load_again = local.load_session
    monkeypatch.setattr(local, "load_session", load)
