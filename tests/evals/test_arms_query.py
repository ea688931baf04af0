"""qmd's query as arms: other words find what the question's own do not, and a generator that fails is no arm."""

from __future__ import annotations

from pathlib import Path

import pytest

from core import config
from core.home import Home
from evals.arms import engine
from evals.arms.registry import ARMS, Place, Unavailable
from qmd.embedding.embedder import embed
from qmd.embedding.provider import make
from qmd.index.store import open_index
from runtime.capture.indexing import index
from tests.qmd.embedding.endpoint import Endpoint, says
from tests.qmd.generation.test_of_openai import chat


@pytest.fixture
def endpoint(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> Endpoint:
    endpoint.always = says(chat("lex: dough\nvec: baking bread\n"))
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    return endpoint


@pytest.fixture
def place(home: Home) -> Place:
    folder = Path(home.root, "inbox")
    folder.mkdir()
    (folder / "bread.md").write_text("# Bread\n\nDough and an oven.\n")
    (folder / "rain.md").write_text("# Rain\n\nRain fell all day.\n")
    index(home, config.load(home), roots=[])
    return Place(home, config.load(home), "", None)


def test_without_a_generator_or_vectors_the_arm_says_so(
    place: Place, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Unavailable, match="nothing is embedded"), engine.query(place):
        pass
    with pytest.raises(Unavailable, match="there is no generator"), engine.expanded(place):
        pass
    monkeypatch.setenv("QMD_GENERATE_MODEL", "openai:small")
    endpoint.always = says({"error": "no"}, 404)
    with pytest.raises(Unavailable, match="HTTP 404"), engine.expanded(place):
        pass


def test_other_words_are_asked_too(place: Place, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QMD_GENERATE_MODEL", "openai:small")
    connection, source = open_index(place.home.index, write=True), make({}, {})
    try:
        embed(connection, source)
    finally:
        source.close()
        connection.close()
    with ARMS["qmd-query"].open(place, {}) as answer:
        assert set(answer("wet weather", 10)) == {"inbox/rain.md", "inbox/bread.md"}
        assert answer("wet weather", 10)[0] == "inbox/rain.md"
        assert endpoint.requests == []
    with ARMS["qmd-query+expand"].open(place, {}) as answer:
        assert set(answer("wet weather", 10)) == {"inbox/rain.md", "inbox/bread.md"}
        assert len(endpoint.requests) == 2, "one to see whether anybody answers"
        assert len(answer("wet weather", 1)) == 1
    assert len(endpoint.requests) == 2
