"""``brain ask``: validate, route, search, and say how old and how trustworthy each answer is.

This module is the interactive clock's: it imports nothing that a plain question does not need.
"""

from __future__ import annotations

import os
import time
from os.path import join

import apsw

from core import clock
from core.errors import NO_RESULTS, OK, BadInput, BrainError, EngineTimeout
from ingest import pulse
from qmd import search, store
from qmd.answers import Filters, Hit
from runtime import age, dates
from runtime.hits import docid, resume, uri
from runtime.query import validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from core.config import Collection, Config
    from core.home import Home

DEFAULT_LIMIT = 5
_DEFAULT_TIMEOUT_S = 10.0


class Request:
    """What is asked besides the question. ``since`` and ``until`` are epoch seconds, ``until`` exclusive."""

    __slots__ = (
        "collections", "explain", "limit", "literal", "project", "since", "source", "strict", "timeout_s", "until",
    )  # fmt: skip

    def __init__(self, **given: Any) -> None:
        self.limit: int = given.get("limit") or DEFAULT_LIMIT
        self.collections: Sequence[str] = given.get("collections") or ()
        self.source: str = given.get("source") or ""
        self.project: str = given.get("project") or ""
        self.since: int | None = given.get("since")
        self.until: int | None = given.get("until")
        self.strict: bool = bool(given.get("strict"))
        self.literal: bool = bool(given.get("literal"))
        self.explain: bool = bool(given.get("explain"))
        self.timeout_s: float | None = given.get("timeout_s")


class Asker:
    """An open memory: ``with Asker(home, config) as asker`` and any number of questions."""

    __slots__ = ("_config", "_connection", "_freshness", "_home", "_searcher")

    def __init__(self, home: Home, config: Config) -> None:
        self._home = home
        self._config = config
        self._freshness: dict[str, Any] | None = None
        self._connection: apsw.Connection

    def __enter__(self) -> Asker:
        self._connection = store.open_index(self._home.index)
        self._searcher = search.Searcher(self._connection)
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def ask(self, question: str, request: Request) -> dict[str, Any]:
        """The envelope of one question (docs/ask.md); ``error`` is ``no_results`` where nothing matches.

        Raises BadQuery, BadInput, EngineTimeout, EngineMissing and LockContention.
        """
        started = time.perf_counter()
        question = validate(question, literal=request.literal)
        filters = self._filters(request)
        now = clock.now()
        boost, span = (None, None) if request.strict else date_boost(question, now)
        if span is not None and span.mode == "bound" and filters.since is None and filters.until is None:
            filters.since, filters.until = span.since, span.until
        timeout = request.timeout_s or float(self._config.section("ask").get("timeout_s") or _DEFAULT_TIMEOUT_S)
        # Waiting for a lock counts against the deadline too; a checkpoint holds readers up for milliseconds.
        self._connection.set_busy_timeout(min(2000, int(timeout * 1000)))
        try:
            # One transaction: what is nominated, scored and shown is one state of the index.
            with self._connection, store.Deadline(self._connection, timeout):
                hits = self._searcher.search(
                    question,
                    limit=request.limit,
                    filters=filters,
                    strict=request.strict,
                    boost=boost,
                    drop=span.phrase if span is not None else "",
                )
                freshness = self._fresh()
        except apsw.Error as error:
            failure = store.translate(error, self._home.index)
            if isinstance(failure, EngineTimeout):
                failure.message = f"no answer within {timeout:g} s"
            raise failure from error
        envelope: dict[str, Any] = {
            "schema": 1,
            "ok": True,
            "query": question,
            "route": {"mode": "strict" if request.strict else "lex", "reason": _reason(request, span)},
            "took_ms": 0.0,
            "freshness": freshness,
        }
        if not hits:
            envelope["error"] = "no_results"
        envelope["hits"] = [self._hit(rank, hit, now, request.explain) for rank, hit in enumerate(hits, 1)]
        envelope["took_ms"] = round((time.perf_counter() - started) * 1000, 1)
        return envelope

    def _filters(self, request: Request) -> Filters:
        known = self._config.collections
        for name in request.collections:
            if name not in known:
                raise BadInput(f"there is no collection {name!r}", f"one of: {', '.join(known)}")
        names = tuple(dict.fromkeys(request.collections)) or default_filters(self._config).collections
        fields: list[tuple[str, str, str]] = []
        if request.source:
            fields.append(("source", "=", request.source))
        if request.project:
            fields.append(("project", "GLOB", project_glob(request.project)))
        return Filters(names, since=request.since, until=request.until, fields=tuple(fields))

    def _fresh(self) -> dict[str, Any]:
        if self._freshness is None:
            waiting, as_of = pulse.pending(self._home)
            unembedded = search.document_count(self._connection)
            self._freshness = {
                "lexical": {"fresh": waiting == 0, "pending": waiting, "as_of": clock.iso(as_of) if as_of else None},
                # No semantic index exists yet, so every document awaits it.
                "semantic": {"fresh": False, "pending": unembedded, "as_of": None},
            }
        return self._freshness

    def _hit(self, rank: int, hit: Hit, now: int, explain: bool) -> dict[str, Any]:
        days, label = age.label(hit.date, now)
        folder: Collection | None = self._config.collections.get(hit.collection)
        result: dict[str, Any] = {
            "rank": rank,
            "score": round(hit.score, 4),
            "docid": docid(hit.hash),
            "uri": uri(hit.collection, hit.path),
            "path": join(folder.path, hit.path) if folder else None,
            "collection": hit.collection,
            "source": hit.fields.get("source"),
            "title": hit.title,
            "line": hit.line,
            "snippet": hit.snippet,
            "date": clock.iso(hit.date),
            "age_days": days,
            "age": label,
            "stale": days > 1,
            "trust": folder.trust if folder else "note",
            "project": hit.fields.get("project"),
            "resume": resume(hit.fields),
        }
        warning = age.warning(days)
        if warning:
            result["warning"] = warning
        if not hit.dated:
            result["date_source"] = "mtime"
        if explain:
            result["explain"] = hit.parts
        return result


def batch(asker: Asker, questions: Iterable[str], request: Request) -> Iterator[dict[str, Any]]:
    """One envelope a question, failures included: nothing that one question does ends the others."""
    for question in questions:
        try:
            yield asker.ask(question, request)
        except BrainError as error:
            yield {**error.envelope(), "query": question.strip()[:200]}


def exit_code(envelope: dict[str, Any]) -> int:
    """0 for an answer, 67 for a valid empty one."""
    return OK if envelope["hits"] else NO_RESULTS


def project_glob(pattern: str) -> str:
    """The SQLite GLOB for a project: a path with wildcards as it is, a bare name as any folder of that name."""
    pattern = os.path.expanduser(pattern).rstrip("/") or "/"
    if any(mark in pattern for mark in "*?["):
        return pattern
    return pattern if pattern.startswith("/") else f"*/{pattern}"


def date_boost(question: str, now: int) -> tuple[Any, Any]:
    """(boost, span): what the question's date lifts, and the date itself; (None, None) where it names none."""
    if not dates.may_name_a_date(question):
        return None, None
    span = dates.find(question, now)
    if span is None or span.mode == "bound":
        return None, span
    from runtime.boost import DateBoost

    return DateBoost(span), span


def default_filters(config: Config) -> Filters:
    """Every collection that is asked without being named."""
    return Filters(tuple(name for name, folder in config.collections.items() if folder.include_by_default))


def _reason(request: Request, span: Any) -> str:
    if request.strict:
        return "--strict: every term must occur"
    reason = "lexical: terms ORed, documents and passages scored together"
    if span is not None:
        reason += f"; {span.reason}"
    return reason


def refresh(home: Home, config: Config, progress: Callable[[int, int, str], None] | None = None) -> None:
    """Index what is new before asking (``--refresh``)."""
    from runtime.indexing import index

    index(home, config, trust_stat=True, progress=progress)
