"""Record ids of a project's search: ``kb/notes/a.md#file`` and, for a passage, ``kb/notes/a.md#chunk-0001``.

The path is the file's, relative to the project, so that the same file has the same name in every checkout; a file
outside the project has its absolute path. Chunks are the engine's passages, counted from 1: an edit moves them.
"""

from __future__ import annotations

from bisect import bisect_right
from os.path import isabs, join, normpath, relpath
from typing import TYPE_CHECKING

from core.errors import NO_RESULTS, BrainError
from qmd.index import catalogue, virtual

if TYPE_CHECKING:
    import apsw

_FILE = "file"
_CHUNK = "chunk-"
_NEAR = 3


class NoRecord(BrainError):
    """No record has that id: exit code 67."""

    code = NO_RESULTS
    error = "no_results"


class Record:
    """A document of the index, or one passage of it; ``chunk`` counts from 1 and is 0 for the whole file."""

    __slots__ = ("chunk", "collection", "path", "text", "title")

    def __init__(self, collection: str, path: str, title: str, text: str, chunk: int) -> None:
        self.collection = collection
        self.path = path
        self.title = title
        self.text = text
        self.chunk = chunk

    @property
    def id(self) -> str:
        return identity(self.path, self.chunk)


class Records:
    """The names of an index's documents. ``root`` is the project's folder."""

    __slots__ = ("_connection", "_folders", "root")

    def __init__(self, connection: apsw.Connection, root: str) -> None:
        self._connection = connection
        self.root = root
        self._folders: dict[str, str] = {
            str(name): str(path) for name, path in connection.execute("SELECT name, path FROM store_collections")
        }

    def path(self, collection: str, relative: str) -> str:
        """Return a document's path as its id has it."""
        return shown(self.root, join(self._folders.get(collection, ""), relative))

    def chunk(self, digest: str, line: int) -> int:
        """Return the number of the passage that contains a line (1-based) of a content, 0 for none."""
        held = catalogue.passages(self._connection, digest)
        if held is None:
            return 0
        text, _, bounds = held
        position = 0
        for _ in range(line - 1):
            position = text.find("\n", position) + 1
        return 0 if not bounds or position < bounds[0] else min(bisect_right(bounds, position), len(bounds) - 1)

    def get(self, name: str) -> Record:
        """Return the record of an id, or of a path without ``#…``, ``collection/path``, or the unique end of a path.

        Raises NoRecord, naming what comes close.
        """
        path, chunk = parse(name)
        rows = (self._by_path(path) if path else []) or (self._by_path(name) if name != path else [])
        if len(rows) != 1:
            near = [self.path(row[1], row[2]) for row in rows] or self._near(path)
            why = f"{name!r} names several records" if rows else f"there is no record {name!r}"
            raise NoRecord(why, f"did you mean {', '.join(near[:_NEAR])}?" if near else "commonplace-search-keyword …")
        _, collection, relative, title, digest, *_ = rows[0]
        held = catalogue.passages(self._connection, digest)
        text, _, bounds = held if held else (catalogue.text(self._connection, digest) or "", 0, ())
        record = Record(collection, self.path(collection, relative), title, text, chunk)
        if chunk:
            if chunk >= len(bounds):
                raise NoRecord(f"{record.path} has {max(0, len(bounds) - 1)} chunks", f"#{_FILE} names the whole file")
            record.text = text[bounds[chunk - 1] : bounds[chunk]]
        return record

    def _by_path(self, path: str) -> list[catalogue.Row]:
        address = virtual.parse(path) if virtual.is_virtual(path) else None
        if address is not None:
            path = f"{address.collection}/{address.path}"
        whole = path if isabs(path) else normpath(join(self.root, path))
        inside = [
            (name, whole.removeprefix(f"{folder.rstrip('/')}/"))
            for name, folder in self._folders.items()
            if address is None and whole.startswith(f"{folder.rstrip('/')}/")
        ]
        named = [(name, path.removeprefix(f"{name}/")) for name in self._folders if path.startswith(f"{name}/")]
        for name, relative in inside + named:
            row = catalogue.by_path(self._connection, name, relative)
            if row is not None:
                return [row]
        return [] if address is not None else catalogue.by_end(self._connection, path)

    def _near(self, path: str) -> list[str]:
        from qmd.index.references import similar_files

        similar = similar_files(self._connection, path.rpartition("/")[2], 5, _NEAR)
        rows = [catalogue.in_any_collection(self._connection, each) for each in similar]
        return [self.path(row[1], row[2]) for row in rows if row]


def identity(path: str, chunk: int = 0) -> str:
    """Return the id of a file, or of its ``chunk``."""
    return f"{path}#{_CHUNK}{chunk:04d}" if chunk else f"{path}#{_FILE}"


def parse(name: str) -> tuple[str, int]:
    """Return (path, chunk) of an id; 0 for the whole file, which a name without ``#…`` means, too."""
    path, mark, unit = name.rpartition("#")
    number = unit.removeprefix(_CHUNK)
    if mark and unit == _FILE:
        return path, 0
    if mark and number != unit and number.isascii() and number.isdigit() and int(number[:9]) > 0:
        return path, int(number[:9])
    return name, 0


def shown(root: str, path: str) -> str:
    """Return ``path`` relative to the project where it lies in it, else as it is."""
    relative = relpath(path, root)
    return path if relative == ".." or relative.startswith("../") else relative
