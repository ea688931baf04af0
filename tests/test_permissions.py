"""A file of the home that may not be read or written is named with its chmod; it is not called damaged, nor moved."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.home import Home
from ingest.sources.chrome import archive as chrome_archive
from tests import homes
from tests.conftest import Brain
from tests.test_concurrency import transcripts

_GIT = ["git", "-c", "user.name=ana", "-c", "user.email=ana@example.org", "-c", "init.defaultBranch=main"]
FILES = (
    "index.sqlite",
    "raw/catalogue.sqlite",
    "raw/chrome.sqlite",
    "state/sources.sqlite",
    "state/code.sqlite",
    "state/git.sqlite",
    "state/tombstones.json",
    "state/installed.json",
    "state/sync.json",
    "state/last-backup.json",
    "state/redaction",
)
FOLDERS = ("state", "raw")
COMMANDS = {
    "sessions": ["index", "--from", "{transcripts}"],
    "rehearsal": ["index", "--dry-run", "--from", "{transcripts}"],
    "commits": ["index", "--source", "git", "--from", "{repository}"],
    "code": ["index", "--source", "code", "--from", "{repository}"],
    "forget": ["forget", "--match", "topic3", "--yes"],
    "backup": ["backup"],
    "sync": ["sync"],
    "uninstall": ["hooks", "uninstall"],
    "doctor": ["doctor", "--fix", "--no-wedge"],
}
# No line calls a sound file damaged, shows an exception, or asks for a report of it.
_WRONG = re.compile(r"damaged|mv |report it|[A-Z]\w+Error|unable to open|readonly")


def build(folder: Path) -> None:
    """Make a home that has each of ``FILES``, and the folders that the commands name."""
    repository = folder / "repository"
    repository.mkdir()
    (repository / "seal.py").write_text("def seal():\n    return 1\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "add the seal"]):
        subprocess.run([*_GIT, *words], cwd=repository, check=True)
    transcripts(folder / "transcripts", range(4))
    for name in ("sessions", "commits", "code"):
        homes.run(*placed(COMMANDS[name], folder))
    homes.run("hooks", "install")
    homes.run("sync", "--dir", str(folder / "memory.git"))
    homes.run("backup", "--no-verify")
    homes.run("forget", "--match", "topic2", "--yes")
    chrome_archive.Archive(Home(str(folder / "home"))).close()


def placed(words: list[str], folder: Path) -> list[str]:
    return [word.format(transcripts=folder / "transcripts", repository=folder / "repository") for word in words]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> homes.Stage:
    return homes.Stage(tmp_path_factory.mktemp("permissions"), build)


@pytest.fixture
def folder(stage: homes.Stage) -> Iterator[Path]:
    """The folder with the home, which is ``BRAIN_HOME``."""
    folder = stage.reset()
    with homes.environment(folder):
        yield folder


PLACES = [(name, 0) for name in FILES] + [(name, 0o500) for name in FOLDERS]
# One of each kind; the others take as long and run with the long tests.
SHORT = ("index.sqlite", "state/tombstones.json", "state")


@pytest.mark.parametrize(
    ("place", "mode"), [pytest.param(*each, marks=() if each[0] in SHORT else pytest.mark.long) for each in PLACES]
)
def test_what_may_not_be_written_is_named_with_its_chmod_and_never_moved(
    folder: Path, brain: Brain, bound: Brain, place: str, mode: int
) -> None:
    path = folder / "home" / place
    before = path.read_bytes() if path.is_file() else b""
    transcripts(folder / "transcripts", range(4), turns=9)
    path.chmod(mode)
    fixes = set()
    for name, words in COMMANDS.items():
        done = bound(*placed(words, folder))
        printed = done.stdout + done.stderr
        assert done.returncode in (0, 1, 64), (name, printed)
        assert not _WRONG.search(printed), (name, printed)
        fixes |= set(re.findall(rf"chmod u\+rwX \S*/{place}\b", printed))
    (fix,) = fixes
    assert not list((folder / "home").rglob("*.damaged"))
    subprocess.run(shlex.split(fix), check=True)
    assert path.is_dir() or path.read_bytes() == before
    assert os.stat(path).st_mode & 0o700 == (0o700 if path.is_dir() else 0o600)
    assert brain(*placed(COMMANDS["sessions"], folder)).returncode == 0
