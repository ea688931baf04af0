"""Two machines with a repository between them, and homes: one that is well, one to back up."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from core.config import load
from core.home import Home
from ops.install import program
from runtime.capture import inbox, indexing
from runtime.capture.capture import capture
from tests.ops.backups import transcript
from tests.ops.machines import Machine, converge
from tests.ops.patients import ROOT, RUN, examine, ids


@pytest.fixture
def one(tmp_path: Path) -> Machine:
    """A machine with two sessions and a note, never synchronised."""
    machine = Machine(tmp_path, "laptop", tmp_path / "remote.git")
    machine.session(1, "walrus")
    machine.session(2, "ocelot")
    inbox.write(machine.home, "the pelican landed on the laptop")
    return machine


@pytest.fixture
def pair(one: Machine, tmp_path: Path) -> tuple[Machine, Machine]:
    """Return ``one`` and another machine with the same remote repository, a session and a note."""
    other = Machine(tmp_path, "tower", tmp_path / "remote.git")
    other.session(3, "heron")
    inbox.write(other.home, "the puffin landed on the tower")
    return one, other


@pytest.fixture
def converged(pair: tuple[Machine, Machine]) -> tuple[Machine, Machine]:
    """Both, with each other's documents."""
    converge(*pair)
    return pair


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout under test need not have an environment of its own."""
    monkeypatch.setattr(program, "command", lambda: [sys.executable, "-c", RUN, str(ROOT)])
    monkeypatch.setenv("BRAIN_NOTIFY", "off")


@pytest.fixture
def well(home: Home) -> Home:
    """A home of a few documents with nothing to find."""
    for number in range(3):
        path = Path(home.path("brain", f"s{number}.md"))
        path.parent.mkdir(mode=0o700, exist_ok=True)
        head = f"---\nsession_id: s{number}\nsource: claude\ndate: 2026-05-0{number + 1}T08:00:00Z\n---\n\n"
        path.write_text(f"{head}# Session {number}\n\n## [1] user\n\nthe walrus number {number}\n")
        path.chmod(0o600)
    indexing.index(home, load(home))
    capture(home, "prefer flock over pid files")
    assert ids(examine(home)) == []
    return home


@pytest.fixture
def filled(home: Home, claude_root: Path) -> Home:
    """Twenty-two sessions and a note, indexed and archived."""
    for number in range(22):
        transcript(claude_root, number)
    indexing.index(home, load(home), enqueue=True)
    inbox.write(home, "the pelican landed at the quiet harbour")
    return home
