"""The query table: a question's vector without a model, and its tokens."""

from __future__ import annotations

import functools
import math
import random
import unicodedata
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.errors import EngineMissing
from qmd.embedding.local import Local
from qmd.embedding.provider import quantise
from qmd.index.catalogue import Filters
from qmd.index.semantic import spaces, vectors
from qmd.search import scoring
from qmd.search.search import Ranking, Searcher
from qmd.vectors import knn, static_fit, static_prior, static_query, syntax
from qmd.vectors.knn import Meaning
from qmd.vectors.static_query import StaticQuery
from tests.qmd.corpus import indexed

_DIMENSIONS = 16
_WORDS = [a + b for a in ("al", "be", "ca", "do", "ek", "fi") for b in ("ra", "no", "mu", "ti", "ve", "so", "pa")]
_UNSEEN = [a + b for a in ("gu", "ho", "ji") for b in ("ra", "no", "mu", "ti")]
_VOCABULARY = ["[UNK]", *_WORDS, *_UNSEEN]


class Encoded:
    def __init__(self, ids: list[int]) -> None:
        self.ids = ids


class Tokenizer:
    """A vocabulary of whole words, in the form that ``tokenizers`` has."""

    def __init__(self) -> None:
        self.vocabulary = {word: index for index, word in enumerate(_VOCABULARY)}

    def get_vocab(self) -> dict[str, int]:
        return self.vocabulary

    def encode_batch(self, texts: list[str], add_special_tokens: bool) -> list[Encoded]:
        assert not add_special_tokens
        return [Encoded([self.vocabulary[w] for w in text.lower().split() if w in self.vocabulary]) for text in texts]


class Model:
    """Adds up secret vectors of words, some of which count for more than others."""

    def __init__(self) -> None:
        self.tokenizer = Tokenizer()
        draw = np.random.default_rng(3)
        self.secret = draw.standard_normal((len(_VOCABULARY), _DIMENSIONS)).astype(np.float32)
        self.secret *= draw.uniform(0.2, 3.0, (len(_VOCABULARY), 1)).astype(np.float32)

    def embed_ids(self, rows: list[list[int]]) -> NDArray[np.float32]:
        return _unit(np.array([self.secret[row].sum(axis=0) for row in rows], dtype=np.float32))

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        return self.embed_ids([each.ids for each in self.tokenizer.encode_batch(texts, add_special_tokens=False)])


def _unit(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    return unit


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def connection(tmp_path: Path) -> apsw.Connection:
    """260 documents of ten words."""
    draw = random.Random(5)
    files: dict[str, str | bytes] = {
        f"{number:03}.md": " ".join(draw.choices(_WORDS, k=10)) + "\n" for number in range(260)
    }
    return indexed(tmp_path, files)[0]


@pytest.fixture
def space(connection: apsw.Connection, model: Model) -> spaces.Space:
    """All of them embedded, one chunk each."""
    return _embedded(connection, model)


def _embedded(connection: apsw.Connection, model: Model) -> spaces.Space:
    space = vectors.ensure(connection, "local", "m", _DIMENSIONS, "print", "whole")
    for waiting in vectors.waiting(connection, space):
        text = str(connection.execute("SELECT doc FROM content WHERE hash = ?", (waiting.hash,)).get)
        cut = vectors.put_cut(connection, space, waiting.hash, [(0, len(text), spaces.PIECE)])
        vectors.add(connection, space, cut, 0, quantise(model.embed([text])))
    return space


def table_of(connection: apsw.Connection, space: spaces.Space) -> StaticQuery:
    table = static_query.table_of(connection, space)
    assert isinstance(table, StaticQuery)
    return table


def test_the_table_comes_near_the_model_for_questions_it_was_not_fitted_to(
    connection: apsw.Connection, space: spaces.Space, model: Model, tmp_path: Path
) -> None:
    assert static_fit.due(connection, space)
    quality = static_fit.fit(connection, space, model, str(tmp_path))
    assert quality is not None
    assert quality > 0.9
    table = table_of(connection, space)
    assert table.quality == quality
    draw = random.Random(9)
    fitted, unfitted = [], []
    for _ in range(40):
        words = draw.choices(_WORDS, k=5)
        found = np.frombuffer(table.encode(", ".join(words).title() + "?"), dtype=np.int8).astype(np.float32)
        assert np.linalg.norm(found) == pytest.approx(127, abs=2)
        wanted = model.embed([" ".join(words)])[0]
        fitted.append(float(found @ wanted) / 127)
        unfitted.append(float(_unit(model.embed(words).sum(axis=0, keepdims=True))[0] @ wanted))
    assert np.mean(fitted) > 0.85
    assert np.mean(fitted) > np.mean(unfitted)
    assert table.encode("words that nobody embedded") == b""
    assert not static_fit.due(connection, space)


def test_a_fit_that_runs_out_of_time_goes_on_where_it_was(
    connection: apsw.Connection, space: spaces.Space, model: Model, tmp_path: Path
) -> None:
    assert static_fit.fit(connection, space, model, str(tmp_path), deadline=0.0) is None
    said = static_query.table_of(connection, space)
    assert isinstance(said, str)
    assert "no query table" in said
    assert static_fit.due(connection, space)
    assert static_fit.fit(connection, space, model, str(tmp_path)) is not None
    model.embed_ids = None  # type: ignore[assignment, method-assign]  # the second fit finds the tokens in the cache
    assert static_fit.fit(connection, space, model, str(tmp_path)) is not None


@pytest.fixture
def prose(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Twenty paragraphs of words that none of the documents has, and of words that they have."""
    draw = random.Random(7)
    texts = [" ".join(draw.choices(_WORDS[:6] + _UNSEEN, k=8)) for _ in range(200)]
    monkeypatch.setattr(static_prior, "paragraphs", lambda most: texts[:most])
    return texts


def test_words_that_only_prose_has_are_known_by_what_they_add_to_it(
    connection: apsw.Connection, space: spaces.Space, model: Model, tmp_path: Path, prose: list[str]
) -> None:
    static_fit.fit(connection, space, model, str(tmp_path))
    with_prose = table_of(connection, space)
    questions = [" ".join(random.Random(seed).choices(_UNSEEN, k=3)) for seed in range(20)]
    near = [_cosine(with_prose, model, question) for question in questions]
    prose.clear()
    (file,) = tmp_path.glob("prior-*")
    file.unlink()
    static_fit.fit(connection, space, model, str(tmp_path))
    alone = table_of(connection, space)
    assert np.mean(near) > np.mean([_cosine(alone, model, question) for question in questions]) + 0.03


def _cosine(table: StaticQuery, model: Model, question: str) -> float:
    found = np.frombuffer(table.encode(question), dtype=np.int8).astype(np.float32)
    return float(found @ model.embed([question])[0]) / 127


@pytest.mark.usefixtures("prose")
def test_what_the_model_says_of_prose_and_of_words_is_asked_once(
    connection: apsw.Connection, space: spaces.Space, model: Model, tmp_path: Path
) -> None:
    first = static_prior.prior(model, len(_VOCABULARY), space, str(tmp_path), None, None)
    assert first is not None
    assert [path.name[:5] for path in tmp_path.iterdir() if path.suffix == ".f16"] == ["prior"]
    model.embed = model.embed_ids = None  # type: ignore[assignment, method-assign]
    again = static_prior.prior(model, len(_VOCABULARY), space, str(tmp_path), None, None)
    assert again is not None
    assert np.allclose(first, again, atol=5e-3)


@pytest.mark.usefixtures("prose")
def test_a_damaged_prior_is_made_again(
    connection: apsw.Connection, space: spaces.Space, model: Model, tmp_path: Path
) -> None:
    first = static_prior.prior(model, len(_VOCABULARY), space, str(tmp_path), None, None)
    (file,) = tmp_path.glob("prior-*")
    for damage in (b"", file.read_bytes()[:-40]):
        file.write_bytes(damage)
        again = static_prior.prior(model, len(_VOCABULARY), space, str(tmp_path), None, None)
        assert first is not None
        assert again is not None
        assert np.allclose(first, again, atol=5e-3)


def test_a_packed_prior_keeps_its_directions() -> None:
    matrix = np.random.default_rng(4).standard_normal((50, 384)).astype(np.float32)
    matrix *= np.linspace(0.01, 3.0, 50, dtype=np.float32)[:, None]
    packed = static_prior.pack(matrix)
    assert len(packed) == 50 * (2 + 192)
    found = static_prior.unpack(packed, 50, 384)
    cosines = (found * matrix).sum(axis=1) / np.linalg.norm(found, axis=1) / np.linalg.norm(matrix, axis=1)
    assert cosines.min() > 0.98
    assert np.allclose(np.linalg.norm(found, axis=1), np.linalg.norm(matrix, axis=1), rtol=0.1)
    with pytest.raises(ValueError, match="no matrix of 51"):
        static_prior.unpack(packed, 51, 384)


def test_the_default_model_s_prior_is_shipped_and_comes_near_the_model(tmp_path: Path) -> None:
    provider = Local(threads=1)
    space = spaces.Space(1, "local", provider.model, provider.dimensions, provider.fingerprint, "", "")
    tokens = provider.tokenizer.get_vocab_size()
    folder = tmp_path / "models"
    folder.mkdir()
    assert static_prior.exists(space, str(folder))
    table = static_prior.prior(provider, tokens, space, str(folder), 0.0, None)
    assert table is not None, "the prior was to be computed"
    assert list(folder.iterdir()) == []
    ids = random.Random(1).sample(range(1_000, tokens), 60)
    single = provider.embed_ids([[each] for each in ids])
    assert ((table[ids] * single).sum(axis=1) / np.linalg.norm(table[ids], axis=1)).mean() > 0.9


def test_prose_is_the_library_s_own_and_the_same_each_time() -> None:
    found = static_prior.paragraphs(50)
    assert len(found) == 50
    assert found == static_prior.paragraphs(50)
    assert all(5 <= len(text.split()) <= 60 for text in found)
    assert found == sorted(found, key=len)


def test_a_python_without_the_sources_of_its_library_has_no_prose(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    monkeypatch.setattr("sysconfig.get_paths", lambda: {"stdlib": str(library)})
    assert static_prior.paragraphs(50) == []
    library.mkdir()
    (library / "gone.py").symlink_to(tmp_path / "none")
    (library / "here.py").write_text('def f():\n    """Says a thing in so many words.\n\n    x = 1\n    """\n')
    assert static_prior.paragraphs(50) == ["Says a thing in so many words."]


def test_few_chunks_are_enough_for_a_table(tmp_path: Path, model: Model) -> None:
    draw = random.Random(5)
    files: dict[str, str | bytes] = {f"{n:02}.md": " ".join(draw.choices(_WORDS, k=10)) + "\n" for n in range(24)}
    (tmp_path / "few").mkdir()
    connection = indexed(tmp_path / "few", files)[0]
    space = _embedded(connection, model)
    assert static_fit.due(connection, space)
    quality = static_fit.fit(connection, space, model, str(tmp_path))
    assert quality is not None
    assert quality > 0.8
    table = table_of(connection, space)
    assert table.level == static_query.STATIC_LEVEL


def test_a_table_of_many_chunks_is_nearer_to_all_of_them(
    connection: apsw.Connection, space: spaces.Space, model: Model, tmp_path: Path
) -> None:
    static_fit.fit(connection, space, model, str(tmp_path))
    connection.execute("UPDATE brain_static_fits SET vectors = 10000")
    table = table_of(connection, space)
    assert table.level == pytest.approx(static_query.STATIC_LEVEL + 0.11)


def test_a_table_of_other_vectors_is_not_used(
    connection: apsw.Connection, space: spaces.Space, model: Model, tmp_path: Path
) -> None:
    static_fit.fit(connection, space, model, str(tmp_path))
    space.fingerprint = "another"
    assert isinstance(static_query.table_of(connection, space), str)
    assert static_fit.due(connection, space)


def test_a_damaged_row_of_the_table_is_none(
    connection: apsw.Connection, space: spaces.Space, model: Model, tmp_path: Path
) -> None:
    static_fit.fit(connection, space, model, str(tmp_path))
    table = table_of(connection, space)
    whole = table.encode(f"{_WORDS[0]} {_WORDS[1]}")
    alone = table.encode(_WORDS[0])
    assert whole
    assert whole != alone
    connection.execute("UPDATE brain_static SET vector = x'01' WHERE token = ?", (_WORDS[1],))
    assert table.encode(f"{_WORDS[0]} {_WORDS[1]}") == alone
    connection.execute("UPDATE brain_static SET vector = x''")
    assert table.encode(f"{_WORDS[0]} {_WORDS[1]}") == b""


def test_a_weak_table_is_not_used(
    connection: apsw.Connection, space: spaces.Space, model: Model, tmp_path: Path
) -> None:
    static_fit.fit(connection, space, model, str(tmp_path))
    connection.execute("UPDATE brain_static_fits SET quality = 0.3")
    said = static_query.table_of(connection, space)
    assert isinstance(said, str)
    assert "too weak" in said


def test_what_is_nearest_is_found_among_what_the_filters_let_through(
    connection: apsw.Connection, space: spaces.Space, model: Model
) -> None:
    texts: list[Any] = connection.execute(
        "SELECT d.id, c.doc FROM documents d JOIN content c ON c.hash = d.hash WHERE d.active = 1"
    ).fetchall()
    exact = model.embed([text for _, text in texts]) @ model.embed(["alra beno camu doti"])[0]
    expected = [texts[place][0] for place in np.argsort(-exact)[:5]]
    (vector,) = quantise(model.embed(["alra beno camu doti"]))
    found = knn.nearest(connection, space, vector, Filters(), 10, restricted=False)
    ranked = sorted(found.documents, key=lambda each: -found.documents[each].cosine)
    assert len(set(ranked[:5]) & set(expected)) >= 4
    assert found.documents[ranked[0]].cosine == pytest.approx(float(exact.max()), abs=0.03)
    assert found.top >= found.floor
    only = Filters(("none",))
    assert knn.nearest(connection, space, vector, only, 10).documents == {}


def test_meaning_brings_up_what_no_word_matches(connection: apsw.Connection, space: spaces.Space, model: Model) -> None:
    searcher = Searcher(connection)
    (vector,) = quantise(model.embed(["alra beno"]))
    meaning = Meaning(space, lambda: vector, {}, 0.5, 10)
    ranking = Ranking(searcher, Filters(), 3, None, meaning)
    ranking.rank("unheardof")
    hits = ranking.hits(parts=True)
    searcher.show(hits)
    assert len(hits) == 3
    assert ranking.best == 0.0
    assert ranking.nearest is not None
    assert all(hit.snippet for hit in hits)
    assert "cosine" in hits[0].parts
    assert searcher.search("unheardof", limit=3, filters=Filters()) == []


def test_the_share_of_code_is_that_of_lines_in_fences_or_indented(tmp_path: Path) -> None:
    assert syntax.code_share("# t\n\n```python\nx = 1\ny = 2\n```\n") == pytest.approx(2 / 3)
    assert syntax.code_share("said\nand done\n") == 0.0
    assert syntax.code_share("") == 0.0
    connection, _ = indexed(tmp_path, {"a.md": "# a\n\n```\nb\nc\nd\n```\n"})
    syntax.measure_code(connection)
    value = connection.execute("SELECT value FROM brain_state WHERE key = 'code:notes'").get
    assert value == 0.75
    assert scoring.meaning_weight(0.75, "model") == scoring.CODE > scoring.meaning_weight(0.1, "model")


def blended(
    words: dict[int, float], nearest: knn.Nearest, share: float, passages: dict[int, int] | None = None
) -> dict[int, float]:
    parts = scoring.blend(words, max(words.values(), default=0.0), nearest, {}, share, passages or {}, 1.0)
    return {document: sum(part) for document, part in parts.items()}


def test_a_blend_keeps_the_order_of_both_where_they_agree() -> None:
    near = {1: knn.Near(0.9, 0.9, 0), 2: knn.Near(0.5, 0.5, 0)}
    nearest = knn.Nearest(near, 0.1)
    scores = blended({1: 8.0, 2: 4.0, 3: 2.0}, nearest, 0.3)
    assert sorted(scores, key=lambda each: -scores[each]) == [1, 2, 3]
    assert scores[1] == pytest.approx(1.0)
    alone = blended({3: 8.0}, nearest, 1.0)
    assert sorted(alone, key=lambda each: -alone[each]) == [1, 2, 3]
    assert alone[3] == 0.0
    assert all(math.isfinite(score) for score in blended({}, knn.Nearest({}, 0.0), 0.3).values())


def test_of_two_that_match_alike_the_shorter_comes_first() -> None:
    near = {document: knn.Near(0.5, 0.5, 0) for document in (1, 2)}
    scores = blended({1: 8.0, 2: 8.0}, knn.Nearest(near, 0.1), 0.3, {1: 200, 2: 2})
    assert 0.0 < scores[1] < scores[2] <= 1.0


def test_words_that_hardly_match_count_less_than_meaning() -> None:
    nearest = knn.Nearest({2: knn.Near(0.5, 0.5, 0)}, 0.1)
    scores = {}
    for top in (1.0, 8.0):
        parts = scoring.blend({1: top}, scoring.full_match(top, 10.0), nearest, {}, 0.4, {}, 1.0)
        scores[top] = {document: sum(part) for document, part in parts.items()}
    assert scores[1.0][1] < scores[1.0][2]
    assert scores[8.0][1] > scores[8.0][2]


def test_a_question_in_other_words_than_the_answer_s_is_answered_by_meaning() -> None:
    nearest = knn.Nearest({1: knn.Near(0.2, 0.2, 0), 2: knn.Near(0.5, 0.5, 0)}, 0.1)
    weights = []
    for share in (scoring.OTHER_WORDS, (scoring.OTHER_WORDS + scoring.OWN_WORDS) / 2, scoring.OWN_WORDS):
        parts = scoring.blend({1: 8.0}, 8.0, nearest, {}, 0.2, {}, share)
        weights.append(sum(parts[2]))
        assert (sum(parts[2]) > sum(parts[1])) == (share == scoring.OTHER_WORDS)
    assert weights == pytest.approx([scoring.BY_MEANING, (scoring.BY_MEANING + 0.2) / 2, 0.2])
    # A collection of code keeps its own, greater weight of meaning.
    assert sum(scoring.blend({1: 8.0}, 8.0, nearest, {2: 0.9}, 0.2, {}, scoring.OTHER_WORDS)[2]) == pytest.approx(0.9)


def test_no_table_is_asked_for_where_sqlite_has_none() -> None:
    space = spaces.Space(1, "local", "m", 2, "x", "y", "z")
    assert isinstance(static_query.table_of(apsw.Connection(":memory:"), space), str)


@functools.cache
def library() -> Any:
    from qmd.embedding.local import Local

    try:
        return Local()._tokenizer
    except EngineMissing as error:
        pytest.skip(error.message)


@functools.cache
def vocabulary() -> frozenset[str]:
    return frozenset(library().get_vocab())


def ours(text: str) -> list[str]:
    known = vocabulary().__contains__
    return [piece for word in static_query.words(text) for piece in static_query.pieces(word, known) or ["[UNK]"]]


def theirs(text: str) -> list[str]:
    tokens: list[str] = library().encode(text, add_special_tokens=False).tokens
    return tokens


def has_no_marker(text: str) -> bool:
    return not any(marker in text for marker in ("[UNK]", "[SEP]", "[CLS]", "[PAD]", "[MASK]"))


@given(st.text(st.characters(codec="ascii"), max_size=60).filter(has_no_marker))
def test_ascii_is_cut_as_the_library_cuts_it(text: str) -> None:
    assert ours(text) == theirs(text)


# The library's tables are of an older Unicode: code points given out since are left to it.
_LONG_THERE = st.characters(min_codepoint=0x20, max_codepoint=0x2FFF, exclude_categories=("Cn", "Cs")).filter(
    lambda character: unicodedata.ucd_3_2_0.category(character) != "Cn"
)


@given(st.text(st.one_of(_LONG_THERE, st.characters(codec="latin-1")), max_size=30).filter(has_no_marker))
def test_other_scripts_are_cut_as_the_library_cuts_them(text: str) -> None:
    assert ours(text) == theirs(text)


@pytest.mark.parametrize(
    "text",
    [
        "Why did the permission hook fail?",
        "getUserName() in src/auth/token.py --no-verify",
        "Ärger über façade, naïve Œuvre, ΣΊΣΥΦΟΣ and İstanbul",
        "海象在哪里? 2026年",
        "a\u200bb\x00c\ufffdd \u00a0 e\u3000f",
        "x" * 101 + " " + "y" * 100,
        "",
        "“quoted” – dashed… ½ ² ™",
    ],
)
def test_examples_are_cut_as_the_library_cuts_them(text: str) -> None:
    assert ours(text) == theirs(text)
