"""``brain recent``, the program."""

from __future__ import annotations

import json

import pytest

from core import clock
from core.home import Home
from tests.conftest import Brain
from tests.runtime.index_fixture import Shelf


@pytest.fixture
def shelf(home: Home) -> Shelf:
    shelf = Shelf(home)
    now = clock.now()
    shelf.put(
        "brain",
        "s1.md",
        session_id="s1",
        source="claude",
        title="Fix the \u202erace\u202c",
        project="/u/x/api",
        date=now - 60,
    )
    shelf.put("brain", "b.md", session_id="b", synthetic=True, date=now - 50)
    shelf.put("inbox", "n.md", title="Tokens refresh early", type="decision", project="/u/x/api", date=now - 2 * 86_400)
    shelf.put("kb-raw", "a.md", title="An article", date=now - 3 * 86_400)
    return shelf


def test_one_json_object_and_one_telemetry_row(shelf: Shelf, brain: Brain) -> None:
    done = brain("recent", "--since=24h", "--json")
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 1)
    envelope = json.loads(done.stdout)
    assert [item["uri"] for item in envelope["items"]] == ["qmd://brain/s1.md"]
    assert (envelope["total"], envelope["synthetic"]) == (1, 1)
    with open(shelf.home.usage, encoding="utf-8") as rows:
        row = json.loads(rows.read().splitlines()[-1])
    assert (row["event"], row["n_total"], row["exit_code"]) == ("recent", 1, 0)
    assert row["walk_ms"] == envelope["walk_ms"]


def test_people_get_a_line_a_document_under_its_day(shelf: Shelf, brain: Brain) -> None:
    done = brain("recent", "--since", "7d", env={"TZ": "Asia/Tokyo"})
    lines = done.stdout.splitlines()
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout, "what reorders text is not printed"
    assert any("Fix the race  brain · api" in line for line in lines)
    assert any("Tokens refresh early  inbox · decision · api" in line for line in lines)
    assert any("An article  kb-raw" in line for line in lines)
    assert lines[-1] == "1 synthetic left out (--all)"


def test_a_document_of_another_machine_names_it(shelf: Shelf, brain: Brain) -> None:
    shelf.put("brain", "machines/stu\u202edio/far.md", title="A far tide", session_id="far", date=clock.now() - 60)
    lines = brain("recent", "--since", "7d").stdout.splitlines()
    assert [line.partition("A far tide")[2] for line in lines if "A far tide" in line] == ["  brain · from studio"]
    assert not any("from studio" in line for line in lines if "A far tide" not in line)


def test_nothing_exits_67_with_an_empty_list(shelf: Shelf, brain: Brain) -> None:
    done = brain("recent", "--since", "5s", "--json")
    envelope = json.loads(done.stdout)
    assert (done.returncode, envelope["ok"], envelope["error"], envelope["items"]) == (67, True, "no_results", [])
    assert brain("recent", "--since", "5s").returncode == 67


def test_bad_input_says_what_to_write(shelf: Shelf, brain: Brain) -> None:
    for words in (["--since", "whenever"], ["-n", "0"], ["-c", "brian"], ["word"]):
        done = brain("recent", *words)
        assert (done.returncode, done.stdout) == (64, "")
        assert "fix: " in done.stderr


def test_no_index_is_not_an_empty_answer(home: Home, brain: Brain) -> None:
    done = brain("recent", "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]) == (65, "qmd_missing")


def test_help_has_an_example(brain: Brain) -> None:
    assert "brain recent --since 7d" in brain("recent", "--help").stdout
