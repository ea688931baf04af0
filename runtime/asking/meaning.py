"""Search by meaning: the configured provider's vectors, and an encoder of questions for them.

A cold process encodes by the fitted table (``qmd/vectors/static_query.py``), one that holds the model by the model.
"""

from __future__ import annotations

from core.errors import BrainError, EngineMissing
from qmd.index.semantic import spaces
from qmd.search.scoring import PROVENANCE, meaning_weight
from qmd.vectors import knn, static_query
from runtime.asking import route

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

    from core.config import Config
    from qmd.index.catalogue import Filters
    from qmd.index.parallel_read import SecondReader
    from qmd.index.semantic.spaces import Space
    from qmd.vectors.knn import Meaning
    from qmd.vectors.static_query import Encoder
    from runtime.asking.ask import Asker, Inquiry

# Where the share of code in each collection is kept (``qmd/search/texture.py``).
_CODE = "code:"
_BLENDED = "words and meaning blended"


class Semantics:
    """An encoder, the space that it encodes for, and the weight of meaning in each collection.

    ``second`` is a connection that searches by a vector while words are searched, None if there is none.
    """

    __slots__ = ("_connection", "_second", "encoder", "space", "weights")

    def __init__(
        self,
        connection: apsw.Connection,
        space: Space,
        encoder: Encoder,
        weights: dict[str, float],
        second: SecondReader | None = None,
    ) -> None:
        self._connection = connection
        self._second = second
        self.space = space
        self.encoder = encoder
        self.weights = weights

    def is_current(self) -> bool:
        """Return False if the vectors were computed again since, into another table."""
        space = spaces.find(self._connection, self.space.provider, self.space.model)
        return space is not None and (space.table, space.fingerprint) == (self.space.table, self.space.fingerprint)

    def of(self, question: str, factor: float, filters: Filters, limit: int) -> Meaning | None:
        """Return a search for ``limit`` documents by meaning; None if the encoder knows no word of the question.

        All weights are multiplied by ``factor``; 0 means that meaning alone counts. Raises apsw.Error.
        """
        look = knn.Look(self._connection, self.space, filters, limit)
        begun = self.encoder.begin(question, look)
        if begun is None:
            return None
        found: Callable[[], list[tuple[int, float]] | None] = begun.chunks
        if self._second is not None:
            from qmd.index.parallel_read import Later

            restricted = bool(look.among)

            def search(other: apsw.Connection) -> list[tuple[int, float]]:
                near = begun.chunks()
                if near is None:
                    spaces.load(other)
                    near = knn.chunks(other, self.space, begun.vector(), filters, restricted, limit)
                return near

            later = Later(self._second, search)
            found = later.outcome
        if not factor:
            return knn.Meaning(self.space, begun.vector, {}, 1.0, limit, found)
        weights = {name: weight * factor for name, weight in self.weights.items()}
        kind = self.encoder.kind
        meaning = knn.Meaning(self.space, begun.vector, weights, meaning_weight(0.0, kind) * factor, limit, found)
        meaning.weigh = lambda share: meaning_weight(share, kind) * factor
        return meaning


def choose(asker: Asker, inquiry: Inquiry) -> None:
    """Let meaning take part in the answer, and give the reason, or why it cannot. Raises apsw.Error."""
    wanted, question = inquiry.request.mode, inquiry.question
    weight, why = 1.0, f"--mode {wanted}"
    if wanted == "auto":
        kind, said = route.kind(question)
        if kind == route.LITERAL:
            inquiry.reason = f"literal ({said[:40]}): its words as they stand"
            return
        why = "conceptual"
        if kind == route.PROVENANCE:
            weight, why = PROVENANCE, f"provenance ({said}): words, path and date above likeness"
    semantics = asker.open_semantics()
    if isinstance(semantics, str):
        inquiry.reason += f"; not by meaning: {semantics}"
        return
    if inquiry.span is not None:
        question = question.replace(inquiry.span.phrase, " ", 1).strip() or question
    encoder = semantics.encoder
    fitted = encoder.kind == "static"
    try:
        meaning = semantics.of(question, 0.0 if wanted == "vec" else weight, inquiry.filters, inquiry.request.limit)
    except EngineMissing as error:
        if not fitted:
            raise  # the caller asks once more, without the model
        inquiry.reason += f"; not by meaning: {error.message} ({error.fix})"
        return
    if meaning is None:
        inquiry.reason += "; not by meaning: no word of the question is known"
        return
    meaning.level, meaning.by_model = encoder.level, not fitted
    meaning.whole = inquiry.fresh.embedded >= inquiry.fresh.documents
    inquiry.meaning = meaning
    inquiry.mode, blended = ("vec", "meaning alone") if wanted == "vec" else ("hybrid", _BLENDED)
    encoded = "a fitted table of tokens" if fitted else "the model"
    inquiry.reason = f"{why}; {blended}, the question encoded by {encoded}"


def open_space(
    connection: apsw.Connection, config: Config, encoder: Encoder | None, second: SecondReader | None = None
) -> Semantics | str:
    """Return the semantics of the configured provider, or why there are none. Loads ``vec0``. Raises apsw.Error.

    The connection ``second`` searches by the vectors if the fitted table encodes, or if there are too many vectors for
    the process of the model to hold.
    """
    provider, _, model = config.space.partition("/")
    space = spaces.find(connection, provider, model)
    if space is None:
        return f"nothing is embedded by {provider}/{model} yet"
    loading = None
    if encoder is None or encoder.fingerprint != space.fingerprint:
        # The extension is loaded where it is needed, and while the table is found.
        loading = second.begin(spaces.load) if second is not None else None
        table = static_query.table_of(connection, space)
        if isinstance(table, str):
            return table
        encoder = table
    shares = connection.execute(
        "SELECT substr(key, ?), value FROM brain_state WHERE key GLOB ?", (len(_CODE) + 1, f"{_CODE}*")
    )
    weights = {str(name): meaning_weight(float(str(share)), encoder.kind) for name, share in shares}
    try:
        if loading is not None:
            loading()
    except BrainError:  # the index cannot be opened once more, or the extension is missing here as well
        loading = None
    try:
        if loading is None:
            spaces.load(connection)
    except EngineMissing as error:
        return error.message
    if loading is None and second is not None:
        from qmd.index.semantic import coarse

        if encoder.kind != "model" or not coarse.exists(connection, space):
            second = None
    return Semantics(connection, space, encoder, weights, second)
