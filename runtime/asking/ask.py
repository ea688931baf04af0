"""From a question to its envelope: an open index, and the steps that answer questions from it.

`answer` lists the steps. Each is a function over one `Inquiry` and the `Asker` that runs them: it reads fields and sets
others. A plain question passes by what it does not need, and this module imports nothing that such a question does
without. All steps share one read transaction: what is nominated, scored and shown is one state of the index.
"""

from __future__ import annotations

import time
from os.path import isdir

import apsw

from core.errors import BadInput, BrainError, EngineTimeout, Internal
from qmd.index import catalogue, store
from qmd.index.catalogue import Filters
from runtime.asking import envelope
from runtime.asking.envelope import Freshness
from runtime.asking.request import MODES, echoed, may_concern_time, project_glob, reranks, validate
from runtime.asking.request import Request as Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Protocol

    from core.config import Config
    from core.home import Home
    from qmd.index.parallel_read import SecondReader
    from qmd.search.search import Hit, Searcher
    from qmd.vectors.knn import Meaning
    from qmd.vectors.static_query import Encoder
    from runtime.asking.meaning import Semantics
    from runtime.asking.reranking import Reranking
    from runtime.dates.question import DateBoost
    from runtime.dates.span import Span

    class Answering(Protocol):
        """Answers one question after another from the index at ``path``."""

        @property
        def path(self) -> str: ...
        def ask(self, question: str, request: Request) -> dict[str, Any]: ...


# From so many embedded documents on, comparing each vector takes longer than opening the index a second time.
_MANY_EMBEDDED = 3_000
_LONGEST_WAIT_MS = 2000
_LEXICAL = "lexical: terms ORed, documents and passages scored together"
# Errors of ``vec0`` and SQLite about damaged tables of vectors.
_DAMAGED = (apsw.SQLError, apsw.CorruptError)


class Asker:
    """An open index: ``with Asker(home, config) as asker`` answers any number of questions.

    The searcher, the encoder of vectors and the reranker stay open for the next question.

    Args:
        home: the home to ask.
        config: its configuration.
        timeout_s: seconds for opening the index, and for each question without a time in its request.
        encoder: turns questions into vectors of the configured model. Without one, the fitted table does.
        remember: keep a reranker's scores in the index, and use those that are kept.
        staying: the process answers many questions, so the index is opened twice at once.
    """

    if TYPE_CHECKING:
        connection: apsw.Connection
        _deadline: store.Deadline | None
        _freshness: Freshness | None
        _searcher: Searcher | None
        _semantics: Semantics | str | None
        _reranking: Reranking | None
        # A second connection, which reads in parallel.
        _second: SecondReader | None

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
        self.home, self.config = home, config
        self._timeout_s = timeout_s or config.timeout_s
        self._encoder, self._remember, self._staying = encoder, remember, staying
        # Each is opened for the first question that needs it, and kept.
        self._deadline = self._freshness = self._searcher = self._semantics = self._reranking = self._second = None

    def __enter__(self) -> Asker:
        self.connection = store.open_index(self.home.index, busy_ms=wait_ms(self._timeout_s))
        if self._staying:
            self._open_second()
        return self

    def __exit__(self, *_: object) -> None:
        for opened in (self._reranking, self._second, self.connection):
            if opened is not None:
                opened.close()

    @property
    def path(self) -> str:
        """The index that is asked."""
        return self.home.index

    def knows(self, collection: str) -> bool:
        """Return True if there is a collection of this name."""
        return collection in self.config.collections

    def refresh(self, encoder: Encoder | None, freshness: Freshness | None = None) -> None:
        """Forget what may have changed since the last question; ``encoder`` as for a new Asker.

        ``freshness``: one that was read a moment ago. Reading it takes longer than many answers.
        """
        self._freshness, self._semantics = freshness, None
        self._encoder = encoder

    def ask(self, question: str, request: Request) -> dict[str, Any]:
        """Return the envelope of one question (docs/ask.md); ``error`` is ``no_results`` if nothing matches.

        Raises BadQuery, BadInput, EngineTimeout, LockContention, and EngineMissing if nothing matches but no index run
        has ended yet either, or if the request wants a reranker and none is there.
        """
        timeout_s = request.timeout_s or self._timeout_s
        # Waiting for a lock counts against the deadline, too.
        self.connection.set_busy_timeout(wait_ms(timeout_s))
        try:
            with store.Deadline(self.connection, timeout_s) as self._deadline:
                if self._second is not None:
                    self._second.deadline = self._deadline
                inquiry = Inquiry(question, request, self._deadline, Filters(self.config.asked, unnamed=""))
                with self.connection:
                    answer(self, inquiry)
        except apsw.Error as error:
            failure = store.translate(error, self.home.index)
            if isinstance(failure, EngineTimeout):
                failure.message = f"no answer within {timeout_s:g} s"
            raise failure from error
        return write_envelope(self, inquiry)

    def search(self, inquiry: Inquiry, limit: int) -> None:
        """Find at most ``limit`` hits, and measure the evidence of the best. Raises apsw.Error.

        If the vectors are damaged, the words answer alone.
        """
        searcher = self.open_searcher()
        if inquiry.mode == "time":
            from runtime.asking import chronology

            chronology.find_newest(self, inquiry, limit)
            return
        if inquiry.mode == "strict":
            from qmd.search import lex

            searcher.last = None
            inquiry.hits = lex.strict(self.connection, inquiry.question, limit, inquiry.filters)
            return
        from qmd.search.search import Ranking

        searcher.last = ranking = Ranking(searcher, inquiry.filters, limit, inquiry.boost, inquiry.meaning)
        try:
            ranking.rank(inquiry.question, inquiry.span.phrase if inquiry.span is not None else "")
            inquiry.hits = ranking.hits(parts=inquiry.request.explain or inquiry.boost is not None)
        except _DAMAGED:
            if inquiry.meaning is None:
                raise
            inquiry.meaning, inquiry.mode = None, "lex"
            inquiry.reason = f"{_LEXICAL}; not by meaning: the vectors are damaged (brain embed --force)"
            self.search(inquiry, limit)
        else:
            inquiry.evidence = ranking.evidence

    def read_freshness(self) -> Freshness:
        """Return how far answers can be behind, as of the first question or the last ``refresh``."""
        if self._freshness is None:
            self._freshness = Freshness(self.home, self.config, self.connection)
        return self._freshness

    def open_searcher(self) -> Searcher:
        """Return the searcher; the second connection may be at work while its modules are imported."""
        if self._searcher is None:
            from core import telemetry  # noqa: F401  # the row about this answer needs it
            from qmd.search.search import Searcher

            self._searcher = Searcher(self.connection)
        self._searcher.second = self._second
        return self._searcher

    def open_semantics(self) -> Semantics | str:
        """Return the vectors and an encoder for them, or why there are none. Raises apsw.Error."""
        known = self._semantics
        if known is not None and (isinstance(known, str) or known.is_current()):
            return known
        from runtime.asking import meaning

        if self._second is None and self.read_freshness().embedded >= _MANY_EMBEDDED:
            self._open_second()
        self._semantics = known = meaning.open_space(self.connection, self.config, self._encoder, self._second)
        return known

    def open_reranking(self) -> Reranking:
        """Return the configured reranker. Raises BrainError if there is none."""
        if self._reranking is None:
            from runtime.asking.reranking import Reranking

            self._reranking = Reranking(self.connection, self.config, remember=self._remember)
        return self._reranking

    def _open_second(self) -> None:
        from qmd.index.parallel_read import SecondReader

        self._second = SecondReader(self.home.index)
        self._second.deadline = self._deadline


class Inquiry:
    """One question, and what the steps have found for its answer.

    ``mode`` is ``strict``, ``lex``, ``vec``, ``hybrid`` or ``time``; ``reason`` explains it. ``now`` is epoch seconds.
    ``wanted`` is how many hits are looked for, so that ``request.limit`` of them are shown. ``nearest`` are the best
    hits of a question that nothing clearly answers. ``twins`` has the other representation of a hit by the hit's id.
    ``evidence`` (0–1) is None if nothing is known about it. ``reranked`` is the report of the reranker, None if none
    was asked for. ``missing`` are rare words of the question that the best hit lacks. ``validity`` has what still
    holds, by the hit's id.
    """

    if TYPE_CHECKING:
        fresh: Freshness
        hits: list[Hit]
        nearest: list[Hit]
        twins: dict[int, Hit]
        validity: dict[int, dict[str, Any]]
        missing: list[str]
        span: Span | None
        boost: DateBoost | None
        meaning: Meaning | None
        days: dict[str, Any] | None
        evidence: float | None
        reranking: Reranking | None
        reranked: dict[str, Any] | None
        chance: dict[str, float] | None

    def __init__(self, question: str, request: Request, deadline: store.Deadline, filters: Filters) -> None:
        self.question, self.request, self.deadline, self.filters = question, request, deadline, filters
        self.started, self.now = time.perf_counter(), int(time.time())
        self.mode, self.reason, self.wanted = "lex", _LEXICAL, request.limit
        self.hits, self.nearest, self.twins, self.validity, self.missing = [], [], {}, {}, []
        self.span = self.boost = self.meaning = self.days = None
        self.evidence = self.chance = self.reranking = self.reranked = None
        self.no_day, self.abstained = "", False


def answer(asker: Asker, inquiry: Inquiry) -> None:
    """Take the steps from a question to its hits. Raises what ``Asker.ask`` does, and apsw.Error."""
    validate_question(asker, inquiry)
    request = inquiry.request
    if request.strict:
        require_words(inquiry)
    if may_concern_time(inquiry.question, request.mode):
        from runtime.asking import chronology

        chronology.read_dates(inquiry)
    if reranks(request, asker.config):
        from runtime.asking import reranking

        reranking.open_for(asker, inquiry)
    choose_route(asker, inquiry)
    search(asker, inquiry)
    if is_special(inquiry):
        from runtime.asking import arranging

        arranging.arrange(asker, inquiry)
    del inquiry.hits[request.limit :]
    if not inquiry.hits:
        from runtime.asking import absence

        absence.require_answerable(asker, inquiry)
    if inquiry.span is not None or inquiry.no_day:
        chronology.explain_dates(inquiry)
    if inquiry.filters.fields:
        inquiry.reason += f"; only {', '.join(f'{name} {value}' for name, _, value in inquiry.filters.fields)}"
    if inquiry.hits and inquiry.mode != "time":
        from runtime.asking import deciding

        deciding.decide(asker, inquiry)
    if inquiry.mode == "time" or inquiry.twins:
        asker.open_searcher().show((*inquiry.hits, *inquiry.nearest, *inquiry.twins.values()))
    if may_be_outdated(inquiry):
        from runtime.asking import judging

        judging.judge(asker, inquiry)
    if inquiry.reranked is not None:
        explain_reranking(inquiry, inquiry.reranked)
    if not inquiry.hits:
        from runtime.asking import absence

        absence.explain(asker, inquiry)


def validate_question(asker: Asker, inquiry: Inquiry) -> None:
    """Raise BadQuery unless the question can be asked, BadInput for what the request names and nothing has."""
    request, filters = inquiry.request, inquiry.filters
    inquiry.question = validate(inquiry.question, literal=request.literal)
    if request.mode not in MODES:
        raise BadInput(f"there is no mode {request.mode!r}", f"one of: {', '.join(MODES)}")
    filters.since, filters.until = request.since, request.until
    if request.collections:
        for name in request.collections:
            if not asker.knows(name):
                known = ", ".join(asker.config.collections)
                raise BadInput(f"there is no collection {name!r}", f"one of: {known}")
        filters.collections, filters.unnamed = tuple(dict.fromkeys(request.collections)), None
    if request.source:
        filters.fields += (("source", "=", request.source),)
    if request.project:
        filters.fields += (("project", "GLOB", project_glob(request.project)),)


def require_words(inquiry: Inquiry) -> None:
    """Let every word be required, as ``--strict`` asks. Raises BadInput if the mode contradicts it."""
    if inquiry.request.mode not in ("auto", "lex"):
        raise BadInput(f"--strict is words, --mode {inquiry.request.mode} is not", "give one of them")
    inquiry.mode, inquiry.reason = "strict", "--strict: every term must occur"


def choose_route(asker: Asker, inquiry: Inquiry) -> None:
    """Read how fresh the index is, and decide between words and meaning."""
    inquiry.fresh = fresh = asker.read_freshness()
    wanted = inquiry.request.mode
    if inquiry.mode != "lex":
        return
    if wanted == "lex":
        inquiry.reason = f"--mode lex; {_LEXICAL}"
    elif not any(map(str.isalnum, inquiry.question)):
        inquiry.reason += "; not by meaning: there is no word in it"
    elif not fresh.embedded:
        insisted = "" if wanted == "auto" else f", --mode {wanted} or not"
        inquiry.reason += f"; nothing is embedded by {fresh.space} yet{insisted}"
    else:
        from runtime.asking import meaning

        meaning.choose(asker, inquiry)


def search(asker: Asker, inquiry: Inquiry) -> None:
    """Search for as many hits as are shown or reranked: twice as many if a distillate and its session may be one."""
    known = asker.config.collections
    trusts = {name: known[name].trust for name in inquiry.filters.collections if name in known}
    distilled = [name for name, trust in trusts.items() if trust == "distilled"]
    if distilled and "session" in trusts.values() and catalogue.has_any(asker.connection, *distilled):
        inquiry.wanted *= 2
    asker.search(inquiry, inquiry.wanted if inquiry.reranking is None else max(inquiry.reranking.width, inquiry.wanted))


def is_special(inquiry: Inquiry) -> bool:
    """Return True if the order of the hits is not that of their scores: ``arranging`` knows the cases."""
    hits = inquiry.hits
    if inquiry.reranking is not None or len({hit.path for hit in hits}) < len(hits):
        return True
    return any("synthetic" in hit.fields or "superseded_by" in hit.fields for hit in hits)


def may_be_outdated(inquiry: Inquiry) -> bool:
    """Return True if there is another hit to compare one with, or a hit's project is on this machine."""
    return len(inquiry.hits) > 1 or any(isdir(str(hit.fields.get("project") or "")) for hit in inquiry.hits)


def explain_reranking(inquiry: Inquiry, report: dict[str, Any]) -> None:
    """Add to the reason by which model the hits were reranked, or why they were not."""
    applied, model, reason = report["applied"], report["model"], report["reason"]
    inquiry.reason += f"; reranked by {model}" if applied else f"; not reranked: {reason}"


def write_envelope(asker: Asker, inquiry: Inquiry) -> dict[str, Any]:
    """Return the envelope (docs/ask.md)."""
    found: dict[str, Any] = {
        "schema": 1,
        "ok": True,
        "query": echoed(inquiry.question),
        "route": {"mode": inquiry.mode, "reason": inquiry.reason},
        "took_ms": 0.0,
        "freshness": inquiry.fresh.envelope(),
        "evidence": None if inquiry.evidence is None else round(inquiry.evidence, 3),
    }
    if inquiry.reranked is not None:
        # The reasons may quote the endpoint of the reranker.
        found["rerank"], found["route"] = map(envelope.as_shown, (inquiry.reranked, found["route"]))
    if not inquiry.hits:
        found.update(envelope.nothing(asker.config, inquiry))
    if inquiry.span is not None:
        found["dates"] = envelope.dates_asked(inquiry.span)
    if inquiry.missing:
        found["missing"] = inquiry.missing
    if inquiry.chance is not None and inquiry.request.explain:
        found["chance"] = inquiry.chance
    found["clear"] = envelope.clear([hit.score for hit in inquiry.hits])
    found["hits"] = envelope.entries(asker.config, inquiry, inquiry.hits)
    found["took_ms"] = round((time.perf_counter() - inquiry.started) * 1000, 1)
    return found


def wait_ms(timeout_s: float) -> int:
    """Return how long a statement waits for a lock."""
    return min(_LONGEST_WAIT_MS, int(timeout_s * 1000))


def batch(asker: Answering, questions: Iterable[str], request: Request) -> Iterator[dict[str, Any]]:
    """Yield one envelope a question, failures included: nothing that one question does ends the others."""
    for question in questions:
        try:
            yield asker.ask(question, request)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is this question's outcome
            from core.text import encodable

            failure = error if isinstance(error, BrainError) else store.damaged(error, asker.path)
            if failure is None:
                failure = Internal(f"{type(error).__name__}: {error}", "ask it alone: brain ask …")
            yield {**failure.envelope(), "query": encodable(echoed(question.strip())[:200])}
