"""Teardown: nothing that was installed is left, nothing of the user's is taken, and a second look says so."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from pathlib import Path

import pytest

from core.config import load
from core.home import Home
from ops import teardown
from ops.install import hooks, installed, skills, wired_files
from ops.install.forms import Part
from ops.schedule import files as schedule_files
from ops.schedule import schedule
from ops.schedule.jobs import every_job
from runtime.capture import indexing
from runtime.capture.capture import capture
from tests.conftest import Brain

JOBS = every_job()


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cron of this test's own, and no other scheduler."""
    folder = tmp_path / "tools"
    folder.mkdir()
    none = '[ "$1" = -l ] && [ ! -e $F ] && { echo "no crontab for me" >&2; exit 1; }'
    cron = f'F={tmp_path}/crontab; {none}; [ "$1" = -l ] && exec cat $F; cat > $F'
    scripts = {"crontab": cron, "systemctl": "exit 1"}
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


@pytest.fixture
def full(home: Home, tools: Path, tmp_path: Path) -> Home:
    """A home with a note in it, and everything installed."""
    capture(home, "the walrus cache is kept for nine minutes", force=True)
    indexing.index(home, load(home))
    (tmp_path / "settings.json").write_text('{"mine": 1}\n')
    hooks.install(home, str(tmp_path / "settings.json"), ["stop"])
    skills.install(home, str(tmp_path / "skills"), {})
    schedule.install(home, "cron", JOBS, schedule_files.setting(home, os.environ))
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "mcp.json").write_text('{"mine": 1}')
    part = Part("cursor", "mcp", "json", ("mcpServers", "brain"), {"command": "/opt/brain", "args": ["mcp"]})
    wired_files.settle(home, str(tmp_path / "user" / "mcp.json"), [part])
    completion = tmp_path / "_brain"
    completion.write_text("complete")
    installed.add(home, "completions", str(completion), {"sha256": hashlib.sha256(b"complete").hexdigest()})
    return home


def test_all_of_it_goes_and_the_users_stays(full: Home, tmp_path: Path) -> None:
    Path(full.root, "backups").mkdir()
    Path(full.root, "notes.txt").write_text("mine")
    Path(tmp_path, "crontab").write_text("0 1 * * * mine\n" + Path(tmp_path, "crontab").read_text())
    done = teardown.carry_out(full, os.environ, keep_corpus=False)
    assert done["left"] == []
    assert (tmp_path / "settings.json").read_text() == '{"mine": 1}\n'
    assert not list((tmp_path / "skills").rglob("SKILL.md"))
    assert not (tmp_path / "_brain").exists()
    assert (tmp_path / "crontab").read_text() == "0 1 * * * mine\n"
    assert sorted(os.listdir(full.root)) == ["backups", "notes.txt"]
    assert sorted(map(os.path.basename, done["kept"])) == ["backups", "notes.txt"]
    assert {str(tmp_path / "settings.json"), full.index, "crontab"} <= set(done["removed"])


def test_the_corpus_is_kept_where_it_is_to_be(full: Home, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        # Paths of sockets are short (108 bytes): bound by its name alone.
        before = os.getcwd()
        os.chdir(full.state)
        listening.bind("x.sock")
        os.chdir(before)
        done = teardown.carry_out(full, os.environ, keep_corpus=True)
    assert done["left"] == []
    assert list(Path(full.inbox).rglob("*.md"))
    assert not Path(full.index).exists()
    assert not Path(full.state, "x.sock").exists()
    assert installed.read(full) == {kind: {} for kind in installed.KINDS}
    indexing.index(full, load(full))
    assert Path(full.index).exists(), "the corpus makes the index again"


def test_a_folder_of_notes_elsewhere_is_not_touched(full: Home, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# mine\n")
    Path(full.root, "collections.yml").write_text(f"collections: {{inbox: {{}}, notes: {{path: {notes}}}}}\n")
    assert teardown.carry_out(full, os.environ, keep_corpus=False)["left"] == []
    assert (notes / "a.md").exists()
    assert not Path(full.root).exists()


def test_an_edited_skill_stays_and_is_reported(full: Home, tmp_path: Path) -> None:
    edited = next((tmp_path / "skills").rglob("SKILL.md"))
    edited.write_text("mine")
    (left,) = teardown.carry_out(full, os.environ, keep_corpus=False)["left"]
    assert (left["what"], left["path"]) == ("skill", str(edited))
    assert edited.read_text() == "mine"


def test_what_cannot_be_removed_is_left_and_keeps_nothing_else(full: Home, tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text(settings.read_text() + "}")
    broken = settings.read_text()
    done = teardown.carry_out(full, os.environ, keep_corpus=False)
    assert settings.read_text() == broken
    assert not Path(full.root).exists()
    assert done["left"] == [{"what": "hook", "path": str(settings), "why": done["left"][0]["why"]}]
    assert "cannot be edited" in done["left"][0]["why"]


def test_nothing_goes_without_a_word(full: Home, brain: Brain) -> None:
    assert brain("teardown").returncode == 71
    planned = json.loads(brain("teardown", "--dry-run", "--json").stdout)
    assert full.index in planned["inside"]
    assert Path(full.index).exists()


def test_the_command_leaves_not_even_its_own_telemetry(full: Home, brain: Brain) -> None:
    done = brain("teardown", "--yes", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["left"] == []
    assert not Path(full.root).exists()
    again = brain("teardown", "--yes")
    assert again.returncode == 0, again.stderr
    assert not Path(full.root).exists()


def test_the_resident_process_ends_with_it(full: Home) -> None:
    import psutil

    from runtime.resident import control

    started = control.start(full, os.environ, [])
    assert psutil.pid_exists(started["pid"])
    done = teardown.carry_out(full, os.environ, keep_corpus=False)
    assert (done["left"], psutil.pid_exists(started["pid"])) == ([], False)
