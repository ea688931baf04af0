"""Questions of the page, answered in this process: its open indexes and dictionaries stay warm between keystrokes."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from runtime.asking.request import other_engine, reranks, validate
from web.rendering import local_day

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from core.config import Config
    from core.home import Home
    from runtime.asking.pool import Pool
    from runtime.asking.request import Request

FACETS = ("collection", "source", "project", "month", "trust")
_FIELDS = ("source", "project")
_VALUES = 12
# A resident process that is busy for longer does not encode the question.
_PATIENCE_S = 0.2


class Answer:
    """An answer: ``envelope``, its ``facets``, and ``warm``: True if a resident process took part.

    ``weighed``: how many documents the facets count.
    """

    __slots__ = ("envelope", "facets", "warm", "weighed")

    def __init__(self, envelope: dict[str, Any], rows: Iterable[Sequence[Any]], config: Config, *, warm: bool) -> None:
        self.envelope, self.warm = envelope, warm
        counted = list(rows) if envelope["hits"] else []
        self.facets = _facets(counted, config)
        self.weighed = sum(row[2] for row in counted)


def ask(home: Home, config: Config, question: str, request: Request, environ: Mapping[str, str], pool: Pool) -> Answer:
    """Answer a question as ``brain ask`` does, with facets. Raises as ``Asker.ask``.

    The model of a resident process encodes the question, where there is one. Facets count all documents that were
    weighed; if none were (another engine, a reranker, an order of time), they count the hits.
    """
    if other_engine(environ) or reranks(request, config):
        from runtime.resident.answer import answer

        envelope, warm = answer(home, config, question, request, environ)
        return Answer(envelope, _rows(envelope), config, warm=warm)
    question = validate(question, literal=request.literal)
    encoder = None
    if config.serve != "off" and os.path.exists(home.socket):
        from runtime.resident import served

        encoder = served.encoder(home, _PATIENCE_S)
    with pool.opened(config) as index:
        envelope = index.ask(question, request, encoder)
        rows = index.facets(_FIELDS) if envelope["hits"] else []
    if config.serve != "off" and encoder is None:
        from runtime.resident.control import on_demand

        on_demand(home, config, environ, envelope)
    warm = encoder is not None and encoder.encoded > 0
    return Answer(envelope, _rows(envelope) if rows is None else rows, config, warm=warm)


def _rows(envelope: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return the hits of an envelope as rows of ``catalogue.facets``."""
    return [
        (hit["collection"], local_day(hit["date"])[:7], 1, *(hit[name] for name in _FIELDS)) for hit in envelope["hits"]
    ]


def _facets(rows: Iterable[Sequence[Any]], config: Config) -> dict[str, list[dict[str, Any]]]:
    """Return for each facet its values, the most frequent first, with their counts."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in FACETS}
    for collection, month, count, source, project in rows:
        folder = config.collections.get(collection)
        named = (collection, source, project, month, folder.trust if folder else "note")
        for name, value in zip(FACETS, named, strict=True):
            if value:
                counts[name][str(value)] += count
    return {
        name: [{"value": value, "count": count} for value, count in found.most_common(_VALUES)]
        for name, found in counts.items()
    }
