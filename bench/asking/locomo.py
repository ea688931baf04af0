"""Are the answers right? ``brain eval run``: each way of asking, compared with words alone in the same run."""

from __future__ import annotations

from typing import Any

from bench.measure import DATA, SHARED, Failed, environment, program, relative, run
from bench.report import Report, Row

SETS = SHARED / "evals"
DIALOGS = SETS / "locomo-dev.json"
WORDS, COLD, WARM = "ask:mode=lex", "ask", "ask-warm"
# The same without abstention. Words of which nothing is withheld are what the others are compared with.
FREE = {WORDS: "ask:min_score=0,mode=lex", COLD: "ask:min_score=0", WARM: "ask-warm:min_score=0"}
BASELINE = FREE[WORDS]

# Measure, the rival's figure, the bar of a cold `ask`, digits, scale.
_LOCOMO = (("hit@1", 71.7, 76.0, 1, 100), ("hit@5", 86.3, 95.0, 1, 100), ("mrr@10", 0.781, 0.84, 3, 1))
# Measure, what ORed words had over the whole set, the bar with the model.
_COSQA = (("recall@10", 58.7, 80.0), ("ndcg@10", 41.5, 57.0))
_CODE = "cosqa-dev"
# Questions of another set that are answered all the same, and answers among the first five that an abstention costs.
_MOST_ANSWERED, _MOST_LOST = 0.15, 0.05
_KNOWN = {f"qmd-eval, {WORDS}": "six documents tell too little of how rare a word is: docs/retrieval.md"}


def measure(report: Report, *, quick: bool) -> None:  # noqa: ARG001  # a part of a set is another set
    """LoCoMo: hit@1 and hit@5 in percent and the mean reciprocal rank, over all questions of all dialogs."""
    if not DIALOGS.is_file():
        report.skip("LoCoMo", f"no {relative(DIALOGS)}")
        return
    arms = [BASELINE, WORDS, COLD, WARM]
    (found,) = _run(str(DIALOGS), arms)
    for arm in arms:
        row = _arm(found, arm)
        for name, rival, bar, digits, scale in _LOCOMO:
            value = scale * float(row["metrics"][name])
            title = f"LoCoMo, {row['questions']:,} questions, {arm}: {name}"
            said, met = (f"≥ {bar:g}", value >= bar) if arm == COLD else ("", None)
            report.add(Row(title, f"{value:.{digits}f}", f"rival {rival:g} †", value / rival, said, met))
    _gain(report, "LoCoMo", _arm(found, WARM), least=0.0)


def measure_sets(report: Report, *, quick: bool) -> None:  # noqa: ARG001  # a part of a set is another set
    """All sets: code by the model, nothing worse than words alone, and what is answered that has no answer."""
    if not SETS.is_dir():
        report.skip("all question sets", f"no {relative(SETS)}")
        return
    for found in _run(str(SETS), [*FREE.values(), *FREE]):
        name = found["name"]
        if name == _CODE:
            metrics = _arm(found, WARM)["metrics"]
            for measured, words, bar in _COSQA:
                value = 100 * float(metrics[measured])
                compared = f"ORed words {words:g} †"
                title = f"{name}, {WARM}: {measured}"
                report.add(Row(title, f"{value:.1f}", compared, value / words, f"≥ {bar:g}", value >= bar))
        for arm in (COLD, WARM):
            _gain(report, name, _arm(found, arm))
        for arm, without in FREE.items():
            _abstention(report, f"{name}, {arm}", _arm(found, arm), _arm(found, without))


def _gain(report: Report, name: str, row: dict[str, Any], least: float | None = None) -> None:
    """The paired gain over words alone; its interval is to lie above ``least``, or else not below 0."""
    gain = row["against"]["differences"]["mrr@10"]
    said = f"{gain['mean']:+.4f} [{gain['low']:+.4f}, {gain['high']:+.4f}]"
    bar, met = ("not below 0", gain["high"] >= 0) if least is None else (f"> {least:g}", gain["low"] > least)
    report.add(Row(f"{name}, {row['arm']}: gain over {BASELINE}, MRR", said, "", None, bar, met))


def _abstention(report: Report, name: str, row: dict[str, Any], without: dict[str, Any]) -> None:
    wrong = row["abstention"]["wrong_set_answered"]
    if wrong is not None:
        said = f"{100 * wrong['share']:.1f} % of {wrong['questions']}"
        bar, met = f"≤ {100 * _MOST_ANSWERED:g} %", wrong["share"] <= _MOST_ANSWERED
        known = _KNOWN.get(name, "")
        report.add(Row(f"{name}: answered of another set", said, "", None, bar, met, known))
    kept, all_of_them = float(row["metrics"]["hit@5"]), float(without["metrics"]["hit@5"])
    lost = 1 - kept / all_of_them if all_of_them else 0.0
    bar = f"≤ {100 * _MOST_LOST:g} %"
    report.add(Row(f"{name}: good answers lost", f"{100 * lost:.1f} %", "", None, bar, lost <= _MOST_LOST))


def _run(data: str, arms: list[str]) -> list[dict[str, Any]]:
    words = [word for arm in arms for word in ("-a", arm)]
    done = run(
        [*program(), "eval", "run", "--data", data, *words, "--baseline", BASELINE, "--json"],
        environment(DATA / "eval"),
    )
    found: list[dict[str, Any]] = done.answer()["sets"]
    return found


def _arm(found: dict[str, Any], arm: str) -> dict[str, Any]:
    """The figures of an arm. Raises Failed where it did not run."""
    row: dict[str, Any] = next(row for row in found["arms"] if row["arm"] == arm)
    if "skipped" in row or row["errors"]:
        raise Failed(f"{found['name']}, {arm}: {row.get('skipped') or str(row['errors']) + ' errors'}")
    return row
