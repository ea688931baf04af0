"""Transcripts that their tool will soon delete are reported before."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest

from core import config
from core.home import Home
from ingest.pipeline import state
from ingest.sources.claude import source as claude
from runtime.capture.indexing import index
from runtime.explaining.explain import report
from runtime.forgetting.expiry import expiring
from tests.ingest.transcripts import OTHER, SESSION, Script, save

DAY = 86_400


@pytest.fixture(autouse=True)
def _no_administrator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude, "MANAGED", ())


@pytest.fixture
def transcripts(claude_root: Path) -> Path:
    place = claude_root / "projects" / "-home-me-api"
    save(place / f"{SESSION}.jsonl", Script().user("an old one"))
    save(place / f"{OTHER}.jsonl", Script(OTHER).user("a young one"))
    (place / "empty.jsonl").touch()
    for name in (SESSION, "empty"):
        old = time.time() - 26 * DAY
        os.utime(place / f"{name}.jsonl", (old, old))
    return place


def test_sessions_that_go_soon_are_counted(home: Home, transcripts: Path) -> None:
    found = expiring(home)
    assert (found["period_days"], found["expiring"], found["unarchived"]) == (30, 1, 1)
    assert found["first"] == pytest.approx(time.time() + 4 * DAY, abs=60)
    assert expiring(home, within_days=3)["unarchived"] == 0
    assert expiring(home, within_days=30)["unarchived"] == 2


def test_what_is_archived_as_it_is_is_safe(home: Home, transcripts: Path) -> None:
    index(home, config.load(home))
    found = expiring(home)
    assert (found["expiring"], found["unarchived"], found["archived"]) == (1, 0, 2)
    path = transcripts / f"{SESSION}.jsonl"
    before = path.stat()
    with path.open("ab") as stream:
        stream.write(b'{"type": "mode"}\n')
    os.utime(path, (before.st_atime, before.st_mtime))
    assert expiring(home)["unarchived"] == 1


@pytest.mark.parametrize(
    ("settings", "days"),
    [
        ({"cleanupPeriodDays": 7}, 7),
        ({"cleanupPeriodDays": 3650}, 3650),
        ({"cleanupPeriodDays": "x"}, 30),
        ({"cleanupPeriodDays": -1}, 30),
        ({"cleanupPeriodDays": True}, 30),
        ({"cleanupPeriodDays": float("inf")}, 1_000_000),
        ([], 30),
        ({}, 30),
    ],
)
def test_the_period_is_the_machines_own(claude_root: Path, settings: Any, days: int) -> None:
    (claude_root / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    assert claude.SOURCE.deletes_after(str(claude_root / "projects")) == days
    for broken in ("{broken", "[" * 100_000):
        (claude_root / "settings.json").write_text(broken, encoding="utf-8")
        assert claude.SOURCE.deletes_after(str(claude_root / "projects")) == 30


def test_what_an_administrator_has_set_goes_first(
    claude_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (claude_root / "settings.json").write_text('{"cleanupPeriodDays": 90}', encoding="utf-8")
    managed = tmp_path / "managed-settings.json"
    monkeypatch.setattr(claude, "MANAGED", (str(managed),))
    assert claude.SOURCE.deletes_after(str(claude_root / "projects")) == 90
    managed.write_text('{"cleanupPeriodDays": 9}', encoding="utf-8")
    assert claude.SOURCE.deletes_after(str(claude_root / "projects")) == 9


def test_the_report_warns(home: Home, transcripts: Path) -> None:
    said = {problem["part"]: problem for problem in report(home, "terminal", os.environ)["problems"]}
    assert said["expiry"]["severity"] == "warning"
    assert said["expiry"]["fix"] == "brain index"
    index(home, config.load(home))
    assert "expiry" not in {problem["part"] for problem in report(home, "terminal", os.environ)["problems"]}


def test_the_report_says_when_the_archive_is_above_its_cap(home: Home, transcripts: Path) -> None:
    Path(home.path("collections.yml")).write_text(
        "collections: {brain: {path: brain}}\narchive: {max_gb: 0.0000001}\n", encoding="utf-8"
    )
    index(home, config.load(home))
    said = {problem["part"]: problem for problem in report(home, "terminal", os.environ)["problems"]}
    assert "nothing is deleted" in said["archive"]["message"]


@pytest.mark.parametrize(
    ("free", "failure", "message", "fix"),
    [
        (0, apsw.IOError("disk I/O error"), "the disk is full", "free some space, then run the command again"),
        (9, apsw.IOError("disk I/O error"), "sources.sqlite cannot be read", "brain index reads the sources once more"),
        (9, apsw.CorruptError("malformed"), "sources.sqlite cannot be read", "brain index reads the sources once more"),
        (9, apsw.BusyError("locked"), "another process is writing", "wait a moment, then look again"),
        (9, apsw.CantOpenError("unable to open"), "unable to open", "check its permissions: ls -l "),
    ],
)
def test_what_keeps_it_from_being_known_is_said_with_a_way_out(
    home: Home,
    transcripts: Path,
    monkeypatch: pytest.MonkeyPatch,
    free: int,
    failure: Exception,
    message: str,
    fix: str,
) -> None:
    index(home, config.load(home))

    def fails(*_: object) -> Any:
        raise failure

    monkeypatch.setattr(state, "known", fails)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_blocks=1 << 30, f_bavail=free << 20, f_frsize=1))
    said = report(home, "terminal", os.environ)["expiry"]
    assert message in said["error"]
    assert said["fix"].startswith(fix)
