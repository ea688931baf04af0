"""Each way in which a server refuses has its error, with a fix and an exit code; TLS lets nobody be somebody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from bench.postgres import Server, Space
from core.engine import POSTGRES, Engine
from core.errors import LOCKED, MISSING, REFUSED, BrainError, DiskFull, EngineMissing, EngineTimeout, LockContention
from qmd.team import connection, failures
from tests.qmd.team.tls import Door, authority


@pytest.fixture
def space(postgres: Server) -> Iterator[Space]:
    made = postgres.space("mira")
    yield made
    made.drop()


def _refused(engine: Engine) -> BrainError:
    with pytest.raises(BrainError) as refused:
        connection.open_reader(engine, 10)
    said = f"{refused.value.message} {refused.value.fix}"
    assert refused.value.fix
    assert "secret of" not in said
    assert engine.dsn not in said
    return refused.value


def test_a_database_that_is_missing_is_named_as_that(space: Space) -> None:
    engine = Engine(POSTGRES, space.dsn("mira").replace(f"/{space.name}?", "/nowhere?"), space.name)
    assert "no database of that name" in _refused(engine).message


def test_a_server_without_a_free_connection_is_busy_and_not_away(space: Space, postgres: Server) -> None:
    with postgres.superuser() as root:
        root.execute(f'ALTER DATABASE "{space.name}" CONNECTION LIMIT 0'.encode())
    refused = _refused(space.engine("mira"))
    assert isinstance(refused, LockContention)
    assert (refused.code, refused.message) == (LOCKED, "the team's server has no connection left")


def test_a_database_that_lets_nobody_in_is_named_as_that(space: Space, postgres: Server) -> None:
    with postgres.superuser() as root:
        root.execute(f'ALTER DATABASE "{space.name}" ALLOW_CONNECTIONS false'.encode())
    try:
        assert "lets nobody in" in _refused(space.engine("mira")).message
    finally:
        with postgres.superuser() as root:
            root.execute(f'ALTER DATABASE "{space.name}" ALLOW_CONNECTIONS true'.encode())


def test_a_host_that_nobody_knows_is_named_as_that() -> None:
    refused = _refused(Engine(POSTGRES, "postgresql://mira@nowhere.invalid/x", "team"))
    assert "nobody knows the name of its host" in refused.message


def test_a_connection_that_the_server_ended_is_named_as_that(space: Space) -> None:
    with connection.open_writer(space.engine("mira"), 10) as mira:
        pid = mira.info.backend_pid
        with space.superuser() as root:
            root.execute("SELECT pg_terminate_backend(%s)", (pid,))
        with pytest.raises(psycopg.Error) as ended:
            mira.execute("SELECT 1")
    found = failures.translated(ended.value)
    assert isinstance(found, EngineMissing)
    assert found.message == "the team's server ended the connection"


@pytest.mark.parametrize(
    ("state", "kind", "code", "said"),
    [
        ("53100", DiskFull, 99, "has a full disk"),
        ("53200", EngineMissing, MISSING, "has no memory left"),
        ("53300", LockContention, LOCKED, "has no connection left"),
        ("57P01", EngineMissing, MISSING, "ended the connection"),
        ("57P03", EngineMissing, MISSING, "starting or stopping"),
        ("25P03", EngineMissing, MISSING, "ended the connection"),
        ("3D000", EngineMissing, MISSING, "no database of that name"),
        ("28P01", EngineMissing, MISSING, "name or password"),
        ("42P01", EngineMissing, MISSING, "lacks a part of the space"),
        ("40P01", LockContention, LOCKED, "another push"),
        ("40001", LockContention, LOCKED, "another push"),
        ("25006", BrainError, REFUSED, "a replica"),
        ("23514", BrainError, REFUSED, "refuses a row"),
        ("XX000", BrainError, 99, "the team's server: because"),
    ],
)
def test_a_state_has_its_error_its_exit_code_and_a_fix(
    space: Space, state: str, kind: type[BrainError], code: int, said: str
) -> None:
    with (
        connection.open_writer(space.engine("mira"), 10) as mira,
        pytest.raises(psycopg.Error) as raised,
    ):
        mira.execute(f"DO $$ BEGIN RAISE EXCEPTION 'because' USING ERRCODE = '{state}'; END $$".encode())
    found = failures.translated(raised.value)
    assert isinstance(found, kind)
    assert (found.code, said in found.message) == (code, True)
    assert found.fix or state == "XX000"


def _behind(space: Space, door: Door, host: str, ca: Path) -> Engine:
    options = f"&sslmode=verify-full&sslrootcert={ca}"
    return Engine(POSTGRES, space.dsn("mira", host, door.port) + options, space.name)


def test_a_member_comes_in_by_tls_and_scram_and_no_password_is_sent(space: Space, tmp_path: Path) -> None:
    ca, certificate = authority(tmp_path / "right")
    door = Door(space.server.socket / ".s.PGSQL.5432", certificate)
    try:
        with connection.open_writer(_behind(space, door, "localhost", ca), 10) as mira:
            assert mira.pgconn.ssl_in_use
            assert connection.me(mira) == "mira"
    finally:
        door.close()
    assert b"SCRAM-SHA-256" in door.heard
    assert b"secret of mira" not in door.heard


def test_a_certificate_that_nobody_known_signed_is_refused_before_anything_is_said(
    space: Space, tmp_path: Path
) -> None:
    ca, _ = authority(tmp_path / "right")
    _, certificate = authority(tmp_path / "wrong")
    door = Door(space.server.socket / ".s.PGSQL.5432", certificate)
    try:
        refused = _refused(_behind(space, door, "localhost", ca))
        assert "certificate that nobody known here signed" in refused.message
        assert "sslrootcert" in refused.fix
        missing = _refused(_behind(space, door, "localhost", tmp_path / "none.pem"))
        assert "sslrootcert" in missing.fix
        assert not door.heard
    finally:
        door.close()


def test_a_certificate_of_another_host_is_refused(space: Space, tmp_path: Path) -> None:
    ca, certificate = authority(tmp_path / "right", "db.example.com")
    door = Door(space.server.socket / ".s.PGSQL.5432", certificate)
    try:
        assert "certificate of another name" in _refused(_behind(space, door, "localhost", ca)).message
        assert not door.heard
    finally:
        door.close()


def test_a_server_without_tls_is_refused_where_the_dsn_asks_for_it(space: Space, tmp_path: Path) -> None:
    ca, _ = authority(tmp_path / "right")
    door = Door(space.server.socket / ".s.PGSQL.5432", None)
    try:
        assert "does not encrypt" in _refused(_behind(space, door, "localhost", ca)).message
    finally:
        door.close()


def test_a_wrong_password_of_the_pgpass_file_is_refused_by_tls_as_well(space: Space, tmp_path: Path) -> None:
    ca, certificate = authority(tmp_path / "right")
    space.passfile.write_text("*:*:*:*:hunter2-wrong\n")
    door = Door(space.server.socket / ".s.PGSQL.5432", certificate)
    try:
        assert "name or password" in _refused(_behind(space, door, "localhost", ca)).message
        assert b"hunter2" not in door.heard
    finally:
        door.close()


def test_a_connection_that_nobody_answers_is_late_and_not_away() -> None:
    late = failures.translated(psycopg.errors.ConnectionTimeout("connection timeout expired"))
    assert isinstance(late, EngineTimeout)
    assert late.fix
