"""``brain explain --hit``: why a document ranks where it does for a question, or why it does not appear."""

from __future__ import annotations

import os
from typing import Any

import apsw

from core import clock
from core.config import Config
from core.home import Home
from qmd import search, store
from qmd.answers import Explanation, Filters, Hit
from runtime.ask import DEFAULT_LIMIT, date_boost, default_filters
from runtime.hits import NotFound, Row, docid, resolve, uri
from runtime.query import validate

_ABOVE = 5


def explain(home: Home, config: Config, reference: str, question: str) -> dict[str, Any]:
    """The envelope of ``brain explain --hit REFERENCE QUESTION``.

    ``verdict`` is one of ``answers`` (among the first five), ``outranked``, ``no_common_term``, ``filtered`` and
    ``not_indexed``; ``why`` says it in a sentence. Raises BadQuery, EngineMissing, and BadInput for an ambiguous
    reference.
    """
    question = validate(question, literal=True)
    connection = store.open_index(home.index)
    try:
        try:
            row = resolve(connection, config, reference)
        except NotFound as missing:
            return _not_indexed(config, reference, question, missing)
        return _explained(connection, config, row, question)
    except apsw.Error as error:
        raise store.translate(error, home.index) from error
    finally:
        connection.close()


def _explained(connection: apsw.Connection, config: Config, row: Row, question: str) -> dict[str, Any]:
    searcher = search.Searcher(connection)
    filters = default_filters(config)
    boost, span = date_boost(question, clock.now())
    phrase = span.phrase if span else ""
    found = searcher.explain(question, row.id, filters=Filters(), boost=boost, drop=phrase)
    hits = searcher.search(question, limit=max(_ABOVE, found.rank), filters=filters, boost=boost, drop=phrase)
    place = next((rank for rank, hit in enumerate(hits, 1) if hit.document_id == row.id), 0)
    envelope: dict[str, Any] = {
        "schema": 1,
        "ok": True,
        "query": question,
        "uri": uri(row.collection, row.path),
        "docid": docid(row.hash),
        "title": row.title,
        "rank": place or None,
        "score": round(found.score, 4),
        "parts": found.parts,
        "candidates": found.candidates,
        "terms": found.terms,
        "date": clock.iso(row.date),
        "route": span.reason if span else "the question names no date",
        "above": [
            {"rank": rank, "score": round(hit.score, 4), "uri": uri(hit.collection, hit.path), "title": hit.title}
            for rank, hit in enumerate(hits[: min(_ABOVE, place - 1 if place else _ABOVE)], 1)
        ],
    }
    envelope["verdict"], envelope["why"] = _verdict(config, row, found, place, hits, filters)
    return envelope


def _verdict(
    config: Config,
    row: Row,
    found: Explanation,
    place: int,
    hits: list[Hit],
    filters: Filters,
) -> tuple[str, str]:
    if row.collection not in filters.collections:
        known = row.collection in config.collections
        reason = "is asked only by name" if known else "is not in the configuration"
        fix = f": brain ask -c {row.collection} …" if known else ""
        return "filtered", f"its collection {row.collection!r} {reason}{fix}"
    if not any(term["in_document"] for term in found.terms) and not found.parts.get("date"):
        words = ", ".join(term["term"] for term in found.terms) or "none"
        return "no_common_term", f"the document has none of the question's terms ({words})"
    if 0 < place <= DEFAULT_LIMIT:
        matched = [term["term"] for term in found.terms if term["in_document"]]
        return "answers", f"rank {place}: it has {', '.join(matched) or 'the date that the question names'}"
    best = hits[0].title if hits else ""
    missing = [term["term"] for term in found.terms if not term["in_document"]]
    lacks = f"; it lacks {', '.join(missing)}" if missing else ""
    if place:
        return "outranked", f"rank {place} of {found.candidates}; the first is {best!r}{lacks}"
    return "outranked", f"not among the passages and documents that BM25 nominates; the first is {best!r}{lacks}"


def _not_indexed(config: Config, reference: str, question: str, missing: NotFound) -> dict[str, Any]:
    path = os.path.abspath(os.path.expanduser(reference))
    inside = next((c.name for c in config.collections.values() if path.startswith(c.path + os.sep)), None)
    why = missing.message
    fix = missing.fix
    if os.path.exists(path):
        if inside:
            why, fix = f"the file is in the folder of {inside!r} and not in the index", "brain index"
        else:
            why, fix = "the file lies in no collection's folder", f"add its folder to {config.path}"
    return {
        "schema": 1,
        "ok": True,
        "query": question,
        "uri": reference,
        "verdict": "not_indexed",
        "why": why,
        "fix": fix,
        "near": missing.near,
        "rank": None,
    }
