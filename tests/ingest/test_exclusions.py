"""What is excluded is never written; what no person had is said to be so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.home import Home
from ingest import archive
from ingest.exclusions import SYNTHETIC_PROMPT, Rules
from tests.ingest.transcripts import OTHER, SESSION, Script, corpus, document, ingest, save


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "transcripts"
    save(place / "work" / f"{SESSION}.jsonl", Script(cwd="/home/me/api/sub").user("about the api"))
    save(place / "play" / f"{OTHER}.jsonl", Script(OTHER, cwd="/home/me/game").user("about the game"))
    return place


def configure(home: Home, text: str) -> None:
    Path(home.path("collections.yml")).write_text(
        f"collections: {{brain: {{path: brain}}}}\n{text}\n", encoding="utf-8"
    )


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("exclude: {projects: [/home/me/api]}", "excluded: project"),
        ("exclude: {projects: ['*/api']}", "excluded: project"),
        ("exclude: {projects: [api]}", "excluded: project"),
        ("exclude: {projects: ['/home/*/a?i']}", "excluded: project"),
        ("exclude: {paths: ['*/transcripts/work']}", "excluded: path"),
        ("exclude: {paths: ['*/5f0c*.jsonl']}", "excluded: path"),
    ],
)
def test_an_excluded_session_is_written_nowhere(home: Home, folder: Path, rule: str, reason: str) -> None:
    configure(home, rule)
    ledger = ingest(home, folder)
    assert list(corpus(home)) == [f"{OTHER}.md"]
    assert ledger.skipped == {reason: 1}
    assert [Path(path).stem for path in archive.read(home, "claude")] == [OTHER]
    held = b"".join(path.read_bytes() for path in Path(home.root).rglob("*") if path.is_file())
    assert b"about the api" not in held


def test_a_marker_file_excludes_its_folder_and_what_is_below(home: Home, tmp_path: Path) -> None:
    project = tmp_path / "client"
    (project / "deep").mkdir(parents=True)
    (project / ".brain-ignore").touch()
    save(tmp_path / "t" / "a.jsonl", Script(cwd=str(project / "deep")).user("hidden"))
    save(tmp_path / "t" / "b.jsonl", Script(OTHER, cwd=str(tmp_path)).user("shown"))
    ledger = ingest(home, tmp_path / "t")
    assert list(corpus(home)) == [f"{OTHER}.md"]
    assert ledger.skipped == {"excluded: .brain-ignore": 1}


def test_a_rule_that_is_taken_away_lets_the_session_in(home: Home, folder: Path) -> None:
    configure(home, "exclude: {projects: [api]}")
    ingest(home, folder)
    configure(home, "")
    ingest(home, folder, trust_stat=True)
    assert len(corpus(home)) == 2


def test_a_document_that_was_there_before_the_rule_stays(home: Home, folder: Path) -> None:
    ingest(home, folder)
    before = corpus(home)
    configure(home, "exclude: {projects: [api]}")
    ledger = ingest(home, folder)
    assert corpus(home) == before
    assert ledger.kept == 1


@pytest.mark.parametrize(
    ("project", "expected"),
    [
        ("/tmp/x", True),
        ("/private/var/folders/ab/T/eval-1", True),
        ("C:\\Users\\me\\AppData\\Local\\Temp\\run", True),
        ("/home/me/tmp", False),
        ("/tmpfiles", False),
        ("/home/me/evals/run-7", True),
        ("/home/me/api", False),
        ("", False),
    ],
)
def test_sessions_in_temporary_folders_are_synthetic(home: Home, project: str, expected: bool) -> None:
    configure(home, "synthetic: {projects: [/home/me/evals]}")
    assert Rules(home).is_synthetic(project, "") is expected


def test_a_synthetic_session_says_so_in_its_frontmatter(home: Home, tmp_path: Path) -> None:
    save(tmp_path / "t" / "a.jsonl", Script(cwd="/tmp/run").user("measure this"))
    save(tmp_path / "t" / "b.jsonl", Script(OTHER).user(f"{SYNTHETIC_PROMPT}\nDistil this session."))
    ingest(home, tmp_path / "t")
    assert document(home)[0]["synthetic"] is True
    assert document(home, f"{OTHER}.md")[0]["synthetic"] is True
    before = corpus(home)
    shutil.rmtree(home.path("brain"))
    ingest(home, tmp_path / "t")
    assert corpus(home) == before


def test_a_rehearsal_knows_what_is_excluded(home: Home, folder: Path) -> None:
    from ingest.rehearsal import rehearse

    configure(home, "exclude: {projects: [api]}")
    would = rehearse(home, "claude", [str(folder)], trust_stat=False)["would"]
    assert would["units"] == [OTHER]
    assert not Path(home.path("raw")).exists()
