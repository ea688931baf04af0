"""The index behind the server: deadlines, interruption, indexes of other programs."""

from __future__ import annotations

import contextlib
import os
import threading
import time

import apsw
import pytest

from core.errors import EngineMissing, EngineTimeout
from qmd.index.store import open_index
from qmd.mcp import queries
from qmd.mcp.library import Library, NoIndex
from qmd.search import lex, structured
from tests.qmd.mcp.world import World

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def endless(connection: apsw.Connection) -> object:
    return connection.execute(ENDLESS).fetchall()


def test_a_call_past_its_deadline_is_interrupted(world: World) -> None:
    began = time.monotonic()
    with pytest.raises(EngineTimeout):
        Library(world.settings, seconds=0.2).answer(endless)
    assert time.monotonic() - began < 5


def test_a_call_that_runs_is_interrupted_when_the_server_ends_and_none_begins(world: World) -> None:
    library = Library(world.settings, seconds=60)
    failures: list[Exception] = []
    running = threading.Event()

    def ask() -> None:
        def question(connection: apsw.Connection) -> object:
            running.set()
            return endless(connection)

        try:
            library.answer(question)
        except EngineTimeout as error:
            failures.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    assert running.wait(10)
    library.interrupt()
    thread.join(10)
    assert not thread.is_alive()
    assert len(failures) == 1
    with pytest.raises(EngineTimeout):
        library.answer(lambda connection: connection.execute("SELECT 1").get)


def test_no_call_can_write(world: World) -> None:
    with pytest.raises(EngineMissing, match="may not be written to"):
        Library(world.settings).answer(lambda connection: connection.execute("DELETE FROM documents").fetchall())


def test_an_index_without_our_tables_is_searched(world: World) -> None:
    with contextlib.closing(open_index(world.settings.database, write=True)) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE name GLOB 'brain_*'").fetchall():
            with contextlib.suppress(apsw.SQLError):
                connection.execute(f"DROP TABLE {table}")
    os.unlink(world.settings.config_path)
    library = Library(world.settings)
    search = queries.Query([structured.Search("lex", "ebb", 0)])
    assert [hit["file"] for hit in library.answer(lambda connection: queries.run(connection, search))] == [
        "notes/tides.md"
    ]
    plain = queries.Query([], plain="ebb")
    assert len(library.answer(lambda connection: queries.run(connection, plain))) == 1


def test_a_configuration_that_cannot_be_read_leaves_the_index_as_it_is(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.configure("collections: [")
    library = Library(world.settings)
    for _ in range(2):
        assert len(library.answer(lambda connection: lex.search(connection, "ebb", 5))) == 1
    assert capsys.readouterr().err.count("Failed to parse") == 1


def test_where_there_is_no_index_a_call_says_so(empty_world: World) -> None:
    with pytest.raises(NoIndex, match="there is no index yet"):
        Library(empty_world.settings).answer(lambda connection: connection.execute("SELECT 1").get)
    assert not os.path.exists(empty_world.settings.database)


def test_a_negative_limit_leaves_out_as_many_at_the_end(world: World) -> None:
    def count(**options: float) -> int:
        typed = queries.Query([structured.Search("lex", "quay", 0)], **options)  # type: ignore[arg-type]
        return len(Library(world.settings).answer(lambda connection: queries.run(connection, typed)))

    assert [count(), count(limit=-1), count(limit=0), count(limit=1.9), count(candidates=2)] == [4, 3, 0, 1, 2]
