"""Connections to a team's space, bounded in time, without a DSN in any error.

A password never is in a DSN of ours (``core.config``): it comes from the keyring, or libpq finds it in its pgpass file.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import time
from typing import TYPE_CHECKING, Any

from core.errors import BadInput, EngineMissing, EngineTimeout, Refused
from core.processes.within import Begun
from core.version import REDACTION, VERSION
from qmd.team import schema
from qmd.team.failures import LATE, late, translated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import psycopg

    from core.engine import Engine
    from qmd.team.bounded import BoundedConnection

SERVICE = "brain-team"
_LOCAL = ("", "localhost", "127.0.0.1", "::1")
_INSTALL = "pip install 'brain-memory[team]'"
# Seconds after which the server is told again that a member is there.
_SEEN_S = 86_400
# Milliseconds that sent bytes may stay without an answer of TCP, and how a silent connection is probed, in seconds.
_TCP = {"tcp_user_timeout": 30_000, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
# Seconds that a statement of a writing connection may take: a batch takes less than one.
_STATEMENT_S = 60.0
# A machine that fell asleep in a transaction keeps its rows from the member's other machines for so long.
_GONE_MS = 300_000
# The version of libpq from which on a client can refuse a kind of password.
_REQUIRES_AUTH = 160_000
# What helps who is no member, and who was one.
_ADMITTED = "ask an admin: brain team members --add NAME; or, if you were removed: brain team leave --yes"


class NoMember(EngineMissing):
    """The server answers, and has no space of the name of which the role that logs in is a member."""


def open_reader(engine: Engine, timeout_s: float) -> BoundedConnection:
    """Return a connection that reads as the member, each statement within what is left of ``timeout_s``.

    Raises EngineTimeout at the deadline, EngineMissing if the server cannot be reached, refuses the member, or has no
    such space, Refused if the space is of a newer version.
    """
    until = time.monotonic() + timeout_s
    return _open(engine, until, read_only=True, statement_s=lambda: max(0.001, until - time.monotonic()))


def open_writer(engine: Engine, timeout_s: float) -> BoundedConnection:
    """Return a connection that writes as the member: ``timeout_s`` is for connecting. Raises like ``open_reader``.

    Each statement has a minute, unless ``BoundedConnection.given`` allows more, and raises EngineTimeout then.
    """
    return _open(engine, time.monotonic() + timeout_s, read_only=False, statement_s=lambda: _STATEMENT_S)


@contextlib.contextmanager
def closing(connection: BoundedConnection) -> Iterator[BoundedConnection]:
    """Close a connection at the end of the block, and raise our error for one of PostgreSQL's inside it."""
    try:
        yield connection
    except _driver().Error as error:
        raise translated(error) from None
    finally:
        connection.close()


def me(connection: psycopg.Connection[Any]) -> str:
    """Return the member whose connection it is."""
    row = connection.execute("SELECT session_user").fetchone()
    assert row is not None
    return str(row[0])


def is_local(connection: psycopg.Connection[Any]) -> bool:
    """Return True if the server is reached without a network."""
    host = connection.info.host
    return host.startswith(("/", "@")) or host in _LOCAL


def options(engine: Engine) -> dict[str, Any]:
    """Return what the DSN says, as libpq's options. Raises BadInput."""
    driver = _driver()
    try:
        found: dict[str, Any] = driver.conninfo.conninfo_to_dict(engine.dsn)
    except driver.ProgrammingError:
        raise BadInput("the DSN of the team's engine is not valid", "write postgresql://NAME@HOST/DATABASE") from None
    return found


def member(engine: Engine) -> str:
    """Return the role that an engine's DSN logs in as."""
    return engine.member or str(options(engine).get("user") or os.environ.get("PGUSER") or getpass.getuser())


def place(engine: Engine) -> tuple[str, str, str, str]:
    """Return (host, port, database, user) as a pgpass file names them."""
    found, user = options(engine), member(engine)
    host = str(found.get("host") or found.get("hostaddr") or "localhost")
    return host, str(found.get("port") or 5432), str(found.get("dbname") or user), user


def connect(engine: Engine, timeout_s: float) -> BoundedConnection:
    """Return a connection to the database, whatever spaces it has. Raises EngineTimeout, EngineMissing, BadInput."""
    driver = _driver()
    from qmd.team.bounded import BoundedConnection

    named = {"application_name": "brain", **_TCP, **options(engine)}
    if driver.pq.version() >= _REQUIRES_AUTH and named.get("sslmode") != "verify-full":
        # A server that is not known to be the right one gets no password as plain text, even if it asks for it.
        named.setdefault("require_auth", "!password,!md5")
    named["connect_timeout"] = max(2, int(timeout_s) + 1)

    def call() -> BoundedConnection:
        try:
            return BoundedConnection.connect(autocommit=True, **named)
        except driver.OperationalError as error:
            # Looking into the keyring takes longer than most questions.
            if "no password supplied" not in str(error) or not (secret := password(engine)):
                raise
            return BoundedConnection.connect(autocommit=True, password=secret, **named)

    begun = Begun(call)
    try:
        return begun.wait(timeout_s, LATE, lambda: begun.abandon(lambda made: made.close()))
    except EngineTimeout:
        raise late() from None
    except driver.Error as error:
        raise translated(error) from None


def _open(engine: Engine, until: float, *, read_only: bool, statement_s: Callable[[], float]) -> BoundedConnection:
    connection = connect(engine, until - time.monotonic())

    def prepare() -> None:
        connection.until = until
        _enter(connection, engine.space, max(0.001, until - time.monotonic()))
        rule = (
            "default_transaction_read_only = on" if read_only else f"idle_in_transaction_session_timeout = {_GONE_MS}"
        )
        connection.allow(statement_s(), f"SET {rule}; ")
        connection.until = float("inf")

    return _or_closed(connection, prepare)


def _or_closed(connection: BoundedConnection, call: Callable[[], object]) -> BoundedConnection:
    """Return the connection once ``call`` has returned; close it, and raise our error, if ``call`` raises."""
    done = False
    try:
        call()
        done = True
    except _driver().Error as error:
        raise translated(error) from None
    finally:
        if not done:
            connection.close()
    return connection


def _enter(connection: BoundedConnection, space: str, seconds: float) -> None:
    """Make the space's tables findable, and note that the member is there; each statement has so many seconds.

    Raises EngineMissing, Refused.
    """
    from psycopg import errors

    home = schema.schema_name(space)
    # Over a network each statement waits for the way there and back, so one says and asks several things.
    query = (
        "SELECT s.oid IS NOT NULL AND has_schema_privilege(s.oid, 'USAGE'), pg_is_in_recovery(),"
        " set_config('statement_timeout', %s, false), set_config('search_path', concat_ws(', ', %s::text,"
        " (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
        "  WHERE e.extname = 'vector')), false)"
        " FROM (SELECT 1) one LEFT JOIN pg_namespace s ON s.nspname = %s"
    )
    row = connection.execute(query, (str(max(1, int(seconds * 1000))), f'"{home}"', home)).fetchone()
    if row is None or not row[0]:
        raise NoMember(
            f"the server has no space {space!r} that {me(connection)!r} is a member of",
            _ADMITTED,
        )
    query = (
        "SELECT (SELECT value FROM meta WHERE key = 'schema'), (SELECT value FROM meta WHERE key = 'needs'), m.name,"
        " m.client IS DISTINCT FROM %s OR m.policy IS DISTINCT FROM %s OR m.seen_at IS NULL"
        " OR m.seen_at < now() - make_interval(secs => %s)"
        " FROM (SELECT 1) one LEFT JOIN members m ON m.name = session_user"
    )
    found = connection.execute(query, (VERSION, REDACTION, _SEEN_S)).fetchone()
    if found is None or found[2] is None:
        raise NoMember(
            f"{me(connection)!r} is no member of the space {space!r}",
            _ADMITTED,
        )
    connection.member = str(found[2])
    held, needs = int(found[0] or 0), int(found[1] or 0)
    if held < schema.OLDEST:
        raise EngineMissing(f"the space {space!r} is of version {held}", "an admin runs: brain team init")
    if needs > schema.latest():
        raise Refused(f"the space {space!r} needs a newer version of Brain", "update Brain")
    if found[3] and not row[1]:
        try:
            connection.execute("SELECT seen(%s, %s)", (VERSION, REDACTION))
        except errors.ReadOnlySqlTransaction:
            return


def password(engine: Engine) -> str:
    """Return the member's password from the keyring; "" if there is none, and libpq looks into its pgpass file."""
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return ""
    try:
        return keyring.get_password(SERVICE, account(engine)) or ""
    except (KeyringError, RuntimeError):
        return ""


def account(engine: Engine) -> str:
    """Return the name that a member's password has in the keyring: member, host and database, and no secret."""
    host, port, database, user = place(engine)
    return f"{user}@{host}:{port}/{database}"


def _driver() -> Any:
    try:
        import psycopg
    except ImportError:
        raise EngineMissing("the engine `postgres` needs psycopg", _INSTALL) from None
    return psycopg
