"""PostgreSQL has the tokens, places and counts of SQLite's full text, whatever the text is."""

from __future__ import annotations

from typing import Any

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bench.postgres import Server
from qmd.index import derived, schema
from qmd.index.terms import Analyzer, spaced_out
from qmd.search import scoring
from qmd.team import schema as team_schema
from qmd.team import vocabulary

_TEXTS = st.text(st.characters(codec="utf-8"), max_size=400) | st.text("ab C1_-./\n'\\:東京ー\0", max_size=400)


def _index(title: str, text: str) -> tuple[apsw.Connection, vocabulary.Indexed]:
    connection = apsw.Connection(":memory:")
    schema.ensure(connection)
    return connection, vocabulary.index(Analyzer(connection), "brain", "a/b-c.md", title, text)


@given(title=_TEXTS, text=_TEXTS)
@example(title="getUserName", text="---\ntitle: x\n---\nHTTPServer talks to getUserName\n" * 40)
@example(title="", text="x" * 5000)
def test_lengths_and_frequencies_are_those_of_fts5(title: str, text: str) -> None:
    connection, indexed = _index(title, text)
    bounds, bodies, inner = derived.split(text)
    assert indexed.starts == bounds
    connection.execute(
        "INSERT INTO documents_fts(rowid, filepath, title, body) VALUES(1, ?, ?, ?)",
        tuple(map(spaced_out, ("brain/a/b-c.md", title, text))),
    )
    for row in zip(range(1, 10_000), bodies, inner, strict=False):
        connection.execute("INSERT INTO brain_passages(rowid, body, words) VALUES(?, ?, ?)", row)
    # https://sqlite.org/fts5.html#the_columnsize_option: the sizes of all columns as varints.
    assert indexed.tokens == _size(connection, "documents_fts", 1)
    for each in indexed.passages:
        if each.number >= 0:
            assert each.tokens == _size(connection, "brain_passages", each.number + 1)
    found: Any = connection.execute("SELECT term, doc FROM brain_terms").fetchall()
    counted: dict[str, int] = {}
    passages = [each for each in indexed.passages if each.number >= 0]
    for each in passages:
        for stem in {*_parse(each.body), *_parse(each.words)}:
            counted[stem] = counted.get(stem, 0) + 1
    assert counted == {str(stem).replace("\0", "\ufffd")[:2000]: count for stem, count in found}


def _size(connection: apsw.Connection, table: str, row: int) -> int:
    """Return how many tokens a row of a full-text table has."""
    (raw,) = connection.execute(f"SELECT sz FROM {table}_docsize WHERE id = ?", (row,)).fetchone() or (b"",)
    total = value = 0
    for byte in bytes(raw):
        value = value << 7 | byte & 127
        if byte < 128:
            total, value = total + value, 0
    return total


def _parse(vector: str) -> dict[str, list[int]]:
    """Return the places of each stem of a tsvector as ``vector`` writes it."""
    found: dict[str, list[int]] = {}
    rest = vector
    while rest:
        assert rest[0] == "'"
        at, stem = 1, ""
        while rest[at] != "'" or rest[at + 1] == "'":
            at += rest[at] in "'\\"
            stem += rest[at]
            at += 1
        places, _, rest = rest[at + 2 :].partition(" ")
        found[stem] = [int(place) for place in places.split(",")]
    return found


@given(frequency=st.integers(1, 400).map(lambda each: each / 2), length=st.floats(0.01, 50))
def test_a_mark_says_how_often_a_stem_occurs_for_the_length_of_its_row(frequency: float, length: float) -> None:
    level = "abcdefghi".find(vocabulary.marks({"it's": frequency}, length)[len("'it''s\x01") : -1] or "-")
    gained = frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * length))
    bounds = [2.2 * ratio / (ratio + 1) for ratio in (2 ** (1 + each / 2) for each in range(9))]
    assert level == sum(gained >= bound * (1 - 1e-9) for bound in bounds) - 1 or any(
        abs(gained - bound) < 1e-6 for bound in bounds
    )


def test_marks_bound_what_fts5_gives_whatever_scores_are_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    before = vocabulary.marks({"walru": 9}, 1.0)
    monkeypatch.setattr(scoring, "K1", 2 * scoring.K1)
    assert vocabulary.marks({"walru": 9}, 1.0) == before


def test_marks_that_were_pushed_bound_what_the_weights_of_today_give() -> None:
    # By version of a space: the weights by which the programs mark that write it.
    title, inner = {3: (2.0, 0.5)}[team_schema.NEEDS]
    greater = "what a greater weight needs: CONTRIBUTING.md, Changing the ranking"
    assert max(scoring.TITLE_WEIGHT, title) == title, greater
    assert max(scoring.INNER_WEIGHT, inner) == inner, greater


def test_a_document_is_marked_by_what_its_title_and_all_of_its_passages_say() -> None:
    _, indexed = _index("walrus", "---\ntopic: walrus\n---\n" + "A walrus. " * 3 + "word " * 2_000)
    head, *others = indexed.passages
    assert head.number == vocabulary.HEAD
    assert ("'walru\x01c':1,2,3,4,5,6 " in f"{head.marks} ", "'word\x01i':1,2" in head.marks) == (True, True)
    assert [each.number for each in others] == list(range(len(others)))
    assert all("'word\x01" in each.marks for each in others[1:])
    assert _index("", "word")[1].passages[0] == (vocabulary.HEAD, 0, "", "", "'word\x01b':1")


@pytest.mark.parametrize("stem", ["it's", "a\\b", "'", "\\", "東京", "x" * 3000, "a:1", " "])
def test_postgresql_reads_the_stems_that_were_written(postgres: Server, stem: str) -> None:
    with postgres.superuser() as connection:
        row = connection.execute("SELECT tsvector_to_array(%s::tsvector)", (vocabulary.vector(["y", stem]),)).fetchone()
    assert row is not None
    assert sorted(row[0]) == sorted(["y", vocabulary.stem_key(stem)])


def test_places_are_those_of_the_tokens_up_to_what_postgresql_holds() -> None:
    assert vocabulary.vector(["b", "a", "b"]) == "'b':1,3 'a':2"
    many = vocabulary.vector(["a"] * 300 + ["b"])
    assert many.startswith("'a':1,2,3,")
    assert many.endswith(",256 'b':301")
    far = vocabulary.vector([f"w{number}" for number in range(17_000)])
    assert far.endswith("'w16999':16383")
