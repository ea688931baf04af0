"""Reads of ``documents``, ``content`` and ``brain_facts``: one place that knows how the tables are joined.

Functions take a connection and return plain values. A *row* is what ``Document`` takes. All documents are active ones
unless a function says otherwise. Every function raises apsw.Error. Other modules of ``qmd/index`` name the tables where
they write them, or join them to a table of their own; ``retrieve`` follows qmd's rules for names. No other room does.
"""

from __future__ import annotations

from core.jsonb import unpack
from core.version import REDACTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    import apsw

    Row = tuple[Any, ...]
    # (name, "=" or "GLOB", value) over fields of the frontmatter.
    Tests = tuple[tuple[str, str, str], ...]

_COLUMNS = "d.id, d.collection, d.path, d.title, d.hash, f.date, f.ended, f.dated, f.fields, f.policy"
_TABLES = "documents d JOIN brain_facts f ON f.document_id = d.id"
_ACTIVE = f"SELECT {_COLUMNS} FROM {_TABLES} WHERE d.active = 1 AND"
_BY_PATH = "ORDER BY d.collection, d.path"
# Documents that answer to an end or a beginning of a name: more than a message lists.
_MOST_NAMED = 50
_BATCH = 200  # documents with their texts that are read at once


class Document:
    """One document and its facts.

    ``date`` and ``ended`` are epoch seconds, UTC; ``dated`` is False if they are the file's mtime. ``fields`` is the
    frontmatter. ``is_clean``: the present redaction policy hides nothing of the document, so its text is shown.
    """

    __slots__ = ("collection", "date", "dated", "ended", "fields", "hash", "id", "is_clean", "path", "title")

    if TYPE_CHECKING:
        id: int
        collection: str
        path: str
        title: str
        hash: str
        date: int
        ended: int
        dated: bool
        fields: dict[str, Any]
        is_clean: bool

    def __init__(self, row: Row) -> None:
        self.id, self.collection, self.path, found, self.hash, self.date, self.ended, dated, fields, policy = row[:10]
        self.dated, self.is_clean = bool(dated), policy == REDACTION
        value = unpack(fields)
        self.fields = value if isinstance(value, dict) else {}
        own = self.fields.get("title")
        # The frontmatter's own title, else the one that qmd's rules find in the text.
        self.title = own if isinstance(own, str) and own.strip() else found

    def field(self, name: str) -> str | None:
        """Return a field of the frontmatter as text, None if it has no value."""
        value = self.fields.get(name)
        if isinstance(value, list):
            value = ", ".join(map(str, value))
        return None if value is None or value == "" else str(value)

    def texts(self, *names: str) -> list[str | None]:
        """Return fields of the frontmatter as ``field`` does."""
        return [self.field(name) for name in names]


class Filters:
    """Which documents may answer. ``fields`` are (name, "=" or "GLOB", value) over the frontmatter, any item of a list.
    A pattern that begins with ``*/`` also matches a value without a folder: ``*/web`` the value ``web``.

    ``since`` and ``until`` (exclusive) are epoch seconds and test overlap with a document's ``date``…``ended``.
    ``unnamed`` is the trust of a team's collections that may answer though the configuration lacks them, "" for any.
    """

    __slots__ = ("collections", "fields", "since", "unnamed", "until")

    def __init__(
        self,
        collections: Iterable[str] = (),
        *,
        since: int | None = None,
        until: int | None = None,
        fields: Tests = (),
        unnamed: str | None = None,
    ) -> None:
        self.collections, self.fields, self.unnamed = tuple(collections), fields, unnamed
        self.since, self.until = since, until

    def within(self, collections: Iterable[str]) -> Filters:
        """Return the same filters for ``collections`` alone."""
        return Filters(collections, since=self.since, until=self.until, fields=self.fields)

    def restrict(self, connection: apsw.Connection) -> bool:
        """Return True if there may be a document that the filters leave out."""
        if self.since is not None or self.until is not None or self.fields:
            return True
        if not self.collections:
            return False
        # Most collections of a configuration are empty, among them those that are asked by name alone.
        is_used = "EXISTS (SELECT 1 FROM documents d WHERE d.collection = s.name AND d.active = 1)"
        others = f"s.name NOT IN ({','.join('?' * len(self.collections))}) AND {is_used}"
        query = f"SELECT 1 FROM store_collections s WHERE {others}"
        return connection.execute(query, self.collections).fetchone() is not None

    def sql(self) -> tuple[str, list[Any]]:
        """Return a condition over ``documents d JOIN brain_facts f``, and its bindings."""
        clauses = ["d.active = 1"]
        bindings: list[Any] = [*self.collections]
        if self.collections:
            clauses.append(f"d.collection IN ({','.join('?' * len(bindings))})")
        if self.since is not None:
            clauses.append("f.ended >= ?")
            bindings.append(self.since)
        if self.until is not None:
            clauses.append("f.date < ?")
            bindings.append(self.until)
        for name, operator, value in self.fields:
            # One row a scalar, one an item of a list; true and 3 are compared as they are written.
            found = "CASE WHEN type IN ('true', 'false') THEN type ELSE CAST(value AS TEXT) END"
            if operator == "GLOB":
                found = f"'/' || {found} GLOB" if value.startswith("*/") else f"{found} GLOB"
            else:
                found += " ="
            clauses.append(f"EXISTS (SELECT 1 FROM json_each(f.fields, ?) WHERE {found} ?)")
            bindings += [f'$."{name}"', value]
        return " AND ".join(clauses), bindings


# Documents by name.


def by_path(connection: apsw.Connection, collection: str, path: str) -> Row | None:
    """Return the row of a document."""
    return connection.execute(f"{_ACTIVE} d.collection = ? AND d.path = ?", (collection, path)).fetchone()


def in_any_collection(connection: apsw.Connection, path: str) -> Row | None:
    """Return the row of a document that has ``path`` in whichever collection."""
    return connection.execute(f"{_ACTIVE} d.path = ?", (path,)).fetchone()


def by_hash(connection: apsw.Connection, digits: str) -> list[Row]:
    """Return the rows of documents with a text hash that begins with ``digits``, by collection and path."""
    query = f"{_ACTIVE} d.hash >= ? AND d.hash < ? {_BY_PATH} LIMIT {_MOST_NAMED}"
    return connection.execute(query, (digits, f"{digits}g")).fetchall()


def by_end(connection: apsw.Connection, end: str) -> list[Row]:
    """Return the rows of documents with the path ``end``, or a path that ends with ``/`` and ``end``, by collection and
    path.
    """
    query = f"{_ACTIVE} (d.path = ?1 OR substr(d.path, -length(?1) - 1) = '/' || ?1) {_BY_PATH} LIMIT {_MOST_NAMED}"
    return connection.execute(query, (end,)).fetchall()


def by_beginning(connection: apsw.Connection, beginning: str) -> list[Row]:
    """Return the rows of documents with a file name that begins so, by collection and path."""
    # The path without its file name is what is left of it once every character but "/" is trimmed from its end.
    query = (
        f"{_ACTIVE} substr(d.path, length(rtrim(d.path, replace(d.path, '/', ''))) + 1, length(?1)) = ?1"
        f" {_BY_PATH} LIMIT {_MOST_NAMED}"
    )
    return connection.execute(query, (beginning,)).fetchall()


def by_title(connection: apsw.Connection, name: str, filters: Filters, limit: int) -> set[int]:
    """Return the ids of documents with the title ``name``, else of those with a title that ends with ``.name``."""
    condition, bindings = filters.sql()
    found: list[Any] = connection.execute(
        f"SELECT d.id, d.title = ? FROM {_TABLES}"
        " WHERE d.id IN (SELECT rowid FROM documents_fts WHERE documents_fts MATCH ?)"
        f" AND (d.title = ? OR substr(d.title, ?) = ?) AND {condition} ORDER BY 2 DESC LIMIT {limit}",
        (name, f'title : "{name}"', name, -len(name) - 1, f".{name}", *bindings),
    ).fetchall()
    return {document for document, same in found if same} or {document for document, _ in found}


def containing(connection: apsw.Connection, part: str, limit: int) -> list[tuple[str, str]]:
    """Return (collection, path) of documents with ``part`` in the path, case aside, the shortest path first."""
    found: list[Any] = connection.execute(
        "SELECT collection, path FROM documents WHERE active = 1 AND instr(lower(path), lower(?)) > 0"
        " ORDER BY length(path), collection, path LIMIT ?",
        (part, limit),
    ).fetchall()
    return found


def entries(connection: apsw.Connection, collections: Sequence[str] = ()) -> Iterator[tuple[int, str, str, str, str]]:
    """Yield (id, collection, path, title, hash) of every document, of ``collections`` if any are given, by id.

    Documents without facts are among them.
    """
    condition = f" AND collection IN ({','.join('?' * len(collections))})" if collections else ""
    query = f"SELECT id, collection, path, title, hash FROM documents WHERE active = 1{condition} ORDER BY id"
    yield from connection.execute(query, tuple(collections))


def selected(connection: apsw.Connection, ids: Iterable[int]) -> dict[int, tuple[int, str, str, str, str]]:
    """Return (id, collection, path, title, hash) of the documents ``ids``, by id, also of those without facts."""
    query = f"SELECT id, collection, path, title, hash FROM documents WHERE id IN ({','.join(map(str, ids))})"
    found: list[Any] = connection.execute(query).fetchall()
    return {row[0]: row for row in found}


# Documents by what they are.


def rows(
    connection: apsw.Connection, filters: Filters, ids: Iterable[int] | None = None, *, ending: str = _BY_PATH
) -> list[Row]:
    """Return the rows of documents that ``filters`` let through, of ``ids`` alone if they are given."""
    condition, bindings = filters.sql()
    among = "" if ids is None else f"d.id IN ({','.join(map(str, ids))}) AND "
    return connection.execute(
        f"SELECT {_COLUMNS} FROM {_TABLES} WHERE {among}{condition} {ending}", bindings
    ).fetchall()


def newest(connection: apsw.Connection, filters: Filters, limit: int) -> list[Row]:
    """Return the rows of the documents that ended last."""
    return rows(connection, filters, ending=f"ORDER BY f.ended DESC, d.id LIMIT {limit}")


def walk(
    connection: apsw.Connection, fields: Sequence[str] = (), since: int = 0, *, only_dated: bool = False
) -> Iterator[Row]:
    """Yield (id, collection, path, hash, date, ended, dated, *fields) of documents, those that ended last first.

    ``since`` (epoch seconds) is when they ended at the earliest. ``fields`` are names of the frontmatter; a value is
    a scalar of SQL, a list its JSON. No text is read. ``only_dated``: only documents with a date of their own.
    """
    yield from connection.execute(walk_sql(fields, only_dated=only_dated), (since,))


def walk_sql(fields: Sequence[str], *, only_dated: bool = False) -> str:
    """Return the query of ``walk``."""
    wanted = "".join(f""", f.fields ->> '$."{name}"'""" for name in fields)
    return (
        f"SELECT d.id, d.collection, d.path, d.hash, f.date, f.ended, f.dated{wanted}"
        " FROM brain_facts f INDEXED BY brain_facts_ended JOIN documents d ON d.id = f.document_id"
        f" WHERE f.ended >= ? AND d.active = 1{' AND f.dated = 1' if only_dated else ''}"
        " ORDER BY f.ended DESC, f.document_id"
    )


def on_days(connection: apsw.Connection, periods: Iterable[tuple[int, int]], filters: Filters, limit: int) -> set[int]:
    """Return the ids of at most ``limit`` dated documents of ``periods`` (since, until; epoch seconds), the newest."""
    condition, bindings = filters.sql()
    found: set[int] = set()
    for since, until in periods:
        query = (
            "SELECT d.id FROM brain_facts f JOIN documents d ON d.id = f.document_id"
            f" WHERE f.ended >= ? AND f.date < ? AND f.dated = 1 AND {condition}"
            f" ORDER BY f.ended DESC LIMIT {limit - len(found)}"
        )
        found.update(document for (document,) in connection.execute(query, (since, until, *bindings)))
    return found


def last_end(connection: apsw.Connection, filters: Filters, before: int) -> int | None:
    """Return when the last document ended that ended before ``before`` (epoch seconds); None if there is none."""
    return _edge(connection, filters, "f.ended", "f.ended > 0 AND f.ended < ?", "DESC", before)


def first_date(connection: apsw.Connection, filters: Filters, since: int) -> int | None:
    """Return when the first document began that began at ``since`` (epoch seconds) or later; None if there is none."""
    return _edge(connection, filters, "f.date", "f.date >= ?", "ASC", since)


def _edge(
    connection: apsw.Connection, filters: Filters, column: str, limit: str, order: str, instant: int
) -> int | None:
    condition, bindings = filters.sql()
    query = f"SELECT {column} FROM {_TABLES} WHERE {condition} AND {limit} ORDER BY {column} {order} LIMIT 1"
    found: int | None = connection.execute(query, (*bindings, instant)).get
    return found


def dates(connection: apsw.Connection, ids: Iterable[int]) -> Iterator[tuple[int, int, int]]:
    """Yield (id, date, ended) of those documents that have a date of their own."""
    query = "SELECT document_id, date, ended FROM brain_facts WHERE dated = 1 AND document_id IN"
    yield from connection.execute(f"{query} ({','.join(map(str, ids))})")


# Counts.


def has_any(connection: apsw.Connection, *collections: str) -> bool:
    """Return True if there is a document, in one of ``collections`` if any are named."""
    condition = f" AND collection IN ({','.join('?' * len(collections))})" if collections else ""
    query = f"SELECT 1 FROM documents WHERE active = 1{condition} LIMIT 1"
    return connection.execute(query, collections).fetchone() is not None


def count_passages(connection: apsw.Connection) -> int:
    """Return how many passages the index has. Raises apsw.Error."""
    return int(connection.execute("SELECT count(*) FROM brain_passages_docsize").get)


def count(connection: apsw.Connection, filters: Filters) -> int:
    """Return how many documents ``filters`` let through."""
    condition, bindings = filters.sql()
    found: int = connection.execute(f"SELECT count(*) FROM {_TABLES} WHERE {condition}", bindings).get
    return found


def lets_any_through(connection: apsw.Connection, filters: Filters) -> bool:
    """Return True if ``filters`` let a document through."""
    condition, bindings = filters.sql()
    return bool(connection.execute(f"SELECT EXISTS (SELECT 1 FROM {_TABLES} WHERE {condition})", bindings).get)


def has_value(connection: apsw.Connection, field: str, values: Sequence[str]) -> bool:
    """Return True if a document has one of ``values`` as the ``field`` of its frontmatter.

    It is a scan of the facts alone: 8 ms for 50,000 documents without one.
    """
    marks = ",".join("?" * len(values))
    query = f"SELECT EXISTS (SELECT 1 FROM brain_facts WHERE fields ->> '$.\"{field}\"' IN ({marks}))"
    return bool(connection.execute(query, tuple(values)).get)


def counts(connection: apsw.Connection) -> dict[str, int]:
    """Return how many documents each collection has; empty collections are left out."""
    # An index has both columns, so that no row is read.
    query = "SELECT collection, count(*) FROM documents WHERE active = 1 GROUP BY collection"
    found: list[Any] = connection.execute(query).fetchall()
    return dict(found)


def facets(
    connection: apsw.Connection, filters: Filters, ids: Iterable[int], fields: Sequence[str]
) -> list[tuple[str, str, int, *tuple[Any, ...]]]:
    """Return (collection, local month "YYYY-MM", how many, *fields) of those of ``ids`` that ``filters`` let through.

    ``fields`` are names of the frontmatter; a value is a scalar of SQL, a list its JSON.
    """
    condition, bindings = filters.sql()
    wanted = "".join(f""", f.fields ->> '$."{name}"'""" for name in fields)
    found: list[Any] = connection.execute(
        f"SELECT d.collection, strftime('%Y-%m', f.date, 'unixepoch', 'localtime') AS month, count(*){wanted}"
        f" FROM {_TABLES} WHERE d.id IN ({','.join(map(str, ids))}) AND {condition}"
        f" GROUP BY {', '.join(map(str, (1, 2, *range(4, 4 + len(fields)))))}",
        bindings,
    ).fetchall()
    return found


def totals(connection: apsw.Connection) -> dict[str, tuple[int, str]]:
    """Return how many documents each collection has, and their last ``modified_at`` (ISO 8601)."""
    query = "SELECT collection, count(*), max(modified_at) FROM documents WHERE active = 1 GROUP BY collection"
    found: list[Any] = connection.execute(query).fetchall()
    return {name: (number, latest) for name, number, latest in found}


def summaries(
    connection: apsw.Connection, since: int
) -> list[tuple[str, int, str, int | None, int | None, int | None]]:
    """Return (name, documents, last ``modified_at``, newest, before, bytes) of each collection.

    ``newest`` is the end of the newest dated document, ``before`` the date of the newest one that began before
    ``since``. Epoch seconds; None if no document has a date, or no file was read by us.
    """
    found: list[Any] = connection.execute(
        "SELECT d.collection, count(*), max(d.modified_at), max(CASE WHEN f.dated THEN f.ended END),"
        " max(CASE WHEN f.dated AND f.date < ? THEN f.date END), sum(b.size)"
        " FROM documents d LEFT JOIN brain_facts f ON f.document_id = d.id"
        " LEFT JOIN brain_files b ON b.document_id = d.id WHERE d.active = 1 GROUP BY d.collection",
        (since,),
    ).fetchall()
    return found


def by_week(connection: apsw.Connection, since: int, weeks: int) -> dict[str, list[tuple[int, int]]]:
    """Return for each collection what began in each week from ``since`` (epoch seconds) on.

    That is the number of dated documents, and the date of the newest one (epoch seconds, 0 for none).
    """
    query = (
        "SELECT d.collection, (f.date - ?1) / 604800, count(*), max(f.date) FROM brain_facts f JOIN documents d"
        " ON d.id = f.document_id WHERE f.ended >= ?1 AND f.date >= ?1 AND f.dated = 1 AND d.active = 1 GROUP BY 1, 2"
    )
    found: dict[str, list[tuple[int, int]]] = {}
    rows: Any = connection.execute(query, (since,))
    for collection, week, count, newest in rows:
        if week < weeks:
            found.setdefault(collection, [(0, 0)] * weeks)[week] = (count, newest)
    return found


def total(connection: apsw.Connection) -> tuple[int, str | None]:
    """Return how many documents there are, and their last ``modified_at`` (ISO 8601; None if there are none)."""
    row: Any = connection.execute("SELECT count(*), max(modified_at) FROM documents WHERE active = 1").fetchone()
    return row[0], row[1]


def last_change(connection: apsw.Connection, collection: str) -> str:
    """Return the last ``modified_at`` (ISO 8601) of a collection's rows, also inactive ones; "" if there are none."""
    query = "SELECT max(modified_at) FROM documents WHERE collection = ?"
    latest: str | None = connection.execute(query, (collection,)).get
    return latest or ""


def collections(connection: apsw.Connection) -> list[str]:
    """Return the names of collections that have rows, also inactive ones."""
    return [str(name) for (name,) in connection.execute("SELECT DISTINCT collection FROM documents")]


def judged(connection: apsw.Connection, collection: str) -> Iterator[tuple[str, str, bool]]:
    """Yield (path, hash, whether the present redaction policy hides nothing) of a collection's documents, by path."""
    query = (
        f"SELECT d.path, d.hash, f.policy = {REDACTION} FROM {_TABLES} WHERE d.active = 1 AND d.collection = ?"
        " ORDER BY d.path"
    )
    for path, digest, clean in connection.execute(query, (collection,)):
        yield str(path), str(digest), bool(clean)


# Texts and passages.


def contents(connection: apsw.Connection, newest: int | None = None) -> tuple[int, int]:
    """Return how many texts there are, also those of no document, and the newest one's number; or up to a number."""
    condition, bindings = ("", ()) if newest is None else (" WHERE rowid <= ?", (newest,))
    query = f"SELECT count(*), coalesce(max(rowid), 0) FROM content{condition}"
    row: Any = connection.execute(query, bindings).fetchone()
    return row[0], row[1]


def sample(connection: apsw.Connection, collection: str, most: int, characters: int) -> list[str]:
    """Return the beginnings of at most ``most`` texts of a collection, the same ones each time."""
    # Hashes are as good as a draw.
    found: Any = connection.execute(
        "SELECT substr(c.doc, 1, ?) FROM documents d JOIN content c ON c.hash = d.hash"
        " WHERE d.collection = ? AND d.active = 1 ORDER BY d.hash LIMIT ?",
        (characters, collection, most),
    ).fetchall()
    return [text for (text,) in found]


def text(connection: apsw.Connection, digest: str) -> str | None:
    """Return the text of a hash, None if the index does not have it."""
    found: str | None = connection.execute("SELECT doc FROM content WHERE hash = ?", (digest,)).get
    return found


def unused_texts(connection: apsw.Connection) -> int:
    """Return how many texts no document has."""
    query = "SELECT count(*) FROM content WHERE hash NOT IN (SELECT hash FROM documents WHERE active = 1)"
    found: int = connection.execute(query).get
    return found


def unused_passages(connection: apsw.Connection) -> list[tuple[int, str, int]]:
    """Return (id of the first passage, hash, number of passages) of texts that no document has."""
    found: list[Any] = connection.execute(
        "SELECT id, hash, length(starts) / 4 - 1 FROM brain_contents"
        " WHERE hash NOT IN (SELECT hash FROM documents WHERE active = 1)"
    ).fetchall()
    return found


def full_text(connection: apsw.Connection, collection: str = "") -> Iterator[tuple[int, str, str, str]]:
    """Yield (id, ``collection/path``, title, text) of documents, in batches: the caller may write meanwhile."""
    condition, bindings = (" AND d.collection = ?", (collection,)) if collection else ("", ())
    query = (
        "SELECT d.id, d.collection || '/' || d.path, d.title, c.doc"
        " FROM documents d JOIN content c ON c.hash = d.hash"
        f" WHERE d.active = 1 AND d.id > ?{condition} ORDER BY d.id LIMIT {_BATCH}"
    )
    last = 0
    while found := connection.execute(query, (last, *bindings)).fetchall():
        yield from found  # type: ignore[misc]
        last = int(str(found[-1][0]))


def derived(connection: apsw.Connection) -> Iterator[Row]:
    """Yield (hash, text, dated, date, ended, fields, starts of passages) of every text; None if not derived."""
    yield from connection.execute(
        "SELECT c.hash, c.doc, f.dated, f.date, f.ended, f.fields, b.starts FROM content c"
        " LEFT JOIN brain_facts f ON f.hash = c.hash LEFT JOIN brain_contents b ON b.hash = c.hash"
    )


def texts(
    connection: apsw.Connection, filters: Filters, *, ending: str = _BY_PATH, limit: int = -1
) -> Iterator[tuple[Document, str]]:
    """Yield documents that ``filters`` let through, with their texts."""
    condition, bindings = filters.sql()
    query = (
        f"SELECT {_COLUMNS}, c.doc FROM {_TABLES} JOIN content c ON c.hash = d.hash"
        f" WHERE {condition} {ending} LIMIT {limit}"
    )
    for row in connection.execute(query, bindings):
        yield Document(row), str(row[-1])


def passages(connection: apsw.Connection, digest: str) -> tuple[str, int, memoryview] | None:
    """Return (text, id of its first passage, the passages' bounds in characters) of a hash.

    Passage i is ``text[bounds[i]:bounds[i + 1]]``; a text without passages has no bounds.
    """
    row: Any = connection.execute(
        "SELECT c.doc, b.id, b.starts FROM content c JOIN brain_contents b ON b.hash = c.hash WHERE c.hash = ?",
        (digest,),
    ).fetchone()
    return None if row is None else (row[0], row[1], memoryview(row[2]).cast("I"))


def homes(connection: apsw.Connection, passages: Iterable[int]) -> dict[int, list[int]]:
    """Return the ids of the documents that have each passage."""
    found: dict[int, list[int]] = {}
    query = (
        f"SELECT p.value, d.id FROM json_each(?) p JOIN brain_contents c ON c.id = {content_of('p.value')}"
        " JOIN documents d ON d.hash = c.hash AND d.active = 1"
    )
    for passage, document in connection.execute(query, (f"[{','.join(map(str, passages))}]",)):
        found.setdefault(passage, []).append(document)
    return found


def lengths(connection: apsw.Connection, ids: Iterable[int]) -> Iterator[tuple[int, str, int, int]]:
    """Yield (id, collection, id of the first passage, number of passages) of documents; (0, 1) where none are known."""
    query = (
        "SELECT d.id, d.collection, ifnull(c.id, 0), ifnull(length(c.starts) / 4 - 1, 1)"
        " FROM documents d LEFT JOIN brain_contents c ON c.hash = d.hash WHERE d.id IN"
    )
    yield from connection.execute(f"{query} ({','.join(map(str, ids))})")


def holding(connection: apsw.Connection, match: str, limit: int) -> set[str]:
    """Return ``collection/path`` of at most ``limit`` documents that have a passage for an expression of FTS5."""
    query = (
        "SELECT DISTINCT d.collection || '/' || d.path FROM"
        f" (SELECT DISTINCT {content_of('brain_passages.rowid')} AS id FROM brain_passages"
        " WHERE brain_passages MATCH ?) found"
        " JOIN brain_contents c ON c.id = found.id JOIN documents d ON d.hash = c.hash AND d.active = 1 LIMIT ?"
    )
    return {str(document) for (document,) in connection.execute(query, (match, limit))}


def mentioning(connection: apsw.Connection, match: str, filters: Filters, limit: int) -> list[Row]:
    """Return the rows of the documents with a passage for an expression of FTS5, those that ended last first."""
    condition, bindings = filters.sql()
    query = (
        f"SELECT {_COLUMNS} FROM {_TABLES} WHERE d.hash IN (SELECT hash FROM brain_contents WHERE id IN"
        f" (SELECT {content_of('brain_passages.rowid')} FROM brain_passages WHERE brain_passages MATCH ?))"
        f" AND {condition} ORDER BY f.ended DESC, d.id LIMIT {limit}"
    )
    return connection.execute(query, (match, *bindings)).fetchall()


def matching(
    connection: apsw.Connection, match: str, limit: int, filters: Filters | None = None
) -> list[tuple[int, str, str, str, str, float]]:
    """Return (id, collection, path, title, hash, rating) of the best documents for an expression of FTS5, best first.

    The rating is FTS5's BM25 with qmd 2.8.3's weights of path, title and text: below 0, the lower the better. Filters
    are applied before anything is counted.
    """
    condition, bindings = filters.sql() if filters else ("", [])
    found: list[Any] = connection.execute(
        "WITH matches AS ("
        "  SELECT rowid AS id, bm25(documents_fts, 1.5, 4.0, 1.0) AS rating FROM documents_fts"
        f"  WHERE documents_fts MATCH ?{only_documents(condition) if condition else ''} ORDER BY rating LIMIT {limit}"
        ") SELECT d.id, d.collection, d.path, d.title, d.hash, m.rating FROM matches m"
        " JOIN documents d ON d.id = m.id WHERE d.active = 1 ORDER BY m.rating, d.id",
        (match, *bindings),
    ).fetchall()
    return found


# Conditions for searches over a full-text table, as SQL.


def only_documents(condition: str) -> str:
    """Return SQL that restricts rows of ``documents_fts`` to those for which ``condition`` (``Filters.sql``) holds."""
    # The unary plus keeps SQLite from running the match once for each id.
    return f" AND +rowid IN (SELECT d.id FROM {_TABLES} WHERE {condition})"


def only_passages(condition: str) -> str:
    """Return SQL that restricts rows of ``brain_passages`` in the same way."""
    contents = f"SELECT id FROM brain_contents WHERE hash IN (SELECT d.hash FROM {_TABLES} WHERE {condition})"
    return f" AND +{content_of('brain_passages.rowid')} IN ({contents})"


def content_of(passage: str) -> str:
    """Return the content's id of a passage, both as SQL."""
    return f"(SELECT max(id) FROM brain_contents WHERE id <= {passage})"
