"""A source of another distribution, the one of docs/adding-a-source.md, is read by an installed Brain.

Everything else that a source promises: tests/ingest/sources/conformance.
"""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest

from core.home import Home
from ingest import registry
from tests.conftest import ROOT, Brain
from tests.ingest.sources.conformance.toy import MODULE, distribution

SECRET = "ghp_" + "Zk3Qw9Lx2Vb7Nc5Mt8Rj4Hf6Gd1Ps0Ya2Ue9"
SESSION = {
    "id": "abc",
    "messages": [
        {"role": "user", "text": "Why does the walrus sing?", "at": "2026-05-04T10:00:00Z"},
        {"role": "assistant", "text": f"The walrus sings because token {SECRET}", "at": "2026-05-04T10:01:00Z"},
        {"role": "oracle", "text": "?"},
    ],
}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of distributions with the source, and a session where its tool keeps them."""
    packages = distribution(tmp_path)
    save("abc")
    monkeypatch.setenv("PYTHONPATH", str(packages))
    return packages


def save(session: str) -> None:
    folder = Path(os.environ["HOME"]) / ".toy"
    folder.mkdir(exist_ok=True)
    (folder / f"{session}.json").write_text(json.dumps({**SESSION, "id": session}))


def test_the_toy_source_is_short() -> None:
    assert len(MODULE.splitlines()) <= 60


def test_brains_own_sources_are_registered_by_entry_points() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    assert declared[registry.GROUP] == {name: f"ingest.sources.{name}.source:SOURCE" for name in registry.BUILTIN}
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
    save("new")
    answer = json.loads(brain("ask", "--json", "walrus").stdout)
    assert (answer["hits"][0]["source"], answer["hits"][0]["path"]) == ("toy", home.path("brain", "toy__abc.md"))
    assert answer["freshness"]["lexical"]["pending"] == 1


def test_a_source_that_cannot_be_loaded_is_named_and_ends_nothing(home: Home, installed: Path, brain: Brain) -> None:
    (installed / "toy.py").write_text("raise RuntimeError('broken')\n")
    ran = brain("index", "--json")
    assert ran.returncode == 0
    assert "the source 'toy' cannot be loaded: broken" in ran.stderr
