"""The doctor: for each check the real thing is broken, the finding seen, the fix applied, and a second look is "
"clean."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest

from core.config import load
from core.home import Home
from ingest.pipeline import state
from ops.checks import doctor, wedge
from ops.install import completions, hooks, installed, program, skills
from qmd.index import spaces, vectors
from qmd.index.store import open_index
from runtime.capture import indexing
from runtime.capture.capture import capture
from runtime.hooks import due
from tests.ops.patients import ROOT, examine, ids, repairs

pytestmark = pytest.mark.usefixtures("here")


def write(home: Home, *statements: str) -> None:
    connection = open_index(home.index, write=True)
    for statement in statements:
        connection.execute(statement).fetchall()
    connection.close()


def test_a_truncated_index_is_found_and_rebuilt(well: Home) -> None:
    for suffix in ("-wal", "-shm"):
        Path(well.index + suffix).unlink(missing_ok=True)
    with open(well.index, "r+b") as stream:
        stream.truncate(20_000)
    assert "index-damaged" in ids(examine(well))
    repairs(well, "index-damaged")


def test_a_file_that_is_no_index_is_found(well: Home) -> None:
    for suffix in ("-wal", "-shm"):
        Path(well.index + suffix).unlink(missing_ok=True)
    Path(well.index).write_bytes(b"x" * 8192)
    repairs(well, "index-damaged")


def test_a_missing_index_is_made(well: Home) -> None:
    Path(well.index).unlink()
    repairs(well, "index-missing")


@pytest.mark.parametrize(
    ("identity", "statement"),
    [
        ("index-fts", "DELETE FROM documents_fts WHERE rowid = 1"),
        ("index-facts", "DELETE FROM brain_facts WHERE document_id = 1"),
        ("index-content", "DELETE FROM content WHERE hash = (SELECT hash FROM documents WHERE id = 1)"),
        ("index-passages", "DELETE FROM brain_contents WHERE hash = (SELECT hash FROM documents WHERE id = 1)"),
    ],
)
def test_rows_that_are_gone_are_found(well: Home, identity: str, statement: str) -> None:
    write(well, "PRAGMA foreign_keys = off", statement)
    repairs(well, identity)


def test_damage_inside_the_full_text_index_is_found_by_the_long_look(well: Home) -> None:
    write(well, "UPDATE documents_fts_data SET block = zeroblob(length(block)) WHERE id > 10")
    found = examine(well, deep=True)
    assert any(identity.startswith(("fts-damaged", "index-damaged")) for identity in ids(found))
    indexing.index(well, load(well), rebuild=True)
    assert examine(well, deep=True)["healthy"]


def _killed_while_reading(home: Home) -> Path:
    path = Path(home.state, "copies", "copy-4194999-killed", "database")
    for folder in (path.parent.parent, path.parent):
        folder.mkdir(mode=0o700)
    path.write_bytes(b"visits")
    path.chmod(0o600)
    return path


def test_a_copy_that_a_killed_process_left_is_reported_and_removed(well: Home) -> None:
    path = _killed_while_reading(well)
    repairs(well, "copies")
    assert not path.parent.exists()


def test_any_run_removes_a_copy_that_a_killed_process_left(well: Home) -> None:
    path = _killed_while_reading(well)
    indexing.index(well, load(well), source="claude", trust_stat=True)
    assert not path.parent.exists()


def test_a_corrupted_vector_table_is_found(well: Home) -> None:
    connection = open_index(well.index, write=True)
    spaces.load(connection)
    space = vectors.ensure(connection, "local", "m", 4, "f", "l")
    table = space.table
    connection.execute(f"DROP TABLE {table}").fetchall()
    connection.close()
    assert "vectors" in ids(examine(well))


@pytest.mark.parametrize("name", ["index.sqlite", "state", "brain/s1.md", "logs/usage.jsonl"])
def test_what_others_may_read_is_found_and_closed(well: Home, name: str) -> None:
    doctor.report(well, os.environ, "terminal", examine(well))
    path = well.path(*name.split("/"))
    os.chmod(path, 0o755 if os.path.isdir(path) else 0o644)
    repairs(well, "permissions")
    assert stat.S_IMODE(os.stat(path).st_mode) & 0o077 == 0


def test_the_ledger_must_have_mode_0600_exactly(well: Home) -> None:
    capture(well, "puffins")
    examine(well)
    doctor.report(well, os.environ, "terminal", examine(well))
    os.chmod(well.usage, 0o400)
    repairs(well, "telemetry-mode")


def test_a_torn_row_is_set_aside_and_not_lost(well: Home) -> None:
    doctor.report(well, os.environ, "terminal", examine(well))
    before = Path(well.usage).read_bytes()
    Path(well.usage).write_bytes(before + b'{"schema":1,"ts":"2026-\n' + before)
    repairs(well, "telemetry-torn")
    assert Path(well.usage).read_bytes() == before * 2
    assert Path(well.usage.removesuffix(".jsonl") + ".torn").read_bytes() == b'{"schema":1,"ts":"2026-\n'


def test_a_torn_row_that_was_rotated_out_is_found_and_set_aside(well: Home) -> None:
    rotated = Path(well.logs, "usage-20260501T080000.000000000Z-7.jsonl")
    row = '{"schema":1,"ts":"2026-05-01T08:00:00Z","surface":"terminal","event":"ask"}'
    rotated.write_text(f'{row}\n{{"schema":1,"ts\n{row}\n')
    rotated.chmod(0o600)
    (finding,) = [each for each in examine(well)["findings"] if each["id"] == "telemetry-torn"]
    assert f"1 lines of {rotated} are no rows (line 2)" in finding["evidence"]
    repairs(well, "telemetry-torn")
    assert rotated.read_text() == f"{row}\n{row}\n"
    assert Path(well.logs, "usage.torn").read_text() == '{"schema":1,"ts\n'


def test_a_torn_row_of_another_machine_is_reported_and_left_to_it(well: Home) -> None:
    folder = Path(well.logs, "machines")
    folder.mkdir(mode=0o700)
    theirs = folder / "laptop.jsonl"
    theirs.write_text("{\n")
    theirs.chmod(0o600)
    found = examine(well, fix=True)
    assert found["healthy"]
    (finding,) = [each for each in found["findings"] if each["id"] == "telemetry-torn-elsewhere"]
    assert finding["severity"] == "notice"
    assert "on laptop" in finding["fix"]
    assert theirs.read_text() == "{\n"


def test_a_dead_link_is_found(well: Home) -> None:
    os.symlink("/nowhere/at/all", well.path("brain", "old.md"))
    assert "dead-link" in ids(examine(well))


def test_a_moved_collection_is_found_and_keeps_its_documents(well: Home) -> None:
    os.rename(well.path("brain"), well.path("elsewhere"))
    found = examine(well)
    assert "collection-missing:brain" in ids(found)
    os.rename(well.path("elsewhere"), well.path("brain"))
    assert examine(well)["healthy"]


def test_a_configuration_that_does_not_hold_is_found(well: Home) -> None:
    path = Path(well.path("collections.yml"))
    path.write_text("collections: [\n")
    path.chmod(0o600)
    found = examine(well)
    assert "config" in ids(found)
    path.unlink()
    assert examine(well)["healthy"]


def test_many_files_that_wait_are_indexed(well: Home) -> None:
    for number in range(30):
        path = Path(well.path("brain", f"late{number}.md"))
        path.write_text(f"# late {number}\n")
        path.chmod(0o600)
    repairs(well, "lexical-stale:brain")


def test_what_killed_writers_left_is_swept(well: Home) -> None:
    path = Path(well.path("brain", ".123-ab.tmp"))
    path.write_text("half")
    path.chmod(0o600)
    os.utime(path, (1, 1))
    repairs(well, "leftovers")
    assert not path.exists()


def test_damage_to_what_was_excluded_is_found(well: Home) -> None:
    Path(well.state, "excluded-units.json").touch(mode=0o600)
    assert "excluded" in ids(examine(well), "error")


def test_damage_to_what_was_forgotten_is_found(well: Home) -> None:
    Path(well.state, "tombstones.json").touch(mode=0o600)
    assert "tombstones" in ids(examine(well), "error")


def test_a_full_disk_is_found(well: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: (10**12, 10**12 - 1000, 1000))
    assert "disk" in ids(examine(well))


def test_a_full_disk_is_no_damage(well: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> Any:
        raise apsw.IOError("disk I/O error")

    for name in ("known", "known_units"):
        monkeypatch.setattr(state, name, fails)
    monkeypatch.setattr(spaces, "exist", fails)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_blocks=1 << 30, f_bavail=0, f_frsize=1))
    found = examine(well)
    assert "vectors" not in ids(found)
    assert "IOError" not in json.dumps(found)
    (said,) = [each for each in found["findings"] if each["id"] == "expiry"]
    assert (said["evidence"], said["fix"]) == ("the disk is full", "free some space, then run the command again")


def test_a_clock_that_went_back_is_found(well: Home) -> None:
    soon = time.time() + 7200
    os.utime(well.index, (soon, soon))
    assert "clock" in ids(examine(well))


def test_a_missed_hook_is_found_and_made_good(well: Home, claude_root: Path) -> None:
    path = claude_root / "projects" / "-p" / "0ddddddd-0000-4000-8000-000000000001.jsonl"
    path.parent.mkdir(parents=True)
    record = {"type": "user", "uuid": "u", "sessionId": path.stem, "timestamp": "2026-05-02T08:00:00Z", "cwd": "/p"}
    path.write_text(json.dumps({**record, "message": {"role": "user", "content": "where is the tern"}}) + "\n")
    key = due.add(well, str(path), path.stem, "/p")
    note = Path(well.state, "hooks", "due", f"{key}.json")
    note.write_text(json.dumps({**json.loads(note.read_text()), "at": time.time() - 3600}))
    repairs(well, "hook-missed")


def test_hooks_that_are_gone_are_found(well: Home, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    hooks.install(well, str(path), ["stop"])
    path.write_text("{}")
    assert "hooks" in ids(examine(well))
    hooks.uninstall(well, str(path))
    assert examine(well)["healthy"]


def test_a_skill_that_is_gone_is_noticed(well: Home, tmp_path: Path) -> None:
    skills.install(well, str(tmp_path / "skills"), {})
    (tmp_path / "skills/brain-why/SKILL.md").unlink()
    assert "skill:brain-why" in ids(examine(well), "notice")


def test_a_completion_that_is_gone_is_noticed(well: Home) -> None:
    written = completions.install(well, "fish", os.environ)
    assert ids(examine(well), "notice") == []
    os.unlink(written["path"])
    (finding,) = [each for each in examine(well)["findings"] if each["id"] == "completion"]
    assert finding["fix"] == "brain completion install fish"
    completions.install(well, "fish", os.environ)
    assert ids(examine(well), "notice") == []


def test_a_record_of_installations_that_is_damaged_is_found(well: Home) -> None:
    installed.add(well, "hooks", "/x", {})
    Path(well.state, "installed.json").write_text("{")
    assert "installed" in ids(examine(well))


def test_an_unknown_kind_of_record_is_a_finding(well: Home, claude_root: Path) -> None:
    path = claude_root / "projects" / "-p" / "0ddddddd-0000-4000-8000-000000000002.jsonl"
    path.parent.mkdir(parents=True)
    known = {"type": "user", "uuid": "u", "sessionId": path.stem, "timestamp": "2026-05-02T08:00:00Z", "cwd": "/p"}
    records = [
        {**known, "message": {"role": "user", "content": "hello there"}},
        {**known, "type": "hologram", "uuid": "v"},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    indexing.index(well, load(well))
    assert "drift:claude" in ids(examine(well))


def test_a_wrong_citation_of_the_map_is_found(well: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "MAP.md"
    page.write_text("- One thing: `core/home.py::Castle`.\n")
    monkeypatch.setenv("BRAIN_MAP", str(page))
    assert "map" in ids(examine(well))


def test_a_check_that_breaks_hides_no_other(well: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(context: Any) -> Any:
        raise ZeroDivisionError(context.now)

    monkeypatch.setattr(doctor, "CHECKS", (broken, *doctor.CHECKS))
    os.symlink("/nowhere/at/all", well.path("brain", "old.md"))
    assert {"dead-link", "test_doctor.broken"} <= set(ids(examine(well)))


def _listening(home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], Path]:
    """The texts of notifications, and the second log that the configuration names."""
    told: list[str] = []
    monkeypatch.setattr(doctor, "notify", lambda title, text, environ: told.append(text))
    second = folder / "brain-doctor.log"
    path = Path(home.path("collections.yml"))
    path.write_text((ROOT / "collections.yml").read_text() + f"\ndoctor: {{log: {second}}}\n")
    path.chmod(0o600)
    return told, second


def test_failures_are_reported_where_they_will_be_seen(
    well: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, second = _listening(well, tmp_path, monkeypatch)
    os.symlink("/nowhere/at/all", well.path("brain", "old.md"))
    for _ in range(2):
        doctor.report(well, os.environ, "launchd", examine(well))
    row = json.loads(Path(well.usage).read_text().splitlines()[-1])
    assert (row["event"], row["failures"], row["surface"]) == ("doctor_run", ["dead-link"], "launchd")
    for log in (Path(well.logs, "doctor.log"), second):
        assert log.read_text().count("dead-link") == 2
        assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert len(told) == 1


def test_no_log_and_no_notification_shows_a_secret_of_a_name(
    well: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    told, second = _listening(well, tmp_path, monkeypatch)
    os.symlink("/nowhere/at/all", well.path("brain", f"{token}.md"))
    found = examine(well)
    assert token in json.dumps(found)
    doctor.report(well, os.environ, "launchd", found)
    said = [*told, *(log.read_text() for log in (Path(well.logs, "doctor.log"), second))]
    assert len(said) == 3
    for text in said:
        assert "[redacted:github]" in text
        assert token not in text


def test_a_link_in_place_of_the_second_log_is_not_followed(well: Home, tmp_path: Path) -> None:
    target = tmp_path / "victim"
    target.write_text("mine")
    link = tmp_path / "brain-doctor.log"
    link.symlink_to(target)
    path = Path(well.path("collections.yml"))
    path.write_text((ROOT / "collections.yml").read_text() + f"\ndoctor: {{log: {link}}}\n")
    doctor.report(well, os.environ, "launchd", examine(well))
    assert target.read_text() == "mine"


def test_a_notification_is_data_and_no_script() -> None:
    argv = doctor.notification("Brain", '"; do shell script "rm -rf ~', "darwin")
    assert argv[-1] == '"; do shell script "rm -rf ~'
    assert "rm" not in argv[2]


def test_the_command_exits_by_what_it_found(well: Home, brain: Callable[..., Any]) -> None:
    done = brain("doctor", "--no-wedge", "--json")
    found = json.loads(done.stdout)
    starting = [finding for finding in found["findings"] if finding["id"] == "start"]
    assert done.returncode == (1 if starting else 0)
    os.symlink("/nowhere/at/all", well.path("brain", "old.md"))
    done = brain("doctor", "--no-wedge")
    assert done.returncode == 1
    assert "dead-link" in done.stdout
    assert "fix: rm" in done.stdout


def test_the_contract_holds_on_a_scratch_home(well: Home) -> None:
    assert [identity for identity in ids(examine(well, wedge=True)) if identity.startswith("wedge")] == []


def test_the_trials_run_alone(home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert wedge.main() == 0
    assert capsys.readouterr().out == f"{len(wedge.TRIALS)} trials hold\n"
    monkeypatch.setattr(program, "command", lambda: [sys.executable, "-c", "print('{}')"])
    assert wedge.main() == 1
    assert "explain lacks" in capsys.readouterr().out
    assert not os.path.exists(home.usage), "they use a home of their own"


def test_a_broken_contract_is_found(well: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "command", lambda: [sys.executable, "-c", "print('{}')"])
    found = ids(examine(well, wedge=True))
    assert len([identity for identity in found if identity.startswith("wedge:")]) >= 6


def test_the_script_reports_a_broken_environment(tmp_path: Path) -> None:
    home = tmp_path / "brain"
    home.mkdir()
    copy = tmp_path / "checkout" / "doctor.sh"
    copy.parent.mkdir()
    shutil.copy(ROOT / "doctor.sh", copy)
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "BRAIN_HOME": str(home)}
    done = subprocess.run(["bash", str(copy)], env=environ, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 1
    assert "make venv" in done.stderr
    assert "environment" in (home / "logs" / "doctor.log").read_text()
    brain = copy.parent / ".venv" / "bin" / "brain"
    brain.parent.mkdir(parents=True)
    brain.write_text("#!/bin/sh\necho 'ModuleNotFoundError: apsw' >&2; exit 3\n")
    brain.chmod(0o755)
    done = subprocess.run(["bash", str(copy)], env=environ, capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, "ModuleNotFoundError" in done.stderr) == (1, True)
    brain.write_text("#!/bin/sh\n[ $1 = doctor ] && exit 0\necho brain 1\n")
    done = subprocess.run(["bash", str(copy)], env=environ, capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_doctor_writes_nothing_where_there_is_no_home(tmp_path: Path) -> None:
    place = Home(str(tmp_path / "nowhere"))
    found = examine(place)
    assert "home-missing" in ids(found)
    assert not (tmp_path / "nowhere").exists()
