"""Documents by name: one, several, a folder's listing. Follows qmd 2.8.3's rules.

A reference is a ``qmd://`` address, the end of one, a path on disk, or a docid (six or more hex digits of the hash).
"""

from __future__ import annotations

from os.path import join, normpath, realpath

import apsw

from qmd import ecma
from qmd.index import catalogue, virtual
from qmd.index.collections import Contexts
from qmd.index.references import (
    escape_like,
    is_docid,
    is_list,
    normalize_docid,
    one_glob,
    similar_files,
    without_line,
)
from qmd.settings import home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEFAULT_MAX_BYTES = 64 * 1024

_URI = "'qmd://' || d.collection || '/' || d.path"
_COLUMNS = "d.collection, d.path, d.title, d.hash, d.modified_at, length(c.doc)"
_FROM = "FROM documents d JOIN content c ON c.hash = d.hash WHERE d.active = 1"


class Retrieved(virtual.Addressed):
    """A document of the index. ``length`` is in characters; ``body`` is None where it was not asked for."""

    __slots__ = ("body", "collection", "context", "hash", "length", "modified_at", "path", "title")

    def __init__(self, row: tuple[Any, ...], contexts: Contexts) -> None:
        self.collection: str = row[0]
        self.path: str = row[1]
        self.title: str = row[2]
        self.hash: str = row[3]
        self.modified_at: str = row[4]
        self.length: int = row[5] or 0
        self.body: str | None = row[6] if len(row) > 6 else None
        self.context = contexts.of(self.collection, self.path)


class NotFound:
    """No document answers to ``reference``.

    ``similar`` holds paths close to it; ``ignored`` is (collection, path, rule) where a collection's ignore rule
    keeps it out.
    """

    __slots__ = ("ignored", "reference", "similar")

    def __init__(
        self, reference: str, similar: list[str] | None = None, ignored: tuple[str, str, str] | None = None
    ) -> None:
        self.reference = reference
        self.similar = similar or []
        self.ignored = ignored


class Fetched:
    """One document of a ``multi_get``; ``skipped`` says why its body was left out, and is empty where it was not."""

    __slots__ = ("document", "skipped")

    def __init__(self, document: Retrieved, skipped: str = "") -> None:
        self.document = document
        self.skipped = skipped


class Listed:
    """One line of a listing; ``size`` in characters, ``modified_at`` ISO 8601."""

    __slots__ = ("modified_at", "path", "size", "title")

    def __init__(self, path: str, title: str, modified_at: str, size: int) -> None:
        self.path = path
        self.title = title
        self.modified_at = modified_at
        self.size = size


def get(connection: apsw.Connection, reference: str, *, body: bool = True) -> Retrieved | NotFound:
    """Return the document that ``reference`` names: exactly, else as the end of an address, else as a path on disk.

    A ``:N`` at its end is ignored (``split_range`` reads it). Raises apsw.Error.
    """
    wanted = without_line(reference)
    if not wanted:
        return NotFound(reference)  # the end of every address
    columns = f"{_COLUMNS}, c.doc" if body else _COLUMNS
    if is_docid(wanted):
        found = _by_docid(connection, normalize_docid(wanted))
        if found is None:
            return NotFound(reference)
        wanted = found
    if wanted.startswith("~/"):
        wanted = home() + wanted[1:]
    row = connection.execute(f"SELECT {columns} {_FROM} AND {_URI} = ?", (wanted,)).fetchone()
    if row is None:
        row = connection.execute(
            f"SELECT {columns} {_FROM} AND {_URI} LIKE ? ESCAPE '#' LIMIT 1", (f"%{escape_like(wanted)}",)
        ).fetchone()
    if row is None and not wanted.startswith(virtual.SCHEME):
        row = _on_disk(connection, columns, wanted)
    if row is not None:
        return Retrieved(row, Contexts(connection))
    raw = virtual.with_line_ends(wanted)
    if raw != wanted:
        return get(connection, raw, body=body)
    ignored = _ignored(connection, wanted)
    if ignored:
        return NotFound(reference, ignored=ignored)
    return NotFound(reference, similar_files(connection, wanted, 5, 5))


def multi_get(
    connection: apsw.Connection, pattern: str, *, max_bytes: int = DEFAULT_MAX_BYTES
) -> tuple[list[Fetched], list[str]]:
    """Return the documents of a glob, or of a list of names, and messages for what was not found.

    Globs are matched against address, ``collection/path`` and path. Documents longer than ``max_bytes`` (characters, as
    qmd counts them) come without their body. Raises apsw.Error, and BadInput for a glob that cannot be read.
    """
    errors: list[str] = []
    identities: list[int] = []
    if is_list(pattern):
        names = [trimmed for name in pattern.split(",") if (trimmed := ecma.trim(name))]
        for name in names if "," in pattern else [ecma.trim(pattern)]:
            found = resolve_name(connection, name)
            if isinstance(found, str):
                errors.append(found)
            else:
                identities.append(found)
    else:
        identities = match_glob(connection, pattern)
        if not identities:
            errors.append(f"No files matched pattern: {pattern}")
    contexts = Contexts(connection)
    entries = []
    for identity in identities:
        row = connection.execute(f"SELECT {_COLUMNS} {_FROM} AND d.id = ?", (identity,)).fetchone()
        if row is None:
            continue
        entry = Fetched(Retrieved(row, contexts))
        if entry.document.length > max_bytes:
            size, most = (ecma.round_half_up(value / 1024) for value in (entry.document.length, max_bytes))
            entry.skipped = f"File too large ({size}KB > {most}KB)"
        else:
            entry.document.body = str(catalogue.text(connection, entry.document.hash))
        entries.append(entry)
    return entries, errors


def match_glob(connection: apsw.Connection, pattern: str) -> list[int]:
    """Return the ids of documents with an address, ``collection/path`` or path that matches a glob, in the order
    indexed.
    """
    from qmd.index.update import matcher

    # One glob, not a mask of several: a comma outside braces is a character like any other.
    matches = matcher(one_glob(pattern))
    return [
        identity
        for identity, collection, path, *_ in catalogue.entries(connection)
        if matches(f"{virtual.SCHEME}{collection}/{path}") or matches(path) or matches(f"{collection}/{path}")
    ]


def resolve_name(connection: apsw.Connection, name: str) -> int | str:
    """Return the id of the one document that a name of a list means, or what is wrong with the name.

    A name is a docid, an address, ``collection/path``, a path, or the end of a path from a ``/`` on.
    """
    if is_docid(name):
        uri = _by_docid(connection, normalize_docid(name))
        found = _named(connection, f"{_URI} = ?", (uri,)) if uri else []
    elif virtual.is_virtual(name):
        address = virtual.parse(name)
        found = _addressed(connection, address.collection, address.path) if address else []
        if address and not found:
            found = _addressed(connection, address.collection, virtual.with_line_ends(address.path))
    else:
        found = _ending(connection, name) or _ending(connection, virtual.with_line_ends(name))
    if len(found) == 1:
        return found[0][0]
    if found:
        return f"Ambiguous path {name}: {', '.join(uri for _, uri in found)}"
    similar = similar_files(connection, name, 5, 3)
    return f"File not found: {name}" + (f" (did you mean: {', '.join(similar)}?)" if similar else "")


def list_files(connection: apsw.Connection, collection: str, prefix: str = "") -> list[Listed]:
    """Return the documents of a collection, or those with a path that begins with ``prefix``, by path."""
    condition, bindings = "", [collection]
    if prefix:
        condition = " AND d.path LIKE ? ESCAPE '#'"
        bindings.append(f"{escape_like(prefix)}%")
    return [
        Listed(*row)
        for row in connection.execute(
            f"SELECT d.path, d.title, d.modified_at, length(c.doc) {_FROM} AND d.collection = ?{condition}"
            " ORDER BY d.path",
            bindings,
        )
    ]


def on_disk(connection: apsw.Connection, collection: str, path: str) -> str | None:
    """Return the absolute path of a document's file, None if it would be outside its collection.

    The file itself may be gone.
    """
    row = connection.execute("SELECT path FROM store_collections WHERE name = ?", (collection,)).fetchone()
    if row is None:
        return None
    whole = normpath(join(row[0], path))
    root = realpath(row[0])
    # The real path decides: a symlink below the folder must not lead out of it.
    real = realpath(whole)
    return whole if real == root or real.startswith(root.rstrip("/") + "/") else None


def _named(connection: apsw.Connection, condition: str, bindings: tuple[Any, ...]) -> list[tuple[int, str]]:
    rows: list[Any] = connection.execute(
        f"SELECT d.id, {_URI} {_FROM} AND {condition} ORDER BY d.collection, d.path", bindings
    ).fetchall()
    return rows


def _addressed(connection: apsw.Connection, collection: str, path: str) -> list[tuple[int, str]]:
    return _named(connection, "d.collection = ? AND d.path = ?", (collection, path))


def _ending(connection: apsw.Connection, name: str) -> list[tuple[int, str]]:
    return (
        _named(connection, "d.collection || '/' || d.path = ?", (name,))
        or _named(connection, "d.path = ?", (name,))
        or _named(connection, "d.path LIKE ? ESCAPE '#'", (f"%/{escape_like(name)}",))
    )


def _by_docid(connection: apsw.Connection, digits: str) -> str | None:
    row = connection.execute(
        f"SELECT {_URI} FROM documents d WHERE d.hash LIKE ? AND d.active = 1 LIMIT 1", (f"{digits}%",)
    ).fetchone()
    return row[0] if row else None


def _on_disk(connection: apsw.Connection, columns: str, wanted: str) -> tuple[Any, ...] | None:
    folders: list[Any] = connection.execute("SELECT name, path FROM store_collections").fetchall()
    for name, folder in folders:
        if wanted.startswith(f"{folder}/"):
            relative = wanted[len(folder) + 1 :]
        elif wanted and not wanted.startswith("/"):
            relative = wanted
        else:
            continue
        row: tuple[Any, ...] | None = connection.execute(
            f"SELECT {columns} {_FROM} AND d.collection = ? AND d.path = ?", (name, relative)
        ).fetchone()
        if row:
            return row
    return None


def _ignored(connection: apsw.Connection, wanted: str) -> tuple[str, str, str] | None:
    import json

    from qmd.index.update import matcher

    wanted = ecma.trim(wanted.replace("\\", "/"))
    address = virtual.parse(wanted) if virtual.is_virtual(wanted) else None
    collections: list[Any] = connection.execute(
        "SELECT name, path, ignore_patterns FROM store_collections WHERE ignore_patterns IS NOT NULL"
    ).fetchall()
    for name, folder, packed in collections:
        if address:
            if address.collection != name:
                continue
            candidate = address.path
        elif wanted.startswith(f"{folder}/"):
            candidate = wanted[len(folder) + 1 :]
        elif not wanted.startswith("/"):
            candidate = wanted.removeprefix(f"{name}/")
        else:
            continue
        for rule in json.loads(packed):
            if matcher(one_glob(str(rule).replace("\\", "/").lstrip("/")))(candidate.lstrip("/")):
                return name, candidate, rule
    return None
