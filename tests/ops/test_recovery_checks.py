"""The doctor reports a killed restore, backups with forgotten text, and an old backup."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from core import config
from core.errors import EngineMissing
from core.home import Home
from ops import forgetting
from ops.backup import backup, restore
from ops.checks import index, recovery, sources
from ops.checks.finding import CheckContext, Finding
from runtime.asking.documents import Selection
from runtime.capture import inbox
from runtime.capture.indexing import index as index_run
from runtime.forgetting import forget
from tests.conftest import Brain
from tests.ingest.transcripts import OTHER, SESSION, Script, save


def findings(home: Home, later_days: float = 0.0) -> list[Finding]:
    context = CheckContext(home, os.environ, time.time() + later_days * 86_400)
    return [finding for check in recovery.CHECKS for finding in check(context)]


@pytest.fixture
def asked(home: Home) -> Home:
    """A home with a note, and a setting for weekly backups."""
    inbox.write(home, "the pelican landed")
    Path(home.path("collections.yml")).write_text("collections: {inbox: {path: inbox}}\ndoctor: {backup_days: 7}\n")
    return home


def test_a_backup_is_asked_for_only_where_the_configuration_does(home: Home) -> None:
    assert findings(home, 1000) == []


def test_a_backup_that_is_missing_or_too_old_is_a_finding(asked: Home) -> None:
    assert [finding.id for finding in findings(asked)] == ["backup-missing"]
    path = backup.make(asked, config.load(asked))["path"]
    assert findings(asked, 6.9) == []
    os.utime(path)  # rewritten by forgetting: no younger for that
    old = findings(asked, 7.5)
    assert [(finding.id, finding.fix) for finding in old] == [("backup-old", "brain backup")]
    os.unlink(path)
    assert [finding.id for finding in findings(asked)] == ["backup-missing"]


def test_a_killed_restore_is_found_and_finished(asked: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    path = backup.make(asked, config.load(asked))["path"]

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(restore, "_move", dies)
        with pytest.raises(KeyboardInterrupt):
            restore.restore(path, asked, force=True)
    (found,) = findings(asked)
    assert (found.id, found.severity) == ("restore-unfinished", "error")
    assert found.repair is not None
    assert found.repair()
    assert findings(asked) == []
    assert list(Path(asked.inbox).rglob("*.md"))


def test_a_log_that_a_reader_holds_is_reported_with_a_command(
    home: Home, brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "checkpoint", lambda _: False)
    said = index._checkpoint(CheckContext(home, os.environ, time.time()))
    command = said.rpartition(": ")[2].partition(",")[0]
    assert brain(*command.split()[1:]).returncode == 0, f"{command} is a command that there is"


def test_backups_that_may_hold_the_forgotten_are_a_finding(asked: Home) -> None:
    backup.make(asked, config.load(asked))
    job = Path(asked.state, "forgetting-backups.json")
    job.write_text(json.dumps({"schema": 1, "documents": [], "marks": [["claude", "x"]]}))
    assert [finding.id for finding in findings(asked)] == ["backup-forgetting"]
    backup.make(asked, config.load(asked))
    assert findings(asked) == []


def test_transcripts_that_go_soon_are_counted_and_dated(home: Home, claude_root: Path) -> None:
    place = claude_root / "projects" / "-home-me-api"
    save(place / f"{SESSION}.jsonl", Script().user("an old one"))
    save(place / f"{OTHER}.jsonl", Script(OTHER).user("another"))
    for name, days in ((SESSION, 26), (OTHER, 1)):
        old = time.time() - days * 86_400
        os.utime(place / f"{name}.jsonl", (old, old))
    (finding,) = sources.expiry(CheckContext(home, os.environ, time.time()))
    assert finding.evidence == "1 transcript is not archived and will be deleted within 7 days"
    index_run(home, config.load(home))
    assert list(sources.expiry(CheckContext(home, os.environ, time.time()))) == []


def test_an_archive_that_outgrew_its_bound_is_a_finding_and_loses_nothing(home: Home, claude_root: Path) -> None:
    save(claude_root / "projects" / "-p" / "one.jsonl", Script("one").user("the walrus"))
    index_run(home, config.load(home))
    assert list(sources.size(CheckContext(home, os.environ, time.time()))) == []
    before = {path: path.read_bytes() for path in Path(home.path("raw")).rglob("*.zst")}
    settings = "collections: {brain: {path: brain}}\narchive: {max_gb: 0.000001}\n"
    Path(home.path("collections.yml")).write_text(settings, encoding="utf-8")
    index_run(home, config.load(home))
    (finding,) = sources.size(CheckContext(home, os.environ, time.time()))
    assert (finding.id, finding.severity) == ("archive-size", "warning")
    assert {path: path.read_bytes() for path in Path(home.path("raw")).rglob("*.zst")} == before


@pytest.mark.parametrize(
    "data", ["", "{", "[]", "null", '{"schema": 1}', '{"here": "done"}', '{"documents": 3, "marks": []}']
)
@pytest.mark.parametrize(
    ("name", "found"), [("forgetting.json", "forget-unfinished"), ("forgetting-backups.json", "backup-forgetting")]
)
def test_an_unreadable_note_of_a_pending_forget_is_a_finding(asked: Home, name: str, found: str, data: str) -> None:
    path = Path(asked.state, name)
    path.write_text(data, encoding="utf-8")
    ((identity, severity, fix),) = [(each.id, each.severity, each.fix) for each in findings(asked)][:1]
    assert (identity, severity) == (found, "error")
    with pytest.raises(EngineMissing, match="still to be forgotten") as failure:
        forget.carry_out(asked, forget.plan(asked, config.load(asked), Selection(), "pelican"), forgetting_in(asked))
    assert failure.value.fix == fix
    assert fix.startswith(f"mv {path} {path}.damaged; then brain forget once more")
    path.rename(f"{path}.damaged")
    outcome = forget.carry_out(
        asked, forget.plan(asked, config.load(asked), Selection(), "pelican"), forgetting_in(asked)
    )
    assert not Path(asked.state, "forgetting.json").exists()
    assert outcome.left == []


def forgetting_in(home: Home) -> Any:
    return forgetting.elsewhere(home, config.load(home), os.environ)
