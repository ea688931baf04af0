"""``POST /query`` and ``/search``: a structured search without the protocol around it."""

from __future__ import annotations

import json
import math
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from core.errors import BrainError, EngineTimeout
from qmd.mcp import queries, resources
from qmd.mcp.library import NoIndex
from qmd.search import structured

if TYPE_CHECKING:
    import apsw

    from qmd.mcp.library import Library

MOST_SEARCHES = 10
_KINDS = ("lex", "vec", "hyde")


async def search(library: Library, body: bytes) -> tuple[int, dict[str, Any]]:
    """(status, ``{"results": […]}``); ``error`` says what is wrong, ``note`` that a semantic search found nothing."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        return HTTPStatus.BAD_REQUEST, {"error": "The body is not JSON"}
    if not isinstance(given, dict) or not isinstance(given.get("searches"), list):
        return HTTPStatus.BAD_REQUEST, {"error": "Missing required field: searches (array)"}
    if len(given["searches"]) > MOST_SEARCHES:
        return HTTPStatus.BAD_REQUEST, {"error": f"searches: at most {MOST_SEARCHES}"}
    query = _query(given)

    def look(connection: apsw.Connection) -> tuple[list[dict[str, Any]], str]:
        return queries.answered(connection, query, queries.run, library.embedding, library.judge)

    try:
        hits, note = await library.ask(look)
    except NoIndex:
        hits, note = [], ""
    except structured.QueryError as error:
        return HTTPStatus.BAD_REQUEST, {"error": str(error)}
    except EngineTimeout as error:
        return HTTPStatus.GATEWAY_TIMEOUT, {"error": error.message}
    except BrainError as error:
        return HTTPStatus.INTERNAL_SERVER_ERROR, {"error": error.message}
    try:
        hits = await library.outgoing(hits)
    except BrainError as error:
        return HTTPStatus.INTERNAL_SERVER_ERROR, {"error": error.message}
    results = library.fenced([{**hit, "file": resources.encode(hit["file"])} for hit in hits])
    return HTTPStatus.OK, {"results": results, "note": note} if note else {"results": results}


def _query(given: dict[str, Any]) -> queries.Query:
    entries = [entry for entry in given["searches"] if isinstance(entry, dict) and entry.get("type") in _KINDS]
    searches = [structured.Search(entry["type"], str(entry.get("query") or ""), 0) for entry in entries]
    collections = given.get("collections")
    intent = given.get("intent")
    return queries.Query(
        searches,
        collections=[str(name) for name in collections] if isinstance(collections, list) else None,
        limit=_number(given.get("limit"), 10) or 0,
        min_score=_number(given.get("minScore"), 0) or 0,
        candidates=_number(given.get("candidateLimit"), None),
        intent=intent if isinstance(intent, str) else "",
        # As in qmd: anything but a plain no is a yes.
        rerank=given.get("rerank") is not False,
    )


def _number(value: Any, default: float | None) -> float | None:
    numeric = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if numeric else default
