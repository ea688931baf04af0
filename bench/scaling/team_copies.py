"""A team's store several times as large, without the hours of a push: rows of a space that are copied by SQL.

What is looked at and stored is as much as after a push. Copies have ids and paths of their own, and vectors around the
originals': an index keeps equal vectors once. Statistics are multiplied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

# What differs in a copy, by table and column: `n` is the copy, `top` the largest id of a document.
_CHANGES: dict[str, dict[str, str]] = {
    "documents": {"id": "x.id + n * top", "path": "n || '/' || x.path"},
    "passages": {"document": "x.document + n * top"},
    "embedded": {"document": "x.document + n * top"},
    "vectors": {"document": "x.document + n * top", "embedding": "x.embedding + noise.v"},
}
_COUNTS = {
    "units": ("documents", "document_tokens", "passages", "passage_tokens"),
    "terms": ("passages", "documents"),
    "vector_counts": ("vectors",),
}
# Vectors that are added to copies, each coordinate up to 3 of the 127 that a vector is long, and their number.
_NOISE = """CREATE TEMP TABLE noise AS SELECT i, (SELECT array_agg((random() * 6 - 3)::int::real)
  FROM generate_series(1, {dimensions}) WHERE i = i)::vector({dimensions})::halfvec({dimensions}) AS v
  FROM generate_series(0, {most}) i"""
_MOST_NOISE = 4_095
# Made in memory, the index of a million vectors takes a tenth of the time. Each takes 1.5 kB.
_MEMORY = "5GB"


def multiply(root: psycopg.Connection[Any], times: int) -> None:
    """Let a space have ``times`` as many rows; ``root`` is a superuser's connection (``Space.superuser``)."""
    for setting, value in (("session_replication_role", "replica"), ("maintenance_work_mem", _MEMORY), ("jit", "off")):
        root.execute(f"SET {setting} = '{value}'".encode())
    indexes = root.execute(
        "SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) FROM pg_index i"
        " WHERE i.indrelid = ANY (%s::regclass[]) AND NOT i.indisunique",
        (list(_CHANGES),),
    ).fetchall()
    for name, _ in indexes:
        root.execute(f"DROP INDEX {name}".encode())
    top, dimensions = root.execute(
        "SELECT (SELECT max(id) FROM documents), (SELECT coalesce(max(dimensions), 1) FROM spaces)"
    ).fetchall()[0]
    root.execute(_NOISE.format(dimensions=dimensions, most=_MOST_NOISE).encode())
    for table, changes in _CHANGES.items():
        names = [
            str(name)
            for (name,) in root.execute(
                "SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
                " AND NOT attisdropped ORDER BY attnum",
                (table,),
            )
        ]
        values = ", ".join(changes.get(name, f"x.{name}") for name in names)
        key = "id" if "id" in names else "document"
        joined = (
            f" JOIN noise ON noise.i = (x.document * 31 + x.seq * 7 + n * 977) % {_MOST_NOISE + 1}"
            if "embedding" in changes
            else ""
        )
        for number in range(1, times):
            query = "INSERT INTO {0} ({1}) OVERRIDING SYSTEM VALUE SELECT {2} FROM {0} x CROSS JOIN (VALUES ({3}, {4}))"
            query += " c (n, top){5} WHERE x.{6} <= {4}"
            root.execute(query.format(table, ", ".join(names), values, number, top, joined, key).encode())
    for table, columns in _COUNTS.items():
        counts = ", ".join(f"{name} = {name} * {times}" for name in columns)
        root.execute(f"UPDATE {table} SET {counts}".encode())  # noqa: S608  # names of the table above
    for _, definition in indexes:
        root.execute(str(definition).encode())
    root.execute("DROP TABLE noise")
    root.execute("VACUUM ANALYZE")
    root.execute("CHECKPOINT")
