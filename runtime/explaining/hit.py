"""``brain explain --hit``: why a document ranks where it does for a question, or why it does not appear."""

from __future__ import annotations

import os
from os.path import abspath, expanduser, join
from typing import TYPE_CHECKING, Any

import apsw

from core import clock
from core.errors import EngineMissing
from core.files import open_regular
from qmd.index import store
from qmd.index.catalogue import Filters
from qmd.search import explanation
from qmd.search.explanation import Explanation
from qmd.search.search import Searcher
from runtime.asking.chronology import date_boost
from runtime.asking.documents import NotFound, Row, resolve
from runtime.asking.envelope import SCHEME, docid, uri_of
from runtime.asking.own_index import open_own
from runtime.asking.request import DEFAULT_LIMIT, Request, echoed, validate
from runtime.explaining.fate import SUFFIX, Fate, fate
from runtime.explaining.show import text_of
from runtime.resident.answer import answer

if TYPE_CHECKING:
    from core.config import Collection, Config
    from core.home import Home
    from runtime.dates.span import Span


_ABOVE = 5
_DEEP = 50  # by meaning it may stand lower than by its words
# Numbers that a blend adds to the summands of a hit's words.
_MEANT = ("cosine", "blend")
_NEWEST = 1000  # how far down a chronological answer a document is looked for


def explain(home: Home, config: Config, reference: str, question: str) -> dict[str, Any]:
    """Return the envelope of ``brain explain --hit REFERENCE QUESTION``.

    ``verdict`` is one of ``answers`` (among the first five), ``outranked``, ``no_common_term``, ``filtered`` and
    ``not_indexed``; ``why`` explains it. For a transcript (``….jsonl``) its first document counts; ``transcript``
    then names the file and all its documents. Raises BadQuery, EngineMissing, and BadInput for an ambiguous reference.
    """
    question = validate(question, literal=True)
    connection = open_own(home, config)
    try:
        became: Fate | None = None
        try:
            row = resolve(connection, config, reference)
        except NotFound as missing:
            became = fate(home, _plain(reference)) if _plain(reference).endswith(SUFFIX) else None
            if became is None or not became.uris:
                return _not_indexed(config, reference, question, missing, became)
            try:
                row = resolve(connection, config, became.uris[0])
            except NotFound:
                became.why, became.fix = f"the transcript became {became.uris[0]}, not indexed yet", "brain index"
                return _not_indexed(config, reference, question, missing, became)
        envelope = _explained(home, connection, config, row, question)
        if became is not None:
            envelope["transcript"] = {"path": became.path, "documents": became.uris}
        return envelope
    except apsw.Error as error:
        raise store.translate(error, home.index) from error
    finally:
        connection.close()


def _explained(home: Home, connection: apsw.Connection, config: Config, row: Row, question: str) -> dict[str, Any]:
    boost, span = date_boost(question, clock.now())
    phrase = span.phrase if span else ""
    searcher, text = Searcher(connection), text_of(connection, row)

    def look() -> Explanation:
        return explanation.explain(searcher, question, row, text, filters=Filters(), boost=boost, drop=phrase)

    shared: dict[str, Any] = {}
    if config.engine is None:
        found = look()
    else:
        from runtime.asking import team

        found, shared["team"] = team.with_team(searcher, config, look)
    # The rank is among what the explanation looked at: a server that was away is not waited for again.
    own = "missing" in shared.get("team", {})
    answered = _answer(home, config, question, max(_DEEP, found.rank), own=own)
    hits = answered["hits"]
    name = uri_of(row)
    place = next((hit["rank"] for hit in hits if hit["uri"] == name), 0)
    parts = hits[place - 1].get("explain") or {} if place else {}
    meant = {name: parts[name] for name in _MEANT if parts.get(name) is not None}
    envelope: dict[str, Any] = {
        "schema": 1,
        "ok": True,
        "query": echoed(question),
        "uri": name,
        "docid": docid(row.hash),
        "title": row.title,
        "rank": place or None,
        "score": round(found.score, 4),
        "parts": found.parts | meant,
        "candidates": found.candidates,
        "terms": found.terms,
        "date": clock.iso(row.date),
        "route": answered["route"]["reason"],
        "above": [
            {key: hit[key] for key in ("rank", "score", "uri", "title")}
            for hit in hits[: min(_ABOVE, place - 1 if place else _ABOVE)]
        ],
    }
    only_when = answered["route"]["mode"] == "time"
    if row.owner:
        envelope["owner"] = row.owner
    if shared:
        envelope["freshness"] = shared
    filtered = _filtered(config, row, span, only_when)
    if filtered:
        envelope["verdict"], envelope["why"] = "filtered", filtered
    elif only_when:
        envelope["verdict"] = "answers" if 0 < place <= DEFAULT_LIMIT else "outranked"
        where = f"rank {place}" if place else "not among the newest"
        envelope["why"] = f"{where}: the question names days and nothing else, so the newest of those days come first"
    else:
        envelope["verdict"], envelope["why"] = _verdict(found, place, hits, meant)
    return envelope


def _answer(home: Home, config: Config, question: str, limit: int, *, own: bool) -> dict[str, Any]:
    """Return the answer of ``brain ask``, with as many hits as the document may rank."""
    try:
        found = _asked(home, config, question, limit, own)
        if found["route"]["mode"] == "time":
            found = _asked(home, config, question, _NEWEST, own)
    except EngineMissing as missing:  # nothing matches, in an index that no run has completed
        return {"hits": [], "route": {"mode": "lex", "reason": missing.message}}
    return found


def _asked(home: Home, config: Config, question: str, limit: int, own: bool) -> dict[str, Any]:
    request = Request(limit=limit, literal=True, rerank=False, own=own, explain=True)
    return answer(home, config, question, request, os.environ, builtin=True)[0]


def _filtered(config: Config, row: Row, span: Span | None, only_when: bool) -> str:
    """Return why the document may not answer at all, or ""."""
    # What others share under a name that is new here is asked like any other.
    is_new = row.owner and row.collection not in config.collections
    if row.collection not in config.asked and not is_new:
        if row.collection not in config.collections:
            return f"its collection {row.collection!r} is not in the configuration"
        return f"its collection {row.collection!r} is asked only by name: brain ask -c {row.collection} …"
    binds = span is not None and (span.mode == "bound" or only_when)
    if span is not None and binds and not (row.date < span.until and row.ended >= span.since):
        return f"its date {clock.iso(row.date)[:10]} is none of the days that the question asks for: {span.reason}"
    return ""


def _verdict(found: Explanation, place: int, hits: list[dict[str, Any]], meant: dict[str, float]) -> tuple[str, str]:
    if "cosine" in meant and 0 < place <= DEFAULT_LIMIT and not any(term["in_document"] for term in found.terms):
        return "answers", f"rank {place}: it is near the question's meaning (cosine {meant['cosine']:.2f})"
    if not any(term["in_document"] for term in found.terms) and not found.parts.get("date"):
        words = ", ".join(term["term"] for term in found.terms) or "none"
        return "no_common_term", f"the document has none of the question's terms ({words})"
    if 0 < place <= DEFAULT_LIMIT:
        matched = [term["term"] for term in found.terms if term["in_document"]]
        return "answers", f"rank {place}: it has {', '.join(matched) or 'the date that the question names'}"
    first = f"; the first is {hits[0]['title']!r}" if hits else ""
    missing = [term["term"] for term in found.terms if not term["in_document"]]
    lacks = f"; it lacks {', '.join(missing)}" if missing else ""
    if place:
        return "outranked", f"rank {place} of {found.candidates}{first}{lacks}"
    return "outranked", f"not among the passages and documents that BM25 nominates{first}{lacks}"


def _not_indexed(
    config: Config, reference: str, question: str, missing: NotFound, transcript: Fate | None
) -> dict[str, Any]:
    why, fix, near = missing.message, missing.fix, missing.near
    if transcript is not None:
        why, fix, near = transcript.why, transcript.fix, []
    else:
        for path in _paths(config, _plain(reference)):
            if os.path.lexists(path):
                why, fix = _on_disk(config, path)
                near = []
                break
    return {
        "schema": 1,
        "ok": True,
        "query": echoed(question),
        "uri": reference,
        "verdict": "not_indexed",
        "why": why,
        "fix": fix,
        "near": near,
        "rank": None,
    }


def _plain(reference: str) -> str:
    return reference.strip().strip("\"'")


def _paths(config: Config, name: str) -> list[str]:
    """Return where on disk a reference may point: a path as it is, or a collection and a path below it."""
    collection, _, below = name.removeprefix(SCHEME).partition("/")
    folder = config.collections.get(collection)
    inside = [join(folder.path, below)] if folder and below else []
    return inside if name.startswith(SCHEME) else [abspath(expanduser(name)), *inside]


def _on_disk(config: Config, path: str) -> tuple[str, str]:
    """Return (why, fix) of something on disk that the index does not have."""
    if os.path.isdir(path):
        return "it is a folder, not a document", "name one file in it"
    inside = [folder for folder in config.collections.values() if path.startswith(join(folder.path, ""))]
    if not inside:
        return "the file lies in no collection's folder", f"add its folder to {config.own}"
    for folder in inside:
        if _is_document(folder, path):
            if _blank(path):
                return "on disk, but there is no text in it: empty files are not indexed", ""
            return "on disk, not indexed yet", "brain index"
    masks = ", ".join((inside[0].pattern, *(f"not {mask}" for mask in inside[0].ignore)))
    why = (
        f"on disk, but the collection {inside[0].name!r} leaves it out: it takes {masks}, and nothing hidden or linked"
    )
    return why, f"edit {config.own}"


def _is_document(folder: Collection, path: str) -> bool:
    from qmd.index.update import walk

    try:
        return any(entry.path == path for entry in walk(folder))
    except OSError:
        return False


def _blank(path: str) -> bool:
    try:
        with open_regular(path) as stream:
            return not stream.read().decode("utf-8", "replace").strip()
    except OSError:
        return False
