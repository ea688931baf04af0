"""Searching by meaning for qmd's commands: a question encoded by the model itself, the nearest chunks of our vectors.

Vectors of other programs are only read where their model is one that we have, which is none of qmd's own so far.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from core.config import embedder
from core.errors import BrainError, Refused
from qmd import ecma
from qmd.index import catalogue
from qmd.index.catalogue import Filters
from qmd.index.semantic import spaces
from qmd.search import lex
from qmd.vectors import knn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import apsw

    from qmd.embedding.provider import Provider
    from qmd.index.semantic.spaces import Space
    from qmd.vectors.static_query import StaticQuery

    # A text, and whether it is a document that answers rather than a question.
    Asked = tuple[str, bool]
    # An int8 vector each, empty if the encoder knows nothing of the text.
    Encode = Callable[[Sequence[Asked]], list[bytes]]


# How long a question waits for an endpoint, with all its lines: it may have to load its model first.
QUESTION_S = 30.0


class SemanticMatch(lex.LexicalMatch):
    """A document and its nearest chunk: ``score`` is the cosine, ``piece`` (start, end) is in characters."""

    __slots__ = ("piece",)

    def __init__(self, row: tuple[int, str, str, str, str], near: knn.Near) -> None:
        super().__init__(*row, 0.0)
        self.score = near.best
        self.piece = (near.start, near.end)

    def chunk(self, body: str) -> tuple[int, int]:
        """Return (start, length) of the piece in UTF-16 units of ``body``."""
        start, end = self.piece
        return ecma.length(body[:start]), ecma.length(body[start:end])


class Semantic:
    """A space, and what encodes questions for it; ``close`` it in the end."""

    __slots__ = ("_connection", "_encode", "_ready", "_space", "close")

    def __init__(self, connection: apsw.Connection, space: Space, encode: Encode, close: Callable[[], None]) -> None:
        self._connection = connection
        self._space = space
        self._encode = encode
        self._ready: dict[Asked, bytes] = {}
        self.close = close

    @property
    def name(self) -> str:
        """Return ``provider/model``."""
        return self._space.name

    def prepare(self, lines: Iterable[Asked]) -> None:
        """Encode together what is searched for next, so that an endpoint is waited for once. Raises BrainError."""
        wanted = [line for line in dict.fromkeys(lines) if line[0].strip()]
        self._ready = dict(zip(wanted, self._encode(wanted), strict=True)) if wanted else {}

    def search(
        self,
        query: str,
        limit: int,
        collections: Sequence[str] = (),
        *,
        hyde: bool = False,
        filters: Filters | None = None,
    ) -> list[SemanticMatch]:
        """Return the documents nearest to ``query``, best first; with ``hyde`` the query is a document that answers.

        Raises BrainError if the provider fails, apsw.Error.
        """
        found: list[SemanticMatch] = []
        vector = b""
        if query.strip() and limit > 0:
            asked = (query, hyde)
            vector = self._ready[asked] if asked in self._ready else self._encode([asked])[0]
        if vector:
            with self._connection:  # one state of the index: while a model is loaded, vectors may be computed again
                found = self._nearest(vector, limit, collections, filters)
        return found

    def _nearest(
        self, vector: bytes, limit: int, collections: Sequence[str], filters: Filters | None
    ) -> list[SemanticMatch]:
        space = spaces.find(self._connection, self._space.provider, self._space.model)
        if space is None or space.fingerprint != self._space.fingerprint:
            raise Refused(f"the vectors of {self.name} were recomputed by another state of the model", "ask once more")
        self._space = space
        if len(vector) != space.dimensions:
            raise Refused(
                f"the model behind {self.name} has changed: it gives vectors of {len(vector)} numbers, where those that"
                f" are kept have {space.dimensions}",
                "qmd embed -f",
            )
        only = (filters or Filters()).within(tuple(collections))
        restricted = bool(collections) or filters is not None
        near = knn.enough(self._connection, space, vector, only, limit, restricted=restricted).documents
        best = sorted(near, key=lambda document: (-near[document].best, document))[:limit]
        rows = catalogue.selected(self._connection, best)
        for document in best:
            knn.place(self._connection, near[document])
        return [SemanticMatch(rows[document], near[document]) for document in best if document in rows]


def space_of(connection: apsw.Connection, section: dict[str, Any], provider: str = "", model: str = "") -> Space | None:
    """Return the space that would be asked, None if nothing is embedded by that model."""
    space = spaces.find(connection, *embedder(section, provider, model))
    return space if space is not None and spaces.count(connection, space) else None


def opened(
    connection: apsw.Connection,
    section: dict[str, Any],
    environ: Mapping[str, str] = os.environ,
    provider: str = "",
    model: str = "",
    light: bool = False,
) -> Semantic | str:
    """Return a search by meaning, or why there is none. Raises apsw.Error.

    ``light``: use the table that is fitted to the model, if there is one, so that nothing large is loaded.
    """
    space = space_of(connection, section, provider, model)
    if space is None:
        return f"nothing is embedded by {'/'.join(embedder(section, provider, model))} yet (qmd embed)"
    from qmd.embedding.provider import make
    from qmd.vectors import static_query

    try:
        table = static_query.table_of(connection, space) if light else ""
        if not isinstance(table, str):
            spaces.load(connection)
            return Semantic(connection, space, _by_table(table), lambda: None)
        source = make(section, environ, provider, model)
        if source.fingerprint != space.fingerprint:
            source.close()
            return f"the model behind {space.name} has changed (qmd embed -f)"
        spaces.load(connection)
    except BrainError as error:
        return error.message
    return Semantic(connection, space, _by_model(source), source.close)


def _by_model(source: Provider) -> Encode:
    from qmd.embedding.provider import quantise
    from qmd.embedding.remote import Remote

    def encode(lines: Sequence[Asked]) -> list[bytes]:
        if not isinstance(source, Remote):
            # In a batch a text has a slightly different vector; and a local model waits for nobody.
            return [quantise(source.embed([text], question=not hyde))[0] for text, hyde in lines]
        source.hurry(QUESTION_S)
        found = dict.fromkeys(lines, b"")
        for hyde in (False, True):
            alike = [line for line in lines if (line[1] and source.distinguishes_questions) is hyde]
            if alike:
                texts = [text for text, _ in alike]
                found.update(zip(alike, quantise(source.embed(texts, question=not hyde)), strict=True))
        return list(found.values())

    return encode


def _by_table(table: StaticQuery) -> Encode:
    return lambda lines: [table.encode(text) for text, _ in lines]
