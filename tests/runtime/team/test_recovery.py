"""A state of the team's store that is lost or damaged: nothing is lost, nothing doubled, and it is said what to do."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from bench.postgres import Space
from core import config
from ops.checks import team
from ops.checks.finding import CheckContext
from qmd.team import connection
from runtime.team.push import push
from tests.conftest import Brain
from tests.runtime.index_fixture import Shelf
from tests.runtime.team.conftest import Homes


def _paths(space: Space) -> list[str]:
    with connection.open_reader(space.engine("leo"), 10) as reader:
        return [path for (path,) in reader.execute("SELECT path FROM documents ORDER BY 1")]


def _state(shelf: Shelf) -> Path:
    return Path(shelf.home.path("state", "team.json"))


def _push(shelf: Shelf, *, only_machine: bool = False) -> dict[str, Any]:
    report = push(shelf.home, config.load(shelf.home), only_machine=only_machine)
    (found,) = report["collections"]
    return {**found, "first": report["first"]}


@pytest.fixture
def mira(member: Homes) -> Shelf:
    """A member who pushed a.md, b.md and c.md, and has c.md no more."""
    found = member("mira", share={"brain": "team"})
    for name in "abc":
        found.put("brain", f"{name}.md", f"text of {name}")
    assert _push(found)["first"]
    assert not _push(found)["first"]
    found.sql("UPDATE documents SET active = 0 WHERE path = 'c.md'")
    return found


def test_without_its_state_a_machine_takes_over_what_is_here_and_says_what_is_not(mira: Shelf, space: Space) -> None:
    _state(mira).unlink()
    found = _push(mira)
    assert (found["sent"], found["unchanged"], found["removed"], found["elsewhere"], found["first"]) == (
        0, 2, 0, 1, True,
    )  # fmt: skip
    assert _paths(space) == ["a.md", "b.md", "c.md"]
    # It is the machine of the others again: what goes here goes there.
    mira.sql("UPDATE documents SET active = 0 WHERE path = 'b.md'")
    assert _push(mira)["removed"] == 1
    assert _paths(space) == ["a.md", "c.md"]


def test_an_only_machine_removes_what_its_lost_self_left(mira: Shelf, space: Space) -> None:
    _state(mira).unlink()
    _push(mira)
    assert _push(mira, only_machine=True)["removed"] == 1
    assert _paths(space) == ["a.md", "b.md"]


def test_what_was_forgotten_before_the_state_was_lost_is_forgotten_at_the_server(
    mira: Shelf, space: Space, brain: Brain
) -> None:
    file = Path(mira.home.path(config.FILE))
    there = file.read_text()
    file.write_text(there.replace(space.dsn("mira"), "postgresql://mira@127.0.0.1:1/none"))
    assert brain("forget", "b.md", "--yes", env={"BRAIN_HOME": mira.home.root}).returncode == 71
    file.write_text(there)
    _state(mira).unlink()
    assert _paths(space) == ["a.md", "b.md", "c.md"]
    _push(mira)
    assert _paths(space) == ["a.md", "c.md"]
    with space.superuser() as root:
        assert root.execute("SELECT count(*) FROM tombstones").fetchone() == (1,)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"pushed_at": "x"}', b'{"forget": [["a"]]}', b"\xff"])
def test_a_damaged_state_stops_a_push_before_it_changes_anything(mira: Shelf, space: Space, damage: bytes) -> None:
    _state(mira).write_bytes(damage)
    with pytest.raises(Exception, match=r"team\.json is damaged") as refused:
        push(mira.home, config.load(mira.home))
    fix = str(refused.value.fix)  # type: ignore[attr-defined]
    assert fix.startswith(f"mv {_state(mira)} ")
    assert "brain team push" in fix
    assert _paths(space) == ["a.md", "b.md", "c.md"]
    (finding,) = team.team(CheckContext(mira.home, os.environ, time.time()))
    assert (finding.id, finding.severity, finding.fix) == ("team-state", "error", fix)


def test_status_and_leaving_name_a_damaged_state_and_joining_does_not_need_it(
    mira: Shelf, space: Space, brain: Brain
) -> None:
    _state(mira).write_bytes(b"{")
    env = {"BRAIN_HOME": mira.home.root}
    for words in (("status",), ("leave", "--yes"), ("push",)):
        done = brain("team", *words, "--json", env=env)
        assert done.returncode == 65
        assert "team.json is damaged" in json.loads(done.stdout)["message"]
    # Who could not leave is still a member.
    assert brain("team", "members", "--json", env=env).returncode == 0
    done = brain("team", "join", "--dsn", space.dsn("mira"), "--space", space.name, env=env)
    assert done.returncode == 0, done.stderr
    assert _paths(space) == ["a.md", "b.md", "c.md"]


def test_a_forgetting_with_a_damaged_state_is_not_taken_for_done(mira: Shelf, space: Space, brain: Brain) -> None:
    _state(mira).write_bytes(b"{")
    env = {"BRAIN_HOME": mira.home.root}
    done = brain("forget", "b.md", "--yes", "--json", env=env)
    assert done.returncode != 0
    assert "team.json" in done.stdout
    _state(mira).unlink()
    _push(mira)
    assert _paths(space) == ["a.md", "c.md"]


def test_the_first_push_says_what_is_elsewhere_and_status_counts_it(mira: Shelf, brain: Brain) -> None:
    _state(mira).unlink()
    env = {"BRAIN_HOME": mira.home.root}
    said = brain("team", "push", env=env).stdout
    assert "1 document of yours there came from a machine that is not this one" in said
    assert "brain team push --only-machine" in said
    assert "1 document of yours from other machines" in brain("team", "status", env=env).stdout
    assert "--only-machine" not in brain("team", "push", env=env).stdout
    assert "1 removed" in brain("team", "push", "--only-machine", env=env).stdout
