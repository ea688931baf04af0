"""Vectors of ours: which texts have them, by which model, and where each stands in its text.

Spaces of several models lie side by side and never mix. Everything is keyed by a text's hash and by ids that are never
given twice, so that a rebuild of the lexical half keeps what took an hour to compute. docs/index-schema.md has the
tables.
"""

from __future__ import annotations

import apsw

from qmd.index.schema import SPAN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

# What a chunk is: a piece of the whole text, or one numbered section of it (a turn of a conversation).
PIECE = 0
SECTION = 1
# Stands before the grammar of a cut that is to be replaced, and behind the layout of the one that will (``moves``).
MOVES = ">"
# Whether a cut t is in force: the vectors of one that is not lie in the same tables.
ANSWERS = f"t.layout NOT LIKE '%{MOVES}'"

_TABLES = """
CREATE TABLE IF NOT EXISTS brain_models (
  id INTEGER PRIMARY KEY,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  dimensions INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  layout TEXT NOT NULL,
  tbl TEXT NOT NULL UNIQUE,
  UNIQUE(provider, model)
);
CREATE TABLE IF NOT EXISTS brain_cuts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  hash TEXT NOT NULL,
  layout TEXT NOT NULL,
  chunks INTEGER NOT NULL,
  grammar TEXT NOT NULL DEFAULT '',
  UNIQUE(hash, layout)
);
CREATE TABLE IF NOT EXISTS brain_layouts (
  layout TEXT PRIMARY KEY,
  strategy TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS brain_chunks (
  id INTEGER PRIMARY KEY,
  "start" INTEGER NOT NULL,
  "end" INTEGER NOT NULL,
  kind INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS brain_embedded (
  model INTEGER NOT NULL,
  cut INTEGER NOT NULL,
  done INTEGER NOT NULL,
  PRIMARY KEY (model, cut)
) WITHOUT ROWID;
"""

# A document's place among what is embedded: t is how its text is cut, e how far that is embedded. Bound: layout, model.
_JOINED = (
    " FROM documents d LEFT JOIN brain_cuts t ON t.hash = d.hash AND t.layout = ?"
    " LEFT JOIN brain_embedded e ON e.model = ? AND e.cut = t.id"
)
# Where the text of d stands, whichever of its places is asked for.
PATH = "(SELECT min(path) FROM documents WHERE hash = d.hash AND active = 1)"
_WAITS = "d.active = 1 AND (t.id IS NULL OR t.chunks > coalesce(e.done, 0))"


class Space:
    """The vectors of one model of one provider: ``dimensions`` int8 each, in ``table``, rowid = id of the chunk.

    ``fingerprint`` changes with whatever makes vectors incomparable, ``layout`` with how texts are cut.
    """

    __slots__ = ("dimensions", "fingerprint", "id", "layout", "model", "provider", "table")

    def __init__(
        self, id: int, provider: str, model: str, dimensions: int, fingerprint: str, layout: str, table: str
    ) -> None:
        self.id = id
        self.provider = provider
        self.model = model
        self.dimensions = dimensions
        self.fingerprint = fingerprint
        self.layout = layout
        self.table = table

    @property
    def name(self) -> str:
        """``provider/model``."""
        return f"{self.provider}/{self.model}"


class Waiting:
    """A text of ``size`` bytes that lacks vectors. ``cut`` is 0 before it has been cut; ``done`` chunks have theirs.

    ``path`` is where it stands in a collection, of several places the first; ``moves``: it has vectors, of another cut.
    """

    __slots__ = ("cut", "done", "hash", "moves", "path", "size")

    def __init__(self, hash: str, path: str, cut: int, done: int, size: int) -> None:
        self.hash = hash
        self.path = path
        self.cut = cut
        self.done = done
        self.size = size
        self.moves = False


def exist(connection: apsw.Connection) -> bool:
    """Whether anything was ever embedded in this index."""
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'brain_embedded'").fetchone() is not None


def are_of(connection: apsw.Connection, hash: str) -> bool:
    """Whether a text was cut for any model."""
    return (
        exist(connection)
        and connection.execute("SELECT 1 FROM brain_cuts WHERE hash = ?", (hash,)).fetchone() is not None
    )


def spaces(connection: apsw.Connection) -> list[Space]:
    """Every model that has vectors here, or had begun to."""
    if not exist(connection):
        return []
    rows: Any = connection.execute(
        "SELECT id, provider, model, dimensions, fingerprint, layout, tbl FROM brain_models ORDER BY id"
    )
    return [Space(*row) for row in rows]


def find(connection: apsw.Connection, provider: str, model: str) -> Space | None:
    """The space of a model; None where nothing was embedded by it."""
    return next((each for each in spaces(connection) if (each.provider, each.model) == (provider, model)), None)


def prepare(connection: apsw.Connection) -> None:
    """Make the tables that all spaces share, inside the caller's transaction; loads ``vec0``. Raises EngineMissing."""
    load(connection)
    connection.execute(_TABLES)
    if "grammar" not in [name for _, name, *_ in connection.execute("PRAGMA table_info(brain_cuts)")]:
        connection.execute("ALTER TABLE brain_cuts ADD COLUMN grammar TEXT NOT NULL DEFAULT ''")


def ensure(
    connection: apsw.Connection, provider: str, model: str, dimensions: int, fingerprint: str, layout: str
) -> Space:
    """The space of a model, made where it is missing, inside the caller's transaction; loads ``vec0``.

    A space of the same name but another fingerprint is given back as it is: whoever writes compares. Another layout is
    taken over: what was cut by the old one waits again, and its vectors go. Raises EngineMissing.
    """
    prepare(connection)
    known = find(connection, provider, model)
    if known is None:
        table = free_table(connection, provider, model)
        connection.execute(
            "INSERT INTO brain_models(provider, model, dimensions, fingerprint, layout, tbl) VALUES(?, ?, ?, ?, ?, ?)",
            (provider, model, dimensions, fingerprint, layout, table),
        )
        known = Space(connection.last_insert_rowid(), provider, model, dimensions, fingerprint, layout, table)
        create(connection, known)
    elif known.layout != layout and known.fingerprint == fingerprint:
        clear(connection, known)
        connection.execute("UPDATE brain_models SET layout = ? WHERE id = ?", (layout, known.id))
        known.layout = layout
        drop_orphans(connection)
    return known


def drop(connection: apsw.Connection, space: Space) -> None:
    """Forget a space with all of its vectors, inside the caller's transaction."""
    from qmd.vectors import coarse, renewal

    load(connection)
    renewal.drop(connection, space)
    coarse.drop(connection, space)
    connection.execute(f'DROP TABLE IF EXISTS "{space.table}"')
    connection.execute("DELETE FROM brain_embedded WHERE model = ?", (space.id,))
    connection.execute("DELETE FROM brain_models WHERE id = ?", (space.id,))
    connection.execute(
        "DELETE FROM brain_state WHERE key IN (?, ?)", (f"embedded:{space.name}", f"embedded_at:{space.name}")
    )


def clear(connection: apsw.Connection, space: Space) -> None:
    """Let every text of a space wait again, inside the caller's transaction; ``renewal`` keeps the old vectors."""
    from qmd.vectors import coarse

    load(connection)
    coarse.drop(connection, space)
    connection.execute(f'DROP TABLE IF EXISTS "{space.table}"')
    connection.execute("DELETE FROM brain_embedded WHERE model = ?", (space.id,))
    create(connection, space)


def waiting(connection: apsw.Connection, space: Space, collections: Sequence[str] = ()) -> list[Waiting]:
    """The texts of active documents that lack vectors of a space, the newest documents' first, each once."""
    marks = f" AND d.collection IN ({', '.join('?' * len(collections))})" if collections else ""
    rows: Any = connection.execute(
        f"SELECT d.hash, {PATH}, coalesce(t.id, 0), coalesce(e.done, 0), octet_length(x.doc){_JOINED}"
        f" JOIN content x ON x.hash = d.hash LEFT JOIN brain_facts f ON f.document_id = d.id WHERE {_WAITS}{marks}"
        " GROUP BY d.hash ORDER BY max(coalesce(f.ended, 0)) DESC, d.hash",
        (space.layout, space.id, *collections),
    )
    return [Waiting(*row) for row in rows]


def pending(connection: apsw.Connection, space: Space | None) -> dict[str, int]:
    """How many active documents of each collection lack vectors of a space; collections that lack none are left out."""
    if space is None:
        rows: Any = connection.execute("SELECT collection, count(*) FROM documents WHERE active = 1 GROUP BY 1")
    else:
        rows = connection.execute(
            f"SELECT d.collection, count(*){_JOINED} WHERE {_WAITS} GROUP BY 1", (space.layout, space.id)
        )
    return dict(rows.fetchall())


def count(connection: apsw.Connection, space: Space) -> int:
    """How many vectors a space has."""
    found: int = connection.execute(
        "SELECT coalesce(sum(done), 0) FROM brain_embedded WHERE model = ?", (space.id,)
    ).get
    return found


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
    if not connection.execute("SELECT 1 FROM documents WHERE hash = ? AND active = 1", (hash,)).fetchone():
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


def spans(connection: apsw.Connection, cut: int) -> list[tuple[int, int, int]]:
    """The chunks of a cut in order: (start, end, kind)."""
    rows: Any = connection.execute(
        'SELECT "start", "end", kind FROM brain_chunks WHERE id >= ? AND id < ? ORDER BY id',
        (cut * SPAN, (cut + 1) * SPAN),
    ).fetchall()
    return list(rows)


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
    from qmd.vectors import coarse

    rows = [(cut * SPAN + first + offset, vector) for offset, vector in enumerate(vectors)]
    connection.executemany(f'INSERT INTO "{space.table}"(rowid, embedding) VALUES(?, vec_int8(?))', rows)
    coarse.add(connection, space, rows)
    connection.execute(
        "INSERT OR REPLACE INTO brain_embedded(model, cut, done) VALUES(?, ?, ?)",
        (space.id, cut, first + len(vectors)),
    )
    return True


def release(connection: apsw.Connection, hash: str) -> None:
    """A text has left the index, and its vectors leave with it, inside the caller's transaction."""
    if exist(connection):
        for (cut,) in connection.execute("SELECT id FROM brain_cuts WHERE hash = ?", (hash,)).fetchall():
            drop_cut(connection, int(str(cut)))


def drop_orphans(connection: apsw.Connection) -> int:
    """Remove, inside the caller's transaction, what no active document and no model has any more.

    Returns how many texts' chunks went.
    """
    if not exist(connection):
        return 0
    from qmd.vectors import renewal

    also = " UNION SELECT layout FROM brain_renewals" if renewal.exist(connection) else ""
    rows: Any = connection.execute(
        "SELECT id FROM brain_cuts WHERE hash NOT IN (SELECT hash FROM documents WHERE active = 1)"
        f" OR rtrim(layout, '{MOVES}') NOT IN (SELECT layout FROM brain_models{also})"
    ).fetchall()
    for (cut,) in rows:
        drop_cut(connection, cut)
    return len(rows)


def drop_strays(connection: apsw.Connection, space: Space) -> int:
    """Remove vectors that no row accounts for, as a run without sqlite-vec leaves them; returns how many."""
    from qmd.vectors import coarse

    load(connection)
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
    for space in spaces(connection):
        connection.execute(
            "INSERT OR REPLACE INTO brain_state"
            f" SELECT ?, count(*){_JOINED} WHERE d.active = 1 AND t.chunks <= coalesce(e.done, 0)",
            (f"embedded:{space.name}", space.layout, space.id),
        )


def stamp(connection: apsw.Connection, space: Space, instant: int) -> None:
    """Note when a space was last brought forward, in epoch seconds."""
    connection.execute("INSERT OR REPLACE INTO brain_state VALUES(?, ?)", (f"embedded_at:{space.name}", instant))


def settle(connection: apsw.Connection) -> None:
    """What every change of several documents ends with, inside the caller's transaction."""
    drop_orphans(connection)
    note(connection)


def load(connection: apsw.Connection) -> None:
    """Make ``vec0`` usable on ``connection`` unless it is. Raises EngineMissing."""
    try:
        connection.execute("SELECT vec_version()").fetchall()
    except apsw.SQLError:
        from qmd.vectors import vec0

        vec0.load(connection)


def create(connection: apsw.Connection, space: Space) -> None:
    """Make the table of a space's vectors, inside the caller's transaction; ``vec0`` must be loaded."""
    # Vectors have length 127 (of 1): the order by L2 is the order by cosine, and the former has the faster code.
    connection.execute(
        f'CREATE VIRTUAL TABLE "{space.table}" USING vec0(embedding int8[{space.dimensions}] distance_metric=L2)'
    )


def free_table(connection: apsw.Connection, provider: str, model: str) -> str:
    """A name for a space's table that nothing else has, not even a vec0 table's own tables behind it."""
    plain = "".join(
        letter if letter.isascii() and letter.isalnum() else "_" for letter in f"{provider}_{model}".lower()
    )
    name = base = f"brain_vec_{plain[:80]}"
    number = 1
    while connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?1 OR name GLOB ?1 || '_*'", (name,)).fetchone():
        number += 1
        name = f"{base}_{number}"
    return name


def drop_cut(connection: apsw.Connection, cut: int) -> None:
    """Let a text wait to be cut again, inside the caller's transaction; its vectors of every model go."""
    from core.errors import EngineMissing

    found: Any = connection.execute("SELECT model, done FROM brain_embedded WHERE cut = ?", (cut,)).fetchall()
    done = dict(found)
    rows = [(space, done[space.id]) for space in every(connection) if space.id in done] if done else []
    try:
        if rows:
            load(connection)
        for space, chunks in rows:
            _delete(connection, space, cut, chunks)
    except EngineMissing:
        # Without sqlite-vec there is still an index: nothing leads to these vectors, and `drop_strays` finds them.
        rows = []
    connection.execute("DELETE FROM brain_embedded WHERE cut = ?", (cut,))
    connection.execute("DELETE FROM brain_chunks WHERE id >= ? AND id < ?", (cut * SPAN, (cut + 1) * SPAN))
    connection.execute("DELETE FROM brain_cuts WHERE id = ?", (cut,))


def every(connection: apsw.Connection) -> list[Space]:
    """Every space, and what is being made in the place of one."""
    from qmd.vectors import renewal

    there = spaces(connection)
    return there + [begun.space for space in there if (begun := renewal.of(connection, space)) is not None]


def _delete(connection: apsw.Connection, space: Space, cut: int, done: int) -> None:
    from qmd.vectors import coarse

    chunks = list(range(cut * SPAN, cut * SPAN + done))
    connection.executemany(f'DELETE FROM "{space.table}" WHERE rowid = ?', [(chunk,) for chunk in chunks])
    coarse.remove(connection, space, chunks)
