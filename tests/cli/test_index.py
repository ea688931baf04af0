from __future__ import annotations

import json
from pathlib import Path

from core.home import Home
from tests.conftest import Brain
from tests.ingest.transcripts import Script, save


def _sessions(root: Path, name: str = "one", words: str = "the walrus") -> None:
    save(root / "projects" / "-p" / f"{name}.jsonl", Script(name).user(words))


def test_index_finds_the_machines_own_sessions_and_prints_the_ledger(
    home: Home, claude_root: Path, brain: Brain
) -> None:
    _sessions(claude_root)
    done = brain("index", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert report["sources"]["claude"]["ingested"] == 1
    assert report["collections"]["brain"]["unchanged"] + report["collections"]["brain"]["added"] == 1
    assert json.loads(brain("ask", "walrus", "--json").stdout)["hits"][0]["uri"] == "qmd://brain/one.md"


def test_a_machine_without_sessions_gets_an_empty_index_and_a_valid_empty_answer(home: Home, brain: Brain) -> None:
    assert brain("index").returncode == 0
    assert brain("ask", "anything").returncode == 67


def test_one_bad_file_is_named_and_does_not_fail_the_run(home: Home, claude_root: Path, brain: Brain) -> None:
    _sessions(claude_root)
    (claude_root / "projects" / "-p" / "bad.jsonl").write_bytes(b"\x00\x01\x02binary\n" * 50)
    done = brain("index")
    assert done.returncode == 0
    assert "1 failed" in done.stdout
    assert "bad.jsonl" in done.stdout


def test_new_transcripts_are_announced_by_ask_and_indexed_by_refresh(
    home: Home, claude_root: Path, brain: Brain
) -> None:
    _sessions(claude_root)
    brain("index")
    _sessions(claude_root, "two", "a pelican")
    stale = json.loads(brain("ask", "walrus", "--json").stdout)["freshness"]["lexical"]
    assert (stale["fresh"], stale["pending"]) == (False, 1)
    assert "brain ask --refresh" in brain("ask", "walrus").stdout
    fresh = json.loads(brain("ask", "pelican", "--refresh", "--json").stdout)
    assert fresh["freshness"]["lexical"]["fresh"] is True
    assert fresh["hits"][0]["uri"] == "qmd://brain/two.md"


def test_a_grown_transcript_is_announced_too(home: Home, claude_root: Path, brain: Brain) -> None:
    _sessions(claude_root)
    brain("index")
    path = claude_root / "projects" / "-p" / "one.jsonl"
    path.write_bytes(path.read_bytes() * 2)
    assert json.loads(brain("ask", "walrus", "--json").stdout)["freshness"]["lexical"]["pending"] == 1


def test_wrong_arguments_end_with_64(home: Home, brain: Brain, tmp_path: Path) -> None:
    for words in (["--source", "nope"], ["--from", str(tmp_path / "none")], ["stray"], ["--nwe"]):
        done = brain("index", *words)
        assert done.returncode == 64
        assert "fix: " in done.stderr


def test_a_place_without_anything_of_the_source_is_said_to_be_one(home: Home, tmp_path: Path, brain: Brain) -> None:
    page = tmp_path / "page.html"
    page.write_text("<html><body>Not a transcript.</body></html>")
    (tmp_path / "empty").mkdir()
    for source, place in (("claude", page), ("claude", tmp_path / "empty"), ("git", tmp_path / "empty")):
        done = brain("index", "--source", source, "--from", str(place))
        assert done.returncode == 0
        assert f"found nothing of {source} to read at {place}" in done.stderr


def test_a_place_with_something_of_the_source_is_not(home: Home, tmp_path: Path, brain: Brain) -> None:
    _sessions(tmp_path / "old")
    for _ in range(2):
        assert brain("index", "--source", "claude", "--from", str(tmp_path / "old")).stderr == ""


def test_what_to_do_about_a_missing_folder_names_the_source_that_was_given(
    home: Home, tmp_path: Path, brain: Brain
) -> None:
    done = brain("index", "--source", "cursor", "--from", str(tmp_path / "none"))
    assert done.returncode == 64
    assert "--source cursor" in done.stderr
    assert "claude" not in done.stderr
