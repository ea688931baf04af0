"""Homes that are built once a module and put back as they were for each test that needs one."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from brain import main


class Stage:
    """A folder with a home and its raw files, at one path for all tests of a module.

    ``build(folder)`` fills the folder once, with ``BRAIN_HOME`` at its ``home``. ``reset`` restores that state, at the
    same path, since a home records absolute paths.
    """

    def __init__(self, place: Path, build: Callable[[Path], None]) -> None:
        self.folder = place / "stage"
        self._kept = place / "kept"
        self.folder.mkdir(mode=0o700)
        with environment(self.folder):
            build(self.folder)
        shutil.copytree(self.folder, self._kept, symlinks=True)

    def reset(self) -> Path:
        """Return the folder, as it was when it had been built."""
        for path in self.folder.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)
        shutil.rmtree(self.folder)
        shutil.copytree(self._kept, self.folder, symlinks=True)
        return self.folder


@contextlib.contextmanager
def environment(folder: Path) -> Iterator[None]:
    """Let ``BRAIN_HOME``, ``HOME`` and ``CLAUDE_CONFIG_DIR`` lie below ``folder`` meanwhile."""
    names = {"BRAIN_HOME": "home", "HOME": "user", "CLAUDE_CONFIG_DIR": "claude"}
    before = {name: os.environ.get(name) for name in names}
    for name, below in names.items():
        (folder / below).mkdir(mode=0o700, exist_ok=True)
        os.environ[name] = str(folder / below)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def run(*words: str) -> None:
    """Run a command in this process; it must succeed."""
    assert main([*words, "--json"]) == 0, words
