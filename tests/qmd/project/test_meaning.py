"""A project's search by meaning while its vectors are replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from core.errors import EngineMissing
from qmd.embedding.embedder import embed
from qmd.index.semantic import spaces
from qmd.project import semantic
from tests.qmd.corpus import indexed
from tests.qmd.embedding.fake import Fake


@pytest.fixture
def index(tmp_path: Path) -> apsw.Connection:
    connection, _ = indexed(tmp_path, {f"{n:02}.md": f"note n{n}" for n in range(12)})
    embed(connection, Fake())
    return connection


def search(index: apsw.Connection) -> list[semantic.Near]:
    return semantic.search(index, "note n3", 5, ["notes"])


@pytest.mark.parametrize("moment", ["encoding", "looking"])
def test_vectors_that_take_the_place_of_others_meanwhile_answer_the_question(
    index: apsw.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    renewing = apsw.Connection(str(tmp_path / "index.sqlite"))
    spaces.load(renewing)
    asked = Fake()
    monkeypatch.setattr(semantic, "provider", lambda: asked)
    before = [(near.path, near.score) for near in search(index)]
    find = spaces.find
    looked: list[str] = []

    def anew() -> None:
        embed(renewing, Fake(), force=True)

    def found(*given: Any) -> Any:
        space = find(*given)
        if given[0] is index:
            looked.append(space.table if space else "")
            if len(looked) == 2 and moment == "looking":
                anew()
        return space

    monkeypatch.setattr(spaces, "find", found)
    if moment == "encoding":
        asked.then = anew
    assert [(near.path, near.score) for near in search(index)] == before
    assert (looked[0] != looked[1]) is (moment == "encoding")
    renewing.close()


def test_vectors_that_another_state_of_the_model_makes_meanwhile_are_not_compared(
    index: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Fake()

    def anew() -> None:
        embed(index, Fake(fingerprint="g", dimensions=16), force=True)

    asked.then = anew
    monkeypatch.setattr(semantic, "provider", lambda: asked)
    with pytest.raises(EngineMissing, match="nothing is embedded"):
        search(index)
