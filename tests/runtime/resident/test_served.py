"""Reranking with a resident process: its model encodes, an endpoint on loopback reranks."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from core.errors import EngineMissing
from core.home import Home, make_private
from qmd.embedding.provider import quantise
from qmd.vectors.knn import Look
from runtime.asking.request import Request
from runtime.resident import client, served
from runtime.resident.answer import answer
from runtime.resident.encoder import Encoded, Encoder, Model
from tests.conftest import Brain
from tests.qmd.embedding.endpoint import Endpoint
from tests.qmd.vectors.test_static_query import _WORDS
from tests.qmd.vectors.test_static_query import Model as Words
from tests.runtime.asking.test_meaning import embed
from tests.runtime.asking.test_reranking import configure, paths, prefers
from tests.runtime.index_fixture import Shelf
from tests.runtime.resident.conftest import Serve

pytestmark = pytest.mark.usefixtures("direct")

QUESTION = f"{_WORDS[0]} {_WORDS[1]}"


class Ready(Model):
    """A model that is in memory from the first question on, without a process; ``gone``: it does not answer."""

    def __init__(self) -> None:
        super().__init__({}, 0, 1.0)
        self.words = Words()
        self.gone = False

    def encoder(self, section: dict[str, Any]) -> Encoder:
        return Encoder(self, {"provider": "local", "model": "all-MiniLM-L6-v2", "fingerprint": "print"})

    def encode(self, text: str, timeout_s: float, look: Look | None = None) -> Encoded:
        if self.gone:
            raise EngineMissing("the model has ended")
        self.encoded += 1
        return Encoded(quantise(self.words.embed([text]))[0], None)


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of sixty documents with vectors, of which one is the reranker's favourite; tests copy it."""
    home = Home(str(tmp_path_factory.mktemp("stocked") / "home"))
    home.make()
    shelf = Shelf(home)
    for number in range(60):
        words = [_WORDS[(number * 5 + step * step + step * number) % len(_WORDS)] for step in range(6)]
        shelf.put("brain", f"{number:03}.md", " ".join(words), title=f"n{number}")
    embed(home, Words())
    return Path(home.root)


@pytest.fixture
def shelf(stocked: Path, home: Home, endpoint: Endpoint) -> Shelf:
    """The documents of ``stocked``, nothing of which is sure of itself, and an endpoint that reranks."""
    shutil.copytree(stocked, home.root, dirs_exist_ok=True)
    shelf = Shelf(home)
    make_private(os.path.dirname(home.socket))
    configure(shelf, rerank={"base_url": endpoint.url}, ask={"rerank": True})
    return shelf


@pytest.fixture
def ready(shelf: Shelf, serve: Serve) -> Ready:
    model = Ready()
    serve(model)
    return model


def ask(shelf: Shelf, **given: Any) -> tuple[dict[str, Any], bool]:
    return answer(shelf.home, shelf.config, QUESTION, Request(min_score=0.0, **given), {})


def sent(endpoint: Endpoint) -> list[str]:
    return [text.partition("\n")[0].removeprefix("# ") for text in endpoint.requests[-1][2]["documents"]]


def test_what_a_warm_answer_is_chosen_from_is_reranked(shelf: Shelf, endpoint: Endpoint, ready: Ready) -> None:
    plain, warm = ask(shelf, rerank=False, limit=20)
    assert (warm, "rerank" in plain, endpoint.requests) == (True, False, [])
    titles = [hit["title"] for hit in plain["hits"]]
    assert "n17" in titles[1:]
    endpoint.always = prefers("n17")
    found, warm = ask(shelf)
    assert warm
    assert found["rerank"]["applied"] is True
    assert sent(endpoint) == titles
    assert found["hits"][0]["title"] == "n17"
    assert found["route"]["reason"] == f"{plain['route']['reason']}; reranked by openai"
    assert ready.encoded == 2


def test_it_is_reranked_alike_without_a_resident_process(
    shelf: Shelf, endpoint: Endpoint, brain: Brain, serve: Serve
) -> None:
    endpoint.always = prefers("n17")
    words = ("ask", "--json", "--min-score", "0", QUESTION)
    cold = json.loads(brain(*words).stdout)
    serve(Ready())
    warm = json.loads(brain(*words).stdout)
    row = json.loads(Path(shelf.home.usage).read_text().splitlines()[-1])
    assert (row["warm"], row["reranked"]) == (True, True)
    assert cold["rerank"]["applied"] is warm["rerank"]["applied"] is True
    assert paths(cold)[0] == paths(warm)[0] == "017.md"


def test_a_missing_reranker_is_reported_by_a_warm_answer_too(shelf: Shelf, ready: Ready) -> None:
    configure(shelf, ask={"rerank": True})
    found, warm = ask(shelf)
    assert warm
    assert found["hits"]
    assert found["rerank"] == {**found["rerank"], "applied": False, "reason": "no reranker is configured"}
    with pytest.raises(EngineMissing, match="no reranker is configured"):
        ask(shelf, rerank=True)


def test_a_model_that_goes_in_the_middle_costs_neither_the_answer_nor_its_order(
    shelf: Shelf, endpoint: Endpoint, ready: Ready
) -> None:
    ready.gone = True
    endpoint.always = prefers("n17")
    found, warm = ask(shelf)
    assert (warm, found["rerank"]["applied"], paths(found)[0]) == (False, True, "017.md")


def test_a_process_without_a_model_in_memory_leaves_it_to_the_table(
    shelf: Shelf, endpoint: Endpoint, serve: Serve
) -> None:
    serve()
    found, warm = ask(shelf)
    assert (warm, found["rerank"]["applied"]) == (False, True)


@pytest.mark.parametrize(
    "said",
    [
        None,
        {},
        {"ok": True},
        {"ok": True, "fingerprint": 7},
        {"ok": True, "fingerprint": "print", "level": "high"},
        {"ok": True, "fingerprint": "print", "level": None},
        {"ok": True, "fingerprint": "print", "level": None, "vector": "no hex of length 16 at all here!"},
        {"ok": True, "fingerprint": "print", "level": None, "vector": "7f00"},
        {"ok": True, "fingerprint": "other", "level": None, "vector": "7f" * 16},
        {"ok": True, "fingerprint": "print", "level": None, "vector": 7},
        {"ok": False, "error": "refused"},
    ],
)
def test_whatever_a_foreign_process_says_the_question_is_answered_and_reranked(
    shelf: Shelf, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, said: dict[str, Any] | None
) -> None:
    monkeypatch.setattr(client, "call", lambda *_: said)
    endpoint.always = prefers("n17")
    found, encoded = served.ask(shelf.home, shelf.config, QUESTION, Request(min_score=0.0), 30)
    assert (encoded, found["rerank"]["applied"], paths(found)[0]) == (False, True, "017.md")
