"""An evaluation's figures, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.render import table
from core.counting import counted
from core.text import printable
from evals.reporting.report import clocks, interval
from evals.runs import metrics
from evals.runs.metrics import has_interval
from evals.sets.dataset import UNANSWERABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = ("arm", "n", "hit@1", "hit@5", "R@10", "MRR@10", "nDCG@10", "wrong set", "wrong conv.", "p50 ms", "p95", "MB")
_COMPARED = ("hit@1", "hit@5", "recall@10", "mrr@10", "ndcg@10")


def lines(result: dict[str, Any]) -> Iterator[str]:
    """Yield a table a set, differences below it, what was skipped and why."""
    for each in result["sets"]:
        yield (
            f"{printable(each['name'])}: {counted(each['questions'], 'question')},"
            f" {counted(each['documents'], 'document')}"
            + (f" in {each['corpora']} corpora" if each["corpora"] > 1 else "")
        )
        ran = [row for row in each["arms"] if "skipped" not in row]
        yield from table([_HEAD, *map(_row, ran)], right=tuple(range(1, len(_HEAD))))
        if each.get("copied"):
            yield from _types(ran, each["copied"])
        for row in ran:
            yield from _shown(row)
        for row in ran:
            if "against" in row:
                yield from _against(row)
            if "cold_ms" in row:
                cold = row["cold_ms"]
                ratio = cold["p50"] / cold["floor_p50"]
                times = f"p50 {cold['p50']} ms ({ratio:.1f}× python -c pass), p95 {cold['p95']}"
                yield f"  {row['arm']}, whole process: {times}"
        for row in ran:
            if row["errors"]:
                count, first = counted(row["errors"], "question"), printable(row["first_error"])
                yield f"  {row['arm']}: {count} ended with an error and found nothing; the first: {first}"
        for said in clocks(each):
            yield f"  {printable(said)}"
        if each["left_out"]:
            yield f"  left out: {counted(each['left_out'], 'question')} without words or without a relevant document"
        for row in each["arms"]:
            if "skipped" in row:
                yield f"  skipped {row['arm']}: {printable(row['skipped'])}"
        yield ""
    yield f"kept as {result['run']}" + (" (went on where an earlier run was cut short)" if result["resumed"] else "")


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    found, away, took = row["metrics"], row["abstention"], row["latency_ms"]
    return (
        row["arm"],
        f"{row['questions']:,}",
        *(percent(found[name]) for name in ("hit@1", "hit@5", "recall@10")),
        f"{found['mrr@10']:.3f}",
        percent(found["ndcg@10"]),
        *(_share(away[f"wrong_{name}_answered"]) for name in ("set", "conversation")),
        f"{took['p50']:.1f}",
        f"{took['p95']:.1f}",
        f"{(row['peak_bytes'] or 0) / 1e6:.0f}",
    )


def _against(row: dict[str, Any]) -> Iterator[str]:
    other = row["against"]
    if other["questions"]:
        said = ", ".join(f"{name} {interval(other['differences'][name], other['questions'])}" for name in _COMPARED)
        yield f"  {row['arm']} less {other['arm']}: {said}"


def _types(ran: list[dict[str, Any]], copied: dict[str, float]) -> Iterator[str]:
    """Yield the user's own questions by type: a figure means less how much of them is copied."""
    kinds = dict.fromkeys(kind for row in ran for kind in row["by_type"])
    rows = [
        (
            kind,
            str(max(row["by_type"][kind]["questions"] for row in ran if kind in row["by_type"])),
            percent(copied[kind]) if kind in copied else "–",
            *(percent(row["by_type"][kind]["hit@5"]) if kind in row["by_type"] else "–" for row in ran),
        )
        for kind in kinds
    ]
    heads = ("hit@5 by type", "n", "copied", *(row["arm"] for row in ran))
    yield from table([heads, *rows], right=tuple(range(1, len(heads))))


def _shown(row: dict[str, Any]) -> Iterator[str]:
    """Yield by type how often the answer itself is shown, and below it what was answered without one being there."""
    measured = [name for name in row["metrics"] if name.startswith("answer@")]
    if not measured:
        return
    names = ("hit@1", "hit@5", *measured)
    kinds = {**row["by_type"], "all": {**row["metrics"], **_counts(row)}}
    rows = [
        (
            kind,
            str(found["questions"]),
            *(percent(found[n]) if n in found else "–" for n in names),
            str(found["unanswered"]),
        )
        for kind, found in kinds.items()
    ]
    yield from table([(row["arm"], "n", *names, "unanswered"), *rows], right=tuple(range(1, len(names) + 3)))
    for kind in UNANSWERABLE:
        if value := row["abstention"].get(f"{kind.replace(' ', '_')}_answered"):
            yield f"  {kind}, not in the corpus: {value['count']} of {value['questions']} answered"


def _counts(row: dict[str, Any]) -> dict[str, int]:
    return {"questions": row["questions"], "unanswered": row["abstention"]["false_abstentions"]["count"]}


def changes(found: dict[str, Any], most: int) -> Iterator[str]:
    """Yield a comparison: differences by set, then at most ``most`` changed questions a side, greatest change first."""
    for each in found["sets"]:
        arms = each["b"] if each["a"] == each["b"] else f"{each['b']} less {each['a']}"
        yield f"{printable(each['name'])}, {arms}: {each['questions']:,} questions"
        for name, value in each["differences"].items():
            shown = has_interval(value, each["questions"]) and not value["low"] <= 0 <= value["high"]
            yield f"  {name:<10} {interval(value, each['questions'])}{'  the interval leaves out 0' if shown else ''}"
        if each["questions"] < metrics.LEAST:
            yield f"  too few: below {metrics.LEAST} questions an interval says nothing"
        worse = [one for one in each["changed"] if one["ndcg"] < 0]
        better = [one for one in reversed(each["changed"]) if one["ndcg"] > 0]
        for said, group in (("better", better), ("worse", worse)):
            yield f"  {len(group)} {said}" + (f", the first {most}:" if len(group) > most else ":" if group else "")
            for one in group[:most]:
                yield f"    {_rank(one['before'])} → {_rank(one['after'])}  {printable(one['question'])}"
        yield ""
    yield f"ranks are of the first relevant document; runs: {found['runs']['a']}, {found['runs']['b']}"


def _rank(rank: int) -> str:
    return f"{rank:>2}" if rank else " –"


def percent(share: float) -> str:
    """Return a share as percents, one decimal."""
    return f"{100 * share:.1f}"


def _share(value: dict[str, Any] | None) -> str:
    return "–" if value is None else percent(value["share"])


def guard_lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a replay of the guard: each line that it gave, the counts, the bars, the invented moments."""
    if "calls" in found:
        yield from _replay_lines(found)
        yield ""
    table = found["invented"]
    for item in table["items"]:
        yield f"{item['verdict']}: {item['name']}"
        yield f"  wanted {item['wanted'] or 'silence'}, got {item['said'] or 'silence'}"
    yield f"{table['moments']} invented moments: precision {table['precision']}, recall {table['recall']}"
    yield f"  line owed:    {table['right']} right, {table['wrong']} wrong, {table['missed']} silent"
    yield f"  silence owed: {table['silent']} silent, {table['false']} fired"


def _replay_lines(found: dict[str, Any]) -> Iterator[str]:
    for item in found["items"]:
        yield f"{item['verdict']}: {item['document']}:{item['line']} ({item['when']})"
        yield f"  {item['text']}"
    judged = found["right"] + found["wrong"]
    calls = f"{found['calls']:,} calls"
    yield f"{found['replayed']} of {found['sessions']} sessions replayed: {calls}, {found['lines']} lines"
    yield f"right: {found['right']} of {judged} labelled lines; {found['unlabelled']} not labelled"
    yield f"false: {found['wrong']} of {calls}; {found['fired_on_controls']} of {found['controls']} labelled controls"
    yield (
        f"foreseen: {found['foreseen']} of {found['repeats']} repeated failures; {found['similar']} had an error"
        " of the same kind before, in any folder"
    )
    for name in ("precision", "false_share", "foreseen_share"):
        figure = found[name]
        met = {True: "met", False: "missed", None: "not measured"}[figure["met"]]
        yield f"{name.replace('_', ' ')}: {figure['value']} (bar {figure['bar']}): {met}"


def validity_lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a measurement of validity: each answer that is wrong, the shares by kind, and the bar."""
    for item in found["items"]:
        if not item["right"]:
            yield f"wrong, {item['kind']} ({item['half']}): {item['question']}  {item['saw']}"
            yield f"  older: {item['older']}"
            yield f"  newer: {item['newer']}"
    for kind, share in found["kinds"].items():
        yield f"{kind}: {share['right']} of {share['of']}"
    figure = found["newer_first"]
    met = "met" if figure["met"] else "missed"
    yield f"newer first and older marked: {figure['right']} of {figure['of']} (bar {figure['bar']}): {met}"
