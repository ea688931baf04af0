"""Spaces: the vectors of one model each, their tables, and SQLite's extension ``vec0`` that holds them.

Spaces of several models lie side by side and never mix. docs/index-schema.md has the tables. The Python package around
the extension is never imported: it costs the import of the standard library's sqlite3, and of numpy if that is
installed, and offers nothing that the extension's path does not.
"""

from __future__ import annotations

import os
import sys

import apsw

from core.errors import EngineMissing
from qmd.index.schema import has_vectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# Kinds of chunks: a piece of the whole text, or an exchange of a session, embedded by its gist.
PIECE = 0
EXCHANGE = 1
# Mark of a change of cuts: before the grammar of a cut to be replaced, and after the layout of its replacement.
MOVES = ">"
# True of a cut t that is in force: the vectors of other cuts are in the same tables.
ANSWERS = f"t.layout NOT LIKE '%{MOVES}'"

TABLES = """
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

# Spaces that are computed a second time: ``model`` is the id of the space to be replaced.
RENEWALS = """
CREATE TABLE IF NOT EXISTS brain_renewals (
  model INTEGER PRIMARY KEY,
  dimensions INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  layout TEXT NOT NULL,
  tbl TEXT NOT NULL UNIQUE,
  collections TEXT NOT NULL
)
"""
_FIX = "pip install -U sqlite-vec"


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
        """Return ``provider/model``."""
        return f"{self.provider}/{self.model}"


class Renewal:
    """The vectors that will replace those of a space: ``space`` has the negative of that space's id.

    ``collections`` limits the renewal to some collections; empty for all.
    """

    __slots__ = ("collections", "space")

    def __init__(self, space: Space, collections: tuple[str, ...]) -> None:
        self.space = space
        self.collections = collections

    def covers(self, collections: Sequence[str]) -> bool:
        """Return True if the renewal covers all of ``collections`` (empty: everything)."""
        return not self.collections or (bool(collections) and set(collections) <= set(self.collections))

    def within(self, collections: Sequence[str]) -> tuple[str, ...] | None:
        """Return those of ``collections`` (empty: of all) that the renewal covers; None if it covers none."""
        if not (collections and self.collections):
            return tuple(collections) or self.collections
        return tuple(name for name in self.collections if name in collections) or None


def listed(connection: apsw.Connection) -> list[Space]:
    """Return the space of every model that has vectors here, or had begun to."""
    if not has_vectors(connection):
        return []
    rows: Any = connection.execute(
        "SELECT id, provider, model, dimensions, fingerprint, layout, tbl FROM brain_models ORDER BY id"
    )
    return [Space(*row) for row in rows]


def find(connection: apsw.Connection, provider: str, model: str) -> Space | None:
    """Return the space of a model, None if nothing was embedded by it."""
    return next((each for each in listed(connection) if (each.provider, each.model) == (provider, model)), None)


def every(connection: apsw.Connection) -> list[Space]:
    """Return every space, and the spaces that are being computed to replace one."""
    there = listed(connection)
    return there + [begun.space for space in there if (begun := renewal_of(connection, space)) is not None]


def renewal_of(connection: apsw.Connection, space: Space) -> Renewal | None:
    """Return what is being computed to replace a space's vectors, None if nothing is."""
    if not renewals_exist(connection):
        return None
    row: Any = connection.execute(
        "SELECT dimensions, fingerprint, layout, tbl, collections FROM brain_renewals WHERE model = ?", (space.id,)
    ).fetchone()
    if row is None:
        return None
    *what, names = row
    return Renewal(Space(-space.id, space.provider, space.model, *what), tuple(names.split("\n")) if names else ())


def renewals_exist(connection: apsw.Connection) -> bool:
    """Return True if vectors were ever computed a second time in this index."""
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'brain_renewals'").fetchone() is not None


def count(connection: apsw.Connection, space: Space) -> int:
    """Return how many vectors a space has."""
    found: int = connection.execute(
        "SELECT coalesce(sum(done), 0) FROM brain_embedded WHERE model = ?", (space.id,)
    ).get
    return found


def create(connection: apsw.Connection, space: Space) -> None:
    """Create the table of a space's vectors, inside the caller's transaction; ``vec0`` must be loaded."""
    # Vectors have length 127 (of 1): the order by L2 is the order by cosine, and the former has the faster code.
    connection.execute(
        f'CREATE VIRTUAL TABLE "{space.table}" USING vec0(embedding int8[{space.dimensions}] distance_metric=L2)'
    )


def free_table(connection: apsw.Connection, provider: str, model: str) -> str:
    """Return a name for a space's table that nothing else has, not even a vec0 table's own tables."""
    plain = "".join(
        letter if letter.isascii() and letter.isalnum() else "_" for letter in f"{provider}_{model}".lower()
    )
    name = base = f"brain_vec_{plain[:80]}"
    number = 1
    while connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?1 OR name GLOB ?1 || '_*'", (name,)).fetchone():
        number += 1
        name = f"{base}_{number}"
    return name


def load(connection: apsw.Connection) -> None:
    """Make ``vec0`` tables and the ``vec_…`` functions usable on ``connection`` unless they are.

    SQL itself cannot load anything afterwards. Raises EngineMissing if the extension is missing or does not load.
    """
    try:
        connection.execute("SELECT vec_version()").fetchall()
    except apsw.SQLError:
        _load(connection)


def _load(connection: apsw.Connection) -> None:
    extension = extension_path()
    if extension is None:
        raise EngineMissing("sqlite-vec is not installed: vectors that qmd wrote cannot be read", _FIX)
    try:
        connection.enable_load_extension(True)
        try:
            connection.load_extension(extension)
        finally:
            connection.enable_load_extension(False)
    # AttributeError: an SQLite built without loadable extensions.
    except (apsw.Error, OSError, AttributeError) as error:
        raise EngineMissing(f"sqlite-vec does not load: {error}", _FIX) from error


def extension_path() -> str | None:
    """Return the extension's path without the platform's suffix, as SQLite wants it; None if it is not installed."""
    # Where it is nearly always: looking there is cheaper than importing what could look everywhere.
    for folder in sys.path:
        found = os.path.join(folder, "sqlite_vec", "vec0")
        if os.path.isfile(f"{found}.so") or os.path.isfile(f"{found}.dylib"):
            return found
    from importlib.util import find_spec

    spec = find_spec("sqlite_vec")
    if spec is None or not spec.origin:
        return None
    return os.path.join(os.path.dirname(spec.origin), "vec0")
