"""What a question can be asked in besides words: the configured provider's vectors, and an encoder for them.

The encoder of a cold process is the fitted table (``qmd/static_query.py``); one that holds the model gives its own.
"""

from __future__ import annotations

from core.config import embedder
from core.errors import EngineMissing
from qmd import blend, static_query, vectors
from qmd.search import Meaning

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

    from core.config import Config
    from qmd.static_query import Encoder
    from qmd.vectors import Space

# Where the share of code in each collection is kept (``qmd/texture.py``).
_CODE = "code:"


class Semantics:
    """An encoder, the space it encodes for, and what meaning counts in each collection."""

    __slots__ = ("encoder", "space", "weights")

    def __init__(self, space: Space, encoder: Encoder, weights: dict[str, float]) -> None:
        self.space = space
        self.encoder = encoder
        self.weights = weights

    def of(self, question: str, factor: float) -> Meaning | None:
        """What to search by, all weights times ``factor``; None where the encoder knows nothing of the question.

        A factor of 0 stands for meaning alone.
        """
        vector = self.encoder.begin(question)
        if vector is None:
            return None
        if not factor:
            return Meaning(self.space, vector, {}, 1.0)
        weights = {name: weight * factor for name, weight in self.weights.items()}
        return Meaning(self.space, vector, weights, blend.weight(0.0, self.encoder.kind) * factor)


def open_space(connection: apsw.Connection, config: Config, encoder: Encoder | None) -> Semantics | str:
    """The semantics of the configured provider, or why there are none. Loads ``vec0``. Raises apsw.Error."""
    provider, model = embedder(config.section("embedding"))
    space = vectors.find(connection, provider, model)
    if space is None:
        return f"nothing is embedded by {provider}/{model} yet"
    if encoder is None or encoder.fingerprint != space.fingerprint:
        table = static_query.of(connection, space)
        if isinstance(table, str):
            return table
        encoder = table
    try:
        vectors.load(connection)
    except EngineMissing as error:
        return error.message
    shares = connection.execute(
        "SELECT substr(key, ?), value FROM brain_state WHERE key GLOB ?", (len(_CODE) + 1, f"{_CODE}*")
    )
    return Semantics(
        space, encoder, {str(name): blend.weight(float(str(share)), encoder.kind) for name, share in shares}
    )
