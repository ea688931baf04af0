"""``brain ask``: validate, route, search, and say how old and how trustworthy each answer is.

This module is the interactive clock's: it imports nothing that a plain question does not need.
"""

from __future__ import annotations

import os
import time
from os.path import join

import apsw

from core import clock
from core.errors import NO_RESULTS, OK, BadInput, BrainError, EngineMissing, EngineTimeout, Internal
from qmd import search, store
from qmd.answers import Filters, Hit
from qmd.terms import STOP
from runtime import age, dates, freshness
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
    """An open memory: ``with Asker(home, config) as asker`` and any number of questions.

    ``timeout_s`` is how long opening may take, and each question that names no time of its own.
    """

    __slots__ = ("_config", "_connection", "_freshness", "_home", "_searcher", "_timeout_s")

    def __init__(self, home: Home, config: Config, timeout_s: float | None = None) -> None:
        self._timeout_s = timeout_s or float(config.section("ask").get("timeout_s") or _DEFAULT_TIMEOUT_S)
        self._home = home
        self._config = config
        self._freshness: freshness.Freshness | None = None
        self._connection: apsw.Connection

    def __enter__(self) -> Asker:
        self._connection = store.open_index(self._home.index, busy_ms=self._busy_ms(self._timeout_s))
        self._searcher = search.Searcher(self._connection)
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def ask(self, question: str, request: Request) -> dict[str, Any]:
        """The envelope of one question (docs/ask.md); ``error`` is ``no_results`` where nothing matches.

        Raises BadQuery, BadInput, EngineTimeout, LockContention, and EngineMissing where nothing matches but no index
        run has ended yet either.
        """
        started = time.perf_counter()
        question = validate(question, literal=request.literal)
        now = clock.now()
        plan = _Plan(question, request, self._filters(request), now)
        timeout = request.timeout_s or self._timeout_s
        # Waiting for a lock counts against the deadline too.
        self._connection.set_busy_timeout(self._busy_ms(timeout))
        try:
            # One transaction: what is nominated, scored and shown is one state of the index.
            with self._connection, store.Deadline(self._connection, timeout) as deadline:
                hits = plan.run(self._searcher)
                if any("superseded_by" in hit.fields for hit in hits):
                    from runtime.supersede import arrange

                    hits = arrange(self._connection, hits)
                fresh = self._freshness or freshness.Freshness(self._home, self._config, self._connection)
                if deadline.passed():
                    raise apsw.InterruptError("the answer came after the deadline")
        except apsw.Error as error:
            failure = store.translate(error, self._home.index)
            if isinstance(failure, EngineTimeout):
                failure.message = f"no answer within {timeout:g} s"
            raise failure from error
        self._freshness = fresh
        if not hits and not fresh.complete:
            raise EngineMissing("nothing matches yet, and no index run has ended", "brain index")
        envelope: dict[str, Any] = {
            "schema": 1,
            "ok": True,
            "query": question,
            "route": {"mode": plan.mode, "reason": plan.reason(hits)},
            "took_ms": 0.0,
            "freshness": fresh.envelope(),
        }
        if not hits:
            envelope["error"] = "no_results"
        envelope["hits"] = [self._hit(rank, hit, now, request.explain) for rank, hit in enumerate(hits, 1)]
        envelope["took_ms"] = round((time.perf_counter() - started) * 1000, 1)
        return envelope

    @staticmethod
    def _busy_ms(timeout_s: float) -> int:
        return min(2000, int(timeout_s * 1000))

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
            "source": hit.field("source"),
            "type": hit.field("type"),
            "title": hit.title,
            "line": hit.line,
            "snippet": hit.snippet,
            "date": clock.iso(hit.date),
            "age_days": days,
            "age": label,
            "stale": age.stale(days),
            "trust": folder.trust if folder else "note",
            "project": hit.field("project"),
            "resume": resume(hit.fields),
        }
        by = hit.field("superseded_by")
        if by:
            result["superseded_by"] = by
        warning = "; ".join(filter(None, (by and f"superseded by {by}", age.warning(days))))
        if warning:
            result["warning"] = warning
        if not hit.dated:
            result["date_source"] = "mtime"
        if explain:
            result["explain"] = hit.parts
        return result


class _Plan:
    """What a question asks for: a search, a search under a date, or a walk through the days that it names."""

    __slots__ = ("_boost", "_filters", "_question", "_request", "_span", "mode")

    def __init__(self, question: str, request: Request, filters: Filters, now: int) -> None:
        self._question = question
        self._request = request
        self._filters = filters
        boost: Any = None
        span: Any = None
        if not request.strict:
            boost, span = date_boost(question, now)
        self._boost = boost
        self._span = span
        self.mode = "strict" if request.strict else "lex"
        if span is None:
            return
        given = filters.since is not None or filters.until is not None
        if _asks_only_when(question, span.phrase):
            self.mode = "time"
        if not given and (span.mode == "bound" or self.mode == "time"):
            filters.since, filters.until = span.since, span.until

    def run(self, searcher: search.Searcher) -> list[Hit]:
        """The hits. Raises apsw.Error."""
        if self.mode == "time":
            return searcher.newest(limit=self._request.limit, filters=self._filters)
        return searcher.search(
            self._question,
            limit=self._request.limit,
            filters=self._filters,
            strict=self._request.strict,
            boost=self._boost,
            drop=self._span.phrase if self._span is not None else "",
        )

    def reason(self, hits: list[Hit]) -> str:
        """Why the answer was looked for in this way, dates and filters included."""
        reason = {
            "strict": "--strict: every term must occur",
            "lex": "lexical: terms ORed, documents and passages scored together",
            "time": "chronological: the documents of the days named, newest first",
        }[self.mode]
        if self._span is not None:
            reason += f"; {self._span.reason}"
            if self._boost is not None and hits and self.mode == "lex" and not any(hit.parts["date"] for hit in hits):
                reason += "; nothing that matches is from those days"
        names = [f"{name} {value}" for name, _, value in self._filters.fields]
        return reason + (f"; only {', '.join(names)}" if names else "")


# Words of a question that asks for the record of some days and for nothing in particular.
_RECORD = frozenset(
    """happen happened happening work worked working do done doing change changed changes going go went session sessions
    conversation conversations document documents note notes talk talked discuss discussed write wrote writing been
    made make everything activity activities history log show list lately recently project projects thing things
    today""".split()
)


def _asks_only_when(question: str, phrase: str) -> bool:
    """Whether nothing is left to search for once the date is taken out ("what did I do yesterday?")."""
    rest = question.replace(phrase, " ", 1).lower()
    words = "".join(character if character.isalnum() else " " for character in rest).split()
    return all(word in STOP or word in _RECORD for word in words)


def batch(asker: Asker, questions: Iterable[str], request: Request) -> Iterator[dict[str, Any]]:
    """One envelope a question, failures included: nothing that one question does ends the others."""
    for question in questions:
        try:
            yield asker.ask(question, request)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is this question's outcome
            from core.text import encodable

            message = f"{type(error).__name__}: {error}"
            failure = error if isinstance(error, BrainError) else Internal(message, "ask it alone: brain ask …")
            yield {**failure.envelope(), "query": encodable(question.strip()[:200])}


def exit_code(envelope: dict[str, Any]) -> int:
    """0 for an answer, 67 for a valid empty one."""
    return OK if envelope["hits"] else NO_RESULTS


def project_glob(pattern: str) -> str:
    """The SQLite GLOB for a project: a path with wildcards as it is, a bare name as any folder of that name."""
    if pattern in (".", "..") or pattern.startswith(("./", "../")):
        pattern = os.path.abspath(pattern)
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


def refresh(home: Home, config: Config, wait_s: float, progress: Callable[[int, int, str], None] | None = None) -> None:
    """Index what is new before asking (``--refresh``). Raises LockContention where another run does not end in time."""
    from runtime.indexing import index

    index(home, config, trust_stat=True, wait_s=wait_s, progress=progress)
