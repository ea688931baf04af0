"""Arms that ask as qmd's ``query`` does: keyword and vector lists, fused by rank, with and without other words."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from evals.arms import Unavailable
from qmd.generation import expansion
from qmd.index.store import open_index
from qmd.search import hybrid, semantic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    import apsw

    from evals.arms import Answer, Place

# Asked first, so that a generator that fails is no arm that is merely unexpanded.
_PROBE = "how does this work"


def query(place: Place) -> AbstractContextManager[Answer]:
    """As it stands. Raises Unavailable where there are no vectors."""
    return _asked(place, expand=False)


def expanded(place: Place) -> AbstractContextManager[Answer]:
    """In other words, too. Raises Unavailable where no generator is named, or it does not answer."""
    return _asked(place, expand=True)


@contextmanager
def _asked(place: Place, *, expand: bool) -> Iterator[Answer]:
    collections = place.config.collections
    scope = [place.scope] if place.scope else [name for name, each in collections.items() if each.include_by_default]
    connection = open_index(place.home.index)
    try:
        source = _expander(place, connection) if expand else None
        meaning = semantic.opened(connection, place.config.section("embedding"))
        if isinstance(meaning, str):
            raise Unavailable(meaning)
        try:

            def answer(question: str, limit: int) -> list[str]:
                more = None if source is None else lambda: source.expand(question)
                hits, _ = hybrid.plain(connection, question, scope, hybrid.Limits(limit), "", meaning, more)
                return [f"{hit.found.collection}/{hit.found.path}" for hit in hits]

            yield answer
        finally:
            meaning.close()
    finally:
        connection.close()


def _expander(place: Place, connection: apsw.Connection) -> expansion.Expander:
    models = place.config.section("models")
    found = expansion.opened(
        connection, place.config.section("generation"), {"generate": str(models.get("generate") or "")}, os.environ
    )
    if isinstance(found, str):
        raise Unavailable(f"{found}: QMD_GENERATE_MODEL=openai:MODEL or llm:MODEL names one")
    found.expand(_PROBE)
    if found.why:
        raise Unavailable(found.why)
    return found
