"""``qmd bench``: a fixture's queries, and how well each backend answers them."""

from __future__ import annotations

import json
import os
import time
from os.path import join

from core.errors import BrainError
from qmd import ecma
from qmd.app import bench
from qmd.settings import working_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from qmd.app.session import Session
    from qmd.reranking.judge import Judge

_HINT = "If qmd still behaves unexpectedly, run 'qmd doctor' for diagnostics."


def run(session: Session) -> None:
    """Print the report. Raises Exit where the fixture cannot be used."""
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
        queries = bench.check(fixture)
        collection = arguments.collections[0] if arguments.collections else str(fixture.get("collection") or "")
        connection = session.index
        bench.check_indexed(connection, list(session.config.collections), collection)
    except (OSError, ValueError) as error:
        raise session.fail(str(error), _HINT) from None

    def told(query: str, backend: str, latency: float | None) -> None:
        if not as_json:
            out.status(f"  {query} / {backend}..." if latency is None else f" {latency:.0f}ms\n")

    from qmd.app.embedding import section
    from qmd.search import semantic

    provider, model = (arguments.text.get(name, "") for name in ("provider", "model"))
    opened = semantic.opened(connection, section(session), os.environ, provider, model)
    meaning = None if isinstance(opened, str) else opened
    judge = _judge(session)
    try:
        results = bench.run(connection, queries, collection, told, meaning, judge)
    except BrainError as error:
        raise session.fail(f"qmd bench: {error.message}", error.fix) from None
    finally:
        if meaning is not None:
            meaning.close()
        if judge is not None:
            judge.close()
    averages = bench.summary(results)
    if bench.is_all_zero(averages):
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
    """What reranks for ``full``; where what is configured is not there, that is said, and it scores 0."""
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
