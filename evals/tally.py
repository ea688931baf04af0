"""From answers to figures: what an arm did on a set, and how it stands to another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evals import metrics

if TYPE_CHECKING:
    from evals.dataset import Question

    Answers = Mapping[str, Mapping[str, Any]]

WRONG = ("wrong set", "wrong conversation")


def row(asked: Sequence[Question], answers: Answers) -> dict[str, Any]:
    """The measures over all questions with an answer, by type; the abstentions; latency in ms, p50 and p95; how
    many were answered by which clock, where the arm says that.
    """
    scored = [question for question in asked if question.relevant and question.id in answers]
    rows = {question.id: metrics.measures(answers[question.id]["ranked"], question.relevant) for question in scored}
    kinds: dict[str, list[str]] = {}
    for question in scored:
        kinds.setdefault(question.kind, []).append(question.id)
    abstained = sum(not answers[question.id]["ranked"] for question in scored)
    took = [float(answers[question.id]["ms"]) for question in scored]
    clocks = Counter(answers[question.id].get("clock") for question in scored)
    clocks.pop(None, None)  # most arms have but one
    return {
        "questions": len(scored),
        "metrics": _rounded(metrics.mean(list(rows.values()))),
        "by_type": {
            kind: {"questions": len(ids), **_rounded(metrics.mean([rows[identity] for identity in ids]))}
            for kind, ids in sorted(kinds.items())
            if len(kinds) > 1
        },
        "abstention": {
            "false_abstentions": _share(abstained, len(scored)),
            **{f"{kind.replace(' ', '_')}_answered": _answered(asked, answers, kind) for kind in WRONG},
        },
        "clocks": dict(sorted(clocks.items(), key=lambda each: (-each[1], each[0]))),
        "errors": sum("error" in answer for answer in answers.values()),
        "first_error": next((str(answer["error"]) for answer in answers.values() if "error" in answer), None),
        "latency_ms": {"p50": _percentile(took, 0.5), "p95": _percentile(took, 0.95)},
    }


def against(questions: Sequence[Question], one: Answers, other: Answers) -> dict[str, Any]:
    """Paired differences, ``other`` less ``one``, over the questions that both were asked, with 95 % intervals.

    ``low`` and ``high`` are None where the questions are too few for one (``metrics.LEAST``).
    """
    both = [q for q in questions if q.relevant and q.id in one and q.id in other]
    if not both:
        return {"questions": 0, "differences": {}}
    pairs = [
        (metrics.measures(one[q.id]["ranked"], q.relevant), metrics.measures(other[q.id]["ranked"], q.relevant))
        for q in both
    ]
    differences = {}
    for name in metrics.NAMES:
        mean, low, high = metrics.interval([after[name] - before[name] for before, after in pairs])
        enough = len(both) >= metrics.LEAST
        differences[name] = {
            "mean": round(mean, 4),
            "low": round(low, 4) if enough else None,
            "high": round(high, 4) if enough else None,
        }
    return {"questions": len(both), "differences": differences}


def changed(questions: Sequence[Question], one: Answers, other: Answers) -> list[dict[str, Any]]:
    """The questions whose first relevant document stands elsewhere, or whose nDCG differs, the greatest loss first.

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


def _answered(asked: Sequence[Question], answers: Answers, kind: str) -> dict[str, Any] | None:
    """The share of questions of a wrong kind that were answered with something; None where none was asked."""
    strangers = [q for q in asked if not q.relevant and q.kind == kind and q.id in answers]
    return _share(sum(bool(answers[q.id]["ranked"]) for q in strangers), len(strangers)) if strangers else None


def _share(count: int, total: int) -> dict[str, Any]:
    return {"share": round(count / total, 4) if total else 0.0, "count": count, "questions": total}


def _rounded(row: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in row.items()}


def _percentile(values: Sequence[float], share: float) -> float:
    return round(metrics.percentile(values, share), 2) if values else 0.0
