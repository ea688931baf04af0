"""A team's server that hangs at any moment after a connection was opened: the user's own documents answer in time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from core.config import load
from core.errors import BrainError, EngineMissing
from qmd.index.store import open_index
from runtime.explaining.show import show
from runtime.mcp.tools import TOOLS, call
from tests.runtime.asking.test_team import Team, team
from tests.runtime.team.proxy import Proxy
from tests.runtime.two_members import NOWHERE
from tests.web.site import Browser

__all__ = ["team"]

_PATIENCE_S = 0.4
# A verb asks the server so often at most.
_MOST = 40


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.asking.team._PATIENCE_S", _PATIENCE_S)


def _tool(name: str, **given: Any) -> Callable[[Team], tuple[str, str]]:
    def act(team: Team) -> tuple[str, str]:
        tool = TOOLS[name]
        properties = tool.schema["properties"].items()
        defaults = {key: value["default"] for key, value in properties if "default" in value}
        envelope = call(team.home, tool, {**defaults, **given})
        return str(envelope), str(envelope["freshness"]["team"].get("missing", ""))

    return act


def _page(path: str) -> Callable[[Team], tuple[str, str]]:
    def act(team: Team) -> tuple[str, str]:
        page = Browser(team.home).get(path)
        return page, page.partition("Without what the team shares: ")[2][:200].replace("&#39;", "'")

    return act


def _moments(team: Team, monkeypatch: pytest.MonkeyPatch, turns: range, act: Callable[[Team], object]) -> int:
    """Call ``act`` with a server that hangs after so many answers; return how often it did."""
    hung = 0
    for answers in turns:
        proxy = Proxy(team.space.server.socket / ".s.PGSQL.5432", answers=answers)
        dsn = f"{team.space.dsn('bob', '127.0.0.1', proxy.port)}&sslmode=disable&gssencmode=disable"
        monkeypatch.setenv("BRAIN_ENGINE", f"{dsn}#{team.space.name}")
        begun = time.monotonic()
        try:
            act(team)
        finally:
            proxy.close()
        # A connection is tried twice at most; the rest is for a busy machine.
        assert time.monotonic() - begun < 4 * _PATIENCE_S + 10
        if not proxy.hung.is_set():
            return hung
        hung += 1
    return hung


_VERBS = [
    pytest.param(_tool("brain_ask", question="walrus cache"), id="ask"),
    pytest.param(_tool("brain_ask", question="what happened lately", mode="time"), id="ask by time"),
    pytest.param(_tool("brain_recent", since="30d"), id="recent"),
    pytest.param(_tool("brain_why", topic="walrus"), id="why"),
    pytest.param(_page("/?q=walrus+cache"), id="page"),
]


def _answers(act: Callable[[Team], tuple[str, str]]) -> Callable[[Team], None]:
    def check(team: Team) -> None:
        whole, missing = act(team)
        assert "brain/c.md" in whole
        assert "did not answer in time" in missing or "team://mira" in whole

    return check


@pytest.mark.parametrize("act", _VERBS)
def test_a_server_that_hangs_in_the_middle_leaves_the_own_answer(
    team: Team, monkeypatch: pytest.MonkeyPatch, act: Callable[[Team], tuple[str, str]]
) -> None:
    check = _answers(act)
    assert _moments(team, monkeypatch, range(1, 6, 4), check) == 2


@pytest.mark.long
@pytest.mark.parametrize("act", _VERBS)
def test_a_server_that_hangs_at_any_moment_leaves_the_own_answer(
    team: Team, monkeypatch: pytest.MonkeyPatch, act: Callable[[Team], tuple[str, str]]
) -> None:
    assert 6 < _moments(team, monkeypatch, range(_MOST), _answers(act)) < _MOST


@pytest.mark.long
def test_a_document_of_the_team_is_missed_in_time_and_an_own_one_is_shown(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = open_index(team.home.index)

    def act(_: Team) -> None:
        assert "warm" in show(index, team.config(), "qmd://brain/c.md", now=0)["text"]
        try:
            said = show(index, load(team.home), "team://mira/brain/a.md", now=0)["text"]
        except EngineMissing as error:
            said = error.message
        assert "did not answer in time" in said or "dropped keys" in said

    assert 4 < _moments(team, monkeypatch, range(_MOST), act) < _MOST
    index.close()


def test_a_document_of_a_server_that_does_not_answer_has_the_code_and_the_fix_of_the_failure(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = Proxy(team.space.server.socket / ".s.PGSQL.5432", answers=1)
    hanging = f"{team.space.dsn('bob', '127.0.0.1', proxy.port)}&sslmode=disable&gssencmode=disable"
    index = open_index(team.home.index)
    for dsn, code in ((hanging, 66), (NOWHERE.dsn, 65)):
        monkeypatch.setenv("BRAIN_ENGINE", f"{dsn}#{team.space.name}")
        with pytest.raises(BrainError) as raised:
            show(index, load(team.home), "team://mira/brain/a.md", now=0)
        assert raised.value.code == code
        assert raised.value.fix
    index.close()
    proxy.close()
