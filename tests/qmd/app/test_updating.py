"""``qmd update``: what is kept, what is told, and what a project's own configuration may not do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.qmd.app.world import Qmd, stand, write

ROOT = Path(__file__).resolve().parent.parent.parent.parent


def test_documents_of_a_missing_folder_are_kept_and_told_of(notes: Path, qmd: Qmd) -> None:
    notes.rename(notes.parent / "elsewhere")
    done = qmd("update")
    assert done.code == 0
    assert f"Collection folder is missing: {notes}" in done.err
    assert "0 new, 0 updated, 0 unchanged, 0 removed" in done.out
    assert "qmd://notes/plan.md" in qmd("search", "hourly", "--files").out


def test_a_file_name_that_is_no_text_is_told_of(notes: Path, qmd: Qmd) -> None:
    with open(os.fsencode(str(notes)) + b"/bad\xff.md", "wb") as stream:
        stream.write(b"# Bad\n")
    done = qmd("update")
    assert done.code == 0
    assert "⚠ Skipped unreadable file: bad\\udcff.md (the file name is not valid UTF-8)" in done.err
    assert "3 unchanged, 0 removed" in done.out


def test_a_symlink_is_not_followed(notes: Path, qmd: Qmd, tmp_path: Path) -> None:
    write(tmp_path / "secret", {"s.md": "# Secret\n\npassword\n"})
    (notes / "out.md").symlink_to(tmp_path / "secret" / "s.md")
    (notes / "folder").symlink_to(tmp_path / "secret")
    assert "0 new" in qmd("update").out
    assert qmd("search", "password", "--json").out == "[]\n"


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


def test_told_to_end_while_its_command_starts_an_update_takes_it_along(
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


def test_an_update_that_is_told_to_end_takes_its_command_along(notes: Path, qmd: Qmd, place: Path) -> None:
    qmd("collection", "update-cmd", "notes", "sleep 60 & echo $! > pid; wait")
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-m", "qmd", "update"], env=environ, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while not (notes / "pid").exists() or not (notes / "pid").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    sleeper = int((notes / "pid").read_text())
    process.terminate()
    assert process.wait(20) == 143
    deadline = time.monotonic() + 20
    while Path(f"/proc/{sleeper}").exists() and " Z " not in Path(f"/proc/{sleeper}/stat").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)


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
