from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from core.document import split
from core.home import Home
from tests.conftest import Brain

ROOT = Path(__file__).resolve().parents[2]


def note(brain: Brain, *words: str, **options: Any) -> dict[str, Any]:
    done = brain("inbox", "--json", *words, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def kept(entry: dict[str, Any]) -> tuple[dict[str, Any], str]:
    return split(Path(entry["path"]).read_text("utf-8"))


def rows(home: Home) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(home.usage).read_text("utf-8").splitlines()]


def test_words_become_one_entry_and_one_object(brain: Brain) -> None:
    entry = note(brain, "use", "flock", "--type", "decision", "--tags", "locks, io")
    meta, body = kept(entry)
    assert body == "# Decision: use flock\n\nuse flock\n"
    assert meta["tags"] == ["locks", "io"]
    assert (entry["schema"], entry["ok"], entry["type"], entry["title"]) == (1, True, "decision", "use flock")
    assert entry["path"].endswith(f"/{entry['entry_id']}.md")
    assert entry["uri"] == f"qmd://inbox/{entry['path'].split('/inbox/')[1]}"


def test_people_get_one_line(brain: Brain) -> None:
    done = brain("inbox", "use flock")
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    assert "use flock" in done.stdout


def test_a_dash_reads_the_note_from_a_pipe(brain: Brain) -> None:
    text = "---\nsource: claude\n---\n\tindented\n"
    assert kept(note(brain, "-", stdin=text))[1] == f"# source: claude\n\n{text}"


def test_a_flood_is_refused_without_being_counted(brain: Brain, home: Home) -> None:
    done = brain("inbox", "-", stdin="x" * 3_000_000)
    assert (done.returncode, done.stdout) == (64, "")
    assert "over 100,000 characters" in done.stderr


def test_bytes_that_are_not_utf8_are_kept_in_sight() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import brain; brain.entry()", "inbox", "-", "--json"],
        input=b"caf\xe9 is open",
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        timeout=60,
    )
    entry = json.loads(done.stdout)
    assert kept(entry)[1] == "# caf\\xe9 is open\n\ncaf\\xe9 is open\n"
    assert "not UTF-8" in entry["warning"]


@pytest.mark.parametrize("verb", ["list", "show", "edit", "supersede", "rm"])
def test_a_verb_is_a_verb_and_never_a_note(brain: Brain, home: Home, verb: str) -> None:
    late = brain("inbox", "--json", verb)
    assert late.returncode == 64
    assert json.loads(late.stdout)["fix"].endswith(f"brain inbox -- {verb}")
    wordy = brain("inbox", verb, "the", "flags", "--json")
    assert wordy.returncode in (64, 67)
    assert not os.path.exists(home.inbox)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--", "list"], "list"),
        (["list the flags"], "list the flags"),
        (["--", "-"], "-"),
        (["-", "buy milk"], "- buy milk"),
        (["--", "--no-verify", "--json"], "--no-verify --json"),
    ],
)
def test_everything_else_is_text(brain: Brain, words: list[str], text: str) -> None:
    assert kept(note(brain, *words, stdin="not this"))[1] == f"# {text}\n\n{text}\n"


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        ([], "a pipe that nobody asked to be read"),
        ([""], ""),
        (["-"], ""),
        (["-"], "x" * 100_001),
        (["x", "--type", "poem"], ""),
    ],
)
def test_what_is_no_note_is_64_with_a_fix(brain: Brain, home: Home, words: list[str], stdin: str) -> None:
    done = brain("inbox", "--json", *words, stdin=stdin)
    assert done.returncode == 64
    assert json.loads(done.stdout)["fix"]
    assert not os.path.exists(home.inbox)


def test_the_project_defaults_to_the_work_tree(brain: Brain, tmp_path: Path) -> None:
    (tmp_path / "api" / ".git").mkdir(parents=True)
    (tmp_path / "api" / "src").mkdir()
    inside, outside = str(tmp_path / "api" / "src"), str(tmp_path)
    assert kept(note(brain, "x", cwd=inside))[0]["project"] == str(tmp_path / "api")
    assert kept(note(brain, "x", "--project", "named", cwd=inside))[0]["project"] == "named"
    assert kept(note(brain, "x", "--project", "../..", cwd=inside))[0]["project"] == outside
    assert "project" not in kept(note(brain, "x", "--project=", cwd=inside))[0]
    assert "project" not in kept(note(brain, "y", cwd=outside))[0]


def test_the_telemetry_row_names_the_entry_and_not_its_text(brain: Brain, home: Home) -> None:
    entry = note(brain, "a secret thought", "--type", "idea", env={"BRAIN_SURFACE": "claude-code"})
    (row,) = rows(home)
    assert (row["entry_id"], row["path"], row["type"]) == (entry["entry_id"], entry["path"], "idea")
    assert (row["surface"], row["exit_code"]) == ("claude-code", 0)
    assert "secret" not in json.dumps(row)


def test_what_writes_a_note_is_an_inbox_write_and_what_only_looks_is_not(brain: Brain, home: Home) -> None:
    first = note(brain, "prefer flock over pid files")["entry_id"]
    brain("inbox", "list")
    brain("inbox", "show", first)
    brain("inbox", "supersede", first, "prefer lockf over flock")
    brain("inbox", "Ran the tests and pushed the branch")
    brain("inbox")
    found = [(row["event"], row["exit_code"]) for row in rows(home)]
    written, looked = ("inbox_write", 0), ("inbox", 0)
    assert found == [written, looked, looked, written, ("inbox_write", 71), ("inbox_write", 64)]


def test_a_note_is_found_by_ask_at_once(brain: Brain) -> None:
    note(brain, "the turnstile uses a rotary encoder")
    entry = note(brain, "prefer flock over pid files", "--type", "preference")
    answer = json.loads(brain("ask", "--json", "flock").stdout)
    assert [hit["uri"] for hit in answer["hits"]] == [entry["uri"]]
    assert answer["hits"][0]["trust"] == "note"


def test_twenty_writers_at_once_lose_nothing(brain: Brain, home: Home) -> None:
    texts = [f"note number {number}" for number in range(20)]
    with ThreadPoolExecutor(20) as pool:
        entries = list(pool.map(lambda text: note(brain, text), texts))
    assert [kept(entry)[1] for entry in entries] == [f"# {text}\n\n{text}\n" for text in texts]
    on_disk = {str(path) for path in Path(home.inbox).rglob("*") if path.is_file()}
    assert on_disk == {entry["path"] for entry in entries}
    written = [line for line in rows(home) if line["exit_code"] == 0]
    assert sorted(row["entry_id"] for row in written) == sorted(entry["entry_id"] for entry in entries)
    assert [entry.get("warning") for entry in entries if not entry["indexed"]] == []
