"""Documents into a space and out of it, as their owner: batches that are whole or not there.

COPY does not go through row security, so rows go in by INSERT over arrays: one statement a table, and so one look at
the statistics, however many rows there are.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from core.config_yaml import TRUST
from core.engine import TEAM
from core.errors import EngineTimeout
from qmd.team import vocabulary
from qmd.team.vocabulary import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import psycopg

    from qmd.index.semantic.spaces import Space
    from qmd.index.terms import Analyzer
    from qmd.team.bounded import BoundedConnection

_EVERYBODY = f"{TEAM}:{TEAM}"
# Limits of ``migrations/0001.sql``, in bytes; fields have their overhead as JSONB at the server.
MOST_TEXT = 32 * 2**20
_MOST_PATH, _MOST_TITLE, _MOST_FIELDS = 2_000, 65_536, 512 * 1024
# From this version on, the owner of a table can let others vacuum it.
_MEMBERS_VACUUM = 170_000

_INSERT = (
    "INSERT INTO documents (unit, device, path, title, hash, date, ended, dated, fields, policy, text, starts,"
    " passages, tokens, title_terms)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s::jsonb, %s, %s, %s, %s, %s, %s::tsvector) RETURNING id"
)
_PASSAGES = (
    "INSERT INTO passages (document, number, unit, tokens, body, words, marks)"
    " SELECT d, n, %s, t, b::tsvector, w::tsvector, m::tsvector"
    " FROM unnest(%s::bigint[], %s::int[], %s::int[], %s::text[], %s::text[], %s::text[]) AS x(d, n, t, b, w, m)"
)
_VECTORS = (
    'INSERT INTO vectors (space, document, seq, unit, kind, start, "end", embedding)'
    " SELECT %s, d, s, %s, k, a, e, v::halfvec"
    " FROM unnest(%s::bigint[], %s::int[], %s::int[], %s::int[], %s::int[], %s::text[]) AS x(d, s, k, a, e, v)"
)
_EMBEDDED = (
    "INSERT INTO embedded (document, space, unit, chunks)"
    " SELECT d, %s, %s, c FROM unnest(%s::bigint[], %s::int[]) AS x(d, c)"
)


class Vector(NamedTuple):
    """A chunk of a text with its vector, int8: ``start`` and ``end`` in characters, ``kind`` as in the index."""

    start: int
    end: int
    kind: int
    embedding: bytes


class Outgoing(NamedTuple):
    """A document as it is sent: everything in it has gone through the redaction policy. Dates in epoch seconds."""

    path: str
    title: str
    hash: str
    date: int
    ended: int
    dated: bool
    fields: dict[str, Any]
    text: str
    vectors: Sequence[Vector]


class Held(NamedTuple):
    """What a space has of a document of ours; ``embedded``: the spaces of vectors in which it is complete."""

    id: int
    hash: str
    policy: int
    device: str
    embedded: frozenset[int]


def fits(document: Outgoing) -> bool:
    """Return True if a document is not larger than what a space takes."""
    return (
        len(document.text.encode()) <= MOST_TEXT
        and len(document.path.encode()) <= _MOST_PATH
        and len(document.title.encode()) <= _MOST_TITLE
        and len(json.dumps(document.fields)) <= _MOST_FIELDS
    )


def ensure_unit(
    connection: psycopg.Connection[Any], collection: str, trust: str, code_share: float, policy: int
) -> int:
    """Return the unit of an own collection, made where it is missing, now under at least ``policy``.

    ``trust`` is that of a new unit: ``share`` changes it.

    Raises psycopg.Error with the state ``failures.OLDER_POLICY`` if the space or the unit has a newer policy.
    """
    row = connection.execute(
        "INSERT INTO units AS u (owner, collection, trust, code_share, policy) VALUES (session_user, %s, %s, %s, %s)"
        " ON CONFLICT (owner, collection) DO UPDATE"
        " SET code_share = excluded.code_share, policy = excluded.policy RETURNING id",
        (collection, trust, code_share, policy),
    ).fetchone()
    assert row is not None
    return int(row[0])


def ensure_space(connection: psycopg.Connection[Any], space: Space) -> int:
    """Return the number that a space of vectors has at the server, noted where it is not known."""
    what = (space.fingerprint, space.layout, space.provider, space.model, space.dimensions)
    query = "SELECT id FROM spaces WHERE (fingerprint, layout, provider, model, dimensions) = (%s, %s, %s, %s, %s)"
    row = connection.execute(query, what).fetchone()
    if row is None:
        connection.execute(
            "INSERT INTO spaces (fingerprint, layout, provider, model, dimensions) VALUES (%s, %s, %s, %s, %s)"
            " ON CONFLICT DO NOTHING",
            what,
        )
        row = connection.execute(query, what).fetchone()
    assert row is not None
    return int(row[0])


def held(connection: psycopg.Connection[Any], unit: int) -> dict[str, Held]:
    """Return what the space has of a unit, by path."""
    found: dict[str, Held] = {}
    query = (
        "SELECT d.path, d.id, d.hash, d.policy, d.device, array_agg(e.space) FILTER (WHERE e.space IS NOT NULL)"
        " FROM documents d LEFT JOIN embedded e ON e.document = d.id WHERE d.unit = %s GROUP BY d.id"
    )
    for path, document, digest, policy, device, spaces in connection.execute(query, (unit,)):
        found[path] = Held(document, digest, policy, device, frozenset(spaces or ()))
    return found


def forgotten(connection: psycopg.Connection[Any], collection: str, paths: Sequence[str]) -> set[str]:
    """Return those of an own collection's ``paths`` that were forgotten, on whichever machine."""
    query = (
        "SELECT p FROM unnest(%s::text[]) AS p"
        " WHERE EXISTS (SELECT FROM tombstones t WHERE t.digest = tombstone(session_user, %s, p))"
    )
    return {path for (path,) in connection.execute(query, (list(paths), collection))}


def put(
    connection: psycopg.Connection[Any],
    analyzer: Analyzer,
    documents: Sequence[Outgoing],
    *,
    unit: int,
    collection: str,
    device: str,
    policy: int,
    space: int | None,
) -> None:
    """Write documents in one transaction, each in place of what the unit has at its path.

    ``space`` is that of their vectors. Raises psycopg.Error, and nothing is written.
    """
    indexed = [vocabulary.index(analyzer, collection, each.path, each.title, each.text) for each in documents]
    with connection.transaction():
        connection.execute("SELECT lock_units(%s)", ([unit],))
        _remove(connection, unit, [each.path for each in documents])
        rows = [
            (
                *(unit, device, each.path, plain(each.title), each.hash, each.date, each.ended, each.dated),
                *(plain(json.dumps(each.fields, ensure_ascii=False)).replace("\\u0000", "\\ufffd"), policy),
                *(plain(each.text), found.starts.tobytes(), max(0, len(found.starts) - 1), found.tokens, found.title),
            )
            for each, found in zip(documents, indexed, strict=True)
        ]
        ids = list(_insert(connection, rows))
        passages = [(document, row) for document, found in zip(ids, indexed, strict=True) for row in found.passages]
        if passages:
            columns = zip(*((document, *row) for document, row in passages), strict=True)
            connection.execute(_PASSAGES, (unit, *map(list, columns)))
        if space is not None:
            _embed(connection, unit, space, zip(ids, (each.vectors for each in documents), strict=True))


def _insert(connection: psycopg.Connection[Any], rows: Sequence[tuple[Any, ...]]) -> Iterator[int]:
    with connection.cursor() as cursor:
        cursor.executemany(_INSERT, rows, returning=True)
        while True:
            found = cursor.fetchone()
            assert found is not None
            yield int(found[0])
            if not cursor.nextset():
                return


def embed(
    connection: psycopg.Connection[Any], unit: int, space: int, found: Iterable[tuple[int, Sequence[Vector]]]
) -> None:
    """Add (document, vectors) to documents that are there, in one transaction, in place of older ones."""
    rows = list(found)
    with connection.transaction():
        connection.execute("SELECT lock_units(%s)", ([unit],))
        ids = [document for document, _ in rows]
        for table in ("vectors", "embedded"):
            connection.execute(f"DELETE FROM {table} WHERE space = %s AND document = ANY(%s)", (space, ids))
        # Another run may have removed a document meanwhile.
        there = {document for (document,) in connection.execute("SELECT id FROM documents WHERE id = ANY(%s)", (ids,))}
        _embed(connection, unit, space, [row for row in rows if row[0] in there])


def _embed(
    connection: psycopg.Connection[Any], unit: int, space: int, found: Iterable[tuple[int, Sequence[Vector]]]
) -> None:
    rows = [(document, vectors) for document, vectors in found if vectors]
    if not rows:
        return
    chunks = [
        (document, seq, each.kind, each.start, each.end, str(list(memoryview(each.embedding).cast("b"))))
        for document, vectors in rows
        for seq, each in enumerate(vectors)
    ]
    connection.execute(_VECTORS, (space, unit, *map(list, zip(*chunks, strict=True))))
    counts = [(document, len(vectors)) for document, vectors in rows]
    connection.execute(_EMBEDDED, (space, unit, *map(list, zip(*counts, strict=True))))


def keep(connection: psycopg.Connection[Any], unit: int, device: str, policy: int, paths: Sequence[str]) -> None:
    """Note of documents whose text is the same that a newer policy has gone through them, or that they are of here."""
    connection.execute(
        "UPDATE documents SET policy = %s, device = %s WHERE unit = %s AND path = ANY(%s)"
        " AND (policy, device) IS DISTINCT FROM (%s, %s)",
        (policy, device, unit, list(paths), policy, device),
    )


def remove(connection: psycopg.Connection[Any], unit: int, paths: Sequence[str]) -> int:
    """Remove documents of an own unit, with passages, vectors and statistics; return how many there were."""
    with connection.transaction():
        connection.execute("SELECT lock_units(%s)", ([unit],))
        return _remove(connection, unit, paths)


def _remove(connection: psycopg.Connection[Any], unit: int, paths: Sequence[str]) -> int:
    """Remove in the caller's transaction. Passages go first: one statement looks at the statistics once."""
    connection.execute(
        "DELETE FROM passages WHERE document IN (SELECT id FROM documents WHERE unit = %s AND path = ANY(%s))",
        (unit, list(paths)),
    )
    return connection.execute("DELETE FROM documents WHERE unit = %s AND path = ANY(%s)", (unit, list(paths))).rowcount


class Proof(NamedTuple):
    """What the tables hold of documents that were forgotten, past all row security: 0 of everything.

    ``readers``: members who could read one of them; ``miscounted``: rows by which the statistics of the unit are wrong.
    """

    documents: int
    passages: int
    vectors: int
    readers: int
    miscounted: int


def forget(connection: psycopg.Connection[Any], collection: str, paths: Sequence[str]) -> tuple[int, Proof | None]:
    """Remove documents of an own collection and keep them away: no machine's push brings them back.

    Returns how many there were, and the proof; (0, None) if the collection was never pushed. A tombstone holds no name,
    and is written also for what the space does not have.
    """
    row = connection.execute(
        "SELECT id FROM units WHERE owner = session_user AND collection = %s", (collection,)
    ).fetchone()
    if row is None:
        return 0, None
    unit = int(row[0])
    with connection.transaction():
        connection.execute(
            "INSERT INTO tombstones (owner, digest) SELECT session_user, tombstone(session_user, %s, p)"
            " FROM unnest(%s::text[]) AS p ON CONFLICT DO NOTHING",
            (collection, list(paths)),
        )
        removed = _remove(connection, unit, paths)
    found = connection.execute("SELECT * FROM proof(%s, %s)", (unit, list(paths))).fetchone()
    assert found is not None
    return removed, Proof(*found)


def lift(connection: psycopg.Connection[Any], collection: str, paths: Sequence[str]) -> int:
    """Let documents be pushed again that were forgotten; return how many were."""
    return connection.execute(
        "DELETE FROM tombstones WHERE owner = session_user"
        " AND digest IN (SELECT tombstone(session_user, %s, p) FROM unnest(%s::text[]) AS p)",
        (collection, list(paths)),
    ).rowcount


def vacuum(connection: BoundedConnection, timeout_s: float) -> bool:
    """Free the space of deleted rows; return False where members may not, or it takes too long."""
    from psycopg import errors

    if connection.info.server_version < _MEMBERS_VACUUM:
        return False
    try:
        with connection.given(timeout_s):
            connection.execute("VACUUM (SKIP_LOCKED) passages, documents, vectors, embedded, terms")
    except (errors.QueryCanceled, errors.InsufficientPrivilege, EngineTimeout):
        return False
    return True


def share(
    connection: psycopg.Connection[Any], unit: int, device: str, grantees: Sequence[tuple[str, str]] | None, trust: str
) -> Agreed:
    """Let the settings ``share`` and ``trust`` of one machine take part in a unit's; return what all agree on.

    A unit is granted to exactly those (kind, name) that every machine names of which the unit has documents, and of
    their ``trust`` the least holds: so it does not matter which machine pushed last. Without ``grantees`` the machine
    takes no part. What commands granted or denied stays.
    """
    with connection.transaction():
        connection.execute("SELECT lock_units(%s)", ([unit],))
        if grantees is not None:
            connection.execute(
                "INSERT INTO machines (unit, device, share, trust) VALUES (%s, %s, %s, %s)"
                " ON CONFLICT (unit, device) DO UPDATE SET share = excluded.share, trust = excluded.trust",
                (unit, device, [f"{kind}:{name}" for kind, name in grantees], trust),
            )
        connection.execute(
            "DELETE FROM machines m WHERE unit = %s AND (device <> %s OR %s)"
            " AND NOT EXISTS (SELECT FROM documents d WHERE d.unit = m.unit AND d.device = m.device)",
            (unit, device, grantees is None),
        )
        said = connection.execute("SELECT share, trust FROM machines WHERE unit = %s", (unit,)).fetchall()
        agreed = agree(said or [((), trust)])
        connection.execute(
            "DELETE FROM grants WHERE unit = %s AND origin = 'share'"
            " AND (kind, grantee) NOT IN (SELECT * FROM unnest(%s::text[], %s::text[]))",
            (unit, [kind for kind, _ in agreed.grantees], [name for _, name in agreed.grantees]),
        )
        connection.execute(
            "UPDATE units SET trust = %s WHERE id = %s AND trust <> %s", (agreed.trust, unit, agreed.trust)
        )
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO grants (unit, kind, grantee, origin) VALUES (%s, %s, %s, 'share') ON CONFLICT DO NOTHING",
                [(unit, kind, name) for kind, name in agreed.grantees],
            )
    return agreed


def narrow(
    connection: psycopg.Connection[Any], collection: str, device: str, grantees: Sequence[tuple[str, str]]
) -> None:
    """Take an own collection from those whom one machine no longer names: it names at most (kind, name) from now on.

    Nobody sees more than before. Nothing is changed if the machine takes no part in the unit.
    """
    row = connection.execute(
        "SELECT u.id, m.share, m.trust FROM units u JOIN machines m ON m.unit = u.id"
        " WHERE u.owner = session_user AND u.collection = %s AND m.device = %s",
        (collection, device),
    ).fetchone()
    if row is not None:
        unit, said, trust = row
        named = [f"{kind}:{name}" for kind, name in grantees]
        share(connection, unit, device, agree([(said, trust), (named, trust)]).grantees, trust)


class Agreed(NamedTuple):
    """What the machines of a member agree on: who sees a collection, (kind, name), and what its hits are called."""

    grantees: list[tuple[str, str]]
    trust: str


def agree(said: Sequence[tuple[Sequence[str], str]]) -> Agreed:
    """Return the narrowest of several (share, trust); ``team`` covers every name, and a group only itself."""
    narrower = [set(names) for names, _ in said if _EVERYBODY not in names]
    names = sorted(set.intersection(*narrower) if narrower else {_EVERYBODY})
    pairs = (name.partition(":") for name in names)
    return Agreed([(kind, name) for kind, _, name in pairs], max((trust for _, trust in said), key=_doubt))


def _doubt(trust: str) -> tuple[int, str]:
    """Sort trust by how little it is; one that this version does not know comes last."""
    return (TRUST.index(trust) if trust in TRUST else len(TRUST)), trust
