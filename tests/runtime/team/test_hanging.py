"""A server that hangs at any moment after a connection was opened: what writes ends with an error that says so."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.postgres import Space
from core.config import FILE, load
from core.errors import BrainError, EngineTimeout
from core.home import Home
from ops.checks import team
from ops.checks.finding import CheckContext
from runtime.team import forgetting, members
from runtime.team import push as pushing
from runtime.team.push import push, required
from runtime.team.state import State
from tests.conftest import Brain
from tests.runtime.index_fixture import Shelf
from tests.runtime.team.conftest import Homes
from tests.runtime.team.proxy import Proxy

_LATE = "the team's server did not answer in time"
_SHORT_S = 0.3
# A verb asks the server so often at most.
_MOST = 80


@contextmanager
def _impatient() -> Iterator[None]:
    """Wait for the server for a third of a second only: it hangs, and what is not tried here has all its time."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("qmd.team.connection._STATEMENT_S", "qmd.team.bounded._GRACE_S"):
            patch.setattr(name, _SHORT_S)
        for module, name in ((pushing, "CONNECT_S"), (members, "CONNECT_S"), (forgetting, "CONNECT_S")):
            patch.setattr(module, name, 1.0)
        patch.setattr(team, "_CONNECT_S", 1.0)
        for module, name in ((pushing, "_TEND_S"), (members, "_EXPEL_S"), (forgetting, "_VACUUM_S")):
            patch.setattr(module, name, _SHORT_S)
        yield


class Hanging:
    """A member's memory with a document to push, whose server hangs after so many answers."""

    def __init__(self, space: Space, shelf: Shelf) -> None:
        self._space, self.shelf = space, shelf
        self._file = Path(shelf.home.path(FILE))
        self._there = self._file.read_text()

    @property
    def home(self) -> Home:
        return self.shelf.home

    def moments(self, turns: range, act: Callable[[], object]) -> Iterator[BaseException | None]:
        """Call ``act`` with a server that hangs after each of so many answers; yields what it raised, while it did."""
        for answers in turns:
            proxy = Proxy(self._space.server.socket / ".s.PGSQL.5432", answers=answers)
            dsn = f"{self._space.dsn('mira', '127.0.0.1', proxy.port)}&sslmode=disable&gssencmode=disable"
            self._file.write_text(self._there.replace(self._space.dsn("mira"), dsn))
            begun, raised = time.monotonic(), None
            try:
                with _impatient():
                    act()
            except BrainError as error:
                raised = error
            finally:
                proxy.close()
                self._file.write_text(self._there)
            assert time.monotonic() - begun < 30
            if not proxy.hung.is_set():
                assert raised is None
                return
            yield raised


@pytest.fixture
def mira(space: Space, member: Homes) -> Hanging:
    shelf = member("mira", share={"brain": "team"})
    shelf.put("brain", "a.md", "the amber lamp")
    return Hanging(space, shelf)


def _late(raised: BaseException | None) -> bool:
    return isinstance(raised, EngineTimeout) and raised.message == _LATE and bool(raised.fix)


@pytest.mark.parametrize("answers", [1, 5, 12])
def test_a_push_to_a_server_that_hangs_ends_with_an_error(mira: Hanging, answers: int) -> None:
    (raised,) = mira.moments(range(answers, answers + 1), lambda: push(mira.home, load(mira.home)))
    assert _late(raised)
    assert push(mira.home, load(mira.home))["collections"][0]["sent"] <= 1


@pytest.mark.long
def test_a_push_to_a_server_that_hangs_at_any_moment_ends_with_an_error_and_the_next_one_goes_on(
    mira: Hanging, space: Space
) -> None:
    counter = iter(range(1000))

    def act() -> None:
        mira.shelf.put("brain", f"{next(counter)}.md", "another lamp")
        push(mira.home, load(mira.home))

    found = list(mira.moments(range(1, _MOST), act))
    assert len(found) > 15
    assert all(map(_late, found))
    push(mira.home, load(mira.home))
    with space.superuser() as root:
        assert root.execute("SELECT count(*), sum(passages) FROM documents").fetchone() == (next(counter) + 1,) * 2
        assert root.execute("SELECT documents, passages FROM units").fetchone() == (next(counter),) * 2


@pytest.mark.long
def test_status_grants_and_leaving_end_with_an_error(mira: Hanging) -> None:
    push(mira.home, load(mira.home))
    for act in (
        lambda: members.with_server(load(mira.home), lambda server: members.status(mira.home, server)),
        lambda: members.with_server(load(mira.home), lambda server: members.grant(server, ["brain"], ["leo"])),
        lambda: members.with_server(load(mira.home), lambda server: members.revoke(server, ["brain"], ["leo"])),
        lambda: members.leave(mira.home, required(load(mira.home)), dry_run=True),
    ):
        found = list(mira.moments(range(1, _MOST), act))
        assert len(found) > 4
        assert all(map(_late, found))


@pytest.mark.long
def test_what_is_forgotten_while_the_server_hangs_waits_for_the_next_push(mira: Hanging) -> None:
    push(mira.home, load(mira.home))
    said: list[tuple[list[str], list[str]]] = []

    def act() -> None:
        said.append(forgetting.carry_out(mira.home, load(mira.home), [("brain", "a.md")]))

    for raised in mira.moments(range(1, _MOST), act):
        assert raised is None
        # Past the proof, only the vacuum is late.
        assert State(mira.home).forget or said[-1][0] == []
        assert "did not answer in time" in str(said[-1]) or "next VACUUM" in str(said[-1])
    assert State(mira.home).forget == []


@pytest.mark.long
def test_the_doctor_names_a_server_that_hangs(mira: Hanging) -> None:
    ids: list[list[str]] = []

    def act() -> None:
        ids.append([each.id for each in team.team(CheckContext(mira.home, os.environ, time.time()))])

    assert len(list(mira.moments(range(1, _MOST), act))) > 5
    assert all("team-away" in each for each in ids[:-1])
    assert "team-away" not in ids[-1]


def test_the_command_exits_with_the_code_of_a_timeout(mira: Hanging, brain: Brain) -> None:
    short = (
        "import qmd.team.connection as c, qmd.team.bounded as b, runtime.team.push as p;"
        f"c._STATEMENT_S = b._GRACE_S = {_SHORT_S}; p.CONNECT_S = 1.0"
    )

    def act() -> None:
        done = brain("team", "push", "--json", env={"BRAIN_HOME": mira.home.root}, code=short)
        found = json.loads(done.stdout)
        assert (done.returncode, found["error"], found["message"]) == (66, "qmd_timeout", _LATE)
        assert "brain doctor" in found["fix"]

    assert list(mira.moments(range(9, 10), act)) == [None]
