"""A source of another distribution is read like Brain's own: the one of docs/adding-a-source.md, installed."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path

import pytest

from core.home import Home
from ingest import registry
from tests.conftest import ROOT, Brain

PAGE = (ROOT / "docs" / "adding-a-source.md").read_text(encoding="utf-8")
MODULE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
ENTRY = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[0]
SESSION = {
    "id": "abc",
    "messages": [
        {"role": "user", "text": "Why does the walrus sing?", "at": "2026-05-04T10:00:00Z"},
        {
            "role": "assistant",
            "text": "The walrus sings because token ghp_" + "Zk3Qw9Lx2Vb7Nc5Mt8Rj4Hf6Gd1Ps0Ya2Ue9",
            "at": "2026-05-04T10:01:00Z",
        },
        {"role": "oracle", "text": "?"},
    ],
}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of distributions with the source, and a session where its tool keeps them."""
    packages = tmp_path / "site-packages"
    about = packages / "toy-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    entries = tomllib.loads(ENTRY)["project"]["entry-points"]["brain.sources"]
    (about / "entry_points.txt").write_text("[brain.sources]\n" + "".join(f"{k} = {v}\n" for k, v in entries.items()))
    (packages / "toy.py").write_text(MODULE)
    sessions = tmp_path / "world" / "user" / ".toy"
    sessions.mkdir()
    (sessions / "abc.json").write_text(json.dumps(SESSION))
    monkeypatch.setenv("PYTHONPATH", str(packages))
    return packages


def test_the_toy_source_is_short() -> None:
    assert len(MODULE.splitlines()) <= 60


def test_brains_own_sources_are_registered_by_entry_points() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    assert declared[registry.GROUP] == {name: f"{module}:SOURCE" for name, module in registry.BUILTIN.items()}
    for name in registry.BUILTIN:
        source = registry.source(name)
        assert (source.name, source.on_request) == (name, name in registry.ON_REQUEST)


def test_a_source_of_another_distribution_is_indexed_asked_and_counted(
    home: Home, installed: Path, brain: Brain
) -> None:
    ran = brain("index", "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["sources"]["toy"]["unknown"]["role oracle"]["count"] == 1
    document = Path(home.path("brain", "toy__abc.md")).read_text(encoding="utf-8")
    assert "[redacted:github]" in document
    hit = json.loads(brain("ask", "--json", "walrus").stdout)["hits"][0]
    assert (hit["source"], hit["path"]) == ("toy", home.path("brain", "toy__abc.md"))


def test_a_new_session_of_it_waits_before_the_next_run(home: Home, installed: Path, brain: Brain) -> None:
    brain("index", "--json")
    (Path(os.environ["HOME"]) / ".toy" / "new.json").write_text(json.dumps({**SESSION, "id": "new"}))
    assert json.loads(brain("ask", "--json", "walrus").stdout)["freshness"]["lexical"]["pending"] == 1


def test_it_can_be_forgotten(home: Home, installed: Path, brain: Brain) -> None:
    brain("index", "--json")
    assert brain("forget", "--match", "walrus", "--yes").returncode == 0
    brain("index", "--json")
    assert not Path(home.path("brain", "toy__abc.md")).exists()


def test_a_source_that_cannot_be_loaded_is_named_and_ends_nothing(home: Home, installed: Path, brain: Brain) -> None:
    (installed / "toy.py").write_text("raise RuntimeError('broken')\n")
    ran = brain("index", "--json")
    assert ran.returncode == 0
    assert "the source 'toy' cannot be loaded: broken" in ran.stderr
