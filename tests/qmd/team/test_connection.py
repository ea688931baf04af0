"""A connection is bounded in time, says what is wrong, and never says a password."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import keyring
import psycopg
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringError

from bench.postgres import Server, Space
from core.engine import POSTGRES, Engine
from core.errors import EngineMissing, EngineTimeout, Refused
from core.version import REDACTION
from qmd.index import schema as tables
from qmd.index.semantic.spaces import Space as Vectors
from qmd.index.terms import Analyzer
from qmd.team import connection, failures, writing
from runtime.team import passwords


@pytest.fixture
def space(postgres: Server) -> Iterator[Space]:
    made = postgres.space("mira")
    yield made
    made.drop()


def test_a_server_that_is_silent_is_waited_for_until_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        engine = Engine(POSTGRES, f"postgresql://mira@127.0.0.1:{silent.getsockname()[1]}/x", "team")
        begun = time.monotonic()
        with pytest.raises(EngineTimeout) as late:
            connection.open_reader(engine, 0.3)
        assert late.value.fix
        assert time.monotonic() - begun < 2


# Messages of https://www.postgresql.org/docs/current/protocol-message-formats.html
_LET_IN = b"R\0\0\0\x08\0\0\0\0" + b"Z\0\0\0\x05I"
_SAY_THE_PASSWORD = b"R\0\0\0\x08\0\0\0\x03"


@contextlib.contextmanager
def _answering(answer: bytes) -> Iterator[tuple[Engine, list[bytes]]]:
    """Give the engine of a server that sends ``answer`` once, then nothing, and what it hears after that."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                client, _ = server.accept()
                with client:
                    client.recv(4096)
                    client.sendall(answer)
                    while data := client.recv(4096):
                        heard.append(data)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        port = server.getsockname()[1]
        yield Engine(POSTGRES, f"postgresql://mira@127.0.0.1:{port}/x?sslmode=disable", "team"), heard


@pytest.mark.parametrize("opening", [connection.open_reader, connection.open_writer])
def test_a_server_that_lets_a_member_in_and_hangs_is_waited_for_until_the_deadline(
    opening: Callable[[Engine, float], object],
) -> None:
    with _answering(_LET_IN) as (engine, heard):
        begun = time.monotonic()
        with pytest.raises(EngineTimeout):
            opening(engine, 0.5)
        assert time.monotonic() - begun < 5
        assert any(b"statement_timeout" in each for each in heard)


def test_a_server_that_asks_for_the_password_as_plain_text_gets_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pass"))
    (tmp_path / "pass").write_text("*:*:*:*:hunter2\n")
    (tmp_path / "pass").chmod(0o600)
    with _answering(_SAY_THE_PASSWORD) as (engine, heard):
        with pytest.raises(EngineMissing, match="asks for the password as plain text"):
            connection.open_reader(engine, 5)
        assert b"hunter2" not in b"".join(heard)


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
        assert isinstance(failures.translated(late.value), EngineTimeout)


def test_a_writer_that_is_gone_in_a_transaction_holds_up_others_for_minutes_only(space: Space) -> None:
    with connection.open_writer(space.engine("mira"), 10) as mira:
        assert mira.execute("SHOW idle_in_transaction_session_timeout").fetchone() == ("5min",)


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


def test_without_psycopg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(EngineMissing, match="needs psycopg") as missing:
        connection.open_reader(Engine(POSTGRES, "postgresql://mira@db/x", "team"), 5)
    assert "brain-memory[team]" in missing.value.fix


class _Keyring(KeyringBackend):
    priority = 1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.held: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.held[service, username]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[tuple[str, str], str]]:
    before, made = keyring.get_keyring(), _Keyring()
    keyring.set_keyring(made)
    yield made.held
    keyring.set_keyring(before)


def _locked(*_: str) -> None:
    raise KeyringError


def _fail(held: dict[tuple[str, str], str], secret: str) -> None:
    """Fail as a server does that refuses the new password."""
    assert list(held.values()) == [secret]
    raise ZeroDivisionError


def test_a_password_of_the_keyring_is_used_where_there_is_no_other(
    postgres: Server, space: Space, held: dict[tuple[str, str], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    engine = Engine(POSTGRES, space.dsn("mira").partition("&passfile")[0], space.name)
    with pytest.raises(EngineMissing, match="name or password"):
        connection.open_reader(engine, 5)
    assert passwords.store(engine, "secret of mira") == "the keyring"
    assert list(held) == [("brain-team", connection.account(engine))]
    with connection.open_reader(engine, 5) as reader:
        assert connection.me(reader) == "mira"
    with pytest.raises(ZeroDivisionError), passwords.replaced(engine, "another"):
        _fail(held, "another")
    assert list(held.values()) == ["secret of mira"]
    monkeypatch.setattr(_Keyring, "set_password", _locked)
    with pytest.raises(Refused, match="the old one is still in use"), passwords.replaced(engine, "another"):
        raise AssertionError("the server would have got a password that nobody has")
    passwords.drop(engine)
    assert held == {}
    assert not (tmp_path / "none").exists()


def test_vectors_get_an_approximate_index_once_there_are_enough(space: Space) -> None:
    with connection.open_writer(space.engine("mira"), 10) as mira:
        unit = writing.ensure_unit(mira, "brain", "session", 0.0, REDACTION)
        number = writing.ensure_space(mira, Vectors(1, "local", "m", 4, "f", "l", "t"))
        index = apsw.Connection(":memory:")
        tables.ensure(index)
        chunks = [writing.Vector(0, 1, 0, bytes([turn, 1, 2, 3])) for turn in range(20)]
        document = writing.Outgoing("a.md", "a", "h", 1, 2, True, {}, "amber " * 40, chunks)
        writing.put(
            mira, Analyzer(index), [document], unit=unit, collection="brain", device="d", policy=REDACTION, space=number
        )
        assert mira.execute("SELECT tend(21)").fetchone() == (0,)
        assert mira.execute("SELECT tend(20)").fetchone() == (1,)
        assert mira.execute("SELECT tend(20)").fetchone() == (0,)
        mira.execute("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off")
        query = (
            f"SELECT seq FROM vectors WHERE space = {number}"
            " ORDER BY embedding::halfvec(4) <-> '[7,1,2,3]'::halfvec(4) LIMIT 3"
        )
        plan = str(mira.execute(f"EXPLAIN {query}".encode()).fetchall())
        assert f"vectors_space_{number}" in plan
        assert mira.execute(query.encode()).fetchone() == (7,)


def test_rows_that_wait_for_the_index_of_terms_wait_until_the_end_of_a_push(space: Space) -> None:
    index = apsw.Connection(":memory:")
    tables.ensure(index)
    with connection.open_writer(space.engine("mira"), 10) as mira, space.superuser() as root:
        unit = writing.ensure_unit(mira, "brain", "session", 0.0, REDACTION)

        def put(path: str) -> None:
            document = writing.Outgoing(path, "a", "h", 1, 2, True, {}, "amber " * 40, [])
            writing.put(
                mira,
                Analyzer(index),
                [document],
                unit=unit,
                collection="brain",
                device="d",
                policy=REDACTION,
                space=None,
            )

        waiting = "SELECT gin_clean_pending_list('passages_terms')"
        put("a.md")
        assert root.execute(waiting).fetchone() == (1,)
        put("b.md")
        mira.execute("SELECT tend(20)")
        assert root.execute(waiting).fetchone() == (0,)
        found = mira.execute("SELECT count(*) FROM matching_passages('amber')").fetchone()
        assert found == (2,)


def test_a_reader_is_ready_after_three_statements(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    connection.open_reader(space.engine("mira"), 10).close()
    said: list[object] = []
    execute: Any = psycopg.Connection.execute

    def counted(self: psycopg.Connection, *asked: object) -> object:
        said.append(asked)
        return execute(self, *asked)

    monkeypatch.setattr(psycopg.Connection, "execute", counted)
    with connection.open_reader(space.engine("mira"), 10) as reader:
        assert len(said) == 3, said
        assert reader.member == "mira"
        shown = [reader.execute(f"SHOW {name}".encode()).fetchone() for name in ("search_path", "statement_timeout")]
    assert shown[0] == (f'"brain_{space.name}", public',)
    assert shown[1] is not None
    assert shown[1][0] != "0"
