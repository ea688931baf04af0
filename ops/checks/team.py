"""Checks of the team's server: reached in time, of this version, in step with the clock, sound, and not idle."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from core import clock
from core.counting import counted
from core.errors import BrainError
from core.version import REDACTION
from ops.checks.finding import CheckContext, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

# What the server may be like before it is a finding.
_CONNECT_S = 5.0
_PUSHED_S = 86_400.0
_SKEW_S = 120.0
_LAG_S = 60.0
_UNUSED_DAYS = 90
_DEAD_ROWS, _DEAD_SHARE = 10_000, 0.3


def team(context: CheckContext) -> Iterator[Finding]:
    """The team's server answers, knows this member, and has what this memory expects of it."""
    engine = context.config.engine
    if engine is None:
        return
    from qmd.team import connection
    from runtime.team.state import State

    try:
        state = State(context.home)
        waiting = len(state.forget)
        yield from _pushed(context, state.pushed_at)
    except BrainError as error:
        yield Finding("team-state", "error", error.message, error.fix)
        waiting = 0
    if waiting:
        yield Finding(
            "team-forgetting",
            "error",
            f"{counted(waiting, 'document')} forgotten here may still be at the team's server",
            "brain team push",
        )
    try:
        with connection.closing(connection.open_reader(engine, _CONNECT_S)) as server:
            # A server that hangs after it has let the member in must not keep the doctor.
            server.until = time.monotonic() + _CONNECT_S
            for check in (_encrypted, _clock, _policies, _indexes, _grants, _bloat, _replicas):
                yield from check(server)
    except BrainError as error:
        yield Finding("team-away", "warning", error.message, error.fix or "brain team status")


def _pushed(context: CheckContext, pushed_at: float) -> Iterator[Finding]:
    shared = [each.name for each in context.config.collections.values() if each.share]
    if shared and time.time() - pushed_at > _PUSHED_S:
        since = f"since {clock.iso(pushed_at)[:10]}" if pushed_at else "ever"
        yield Finding(
            "team-push",
            "warning",
            f"nothing was pushed {since}, and {', '.join(shared)} {'is' if len(shared) == 1 else 'are'} shared",
            "brain team push; brain schedule install pushes every hour",
        )


def _encrypted(server: Any) -> Iterator[Finding]:
    from qmd.team import connection

    if not server.pgconn.ssl_in_use and not connection.is_local(server):
        yield Finding(
            "team-unencrypted",
            "warning",
            "the connection to the team's server is not encrypted",
            "add sslmode=verify-full to the DSN: docs/team.md",
        )


def _clock(server: Any) -> Iterator[Finding]:
    began = time.time()
    (theirs,) = server.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
    # Half of the way there and back is theirs.
    skew = theirs - (began + time.time()) / 2
    if abs(skew) > _SKEW_S:
        side = "ahead of" if skew > 0 else "behind"
        yield Finding(
            "team-clock",
            "warning",
            f"the server's clock is {abs(skew) / 60:,.0f} minutes {side} this machine's",
            "set the clock (NTP) of this machine, or of the server",
        )


def _policies(server: Any) -> Iterator[Finding]:
    (least,) = server.execute("SELECT value::int FROM meta WHERE key = 'policy'").fetchone()
    if least > REDACTION:
        yield Finding(
            "team-policy",
            "warning",
            f"the space requires redaction policy {least}, and this version has {REDACTION}: pushes are refused",
            "update Brain, then: brain index; brain team push",
        )
    query = (
        "SELECT u.owner = session_user, count(*) FROM documents d JOIN units u ON u.id = d.unit WHERE d.policy < %s"
        " GROUP BY 1"
    )
    older = dict(server.execute(query, (max(least, REDACTION),)).fetchall())
    if own := older.get(True):
        yield Finding(
            "team-policy-own",
            "warning",
            f"{counted(own, 'document')} of yours at the server went through an older redaction policy",
            "brain index; brain team push",
        )
    if others := older.get(False):
        yield Finding(
            "team-policy-others",
            "notice",
            f"{counted(others, 'document')} of other members went through an older redaction policy",
            "ask them for: brain index; brain team push",
        )


def _indexes(server: Any) -> Iterator[Finding]:
    query = (
        "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n"
        " ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND NOT (i.indisvalid AND i.indisready)"
        " ORDER BY 1"
    )
    broken = [name for (name,) in server.execute(query)]
    if broken:
        yield Finding(
            "team-index",
            "error",
            f"an index of the space is not valid: {', '.join(broken)}",
            f"an admin of the server runs: REINDEX INDEX {broken[0]}",
        )


def _grants(server: Any) -> Iterator[Finding]:
    query = """
        SELECT u.collection, g.grantee FROM grants g JOIN units u ON u.id = g.unit
        WHERE u.owner = session_user AND g.allowed AND g.kind <> 'team'
        AND g.granted_at < now() - make_interval(days => %s)
        AND NOT EXISTS (
          SELECT FROM members m WHERE m.seen_at > now() - make_interval(days => %s)
          AND (m.name = g.grantee OR EXISTS (SELECT FROM groups p WHERE p.name = g.grantee AND p.member = m.name))
        ) ORDER BY 1, 2"""
    unused = server.execute(query, (_UNUSED_DAYS, _UNUSED_DAYS)).fetchall()
    if unused:
        collection, name = unused[0]
        yield Finding(
            "team-grants",
            "notice",
            f"{counted(len(unused), 'grant')} nobody used for {_UNUSED_DAYS} days, such as {collection} to {name}",
            f"brain team revoke {collection} --from {name}",
        )


def _bloat(server: Any) -> Iterator[Finding]:
    query = (
        "SELECT relname, n_dead_tup, n_live_tup FROM pg_stat_user_tables WHERE schemaname = current_schema()"
        " AND n_dead_tup > %s AND n_dead_tup > %s * (n_live_tup + n_dead_tup) ORDER BY n_dead_tup DESC"
    )
    found = server.execute(query, (_DEAD_ROWS, _DEAD_SHARE)).fetchall()
    if found:
        name, dead, live = found[0]
        yield Finding(
            "team-bloat",
            "notice",
            f"{dead:,} of {dead + live:,} rows of {name} are dead",
            f"an admin of the server runs: VACUUM {name}, and looks at autovacuum",
        )


def _replicas(server: Any) -> Iterator[Finding]:
    (lag,) = server.execute(
        "SELECT CASE WHEN pg_is_in_recovery() AND pg_last_wal_receive_lsn() IS DISTINCT FROM pg_last_wal_replay_lsn()"
        " THEN extract(epoch FROM now() - coalesce(pg_last_xact_replay_timestamp(), pg_postmaster_start_time()))"
        " ELSE 0 END::float8"
    ).fetchone()
    # A member sees the lag of replicas only where pg_monitor was granted.
    (behind,) = server.execute(
        "SELECT coalesce(max(extract(epoch FROM replay_lag)), 0)::float8 FROM pg_stat_replication"
    ).fetchone()
    late = max(lag or 0.0, behind)
    if late > _LAG_S:
        yield Finding(
            "team-replica",
            "warning",
            f"a replica of the team's server is {late:,.0f} s behind",
            "answers from it are as old: name the primary in the DSN, or look at the replica",
        )


CHECKS = (team,)
