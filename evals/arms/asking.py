"""Arms that answer as `brain ask` does: in a cold process, with the model itself, and as `brain serve` does.

They call ``runtime.asking.ask`` in this process; the warm arm also runs the resident process's role without its socket.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from core.errors import BadInput, BrainError, EngineTimeout, Internal
from evals.arms.registry import ArmAnswer, Unavailable
from qmd.embedding.provider import make, quantise
from qmd.index.semantic import spaces
from qmd.index.store import open_index
from qmd.vectors.static_query import QueryVector
from runtime.asking.ask import Asker, Request
from runtime.resident.client import caller
from runtime.resident.encoder import Model
from runtime.resident.roles import Asking
from runtime.resident.server import IDLE_S, MEMORY_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from evals.arms.registry import Answer, Place
    from qmd.embedding.provider import Provider
    from qmd.vectors.knn import Look
    from qmd.vectors.static_query import Encoder

# True if this version of `ask` takes the length of its snippets as an option.
HAS_BUDGET = "budget" in Request.__slots__
# The texts of a route's reason: the table encoded the question; nothing could.
BY_TABLE = "by a fitted table"
_LEXICAL_END = "scored together; "


def ask(place: Place, mode: str = "", min_score: str = "") -> AbstractContextManager[Answer]:
    """The whole path, as configured; ``mode`` and ``min_score`` are `brain ask`'s. Raises BadInput, Unavailable."""
    return _asked(place, options(mode, min_score))


def options(mode: str, min_score: str) -> dict[str, Any]:
    """An arm's options as ``Request`` takes them, those that were given. Raises BadInput."""
    given: dict[str, Any] = {}
    if mode:
        given["mode"] = mode
    if min_score:
        try:
            given["min_score"] = float(min_score)
        except ValueError:
            raise BadInput(f"min_score={min_score} is no number", "ask:min_score=0") from None
    return given


def hybrid(place: Place) -> AbstractContextManager[Answer]:
    """Hybrid for every question, by the model itself. Raises Unavailable where there are no vectors."""
    if "mode" not in Request.__slots__:
        raise Unavailable("this version's ask has no hybrid search")
    embedded(place)
    return _blended(place, {"mode": "hybrid", "min_score": 0.0})


def embedded(place: Place) -> None:
    """Raises Unavailable where nothing has a vector."""
    connection = open_index(place.home.index)
    try:
        if not any(spaces.count(connection, space) for space in spaces.listed(connection)):
            raise Unavailable("nothing is embedded: brain embed")
    finally:
        connection.close()


def found(place: Place, envelope: dict[str, Any], again: Callable[[int], dict[str, Any]] | None = None) -> ArmAnswer:
    """The documents of an answer, ``collection/path``, the clock, and its snippets.

    ``again(budget)`` answers once more with snippets of that many characters; without it, they are this answer's.
    """

    def snippets(budget: int) -> list[str]:
        return [hit["snippet"] for hit in (again(budget) if again and HAS_BUDGET else envelope)["hits"]]

    return ArmAnswer(
        _documents(place, envelope["hits"]),
        clock(envelope["route"]),
        nearest=_documents(place, envelope.get("nearest") or ()),
        snippets=snippets,
        is_marked=bool(envelope.get("missing")),
    )


def _documents(place: Place, hits: Iterable[dict[str, Any]]) -> list[str]:
    folders = {name: folder.path for name, folder in place.config.collections.items()}
    return [f"{hit['collection']}/{os.path.relpath(hit['path'], folders[hit['collection']])}" for hit in hits]


def clock(route: dict[str, str]) -> str:
    """Return how a question was answered, in one wording per kind."""
    mode, reason = route["mode"], route["reason"]
    if mode in ("hybrid", "vec"):
        by = "a fitted table" if BY_TABLE in reason else "the model"
        return f"{'meaning' if mode == 'vec' else 'words and meaning'}, by {by}"
    if mode == "time":
        return "the order of time"
    if reason.startswith("literal ("):  # and then words of the question's
        return "words as they stand"
    why = reason.partition("; not by meaning: ")[2] or reason.partition(_LEXICAL_END)[2]
    return f"words alone: {why.partition(';')[0]}" if why else "words alone"


def reranked(place: Place) -> AbstractContextManager[Answer]:
    """Hybrid, then reranked. Raises Unavailable where there is no reranker, or it fails at a first question."""
    if "rerank" not in Request.__slots__:
        raise Unavailable("this version's ask has no reranker")
    embedded(place)
    _probe(place)
    return _blended(place, {"mode": "hybrid", "min_score": 0.0, "rerank": True})


class _ByModel:
    """A question's vector by the model, in this process (``qmd.vectors.static_query.Encoder``)."""

    __slots__ = ("_source", "fingerprint", "kind", "level")

    def __init__(self, source: Provider) -> None:
        self._source = source
        self.kind = "model"
        self.level: float | None = None  # nothing is abstained from
        self.fingerprint = source.fingerprint

    def begin(self, question: str, look: Look | None = None) -> QueryVector:  # noqa: ARG002  # the index finds what is near
        """The vector. Raises BrainError where the provider fails."""
        (vector,) = quantise(self._source.embed([question], question=True))
        return QueryVector(vector)


@contextmanager
def _blended(place: Place, given: dict[str, Any]) -> Iterator[Answer]:
    try:
        source = make(place.config.section("embedding"), os.environ)
        source.embed(["warm"], question=True)  # loading it is not the first question's time
    except BrainError as error:
        raise Unavailable(f"{error.message}: {error.fix}") from None
    try:
        with _asked(place, given, _ByModel(source)) as answer:
            yield answer
    finally:
        source.close()


def _probe(place: Place) -> None:
    """Raise Unavailable if the reranker cannot be used, before thousands of questions fail for the same reason."""
    from runtime.asking.reranking import Reranking

    connection = open_index(place.home.index)
    try:
        reranking = Reranking(connection, place.config, remember=False)
        try:
            if why := reranking.fault():
                raise Unavailable(f"the reranker failed: {why}")
        finally:
            reranking.close()
    except BrainError as error:
        raise Unavailable(f"{error.message}: {error.fix}") from None
    finally:
        connection.close()


@contextmanager
def _asked(place: Place, given: dict[str, Any], encoder: Encoder | None = None) -> Iterator[Answer]:
    unknown = [name for name in given if name not in Request.__slots__]
    if unknown:
        raise Unavailable(f"this version's ask has no {' and no '.join(unknown)}")
    scope = [place.scope] if place.scope else ()
    # Scores that an earlier run left would make this one's times another's.
    with Asker(place.home, place.config, encoder=encoder, remember=False) as asker:

        def answer(question: str, limit: int) -> ArmAnswer:
            options = {"limit": limit, "literal": True, "collections": scope, **given}
            envelope = asker.ask(question, Request(**options))
            if encoder is not None and envelope["route"]["mode"] != given["mode"]:
                # An answer by words alone does not measure a blend.
                raise Internal(f"not {given['mode']}: {envelope['route']['reason']}", "brain embed")
            reranked = envelope.get("rerank")
            if given.get("rerank") and reranked is not None and not reranked["applied"]:
                # An order that nothing was done to is no answer of a reranker's.
                raise EngineTimeout(f"not reranked: {reranked['reason']}", "rerank: {timeout_s: …}")
            return found(place, envelope, lambda budget: asker.ask(question, Request(**options, budget=budget)))

        yield answer


_LOAD_S = 60.0
_POLL_S = 0.02
# Time for a question in which a loaded machine gives the model's vector as well: half of it may be waited for.
_QUESTION_S = 20.0


def warm(place: Place, mode: str = "", min_score: str = "") -> AbstractContextManager[Answer]:
    """Answer as ``ask`` does, with questions encoded by the model. Raises BadInput, Unavailable without vectors."""
    given = options(mode, min_score)
    embedded(place)
    return _warm(place, given)


@contextmanager
def _warm(place: Place, given: dict[str, Any]) -> Iterator[Answer]:
    model = Model(os.environ, MEMORY_BYTES, IDLE_S)
    asking = Asking(place.home, model)
    operation = asking.operations["ask"]
    me = caller(place.home)
    scope = [place.scope] if place.scope else []
    request = {**given, "literal": True, "collections": scope, "timeout_s": _QUESTION_S}
    try:
        asking.start()
        _wait(model)

        def asked(question: str, **options: int) -> dict[str, Any]:
            found: dict[str, Any] = operation({"question": question, "request": {**request, **options}, "caller": me})
            return found

        def answer(question: str, limit: int) -> list[str]:
            envelope = asked(question, limit=limit)
            if BY_TABLE in envelope["route"]["reason"]:
                raise Internal(f"the model did not encode {question!r} in time", "run it again on an idle machine")
            return found(place, envelope, lambda budget: asked(question, limit=limit, budget=budget))

        yield answer
    finally:
        asking.stop()
        model.stop()


def _wait(model: Model) -> None:
    deadline = time.monotonic() + _LOAD_S
    while (state := model.status())["state"] != "ready":
        if state["state"] == "none" or time.monotonic() > deadline:
            raise Unavailable(f"the model did not load: {state['reason'] or 'not in time'}")
        time.sleep(_POLL_S)
