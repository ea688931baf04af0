"""``brain why --conflicts`` lists what contradicts, and one key or one option settles it."""

from __future__ import annotations

import json
import os
import pty
import sys

import pytest

from cli.ask import why as command
from core.config import load
from core.home import Home
from runtime.capture import inbox
from runtime.explaining.conflicts import conflicts
from tests.conftest import Brain
from tests.runtime.index_fixture import Shelf


@pytest.fixture(autouse=True)
def contradiction(home: Home) -> None:
    Shelf(home)
    for kind in ("rejected", "decision"):
        inbox.write(home, "Redis for the job queue", type=kind, project="/srv/ferry")


def test_a_conflict_is_listed_with_both_sides_and_settled_by_its_id(brain: Brain, home: Home) -> None:
    listed = json.loads(brain("why", "--conflicts", "--json").stdout)
    (found,) = listed["conflicts"]
    assert [side["type"] for side in found["sides"]] == ["decision", "rejected"]
    said = brain("why", "--conflicts").stdout
    assert found["id"] in said
    assert "newer: decision" in said
    assert "older: rejected" in said
    assert brain("why", "--conflicts", "--project", "web").returncode == 67
    done = json.loads(brain("why", "--settle", found["id"], "--keep", "newer", "--json").stdout)
    assert done["kept"] == "newer"
    assert conflicts(home, load(home)) == []
    assert brain("why", "--conflicts").returncode == 67
    again = brain("why", "--settle", found["id"], "--keep", "newer")
    assert (again.returncode, "brain why --conflicts" in again.stderr) == (64, True)


@pytest.mark.parametrize(
    "words", [("--settle", "3fa94c"), ("--keep", "newer"), ("--conflicts", "redis"), ("--settle", "x", "--keep", "it")]
)
def test_options_that_do_not_go_together_are_refused(brain: Brain, words: tuple[str, ...]) -> None:
    assert brain("why", *words).returncode == 64


def test_a_key_is_read_without_enter(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    try:
        os.write(ours, b"N")
        with os.fdopen(os.dup(theirs), encoding="utf-8") as terminal:
            monkeypatch.setattr(sys, "stdin", terminal)
            assert command._key() == "n"
    finally:
        os.close(ours)
        os.close(theirs)


TERMINAL = """
import sys
from cli.ask import why
sys.stdin.isatty = sys.stdout.isatty = lambda: True
why._key = iter("{keys}").__next__
"""


@pytest.mark.parametrize(("keys", "passed_over"), [("nn", 1), ("on", 1), ("bsn", 0)])
def test_a_pair_of_which_one_side_is_gone_is_passed_over(brain: Brain, home: Home, keys: str, passed_over: int) -> None:
    for seconds in (30, 60, 90):
        inbox.write(home, f"The timeout is {seconds} seconds", type="decision", project="/srv/api")
    done = brain("why", "--conflicts", "--project", "api", code=TERMINAL.format(keys=keys))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("settled with an earlier one") == passed_over
    assert [each["project"] for each in conflicts(home, load(home))] == ["/srv/ferry"]
