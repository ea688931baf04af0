"""From answers to figures: how an arm did on a set, and how two arms or two runs differ."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from core.errors import BadInput
from evals.runs import metrics, store
from evals.sets.dataset import UNANSWERABLE

if TYPE_CHECKING:
    from evals.sets.dataset import Question

    Answers = Mapping[str, Mapping[str, Any]]
    from core.home import Home

WRONG = ("wrong set", "wrong conversation", *UNANSWERABLE)


def row(asked: Sequence[Question], answers: Answers) -> dict[str, Any]:
    """Return the figures of an arm: measures by type, abstentions, latency in ms (p50 and p95), and clocks.

    The measures are over all questions with an answer. The clocks count how answers were found, if the arm says that.
    answer@k is the mean over the questions with a known span (``with_span``).
    """
    scored = [question for question in asked if question.relevant and question.id in answers]
    rows = {question.id: metrics.measures(answers[question.id]["ranked"], question.relevant) for question in scored}
    kinds: dict[str, list[str]] = {}
    for question in scored:
        kinds.setdefault(question.kind, []).append(question.id)
    abstained = [question.id for question in scored if not answers[question.id]["ranked"]]
    nearest = sum(bool(answers[identity].get("nearest")) for identity in abstained)
    spans = [question.id for question in scored if "shown" in answers[question.id]]
    took = [float(answers[question.id]["ms"]) for question in scored]
    clocks = Counter(answers[question.id].get("clock") for question in scored)
    clocks.pop(None, None)  # most arms have but one
    return {
        "questions": len(scored),
        **({"with_span": len(spans)} if spans else {}),
        "metrics": _rounded(_means(list(rows), rows, answers)),
        "by_type": {
            kind: {"questions": len(ids), **_unanswered(ids, abstained), **_rounded(_means(ids, rows, answers))}
            for kind, ids in sorted(kinds.items())
            if len(kinds) > 1
        },
        "abstention": {
            "false_abstentions": _share(len(abstained), len(scored)),
            "only_nearest": _share(nearest, len(scored)),
            **{f"{kind.replace(' ', '_')}_answered": _answered(asked, answers, kind) for kind in WRONG},
            "near_miss_as_known": _answered(asked, answers, "near miss", marked=False),
        },
        "clocks": dict(sorted(clocks.items(), key=lambda each: (-each[1], each[0]))),
        "errors": sum("error" in answer for answer in answers.values()),
        "first_error": next((str(answer["error"]) for answer in answers.values() if "error" in answer), None),
        "latency_ms": {"p50": _percentile(took, 0.5), "p95": _percentile(took, 0.95)},
    }


def _means(ids: Sequence[str], rows: Mapping[str, Mapping[str, float]], answers: Answers) -> dict[str, float]:
    """The means of the measures of documents, then those of answers over the questions with a span."""
    shown = [metrics.shown(answers[identity]["shown"]) for identity in ids if "shown" in answers[identity]]
    return {**metrics.mean([rows[identity] for identity in ids]), **metrics.mean(shown)}


def _unanswered(ids: Sequence[str], abstained: Sequence[str]) -> dict[str, int]:
    return {"unanswered": len(set(ids).intersection(abstained))}


def against(questions: Sequence[Question], one: Answers, other: Answers) -> dict[str, Any]:
    """Paired differences, ``other`` less ``one``, over the questions that both were asked, with 95 % intervals.

    ``low`` and ``high`` are None where the questions are too few for one (``metrics.LEAST``).
    """
    both = [q for q in questions if q.relevant and q.id in one and q.id in other]
    if not both:
        return {"questions": 0, "differences": {}}
    pairs = [(_measured(one[q.id], q), _measured(other[q.id], q)) for q in both]
    differences = {}
    # A measure that some of the questions do not have would be another mean than the rest.
    for name in [name for name in pairs[0][0] if all(name in row for pair in pairs for row in pair)]:
        mean, low, high = metrics.interval([after[name] - before[name] for before, after in pairs])
        enough = len(both) >= metrics.LEAST
        differences[name] = {
            "mean": round(mean, 4),
            "low": round(low, 4) if enough else None,
            "high": round(high, 4) if enough else None,
        }
    return {"questions": len(both), "differences": differences}


def _measured(answer: Mapping[str, Any], question: Question) -> dict[str, float]:
    return {**metrics.measures(answer["ranked"], question.relevant), **metrics.shown(answer.get("shown") or {})}


def changed(questions: Sequence[Question], one: Answers, other: Answers) -> list[dict[str, Any]]:
    """Return the questions with another rank of the first relevant document or another nDCG, the greatest loss first.

    Ranks are 1-based, 0 where nothing relevant is among the first ten.
    """
    found = []
    for question in questions:
        if not (question.relevant and question.id in one and question.id in other):
            continue
        before, after = (list(each[question.id]["ranked"]) for each in (one, other))
        gain = (
            metrics.measures(after, question.relevant)["ndcg@10"]
            - metrics.measures(before, question.relevant)["ndcg@10"]
        )
        ranks = [_first(ranked, question.relevant) for ranked in (before, after)]
        if ranks[0] != ranks[1] or abs(gain) > 1e-9:
            entry = {"id": question.id, "question": question.text, "type": question.kind, "corpus": question.corpus}
            found.append({**entry, "before": ranks[0], "after": ranks[1], "ndcg": round(gain, 4)})
    return sorted(found, key=lambda each: (each["ndcg"], each["id"]))


def _first(ranked: Sequence[str], relevant: Mapping[str, int]) -> int:
    places = list(dict.fromkeys(ranked))[: metrics.DEPTH]
    return next((rank for rank, document in enumerate(places, 1) if relevant.get(document, 0) > 0), 0)


def _answered(asked: Sequence[Question], answers: Answers, kind: str, *, marked: bool = True) -> dict[str, Any] | None:
    """The share of questions of a wrong kind that were answered with something; None where none was asked.

    With ``marked`` False, an answer that names words it lacks does not count.
    """
    found = [answers[q.id] for q in asked if not q.relevant and q.kind == kind and q.id in answers]
    count = sum(bool(each["ranked"]) and (marked or not each.get("marked")) for each in found)
    return _share(count, len(found)) if found else None


def _share(count: int, total: int) -> dict[str, Any]:
    return {"share": round(count / total, 4) if total else 0.0, "count": count, "questions": total}


def _rounded(row: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in row.items()}


def _percentile(values: Sequence[float], share: float) -> float:
    return round(metrics.percentile(values, share), 2) if values else 0.0


class Side(NamedTuple):
    """A run that is kept: its folder, its figures, and the one arm that is meant ("" for every arm)."""

    place: str
    run: dict[str, Any]
    arm: str


def side(home: Home, text: str) -> Side | None:
    """Return the side that ``RUN``, ``RUN/ARM``, ``last`` or ``last~1`` names; None if no run has that name.

    Raises BadInput for an arm that the run does not have, and for ``last`` and ``last~1`` if too few runs are kept.
    """
    name, _, arm = text.partition("/")
    place = store.find(home, name)
    if place is None:
        if store.is_relative(name):
            raise store.missing(home, name)
        return None
    run = store.read(home, os.path.basename(place))
    if arm and not any(row["arm"] == arm for each in run["sets"] for row in each["arms"]):
        raise BadInput(f"run {name} has no arm {arm!r}", f"arms: {', '.join(_arms(run))}")
    return Side(place, run, arm)


def compare(one: Side, other: Side) -> dict[str, Any]:
    """The differences, ``other`` less ``one``, set by set. Raises BadInput where they have nothing in common."""
    sets = []
    for each in one.run["sets"]:
        name = each["name"]
        if any(name == there["name"] for there in other.run["sets"]):
            asked = _common(store.questions(one.place, name), store.questions(other.place, name))
            for before, after in _pairs(one, other, name):
                answers = [
                    store.answers(store.answers_file(which.place, name, arm))[0]
                    for which, arm in ((one, before), (other, after))
                ]
                moved = changed(asked, *answers)
                sets.append({"name": name, "a": before, "b": after, **against(asked, *answers), "changed": moved})
    if not any(each["questions"] for each in sets):
        raise BadInput("the two have no question in common", "compare runs of the same sets and arms")
    runs = {"a": one.run["run"], "b": other.run["run"]}
    return {"schema": 1, "ok": True, "runs": runs, "sets": sets}


def _arms(run: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(row["arm"] for each in run["sets"] for row in each["arms"] if "skipped" not in row))


def _pairs(one: Side, other: Side, name: str) -> list[tuple[str, str]]:
    """The arms to compare on a set: those that were named, else each that ran on both sides."""
    ran = [
        [
            row["arm"]
            for each in which.run["sets"]
            if each["name"] == name
            for row in each["arms"]
            if "skipped" not in row
        ]
        for which in (one, other)
    ]
    if one.arm or other.arm:
        pair = (one.arm or other.arm, other.arm or one.arm)
        return [pair] if pair[0] in ran[0] and pair[1] in ran[1] else []
    return [(arm, arm) for arm in ran[0] if arm in ran[1]]


def _common(one: list[Question], other: list[Question]) -> list[Question]:
    """The questions that are the same on both sides, their answers included."""
    known = {question.id: question for question in other}
    return [q for q in one if q.id in known and (q.text, q.relevant) == (known[q.id].text, known[q.id].relevant)]
