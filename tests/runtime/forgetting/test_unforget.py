"""A lifted tombstone lets in again what is still there, also where it lies in a file that others share."""

from __future__ import annotations

from pathlib import Path

import pytest

from core import config
from core.home import Home
from runtime.asking.documents import Selection
from runtime.capture.indexing import index
from runtime.forgetting import forget
from tests.ingest.history import MORNING, History, configure
from tests.ingest.sources.test_git import Repository


def shell(home: Home, place: Path) -> tuple[str, list[str]]:
    history = place / ".zsh_history"
    history.write_text(": 1777300000:0;echo harmless\n: 1777400000:0;echo quicksilver\n")
    return "brain", [str(history)]


def chrome(home: Home, place: Path) -> tuple[str, list[str]]:
    configure(home, "{mode: all}")
    history = History(place / "browser" / "History")
    history.visit("https://walrus.test/", "On quicksilver")
    history.visit("https://heron.test/", "On herons", MORNING + 86_400)
    return "chrome-history", [history.save()]


def code(home: Home, place: Path) -> tuple[str, list[str]]:
    folder = place / "project"
    folder.mkdir()
    (folder / "a.py").write_text("def quicksilver():\n    return 1\n\n\ndef other():\n    return 2\n")
    return "code", [str(folder)]


def git(home: Home, place: Path) -> tuple[str, list[str]]:
    repository = Repository(place / "project")
    repository.commit("The quicksilver ledger")
    repository.commit("Something harmless", at="2026-04-29T09:00:00+00:00")
    return "git", [str(repository.root)]


SOURCES = {"shell": shell, "chrome": chrome, "code": code, "git": git}


@pytest.mark.parametrize("source", SOURCES)
def test_what_shares_an_unchanged_file_comes_back_with_the_next_run(home: Home, tmp_path: Path, source: str) -> None:
    collection, roots = SOURCES[source](home, tmp_path)

    def held() -> dict[str, bytes]:
        index(home, config.load(home), source=source, roots=roots, trust_stat=True)
        folder = Path(home.path(collection))
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.md")}

    before = held()
    outcome = forget.carry_out(home, forget.plan(home, config.load(home), Selection(), "quicksilver"))
    assert (outcome.documents, len(held())) == (1, len(before) - 1)
    forget.unforget(home, [forget.forgotten(home)[0][1]])
    assert held() == before
