"""The statistics of a team's space are those of its rows, whatever members do by SQL."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import psycopg
import pytest

from bench.postgres import Server, Space
from qmd.index.semantic.spaces import Space as Vectors
from qmd.team import connection, schema, writing
from tests.qmd.team import rows


@pytest.fixture
def space(postgres: Server) -> Iterator[Space]:
    made = postgres.space("mira", "leo")
    yield made
    made.drop()


def test_counts_are_those_of_the_rows_whatever_two_writers_do(space: Space) -> None:
    with connection.open_writer(space.engine("mira"), 10) as mira:
        unit = rows.unit(mira)
    words = ["amber lamp", "lamp lamp cobalt", "amber cobalt reed", "reed"]

    def write(name: str) -> None:
        with connection.open_writer(space.engine("mira"), 10) as writer:
            for turn in range(12):
                with writer.transaction():
                    rows.put(writer, unit, f"{name}{turn}.md", words[turn % 4])
                    if turn % 3 == 2:
                        writer.execute("DELETE FROM documents WHERE path = %s", (f"{name}{turn - 1}.md",))

    threads = [threading.Thread(target=write, args=(name,)) for name in "xyz"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    with connection.open_writer(space.engine("mira"), 10) as mira:
        assert mira.execute("SELECT * FROM miscounted_terms(%s)", (unit,)).fetchall() == []
        row = mira.execute("SELECT * FROM proof(%s, ARRAY['x0.md'])", (unit,)).fetchone()
        assert row == (1, 1, 0, 1, 0)
        assert mira.execute("SELECT documents, document_tokens, passages, passage_tokens FROM units").fetchone() == (
            24, 168, 24, 120,
        )  # fmt: skip
        mira.execute("DELETE FROM documents")
        assert mira.execute("SELECT count(*) FROM terms").fetchone() == (0,)


_PART = "INSERT INTO passages (document, number, unit, tokens, body, words) VALUES (%s, %s, %s, 5, 'amber:1', '')"


def test_no_member_takes_a_part_of_a_document_out_of_the_counts(space: Space) -> None:
    with connection.open_writer(space.engine("mira"), 10) as mira:
        unit = rows.unit(mira)
        document = rows.put_bare(mira, unit, "a.md", "amber lamp")
        mira.execute(
            "INSERT INTO passages (document, number, unit, tokens, body, words)"
            " SELECT %s, n, %s, 5, 'amber:1', '' FROM generate_series(-1, 0) n",
            (document, unit),
        )
        assert rows.attempt(mira, f"DELETE FROM passages WHERE document = {document} AND number = 0") == "BR004"
        assert mira.execute("SELECT passages, documents FROM terms").fetchall() == [(1, 1)]
        assert rows.attempt(mira, f"DELETE FROM passages WHERE document = {document}") == 2
        assert mira.execute("SELECT * FROM terms").fetchall() == []


def test_no_function_in_a_statement_takes_a_document_out_of_the_counts_twice(space: Space) -> None:
    with connection.open_writer(space.engine("mira"), 10) as mira:
        unit = rows.unit(mira)
        document, other = (rows.put_bare(mira, unit, path, "amber lamp") for path in ("a.md", "b.md"))
        passages = (
            "INSERT INTO passages (document, number, unit, tokens, body, words)"
            f" SELECT d, n, {unit}, 5, 'amber:1', '' FROM unnest(%s::bigint[]) d, generate_series(-1, 0) n"
        )
        mira.execute(passages, ([document],))
        mira.execute(
            "CREATE FUNCTION pg_temp.removes(d bigint, n int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN"
            f" DELETE FROM {schema.schema_name(space.name)}.passages WHERE document = d AND number = n;"
            " RETURN false; END $$"
        )
        both = f"DELETE FROM passages WHERE document = {document} AND (number < 0 OR pg_temp.removes(document, number))"
        assert rows.attempt(mira, both) == "BR004"
        added = passages % f"'{{{other}}}'" + f" WHERE n < 0 OR NOT pg_temp.removes({other}, -1)"
        assert rows.attempt(mira, added) == "BR004"
        assert mira.execute("SELECT passages, documents FROM terms").fetchall() == [(1, 1)]
        assert mira.execute("SELECT * FROM miscounted_terms(%s)", (unit,)).fetchall() == []


def test_two_connections_do_not_count_a_document_twice(space: Space) -> None:
    with connection.open_writer(space.engine("mira"), 10) as mira:
        unit = rows.unit(mira)
        document = rows.put_bare(mira, unit, "a.md", "amber lamp")
    states: list[str | None] = []

    def add() -> None:
        with connection.open_writer(space.engine("mira"), 10) as other:
            try:
                other.execute(_PART, (document, -1, unit))
            except psycopg.Error as error:
                states.append(error.sqlstate)

    with connection.open_writer(space.engine("mira"), 10) as mira:
        with mira.transaction():
            mira.execute(_PART, (document, 0, unit))
            thread = threading.Thread(target=add)
            thread.start()
            # Until the other waits for the unit.
            waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            deadline = time.monotonic() + 10
            while mira.execute(waiting).fetchone() == (0,) and time.monotonic() < deadline:
                time.sleep(0.01)
        thread.join()
        assert states == ["BR004"]
        assert mira.execute("SELECT passages, documents FROM terms").fetchall() == [(1, 1)]


def test_vectors_are_counted_for_those_who_see_them(space: Space) -> None:
    with (
        connection.open_writer(space.engine("mira"), 10) as mira,
        connection.open_reader(space.engine("leo"), 10) as leo,
    ):
        number = writing.ensure_space(mira, Vectors(1, "p", "m", 3, "f", "l", "t"))
        for collection, paths in (("brain", ("a.md", "b.md")), ("notes", ("c.md",))):
            unit = rows.unit(mira, collection)
            for path in paths:
                row = (number, rows.put(mira, unit, path, "amber"), unit)
                mira.execute("INSERT INTO vectors VALUES (%s, %s, 0, %s, 0, 0, 1, '[1,2,3]')", row)
        rows.share(mira, unit, "member", "leo")
        counts = "SELECT space, vectors FROM vector_counts ORDER BY vectors"
        assert mira.execute(counts).fetchall() == [(number, 1), (number, 2)]
        assert leo.execute(counts).fetchall() == [(number, 1)]
        assert rows.attempt(mira, "UPDATE vector_counts SET vectors = 9") == "42501"
        mira.execute("DELETE FROM documents WHERE path = 'a.md'")
        assert mira.execute(counts).fetchall() == [(number, 1), (number, 1)]
        mira.execute("DELETE FROM units")
        assert mira.execute(counts).fetchall() == []
