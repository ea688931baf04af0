"""The verbs that may need models: ``query``, ``vsearch``, ``pull``. They print a warning if a model is missing."""

from __future__ import annotations

import os

from core.errors import BadInput, BrainError
from qmd import ecma, trust
from qmd.app.embedding import section
from qmd.app.projects import trusted
from qmd.app.results import Result, show, show_none
from qmd.app.searching import filters_of, wanted
from qmd.generation.generator import NONE, Choice, choose
from qmd.index import catalogue
from qmd.search import hybrid, lex, semantic, structured
from qmd.vectors import models

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from qmd.app.session import Session
    from qmd.generation.expansion import Expander
    from qmd.reranking.judge import Judge
    from qmd.search.semantic import Semantic
    from qmd.search.structured import Search

_HINT = "If qmd still behaves unexpectedly, run 'qmd doctor' for diagnostics."
_ALL = 500
_STALE_DAYS = 14
_WARN_PERCENT = 10
# `vsearch` hides hits below this cosine, unless --min-score is given.
_LEAST_COSINE = 0.3


def query(session: Session) -> None:
    """Answer from keyword and vector lists, fused. Raises Exit if every line needs vectors and there are none."""
    arguments = session.arguments
    if not arguments.query:
        raise session.fail("Usage: qmd query [options] <query>")
    shape = arguments.format
    trusted(session)
    connection = session.index
    collections = wanted(session)
    _warn_about_index(session)
    try:
        parsed = structured.parse(arguments.query)
        if parsed:
            structured.check(parsed.searches)
    except structured.QueryError as error:
        raise session.fail(str(error)) from None
    out = session.out
    intent = arguments.text.get("intent") or (parsed.intent if parsed else "")
    limits = _limits(session)
    judge = _judge(session)
    meaning: semantic.Semantic | str = ""
    if parsed is None or any(search.kind != "lex" for search in parsed.searches):
        meaning = _meaning(session)
    expansion = None if parsed else Expansion(session, structured.plain(arguments.query), intent)

    def answered(meaning: semantic.Semantic | str, again: bool = False) -> tuple[list[hybrid.FusedHit], str]:
        if expansion is not None:
            return _plain(session, expansion, collections, limits, meaning, judge)
        assert parsed is not None
        return _document(session, parsed, collections, limits, intent, meaning, judge, again)

    try:
        try:
            hits, shown = answered(meaning)
        except BrainError as error:
            if isinstance(meaning, str):
                raise session.fail(f"qmd query: {error.message}", error.fix) from None
            # If the encoder fails, keyword search still finds the words in the texts.
            hits, shown = answered(error.message, again=True)
    finally:
        if not isinstance(meaning, str):
            meaning.close()
        if judge is not None:
            judge.close()
    if not hits:
        show_none(out, shape)
        return
    if judge is not None and judge.reason:
        out.error(f"Warning: not reranked: {judge.reason}; in the order of the fused ranks")
    elif judge is not None:
        out.error(out.paint("dim", f"Reranked by {judge.name}"))
    from qmd.index.collections import Contexts

    contexts = Contexts(connection)
    results = [
        Result(
            hit.found.collection,
            hit.found.path,
            hit.found.title,
            hit.body,
            hit.score,
            contexts.of(hit.found.collection, hit.found.path),
            hit.found.docid,
            hit.chunk,
            hit.trace,
        )
        for hit in hits
        if hit.score >= arguments.min_score
    ]
    show(session, results, shown)


def _plain(
    session: Session,
    expansion: Expansion,
    collections: list[str],
    limits: hybrid.Limits,
    meaning: semantic.Semantic | str,
    judge: Judge | None,
) -> tuple[list[hybrid.FusedHit], str]:
    """Return the hits of plain words, and the words that choose their excerpts."""
    out = session.out
    by_meaning = None if isinstance(meaning, str) else meaning
    hits, strong = hybrid.plain(
        session.index, expansion.query, collections, limits, expansion.intent, by_meaning, expansion.expand, judge
    )
    if strong:
        out.error(out.paint("dim", f"Strong BM25 signal ({ecma.to_fixed(strong, 2)}) — skipping expansion"))
        if by_meaning is None:
            out.error(f"Warning: answered by keywords alone, not by meaning: {meaning}.")
    else:
        expansion.report(meaning)
    return hits, expansion.query


def _document(
    session: Session,
    parsed: structured.Structured,
    collections: list[str],
    limits: hybrid.Limits,
    intent: str,
    meaning: semantic.Semantic | str,
    judge: Judge | None,
    again: bool = False,
) -> tuple[list[hybrid.FusedHit], str]:
    """Return the hits of typed lines, and the words that choose their excerpts. ``again``: the lines are printed
    already.
    """
    searches, out = parsed.searches, session.out
    by_meaning = None if isinstance(meaning, str) else meaning
    left_out = list(dict.fromkeys(f"{search.kind}:" for search in searches if search.kind != "lex"))
    if by_meaning is None:
        searches = [search for search in searches if search.kind == "lex"]
        if not searches:
            raise session.fail(f"qmd query: {' and '.join(left_out)} lines need vectors: {meaning}.")
    if not again:
        _show_searches(session, parsed.searches, intent)
    if left_out and by_meaning is None:
        out.error(f"Warning: answered by the lex: lines alone; {', '.join(left_out)} need vectors: {meaning}.")
    hits = hybrid.documents(session.index, searches, collections, limits, intent, by_meaning, judge)
    kinds = ("lex", "vec", "hyde")
    return hits, next(search.query for kind in kinds for search in searches if search.kind == kind)


def vsearch(session: Session) -> None:
    """Print the documents nearest to the question in meaning. Raises Exit if there are no vectors."""
    arguments = session.arguments
    if not arguments.query:
        raise session.fail("Usage: qmd vsearch [options] <query>")
    shape = arguments.format
    trusted(session)
    connection = session.index
    collections = wanted(session)
    _warn_about_index(session)
    meaning = _meaning(session)
    if isinstance(meaning, str):
        raise session.fail(
            f"qmd vsearch: searching by meaning needs vectors: {meaning}.", "`qmd search` searches by keywords."
        )
    least = arguments.min_score if "min-score" in arguments.flags else _LEAST_COSINE
    limit = _ALL if "all" in arguments.flags else arguments.limit
    only = filters_of(session)
    try:
        near = meaning.search(arguments.query, limit, collections, filters=only)
        found = [each for each in near if each.score >= least]
    except BrainError as error:
        raise session.fail(f"qmd vsearch: {error.message}", error.fix) from None
    finally:
        meaning.close()
    if not found:
        show_none(session.out, shape)
        return
    from qmd.index.collections import Contexts

    contexts = Contexts(connection)
    texts = lex.bodies(connection, found)
    results = []
    for each in found:
        body = texts[each.id]
        context = contexts.of(each.collection, each.path)
        results.append(
            Result(each.collection, each.path, each.title, body, each.score, context, each.docid, each.chunk(body))
        )
    show(session, results, arguments.query)


def _meaning(session: Session) -> semantic.Semantic | str:
    given = session.arguments.text
    return semantic.opened(
        session.index, section(session), os.environ, given.get("provider", ""), given.get("model", "")
    )


def _judge(session: Session) -> Judge | None:
    """Return the reranker; print why and return None if there is none."""
    if "no-rerank" in session.arguments.flags:
        return None
    out = session.out
    try:
        judge = reranker(session)
    except BrainError as error:
        out.error(f"Warning: not reranked: {error.message}; in the order of the fused ranks")
        if error.fix:
            out.error(error.fix)
        return None
    if judge is None:
        out.error(out.paint("dim", "Not reranked: there is no reranker; in the order of the fused ranks"))
    return judge


def reranker_name(session: Session) -> str:
    """Return the reranker's name, "" if none can be used."""
    try:
        judge = reranker(session)
    except BrainError:
        return ""
    if judge is None:
        return ""
    judge.close()
    return judge.name


def reranker(session: Session) -> Judge | None:
    """Return the configured reranker, None for none, or for a project's configuration that is not approved.

    An unapproved configuration would choose where texts and key are sent. Raises BrainError if the configured reranker
    is missing.
    """
    from qmd.reranking.judge import opened
    from qmd.reranking.reranker import QMD_TIMEOUT_S

    config, settings = session.config, session.settings
    approved = trust.is_approved(settings, config)
    return opened(
        config.reranking if approved else {},
        config.models if approved else {},
        os.environ,
        connection=session.index,
        outgoing=settings.outgoing,
        where=settings.config_path,
        timeout_s=QMD_TIMEOUT_S,
    )


def pull(session: Session) -> None:
    """Print that no model is downloaded: the built-in one comes with the program."""
    trusted(session)
    out = session.out
    out.line(out.paint("bold", "Pulling models"))
    out.line("- nothing to pull: the built-in model is installed with the program")


def _limits(session: Session) -> hybrid.Limits:
    arguments = session.arguments
    candidates = hybrid.CANDIDATES
    if arguments.text.get("candidate-limit"):
        candidates = arguments.number("candidate-limit") or 0
    limit = _ALL if "all" in arguments.flags else arguments.limit
    return hybrid.Limits(limit, arguments.min_score, candidates, arguments.chunk_strategy, filters_of(session))


def _show_searches(session: Session, searches: Sequence[structured.Search], intent: str) -> None:
    out = session.out
    kinds = "+".join(search.kind for search in searches)
    out.error(out.paint("dim", f"Structured search: {len(searches)} queries ({kinds})"))
    if intent:
        out.error(out.paint("dim", f"├─ intent: {intent}"))
    for search in searches:
        text = search.query if ecma.length(search.query) <= 72 else ecma.cut(search.query, 0, 69) + "..."
        out.error(out.paint("dim", f"├─ {search.kind}: {text}"))
    out.error(out.paint("dim", "└─ Searching..."))


def _warn_about_index(session: Session) -> None:
    """Warn on stderr about documents without vectors, and about an index without a recent update."""
    from core import clock

    out, connection = session.out, session.index
    total, latest = catalogue.total(connection)
    pending = models.waiting(connection, session.config)
    if pending:
        share = ecma.round_half_up(pending / total * 100)
        if share >= _WARN_PERCENT:
            text = f"Warning: {pending} documents ({share}%) need embeddings. Run 'qmd embed' for better results."
            out.error(out.paint("yellow", text))
        else:
            text = f"Tip: {pending} documents need embeddings. Run 'qmd embed' to index them."
            out.error(out.paint("dim", text))
    if latest:
        days = (clock.now() - (clock.parse_iso(str(latest)) or 0)) // clock.DAY
        if days >= _STALE_DAYS:
            out.error(out.paint("dim", f"Tip: Index last updated {days} days ago. Run 'qmd update' to refresh."))


_SHOWN = 72


def _generation(session: Session) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """Return the sections ``generation`` and ``models``; empty for a project's configuration that is not approved.

    An unapproved configuration would choose where questions are sent.
    """
    config = session.config
    return (config.generation, config.models) if trust.is_approved(session.settings, config) else ({}, {})


def generator(session: Session) -> Choice | str:
    """Return the generator that is meant, or why there is none. Raises BadInput."""
    return choose(*_generation(session), os.environ)


def generator_name(session: Session) -> str:
    """Return the generator's name, "" if none can be used."""
    try:
        found = generator(session)
    except BadInput:
        return ""
    return "" if isinstance(found, str) else found.name


def _expander(session: Session) -> Expander | str:
    """Return the query expander, or why there is none."""
    from qmd.generation import expansion

    return expansion.opened(session.index, *_generation(session), os.environ, outgoing=session.settings.outgoing)


class Expansion:
    """The expansion of one query. ``intent`` is the purpose that the user gave."""

    __slots__ = ("_asked", "_session", "_why", "found", "intent", "query")

    def __init__(self, session: Session, query: str, intent: str) -> None:
        self._session = session
        self.query = query
        self.intent = intent
        self._asked = False
        self._why = NONE
        self.found: list[Search] = []

    def expand(self) -> list[Search]:
        """Return the additional searches; the generator is asked once. Raises apsw.Error."""
        if self._asked:
            return self.found
        self._asked = True
        out = self._session.out
        source = _expander(self._session)
        if isinstance(source, str):
            self._why = source
            return []
        out.error(out.paint("dim", f"Expanding query by {source.name}..."))
        self.found, self._why = source.expand(self.query, self.intent), source.why
        lines = [self.query, *(f"{search.kind}: {search.query}" for search in self.found)] if self.found else []
        for number, line in enumerate(lines, 1):
            flat = " ".join(line.split())
            text = flat if ecma.length(flat) <= _SHOWN else ecma.cut(flat, 0, _SHOWN - 3) + "..."
            out.error(out.paint("dim", f"{'└─' if number == len(lines) else '├─'} {text}"))
        return self.found

    def report(self, meaning: Semantic | str) -> None:
        """Print which steps were skipped."""
        out = self._session.out
        unexpanded = "" if self.found else f"Not expanded: {self._why}"
        if not isinstance(meaning, str):
            if unexpanded:
                out.error(out.paint("dim", f"{unexpanded}; by keywords and by meaning"))
            return
        if self.found:
            out.error(f"Warning: answered by keywords alone, not by meaning: {meaning}.")
            return
        out.error(f"Warning: answered by these keywords alone, unexpanded: {meaning}.")
        if self._why != NONE:
            out.error(out.paint("dim", unexpanded))
