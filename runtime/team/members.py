"""A team's members: making a space, joining it and leaving it, groups, and who may see which collection."""

from __future__ import annotations

import contextlib
import secrets
from typing import TYPE_CHECKING, Any

from core.engine import PRIVATE, TEAM, Engine
from core.errors import BadInput, Refused
from core.version import REDACTION
from qmd.team import connection as connections
from qmd.team import schema
from runtime.team import passwords
from runtime.team.push import CONNECT_S, required
from runtime.team.state import State

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import LiteralString

    import psycopg
    from psycopg.sql import Composed

    from core.config import Config
    from core.home import Home
    from qmd.team.bounded import BoundedConnection

_PASSWORD_BYTES = 24
# Seconds that a migration's longest statement may take, and the removal of all that a member shared.
_MIGRATE_S, _EXPEL_S = 3600.0, 600.0


def init(engine: Engine) -> dict[str, Any]:
    """Make a space, or bring it to this version; the role that connects becomes its first admin.

    Raises EngineMissing, BadInput, Refused as ``schema.migrate``.
    """
    with connections.closing(connections.connect(engine, CONNECT_S)) as server:
        server.allow(_MIGRATE_S)
        before, now = schema.migrate(server, engine.space, REDACTION)
        member = connections.me(server)
        server.execute("SELECT set_config('search_path', %s, false)", (f'"{schema.schema_name(engine.space)}"',))
        server.execute("SELECT require_policy(%s)", (REDACTION,))
    return {"space": engine.space, "member": member, "before": before, "version": now, "policy": REDACTION}


def with_server(config: Config, act: Callable[[BoundedConnection], dict[str, Any]]) -> dict[str, Any]:
    """Return what ``act`` returns of a connection as the member. Raises EngineMissing, EngineTimeout, Refused."""
    engine = required(config)
    with connections.closing(connections.open_writer(engine, CONNECT_S)) as server:
        return {"space": engine.space, "member": connections.me(server), **act(server)}


def listed(server: psycopg.Connection[Any]) -> dict[str, Any]:
    """Return the members and groups of the space."""
    members = server.execute(
        "SELECT name, role, joined_at, seen_at, policy, client FROM members ORDER BY name"
    ).fetchall()
    groups: dict[str, list[str]] = {}
    for name, member in server.execute("SELECT name, member FROM groups ORDER BY 1, 2"):
        groups.setdefault(name, []).append(member)
    return {
        "members": [
            {
                "name": name,
                "role": role,
                "joined": _iso(joined),
                "seen": _iso(seen),
                "policy": policy,
                "version": client,
            }
            for name, role, joined, seen, policy, client in members
        ],
        "groups": [{"name": name, "members": names} for name, names in groups.items()],
    }


def require_admin(server: psycopg.Connection[Any]) -> None:
    """Raise Refused with the names of the admins unless the member is one: only admins change members and groups."""
    rows = server.execute("SELECT name FROM members WHERE role = 'admin' ORDER BY name").fetchall()
    admins, member = [name for (name,) in rows], connections.me(server)
    if member not in admins:
        raise Refused(
            f"only an admin changes members and groups, and {member!r} is none", f"ask an admin: {', '.join(admins)}"
        )


def add(engine: Engine, server: psycopg.Connection[Any], name: str, *, admin: bool, pgpass: str) -> dict[str, Any]:
    """Let a role be a member; with ``pgpass``, make the role, and write its password there for who is to get it.

    ``before`` is what a member already was, "" for who was none. An admin stays one. Raises BadInput if there is no
    such role, or there is one that was to be made.
    """
    _require_free(name)
    before = _role_of(server, name)
    exists = server.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (name,)).fetchone() is not None
    if exists == bool(pgpass):
        told = "there is a role of this name" if exists else f"the server has no role {name!r}"
        fix = f"brain team members --add {name}" + ("" if exists else " --pgpass FILE, which makes one")
        raise BadInput(told, fix)
    if pgpass:
        secret = secrets.token_urlsafe(_PASSWORD_BYTES)
        host, port, database, _ = connections.place(engine)
        with passwords.added(pgpass, (host, port, database, name), secret), server.transaction():
            _create_role(server, name, secret)
            server.execute("SELECT admit(%s, %s)", (name, "admin" if admin else "member"))
    else:
        server.execute("SELECT admit(%s, %s)", (name, "admin" if admin else "member"))
    return {"added": name, "before": before, "role": _role_of(server, name), "pgpass": pgpass}


def _role_of(server: psycopg.Connection[Any], name: str) -> str:
    """Return ``admin`` or ``member``, "" for who is neither."""
    row = server.execute("SELECT role FROM members WHERE name = %s", (name,)).fetchone()
    return row[0] if row else ""


def _create_role(server: psycopg.Connection[Any], name: str, secret: str) -> None:
    from psycopg import errors

    try:
        server.execute(_with_password("CREATE ROLE {} LOGIN PASSWORD {}", server, name, secret))
    except errors.InsufficientPrivilege:
        raise Refused(
            f"{server.info.user!r} may not make roles on the server",
            f"ask for CREATEROLE, or have the role made there, then: brain team members --add {name}",
        ) from None


def _require_free(name: str) -> None:
    """Raise BadInput for a name that means something else in ``share``, or that the space refuses."""
    if name in (PRIVATE, TEAM):
        raise BadInput(f"no member or group is called {name!r}: `share: {name}` means something else", "take another")
    if not name.isprintable():
        raise BadInput(f"{name!r} is no name: a character of it cannot be shown", "take another")


def remove(server: BoundedConnection, name: str) -> dict[str, Any]:
    """End a membership; what the member shared goes with it."""
    if server.execute("SELECT 1 FROM members WHERE name = %s", (name,)).fetchone() is None:
        raise BadInput(f"{name!r} is no member", "brain team members")
    if name == connections.me(server):
        raise BadInput(f"{name!r} is you", "brain team leave --yes")
    with server.given(_EXPEL_S):
        row = server.execute("SELECT expel(%s)", (name,)).fetchone()
    return {"removed": name, "documents": row[0] if row else 0}


def change_group(
    server: psycopg.Connection[Any], group: str, add: Sequence[str], drop: Sequence[str]
) -> dict[str, Any]:
    """Put members into a group, which begins with its first member, or take them out."""
    _require_free(group)
    members = {name for (name,) in server.execute("SELECT name FROM members")}
    for name in (*add, *drop):
        if name not in members:
            raise BadInput(f"{name!r} is no member", "brain team members")
    with server.transaction():
        for name in add:
            server.execute("SELECT group_add(%s, %s)", (group, name))
        for name in drop:
            server.execute("SELECT group_remove(%s, %s)", (group, name))
    return {"group": group}


def _leave(engine: Engine, dry_run: bool) -> int:
    """End one's own membership, or only count; return how many documents go. Raises NoMember."""
    with connections.closing(connections.open_writer(engine, CONNECT_S)) as server:
        query = "SELECT coalesce(sum(documents), 0)::bigint FROM units WHERE owner = session_user"
        if not dry_run:
            query = "SELECT expel(session_user::text)"
        with server.given(_EXPEL_S):
            row = server.execute(query.encode()).fetchone()
    return row[0] if row else 0


def leave(home: Home, engine: Engine, *, dry_run: bool) -> dict[str, Any]:
    """End one's own membership: what was shared leaves the server, then the password leaves the keyring."""
    # A file that is damaged is named before anything is done.
    state, member, documents = State(home), connections.member(engine), 0
    # Who is no member any more shares nothing: what is left to do is here.
    with contextlib.suppress(connections.NoMember):
        documents = _leave(engine, dry_run)
    if not dry_run:
        passwords.drop(engine)
        state.pushed_at, state.forget = 0, []
        state.save()
    return {"space": engine.space, "member": member, "documents": documents, "dry_run": dry_run}


# Grants.


def _units(server: psycopg.Connection[Any], collections: Sequence[str]) -> dict[str, int]:
    """Return the own units of ``collections``. Raises BadInput for one that was never pushed."""
    rows = dict(server.execute("SELECT collection, id FROM units WHERE owner = session_user").fetchall())
    for name in collections:
        if name not in rows:
            raise BadInput(
                f"the space has no collection {name!r} of yours", "share it (docs/team.md), then: brain team push"
            )
    return {name: rows[name] for name in collections}


def _kind(server: psycopg.Connection[Any], name: str) -> str:
    """Return what a grantee is: ``team``, ``member`` or ``group``. Raises BadInput if it is none."""
    if name == TEAM:
        return TEAM
    if name == connections.me(server):
        raise BadInput(
            f"{name!r} is you, and you always see your own collections", "brain team members lists the others"
        )
    if server.execute("SELECT 1 FROM members WHERE name = %s", (name,)).fetchone():
        return "member"
    if server.execute("SELECT 1 FROM groups WHERE name = %s", (name,)).fetchone():
        return "group"
    raise BadInput(f"{name!r} is neither a member nor a group", "brain team members lists both")


def grants(server: psycopg.Connection[Any]) -> list[dict[str, Any]]:
    """Return who may see what of one's own."""
    query = (
        "SELECT u.collection, g.kind, g.grantee, g.allowed, g.origin, g.granted_at FROM grants g"
        " JOIN units u ON u.id = g.unit WHERE u.owner = session_user ORDER BY 1, 2, 3"
    )
    return [
        {"collection": collection, "kind": kind, "to": name, "allowed": allowed, "by": origin, "since": _iso(since)}
        for collection, kind, name, allowed, origin, since in server.execute(query)
    ]


def grant(server: psycopg.Connection[Any], collections: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    """Let members, groups or the team see collections, from their next question on."""
    units, kinds = _units(server, collections), [(_kind(server, name), name) for name in names]
    with server.transaction():
        for unit in units.values():
            for kind, name in kinds:
                server.execute(
                    "INSERT INTO grants (unit, kind, grantee, origin) VALUES (%s, %s, %s, 'verb')"
                    " ON CONFLICT (unit, kind, grantee) DO UPDATE SET allowed = true, granted_at = now(),"
                    " origin = CASE WHEN grants.allowed THEN grants.origin ELSE 'verb' END",
                    (unit, kind, name),
                )
    return {"grants": grants(server)}


def revoke(server: psycopg.Connection[Any], collections: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    """Let them see collections no more, from their next question on, and whatever else grants it.

    A grant that a command made goes. If the setting ``share`` or a grant to many still covers the name, a denial is
    kept, which outranks all grants until the name is granted again.
    """
    units, kinds = _units(server, collections), [(_kind(server, name), name) for name in names]
    with server.transaction():
        for unit in units.values():
            for kind, name in kinds:
                server.execute(
                    "DELETE FROM grants WHERE (unit, kind, grantee) = (%s, %s, %s) AND origin = 'verb'",
                    (unit, kind, name),
                )
                covered = server.execute(
                    "SELECT 1 FROM grants WHERE unit = %s AND allowed AND ((kind, grantee) = (%s, %s)"
                    " OR (%s = 'member' AND (kind = 'team' OR (kind = 'group' AND EXISTS"
                    "  (SELECT FROM groups m WHERE m.name = grantee AND m.member = %s))))"
                    " OR (%s = 'group' AND kind = 'team'))",
                    (unit, kind, name, kind, name, kind),
                ).fetchone()
                if covered:
                    server.execute(
                        "INSERT INTO grants (unit, kind, grantee, allowed, origin) VALUES (%s, %s, %s, false, 'verb')"
                        " ON CONFLICT (unit, kind, grantee) DO UPDATE"
                        " SET allowed = false, origin = 'verb', granted_at = now()",
                        (unit, kind, name),
                    )
    return {"grants": grants(server)}


def status(home: Home, server: psycopg.Connection[Any]) -> dict[str, Any]:
    """Return what the space has that this member may see, and what this machine last did."""
    state = State(home)
    units = server.execute(
        "SELECT owner, collection, trust, documents, passages, policy, pushed_at FROM units"
        " WHERE id = ANY ((SELECT visible())::int[]) ORDER BY owner <> session_user, owner, collection"
    ).fetchall()
    meta = dict(server.execute("SELECT key, value FROM meta").fetchall())
    role = server.execute("SELECT role FROM members WHERE name = session_user").fetchone()
    elsewhere = server.execute(
        "SELECT count(*) FROM documents d JOIN units u ON u.id = d.unit"
        " WHERE u.owner = session_user AND d.device <> %s",
        (state.device,),
    ).fetchone()
    info = server.info
    return {
        "role": role[0] if role else "",
        "server": f"{info.server_version // 10000}.{info.server_version % 10000}",
        "encrypted": bool(server.pgconn.ssl_in_use),
        "local": connections.is_local(server),
        "version": int(meta.get("schema", 0)),
        "policy": int(meta.get("policy", 0)),
        "device": state.device,
        "pushed": _epoch(state.pushed_at),
        "elsewhere": elsewhere[0] if elsewhere else 0,
        "to_forget": len(state.forget),
        "collections": [
            {
                "owner": owner,
                "collection": collection,
                "trust": trust,
                "documents": documents,
                "passages": passages,
                "policy": policy,
                "pushed": _iso(pushed),
            }
            for owner, collection, trust, documents, passages, policy, pushed in units
        ],
        "grants": grants(server),
    }


def renew_password(engine: Engine) -> dict[str, Any]:
    """Give this member a new password, kept where the old one was found; return where, in words.

    The place is written before the server commits, and put back if the server does not.
    """
    with connections.closing(connections.open_writer(engine, CONNECT_S)) as server:
        member = connections.me(server)
        secret = secrets.token_urlsafe(_PASSWORD_BYTES)
        with passwords.replaced(engine, secret) as kept, server.transaction():
            server.execute(_with_password("ALTER ROLE {} PASSWORD {}", server, member, secret))
    return {"space": engine.space, "member": member, "kept": kept}


def _with_password(statement: LiteralString, server: psycopg.Connection[Any], role: str, secret: str) -> Composed:
    """Return a statement over a role and its password, as SCRAM keeps it: no log of the server has the password."""
    from psycopg import sql

    verifier = server.pgconn.encrypt_password(secret.encode(), role.encode(), b"scram-sha-256").decode()
    return sql.SQL(statement).format(sql.Identifier(role), sql.Literal(verifier))


def _iso(moment: Any) -> str | None:
    return None if moment is None else _epoch(moment.timestamp())


def _epoch(seconds: float) -> str | None:
    from core import clock

    return clock.iso(seconds) if seconds else None
