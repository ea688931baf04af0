"""``brain tui`` needs a person, a terminal and Textual, and says so."""

from __future__ import annotations

import sys

import pytest

from cli.ask import tui
from cli.context import Context
from cli.spec import parse
from core.errors import MISSING, EngineMissing
from core.home import Home
from tests.conftest import Brain


def test_without_a_terminal_it_names_what_answers_there(home: Home, brain: Brain) -> None:
    refused = brain("tui")
    assert refused.returncode == 64
    assert "needs a terminal" in refused.stderr
    assert "brain ask" in refused.stderr


def test_it_has_no_json(home: Home, brain: Brain) -> None:
    refused = brain("tui", "--json")
    assert refused.returncode == 64
    assert '"ok":false' in refused.stdout


def test_without_textual_the_command_that_installs_it_is_named(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("textual", "tui")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "textual", None)
    with pytest.raises(EngineMissing) as caught:
        tui.run(parse(tui.COMMAND, []), Context())
    assert caught.value.code == MISSING
    assert caught.value.fix == f"{sys.executable} -m pip install 'brain-memory[tui]'"


def test_the_themes_that_the_command_knows_are_those_of_the_screens() -> None:
    pytest.importorskip("textual", reason="no textual: make dev")
    from tui.app import NAMES

    assert NAMES == tui.THEMES
