from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.home import Home
from core.telemetry import tail
from runtime.distill_queue import PendingQueue
from tests.conftest import Brain
from tests.forking import WITHOUT_MODEL
from tests.runtime.distill.session import REFRESH, body
from tests.runtime.index_fixture import Shelf


@pytest.fixture
def shelf(home: Home) -> Shelf:
    found = Shelf(home)
    found.put(
        "brain", "one.md", body(REFRESH).partition("\n\n")[2], session_id="one", source="claude", project="/home/me/api"
    )
    PendingQueue(home).add("brain", "one.md")
    return found


def test_the_queue_is_listed_distilled_and_answers_why(shelf: Shelf, brain: Brain) -> None:
    listed = json.loads(brain("queue", "list", "--json").stdout)
    assert ([item["uri"] for item in listed["items"]], listed["waiting"]) == (["qmd://brain/one.md"], 1)
    done = json.loads(brain("distill", "--from-pending", "--llm", "extractive", "--json").stdout)
    assert (done["ok"], done["distilled"], done["waiting"]) == (True, 1, 0)
    assert brain("queue", "list").stdout == "nothing waits\n"
    why = brain("why", "token refresh", "--json")
    assert json.loads(why.stdout)["evidence"][0]["uri"] == "qmd://distilled/one.md"
    rows = [row for row in tail(shelf.home, 10) if row["event"] == "distill"]
    assert (rows[0]["n_distilled"], rows[0]["tokens"], rows[0]["cost_usd"]) == (1, 0, 0.0)


def test_what_was_dropped_can_be_added_again(shelf: Shelf, brain: Brain) -> None:
    assert brain("queue", "drop", "qmd://brain/one.md").stdout == "1 dropped; 0 waiting\n"
    assert brain("queue", "add", "one").stdout == "1 added; 1 waiting\n"
    assert brain("queue", "clear").stdout == "1 dropped; 0 waiting\n"
    assert brain("queue", "add", "--all").stdout == "1 added; 1 waiting\n"


def test_human_output_has_no_escape_sequences_of_a_session(shelf: Shelf, brain: Brain) -> None:
    file = Path(shelf.home.path("brain"), "one.md")
    file.rename(file.with_name("evil\x1b[31m.md"))
    PendingQueue(shelf.home).add("brain", "evil\x1b[31m.md")
    assert "\x1b" not in brain("queue", "list").stdout
    assert "\x1b" not in brain("distill", "--from-pending", code=WITHOUT_MODEL).stdout


@pytest.mark.parametrize(
    "words",
    [("--llm", "nonsense"), ("--from-pending", "one"), ("--since", "never"), ("--limit", "0")],
)
def test_what_makes_no_sense_is_bad_input(shelf: Shelf, brain: Brain, words: tuple[str, ...]) -> None:
    done = brain("distill", *words, "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]) == (64, "bad_input")


def test_a_verb_that_is_none_is_bad_input(home: Home, brain: Brain) -> None:
    assert brain("queue", "lst").returncode == 64
    assert brain("queue", "drop").returncode == 64
