"""A connection is bounded in time, says what is wrong, and never says a password."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import psycopg
import pytest

from bench.postgres import Server, Space
from core.engine import POSTGRES, Engine
from core.errors import EngineMissing, EngineTimeout
from qmd.team import connection


@pytest.fixture
def space(postgres: Server) -> Iterator[Space]:
    made = postgres.space("mira")
    yield made
    made.drop()


def test_a_server_that_is_silent_is_waited_for_until_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        engine = Engine(POSTGRES, f"postgresql://mira@127.0.0.1:{silent.getsockname()[1]}/x", "team")
        begun = time.monotonic()
        with pytest.raises(EngineTimeout):
            connection.open_reader(engine, 0.3)
        assert time.monotonic() - begun < 2


def test_a_server_that_is_away_is_missing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(EngineMissing, match="cannot be reached"):
        connection.open_reader(Engine(POSTGRES, f"postgresql://mira@127.0.0.1:{port}/x", "team"), 5)


def test_a_reader_cannot_write_and_is_stopped_at_its_deadline(space: Space) -> None:
    with connection.open_reader(space.engine("mira"), 1) as reader:
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            reader.execute("INSERT INTO units (owner, collection, trust, policy) VALUES ('mira', 'x', 'note', 99)")
        with pytest.raises(psycopg.errors.QueryCanceled) as late:
            reader.execute("SELECT pg_sleep(30)")
        assert isinstance(connection.translated(late.value), EngineTimeout)


def test_a_wrong_password_is_named_and_not_shown(space: Space) -> None:
    space.passfile.write_text("*:*:*:*:hunter2-wrong\n")
    with pytest.raises(EngineMissing, match="name or password") as refused:
        connection.open_reader(space.engine("mira"), 5)
    assert "hunter2" not in f"{refused.value} {refused.value.fix}"


def test_who_is_no_member_is_told_so(postgres: Server, space: Space) -> None:
    other = postgres.database("eve")
    engine = Engine(POSTGRES, other.dsn("eve").replace(f"/{other.name}?", f"/{space.name}?"), space.name)
    with pytest.raises(EngineMissing, match=r"no space .* that 'eve' is a member of"):
        connection.open_reader(engine, 5)
    other.drop()


def test_the_server_knows_who_was_there(space: Space) -> None:
    with connection.open_reader(space.engine("mira"), 5), space.superuser() as root:
        seen = root.execute("SELECT seen_at > now() - interval '1 minute' FROM members WHERE name = 'mira'").fetchone()
    assert seen == (True,)
