"""A folder to stand in, files to write, and what a command did."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest


class Done:
    """The outcome of one command."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err


Qmd = Callable[..., Done]


def stand(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Change to ``folder``, as a shell does."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PWD", str(folder))


def collection(place: Path, qmd: Qmd, name: str, files: dict[str, str | bytes]) -> Path:
    """A collection of ``files`` in a folder of its name, indexed."""
    write(place / name, files)
    assert qmd("collection", "add", name).code == 0
    return place / name


def write(folder: Path, files: dict[str, str | bytes], age_s: float = 3600) -> None:
    """Write files, their mtimes ``age_s`` seconds back."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        stamp = time.time() - age_s
        os.utime(path, (stamp, stamp))
