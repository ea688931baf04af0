"""The models in ``explain``: the vectors in the index, the documents that wait for vectors, the model that rewrites
questions, and the reranker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core import clock
from core.config import embedder

if TYPE_CHECKING:
    from collections.abc import Mapping

    import apsw

    from core.config import Config
    from runtime.explaining.corpus import KnownCorpus


def read(connection: apsw.Connection) -> list[dict[str, Any]]:
    """Return every space of vectors: provider and model, number, age, and by collection the documents without vectors.

    Documents with outdated vectors are counted separately.
    """
    from qmd.index.semantic import renewal, spaces, vectors

    return [
        {
            "name": space.name,
            "dimensions": space.dimensions,
            "vectors": spaces.count(connection, space),
            "pending": vectors.pending(connection, space),
            "renewing": renewal.pending(connection, space),
            "as_of": connection.execute(
                "SELECT value FROM brain_state WHERE key = ?", (f"embedded_at:{space.name}",)
            ).get,
        }
        for space in spaces.listed(connection)
    ]


def semantic(known: KnownCorpus | None, config: Config | None) -> dict[str, Any]:
    """Return the space of vectors that answers questions, the documents that wait for vectors, and the other spaces.

    ``installed`` is True if there are any vectors. All values are None if the index cannot be read. ``why`` and ``fix``
    are there if the configuration does not allow embedding.
    """
    provider, model = (None, None) if config is None else embedder(config.section("embedding"))
    active = f"{provider}/{model}"
    result: dict[str, Any] = {
        "installed": None if known is None else bool(known.spaces),
        "provider": provider,
        "model": model,
        **_obstacle(config),
        **(_UNKNOWN if known is None or config is None else _of(known, active)),
        "spaces": [],
    }
    for space in known.spaces if known else ():
        waiting = space["pending"]
        result["spaces"].append(
            {
                "name": space["name"],
                "active": space["name"] == active,
                "dimensions": space["dimensions"],
                "vectors": space["vectors"],
                "pending": sum(waiting.values()),
                "pending_by_collection": waiting,
                "renewing": sum(space["renewing"].values()),
                "renewing_by_collection": space["renewing"],
                "as_of": _iso(space["as_of"]),
            }
        )
    return result


def _obstacle(config: Config | None) -> dict[str, str | None]:
    from core.errors import BrainError
    from qmd.embedding.provider import check

    try:
        if config is not None:
            check(config.section("embedding"))
    except BrainError as error:
        return {"why": error.message, "fix": error.fix}
    return {"why": None, "fix": None}


def expansion(config: Config | None, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the ``generator`` that rewrites questions of ``brain qmd --brain query``, or ``why`` there is none."""
    from core.errors import BrainError
    from qmd.generation.generator import choose, make

    section: dict[str, Any] = config.section("generation") if config else {}
    models = config.section("models") if config else {}
    chosen = choose(section, {"generate": str(models.get("generate") or "")}, environ)
    if isinstance(chosen, str):
        return {"generator": None, "why": chosen, "timeout_s": None}
    try:
        make(chosen, environ)
    except BrainError as error:
        return {"generator": chosen.name, "why": error.message, "timeout_s": chosen.timeout_s}
    return {"generator": chosen.name, "why": None, "timeout_s": chosen.timeout_s}


def reranking(config: Config | None, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the ``reranker``, or ``why`` it cannot work; ``ask`` is True if it orders every answer."""
    from core.errors import BrainError
    from qmd.reranking.judge import opened

    result: dict[str, Any] = {"reranker": None, "why": None, "timeout_s": None, "ask": False}
    if config is None:
        return {**result, "why": "the configuration cannot be read"}
    result["ask"] = config.section("ask").get("rerank") is True
    models = {slot: str(uri) for slot, uri in config.section("models").items() if uri}
    try:
        judge = opened(config.section("rerank"), models, environ, where=config.path)
    except BrainError as error:
        return {**result, "why": error.message}
    if judge is None:
        return {**result, "why": "there is no reranker"}
    judge.close()
    return {**result, "reranker": judge.name, "timeout_s": judge.timeout_s}


def collection(known: KnownCorpus | None, config: Config | None, name: str) -> dict[str, Any]:
    """Return the same of one collection, by the vectors that questions are answered by."""
    if known is None or config is None:
        return {"installed": None, **_UNKNOWN}
    found = _of(known, "/".join(embedder(config.section("embedding"))))
    waiting = found["pending_by_collection"].get(name, 0)
    fresh = found["as_of"] is not None and waiting == 0
    return {"installed": bool(known.spaces), "fresh": fresh, "pending": waiting, "as_of": found["as_of"]}


_UNKNOWN = {"fresh": None, "pending": None, "as_of": None}


def _of(known: KnownCorpus, active: str) -> dict[str, Any]:
    space = next((space for space in known.spaces if space["name"] == active), None)
    if space is None:
        waiting = {name: len(rows) for name, rows in sorted(known.documents.items())}
        as_of = None
    else:
        waiting, as_of = space["pending"], _iso(space["as_of"])
    pending = sum(waiting.values())
    return {
        "fresh": as_of is not None and pending == 0,
        "pending": pending,
        "pending_by_collection": waiting,
        "as_of": as_of,
    }


def _iso(instant: int | None) -> str | None:
    return None if instant is None else clock.iso(instant)
