"""The choice of key points with a local model, and without one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.home import Home
from runtime.distill import central
from runtime.distill.central import LIMIT, Likeness, SentenceReader
from runtime.distill.distillate import Distillate, Source
from runtime.distill.distiller import Extractive
from runtime.distill.words import Sentence, stem
from tests.conftest import Brain
from tests.runtime.distill.session import REFRESH, body
from tests.runtime.index_fixture import Shelf

MODEL = "all-MiniLM-L6-v2"


def by(subjects: dict[str, int]) -> Callable[[Sequence[str]], Any]:
    """Texts that have a subject's number are alike where it is the same one."""

    def encode(texts: Sequence[str]) -> Any:
        return np.eye(8, dtype=np.float32)[[subjects[text] for text in texts]]

    return encode


def test_a_represented_text_adds_nothing() -> None:
    texts = ["the cache is stale", "the cached entry is old", "nobody rotates keys"]
    found = Likeness(texts, [True] * 3, by(dict(zip(texts, (0, 0, 1), strict=True))))
    assert found.gain(0) > found.gain(2) > 0
    found.take(0)
    assert found.gain(0) == found.gain(1) == 0
    assert found.gain(2) > 0
    found.take(2)
    assert [found.gain(at) for at in range(3)] == [0, 0, 0]


def test_a_merely_related_text_represents_nothing() -> None:
    related = np.asarray([[1, 0], [0.45, 0.893]], dtype=np.float32)
    found = Likeness(["one", "other"], [False, True], lambda _: related)
    assert found.gain(0) == 0
    assert found.gain(1) == pytest.approx(1, abs=0.02)


def test_a_thought_represents_statements_and_needs_no_statement() -> None:
    found = Likeness(["said", "thought"], [True, False], by({"said": 0, "thought": 0}))
    assert found.gain(1) == 1
    nothing = Likeness(["thought"], [False], by({"thought": 0}))
    assert nothing.gain(0) == 0


def sentences(count: int) -> list[Sentence]:
    def one(at: int) -> Sentence:
        words = (f"alpha{at}", f"beta{at}", f"gamma{at}")
        return Sentence(" ".join((*words, "x" * 80)), at + 1, "assistant", at, 0, words, thought=False)

    return [one(at) for at in range(count)]


def test_of_sentences_with_equal_words_the_one_that_others_are_like_is_a_key_point() -> None:
    said = sentences(60)
    weight = {stem(word): 1.0 for each in said for word in each.words}
    middle = said[-1].text
    subjects = {each.text: 0 if at % 2 else 1 + at % 7 for at, each in enumerate(said)}
    # It comes last, and nothing in its words speaks for it; half of the session says what it says.
    plain = central.points(said, weight, set(), Distillate())
    meant = central.points(said, weight, set(), Distillate(), by(subjects))
    assert middle not in [each.text for each in plain]
    assert any(subjects[each.text] == 0 for each in meant)
    assert {subjects[each.text] for each in meant} == set(subjects.values()), "each subject is stood for"


def test_no_session_has_more_read_than_the_limit() -> None:
    said = sentences(3 * LIMIT)
    weight = {stem(word): 1.0 for each in said for word in each.words}
    read: list[int] = []

    def encode(texts: Sequence[str]) -> Any:
        read.append(len(texts))
        return np.eye(8, dtype=np.float32)[[at % 8 for at in range(len(texts))]]

    assert central.points(said, weight, set(), Distillate(), encode)
    assert read == [LIMIT]


def test_the_models_vector_of_a_text_is_the_same_in_any_company() -> None:
    opened = SentenceReader({}).open()
    assert opened is not None
    name, encode = opened
    assert name == MODEL
    texts = [
        "the cache is stale",
        "no",
        "a long sentence about keys that nobody has rotated since the spring of last year",
    ]
    there, back = encode(texts), encode(texts[::-1])[::-1]
    assert np.array_equal(np.rint(there * 127), np.rint(back * 127))
    assert encode(texts[:1])[0] @ encode(["the cached entry is old"])[0] > encode(texts[:1])[0] @ there[2]


def source() -> Source:
    return Source("brain", "one.md", "hash", {"title": "Fix the refresh"}, body(REFRESH))


@pytest.mark.parametrize("section", [{"path": "/nowhere/model"}, {"provider": "local", "model": "none such"}])
def test_without_a_model_words_decide_and_it_is_said(section: dict[str, str]) -> None:
    reader = SentenceReader(section)
    made = Extractive(reader).distil(source())
    assert (made.centrality, bool(reader.failure)) == ("terms", True)
    assert made.found.body("x") == Extractive().distil(source()).found.body("x")


def test_a_remote_embedder_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qmd.embedding.remote.OpenAI", None)
    made = Extractive(SentenceReader({"provider": "openai", "base_url": "http://127.0.0.1:9"})).distil(source())
    assert made.centrality == MODEL


@pytest.fixture
def shelf(home: Home) -> Shelf:
    found = Shelf(home)
    text = body(REFRESH).partition("\n\n")[2]
    found.put("brain", "one.md", text, session_id="one", source="claude", project="/home/me/api")
    return found


@pytest.mark.parametrize(("configured", "said"), [("embedding", MODEL), ("terms", "terms")])
def test_the_document_says_by_what_its_points_were_chosen(
    shelf: Shelf, brain: Brain, configured: str, said: str
) -> None:
    config = Path(shelf.home.path("collections.yml"))
    shipped = (Path(central.__file__).parents[2] / "collections.yml").read_text()
    config.write_text(f"{shipped}\ndistill: {{centrality: {configured}}}\n")
    report = json.loads(brain("distill", "--json").stdout)
    assert (report["distilled"], report["centrality"]) == (1, said)
    assert f"\ndistiller_centrality: {said}\n" in Path(shelf.home.path("distilled"), "one.md").read_text()
    config.write_text(f"{shipped}\ndistill: {{centrality: stars}}\n")
    assert brain("distill", "--json").returncode == 64
