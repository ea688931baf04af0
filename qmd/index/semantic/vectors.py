"""Vectors of ours: which texts have them, by which model, and how the texts are cut.

Everything is keyed by a text's hash and by ids that are never given twice, so that a rebuild of the lexical half keeps
what took an hour to compute. docs/index-schema.md has the tables.
"""

from __future__ import annotations

import apsw

from qmd.index import catalogue, completeness, exchanges
from qmd.index.schema import SPAN, has_vectors
from qmd.index.semantic import spaces
from qmd.index.semantic.spaces import Space

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from qmd.index.catalogue import Filters

# A document's place among what is embedded: t is how its text is cut, e how far that is embedded. Bound: layout, model.
_JOINED = (
    " FROM documents d LEFT JOIN brain_cuts t ON t.hash = d.hash AND t.layout = ?"
    " LEFT JOIN brain_embedded e ON e.model = ? AND e.cut = t.id"
)
# The first path of the text of d.
PATH = "(SELECT min(path) FROM documents WHERE hash = d.hash AND active = 1)"
_WAITS = "d.active = 1 AND (t.id IS NULL OR t.chunks > coalesce(e.done, 0))"


class Waiting:
    """A text of ``size`` bytes that lacks vectors. ``cut`` is 0 before it has been cut; ``done`` chunks have vectors.

    ``path`` is its path in a collection, the first of several; ``moves``: it has vectors, of another cut.
    """

    __slots__ = ("cut", "done", "hash", "moves", "path", "size")

    def __init__(self, hash: str, path: str, cut: int, done: int, size: int) -> None:
        self.hash = hash
        self.path = path
        self.cut = cut
        self.done = done
        self.size = size
        self.moves = False


def has_cuts(connection: apsw.Connection, hash: str) -> bool:
    """Return True if a text was cut for any model; anything must have been embedded."""
    return connection.execute("SELECT 1 FROM brain_cuts WHERE hash = ?", (hash,)).fetchone() is not None


def prepare(connection: apsw.Connection) -> None:
    """Make the tables that all spaces share, inside the caller's transaction; loads ``vec0``. Raises EngineMissing."""
    spaces.load(connection)
    connection.execute(spaces.TABLES)


def ensure(
    connection: apsw.Connection, provider: str, model: str, dimensions: int, fingerprint: str, layout: str
) -> Space:
    """Return the space of a model, created if it is missing, inside the caller's transaction; load ``vec0``.

    A space of the same name with another fingerprint is returned as it is: the caller compares. With another layout,
    all texts wait again, and their vectors go. Raises EngineMissing.
    """
    prepare(connection)
    known = spaces.find(connection, provider, model)
    if known is None:
        table = spaces.free_table(connection, provider, model)
        connection.execute(
            "INSERT INTO brain_models(provider, model, dimensions, fingerprint, layout, tbl) VALUES(?, ?, ?, ?, ?, ?)",
            (provider, model, dimensions, fingerprint, layout, table),
        )
        known = Space(connection.last_insert_rowid(), provider, model, dimensions, fingerprint, layout, table)
        spaces.create(connection, known)
    elif known.layout != layout and known.fingerprint == fingerprint:
        clear(connection, known)
        connection.execute("UPDATE brain_models SET layout = ? WHERE id = ?", (layout, known.id))
        known.layout = layout
        drop_orphans(connection)
    return known


def drop(connection: apsw.Connection, space: Space) -> None:
    """Forget a space with all of its vectors, inside the caller's transaction."""
    from qmd.index.semantic import coarse

    spaces.load(connection)
    give_up_renewal(connection, space)
    coarse.drop(connection, space)
    connection.execute(f'DROP TABLE IF EXISTS "{space.table}"')
    connection.execute("DELETE FROM brain_embedded WHERE model = ?", (space.id,))
    connection.execute("DELETE FROM brain_models WHERE id = ?", (space.id,))
    connection.execute(
        "DELETE FROM brain_state WHERE key IN (?, ?)", (f"embedded:{space.name}", f"embedded_at:{space.name}")
    )


def give_up_renewal(connection: apsw.Connection, space: Space) -> None:
    """Drop what was computed to replace a space's vectors, inside the caller's transaction."""
    begun = spaces.renewal_of(connection, space)
    if begun is not None:
        spaces.load(connection)
        connection.execute(f'DROP TABLE IF EXISTS "{begun.space.table}"')
        connection.execute("DELETE FROM brain_embedded WHERE model = ?", (begun.space.id,))
        connection.execute("DELETE FROM brain_renewals WHERE model = ?", (space.id,))


def clear(connection: apsw.Connection, space: Space) -> None:
    """Let every text of a space wait again, inside the caller's transaction; ``renewal`` keeps the old vectors."""
    from qmd.index.semantic import coarse

    spaces.load(connection)
    coarse.drop(connection, space)
    connection.execute(f'DROP TABLE IF EXISTS "{space.table}"')
    connection.execute("DELETE FROM brain_embedded WHERE model = ?", (space.id,))
    spaces.create(connection, space)


def waiting(connection: apsw.Connection, space: Space, collections: Sequence[str] = ()) -> list[Waiting]:
    """Return the texts of documents that lack vectors of a space, the newest documents' first, each once."""
    marks = f" AND d.collection IN ({', '.join('?' * len(collections))})" if collections else ""
    rows: Any = connection.execute(
        f"SELECT d.hash, {PATH}, coalesce(t.id, 0), coalesce(e.done, 0), octet_length(x.doc){_JOINED}"
        f" JOIN content x ON x.hash = d.hash LEFT JOIN brain_facts f ON f.document_id = d.id WHERE {_WAITS}{marks}"
        " GROUP BY d.hash ORDER BY max(coalesce(f.ended, 0)) DESC, d.hash",
        (space.layout, space.id, *collections),
    )
    return [Waiting(*row) for row in rows]


def pending(connection: apsw.Connection, space: Space | None) -> dict[str, int]:
    """Return how many documents of each collection lack vectors of a space; complete collections are left out."""
    if space is None:
        return catalogue.counts(connection)
    rows: Any = connection.execute(
        f"SELECT d.collection, count(*){_JOINED} WHERE {_WAITS} GROUP BY 1", (space.layout, space.id)
    )
    return dict(rows.fetchall())


def put_cut(
    connection: apsw.Connection, space: Space, hash: str, spans: Iterable[tuple[int, int, int]], grammar: str = ""
) -> int:
    """Note how a text is cut, inside the caller's transaction: (start, end, kind) in characters, and by which grammar.

    Returns the cut's id, 0 where no active document has the text any more.
    """
    known: Any = connection.execute(
        "SELECT id FROM brain_cuts WHERE hash = ? AND layout = ?", (hash, space.layout)
    ).fetchone()
    if known:
        identity: int = known[0]
        return identity
    if not completeness.is_used(connection, hash):
        return 0
    rows = list(spans)
    connection.execute(
        "INSERT INTO brain_cuts(hash, layout, chunks, grammar) VALUES(?, ?, ?, ?)",
        (hash, space.layout, len(rows), grammar),
    )
    identity = connection.last_insert_rowid()
    connection.executemany(
        'INSERT INTO brain_chunks(id, "start", "end", kind) VALUES(?, ?, ?, ?)',
        [(identity * SPAN + seq, *row) for seq, row in enumerate(rows)],
    )
    return identity


def complete(connection: apsw.Connection, space: Space) -> dict[str, int]:
    """Return the texts with all their vectors in a space: hash → cut."""
    rows: Any = connection.execute(
        "SELECT t.hash, t.id FROM brain_cuts t JOIN brain_embedded e ON e.cut = t.id AND e.model = ?"
        " WHERE t.layout = ? AND e.done >= t.chunks",
        (space.id, space.layout),
    )
    return dict(rows.fetchall())


def stored(connection: apsw.Connection, space: Space, cut: int) -> list[bytes]:
    """Return the vectors of a cut in the order of its chunks; ``vec0`` must be loaded."""
    query = f'SELECT embedding FROM "{space.table}" WHERE rowid = ?'
    rows: Any = connection.execute(
        "SELECT id FROM brain_chunks WHERE id >= ? AND id < ? ORDER BY id", (cut * SPAN, (cut + 1) * SPAN)
    ).fetchall()
    found = [connection.execute(query, (chunk,)).get for (chunk,) in rows]
    return [bytes(vector) for vector in found if isinstance(vector, bytes)]


def spans(connection: apsw.Connection, cut: int) -> list[tuple[int, int, int]]:
    """Return the chunks of a cut in order: (start, end, kind)."""
    rows: Any = connection.execute(
        'SELECT "start", "end", kind FROM brain_chunks WHERE id >= ? AND id < ? ORDER BY id',
        (cut * SPAN, (cut + 1) * SPAN),
    ).fetchall()
    return list(rows)


def chunk_text(text: str, start: int, end: int, kind: int, piece: Callable[[int, int], str] | None = None) -> str:
    """Return what is embedded for a chunk of ``text``; ``piece`` returns a part as a provider may get it."""
    parts = exchanges.gist(text, start, end) if kind == spaces.EXCHANGE else [(start, end)]
    return "\n".join(text[first:last] if piece is None else piece(first, last) for first, last in parts)


def span(connection: apsw.Connection, chunk: int) -> tuple[int, int] | None:
    """Return (start, end) of a chunk in characters of its text, None if the chunk has gone."""
    row: Any = connection.execute('SELECT "start", "end" FROM brain_chunks WHERE id = ?', (chunk,)).fetchone()
    return tuple(row) if row else None


def cuts(connection: apsw.Connection, layout: str) -> list[tuple[int, str, str, str]]:
    """Return (cut, hash, path, grammar) of every text of a layout that a document has; of several paths the first."""
    rows: Any = connection.execute(
        "SELECT t.id, t.hash, min(d.path), t.grammar FROM brain_cuts t JOIN documents d ON d.hash = t.hash"
        " WHERE d.active = 1 AND t.layout = ? GROUP BY t.id",
        (layout,),
    ).fetchall()
    return list(rows)


def cut_names(connection: apsw.Connection, layout: str, filters: Filters) -> list[tuple[int, str]]:
    """Return (cut, ``collection/path``) of the documents that ``filters`` let through, by cut and document."""
    condition, bindings = filters.sql()
    rows: Any = connection.execute(
        "SELECT t.id, d.collection || '/' || d.path FROM documents d JOIN brain_facts f ON f.document_id = d.id"
        f" JOIN brain_cuts t ON t.hash = d.hash AND t.layout = ? WHERE {condition} ORDER BY t.id, d.id",
        (layout, *bindings),
    ).fetchall()
    return list(rows)


def documents_of(connection: apsw.Connection, cuts: Iterable[int], filters: Filters) -> list[tuple[int, int, int]]:
    """Return (cut, document, kind of the cut's last chunk) of those of ``cuts`` that are in force, as filtered.

    The pieces of a cut come first: its last chunk says if there are exchanges.
    """
    condition, bindings = filters.sql()
    # Facts are wide rows: if nothing is asked of them, they are not read.
    facts = " JOIN brain_facts f ON f.document_id = d.id" if "f." in condition else ""
    rows: Any = connection.execute(
        "SELECT t.id, d.id, c.kind FROM brain_cuts t JOIN documents d ON d.hash = t.hash"
        f"{facts} JOIN brain_chunks c ON c.id = t.id * {SPAN} + t.chunks - 1"
        f" WHERE t.id IN ({','.join(map(str, cuts))}) AND {spaces.ANSWERS} AND {condition}",
        bindings,
    ).fetchall()
    return list(rows)


def chunk_ids(space: Space, filters: Filters) -> tuple[str, list[Any]]:
    """Return SQL that selects the ids of the chunks of all documents that ``filters`` let through, and its bindings."""
    condition, bindings = filters.sql()
    # CROSS JOIN has the chunks looked up cut by cut: where nothing was analysed, SQLite would go through all cuts for
    # each chunk (https://www.sqlite.org/optoverview.html#crossjoin).
    return (
        "SELECT c.id FROM documents d JOIN brain_facts f ON f.document_id = d.id"
        " JOIN brain_cuts t ON t.hash = d.hash AND t.layout = ?"
        f" CROSS JOIN brain_chunks c ON c.id BETWEEN t.id * {SPAN} AND t.id * {SPAN} + t.chunks - 1 WHERE {condition}",
        [space.layout, *bindings],
    )


def add(connection: apsw.Connection, space: Space, cut: int, first: int, vectors: Sequence[bytes]) -> bool:
    """Write the vectors of the chunks from number ``first`` on, inside the caller's transaction.

    Returns False, and writes nothing, where the text has gone or another run has got further.
    """
    if connection.execute("SELECT 1 FROM brain_cuts WHERE id = ?", (cut,)).fetchone() is None:
        return False
    row: Any = connection.execute(
        "SELECT done FROM brain_embedded WHERE model = ? AND cut = ?", (space.id, cut)
    ).fetchone()
    if (row[0] if row else 0) != first:
        return False
    from qmd.index.semantic import coarse

    rows = [(cut * SPAN + first + offset, vector) for offset, vector in enumerate(vectors)]
    connection.executemany(f'INSERT INTO "{space.table}"(rowid, embedding) VALUES(?, vec_int8(?))', rows)
    coarse.add(connection, space, rows)
    connection.execute(
        "INSERT OR REPLACE INTO brain_embedded(model, cut, done) VALUES(?, ?, ?)",
        (space.id, cut, first + len(vectors)),
    )
    return True


def release(connection: apsw.Connection, hash: str) -> None:
    """Drop the vectors of a text that has left the index, as ``has_cuts``, inside the caller's transaction."""
    for (cut,) in connection.execute("SELECT id FROM brain_cuts WHERE hash = ?", (hash,)).fetchall():
        drop_cut(connection, int(str(cut)))


def drop_orphans(connection: apsw.Connection) -> int:
    """Remove, inside the caller's transaction, what no active document and no model has any more.

    Returns how many texts' chunks went.
    """
    if not has_vectors(connection):
        return 0
    also = " UNION SELECT layout FROM brain_renewals" if spaces.renewals_exist(connection) else ""
    rows: Any = connection.execute(
        "SELECT id FROM brain_cuts WHERE hash NOT IN (SELECT hash FROM documents WHERE active = 1)"
        f" OR rtrim(layout, '{spaces.MOVES}') NOT IN (SELECT layout FROM brain_models{also})"
    ).fetchall()
    for (cut,) in rows:
        drop_cut(connection, cut)
    return len(rows)


def drop_strays(connection: apsw.Connection, space: Space) -> int:
    """Remove vectors that no row accounts for, as a run without sqlite-vec leaves them; returns how many."""
    from qmd.index.semantic import coarse

    spaces.load(connection)
    known: Any = connection.execute("SELECT cut, done FROM brain_embedded WHERE model = ?", (space.id,))
    ends = dict(known)
    strays = [
        int(str(rowid))
        for (rowid,) in connection.execute(f'SELECT rowid FROM "{space.table}"')
        if int(str(rowid)) % SPAN >= ends.get(int(str(rowid)) // SPAN, 0)
    ]
    connection.executemany(f'DELETE FROM "{space.table}" WHERE rowid = ?', [(rowid,) for rowid in strays])
    coarse.remove(connection, space, strays)
    return len(strays)


def note(connection: apsw.Connection) -> None:
    """Note how many active documents each space covers, for readers with no time to count."""
    for space in spaces.listed(connection):
        connection.execute(
            "INSERT OR REPLACE INTO brain_state"
            f" SELECT ?, count(*){_JOINED} WHERE d.active = 1 AND t.chunks <= coalesce(e.done, 0)",
            (f"embedded:{space.name}", space.layout, space.id),
        )


def stamp(connection: apsw.Connection, space: Space, instant: int) -> None:
    """Note when a space was last brought forward, in epoch seconds."""
    connection.execute("INSERT OR REPLACE INTO brain_state VALUES(?, ?)", (f"embedded_at:{space.name}", instant))


def settle(connection: apsw.Connection) -> None:
    """Drop orphans and note the counts, inside the caller's transaction, after a change of several documents."""
    drop_orphans(connection)
    note(connection)


def drop_cut(connection: apsw.Connection, cut: int) -> None:
    """Let a text wait to be cut again, inside the caller's transaction; its vectors of every model go."""
    from core.errors import EngineMissing

    found: Any = connection.execute("SELECT model, done FROM brain_embedded WHERE cut = ?", (cut,)).fetchall()
    done = dict(found)
    rows = [(space, done[space.id]) for space in spaces.every(connection) if space.id in done] if done else []
    try:
        if rows:
            spaces.load(connection)
        for space, chunks in rows:
            _delete(connection, space, cut, chunks)
    except EngineMissing:
        # Without sqlite-vec there is still an index: nothing leads to these vectors, and `drop_strays` finds them.
        rows = []
    connection.execute("DELETE FROM brain_embedded WHERE cut = ?", (cut,))
    connection.execute("DELETE FROM brain_chunks WHERE id >= ? AND id < ?", (cut * SPAN, (cut + 1) * SPAN))
    connection.execute("DELETE FROM brain_cuts WHERE id = ?", (cut,))


def _delete(connection: apsw.Connection, space: Space, cut: int, done: int) -> None:
    from qmd.index.semantic import coarse

    chunks = list(range(cut * SPAN, cut * SPAN + done))
    connection.executemany(f'DELETE FROM "{space.table}" WHERE rowid = ?', [(chunk,) for chunk in chunks])
    coarse.remove(connection, space, chunks)
