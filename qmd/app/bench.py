"""``qmd bench``: search quality against a fixture: precision, recall, reciprocal rank and latency of each backend.

The fixture's and the report's fields, and the formulas, are those of qmd 2.8.3's ``bench``.
"""

from __future__ import annotations

import json
import os
import time
from os.path import join
from typing import TYPE_CHECKING, Any

from core.errors import BrainError
from qmd import ecma
from qmd.index import catalogue
from qmd.search import hybrid, lex, structured
from qmd.settings import working_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    import apsw

    from qmd.app.session import Session
    from qmd.reranking.judge import Judge
    from qmd.search.semantic import Semantic

BACKENDS = ("bm25", "vector", "hybrid", "full")
_LEAST = 10
# How many answers of each backend the report lists.
_SHOWN = 10
_MEASURES = ("precision_at_k", "recall", "recall_at_1", "recall_at_3", "recall_at_5", "mrr", "f1")
_AVERAGES = {
    "avg_precision": "precision_at_k",
    "avg_recall": "recall",
    "avg_recall_at_1": "recall_at_1",
    "avg_recall_at_3": "recall_at_3",
    "avg_recall_at_5": "recall_at_5",
    "avg_mrr": "mrr",
    "avg_f1": "f1",
    "avg_latency_ms": "latency_ms",
}


class FixtureError(ValueError):
    """The fixture is not what ``bench`` takes, or names what is not indexed."""


class _Missing(Exception):
    """The backend needs a model, and there is none."""


def check(fixture: Any) -> list[dict[str, Any]]:
    """Return the fixture's queries. Raises FixtureError."""
    queries = fixture.get("queries") if isinstance(fixture, dict) else None
    if not isinstance(queries, list):
        raise FixtureError("Invalid fixture: missing 'queries' array")
    for query in queries:
        good = isinstance(query, dict) and isinstance(query.get("query"), str)
        if not good or not isinstance(query.get("expected_files"), list):
            raise FixtureError("Invalid fixture: each query needs 'query' and 'expected_files'")
    return queries


def check_indexed(connection: apsw.Connection, names: Sequence[str], collection: str) -> None:
    """Require an indexed document to search. Raises FixtureError with the command to run."""
    counts = catalogue.counts(connection)
    if not collection:
        if not any(counts.get(name) for name in names):
            raise FixtureError(
                "No indexed documents found.\n"
                "Index a collection with 'qmd collection add' / 'qmd update' before running bench."
            )
        return
    if collection not in names:
        hint = "Run 'qmd ls' to see available collections."
        if names:
            hint = f"Available: {', '.join(names)}. Run 'qmd ls' to inspect."
        raise FixtureError(f"Collection not found: {collection}\n{hint}")
    if not counts.get(collection):
        raise FixtureError(
            f"Collection '{collection}' has no indexed documents.\n"
            f"Run 'qmd update', then 'qmd ls {collection}' to confirm files are indexed before bench."
        )


def measure(
    connection: apsw.Connection,
    queries: Sequence[dict[str, Any]],
    collection: str,
    progress: Callable[[str, str, float | None], None],
    meaning: Semantic | None = None,
    judge: Judge | None = None,
) -> list[dict[str, Any]]:
    """Return one row per query with the measures of each backend.

    ``progress`` is called with (query id, backend, None) before a measurement, then with its milliseconds.

    A backend without its model scores 0: all but keywords need ``meaning``, the full one needs ``judge``.
    """
    results = []
    for query in queries:
        backends = {}
        for backend in BACKENDS:
            progress(str(query.get("id")), backend, None)
            backends[backend] = _measure(connection, backend, query, collection, meaning, judge)
            progress(str(query.get("id")), backend, backends[backend]["latency_ms"])
        results.append(
            {"id": query.get("id"), "query": query["query"], "type": query.get("type"), "backends": backends}
        )
    return results


def summary(results: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the averages over all queries, by backend."""
    if not results:
        return {}
    return {
        backend: {
            name: sum(row["backends"][backend][measure] for row in results) / len(results)
            for name, measure in _AVERAGES.items()
        }
        for backend in BACKENDS
    }


def is_all_zero(averages: dict[str, dict[str, float]]) -> bool:
    """Return True if nothing was found by any backend."""
    names = ("avg_precision", "avg_recall", "avg_mrr")
    return bool(averages) and all(row[name] == 0 for row in averages.values() for name in names)


def score(files: Sequence[str], expected: Sequence[str], depth: int) -> dict[str, Any]:
    """Return the measures of a ranked list of ``files`` against the ``expected`` ones, the first ``depth`` counting."""

    def hits(most: int) -> int:
        return sum(any(is_same(file, wanted) for file in files[:most]) for wanted in expected)

    def share(count: float, total: int) -> float:
        return count / total if total else 0

    matched = [wanted for wanted in expected if any(is_same(file, wanted) for file in files)]
    first = next((rank for rank, file in enumerate(files, 1) if any(is_same(file, each) for each in expected)), 0)
    precision = share(hits(depth), min(depth, len(expected)))
    recall = share(len(matched), len(expected))
    return {
        "precision_at_k": precision,
        "recall": recall,
        "recall_at_1": share(hits(1), len(expected)),
        "recall_at_3": share(hits(3), len(expected)),
        "recall_at_5": share(hits(5), len(expected)),
        "mrr": 1 / first if first else 0,
        "f1": 2 * precision * recall / (precision + recall) if precision + recall else 0,
        "hits_at_k": hits(depth),
        "matched_files": matched,
        "unmatched_expected_files": [wanted for wanted in expected if wanted not in matched],
    }


def is_same(file: str, expected: str) -> bool:
    """Return True if two paths mean one file: one ends with the other, case and collection aside."""
    one, other = _bare(file), _bare(expected)
    return one.endswith(other) or other.endswith(one)


def _bare(path: str) -> str:
    if path.startswith("qmd://"):
        _, slash, rest = path.removeprefix("qmd://").partition("/")
        path = rest if slash else path.removeprefix("qmd://")
    return path.lower().strip("/")


def _measure(
    connection: apsw.Connection,
    backend: str,
    query: dict[str, Any],
    collection: str,
    meaning: Semantic | None,
    judge: Judge | None,
) -> dict[str, Any]:
    expected = [str(file) for file in query["expected_files"]]
    depth = query.get("expected_in_top_k")
    depth = depth if isinstance(depth, int) and depth > 0 else _LEAST
    started = time.perf_counter()
    found: list[str] | None
    try:
        found = _answer(connection, backend, query["query"], max(depth, _LEAST), collection, meaning, judge)
    except (_Missing, structured.QueryError):
        found = None
    latency = round((time.perf_counter() - started) * 1000)
    if found is None:
        zeros = dict.fromkeys(_MEASURES, 0)
        return {
            **zeros,
            "hits_at_k": 0,
            "total_expected": len(expected),
            "latency_ms": latency,
            "top_files": [],
            "matched_files": [],
            "unmatched_expected_files": expected,
        }
    return {
        **score(found, expected, depth),
        "total_expected": len(expected),
        "latency_ms": latency,
        "top_files": found[:_SHOWN],
    }


def _answer(
    connection: apsw.Connection,
    backend: str,
    text: str,
    limit: int,
    collection: str,
    meaning: Semantic | None,
    judge: Judge | None,
) -> list[str]:
    document = structured.parse(text)
    text = text if document else structured.plain(text)
    scope = [collection] if collection else []
    found: list[str] = []
    if backend == "bm25":
        lines = [search.query for search in document.searches if search.kind == "lex"] if document else [text]
        found += [hit.uri for line in lines for hit in lex.search(connection, line, limit, scope)]
        return list(dict.fromkeys(found))[:limit]
    if backend == "vector" and meaning is not None:
        asked = (
            [(each.query, each.kind == "hyde") for each in document.searches if each.kind != "lex"] if document else []
        )
        for line, hyde in asked or ([] if document else [(text, False)]):
            found += [hit.uri for hit in meaning.search(line, limit, scope, hyde=hyde)]
        return list(dict.fromkeys(found))[:limit]
    if backend == "hybrid" or (backend == "full" and judge is not None):
        if backend == "hybrid":
            judge = None
        limits = hybrid.Limits(limit, 0.0, hybrid.CANDIDATES)
        if document and (meaning is not None or all(search.kind == "lex" for search in document.searches)):
            hits = hybrid.documents(connection, document.searches, scope, limits, document.intent, meaning, judge)
            return _uris(hits, judge)
        if not document:
            hits, strong = hybrid.plain(connection, text, scope, limits, "", meaning, judge=judge)
            if strong or meaning is not None:
                return _uris(hits, judge)
    raise _Missing(backend)


def _uris(hits: Sequence[hybrid.FusedHit], judge: Judge | None) -> list[str]:
    """Return the documents in their order. Raises _Missing where the reranker failed: they would be another's."""
    if judge is not None and judge.reason:
        raise _Missing("full")
    return [hit.found.uri for hit in hits]


_HINT = "If qmd still behaves unexpectedly, run 'qmd doctor' for diagnostics."


def bench(session: Session) -> None:
    """Print the report. Raises Exit if the fixture cannot be used."""
    arguments, out = session.arguments, session.out
    given = arguments.words[0] if arguments.words else ""
    if not given:
        raise session.fail(
            "Usage: qmd bench <fixture.json> [--json] [-c collection]",
            "",
            "Run search quality benchmarks against a fixture file.",
            "See src/bench/fixtures/example.json for the fixture format.",
        )
    as_json = "json" in arguments.flags
    try:
        with open(join(working_directory(), given), encoding="utf-8") as stream:
            fixture: Any = json.load(stream)
        queries = check(fixture)
        collection = arguments.collections[0] if arguments.collections else str(fixture.get("collection") or "")
        connection = session.index
        check_indexed(connection, list(session.config.collections), collection)
    except (OSError, ValueError) as error:
        raise session.fail(str(error), _HINT) from None

    def progress(query: str, backend: str, latency: float | None) -> None:
        if not as_json:
            out.status(f"  {query} / {backend}..." if latency is None else f" {latency:.0f}ms\n")

    from qmd.app.embedding import section
    from qmd.search import semantic

    provider, model = (arguments.text.get(name, "") for name in ("provider", "model"))
    opened = semantic.opened(connection, section(session), os.environ, provider, model)
    meaning = None if isinstance(opened, str) else opened
    judge = _judge(session)
    try:
        results = measure(connection, queries, collection, progress, meaning, judge)
    except BrainError as error:
        raise session.fail(f"qmd bench: {error.message}", error.fix) from None
    finally:
        if meaning is not None:
            meaning.close()
        if judge is not None:
            judge.close()
    averages = summary(results)
    if is_all_zero(averages):
        hint = f"qmd ls {collection}" if collection else "qmd ls"
        out.error(
            "\nAll benchmark scores were 0.00 — the collection is likely unindexed or the fixture's expected files"
            f" are missing. Check with '{hint}'."
        )
    if as_json:
        stamp = time.strftime("%Y-%m-%dT%H%M", time.gmtime())
        report = {"timestamp": stamp, "fixture": given, "results": results, "summary": averages}
        out.json(report)
        return
    out.line("\n" + "\n".join(_table(results)))
    out.line("Summary:")
    out.line("-" * 70)
    for name, row in averages.items():
        shown = {key: f"{ecma.to_fixed(float(value), 3):>6}" for key, value in row.items()}
        out.line(
            f"  {_pad(name, 8)} P@k={shown['avg_precision']} R@1={shown['avg_recall_at_1']}"
            f" R@3={shown['avg_recall_at_3']} R@5={shown['avg_recall_at_5']} MRR={shown['avg_mrr']}"
            f" F1={shown['avg_f1']} Avg={ecma.round_half_up(float(row['avg_latency_ms']))}ms"
        )


def _judge(session: Session) -> Judge | None:
    """Return the reranker for ``full``; warn and return None if the configured one is missing."""
    from qmd.app.semantic import reranker

    try:
        return reranker(session)
    except BrainError as error:
        session.out.error(f"Warning: not reranked: {error.message}")
        return None


def _table(results: list[dict[str, Any]]) -> Iterator[str]:
    heads = (("Query", 25), ("Backend", 8), ("P@k", 6), ("R@1", 6), ("R@3", 6), ("R@5", 6), ("MRR", 6), ("F1", 6))
    yield " ".join(_pad(name, width) for name, width in (*heads, ("ms", 8)))
    yield "-" * 88
    for row in results:
        for backend, values in row["backends"].items():
            names = ("precision_at_k", "recall_at_1", "recall_at_3", "recall_at_5", "mrr", "f1")
            shown = " ".join(f"{ecma.to_fixed(float(values[name]), 2):>5}" for name in names)
            yield f"{_pad(str(row['id']), 25)} {_pad(backend, 8)} {shown} {values['latency_ms']:>7}ms"
        yield ""


def _pad(text: str, width: int) -> str:
    return text[:width].ljust(width)
