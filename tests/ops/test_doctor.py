"""The doctor: for each check the real thing is broken, the finding seen, the fix applied, and a second look is "
"clean."""

from __future__ import annotations

import inspect
import json
import os
import re
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
from core.config_yaml import DOCTOR
from core.errors import BadInput
from core.home import Home
from ingest.pipeline import state
from ops.checks import doctor, reporting, wedge
from ops.install import completions, hooks, installed, program, skills
from qmd.index.semantic import spaces, vectors
from qmd.index.store import open_index
from runtime.capture import indexing
from runtime.hooks import due
from tests.ops.patients import ROOT, examine, ids, repairs

pytestmark = pytest.mark.usefixtures("here")


def report(home: Home, surface: str = "terminal") -> None:
    reporting.report(home, os.environ, surface, examine(home))


def put(home: Home, name: str, content: str | bytes = "") -> Path:
    """Write a private file of the home and return its path."""
    path = Path(home.path(*name.split("/")))
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(0o600)
    return path


def link(home: Home, name: str = "old.md") -> None:
    os.symlink("/nowhere/at/all", home.path("brain", name))


def write(home: Home, *statements: str) -> None:
    connection = open_index(home.index, write=True)
    for statement in statements:
        connection.execute(statement).fetchall()
    connection.close()


def replace_index(home: Home, content: bytes | None) -> None:
    """Replace the index with these bytes, or remove it."""
    for suffix in ("", "-wal", "-shm"):
        Path(home.index + suffix).unlink(missing_ok=True)
    if content is not None:
        put(home, "index.sqlite", content)


def delete(home: Home, rows: str) -> None:
    write(home, "PRAGMA foreign_keys = off", f"DELETE FROM {rows}")


def drop_vectors(home: Home) -> None:
    connection = open_index(home.index, write=True)
    spaces.load(connection)
    table = vectors.ensure(connection, "local", "m", 4, "f", "l").table
    connection.execute(f"DROP TABLE {table}").fetchall()
    connection.close()


def add_late_files(home: Home) -> None:
    for number in range(30):
        put(home, f"brain/late{number}.md", f"# late {number}\n")


def leave_a_temporary_file(home: Home) -> Path:
    path = put(home, "brain/.123-ab.tmp", "half")
    os.utime(path, (1, 1))
    return path


def leave_a_copy(home: Home) -> Path:
    """Leave the copy of a database that a killed process was reading."""
    for folder in ("copies", "copies/copy-4194999-killed"):
        Path(home.state, folder).mkdir(mode=0o700)
    return put(home, "state/copies/copy-4194999-killed/database", b"visits").parent


def transcript(name: str, **changes: Any) -> Path:
    """Write a transcript of one prompt, and a second record with these changes if there are any."""
    path = Path(os.environ["CLAUDE_CONFIG_DIR"], "projects", "-p", f"{name}.jsonl")
    path.parent.mkdir(parents=True)
    known = {"type": "user", "uuid": "u", "sessionId": name, "timestamp": "2026-05-02T08:00:00Z", "cwd": "/p"}
    record: dict[str, Any] = {**known, "message": {"role": "user", "content": "where is the tern"}}
    path.write_text("".join(json.dumps(each) + "\n" for each in [record, *([record | changes] if changes else [])]))
    return path


def miss_a_hook(home: Home) -> None:
    path = transcript("0ddddddd-0000-4000-8000-000000000001")
    note = Path(home.state, "hooks", "due", f"{due.add(home, str(path), path.stem, '/p')}.json")
    note.write_text(json.dumps({**json.loads(note.read_text()), "at": time.time() - 3600}))


def meet_an_unknown_record(home: Home) -> None:
    transcript("0ddddddd-0000-4000-8000-000000000002", type="hologram", uuid="v", message=None)
    indexing.index(home, load(home))


def set_the_clock_back(home: Home) -> None:
    os.utime(home.index, (time.time() + 7200,) * 2)


def damage_the_record_of_installations(home: Home) -> None:
    installed.add(home, "hooks", "/x", {})
    put(home, "state/installed.json", "{")


FIRST = "(SELECT hash FROM documents WHERE id = 1)"

#: Damage that ``--fix`` repairs: its finding, and the function that does it and returns the path that must go.
REPAIRED: list[tuple[str, Callable[[Home], Path | None]]] = [
    ("index-missing", lambda home: replace_index(home, None)),
    ("index-damaged", lambda home: replace_index(home, b"x" * 8192)),
    ("index-damaged", lambda home: replace_index(home, Path(home.index).read_bytes()[:20_000])),
    ("index-fts", lambda home: delete(home, "documents_fts WHERE rowid = 1")),
    ("index-facts", lambda home: delete(home, "brain_facts WHERE document_id = 1")),
    ("index-content", lambda home: delete(home, f"content WHERE hash = {FIRST}")),
    ("index-passages", lambda home: delete(home, f"brain_contents WHERE hash = {FIRST}")),
    ("telemetry-mode", lambda home: os.chmod(home.usage, 0o400)),
    ("lexical-stale:brain", add_late_files),
    ("leftovers", leave_a_temporary_file),
    ("copies", leave_a_copy),
    ("hook-missed", miss_a_hook),
]

#: Damage that a user repairs: its finding, the finding's severity, and the function that does the damage.
FOUND: list[tuple[str, str, Callable[[Home], object]]] = [
    ("vectors", "error", drop_vectors),
    ("dead-link", "warning", link),
    ("excluded", "error", lambda home: put(home, "state/excluded-units.json")),
    ("tombstones", "error", lambda home: put(home, "state/tombstones.json")),
    ("clock", "warning", set_the_clock_back),
    ("installed", "error", damage_the_record_of_installations),
    ("drift:claude", "warning", meet_an_unknown_record),
]


@pytest.mark.parametrize(("identity", "damage"), REPAIRED)
def test_damage_is_found_and_repaired(well: Home, identity: str, damage: Callable[[Home], Path | None]) -> None:
    report(well)
    left = damage(well)
    repairs(well, identity)
    assert left is None or not left.exists()


@pytest.mark.parametrize(("identity", "severity", "damage"), FOUND)
def test_damage_is_found(well: Home, identity: str, severity: str, damage: Callable[[Home], object]) -> None:
    damage(well)
    assert identity in ids(examine(well), severity)


LIMITS = {key: check for check in doctor.CHECKS for key in re.findall(r'threshold\("(\w+)"', inspect.getsource(check))}


@pytest.mark.parametrize("key", LIMITS)
def test_a_limit_that_a_check_reads_is_documented_and_may_be_set(home: Home, key: str) -> None:
    assert f"| `{key}` |" in (ROOT / "docs" / "configuration.md").read_text()
    said = (LIMITS[key].__doc__ or "").partition("\n")[0]
    assert re.search(rf"\b{key}\b", said), "the first line of the check names its limit"
    Path(home.path("collections.yml")).write_text(f"collections: {{inbox: {{path: inbox}}}}\ndoctor: {{{key}: 3}}\n")
    assert load(home).section("doctor")[key] == 3


def test_a_limit_that_no_check_reads_is_refused(home: Home) -> None:
    assert DOCTOR.keys() - {"log"} == LIMITS.keys()
    Path(home.path("collections.yml")).write_text("collections: {inbox: {path: inbox}}\ndoctor: {nonsense: 3}\n")
    with pytest.raises(BadInput):
        load(home)


def test_damage_inside_the_full_text_index_is_found_by_the_long_look(well: Home) -> None:
    write(well, "UPDATE documents_fts_data SET block = zeroblob(length(block)) WHERE id > 10")
    found = examine(well, deep=True)
    assert any(identity.startswith(("fts-damaged", "index-damaged")) for identity in ids(found))
    indexing.index(well, load(well), rebuild=True)
    assert examine(well, deep=True)["healthy"]


def test_any_run_removes_a_copy_that_a_killed_process_left(well: Home) -> None:
    path = leave_a_copy(well)
    indexing.index(well, load(well), source="claude", trust_stat=True)
    assert not path.exists()


@pytest.mark.parametrize("name", ["index.sqlite", "state", "brain/s1.md", "logs/usage.jsonl"])
def test_what_others_may_read_is_found_and_closed(well: Home, name: str) -> None:
    report(well)
    path = well.path(*name.split("/"))
    os.chmod(path, 0o755 if os.path.isdir(path) else 0o644)
    repairs(well, "permissions")
    assert stat.S_IMODE(os.stat(path).st_mode) & 0o077 == 0


def test_a_torn_row_is_set_aside_and_not_lost(well: Home) -> None:
    report(well)
    before = Path(well.usage).read_bytes()
    Path(well.usage).write_bytes(before + b'{"schema":1,"ts":"2026-\n' + before)
    repairs(well, "telemetry-torn")
    assert Path(well.usage).read_bytes() == before * 2
    assert Path(well.usage.removesuffix(".jsonl") + ".torn").read_bytes() == b'{"schema":1,"ts":"2026-\n'


def test_a_torn_row_that_was_rotated_out_is_found_and_set_aside(well: Home) -> None:
    row = '{"schema":1,"ts":"2026-05-01T08:00:00Z","surface":"terminal","event":"ask"}'
    rotated = put(well, "logs/usage-20260501T080000.000000000Z-7.jsonl", f'{row}\n{{"schema":1,"ts\n{row}\n')
    (finding,) = [each for each in examine(well)["findings"] if each["id"] == "telemetry-torn"]
    assert f"1 lines of {rotated} are no rows (line 2)" in finding["evidence"]
    repairs(well, "telemetry-torn")
    assert rotated.read_text() == f"{row}\n{row}\n"
    assert Path(well.logs, "usage.torn").read_text() == '{"schema":1,"ts\n'


def test_a_torn_row_of_another_machine_is_reported_and_left_to_it(well: Home) -> None:
    Path(well.logs, "machines").mkdir(mode=0o700)
    theirs = put(well, "logs/machines/laptop.jsonl", "{\n")
    found = examine(well, fix=True)
    assert found["healthy"]
    (finding,) = [each for each in found["findings"] if each["id"] == "telemetry-torn-elsewhere"]
    assert finding["severity"] == "notice"
    assert "on laptop" in finding["fix"]
    assert theirs.read_text() == "{\n"


def test_a_moved_collection_is_found_and_keeps_its_documents(well: Home) -> None:
    os.rename(well.path("brain"), well.path("elsewhere"))
    found = examine(well)
    assert "collection-missing:brain" in ids(found)
    os.rename(well.path("elsewhere"), well.path("brain"))
    assert examine(well)["healthy"]


def test_a_configuration_that_does_not_hold_is_found(well: Home) -> None:
    path = put(well, "collections.yml", "collections: [\n")
    assert "config" in ids(examine(well))
    path.unlink()
    assert examine(well)["healthy"]


def test_a_full_disk_is_found(well: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: (10**12, 10**12 - 1000, 1000))
    assert "disk" in ids(examine(well))


def test_a_full_disk_is_no_damage(well: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> Any:
        raise apsw.IOError("disk I/O error")

    for name in ("known", "known_units"):
        monkeypatch.setattr(state, name, fails)
    monkeypatch.setattr(spaces, "listed", fails)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_blocks=1 << 30, f_bavail=0, f_frsize=1))
    found = examine(well)
    assert "vectors" not in ids(found)
    assert "IOError" not in json.dumps(found)
    (said,) = [each for each in found["findings"] if each["id"] == "expiry"]
    assert (said["evidence"], said["fix"]) == ("the disk is full", "free some space, then run the command again")


def test_hooks_that_are_gone_are_found(well: Home, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    hooks.install(well, str(path), ["stop"])
    path.write_text("{}")
    assert "hooks" in ids(examine(well))
    hooks.uninstall(well, str(path))
    assert examine(well)["healthy"]


def test_hooks_that_run_for_another_home_are_found(well: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "command", lambda: [sys.executable, str(ROOT / "brain.py")])
    path = tmp_path / "settings.json"
    hooks.install(well, str(path), ["stop"])
    assert examine(well)["healthy"]
    hooks.install(Home(str(tmp_path / "other")), str(path), ["stop"])
    (found,) = [each for each in examine(well)["findings"] if each["id"] == "hooks"]
    assert found["evidence"] == f"{path}: its hooks run for another home: {tmp_path / 'other'}"
    assert found["fix"] == "brain hooks install"
    hooks.install(well, str(path), ["stop"])
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


def test_a_wrong_citation_of_the_map_is_found(well: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "MAP.md"
    page.write_text("- Two things: `core/home.py::Castle`, `core/home.py::Moat`.\n")
    monkeypatch.setenv("BRAIN_MAP", str(page))
    (finding,) = [each for each in examine(well)["findings"] if each["id"] == "map"]
    assert finding["evidence"] == (
        "MAP.md cites core/home.py::Castle: core/home.py does not define Castle (and 1 more citation)"
    )


def test_a_check_that_breaks_hides_no_other(well: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(context: Any) -> Any:
        raise ZeroDivisionError(context.now)

    monkeypatch.setattr(doctor, "CHECKS", (broken, *doctor.CHECKS))
    link(well)
    assert {"dead-link", "test_doctor.broken"} <= set(ids(examine(well)))


def _listening(home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], Path]:
    """The texts of notifications, and the second log that the configuration names."""
    told: list[str] = []
    monkeypatch.setattr(reporting, "notify", lambda title, text, environ: told.append(text))
    second = folder / "brain-doctor.log"
    put(home, "collections.yml", (ROOT / "collections.yml").read_text() + f"\ndoctor: {{log: {second}}}\n")
    return told, second


def test_failures_are_reported_where_they_will_be_seen(
    well: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, second = _listening(well, tmp_path, monkeypatch)
    link(well)
    for _ in range(2):
        report(well, "launchd")
    row = json.loads(Path(well.usage).read_text().splitlines()[-1])
    assert (row["event"], row["failures"], row["surface"]) == ("doctor_run", ["dead-link"], "launchd")
    for log in (Path(well.logs, "doctor.log"), second):
        assert log.read_text().count("dead-link") == 2
        assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert len(told) == 1


def test_what_is_logged_is_read_again_as_it_was_found(home: Home) -> None:
    long = "word " * 2000
    found = [
        {"id": "a-b:c", "severity": "error", "evidence": "gone  fix: not\nthis", "fix": "brain index  --new"},
        {"id": "long", "severity": "warning", "evidence": long, "fix": "brain doctor --fix"},
        {"id": "mere", "severity": "notice", "evidence": "seen", "fix": "none"},
    ]
    reporting.report(home, {"BRAIN_NOTIFY": "off"}, "launchd", {"findings": found, "took_ms": 1, "checks": 3})
    first, second = reporting.last_report(home)["findings"]
    assert (first["id"], first["severity"]) == ("a-b:c", "error")
    assert (first["evidence"], first["fix"]) == ("gone fix: not this", "brain index --new")
    assert (second["id"], second["fix"]) == ("long", "brain doctor --fix")
    assert long.startswith(second["evidence"].removeprefix(" ").rstrip("…")[:100])
    reporting.report(home, {"BRAIN_NOTIFY": "off"}, "launchd", {"findings": found[2:], "took_ms": 1, "checks": 3})
    assert reporting.last_report(home)["findings"] == []


def test_no_log_and_no_notification_shows_a_secret_of_a_name(
    well: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    told, second = _listening(well, tmp_path, monkeypatch)
    link(well, f"{token}.md")
    found = examine(well)
    assert token in json.dumps(found)
    reporting.report(well, os.environ, "launchd", found)
    said = [*told, *(log.read_text() for log in (Path(well.logs, "doctor.log"), second))]
    assert len(said) == 3
    for text in said:
        assert "[redacted:github]" in text
        assert token not in text


def test_a_link_in_place_of_the_second_log_is_not_followed(well: Home, tmp_path: Path) -> None:
    target = tmp_path / "victim"
    target.write_text("mine")
    linked = tmp_path / "brain-doctor.log"
    linked.symlink_to(target)
    put(well, "collections.yml", (ROOT / "collections.yml").read_text() + f"\ndoctor: {{log: {linked}}}\n")
    report(well, "launchd")
    assert target.read_text() == "mine"


def test_a_notification_is_data_and_no_script() -> None:
    argv = reporting.notification("Brain", '"; do shell script "rm -rf ~', "darwin")
    assert argv[-1] == '"; do shell script "rm -rf ~'
    assert "rm" not in argv[2]


def test_the_command_exits_by_what_it_found(well: Home, brain: Callable[..., Any]) -> None:
    done = brain("doctor", "--no-wedge", "--json")
    found = json.loads(done.stdout)
    starting = [finding for finding in found["findings"] if finding["id"] == "start"]
    assert done.returncode == (1 if starting else 0)
    link(well)
    done = brain("doctor", "--no-wedge")
    assert done.returncode == 1
    assert "dead-link" in done.stdout
    assert "fix: rm" in done.stdout


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

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(["bash", str(copy)], env=environ, capture_output=True, text=True, check=False, timeout=30)

    done = run()
    assert done.returncode == 1
    assert "make venv" in done.stderr
    assert "environment" in (home / "logs" / "doctor.log").read_text()
    brain = copy.parent / ".venv" / "bin" / "brain"
    brain.parent.mkdir(parents=True)
    brain.write_text("#!/bin/sh\necho 'ModuleNotFoundError: apsw' >&2; exit 3\n")
    brain.chmod(0o755)
    done = run()
    assert (done.returncode, "ModuleNotFoundError" in done.stderr) == (1, True)
    brain.write_text("#!/bin/sh\n[ $1 = doctor ] && exit 0\necho brain 1\n")
    done = run()
    assert (done.returncode, done.stderr) == (0, "")


def test_the_doctor_writes_nothing_where_there_is_no_home(tmp_path: Path) -> None:
    place = Home(str(tmp_path / "nowhere"))
    found = examine(place)
    assert "home-missing" in ids(found)
    assert not (tmp_path / "nowhere").exists()
