"""A question with reranking, if there is a resident process: its model encodes, this process does the rest.

No resident process holds a reranker. The process with the key asks an endpoint, with its own patience; a cross-encoder
needs more memory than the resident process may take. So the candidates of a warm answer are reranked here, as without
a resident process.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from core.errors import EngineMissing
from qmd.vectors.static_query import QueryVector
from runtime.asking import team
from runtime.resident import client

if TYPE_CHECKING:
    from core.config import Config
    from core.home import Home
    from qmd.vectors.knn import Look
    from runtime.asking.request import Request

# Encoding takes a few ms; a longer wait is not worth it.
_PATIENCE_S = 1.0
_SHARE = 0.1


class Encoder:
    """The resident process's model (``qmd.vectors.static_query.Encoder``)."""

    __slots__ = ("_home", "_patience_s", "encoded", "fingerprint", "kind", "level")

    def __init__(self, home: Home, fingerprint: str, level: float | None, patience_s: float) -> None:
        self._home = home
        self._patience_s = patience_s
        self.encoded = 0
        self.kind = "model"
        self.fingerprint = fingerprint
        self.level = level

    def begin(self, question: str, look: Look | None = None) -> QueryVector:
        """Return the question's vector. Raises EngineMissing if the process does not give it."""
        found = _call(self._home, self._patience_s, text=question)
        vector = found.get("vector")
        if found.get("fingerprint") != self.fingerprint or not isinstance(vector, str):
            raise EngineMissing("the model of the resident process is another one now")
        if look is not None and len(vector) != 2 * look.space.dimensions:
            raise EngineMissing("the resident process gives a vector of another length than are kept")
        try:
            given = QueryVector(bytes.fromhex(vector))
        except ValueError:
            raise EngineMissing("the resident process gives no vector") from None
        self.encoded += 1
        return given


def encoder(home: Home, patience_s: float) -> Encoder | None:
    """Return the model of the process that is there; None if it has none in memory, or is none that answers for us."""
    try:
        found = _call(home, patience_s)
    except EngineMissing:
        return None
    fingerprint, level = found.get("fingerprint"), found.get("level")
    if not isinstance(fingerprint, str) or not isinstance(level, float | None):
        return None
    return Encoder(home, fingerprint, level, patience_s)


def ask(home: Home, config: Config, question: str, request: Request, timeout_s: float) -> tuple[dict[str, Any], bool]:
    """Return (the envelope, whether the resident process encoded the question), within ``timeout_s``. Raises as
    ``Asker.ask``.

    Whatever is wrong with that process, the question is answered without it.
    """
    until = time.monotonic() + timeout_s
    model = encoder(home, min(_PATIENCE_S, timeout_s * _SHARE))
    request.timeout_s = left = max(0.001, until - time.monotonic())
    with team.asker(home, config, left, model) as asker:
        try:
            return asker.ask(question, request), model is not None and model.encoded > 0
        except EngineMissing:
            if model is None:
                raise
        asker.refresh(None)  # the model ended during the search
        request.timeout_s = max(0.001, until - time.monotonic())
        return asker.ask(question, request), False


def _call(home: Home, patience_s: float, **given: str) -> dict[str, Any]:
    found = client.call(home, {"op": "encode", **given}, patience_s)
    if found is None or found.get("ok") is not True:
        raise EngineMissing("the resident process does not answer")
    return found
