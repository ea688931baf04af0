"""``brain ask``: validate, route, search, and say how old and how trustworthy each answer is.

This module is the interactive clock's: it imports nothing that a plain question does not need.
"""

from __future__ import annotations

import time

import apsw

from core import clock
from core.errors import BadInput, BrainError, EngineMissing, EngineTimeout, Internal
from qmd.index import store
from qmd.index.catalogue import Filters
from runtime.asking import freshness
from runtime.asking.plan import Plan
from runtime.asking.request import DEFAULT_LIMIT as DEFAULT_LIMIT
from runtime.asking.request import Request as Request
from runtime.asking.request import project_glob as project_glob
from runtime.asking.request import reranks, validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Protocol

    from core.config import Config
    from core.home import Home
    from qmd.search.parallel_read import Beside
    from qmd.search.search import Searcher
    from qmd.vectors.static_query import Encoder
    from runtime.asking.meaning import Semantics
    from runtime.asking.reranking import Reranking

    class Answering(Protocol):
        """Answers one question after another from the index at ``path``."""

        @property
        def path(self) -> str: ...
        def ask(self, question: str, request: Request) -> dict[str, Any]: ...


# What must speak for an answer (0–1), so that there is one; measured in docs/retrieval.md.
DEFAULT_MIN_SCORE = 0.16
# From so many documents with vectors on, looking at each vector takes longer than opening the index once more.
_MANY_EMBEDDED = 3_000
# The trust of collections of pages and articles.
_READ = ("article", "browser")


class Asker:
    """An open memory: ``with Asker(home, config) as asker`` and any number of questions.

    ``timeout_s`` is how long opening may take, and each question that names no time of its own. ``encoder`` turns
    questions into vectors of the configured provider's model; without one the fitted table does. ``remember``: whether
    a reranker's scores are kept in the index, and those that are count. ``staying`` is for a process that answers many
    questions, so that it is worth while to open the index twice.
    """

    __slots__ = (
        "_beside", "_config", "_connection", "_deadline", "_encoder", "_freshness", "_home", "_remember", "_reranking",
        "_searcher", "_semantics", "_staying", "_timeout_s",
    )  # fmt: skip

    def __init__(
        self,
        home: Home,
        config: Config,
        timeout_s: float | None = None,
        encoder: Encoder | None = None,
        *,
        remember: bool = True,
        staying: bool = False,
    ) -> None:
        self._remember = remember
        self._beside: Beside | None = None
        self._staying = staying
        self._deadline: store.Deadline | None = None
        self._encoder = encoder
        self._semantics: Semantics | str | None = None
        self._timeout_s = timeout_s or config.timeout_s
        self._home = home
        self._config = config
        self._freshness: freshness.Freshness | None = None
        self._reranking: Reranking | None = None
        self._searcher: Searcher | None = None
        self._connection: apsw.Connection

    def __enter__(self) -> Asker:
        self._connection = store.open_index(self._home.index, busy_ms=self._busy_ms(self._timeout_s))
        if self._staying:
            self._look_twice()
        return self

    def __exit__(self, *_: object) -> None:
        if self._reranking is not None:
            self._reranking.close()
        if self._beside is not None:
            self._beside.close()
        self._connection.close()

    @property
    def path(self) -> str:
        """The index that is asked."""
        return self._home.index

    def refresh(self, encoder: Encoder | None) -> None:
        """Look anew at all that may have changed since the last question; ``encoder`` as for a new one."""
        self._freshness = None
        self._semantics = None
        self._encoder = encoder

    def ask(self, question: str, request: Request) -> dict[str, Any]:
        """The envelope of one question (docs/ask.md); ``error`` is ``no_results`` where nothing matches.

        Raises BadQuery, BadInput, EngineTimeout, LockContention, and EngineMissing where nothing matches but no index
        run has ended yet either, or where the request wants a reranker and none is there.
        """
        started = time.perf_counter()
        question = validate(question, literal=request.literal)
        now = clock.now()
        filters = self._filters(request)
        read = tuple(name for name, each in self._config.collections.items() if each.trust in _READ)
        plan = Plan(question, request, filters, now, self._open_semantics, read)
        reranking = None
        reranked: dict[str, Any] | None = None
        if reranks(request, self._config):
            reranking, reranked = self._open_reranking(plan, request)
        timeout = request.timeout_s or self._timeout_s
        # Waiting for a lock counts against the deadline too.
        self._connection.set_busy_timeout(self._busy_ms(timeout))
        try:
            # One transaction: what is nominated, scored and shown is one state of the index.
            left = timeout - (time.perf_counter() - started)
            with self._connection, store.Deadline(self._connection, left) as deadline:
                fresh = self._freshness or freshness.Freshness(self._home, self._config, self._connection)
                self._freshness = fresh
                self._deadline = deadline
                if self._beside is not None:
                    self._beside.deadline = deadline
                plan.choose(bool(fresh.embedded), fresh.space)
                # The other connection may be at work by now: what the rest of the answer needs is imported meanwhile.
                searcher = self._open_searcher()
                from core import telemetry  # noqa: F401
                from runtime.asking import representations
                from runtime.asking.envelope import as_shown, entry

                most = representations.reach(self._connection, self._config, filters.collections, request.limit)
                hits = plan.run(searcher, most if reranking is None else max(reranking.width, most))
                synthetic = any(hit.fields.get("synthetic") is True for hit in hits)
                if synthetic:
                    from runtime.asking.synthetic import CANDIDATES

                    hits = plan.run(searcher, CANDIDATES + most)
                if reranking is not None:
                    hits, reranked = reranking.apply(question, hits, deadline.left())
                if synthetic:
                    from runtime.asking.synthetic import demote

                    hits = demote(hits, most)
                hits = hits[:most]
                if any("superseded_by" in hit.fields for hit in hits):
                    from runtime.asking.supersede import arrange

                    hits = arrange(self._connection, hits)
                hits, twins = representations.unite(hits, self._config, request.limit)
                if deadline.passed():
                    raise apsw.InterruptError("the answer came after the deadline")
        except apsw.Error as error:
            failure = store.translate(error, self._home.index)
            if isinstance(failure, EngineTimeout):
                failure.message = f"no answer within {timeout:g} s"
            raise failure from error
        if not hits and request.source:
            from runtime.asking import absence

            absence.require_source(self._connection, request.source)
        if not hits and not fresh.complete:
            from runtime.asking import absence

            if absence.is_anything_unread(self._home, self._config, self._connection):
                raise EngineMissing("nothing matches yet, and no index run has ended", "brain index")
        reason = plan.reason(hits)
        strength = self._evidence(plan, fresh, searcher)
        least = DEFAULT_MIN_SCORE if request.min_score is None else request.min_score
        # What is looked for to the letter is an answer wherever it stands, unless a score is given.
        weak = hits and strength is not None and strength < least
        if weak and (request.min_score is not None or not plan.exact):
            reason += f"; nothing relevant: what matches is worth {strength:.2f}, less than {least:.2f} (--min-score)"
            hits = []
        if reranked is not None:
            by = reranked["model"]
            reason += f"; reranked by {by}" if reranked["applied"] else f"; not reranked: {reranked['reason']}"
        found_days = None
        if not hits:
            if fresh.complete:
                self._require_indexed()
            found_days = self._empty_days(filters)
            reason += fresh.waiting()
        envelope: dict[str, Any] = {
            "schema": 1,
            "ok": True,
            "query": question,
            "route": {"mode": plan.mode, "reason": reason},
            "took_ms": 0.0,
            "freshness": fresh.envelope(),
            "evidence": None if strength is None else round(strength, 3),
        }
        if reranked is not None:
            # An endpoint's words may be among the reasons.
            envelope["rerank"], envelope["route"] = map(as_shown, (reranked, envelope["route"]))
        if not hits:
            envelope["error"] = "no_results"
            if weak:  # something matches, and too little speaks for it
                envelope["abstained"] = True
            if found_days is not None:
                envelope["days"] = found_days
        envelope["hits"] = [
            entry(rank, hit, self._config, now, twin=twins.get(hit.id), explain=request.explain)
            for rank, hit in enumerate(hits, 1)
        ]
        envelope["took_ms"] = round((time.perf_counter() - started) * 1000, 1)
        return envelope

    def _require_indexed(self) -> None:
        from runtime.asking import absence

        try:
            absence.require_indexed(self._home, self._config, self._connection)
        except apsw.Error as error:
            raise store.translate(error, self._home.index) from error

    def _empty_days(self, filters: Filters) -> dict[str, Any] | None:
        """What is remembered of the days that the question was limited to, None if it was not."""
        if filters.since is None and filters.until is None:
            return None
        from runtime.asking import absence

        try:
            return absence.around_days(self._connection, filters)
        except apsw.Error as error:
            raise store.translate(error, self._home.index) from error

    def _look_twice(self) -> None:
        from qmd.search.parallel_read import Beside

        self._beside = Beside(self._home.index)
        self._beside.deadline = self._deadline

    def _open_searcher(self) -> Searcher:
        if self._searcher is None:
            from qmd.search.search import Searcher

            self._searcher = Searcher(self._connection)
        self._searcher.beside = self._beside
        return self._searcher

    def _open_semantics(self) -> Semantics | str:
        """What to ask by meaning with, or why there is nothing. Raises apsw.Error."""
        known = self._semantics
        if known is not None and (isinstance(known, str) or known.stands()):
            return known
        from runtime.asking import meaning

        fresh = self._freshness
        if self._beside is None and fresh is not None and fresh.embedded >= _MANY_EMBEDDED:
            self._look_twice()
        self._semantics = known = meaning.open_space(self._connection, self._config, self._encoder, self._beside)
        return known

    def _open_reranking(self, plan: Plan, request: Request) -> tuple[Reranking | None, dict[str, Any] | None]:
        """(the reranker, None), or (None, why there is none). Raises BrainError where the request names it itself."""
        from runtime.asking.reranking import Reranking, absent

        if plan.mode == "time":
            return None, absent("the documents of some days stand in the order of time")
        if self._reranking is None:
            try:
                self._reranking = Reranking(self._connection, self._config, remember=self._remember)
            except BrainError as error:
                if request.rerank:
                    raise
                return None, absent(error.message)
        return self._reranking, None

    @staticmethod
    def _evidence(plan: Plan, fresh: freshness.Freshness, found: Searcher) -> float | None:
        if not plan.judged:
            return None
        from qmd.search.scoring import evidence

        whole = fresh.embedded >= fresh.documents
        return evidence(found.share, found.passages, found.cosine, plan.level, whole=whole, covered=found.covered)

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


def batch(asker: Answering, questions: Iterable[str], request: Request) -> Iterator[dict[str, Any]]:
    """One envelope a question, failures included: nothing that one question does ends the others."""
    for question in questions:
        try:
            yield asker.ask(question, request)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is this question's outcome
            from core.text import encodable

            failure = error if isinstance(error, BrainError) else store.damaged(error, asker.path)
            if failure is None:
                failure = Internal(f"{type(error).__name__}: {error}", "ask it alone: brain ask …")
            yield {**failure.envelope(), "query": encodable(question.strip()[:200])}


def default_filters(config: Config) -> Filters:
    """Every collection that is asked without being named."""
    return Filters(tuple(name for name, folder in config.collections.items() if folder.include_by_default))
