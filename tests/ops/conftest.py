"""Two machines with a repository between them, and homes: one that is well, one to back up."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.config import load
from core.home import Home
from ops.backup import questions
from ops.install import program
from runtime.capture import inbox, indexing
from runtime.capture.capture import capture
from tests import homes
from tests.ops.backups import transcript
from tests.ops.machines import Machine, converge
from tests.ops.patients import ROOT, RUN


def _laptop(folder: Path) -> Machine:
    machine = Machine(folder, "laptop", folder / "remote.git")
    machine.session(1, "walrus")
    machine.session(2, "ocelot")
    inbox.write(machine.home, "the pelican landed on the laptop")
    return machine


def _tower(folder: Path) -> Machine:
    machine = Machine(folder, "tower", folder / "remote.git")
    machine.session(3, "heron")
    inbox.write(machine.home, "the puffin landed on the tower")
    return machine


@pytest.fixture
def one(tmp_path: Path) -> Machine:
    """A machine with two sessions and a note, never synchronised."""
    return _laptop(tmp_path)


@pytest.fixture
def pair(one: Machine, tmp_path: Path) -> tuple[Machine, Machine]:
    """Return ``one`` and another machine with the same remote repository, a session and a note."""
    return one, _tower(tmp_path)


@pytest.fixture(scope="session")
def meeting(tmp_path_factory: pytest.TempPathFactory) -> homes.Stage:
    """A folder with the machines of ``pair``, each with the other's documents."""

    def build(folder: Path) -> None:
        one = _laptop(folder)
        converge(one, _tower(folder))

    return homes.Stage(tmp_path_factory.mktemp("meeting"), build)


@pytest.fixture
def converged(meeting: homes.Stage, places: list[Path]) -> tuple[Machine, Machine]:
    """The machines of ``pair``, each with the other's documents."""
    folder = meeting.reset()
    places.append(folder)
    remote = folder / "remote.git"
    return Machine(folder, "laptop", remote), Machine(folder, "tower", remote)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout under test need not have an environment of its own."""
    monkeypatch.setattr(program, "command", lambda: [sys.executable, "-c", RUN, str(ROOT)])
    monkeypatch.setenv("BRAIN_NOTIFY", "off")


@pytest.fixture(scope="session")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of a few documents; tests copy it."""
    folder = tmp_path_factory.mktemp("healthy")
    with homes.environment(folder):
        home = Home(str(folder / "home"))
        home.make()
        _document(home)
    return Path(home.root)


def _document(home: Home) -> None:
    for number in range(3):
        path = Path(home.path("brain", f"s{number}.md"))
        path.parent.mkdir(mode=0o700, exist_ok=True)
        head = f"---\nsession_id: s{number}\nsource: claude\ndate: 2026-05-0{number + 1}T08:00:00Z\n---\n\n"
        path.write_text(f"{head}# Session {number}\n\n## [1] user\n\nthe walrus number {number}\n")
        path.chmod(0o600)
    indexing.index(home, load(home))
    capture(home, "prefer flock over pid files")


@pytest.fixture
def well(healthy: Path, home: Home) -> Home:
    """A home of a few documents with nothing to find."""
    shutil.copytree(healthy, home.root, dirs_exist_ok=True)
    return home


@pytest.fixture(scope="session")
def twenty_two(tmp_path_factory: pytest.TempPathFactory) -> homes.Stage:
    """A folder with the home and the transcripts of ``filled``."""

    def build(folder: Path) -> None:
        for number in range(22):
            transcript(folder / "claude", number)
        home = Home(str(folder / "home"))
        home.make()
        indexing.index(home, load(home), enqueue=True)
        inbox.write(home, "the pelican landed at the quiet harbour")

    return homes.Stage(tmp_path_factory.mktemp("twenty_two"), build)


@pytest.fixture
def filled(twenty_two: homes.Stage, places: list[Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """Twenty-two sessions and a note, indexed and archived: ``BRAIN_HOME``. A backup asks a few questions, twice."""
    monkeypatch.setattr(questions, "COUNT", 3)
    folder = twenty_two.reset()
    places.append(folder)
    with homes.environment(folder):
        yield Home(str(folder / "home"))
