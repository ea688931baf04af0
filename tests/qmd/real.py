"""The real qmd 2.8.3 and ours: two worlds with the same files, one command line for both."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
VERSION = "2.8.3"


def find() -> list[str] | str:
    """The real program's argv: ``$BRAIN_REAL_QMD`` (qmd.js, by ``$BRAIN_NODE`` or PATH's node), else PATH's ``qmd``.

    A text says why there is none.
    """
    script = os.environ.get("BRAIN_REAL_QMD")
    if script:
        node = os.environ.get("BRAIN_NODE") or shutil.which("node")
        if not node or not Path(script).is_file():
            return f"BRAIN_REAL_QMD={script}, but node or the file is missing"
        argv = [node, script]
    else:
        found = shutil.which("qmd")
        if not found:
            return "no real qmd: npm install @tobilu/qmd@2.8.3 (node >= 22), BRAIN_REAL_QMD=…/dist/cli/qmd.js"
        argv = [found]
    try:
        said = subprocess.run([*argv, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except OSError as error:
        return f"the real qmd does not start: {error}"
    if not said.stdout.startswith(f"qmd {VERSION}") or "brain" in said.stdout:
        return f"a qmd other than {VERSION}: {said.stdout.strip() or said.stderr.strip()[:200]}"
    return argv


class World:
    """One program's configuration and index, over files that both see."""

    def __init__(self, argv: list[str], folder: Path, files: Path) -> None:
        self.argv = argv
        self.folder = folder
        self.files = files
        folder.mkdir()

    @property
    def database(self) -> Path:
        return self.folder / "cache" / "qmd" / "index.sqlite"

    @property
    def config(self) -> Path:
        return self.folder / "config" / "qmd" / "index.yml"

    def run(
        self, *words: str, cwd: Path | None = None, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """One command, its places replaced by names that both programs share."""
        where = cwd or self.files
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "PWD": str(where),
            "TZ": "UTC",
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "PYTHONPATH": str(ROOT),
            **(env or {}),
        }
        done = subprocess.run(
            [*self.argv, *words],
            capture_output=True,
            text=True,
            cwd=where,
            env=environ,
            timeout=120,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        done.stdout = done.stdout.replace(str(self.folder), "WORLD")
        done.stderr = done.stderr.replace(str(self.folder), "WORLD")
        return done


class Pair:
    """The real program and ours."""

    def __init__(self, real: World, ours: World) -> None:
        self.real = real
        self.ours = ours
        self.files = real.files

    def same(self, *words: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
        """Run a command in both worlds, and fail unless exit code, stdout and stderr are equal. Returns stdout."""
        real = self.real.run(*words, cwd=cwd, env=env)
        ours = self.ours.run(*words, cwd=cwd, env=env)
        shown = [
            _steady(f"exit code {each.returncode}\n{each.stdout}\n--- stderr\n{each.stderr}") for each in (ours, real)
        ]
        if shown[0] != shown[1]:
            difference = "\n".join(
                difflib.unified_diff(shown[1].split("\n"), shown[0].split("\n"), "real", "ours", "", "", 2)
            )
            pytest.fail(f"qmd {' '.join(words)}\n{difference}", pytrace=False)
        return ours.stdout

    def both(self, *words: str) -> None:
        """Run a command in both worlds, whatever it prints; it must succeed."""
        for world in (self.real, self.ours):
            done = world.run(*words)
            assert done.returncode == 0, (words, done.stderr)


def _steady(text: str) -> str:
    """``text`` without what changes from one second to the next."""
    return re.sub(r"\b\d+s ago", "Ns ago", re.sub(r"20\d\d-\d\d-\d\dT[\d:.]+Z", "DATE", text))


def pair(folder: Path) -> Pair:
    """Two empty worlds over ``folder/files``; skips the test where there is no real qmd."""
    found = find()
    if isinstance(found, str):
        pytest.skip(found)
    files = folder / "files"
    files.mkdir(exist_ok=True)
    ours = World([sys.executable, "-m", "qmd"], folder / "ours", files)
    return Pair(World(found, folder / "real", files), ours)
