"""Damage in state/ is named or repaired; nothing else is blamed, and no run ends for it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

import brain
from core.config import load
from core.errors import EngineMissing, Internal
from core.home import Home
from ingest import forgetting
from ingest.collector import Options
from ingest.sources.code import source as code
from ops.backup import backup
from ops.checks import recovery
from ops.checks.finding import CheckContext, Finding
from ops.sync.state import State
from runtime.capture.indexing import index

_GARBLED = b"no database at all " * 200


def findings(home: Home) -> dict[str, Finding]:
    context = CheckContext(home, os.environ, time.time())
    return {finding.id: finding for check in recovery.CHECKS for finding in check(context)}


@pytest.fixture
def state(home: Home, tmp_path: Path) -> Path:
    """The database of a source of code that has read one repository."""
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "a.py").write_text("def heron():\n    return 'a bird that stands in the water'\n")
    code.SOURCE.run(home, [str(repository)], Options(trust_stat=True))
    assert not findings(home)
    return Path(home.state, "code.sqlite")


def test_a_damaged_database_of_a_source_is_found_moved_aside_and_made_again(
    home: Home, state: Path, tmp_path: Path
) -> None:
    state.write_bytes(_GARBLED)
    found = findings(home)["state-damaged:code.sqlite"]
    assert found.repair is not None
    with pytest.raises(Internal, match=f"{state} is damaged: file is not a database"):
        backup.make(home, load(home))
    code.SOURCE.run(home, [str(tmp_path / "repository")], Options(trust_stat=True))
    found_then = findings(home)
    assert list(found_then) == ["state-aside:code.sqlite.damaged"]
    assert found_then["state-aside:code.sqlite.damaged"].severity == "notice"
    state.write_bytes(_GARBLED)
    found.repair()
    assert not state.exists()


@pytest.mark.parametrize("data", [b"", _GARBLED])
def test_forgetting_goes_on_without_it(home: Home, state: Path, data: bytes) -> None:
    index(home, load(home))
    for name in ("code.sqlite", "git.sqlite"):
        Path(home.state, name).write_bytes(data)
    assert brain.main(["forget", "--match", "nothing that is anywhere", "--yes"]) in (0, 67)
    forgetting.forget(home, "code", (), ["a.md"])
    assert state.exists() is not bool(data)


@pytest.mark.parametrize("data", [None, b""])
def test_a_source_that_knows_nothing_of_its_documents_is_found(home: Home, state: Path, data: bytes | None) -> None:
    state.unlink()
    if data is not None:
        state.write_bytes(data)
    assert list(findings(home)) == ["state-emptied:code.sqlite"]


def test_documents_of_another_machine_are_none_that_a_source_must_know(home: Home) -> None:
    path = Path(home.path("code", "machines", "other", "a.md"))
    path.parent.mkdir(parents=True)
    path.write_text("# a\n")
    assert not findings(home)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"null", b'{"machines": []}', b'{"removed": {}, "name": 3}', b"\xff"]
)
def test_a_damaged_state_of_other_machines_is_not_an_empty_one(home: Home, data: bytes) -> None:
    home.make()
    path = Path(home.state, "sync.json")
    path.write_bytes(data)
    with pytest.raises(EngineMissing, match=r"sync\.json is damaged") as failure:
        State(home)
    assert "out of a backup" in failure.value.fix
    assert list(findings(home)) == ["sync-state"]


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"schema": 1}', b"\xff"])
def test_a_lost_note_of_backup_folders_is_a_finding_and_is_kept(home: Home, tmp_path: Path, data: bytes) -> None:
    backup.make(home, load(home), to=str(tmp_path / "disk"))
    path = Path(home.state, "last-backup.json")
    path.write_bytes(data)
    assert list(findings(home)) == ["backup-note"]
    backup.make(home, load(home))
    assert Path(f"{path}.damaged").read_bytes() == data
    assert json.loads(path.read_bytes())["folders"] == [home.path(backup.FOLDER)]
    assert list(findings(home)) == ["state-aside:last-backup.json.damaged"]
