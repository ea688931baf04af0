"""Forgetting reaches the server: every member reads back nothing, by any way, and no machine brings it back."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from bench.postgres import Space
from core import config
from qmd.team import connection
from runtime.team.push import push
from runtime.team.state import State, note_forgotten
from tests.conftest import Brain
from tests.runtime.index_fixture import Shelf
from tests.runtime.team.conftest import Homes

_WAYS = (
    "SELECT path, title, text, fields FROM documents",
    "SELECT body::text, words::text FROM passages",
    "SELECT stem FROM terms",
    "SELECT document, embedding::text FROM vectors",
    "SELECT document FROM embedded",
    "SELECT body::text FROM matching_passages('zircon')",
    "SELECT document FROM matching_titles('zircon')",
    "SELECT digest FROM tombstones",
)


def _push(shelf: Shelf) -> Any:
    return push(shelf.home, config.load(shelf.home))


def _forget(brain: Brain, shelf: Shelf, name: str, code: int = 0) -> dict[str, Any]:
    done = brain("forget", name, "--yes", "--json", env={"BRAIN_HOME": shelf.home.root})
    assert done.returncode == code, (done.stdout, done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _read_back(space: Space) -> dict[str, str]:
    """Return all that each member can read of the space."""
    found: dict[str, str] = {}
    for member in space.members:
        with connection.open_reader(space.engine(member), 10) as reader:
            found[member] = str([reader.execute(way.encode()).fetchall() for way in _WAYS])
    return found


def _two(member: Homes) -> Shelf:
    mira = member("mira", share={"brain": "team"})
    mira.put("brain", "stays.md", "the amber lamp stays on the table", title="Amber")
    mira.put("brain", "goes.md", "the zircon ring goes into the sea", title="Zircon")
    _push(mira)
    return mira


def test_what_is_forgotten_is_read_back_by_no_member(space: Space, member: Homes, brain: Brain) -> None:
    mira = _two(member)
    assert all("zircon" in seen for seen in _read_back(space).values())
    outcome = _forget(brain, mira, "goes.md")
    assert any("1 document removed, and no member can read any of it" in each for each in outcome["beyond"])
    after = _read_back(space)
    assert not any("zircon" in seen.lower() or "goes" in seen for seen in after.values())
    assert all("amber" in seen for seen in after.values())
    with space.superuser() as root:
        version = root.info.server_version
        held = root.execute("SELECT documents, passages FROM units").fetchone()
        assert held == (1, 1)
        assert "zircon" not in str(root.execute("SELECT * FROM terms").fetchall())
    # Members may vacuum from version 17 on.
    assert any("next VACUUM" in each for each in outcome["beyond"]) == (version < 170_000)


def test_a_server_that_is_away_forgets_with_the_next_push(space: Space, member: Homes, brain: Brain) -> None:
    mira = _two(member)
    file = Path(mira.home.path(config.FILE))
    there = file.read_text()
    file.write_text(there.replace(space.dsn("mira"), "postgresql://mira@127.0.0.1:1/none"))
    outcome = _forget(brain, mira, "goes.md", code=71)
    assert any("1 document waiting" in each and "brain team push" in each for each in outcome["left"])
    assert State(mira.home).forget == [("brain", "goes.md")]
    file.write_text(there)
    report = _push(mira)
    assert report["collections"][0]["unchanged"] == 1
    assert State(mira.home).forget == []
    assert not any("zircon" in seen.lower() for seen in _read_back(space).values())


def test_who_was_removed_from_the_team_is_told_what_ends_the_waiting(space: Space, member: Homes, brain: Brain) -> None:
    mira = _two(member)
    with connection.open_writer(space.engine("ada"), 10) as admin:
        admin.execute("SELECT expel('mira')")
    (left,) = _forget(brain, mira, "goes.md", code=71)["left"]
    assert ("1 document waiting" in left, left.endswith("brain team leave --yes")) == (True, True)
    env = {"BRAIN_HOME": mira.home.root}
    assert brain("team", "leave", "--yes", env=env).returncode == 0
    assert State(mira.home).forget == []


def test_a_push_goes_on_forgetting_until_the_server_holds_nothing(space: Space, member: Homes) -> None:
    mira = _two(member)
    note_forgotten(mira.home, [("brain", "goes.md")])
    with space.superuser() as root:
        root.execute("UPDATE units SET documents = documents + 3")
    assert _push(mira)["left"] == ["the team's server, collection brain: 3 miscounted"]
    assert State(mira.home).forget == [("brain", "goes.md")]
    with space.superuser() as root:
        root.execute("UPDATE units SET documents = (SELECT count(*) FROM documents)")
    assert _push(mira)["left"] == []
    assert State(mira.home).forget == []


def test_another_machine_does_not_bring_it_back_until_it_is_let_in(space: Space, member: Homes, brain: Brain) -> None:
    mira = _two(member)
    _forget(brain, mira, "goes.md")
    other = member("mira", share={"brain": "team"}, machine="desktop")
    other.put("brain", "goes.md", "the zircon ring goes into the sea", title="Zircon")
    assert _push(other)["collections"][0] | {"share": []} == {
        "collection": "brain", "share": [], "sent": 0, "embedded": 0, "removed": 0, "unchanged": 0, "withheld": 0,
        "forgotten": ["goes.md"], "elsewhere": 1, "too_large": 0, "unagreed": [],
        "trust": "session",
    }  # fmt: skip
    assert not any("zircon" in seen.lower() for seen in _read_back(space).values())
    report = push(other.home, config.load(other.home), let_in=[("brain", "goes.md")])
    assert report["collections"][0]["sent"] == 1
    assert all("zircon" in seen.lower() for seen in _read_back(space).values())


def test_a_document_of_another_machine_is_forgotten_at_the_server_too(
    space: Space, member: Homes, brain: Brain
) -> None:
    _two(member)
    other = member("mira", share={"brain": "team"}, machine="desktop")
    other.put("brain", "machines/laptop/goes.md", "the zircon ring goes into the sea", title="Zircon")
    _forget(brain, other, "machines/laptop/goes.md")
    assert not any("zircon" in seen.lower() for seen in _read_back(space).values())


def test_what_was_never_shared_leaves_no_trace_at_the_server(space: Space, member: Homes, brain: Brain) -> None:
    mira = _two(member)
    mira.put("notes", "private.md", "a private note about granite that is long enough to be looked for")
    _forget(brain, mira, "private.md")
    with space.superuser() as root:
        assert root.execute("SELECT count(*) FROM tombstones").fetchone() == (0,)


def test_only_its_owner_forgets_a_document_and_by_any_of_its_names(space: Space, member: Homes, brain: Brain) -> None:
    mira, leo = _two(member), member("leo", share={})
    docid = f"#{hashlib.sha256(Path(mira.home.path('brain', 'goes.md')).read_bytes()).hexdigest()[:6]}"
    for name in ("team://mira/brain/goes.md", docid):
        refused = _forget(brain, leo, name, code=71)
        assert refused["message"] == f"{name!r} is a document of mira"
        assert refused["fix"] == "only mira can forget it: brain forget qmd://brain/goes.md"
    assert all("zircon" in seen for seen in _read_back(space).values())
    _forget(brain, mira, "team://mira/brain/goes.md")
    assert not any("zircon" in seen for seen in _read_back(space).values())
