"""Rows of a team's space, as a member writes them by SQL."""

from __future__ import annotations

import psycopg

from core.version import REDACTION


def unit(writer: psycopg.Connection, collection: str = "brain", policy: int = REDACTION) -> int:
    """Make a unit of the member who writes; return its id."""
    row = writer.execute(
        "INSERT INTO units (owner, collection, trust, policy) VALUES (session_user, %s, 'session', %s) RETURNING id",
        (collection, policy),
    ).fetchone()
    assert row is not None
    return int(row[0])


def put(writer: psycopg.Connection, unit: int, path: str, stems: str, policy: int = REDACTION) -> int:
    """Put a document with one passage; return its id."""
    document = put_bare(writer, unit, path, stems, policy)
    writer.execute(
        "INSERT INTO passages (document, number, unit, tokens, body, words) VALUES (%s, 0, %s, 5, %s, '')",
        (document, unit, " ".join(f"'{stem}':{place}" for place, stem in enumerate(stems.split(), 1))),
    )
    return document


def put_bare(writer: psycopg.Connection, unit: int, path: str, stems: str, policy: int = REDACTION) -> int:
    """Put a document without its passage."""
    row = writer.execute(
        "INSERT INTO documents (unit, device, path, title, hash, date, ended, dated, fields, policy, text, starts,"
        " passages, tokens, title_terms) VALUES (%s, 'd', %s, 't', 'h', 1, 2, true, '{}', %s, %s, '', 1, 7, '')"
        " RETURNING id",
        (unit, path, policy, stems),
    ).fetchone()
    assert row is not None
    return int(row[0])


def share(owner: psycopg.Connection, unit: int, kind: str, grantee: str, allowed: bool = True) -> None:
    """Let a grantee see a unit, or no longer."""
    owner.execute(
        "INSERT INTO grants (unit, kind, grantee, allowed, origin) VALUES (%s, %s, %s, %s, 'verb')"
        " ON CONFLICT (unit, kind, grantee) DO UPDATE SET allowed = excluded.allowed",
        (unit, kind, grantee, allowed),
    )


def attempt(member: psycopg.Connection, statement: str) -> int | str | None:
    """Return how many rows a statement changed or read, or the state with which PostgreSQL refused it."""
    try:
        return member.execute(statement.encode()).rowcount
    except psycopg.Error as error:
        return error.sqlstate
