"""The schema of a team's space on PostgreSQL, and its migrations.

A space is a schema ``brain_<space>`` of a database. ``migrations/NNNN.sql`` brings it from one version to the next;
``migrations/rights.sql`` says what members may do, and runs after each. All of it is one transaction, under a lock.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import BadInput, EngineMissing, Refused

if TYPE_CHECKING:
    from typing import LiteralString

    import psycopg

_FOLDER = Path(__file__).parent / "migrations"
# The least version of the server, as ``server_version_num`` writes it.
LEAST_SERVER = 150_000
# The first that goes on looking where its index has found too few.
LEAST_PGVECTOR = (0, 8)
# The least version of a space that this program still reads and writes, and the least version of it that a program must
# know which reads and writes what this one makes: two versions of the program use one space at the same time.
OLDEST = 3
NEEDS = 3
# A schema's name and a role's may have so many bytes in PostgreSQL.
_LONGEST = 63


def schema_name(space: str) -> str:
    """Return the name of a space's schema."""
    return f"brain_{space}"


def roles(connection: psycopg.Connection[Any], space: str) -> tuple[str, str]:
    """Return the role that all members of a space have, and the role that owns its tables.

    Nobody logs in as the second: row security does not bind an owner. Roles are of the whole cluster, so a new space
    has the database in their names: another database may have a space of the same name.
    """
    row = connection.execute(
        "SELECT pg_get_userbyid(nspowner), current_database() FROM (SELECT 1) one"
        " LEFT JOIN pg_namespace ON nspname = %s",
        (schema_name(space),),
    ).fetchone()
    assert row is not None
    owner, database = row
    if owner is None:
        place = f"brain_{space}_{hashlib.sha256(str(database).encode()).hexdigest()[:8]}"
        return f"{place}_members"[:_LONGEST], f"{place}_owner"[:_LONGEST]
    return _meta(connection, space, "group_role"), str(owner)


def _meta(connection: psycopg.Connection[Any], space: str, key: str) -> str:
    """Return a value of a space, "" if there is none."""
    from psycopg import sql

    table = sql.Identifier(schema_name(space), "meta")
    row = connection.execute(sql.SQL("SELECT value FROM {} WHERE key = %s").format(table), (key,)).fetchone()
    return str(row[0]) if row else ""


def versions() -> list[tuple[int, str]]:
    """Return (version, SQL) of each migration, in order."""
    files = sorted(path for path in _FOLDER.glob("*.sql") if path.stem.isdigit())
    return [(int(path.stem), path.read_text(encoding="utf-8")) for path in files]


def needed(connection: psycopg.Connection[Any], space: str) -> int:
    """Return the version that a program must know to read and write an existing space."""
    return int(_meta(connection, space, "needs") or 0)


def latest() -> int:
    """Return the version of a space that this program makes."""
    return max(int(path.stem) for path in _FOLDER.glob("*.sql") if path.stem.isdigit())


def vector_schema(connection: psycopg.Connection[Any]) -> str | None:
    """Return the schema that pgvector is in, None if the database lacks it."""
    query = (
        "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
    )
    row = connection.execute(query).fetchone()
    return None if row is None else str(row[0])


def version(connection: psycopg.Connection[Any], space: str) -> int | None:
    """Return the version of a space, None if the database has no such space."""
    there = connection.execute("SELECT to_regclass(%s)", (f'"{schema_name(space)}".meta',)).fetchone()
    if there is None or there[0] is None:
        return None
    return int(_meta(connection, space, "schema") or 0)


def migrate(connection: psycopg.Connection[Any], space: str, policy: int) -> tuple[int | None, int]:
    """Bring a space to the latest version, made where it is missing; return its version before and now.

    The role of ``connection`` becomes the first admin of a new space. ``policy`` is the least redaction policy of a new
    space. Nothing is changed if anything fails.

    Raises:
        EngineMissing: the server is too old, or lacks pgvector.
        BadInput: the role may not make what the space needs, or another one made the space.
        Refused: the space is of a newer version of the program, or of one before the first release.
    """
    from psycopg import errors

    if connection.info.server_version < LEAST_SERVER:
        raise EngineMissing("the server is older than PostgreSQL 15", "name a server of version 15 or later")
    try:
        with connection.transaction():
            return _migrate(connection, space, policy)
    except errors.InsufficientPrivilege as error:
        said = error.diag.message_primary or "permission denied"
        makers = _makers(connection, space)
        if makers is not None:
            raise BadInput(
                f"only the role that made the space may bring it to this version: {said}",
                f"brain team init, as {makers or 'that role'}",
            ) from None
        raise BadInput(
            f"the role may not make the space: {said}",
            "connect as a role that owns the database and has CREATEROLE: brain team init --help",
        ) from None


def _migrate(connection: psycopg.Connection[Any], space: str, policy: int) -> tuple[int | None, int]:
    home = schema_name(space)
    connection.execute("SELECT pg_advisory_xact_lock(hashtext('brain'), hashtext(%s))", (home,))
    before, newest = version(connection, space), latest()
    if before is not None and before > newest:
        if needed(connection, space) > newest:
            raise Refused(f"a newer version of Brain made the space: {before}, not {newest}", "update Brain")
        return before, before
    if before is not None and before < OLDEST:
        raise Refused(
            f"the space is of version {before}, from before the first release",
            f'drop the schema "{home}", make the space with: brain team init, and push again',
        )
    role, owner = roles(connection, space)
    vector = _ensure_vector(connection)
    admin = _session_user(connection)
    if before is None:
        _ensure_role(connection, role)
        _ensure_role(connection, owner)
        _run(connection, "GRANT {} TO {} WITH ADMIN OPTION", role, owner)
    # The admin acts as the owner until the transaction ends, and not afterwards: row security binds admins.
    _run(connection, "GRANT {} TO {}", owner, admin)
    if before is None:
        _run(connection, "CREATE SCHEMA {} AUTHORIZATION {}", home, owner)
    _run(connection, "SET LOCAL ROLE {}", owner)
    connection.execute("SELECT set_config('search_path', %s, true)", (f'"{home}", pg_temp',))
    connection.execute("SELECT set_config('brain.group_role', %s, true)", (role,))
    quoted = '"' + vector.replace('"', '""') + '"'
    for number, text in versions():
        if number > (before or 0):
            # Without parameters, a string may hold several statements.
            connection.execute(text.replace("@vector@", quoted).encode())
    connection.execute((_FOLDER / "rights.sql").read_bytes())
    if before is None:
        first = [("space", space), ("group_role", role), ("policy", str(policy))]
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO meta VALUES (%s, %s)", first)
        connection.execute("INSERT INTO members (name, role) VALUES (session_user, 'admin')")
        _run(connection, "GRANT {} TO {}", role, admin)
    for key, value in (("schema", newest), ("needs", NEEDS)):
        connection.execute(
            "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (key, str(value))
        )
    connection.execute("RESET ROLE")
    _run(connection, "REVOKE {} FROM {}", owner, admin)
    return before, newest


def _makers(connection: psycopg.Connection[Any], space: str) -> str | None:
    """Return who may act as the owner of a space, "" if the server does not know, None if there is no such space.

    From PostgreSQL 16 on, a role that makes another is noted as its administrator.
    """
    rows = connection.execute(
        "SELECT DISTINCT pg_get_userbyid(m.member)::text FROM pg_namespace n"
        " LEFT JOIN pg_auth_members m ON m.roleid = n.nspowner AND m.admin_option WHERE n.nspname = %s ORDER BY 1",
        (schema_name(space),),
    ).fetchall()
    return ", ".join(name for (name,) in rows if name) if rows else None


def _run(connection: psycopg.Connection[Any], statement: LiteralString, *names: str) -> None:
    """Run a statement over names of roles and schemas."""
    from psycopg import sql

    connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def _session_user(connection: psycopg.Connection[Any]) -> str:
    row = connection.execute("SELECT session_user").fetchone()
    assert row is not None
    return str(row[0])


def _ensure_vector(connection: psycopg.Connection[Any]) -> str:
    """Return the schema of pgvector, which is installed where the server has it."""
    from psycopg import errors

    found = vector_schema(connection)
    if found is None:
        try:
            connection.execute("CREATE EXTENSION vector")
        except (errors.UndefinedFile, errors.FeatureNotSupported):
            raise EngineMissing(
                "the server has no pgvector", "install it on the server: https://github.com/pgvector/pgvector"
            ) from None
        found = vector_schema(connection)
    row = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    assert found is not None
    assert row is not None
    if tuple(map(int, str(row[0]).split(".")[:2])) < LEAST_PGVECTOR:
        least = ".".join(map(str, LEAST_PGVECTOR))
        raise EngineMissing(
            f"the server has pgvector {row[0]}, and {least} or later is needed",
            "update it on the server, then: ALTER EXTENSION vector UPDATE",
        )
    return found


def _ensure_role(connection: psycopg.Connection[Any], role: str) -> None:
    if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is None:
        _run(connection, "CREATE ROLE {} NOLOGIN", role)
