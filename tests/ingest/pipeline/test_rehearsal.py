"""A rehearsal says what a run would do, and writes nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.config import load
from core.home import Home
from ingest.pipeline.rehearsal import rehearse
from ingest.pipeline.run import run
from tests.conftest import Brain
from tests.ingest.history import MORNING, History
from tests.ingest.sources.test_codex import NAME, Rollout, ingest, save
from tests.ingest.sources.test_git import Repository


def everything(folder: str) -> set[str]:
    return {os.path.join(place, name) for place, _, names in os.walk(folder) for name in names}


def test_what_it_announces_is_what_the_run_does(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    path = save(tmp_path / NAME, make.meta(), *make.asked("Why?"), make.record("hologram"))
    (tmp_path / "other.jsonl").write_text('{"type": "user", "sessionId": "x"}\n')
    load(home)  # which keeps the configuration in a form that loads at once
    before = everything(home.root)
    said = rehearse(home, "codex", [str(tmp_path)], trust_stat=False)
    assert everything(home.root) == before
    assert (said["would"]["read"], said["would"]["new"], said["would"]["changed"]) == (2, 1, 0)
    assert said["would"]["files"] == [str(path)]
    done = ingest(home, tmp_path).as_dict()
    for field in ("seen", "ingested", "skipped", "unknown", "documents", "failed_files"):
        assert said[field] == done[field], field
    again = rehearse(home, "codex", [str(tmp_path)], trust_stat=False)
    assert (again["would"]["read"], again["unchanged"]) == (0, 1)
    save(path, make.meta(), *make.asked("Why?"), *make.said("So."))
    grown = rehearse(home, "codex", [str(tmp_path)], trust_stat=True)["would"]
    assert (grown["new"], grown["changed"]) == (0, 1)


def test_a_session_in_which_nothing_was_said_is_announced_as_no_document(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    said = save(tmp_path / NAME, make.meta(), *make.asked("Why?"))
    silent = Rollout()
    name = NAME.replace("0000000a", "0000000b")
    save(tmp_path / name, silent.meta(name.removesuffix(".jsonl")[-36:]))
    rehearsed = rehearse(home, "codex", [str(tmp_path)], trust_stat=False)
    assert (rehearsed["would"]["new"], rehearsed["would"]["files"]) == (1, [str(said)])
    done = ingest(home, tmp_path).as_dict()
    assert done["skipped"] == {"no conversation": 1}
    for field in ("seen", "ingested", "skipped", "documents"):
        assert rehearsed[field] == done[field], field


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_the_command_says_so_and_makes_no_home(brain: Brain, tmp_path: Path, form: tuple[str, ...]) -> None:
    make = Rollout()
    save(tmp_path / "t" / NAME, make.meta(), *make.asked("Why?"))
    new = {"BRAIN_HOME": str(tmp_path / "brain")}
    done = brain("index", "--source", "codex", "--from", str(tmp_path / "t"), "--dry-run", *form, env=new)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "brain" / "brain").exists()
    if form:
        assert json.loads(done.stdout)["sources"]["codex"]["would"]["new"] == 1
    else:
        assert "1 document new" in done.stdout


def test_what_is_not_known_is_counted_with_the_versions_that_have_it(home: Home, tmp_path: Path) -> None:
    for number, version in enumerate(("0.146.0", "0.147.0")):
        make = Rollout()
        name = NAME.replace("0000000a", f"0000000{number}")
        identity = name.removesuffix(".jsonl")[-36:]
        meta = make.meta(identity, cli_version=version)
        save(tmp_path / name, meta, *make.asked("Why?"), make.record("hologram"))
    unknown = ingest(home, tmp_path).unknown["record hologram"]
    assert (unknown["count"], unknown["versions"]) == (2, ["0.146.0", "0.147.0"])


def tree(folder: str) -> dict[str, bytes]:
    return {path: Path(path).read_bytes() for path in everything(folder)}


def make_history(folder: Path) -> str:
    history = History(folder / "Default" / "History")
    history.visit("https://sqlite.org/wal.html", "Write-Ahead Logging")
    history.visit("file:///home/ada/x.pdf", "Elsewhere", MORNING + 9)
    return history.save()


def grow_history(folder: Path) -> None:
    (folder / "Default" / "History").unlink()
    history = History(folder / "Default" / "History")
    history.visit("https://sqlite.org/wal.html", "Write-Ahead Logging")
    history.visit("https://sqlite.org/fts5.html", "FTS5", MORNING + 60)
    history.visit("https://sqlite.org/vacuum.html", "VACUUM", MORNING + 86_400)
    history.save()


def make_code(folder: Path) -> str:
    folder.mkdir()
    (folder / "a.py").write_text("def walrus():\n    return 1\n\n\ndef otter():\n    return 2\n")
    (folder / "b.py").write_text("def seal():\n    return 3\n")
    return str(folder)


def grow_code(folder: Path) -> None:
    (folder / "a.py").write_text("def walrus():\n    return 10\n\n\ndef newt():\n    return 2\n")


def make_git(folder: Path) -> str:
    repository = Repository(folder)
    repository.commit("Begin", "2026-03-01T10:00:00+00:00")
    repository.commit("Go on", "2026-03-02T10:00:00+00:00")
    return str(folder)


def grow_git(folder: Path) -> None:
    repository = Repository.__new__(Repository)
    repository.root = folder
    repository.commit("More", "2026-03-02T11:00:00+00:00")
    repository.commit("End", "2026-03-03T10:00:00+00:00")


@pytest.mark.parametrize(
    ("source", "make", "grow", "first", "second"),
    [
        ("chrome", make_history, grow_history, (1, 1, 0, 0, 0), (1, 1, 1, 0, 0)),
        ("code", make_code, grow_code, (2, 3, 0, 0, 0), (1, 1, 1, 1, 1)),
        ("git", make_git, grow_git, (1, 2, 0, 0, 0), (1, 1, 1, 1, 0)),
    ],
)
def test_a_run_of_another_kind_is_rehearsed_too(
    home: Home,
    tmp_path: Path,
    source: str,
    make: Callable[[Path], str],
    grow: Callable[[Path], None],
    first: tuple[int, ...],
    second: tuple[int, ...],
) -> None:
    place = [make(tmp_path / "there")]
    load(home)

    def rehearsed() -> tuple[dict[str, Any], tuple[int, ...]]:
        before = tree(home.root), tree(str(tmp_path / "there"))
        said = rehearse(home, source, place, trust_stat=True)
        assert (tree(home.root), tree(str(tmp_path / "there"))) == before
        would = said["would"]
        return said, tuple(would[what] for what in ("read", "new", "changed", "unchanged", "removed"))

    said, figures = rehearsed()
    assert figures == first
    done = run(home, source, place, trust_stat=True).as_dict()
    for field in ("seen", "ingested", "skipped", "dropped", "documents", "redacted", "bytes"):
        assert said[field] == done[field], field
    assert (said["dropped"] == {"file: address": 1}) == (source == "chrome")
    assert rehearsed()[1] == (0, 0, 0, done["documents"], 0)
    grow(tmp_path / "there")
    assert rehearsed()[1] == second
    done = run(home, source, place, trust_stat=True).as_dict()
    assert (done["written"], done["removed"]) == (second[1] + second[2], second[4])


def test_the_command_says_what_would_become_of_documents_of_code(brain: Brain, tmp_path: Path) -> None:
    place = make_code(tmp_path / "repository")
    said = brain("index", "--source", "code", "--from", place, "--dry-run").stdout
    assert "2 would be read (0.0 MB): 3 documents new, 0 that change, 0 unchanged" in said
    assert "nothing was written" in said
