"""``brain export``, the program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core import clock
from core.home import Home
from tests.conftest import Brain
from tests.runtime.index_fixture import Shelf


@pytest.fixture
def shelf(home: Home) -> Shelf:
    shelf = Shelf(home)
    shelf.put("brain", "s1.md", "one", session_id="s1", source="claude", project="/u/x/api", date=clock.now())
    shelf.put("kb-raw", "deep/a.md", "two", date=clock.now() - 9 * 86_400)
    return shelf


def test_json_lines_go_to_a_pipe(shelf: Shelf, brain: Brain) -> None:
    done = brain("export")
    assert [json.loads(line)["path"] for line in done.stdout.splitlines()] == ["s1.md", "deep/a.md"]
    assert (done.returncode, done.stderr) == (0, "")
    assert len(brain("export", "--project", "api").stdout.splitlines()) == 1
    assert [json.loads(line)["path"] for line in brain("export", "deep/a.md").stdout.splitlines()] == ["deep/a.md"]
    assert [json.loads(line)["path"] for line in brain("export", "--until", "8d").stdout.splitlines()] == ["deep/a.md"]


def test_markdown_goes_into_a_folder(shelf: Shelf, brain: Brain, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = brain("export", "-c", "kb-raw", "--out", str(out), "--json")
    assert json.loads(done.stdout) == {
        "schema": 1,
        "ok": True,
        "out": str(out),
        "format": "md",
        "written": 1,
        "unchanged": 0,
        "bytes": (out / "kb-raw/deep/a.md").stat().st_size,
        "refused": [],
    }
    (out / "kb-raw/deep/a.md").write_text("mine")
    done = brain("export", "-c", "kb-raw", "--out", str(out))
    assert (done.returncode, (out / "kb-raw/deep/a.md").read_text()) == (64, "mine")
    assert "--force" in done.stderr
    done = brain("export", "-c", "kb-raw", "--out", str(out), "--force")
    assert done.stdout == f"1 document written to {out}\n"


def test_a_file_named_jsonl_gets_json_lines(shelf: Shelf, brain: Brain, tmp_path: Path) -> None:
    done = brain("export", "--out", str(tmp_path / "all.jsonl"))
    assert done.stdout == f"2 documents written to {tmp_path}/all.jsonl\n"
    assert len((tmp_path / "all.jsonl").read_text().splitlines()) == 2


def test_what_leads_out_is_refused_and_said(shelf: Shelf, brain: Brain, tmp_path: Path) -> None:
    shelf.sql("UPDATE documents SET path = '../../evil.md' WHERE path = 's1.md'")
    done = brain("export", "--out", str(tmp_path / "out"))
    assert done.returncode == 0
    assert "refused qmd://brain/../../evil.md" in done.stderr
    assert not (tmp_path / "evil.md").exists()
    done = brain("export", "-c", "brain", "--out", str(tmp_path / "out"), "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]) == (71, "refused")


def test_nothing_selected_exits_67(shelf: Shelf, brain: Brain, tmp_path: Path) -> None:
    done = brain("export", "--source", "codex", "--out", str(tmp_path / "out"), "--json")
    envelope = json.loads(done.stdout)
    assert (done.returncode, envelope["ok"], envelope["error"], envelope["written"]) == (67, True, "no_results", 0)
    assert not (tmp_path / "out").exists()


def test_bad_input_says_what_to_write(shelf: Shelf, brain: Brain) -> None:
    cases = (
        ["--format", "md"],
        ["--json"],
        ["--out", "-", "--format", "md"],
        ["s1", "-c", "brain"],
        ["--format", "tar"],
    )
    for words in cases:
        done = brain("export", *words)
        assert done.returncode == 64
        assert "fix" in done.stderr + done.stdout
