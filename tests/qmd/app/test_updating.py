"""``qmd update``: kept documents, reports, and the limits of a project's own configuration."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.home import Home
from qmd import trust
from qmd.app.main import main
from qmd.settings import of_brain, read
from tests.qmd.app.world import Qmd, stand, write
from tests.waiting import until

ROOT = Path(__file__).resolve().parent.parent.parent.parent


def _git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def pulled(place: Path, qmd: Qmd, tmp_path: Path) -> Path:
    """A repository with a clone of two collections; its next commit has one more note."""
    origin = tmp_path / "origin"
    write(origin, {"notes/a.md": "# A\n", "more/b.md": "# B\n"})
    _git(origin, "init")
    _git(origin, "add", ".")
    _git(origin, "commit", "-m", "one")
    _git(place, "clone", str(origin), "clone")
    for name in ("notes", "more"):
        assert qmd("collection", "add", str(place / "clone" / name)).code == 0
    write(origin, {"notes/new.md": "# New\n\nthe walrus\n"})
    _git(origin, "add", ".")
    _git(origin, "commit", "-m", "two")
    return origin


def test_an_update_that_pulls_indexes_what_is_upstream(pulled: Path, qmd: Qmd) -> None:
    assert "walrus" not in qmd("update").out + qmd("search", "walrus").out
    done = qmd("update", "--pull")
    assert (done.code, done.err) == (0, "")
    assert done.out.count("git pull") == 1
    assert "Indexed: 1 new" in done.out
    assert "qmd://notes/new.md" in qmd("search", "walrus").out


def test_a_failed_pull_is_reported_and_the_present_files_are_indexed(pulled: Path, qmd: Qmd, place: Path) -> None:
    write(place / "clone", {"notes/own.md": "# Own\n"})
    pulled.rename(pulled.with_name("elsewhere"))
    done = qmd("update", "--pull")
    assert (done.code, "Indexed: 1 new" in done.out) == (1, True)
    assert f"git pull failed in {place / 'clone'}" in done.err


def test_nothing_is_pulled_where_there_is_nothing_to_pull_from(place: Path, qmd: Qmd) -> None:
    write(place, {"plain/a.md": "# A\n", "repository/b.md": "# B\n"})
    _git(place / "repository", "init")
    for name in ("plain", "repository"):
        assert qmd("collection", "add", str(place / name)).code == 0
    done = qmd("update", "--pull")
    assert (done.code, done.err, done.out.count("has no upstream")) == (0, "", 1)


def test_a_file_name_that_is_no_text_is_reported(notes: Path, qmd: Qmd) -> None:
    with open(os.fsencode(str(notes)) + b"/bad\xff.md", "wb") as stream:
        stream.write(b"# Bad\n")
    done = qmd("update")
    assert done.code == 0
    assert "⚠ Skipped unreadable file: bad\\udcff.md (the file name is not valid UTF-8)" in done.err
    assert "3 unchanged, 0 removed" in done.out


def test_a_file_that_became_empty_leaves_the_index(notes: Path, qmd: Qmd) -> None:
    (notes / "plan.md").write_text(" \n")
    assert "2 unchanged, 1 removed" in qmd("update").out
    assert qmd("search", "hourly", "--json").out == "[]\n"


def test_verify_reads_what_the_stat_says_is_unchanged(notes: Path, qmd: Qmd) -> None:
    path = notes / "plan.md"
    before = path.stat()
    path.write_text(path.read_text().replace("hourly", "weekly"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "0 updated" in qmd("update").out
    assert "1 updated" in qmd("update", "--verify").out


def test_what_is_gone_waits_for_the_cleanup(notes: Path, qmd: Qmd) -> None:
    (notes / "done.md").unlink()
    assert "2 unchanged, 1 removed" in qmd("update").out
    assert "Would remove 1 inactive document records" in qmd("cleanup", "--dry-run").out
    assert "✓ Removed 1 inactive document records\n✓ Removed 1 orphaned content hashes" in qmd("cleanup").out
    assert "inactive" not in qmd("cleanup").out
    assert "1 new" in _written(notes, qmd)


def _written(notes: Path, qmd: Qmd) -> str:
    write(notes, {"done.md": "# Done again\n"})
    return qmd("update").out


def test_an_older_indexs_path_becomes_the_files_own(notes: Path, qmd: Qmd, tmp_path: Path) -> None:
    import sqlite3

    write(notes, {"my notes (2).md": "# Mine\n\nunchanged\n"})
    qmd("update")
    connection = sqlite3.connect(tmp_path / "cache" / "qmd" / "index.sqlite")
    with connection:
        identity = connection.execute("SELECT id FROM documents WHERE title = 'Mine'").fetchone()[0]
        connection.execute("UPDATE documents SET path = 'my-notes-2.md' WHERE id = ?", (identity,))
        connection.execute("DELETE FROM brain_files WHERE document_id = ?", (identity,))
    assert "0 new, 0 updated, 4 unchanged, 0 removed" in qmd("update").out
    assert connection.execute("SELECT id, path FROM documents WHERE title = 'Mine'").fetchall() == [
        (identity, "my notes (2).md")
    ]
    connection.close()


def test_a_command_that_fails_ends_the_update_with_its_code(notes: Path, qmd: Qmd) -> None:
    qmd("collection", "update-cmd", "notes", "echo said; exit 9")
    done = qmd("update")
    assert done.code == 9
    assert done.out.endswith("    said\n✗ Update command failed with exit code 9\n")


def test_a_collections_command_makes_files_as_its_user_does_and_the_index_is_private(place: Path) -> None:
    write(place / "notes", {"plan.md": "# Plan\n\nRefresh the tokens hourly.\n"})
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    before = os.umask(0o027)
    try:
        for words in ("collection add notes", "collection update-cmd notes touch%20pulled.md", "update"):
            argv = [sys.executable, "-m", "qmd", *(word.replace("%20", " ") for word in words.split(" "))]
            subprocess.run(argv, env=environ, check=True, stdout=subprocess.DEVNULL)
    finally:
        os.umask(before)
    assert (place / "notes" / "pulled.md").stat().st_mode & 0o777 == 0o640
    made = [path for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME") for path in Path(os.environ[name]).rglob("*")]
    assert {"index.sqlite", "index.yml"} <= {path.name for path in made}
    assert [path for path in made if path.is_file() and path.stat().st_mode & 0o077] == []


def test_a_signal_during_the_start_of_a_command_ends_both(
    notes: Path, qmd: Qmd, monkeypatch: pytest.MonkeyPatch
) -> None:
    qmd("collection", "update-cmd", "notes", "sleep 60")
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def starting(*words: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*words, **options))
        signal.raise_signal(signal.SIGTERM)
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", starting)
    assert qmd("update").code == 143
    assert [process.returncode for process in started] == [-signal.SIGKILL]


def test_a_terminated_update_ends_its_command(notes: Path, qmd: Qmd, place: Path) -> None:
    qmd("collection", "update-cmd", "notes", "sleep 60 & echo $! > pid; wait")
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-m", "qmd", "update"], env=environ, stdout=subprocess.DEVNULL)
    sleeper = int(until(lambda: (notes / "pid").exists() and (notes / "pid").read_text()) or 0)
    process.terminate()
    assert process.wait(20) == 143
    stat = Path(f"/proc/{sleeper}/stat")
    until(lambda: not stat.exists() or " Z " in stat.read_text())


def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> Path:
    project = tmp_path / "project"
    write(project, {".qmd/index.yml": text, "doc/a.md": "# A\n\ntokens\n"})
    stand(monkeypatch, project)
    return project


def test_a_checked_in_command_runs_only_after_approval(
    qmd: Qmd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "collections:\n  docs:\n    path: doc\n    update: touch ran\n"
    project = _project(tmp_path, monkeypatch, text)
    skipped = qmd("update")
    assert skipped.code == 0
    assert "Skipping them — no terminal to confirm on." in skipped.out
    assert "1 new" in skipped.out
    assert not (project / "doc" / "ran").exists()
    qmd("trust")
    qmd("update")
    assert (project / "doc" / "ran").exists()
    (project / "doc" / "ran").unlink()
    (project / ".qmd" / "index.yml").write_text(text.replace("touch ran", "touch ran; true"))
    assert "This project's config defines update commands:" in qmd("update").out
    assert not (project / "doc" / "ran").exists()


def test_a_checked_in_path_out_of_the_project_is_skipped(
    qmd: Qmd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "private", {"p.md": "# P\n\npassword\n"})
    project = _project(tmp_path, monkeypatch, "collections:\n  out:\n    path: inside\n")
    (project / "inside").symlink_to(tmp_path / "private")
    assert "Skipping collection 'out'" in qmd("update").out
    assert qmd("search", "password", "--json").out == "[]\n"
    monkeypatch.setenv("QMD_TRUST_LOCAL_CONFIG", "1")
    assert "1 new" in qmd("update").out


def test_a_command_of_a_brains_configuration_runs_only_after_approval(
    qmd: Qmd, home: Home, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It may have come out of a backup, or with a checkout that is the home."""

    def brain(*words: str) -> str:
        capfd.readouterr()
        assert main(list(words), of_brain(home)) == 0
        return capfd.readouterr().out

    notes = Path(home.path("notes"))
    write(notes, {"a.md": "# A\n\ntokens\n"})
    path = Path(home.path("collections.yml"))
    text = "collections: {notes: {path: notes, update: touch ran}}\n"
    path.write_text(text)
    said = brain("update")
    assert "collections.yml defines update commands:" in said
    assert "'brain qmd --brain trust'" in said
    assert "1 new" in said
    assert not (notes / "ran").exists()
    # A command that the user types approves that one, and nothing else.
    brain("collection", "update-cmd", "notes", "touch ran; true")
    brain("update")
    assert not (notes / "ran").exists()
    assert "touch ran; true" in brain("trust")
    brain("update")
    assert (notes / "ran").exists()
    (notes / "ran").unlink()
    path.write_text(text)
    brain("update")
    assert not (notes / "ran").exists()
    assert "Revoked" in brain("trust", "revoke")


def test_a_command_that_is_typed_for_a_brain_is_approved(qmd: Qmd, home: Home) -> None:
    notes = Path(home.path("notes"))
    write(notes, {"a.md": "# A\n"})
    Path(home.path("collections.yml")).write_text("collections: {notes: {path: notes}}\n")
    assert main(["collection", "update-cmd", "notes", "touch ran"], of_brain(home)) == 0
    assert main(["update"], of_brain(home)) == 0
    assert (notes / "ran").exists()


def test_typing_one_command_does_not_approve_what_a_project_came_with(
    qmd: Qmd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "collections:\n  docs:\n    path: doc\n    update: touch ran\n"
    project = _project(tmp_path, monkeypatch, text)
    write(project, {"more/b.md": "# B\n"})
    assert qmd("collection", "add", "more", "--name", "more").code == 0
    qmd("update")
    assert not (project / "doc" / "ran").exists()


def test_the_models_of_a_brains_configuration_need_no_approval(home: Home) -> None:
    text = "collections: {notes: {path: notes, update: touch ran}}\nembedding: {provider: openai}\n"
    Path(home.path("collections.yml")).write_text(text)
    settings = of_brain(home)
    assert trust.is_approved(settings, read(settings))
    assert not trust.may_run_commands(settings, read(settings))
