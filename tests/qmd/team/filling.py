"""Documents of an index in a team's space, as a push puts them there."""

from __future__ import annotations

import json
from typing import Any

import apsw

from core import jsonb
from core.engine import Engine
from core.version import REDACTION
from qmd.index.schema import SPAN
from qmd.index.semantic import spaces
from qmd.index.terms import Analyzer
from qmd.team import vocabulary
from qmd.team.connection import open_writer

_DOCUMENTS = (
    "SELECT d.collection, d.path, d.title, d.hash, f.date, f.ended, f.dated, f.fields, c.doc FROM documents d"
    " JOIN brain_facts f ON f.document_id = d.id JOIN content c ON c.hash = d.hash WHERE d.active = 1 ORDER BY d.id"
)


def fill(engine: Engine, index: apsw.Connection, *, trust: str = "note", team: bool = True) -> None:
    """Send every document of an index as the member of ``engine``, to be seen by the team."""
    analyzer, units = Analyzer(index), dict[str, int]()
    connection = open_writer(engine, 30)
    try:
        with connection.transaction(), connection.cursor() as cursor:
            rows: Any = index.execute(_DOCUMENTS).fetchall()
            for collection, path, title, digest, date, ended, dated, fields, text in rows:
                if collection not in units:
                    units[str(collection)] = _unit(cursor, engine, str(collection), trust, team)
                unit, found = units[str(collection)], vocabulary.index(analyzer, collection, path, title, text)
                cursor.execute(
                    "INSERT INTO documents (unit, device, path, title, hash, date, ended, dated, fields, policy, text,"
                    " starts, passages, tokens, title_terms)"
                    " VALUES (%s, 'x', %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING id",
                    (
                        unit, path, title, digest, date, ended, bool(dated), json.dumps(jsonb.unpack(fields) or {}),
                        REDACTION, vocabulary.plain(text), found.starts.tobytes(), max(0, len(found.starts) - 1),
                        found.tokens, found.title,
                    ),
                )  # fmt: skip
                document = _number(cursor)
                rows = [field for each in found.passages for field in (document, unit, *each)]
                values = ", ".join(["(%s, %s, %s, %s, %s::tsvector, %s::tsvector, %s::tsvector)"] * len(found.passages))
                cursor.execute(
                    f"INSERT INTO passages (document, unit, number, tokens, body, words, marks) VALUES {values}", rows
                )
                _send_vectors(cursor, index, str(digest), document, unit)
            cursor.execute("UPDATE units SET pushed_at = now() WHERE owner = session_user")
    finally:
        connection.close()


def _number(cursor: Any) -> int:
    return int(cursor.fetchone()[0])


def _unit(cursor: Any, engine: Engine, collection: str, trust: str, team: bool) -> int:
    cursor.execute(
        "INSERT INTO units (owner, collection, trust, policy) VALUES (%s, %s, %s, %s) RETURNING id",
        (engine.member, collection, trust, REDACTION),
    )
    unit = _number(cursor)
    if team:
        cursor.execute("INSERT INTO grants (unit, kind, grantee, origin) VALUES (%s, 'team', 'team', 'share')", (unit,))
    return unit


def _send_vectors(cursor: Any, index: apsw.Connection, digest: str, document: int, unit: int) -> None:
    for space in spaces.listed(index):
        spaces.load(index)
        cursor.execute(
            "INSERT INTO spaces (provider, model, dimensions, fingerprint, layout) VALUES (%s, %s, %s, %s, %s)"
            " ON CONFLICT DO NOTHING",
            (space.provider, space.model, space.dimensions, space.fingerprint, space.layout),
        )
        cursor.execute(
            "SELECT id FROM spaces WHERE fingerprint = %s AND layout = %s", (space.fingerprint, space.layout)
        )
        identity = _number(cursor)
        row: Any = index.execute(
            "SELECT id, chunks FROM brain_cuts WHERE hash = ? AND layout = ?", (digest, space.layout)
        ).fetchone()
        if row is None:
            continue
        cut, chunks = row
        found: Any = index.execute(
            f'SELECT c.id, c.kind, c."start", c."end", v.embedding FROM "{space.table}" v JOIN brain_chunks c'
            " ON c.id = v.rowid WHERE v.rowid >= ? AND v.rowid < ?",
            (cut * SPAN, (cut + 1) * SPAN),
        ).fetchall()
        cursor.executemany(
            "INSERT INTO vectors VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
            [
                (identity, document, chunk - cut * SPAN, unit, kind, start, end,
                 f"[{','.join(map(str, memoryview(vector).cast('b')))}]")
                for chunk, kind, start, end, vector in found
            ],
        )  # fmt: skip
        cursor.execute("INSERT INTO embedded VALUES (%s, %s, %s, %s)", (document, identity, unit, chunks))
