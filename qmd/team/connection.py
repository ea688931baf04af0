"""Connections to a team's space, bounded in time; what PostgreSQL refuses as our errors, without a DSN in any.

A password never is in a DSN of ours (``core.config``): it comes from the keyring, or libpq finds it in its pgpass file.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import time
from typing import TYPE_CHECKING, Any

from core.errors import BadInput, BrainError, EngineMissing, EngineTimeout, Internal, LockContention, Refused
from core.processes.within import within
from core.version import REDACTION, VERSION
from qmd.team import schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import psycopg

    from core.engine import Engine

# What the triggers and functions of a space raise.
OLDER_POLICY, FORGOTTEN, NOT_ALLOWED, NOT_POSSIBLE = "BR001", "BR002", "BR003", "BR004"
SERVICE = "brain-team"
_LOCAL = ("", "localhost", "127.0.0.1", "::1")
LATE = "the team's server did not answer in time"
_INSTALL = "pip install 'brain-memory[team]'"
# Seconds after which the server is told again that a member is there.
_SEEN_S = 86_400
# Seconds that a writing connection may be silent before TCP gives it up.
_SILENT_MS = 30_000
# The version of libpq from which on a client can refuse a kind of password.
_REQUIRES_AUTH = 160_000


def open_reader(engine: Engine, timeout_s: float) -> psycopg.Connection[Any]:
    """Return a connection that reads as the member, each statement within what is left of ``timeout_s``.

    Raises EngineTimeout at the deadline, EngineMissing if the server cannot be reached, refuses the member, or has no
    such space, Refused if the space is of a newer version.
    """
    begun = time.monotonic()
    connection = _open(engine, timeout_s, read_only=True)
    left = max(1, int((timeout_s - (time.monotonic() - begun)) * 1000))
    return _or_closed(connection, lambda: connection.execute(f"SET statement_timeout = {left}"))


def open_writer(engine: Engine, timeout_s: float) -> psycopg.Connection[Any]:
    """Return a connection that writes as the member: ``timeout_s`` is for connecting. Raises like ``open_reader``."""
    return _open(engine, timeout_s, read_only=False)


@contextlib.contextmanager
def closing(connection: psycopg.Connection[Any]) -> Iterator[psycopg.Connection[Any]]:
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


def place(engine: Engine) -> tuple[str, str, str, str]:
    """Return (host, port, database, user) as a pgpass file names them."""
    found = options(engine)
    user = engine.member or str(found.get("user") or os.environ.get("PGUSER") or getpass.getuser())
    host = str(found.get("host") or found.get("hostaddr") or "localhost")
    return host, str(found.get("port") or 5432), str(found.get("dbname") or user), user


def connect(engine: Engine, timeout_s: float) -> psycopg.Connection[Any]:
    """Return a connection to the database, whatever spaces it has. Raises EngineTimeout, EngineMissing, BadInput."""
    driver = _driver()
    named = {"application_name": "brain", "tcp_user_timeout": _SILENT_MS, **options(engine)}
    if driver.pq.version() >= _REQUIRES_AUTH and named.get("sslmode") != "verify-full":
        # A server that is not known to be the right one gets no password as plain text, even if it asks for it.
        named.setdefault("require_auth", "!password,!md5")
    named["connect_timeout"] = max(2, int(timeout_s) + 1)
    late: list[bool] = []

    def call() -> psycopg.Connection[Any]:
        try:
            made: psycopg.Connection[Any] = driver.connect(autocommit=True, **named)
        except driver.OperationalError as error:
            # Looking into the keyring takes longer than most questions.
            if "no password supplied" not in str(error) or not (secret := password(engine)):
                raise
            made = driver.connect(autocommit=True, password=secret, **named)
        if late:
            made.close()
        return made

    try:
        return within(timeout_s, call, LATE, lambda: late.append(True))
    except driver.Error as error:
        raise translated(error) from None


def _open(engine: Engine, timeout_s: float, *, read_only: bool) -> psycopg.Connection[Any]:
    begun = time.monotonic()
    connection = connect(engine, timeout_s)

    left = max(0.001, timeout_s - (time.monotonic() - begun))

    def prepare() -> None:
        connection.execute(f"SET statement_timeout = {int(left * 1000)}")
        _enter(connection, engine.space)
        connection.execute("SET statement_timeout = 0")
        if read_only:
            connection.execute("SET default_transaction_read_only = on")

    # A server that hangs does not keep a timeout of its own.
    return _or_closed(connection, lambda: within(left, prepare, LATE))


def _or_closed(connection: psycopg.Connection[Any], call: Callable[[], object]) -> psycopg.Connection[Any]:
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


def _enter(connection: psycopg.Connection[Any], space: str) -> None:
    """Make the space's tables findable, and note that the member is there. Raises EngineMissing, Refused."""
    from psycopg import errors

    home = schema.schema_name(space)
    query = (
        "SELECT s.oid IS NOT NULL AND has_schema_privilege(s.oid, 'USAGE'), pg_is_in_recovery(),"
        " (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
        "  WHERE e.extname = 'vector')"
        " FROM (SELECT 1) one LEFT JOIN pg_namespace s ON s.nspname = %s"
    )
    row = connection.execute(query, (home,)).fetchone()
    if row is None or not row[0]:
        raise EngineMissing(
            f"the server has no space {space!r} that {me(connection)!r} is a member of",
            "ask an admin: brain team members --add NAME; then: brain team join",
        )
    path = f'"{home}", {row[2]}' if row[2] else f'"{home}"'
    connection.execute("SELECT set_config('search_path', %s, false)", (path,))
    query = (
        "SELECT (SELECT value FROM meta WHERE key = 'schema'), (SELECT value FROM meta WHERE key = 'needs'), m.name,"
        " m.client IS DISTINCT FROM %s OR m.policy IS DISTINCT FROM %s OR m.seen_at IS NULL"
        " OR m.seen_at < now() - make_interval(secs => %s)"
        " FROM (SELECT 1) one LEFT JOIN members m ON m.name = session_user"
    )
    found = connection.execute(query, (VERSION, REDACTION, _SEEN_S)).fetchone()
    if found is None or found[2] is None:
        raise EngineMissing(
            f"{me(connection)!r} is no member of the space {space!r}", "ask an admin: brain team members --add NAME"
        )
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


def translated(error: BaseException) -> BaseException:
    """Return our error for one of PostgreSQL's, without DSN and values; any other error as it is."""
    if isinstance(error, BrainError):
        return error
    psycopg = _driver()
    if not isinstance(error, psycopg.Error):
        return error
    from psycopg import errors

    said = (error.diag.message_primary or "").strip()
    state = error.sqlstate or ""
    if isinstance(error, errors.QueryCanceled):
        return EngineTimeout(LATE)
    if state == OLDER_POLICY:
        return Refused(f"the space refuses the push: {said}", "update Brain, then: brain index; brain team push")
    if state in (FORGOTTEN, NOT_ALLOWED, NOT_POSSIBLE):
        return Refused(said)
    if isinstance(error, errors.LockNotAvailable | errors.DeadlockDetected | errors.SerializationFailure):
        return LockContention("another push holds what this one writes", "run the command again")
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return Refused(
            "the team's server is a replica: it answers, and takes no changes", "name the primary in the DSN"
        )
    if isinstance(error, errors.InsufficientPrivilege):
        return Refused(f"the team's server refuses: {said or 'permission denied'}", "brain team status")
    # What a server refuses before there is a connection has no state, only words.
    words = str(error) if not state else ""
    if "authentication method requirement" in words:
        return EngineMissing(
            "the team's server asks for the password as plain text or MD5, and got none",
            "use scram-sha-256 at the server, or sslmode=verify-full in the DSN: docs/team.md",
        )
    if state.startswith("28") or any(each in words for each in ("password", "authentication", "pg_hba")):
        return EngineMissing(
            "the team's server refuses the member's name or password", "put it into ~/.pgpass or: brain team join"
        )
    if isinstance(error, psycopg.OperationalError):
        return EngineMissing("the team's server cannot be reached", "brain team status; brain doctor")
    return Internal(f"the team's server: {said or type(error).__name__}")


def _driver() -> Any:
    try:
        import psycopg
    except ImportError:
        raise EngineMissing("the engine `postgres` needs psycopg", _INSTALL) from None
    return psycopg
