from __future__ import annotations

from collections.abc import Iterator

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmd.search.lex import match_expression


@pytest.fixture(scope="module")
def table() -> Iterator[apsw.Connection]:
    """A full-text table as qmd makes it, with a few rows."""
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(filepath, title, body, tokenize='porter unicode61')")
    for body in (
        "alpha beta",
        "alpha gamma",
        "the path/to/file.md here",
        "multi agent",
        "\u00e9cole",
        "e\u0301tude",
        "version 1.2.3",
    ):
        connection.execute("INSERT INTO t VALUES('', '', ?)", (body,))
    yield connection
    connection.close()


def _found(table: apsw.Connection, query: str) -> list[str]:
    match = match_expression(query)
    return (
        [body for (body,) in table.execute("SELECT body FROM t WHERE t MATCH ? ORDER BY rowid", (match,))]
        if match
        else []
    )


@given(st.text(st.characters() | st.sampled_from("\"-'*.() \t\x00_^:{}+漢検ー\u0301"), max_size=60))
def test_any_query_is_an_expression_that_fts5_takes(table: apsw.Connection, query: str) -> None:
    match = match_expression(query)
    if match is not None:
        table.execute("SELECT rowid FROM t WHERE t MATCH ?", (match,)).fetchall()


@pytest.mark.parametrize(
    ("query", "bodies"),
    [
        ("alpha", ["alpha beta", "alpha gamma"]),
        ("alp", ["alpha beta", "alpha gamma"]),
        ("alpha beta", ["alpha beta"]),
        ("alpha -beta", ["alpha gamma"]),
        ("-beta alpha", ["alpha gamma"]),
        ('"alpha gamma"', ["alpha gamma"]),
        ('"gamma alpha"', []),
        ('alpha -"alpha gamma"', ["alpha beta"]),
        ("path/to", ["the path/to/file.md here"]),
        ('"multi-agent"', ["multi agent"]),
        ("1.2.3", ["version 1.2.3"]),
        ("\u00e9cole", ["\u00e9cole"]),
        ("e\u0301cole", ["\u00e9cole"]),
        ("\u00e9tude", ["e\u0301tude"]),
        ("-alpha", []),
        ('"unclosed', []),
    ],
)
def test_the_language_finds_what_it_says(table: apsw.Connection, query: str, bodies: list[str]) -> None:
    assert _found(table, query) == bodies


@pytest.mark.parametrize("query", ["", " ", "-", "--", '""', '"', "'", "-a -b", "!?", "\u0301"])
def test_a_query_of_nothing_positive_is_none(query: str) -> None:
    assert match_expression(query) is None


@pytest.mark.parametrize(
    "query", [" ".join(f"-w{n}" for n in range(600)) + " alpha", " ".join(f"w{n}" for n in range(600))]
)
def test_a_long_query_is_within_what_fts5_nests(table: apsw.Connection, query: str) -> None:
    assert _found(table, query) == (["alpha beta", "alpha gamma"] if "alpha" in query else [])


def test_many_exclusions_exclude_as_few_do(table: apsw.Connection) -> None:
    many = " ".join(f"-w{n}" for n in range(200))
    assert _found(table, f'alpha {many} -gamma.x -"alpha beta"') == ["alpha gamma"]
