"""Questions asked by meaning, and those that are not answered at all."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cli.ask.explain_hit import lines
from core.errors import BadInput
from core.home import Home
from qmd.embedding.provider import quantise
from qmd.index.catalogue import Filters
from qmd.index.parallel_read import SecondReader
from qmd.index.semantic import coarse, renewal, spaces, vectors
from qmd.index.store import Transaction, open_index
from qmd.vectors import static_fit, static_prior
from qmd.vectors.knn import Look
from qmd.vectors.static_query import QueryVector
from runtime.asking import ask as ask_module
from runtime.asking.ask import Asker, Request
from runtime.asking.meaning import Semantics
from runtime.explaining.hit import explain
from tests.cases import cases
from tests.qmd.vectors.test_static_query import _WORDS, Model
from tests.runtime.index_fixture import Shelf
from tests.test_import_budget import modules, of_brain

_MODEL = "all-MiniLM-L6-v2"
_paragraphs = functools.cache(static_prior.paragraphs)


@pytest.fixture(autouse=True)
def _one_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's library, of which every fit takes the same paragraphs, is read once."""
    monkeypatch.setattr(static_prior, "paragraphs", _paragraphs)


class Encoder:
    """Replaces the model of a process that holds one."""

    kind = "model"
    level: float | None = 0.24
    fingerprint = "print"

    def __init__(self) -> None:
        self.model = Model()

    def begin(self, question: str, look: Look | None = None) -> QueryVector:
        return QueryVector(quantise(self.model.embed([question]))[0])


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with 220 documents of six words each, of a model that knows those words; tests get copies."""
    place = Home(str(tmp_path_factory.mktemp("filled")))
    place.make()
    shelf = Shelf(place)
    for number in range(220):
        words = [_WORDS[(number * 5 + step * step + step * number) % len(_WORDS)] for step in range(6)]
        shelf.put("brain", f"{number:03}.md", " ".join(words), title=f"n{number}")
    return Path(place.root)


@pytest.fixture
def shelf(home: Home, filled: Path) -> Shelf:
    shutil.copytree(filled, home.root, dirs_exist_ok=True)
    return Shelf(home)


def embed(home: Home, model: Model, fit: bool = True) -> None:
    connection = open_index(home.index, write=True)
    with Transaction(connection):
        space = vectors.ensure(connection, "local", _MODEL, 16, "print", "whole")
        for waiting in vectors.waiting(connection, space):
            text = str(connection.execute("SELECT doc FROM content WHERE hash = ?", (waiting.hash,)).get)
            cut = vectors.put_cut(connection, space, waiting.hash, [(0, len(text), spaces.PIECE)])
            vectors.add(connection, space, cut, 0, quantise(_means(model, text)))
        vectors.note(connection)
        vectors.stamp(connection, space, 1)
    if fit:
        assert static_fit.fit(connection, space, model, home.state) is not None
    connection.close()


def make_anew(home: Home) -> None:
    """The same vectors, in another table."""
    connection = open_index(home.index, write=True)
    (space,) = spaces.listed(connection)
    with Transaction(connection):
        begun = renewal.begin(connection, space, 16, "print", "whole")
    renewal.take(connection, space, begun)
    connection.close()


def _means(model: Model, text: str) -> NDArray[np.float32]:
    return model.embed([" ".join(word for word in text.split() if word in _WORDS)])


def ask(shelf: Shelf, question: str, encoder: Any = None, **given: object) -> dict[str, Any]:
    with Asker(shelf.home, shelf.config, encoder=encoder) as asker:
        return asker.ask(question, Request(**given))


def route(envelope: dict[str, Any]) -> Sequence[str]:
    return envelope["route"]["mode"], envelope["route"]["reason"]


def test_until_something_is_embedded_words_answer_and_the_reason_says_so(shelf: Shelf) -> None:
    for mode in ("auto", "hybrid", "vec"):
        found, reason = route(ask(shelf, f"{_WORDS[0]} {_WORDS[1]}", mode=mode))
        assert found == "lex"
        assert "nothing is embedded by local/all-MiniLM-L6-v2 yet" in reason


def test_without_a_table_words_answer_and_the_reason_says_so(shelf: Shelf) -> None:
    embed(shelf.home, Model(), fit=False)
    found, reason = route(ask(shelf, f"{_WORDS[0]} {_WORDS[1]}"))
    assert found == "lex"
    assert "no query table" in reason


def test_each_kind_of_question_takes_its_way(shelf: Shelf) -> None:
    embed(shelf.home, Model())
    topic = f"{_WORDS[0]} {_WORDS[1]}"
    assert route(ask(shelf, topic))[0] == "hybrid"
    assert "conceptual" in route(ask(shelf, topic))[1]
    found, reason = route(ask(shelf, f"when was {topic}"))
    assert found == "hybrid"
    assert "provenance (when)" in reason
    found, reason = route(ask(shelf, f'"{topic}"'))
    assert found == "lex"
    assert "literal" in reason
    assert route(ask(shelf, topic, mode="lex"))[0] == "lex"
    assert route(ask(shelf, topic, mode="vec"))[0] == "vec"
    assert route(ask(shelf, "what did I do yesterday?"))[0] == "time"
    assert route(ask(shelf, topic, mode="time"))[0] == "time"
    with pytest.raises(BadInput):
        ask(shelf, topic, mode="guess")


def test_a_question_without_a_word_is_answered_with_nothing(shelf: Shelf) -> None:
    embed(shelf.home, Model())
    for question in ("?", "🦜", "… !", "--"):
        assert ask(shelf, question)["hits"] == [], question


def test_a_process_that_holds_the_model_asks_by_it(shelf: Shelf) -> None:
    embed(shelf.home, Model(), fit=False)
    envelope = ask(shelf, f"{_WORDS[3]} {_WORDS[4]}", Encoder(), explain=True)
    assert route(envelope)[0] == "hybrid"
    assert "encoded by the model" in route(envelope)[1]
    scores = [hit["score"] for hit in envelope["hits"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert "cosine" in envelope["hits"][0]["explain"]


def test_a_question_about_something_else_is_not_answered(shelf: Shelf) -> None:
    shelf.put("brain", "odd.md", "unrelated", title="odd")
    question = "unrelated questions concerning volcanoes glaciers penguins submarines telescopes"
    envelope = ask(shelf, question)
    assert envelope["hits"] == []
    assert (envelope["error"], envelope["abstained"]) == ("no_results", True)
    assert envelope["evidence"] < 0.16
    assert "nothing relevant" in route(envelope)[1]
    assert [hit["title"] for hit in ask(shelf, question, min_score=0.0)["hits"]] == ["odd"]
    assert ask(shelf, "unrelated")["hits"]
    assert ask(shelf, "unrelated", min_score=1.0)["hits"] == []
    assert "abstained" not in ask(shelf, "zzyzx"), "nothing matches: there is nothing to abstain from"
    assert "abstained" not in ask(shelf, "unrelated")


def test_a_document_that_awaits_its_vector_is_not_hidden_by_the_others(shelf: Shelf) -> None:
    embed(shelf.home, Model())
    shelf.put("brain", "late.md", f"graphite grease {_WORDS[1]}", title="late")
    # Enough for words alone, and no vector comes near enough.
    question = f"graphite grease {_WORDS[0]} volcanoes glaciers penguins"
    encoder = Encoder()
    encoder.level = 2.0
    envelope = ask(shelf, question, encoder)
    assert [hit["title"] for hit in envelope["hits"]][:1] == ["late"]
    embed(shelf.home, Model(), fit=False)
    assert ask(shelf, question, encoder)["hits"] == [], "once it has its vector, that speaks too"


def test_a_handful_of_passages_is_judged_by_how_rare_words_are_in_general(home: Home) -> None:
    shelf = Shelf(home)
    for number in range(5):
        shelf.put("brain", f"{number}.md", f"{_WORDS[number]} gearbox; the call returns a list", title=f"n{number}")
    for said in (f"unheard of {_WORDS[0]} submarines", f"which call returns {_WORDS[0]}", f"why {_WORDS[0]}?"):
        assert ask(shelf, said)["hits"][0]["title"] == "n0"
    for said in ("does the method return volcanoes, glaciers or penguins", "a list of unheard glaciers and penguins"):
        envelope = ask(shelf, said)
        assert envelope["hits"] == []
        assert "nothing relevant" in route(envelope)[1]
        assert ask(shelf, said, min_score=0.0)["hits"]
    assert ask(shelf, '"returns a list" glaciers penguins volcanoes')["hits"]  # to the letter
    embed(home, Model(), fit=False)
    assert ask(shelf, _WORDS[0], Encoder())["hits"]
    far = Encoder()
    far.level = 2.0
    assert ask(shelf, f"unheard of {_WORDS[0]} submarines", far)["hits"] == []


def test_a_question_without_a_word_has_no_meaning_to_look_for(shelf: Shelf) -> None:
    embed(shelf.home, Model())
    for said in ("?", "…!", "--"):
        envelope = ask(shelf, said, Encoder())
        assert envelope["hits"] == []
        assert "no word" in route(envelope)[1]


def test_an_empty_answer_names_what_still_waits(shelf: Shelf) -> None:
    embed(shelf.home, Model())
    shelf.put("brain", "late.md", "something new", title="late")
    _, reason = route(ask(shelf, "volcanoes glaciers penguins"))
    assert "1 document without vectors yet" in reason


def test_a_question_by_meaning_imports_neither_numpy_nor_the_model(shelf: Shelf) -> None:
    embed(shelf.home, Model())
    imported = of_brain("ask", "--json", f"{_WORDS[0]} {_WORDS[1]}", codes=(0, 67))
    assert "qmd.vectors.knn" in imported
    roots = {name.partition(".")[0] for name in imported}
    assert roots.isdisjoint({"numpy", "onnxruntime", "tokenizers", "sqlite_vec", "sqlite3", "re", "json", "typing"})


def test_a_second_connection_for_vectors_changes_no_answer(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    embed(shelf.home, Model())
    asked = [(f"{first} {_WORDS[9]}", mode) for first in _WORDS[:6] for mode in ("auto", "vec")]

    def answers(**given: Any) -> list[Any]:
        with Asker(shelf.home, shelf.config, **given) as asker:
            found = [asker.ask(question, Request(mode=mode, min_score=0.0, explain=True)) for question, mode in asked]
            assert (asker._second is not None) == bool(beside or given)
        return [{**envelope, "took_ms": 0} for envelope in found]

    beside = False
    alone = answers()
    assert all(envelope["hits"] and "fitted table" in envelope["route"]["reason"] for envelope in alone)
    assert answers(staying=True) == alone
    beside = True
    monkeypatch.setattr(ask_module, "_MANY_EMBEDDED", 1)
    assert answers() == alone
    whole = SecondReader.__init__
    with monkeypatch.context() as patched:
        patched.setattr(SecondReader, "__init__", lambda self, path: whole(self, f"{path}.gone"))
        assert answers() == alone
    by_model = answers(encoder=Encoder())
    assert all("by the model" in envelope["route"]["reason"] for envelope in by_model)


def test_many_vectors_are_searched_beside_the_words_for_a_question_that_the_model_encodes_too(shelf: Shelf) -> None:
    embed(shelf.home, Model())

    def answer(beside: bool) -> Any:
        with Asker(shelf.home, shelf.config, encoder=Encoder(), staying=True) as asker:
            semantics = asker.open_semantics()
            assert isinstance(semantics, Semantics)
            assert (semantics._second is not None) == beside
            return asker.ask(f"{_WORDS[0]} {_WORDS[9]}", Request(mode="vec", min_score=0.0))["hits"]

    before = answer(beside=False)
    connection = open_index(shelf.home.index, write=True)
    spaces.load(connection)
    assert coarse.keep(connection, spaces.every(connection)[0], least=0)
    connection.close()
    assert answer(beside=True) == before != []


@pytest.mark.parametrize("staying", [False, True])
def test_a_question_at_the_moment_when_new_vectors_take_the_place_of_the_old_is_answered_as_any_other(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, staying: bool
) -> None:
    embed(shelf.home, Model())
    request = Request(mode="vec", min_score=0.0)
    whole = Semantics.of

    def of(semantics: Semantics, *given: Any) -> Any:
        make_anew(shelf.home)
        return whole(semantics, *given)

    with Asker(shelf.home, shelf.config, staying=staying) as asker:
        before = asker.ask(_WORDS[0], request)
        make_anew(shelf.home)
        between = asker.ask(_WORDS[0], request)
        monkeypatch.setattr(Semantics, "of", of)
        within = asker.ask(_WORDS[0], request)
    assert before["hits"] == between["hits"] == within["hits"] != []
    assert before["route"] == between["route"] == within["route"]


def test_many_vectors_cost_a_cold_question_one_module_more(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    embed(shelf.home, Model())
    question = f"{_WORDS[0]} {_WORDS[1]}"
    before = of_brain("ask", "--json", question, codes=(0, 67))
    many = "import runtime.asking.ask; runtime.asking.ask._MANY_EMBEDDED = 1"
    code = f"from core import jsonb; {many}; import brain; brain.entry()"
    after = modules(code, "ask", "--json", question, codes=(0, 67))
    assert after - before - modules("os._exit(0)") == {"qmd.index.parallel_read"}


def test_a_collection_without_documents_leaves_nothing_out(shelf: Shelf) -> None:
    connection = open_index(shelf.home.index, write=True)
    connection.execute(
        "INSERT INTO store_collections(name, path, pattern) VALUES('brain', '/b', '*'), ('git', '/g', '*')"
    )
    only = Filters(("brain",))
    assert not only.restrict(connection)
    shelf.put("git", "a.md", "walrus")
    assert only.restrict(connection)
    assert not Filters(("brain", "git")).restrict(connection)
    assert not Filters().restrict(connection)
    assert Filters(since=1).restrict(connection)
    connection.close()


@pytest.mark.parametrize(
    ("damage", "said"), cases(__file__, "test_where_meaning_is_damaged_words_answer_and_the_reason_says_so")
)
def test_where_meaning_is_damaged_words_answer_and_the_reason_says_so(shelf: Shelf, damage: str, said: str) -> None:
    embed(shelf.home, Model())
    question = f"{_WORDS[0]} {_WORDS[1]}"
    words = [hit["uri"] for hit in ask(shelf, question, mode="lex")["hits"]]
    connection = open_index(shelf.home.index, write=True)
    (space,) = spaces.listed(connection)
    connection.execute(
        damage.format(vectors=f"{space.table}_vector_chunks00", chunks=f"{space.table}_chunks")
    ).fetchall()
    connection.close()
    envelope = ask(shelf, question)
    assert envelope["route"]["mode"] == "lex"
    assert f"not by meaning: the {said}" in envelope["route"]["reason"]
    assert "damaged" in envelope["route"]["reason"]
    assert "brain embed" in envelope["route"]["reason"]
    assert [hit["uri"] for hit in envelope["hits"]] == words
    if said == "query table":
        connection = open_index(shelf.home.index, write=True)
        assert static_fit.due(connection, space), "the next `brain embed` fits it anew"
        connection.close()


def test_a_whole_row_answers_among_damaged_ones(shelf: Shelf) -> None:
    embed(shelf.home, Model())
    connection = open_index(shelf.home.index, write=True)
    connection.execute("UPDATE brain_static SET scale = 9e999 WHERE token <> ?", (_WORDS[0],)).fetchall()
    connection.close()
    assert route(ask(shelf, f"{_WORDS[0]} {_WORDS[1]}"))[0] == "hybrid"


def test_what_explains_a_hit_has_its_cosine_and_its_blend(shelf: Shelf) -> None:
    embed(shelf.home, Model())
    question = f"{_WORDS[0]} {_WORDS[1]}"
    first = ask(shelf, question, explain=True)["hits"][0]
    found = explain(shelf.home, shelf.config, first["uri"], question)
    assert {name: found["parts"][name] for name in ("cosine", "blend")} == {
        name: first["explain"][name] for name in ("cosine", "blend")
    }
    said = "\n".join(lines(found))
    assert f"cosine with the question  {first['explain']['cosine']:.3f}" in said
    assert "blended, which ranks it" in said


@pytest.mark.parametrize("mode", ["hybrid", "vec", "lex"])
def test_a_name_alone_finds_what_has_it_however_it_is_asked(shelf: Shelf, mode: str) -> None:
    word = _WORDS[3]
    shelf.put("brain", "definition.md", "defined here " * 30, title=word)
    embed(shelf.home, Model())
    envelope = ask(shelf, word, Encoder(), mode=mode, explain=True)
    first, *others = envelope["hits"]
    assert first["title"] == word
    assert [hit["title"] for hit in others if word in hit["snippet"]]
    scores = [hit["score"] for hit in envelope["hits"]]
    assert scores == sorted(scores, reverse=True)


class Meant(Encoder):
    """Takes each question for one about what the texts have."""

    def begin(self, question: str, look: Look | None = None) -> QueryVector:
        return super().begin(f"{_WORDS[0]} {_WORDS[1]}", look)


def test_a_question_of_which_no_text_has_a_word_is_judged_by_its_chance_in_a_large_index(shelf: Shelf) -> None:
    embed(shelf.home, Model())
    for question, words in (("unheard of submarines", 0.0), (_WORDS[0], 1.0)):
        found = ask(shelf, question, Meant(), mode="hybrid", explain=True)
        assert found["chance"]["covered"] == words


def test_a_small_chance_is_no_answer_and_missing_words_are_named(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    embed(shelf.home, Model())
    monkeypatch.setattr("runtime.asking.deciding.LEAST_PASSAGES", 1)
    monkeypatch.setattr("runtime.asking.deciding.MANY_PASSAGES", 2)
    question = f"{_WORDS[0]} {_WORDS[1]} p95"
    much = ask(shelf, question, explain=True)
    assert much["missing"] == ["p95"]
    assert much["hits"], "more than a little speaks for them"
    monkeypatch.setattr("runtime.asking.deciding.LEAST_CHANCE", much["chance"]["value"] + 0.01)
    monkeypatch.setattr("runtime.asking.deciding.ENOUGH", 1.0)
    little = ask(shelf, question)
    assert (little["hits"], little["abstained"], little["missing"]) == ([], True, ["p95"])
    assert "the chance of an answer is" in route(little)[1]
    assert [hit["title"] for hit in little["nearest"]] == [hit["title"] for hit in much["hits"][:3]]
    assert ask(shelf, question, min_score=0.0)["hits"]
