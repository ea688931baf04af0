"""Arms that need vectors."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from evals.arms import Unavailable
from evals.arms_lexical import filters
from qmd.embedding.provider import make
from qmd.index import spaces, vectors
from qmd.index.schema import SPAN
from qmd.index.store import open_index

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw
    import numpy as np
    from numpy.typing import NDArray

    from evals.arms import Answer, Place


@contextmanager
def exact(place: Place) -> Iterator[Answer]:
    """Every vector against the question's, by inner product: what a faster search is an approximation of."""
    import numpy as np

    source = make(place.config.section("embedding"), os.environ)
    connection = open_index(place.home.index)
    try:
        space = spaces.find(connection, source.name, source.model)
        if space is None or not spaces.count(connection, space):
            raise Unavailable(f"nothing is embedded by {source.name}/{source.model}: brain embed")
        spaces.load(connection)
        names = _documents(connection, place, space)
        matrix, homes = _matrix(connection, space, names)

        def answer(question: str, limit: int) -> list[str]:
            (vector,) = source.embed([question], question=True)
            scores = matrix @ vector
            best = np.full(len(names), -np.inf, dtype=np.float32)
            np.maximum.at(best, homes, scores)
            ranked = np.argsort(-best, kind="stable")[:limit]
            return [name for index in ranked if np.isfinite(best[index]) for name in names[index][1]][:limit]

        yield answer
    finally:
        connection.close()
        source.close()


def _documents(connection: apsw.Connection, place: Place, space: spaces.Space) -> list[tuple[int, list[str]]]:
    """(cut, the documents that have its text), for the documents that may answer."""
    found: dict[int, list[str]] = {}
    for cut, name in vectors.cut_names(connection, space.layout, filters(place)):
        found.setdefault(cut, []).append(name)
    return list(found.items())


def _matrix(
    connection: apsw.Connection, space: spaces.Space, names: list[tuple[int, list[str]]]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The chunks' vectors, a row each, and the index in ``names`` of each row's document."""
    import numpy as np

    place_of = {cut: index for index, (cut, _) in enumerate(names)}
    rows: Any = connection.execute(f'SELECT rowid, embedding FROM "{space.table}"')
    kept = [(place_of[rowid // SPAN], blob) for rowid, blob in rows if rowid // SPAN in place_of]
    matrix = np.frombuffer(b"".join(blob for _, blob in kept), dtype=np.int8).reshape(len(kept), space.dimensions)
    # A common factor changes no order: the quantised values stand as they are.
    return matrix.astype(np.float32), np.array([index for index, _ in kept], dtype=np.int64)
