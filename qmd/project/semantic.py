"""Semantic search in a project: the embedding backend, embedding, and search by meaning.

The model that comes with the engine runs on this machine. A checked-in configuration has no say in it: what it could
name is where a project's text is sent.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import apsw

from core.errors import BadInput, EngineMissing
from qmd.index import catalogue
from qmd.index.catalogue import Filters
from qmd.index.schema import SPAN
from qmd.index.semantic import spaces, vectors
from qmd.search import snippets
from qmd.vectors import knn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from qmd.embedding.embedder import Report
    from qmd.embedding.provider import Provider
    from qmd.index.semantic.spaces import Space

SETTING = "COMMONPLACE_EMBEDDING"
NONE = "none"
_LOCAL = "local"
# How many neighbours vec0 gives at most.
_MOST = 4096
# Chunks looked at for each file asked for: a file's chunks lie close together.
_CHUNKS_A_FILE = 20
# Vectors of length 127.
_SQUARED = 127.0 * 127.0


class Near:
    """A file and its chunk that is nearest to a question. ``score`` is their cosine; ``line`` is 1-based."""

    __slots__ = ("collection", "hash", "line", "path", "score", "snippet", "title")

    def __init__(self, row: tuple[Any, ...], score: float) -> None:
        self.collection, self.path, self.title, self.hash, text, start = row
        self.score = score
        self.line, self.snippet = snippets.around(text, start, start, is_clean=False)


def provider() -> Provider:
    """Return the backend. Raises EngineMissing if there is none, BadInput where ``COMMONPLACE_EMBEDDING`` names
    another.
    """
    setting = os.environ.get(SETTING) or _LOCAL
    if setting == NONE:
        raise EngineMissing(f"{SETTING}={NONE}: there is no embedding backend", f"unset {SETTING}; {_instead()}")
    if setting != _LOCAL:
        raise BadInput(f"{SETTING}={setting}: no such embedding backend", f"one of: {_LOCAL}, {NONE}")
    from qmd.embedding.provider import make

    try:
        return make({}, os.environ)
    except (EngineMissing, ImportError) as error:
        why = error.message if isinstance(error, EngineMissing) else str(error)
        raise EngineMissing(f"there is no embedding backend: {why}", _instead()) from None


def status(connection: apsw.Connection) -> dict[str, Any]:
    """Return ``backend`` (``none`` where there is none, with ``why``), how many ``vectors`` it made, and files
    ``pending``.
    """
    try:
        model = provider()
    except EngineMissing as error:
        return {
            "backend": NONE,
            "why": error.message,
            "vectors": 0,
            "pending": sum(vectors.pending(connection, None).values()),
        }
    model.close()
    space = spaces.find(connection, model.name, model.model)
    if space is not None and space.fingerprint != model.fingerprint:
        space = None  # of another state of the model: questions are not asked of them
    return {
        "backend": f"{model.name}/{model.model}",
        "vectors": spaces.count(connection, space) if space else 0,
        "pending": sum(vectors.pending(connection, space).values()),
    }


def embed(connection: apsw.Connection, progress: Callable[[int, int, str], None] | None = None) -> Report:
    """Compute missing embeddings, and replace those of another state of the model.

    Ended at any moment, it goes on from there. Raises EngineMissing if there is no backend.
    """
    from qmd.embedding.embedder import embed as run

    model = provider()
    try:
        known = spaces.find(connection, model.name, model.model)
        changed = known is not None and known.fingerprint != model.fingerprint
        return run(connection, model, force=changed, progress=progress)
    finally:
        model.close()


def search(connection: apsw.Connection, question: str, limit: int, collections: Sequence[str]) -> list[Near]:
    """Return the ``limit`` files of ``collections`` that have the chunks nearest to a question, the nearest first.

    Raises EngineMissing if there is no backend, or nothing was embedded by it.
    """
    from qmd.embedding.provider import quantise

    model = provider()
    try:
        _space(connection, model)  # before a model is loaded for nothing
        (vector,) = quantise(model.embed([question], question=True))
    finally:
        model.close()
    spaces.load(connection)
    found: dict[tuple[str, str], Near] = {}
    with connection:  # read one state of the index: another process may replace vectors meanwhile
        found = _nearest(connection, _space(connection, model), vector, limit, collections)
    return list(found.values())[:limit]


def _space(connection: apsw.Connection, model: Provider) -> Space:
    """Return the vectors that the model made. Raises EngineMissing if it made none."""
    space = spaces.find(connection, model.name, model.model)
    if space is None or space.fingerprint != model.fingerprint:
        raise EngineMissing(f"nothing is embedded by {model.name}/{model.model} yet", "commonplace-search-update")
    return space


def _nearest(
    connection: apsw.Connection, space: Space, vector: bytes, limit: int, collections: Sequence[str]
) -> dict[tuple[str, str], Near]:
    """Return (collection, path) → file for all of them, up to a few more than ``limit``, the nearest first."""
    filters = Filters(collections)
    among, bindings = vectors.chunk_ids(space, filters)
    most = min(_MOST, limit * _CHUNKS_A_FILE)
    found: dict[tuple[str, str], Near] = {}
    for chunk, distance in knn.scan(connection, space, vector, most, f" AND rowid IN ({among})", bindings):
        start, _ = vectors.span(connection, chunk) or (0, 0)
        holders = sorted(document for _, document, _ in vectors.documents_of(connection, [chunk // SPAN], filters))
        for _, collection, path, title, digest in catalogue.selected(connection, holders).values():
            if (collection, path) not in found:
                text = catalogue.text(connection, digest) or ""
                row = (collection, path, title, digest, text, start)
                found[collection, path] = Near(row, 1.0 - distance * distance / (2 * _SQUARED))
        if len(found) >= limit:
            break
    return found


def _instead() -> str:
    return 'by words: commonplace-search-keyword "…"'
