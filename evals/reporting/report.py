"""The report: the figures of a run and of the user's own history, as markdown with charts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from core.counting import counted
from core.files import write_atomic
from core.text import printable
from evals.reporting import chart
from evals.runs import metrics
from evals.sets.dataset import UNANSWERABLE
from evals.sets.own import OWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Corpora of a set that are named where they lack the same thing.
_NAMED = 3
_COPIED = (
    "copied: the share of a question's words that stand in the best passage of its document. Where it is high, a figure"
    " shows that words are found again; of what is asked in other words only `reworded` tells, and that a little."
)
_MEASURES = ("hit@1", "hit@5", "recall@1", "recall@5", "recall@10", "mrr@10", "ndcg@10")


def write(run: dict[str, Any] | None, history: Sequence[dict[str, Any]], out: str, cache: str) -> list[str]:
    """Write ``report.md`` and its charts (SVG, and PNG for what shows no SVG) into ``out``; returns their paths.

    ``cache`` is a folder for what the chart library keeps.
    """
    drawn = chart.draw(run, history, cache)
    files = [os.path.join(out, "report.md")]
    write_atomic(files[0], page(run, history, [name for name in drawn if name.endswith(".png")]).encode())
    for name, data in drawn.items():
        files.append(os.path.join(out, name))
        write_atomic(files[-1], data)
    return files


def page(run: dict[str, Any] | None, history: Sequence[dict[str, Any]], charts: Sequence[str]) -> str:
    """Return the page; ``charts`` are the names of the picture files."""
    lines = ["# Evaluation", ""]
    if history:
        lines += _history(history)
    for name in charts:
        lines += [f"![{name.partition('.')[0]}]({name})", ""]
    if run is not None:
        lines += [f"Run {run['run']}, {run['ts'][:10]}, brain {run['version']}, split: {run['split']}.", ""]
        for each in run["sets"]:
            lines += _set(each)
    lines.append("What the figures mean: `brain eval --help` and docs/evaluation.md of the product.")
    return "\n".join(lines) + "\n"


def _set(each: dict[str, Any]) -> list[str]:
    ran = [row for row in each["arms"] if "skipped" not in row]
    lines = [f"## {_cell(each['name'])}", ""]
    corpora = f" in {each['corpora']} corpora" if each["corpora"] > 1 else ""
    lines += [f"{each['questions']:,} questions, {each['documents']:,} documents{corpora}.", ""]
    if ran:
        lines += _table(
            ["arm", "questions", *_MEASURES, "p50 ms", "p95 ms", "peak MB"],
            ([row["arm"], f"{row['questions']:,}", *_figures(row), *_cost(row)] for row in ran),
        )
        lines += _against(ran) + _types(ran, each.get("copied") or {}) + _answers(ran) + _abstention(ran) + _cold(ran)
    notes = [f"- {row['arm']} was skipped: {_cell(row['skipped'])}" for row in each["arms"] if "skipped" in row]
    # Runs that were kept by an earlier version say neither of the two.
    notes += [
        f"- {row['arm']}: {counted(row['errors'], 'question')} ended with an error and found nothing;"
        f" the first: {_cell(row.get('first_error') or 'not kept')}"
        for row in ran
        if row["errors"]
    ]
    if left_out := each.get("left_out"):
        notes.append(f"- Left out: {counted(left_out, 'question')} without words or without a relevant document.")
    notes += [f"- {_cell(said)}" for said in clocks(each)]
    return [*lines, *notes, ""] if notes else lines


def clocks(each: dict[str, Any]) -> Iterator[str]:
    """How many questions of a set each arm answered by which clock, and which corpora had no query table."""
    for row in each["arms"]:
        if row.get("clocks"):
            yield f"{row['arm']} answered by " + "; ".join(f"{said} ({count})" for said, count in row["clocks"].items())
    without: dict[str, list[str]] = {}
    for name, why in each.get("without_query_table", {}).items():
        without.setdefault(why, []).append(name)
    for why, names in without.items():
        few = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        yield f"no query table for {few}: {why}"


def _figures(row: dict[str, Any]) -> list[str]:
    return [_points(row["metrics"][name]) for name in _MEASURES]


def _cost(row: dict[str, Any]) -> list[str]:
    took = row["latency_ms"]
    return [f"{took['p50']:.1f}", f"{took['p95']:.1f}", f"{(row['peak_bytes'] or 0) / 1e6:.0f}"]


def _against(ran: Sequence[dict[str, Any]]) -> list[str]:
    compared = [row for row in ran if row.get("against", {}).get("questions")]
    if not compared:
        return []
    baseline = compared[0]["against"]["arm"]
    names = ("hit@1", "hit@5", "recall@10", "mrr@10", "ndcg@10")
    rows = (
        [
            row["arm"],
            *(interval(row["against"]["differences"][name], row["against"]["questions"]) for name in names),
        ]
        for row in compared
    )
    few = (
        f" (too few: below {metrics.LEAST} questions an interval says nothing)"
        if any(row["against"]["questions"] < metrics.LEAST for row in compared)
        else ""
    )
    return [
        f"Difference from {_cell(baseline)} on the same questions, in points, with 95 % intervals{few}:",
        "",
        *_table(["arm", *names], rows),
    ]


def _types(ran: Sequence[dict[str, Any]], copied: dict[str, float]) -> list[str]:
    kinds = dict.fromkeys(kind for row in ran for kind in row["by_type"])
    if not kinds:
        return []
    rows = (
        [
            kind or "(none)",
            str(max(row["by_type"][kind]["questions"] for row in ran if kind in row["by_type"])),
            *([_copied(copied, kind)] if copied else ()),
            *(_points(row["by_type"][kind]["hit@5"]) if kind in row["by_type"] else "–" for row in ran),
        ]
        for kind in kinds
    )
    heads = ["type", "questions", *(["copied"] if copied else ()), *(row["arm"] for row in ran)]
    said = ["hit@5 by type of question:", "", *_table(heads, rows)]
    return [*said, _COPIED, ""] if copied else said


def _answers(ran: Sequence[dict[str, Any]]) -> list[str]:
    names = list(dict.fromkeys(name for row in ran for name in row["metrics"] if name.startswith("answer@")))
    if not names:
        return []
    rows = (
        [row["arm"], kind, *(_points(found[name]) if name in found else "–" for name in names)]
        for row in ran
        for kind, found in {**row["by_type"], "all": row["metrics"]}.items()
    )
    said = "The answer itself is shown (in the first k snippets, each cut to so many characters):"
    return [said, "", *_table(["arm", "type", *names], rows)]


def _abstention(ran: Sequence[dict[str, Any]]) -> list[str]:
    names = ["wrong_set_answered", "wrong_conversation_answered", "false_abstentions"]
    heads = ["arm", "wrong set: answered", "wrong conversation: answered", "right corpus: not answered"]
    for kind in UNANSWERABLE:  # runs of earlier versions have none
        name = f"{kind.replace(' ', '_')}_answered"
        if any(row["abstention"].get(name) for row in ran):
            names.append(name)
            heads.append(f"{kind}: answered")
    rows = ([row["arm"], *(_share(row["abstention"].get(name)) for name in names)] for row in ran)
    return ["Abstention:", "", *_table(heads, rows)]


def _cold(ran: Sequence[dict[str, Any]]) -> list[str]:
    rows = [
        [row["arm"], f"{cold['p50']:.1f}", f"{cold['p95']:.1f}", f"{cold['p50'] / cold['floor_p50']:.2f}×"]
        for row in ran
        if (cold := row.get("cold_ms"))
    ]
    if not rows:
        return []
    return ["Whole processes, ms:", "", *_table(["arm", "p50", "p95", "of `python -c pass`"], rows)]


def _history(history: Sequence[dict[str, Any]]) -> list[str]:
    newest = history[-1]["run"]
    lines = [f"## Your own memory ({OWN})", "", "Known-item questions drawn from it by `brain eval build`.", ""]
    rows = (
        [
            row["arm"],
            str(row.get("set", 1)),
            str(row["questions"]),
            f"{row['documents']:,}",
            *(_points(row[name]) for name in metrics.NAMES),
        ]
        for row in history
        if row["run"] == newest
    )
    lines += [f"Newest run, {history[-1]['ts'][:10]}:", ""]
    lines += _table(["arm", "set", "questions", "documents", *metrics.NAMES], rows)
    lines += _kinds([row for row in history if row["run"] == newest])
    dates = list(dict.fromkeys((row["ts"][:10], str(row.get("set", 1)), row["run"]) for row in history))
    if len(dates) > 1:
        arms = list(dict.fromkeys(row["arm"] for row in history))
        by = {(row["run"], row["arm"]): row for row in history}
        lines += ["hit@5 over time (figures of different sets say nothing about each other):", ""]
        lines += _table(
            ["date", "set", *arms],
            (
                [day, made, *(_points(by[run, arm]["hit@5"]) if (run, arm) in by else "–" for arm in arms)]
                for day, made, run in dates
            ),
        )
    return lines


def _kinds(rows: Sequence[dict[str, Any]]) -> list[str]:
    """hit@5 of a run of the user's own questions by type, with how much of them is copied."""
    kinds = dict.fromkeys(kind for row in rows for kind in row.get("by_type", {}))
    if not kinds:
        return []
    copied: dict[str, float] = rows[0].get("copied") or {}
    counts: dict[str, int] = rows[0].get("counts") or {}
    cells = (
        [
            kind,
            str(counts.get(kind, "–")),
            _copied(copied, kind),
            *(_points(row["by_type"][kind]) if kind in row["by_type"] else "–" for row in rows),
        ]
        for kind in kinds
    )
    said = ["hit@5 by type of question:", ""]
    said += _table(["type", "questions", "copied", *(row["arm"] for row in rows)], cells)
    return [*said, _COPIED if copied else "A set of the first version: its questions are copies, word for word.", ""]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(map(_cell, heads))} |"
    yield f"|---{'|--:' * (len(heads) - 1)}|"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"
    yield ""


def interval(value: dict[str, Any], questions: int) -> str:
    """A difference and its interval, in points; no interval of too few ``questions``."""
    if not metrics.has_interval(value, questions):
        return f"{100 * value['mean']:+.1f} [too few]"
    return f"{100 * value['mean']:+.1f} [{100 * value['low']:+.1f}, {100 * value['high']:+.1f}]"


def _copied(copied: dict[str, float], kind: str) -> str:
    return f"{100 * copied[kind]:.0f} %" if kind in copied else "–"


def _points(share: float) -> str:
    return f"{100 * share:.1f}"


def _share(value: dict[str, Any] | None) -> str:
    return "–" if value is None else f"{_points(value['share'])} % of {value['questions']}"


def _cell(text: str) -> str:
    """A name of a set or arm, which is data, as text in a table."""
    return printable(text).replace("\n", " ").replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
