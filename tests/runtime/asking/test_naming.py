"""Names in a question are told from usual words by their form, and by a model's vocabulary."""

from __future__ import annotations

import apsw
import pytest

from qmd.search.quoting import Question
from qmd.vectors import static_query
from runtime.asking.naming import names

USUAL = "why did we choose for the session lock cafe ticket error 42 end".split()


@pytest.fixture
def connection() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute(static_query.TABLES)
    connection.execute("INSERT INTO brain_static_fits VALUES(7, 3, 'print', 20, 0.9, 0)")
    connection.executemany("INSERT INTO brain_static VALUES(7, ?, 1.0, x'')", [(word,) for word in USUAL])
    return connection


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("why redis session lock", ["redis"]),
        ("session-lock café ticket", []),
        ("session lock-redis ticket", ["lock-redis"]),
        ("error 42 ticket", []),
        ("p95 iOS ENT-300 TestLock", ["p95", "iOS", "ENT-300", "TestLock"]),
        ("warum haben wir redis session", []),
        ("", []),
    ],
)
def test_a_name_has_a_form_of_its_own_or_is_no_usual_word(
    connection: apsw.Connection, words: str, found: list[str]
) -> None:
    assert names(connection, words.split()) == found


def test_without_a_vocabulary_names_show_in_their_form_alone() -> None:
    empty = apsw.Connection(":memory:")
    assert names(empty, ["redis", "p95"]) == ["p95"]
    empty.execute(static_query.TABLES)
    assert names(empty, ["redis", "p95"]) == ["p95"]


def test_a_text_mentions_a_word_in_any_of_its_forms() -> None:
    wanted = Question("why did TestLocks need Redis retries in a lock")
    assert list(wanted.stems.values()) == ["TestLocks", "need", "Redis", "retries", "lock"]
    text = "The redis-retry of myTestLock"
    assert wanted.unmentioned(text, wanted.stems) == ["need"]
