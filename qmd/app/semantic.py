"""The verbs that need models: ``query``, ``vsearch``, ``pull``. What cannot be done is said, exit code 1."""

from __future__ import annotations

from qmd import ecma, fusion, hybrid, models, structured
from qmd.app.results import Result, show, show_none
from qmd.app.searching import wanted
from qmd.app.updating import trusted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from qmd.app.session import Session

_HINT = "If qmd still behaves unexpectedly, run 'qmd doctor' for diagnostics."
_NO_BACKEND = "there is no embedding backend in this version"
_ALL = 500
_STALE_DAYS = 14
_WARN_PERCENT = 10


def query(session: Session) -> None:
    """Answer from the keyword lists where that is what was asked for. Raises Exit where a model is needed."""
    arguments, out = session.arguments, session.out
    if not arguments.query:
        raise session.fail("Usage: qmd query [options] <query>")
    shape = arguments.format
    trusted(session)
    connection = session.index
    collections = wanted(session)
    _tell_health(session)
    try:
        parsed = structured.parse(arguments.query)
        if parsed:
            structured.check(parsed.searches)
    except structured.QueryError as error:
        raise session.fail(str(error)) from None
    intent = arguments.text.get("intent") or (parsed.intent if parsed else "")
    if "no-rerank" not in arguments.flags:
        raise session.fail(
            f"qmd query: reranking needs a model, and {_NO_BACKEND}.",
            "With --no-rerank it is answered by keywords, as far as they go; `qmd search` takes plain words.",
        )
    limits = _limits(session)
    if parsed:
        lexical = [search for search in parsed.searches if search.kind == "lex"]
        left_out = [f"{search.kind}:" for search in parsed.searches if search.kind != "lex"]
        if not lexical:
            raise session.fail(f"qmd query: {' and '.join(dict.fromkeys(left_out))} lines need vectors: {_NO_BACKEND}.")
        _tell_searches(session, parsed.searches, intent)
        if left_out:
            out.error(f"Warning: answered by the lex: lines alone; {', '.join(dict.fromkeys(left_out))} {_NO_BACKEND}.")
        hits = hybrid.documents(connection, lexical, collections, limits, intent)
        shown = lexical[0].query
    else:
        hits, strong = hybrid.plain(connection, arguments.query, collections, limits, intent)
        shown = arguments.query
        if strong:
            out.error(out.paint("dim", f"Strong BM25 signal ({ecma.to_fixed(strong, 2)}) — skipping expansion"))
        else:
            out.error(f"Warning: answered by these keywords alone, unexpanded: {_NO_BACKEND}.")
    if not hits:
        show_none(out, shape)
        return
    from qmd.contexts import Contexts

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


def vsearch(session: Session) -> None:
    """Raises Exit: vectors of the query are needed, and nothing makes them."""
    if not session.arguments.query:
        raise session.fail("Usage: qmd vsearch [options] <query>")
    trusted(session)
    session.index  # noqa: B018  # a damaged index is said before a missing model
    wanted(session)
    _tell_health(session)
    raise session.fail(
        f"qmd vsearch: searching by meaning needs vectors, and {_NO_BACKEND}.", "`qmd search` searches by keywords."
    )


def pull(session: Session) -> None:
    """Say that no model is downloaded, because none is used."""
    trusted(session)
    out = session.out
    out.line(out.paint("bold", "Pulling models"))
    out.line("- nothing to pull: keyword search uses no model")


def _limits(session: Session) -> hybrid.Limits:
    arguments = session.arguments
    candidates = fusion.CANDIDATES
    if arguments.text.get("candidate-limit"):
        candidates = arguments.number("candidate-limit") or 0
    limit = _ALL if "all" in arguments.flags else arguments.limit
    return hybrid.Limits(limit, arguments.min_score, candidates)


def _tell_searches(session: Session, searches: Sequence[structured.Search], intent: str) -> None:
    out = session.out
    kinds = "+".join(search.kind for search in searches)
    out.error(out.paint("dim", f"Structured search: {len(searches)} queries ({kinds})"))
    if intent:
        out.error(out.paint("dim", f"├─ intent: {intent}"))
    for search in searches:
        text = search.query if ecma.length(search.query) <= 72 else ecma.cut(search.query, 0, 69) + "..."
        out.error(out.paint("dim", f"├─ {search.kind}: {out.safe(text)}"))
    out.error(out.paint("dim", "└─ Searching..."))


def _tell_health(session: Session) -> None:
    """Say on stderr how many documents lack vectors, and that nobody has updated the index for long."""
    from core import clock

    out, connection = session.out, session.index
    total, latest = connection.execute("SELECT count(*), max(modified_at) FROM documents WHERE active = 1").fetchall()[
        0
    ]
    pending = models.waiting(connection, session.config)
    if pending:
        share = ecma.round_half_up(pending / int(str(total)) * 100)
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
