from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from core.home import Home
from tests.conftest import Brain
from tests.ingest.history import History, configure
from tests.ingest.pipeline.test_databases import cursor
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
    assert report["collections"]["brain"]["added"] == 1
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
    done = brain("index", "--source", "claude", "--from", str(tmp_path / "empty"))
    assert done.returncode == 0
    assert f"found nothing of claude to read at {tmp_path / 'empty'}" in done.stderr
    assert "no file there matches: *.jsonl" in done.stderr
    done = brain("index", "--source", "cline", "--from", str(tmp_path / "empty"), "--json")
    assert done.returncode == 0
    said = json.loads(done.stdout)["found_nothing"]["cline"]
    assert said.startswith(f"found nothing of cline to read at {tmp_path / 'empty'}: no file there matches: ui_")
    (tmp_path / "other.jsonl").write_text('{"type": "song"}\n')
    done = brain("index", "--source", "goose", "--from", str(tmp_path / "other.jsonl"), "--json")
    assert ": 1 × not a Goose session;" in json.loads(done.stdout)["found_nothing"]["goose"]
    (tmp_path / "other.jsonl").unlink()
    # Sessions may come later; a repository that is named is one, or has one in it.
    done = brain("index", "--source", "git", "--from", str(tmp_path / "empty"))
    assert done.returncode == 64
    assert "a folder of repositories" in done.stderr
    done = brain("index", "--source", "claude", "--from", str(page))
    assert (done.returncode, done.stderr.count("brain: ")) == (64, 1)


@pytest.mark.parametrize(
    ("source", "named", "not_named"),
    [("openclaw", ["*.jsonl", "*-agent.sqlite"], ["*.sqlite", "*.zst"]), ("bookmarks", ["bookmarks*.htm"], [])],
)
def test_the_names_that_were_looked_for_are_those_that_the_source_reads(
    home: Home, tmp_path: Path, brain: Brain, source: str, named: list[str], not_named: list[str]
) -> None:
    (tmp_path / "empty").mkdir()
    done = brain("index", "--source", source, "--from", str(tmp_path / "empty"), "--json")
    sentence = json.loads(done.stdout)["found_nothing"][source]
    names = sentence.partition("matches: ")[2].partition(";")[0].split(", ")
    assert set(named) <= set(names)
    assert set(names).isdisjoint(not_named)


@pytest.mark.parametrize("source", ["claude", "codex", "gemini", "pi", "opencode", "amp", "shell"])
def test_a_file_that_is_no_text_is_reported_once(home: Home, tmp_path: Path, brain: Brain, source: str) -> None:
    junk = tmp_path / "junk.bin"
    junk.write_bytes(b"".join(hashlib.sha512(bytes([number])).digest() for number in range(200)))
    done = brain("index", "--source", source, "--from", str(junk))
    assert done.returncode == 64
    assert f"failed: {junk}: binary\n" in done.stdout
    said, fix = done.stderr.splitlines()
    assert said == f"brain: no file of {source} could be read (1 file failed); what was there before stays"
    assert fix.startswith("fix: ")


def test_a_database_with_damage_in_the_middle_is_reported_as_read_in_part(
    home: Home, tmp_path: Path, brain: Brain
) -> None:
    path = cursor(tmp_path / "there", sessions=30, said="Said here. " * 200)
    data = path.read_bytes()
    middle = len(data) // 2 // 4096 * 4096
    path.write_bytes(data[:middle] + b"\xff" * 8192 + data[middle + 8192 :])
    words = ("index", "--source", "cursor", "--from", str(path))
    tried = brain(*words, "--dry-run")
    done = brain(*words)
    assert (tried.returncode, done.returncode, done.stderr) == (0, 0, "")
    made = len(list(Path(home.path("brain")).glob("cursor__*.md")))
    assert f"{made} documents new" in tried.stdout
    assert "1 ingested, 0 unchanged, 0 skipped, 0 failed, 1 read only in part\n" in done.stdout
    assert f"failed: {path}: damaged database\n" in done.stdout
    assert brain("index", "--from-archive", "--source", "cursor").returncode == 0
    told = "1 file of cursor could be read only in part"
    assert told in brain("doctor", "--no-wedge").stdout
    assert "cursor: 1 file could be read only in part" in brain("explain").stdout


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


def _bad(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x00\x01\x02binary\n" * 50)
    return path


def test_a_named_source_of_which_every_file_fails_is_no_success(home: Home, tmp_path: Path, brain: Brain) -> None:
    bad = _bad(tmp_path / "there" / "rollout-1.jsonl")
    words = ("index", "--source", "codex", "--from", str(bad.parent))
    done = brain(*words, "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (64, "")
    assert (report["ok"], report["error"], report["exit_code"]) == (False, "bad_input", 64)
    assert report["sources"]["codex"]["failed"][0]["path"].endswith("rollout-1.jsonl")
    again = brain(*words)
    assert again.returncode == 64
    assert "rollout-1.jsonl" in again.stdout
    assert "brain: no file of codex could be read" in again.stderr
    assert "fix: " in again.stderr
    assert brain(*words, "--dry-run", "--json").returncode == 64


def test_one_file_that_could_be_read_makes_a_run_of_a_named_source_a_success(
    home: Home, tmp_path: Path, brain: Brain
) -> None:
    _sessions(tmp_path / "there")
    _bad(tmp_path / "there" / "projects" / "-p" / "bad.jsonl")
    words = ("index", "--source", "claude", "--from", str(tmp_path / "there"))
    assert [brain(*words).returncode for _ in range(2)] == [0, 0]
    assert brain("forget", "one", "--yes").returncode == 0
    assert brain(*words).returncode == 0


def test_a_source_with_only_failures_is_reported_and_does_not_end_the_run(
    home: Home, claude_root: Path, tmp_path: Path, brain: Brain
) -> None:
    _bad(tmp_path / "codex" / "sessions" / "rollout-1.jsonl")
    env = {"CODEX_HOME": str(tmp_path / "codex")}
    assert brain("index", env=env).returncode == 64
    _sessions(claude_root)
    done = brain("index", "--json", env=env)
    assert done.returncode == 0
    assert json.loads(done.stdout)["sources"]["codex"]["failed_files"] == 1


def test_the_archive_alone_makes_sessions_and_days_of_browsing_again(
    home: Home, claude_root: Path, brain: Brain, tmp_path: Path
) -> None:
    _sessions(claude_root)
    configure(home, "{mode: all}")
    history = History(tmp_path / "browser" / "History")
    history.visit("https://walrus.test/", "On walruses")
    history.save()
    assert brain("index", "--source", "claude").returncode == 0
    assert brain("index", "--source", "chrome", "--from", str(tmp_path / "browser")).returncode == 0
    before = {path: path.read_bytes() for path in Path(home.root).rglob("*.md")}
    assert {path.name for path in before} == {"one.md", "2026-04-28.md"}
    history.connection.close()
    for gone in (claude_root, tmp_path / "browser", home.path("brain"), home.path("chrome-history"), home.state):
        shutil.rmtree(gone)
    Path(home.index).unlink()
    done = brain("index", "--from-archive", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert {name: ledger["documents"] for name, ledger in report["sources"].items()} == {"claude": 1, "chrome": 1}
    assert {path: path.read_bytes() for path in Path(home.root).rglob("*.md")} == before
    hits = json.loads(brain("ask", "walruses", "-c", "chrome-history", "--json").stdout)["hits"]
    assert [hit["uri"] for hit in hits] == ["qmd://chrome-history/2026-04-28.md"]
    assert brain("index", "--from-archive", "--source", "chrome").returncode == 0
    assert brain("index", "--from-archive", "--source", "codex").returncode == 64
