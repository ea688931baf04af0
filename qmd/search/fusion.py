"""Bringing ranked lists together by reciprocal ranks, as qmd 2.8.3 does (Cormack, Clarke and Büttcher, SIGIR 2009).

Pure functions over names and ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

K = 60
_FIRST_BONUS = 0.05
_NEAR_FIRST_BONUS = 0.02

# How much of a final score the fused rank keeps against the reranker's judgement: (last rank, weight).
_BLEND = ((3, 0.75), (10, 0.60))
_BLEND_REST = 0.40

# A keyword search this sure of its first hit needs no expansion.
STRONG_SCORE = 0.85
STRONG_GAP = 0.15
CANDIDATES = 40
LIST_LENGTH = 20


class Ranked:
    """One list: names best first, with the scores of its backend; ``source`` is ``fts`` or ``vec``."""

    __slots__ = ("kind", "names", "query", "scores", "source")

    def __init__(self, source: str, kind: str, query: str, names: Sequence[str], scores: Sequence[float]) -> None:
        self.source = source
        self.kind = kind
        self.query = query
        self.names = list(names)
        self.scores = list(scores)


def fuse(lists: Sequence[Sequence[str]], weights: Sequence[float] = ()) -> list[tuple[str, float]]:
    """(name, score) of every name, best first; a missing weight counts 1. Equal scores keep the order of appearance.

    A name scores weight / (60 + rank) for each list that has it, and a bonus for its best rank: 0.05 for the first,
    0.02 for the second and third.
    """
    scores: dict[str, float] = {}
    top: dict[str, int] = {}
    for index, names in enumerate(lists):
        weight = weights[index] if index < len(weights) else 1.0
        for rank, name in enumerate(names, 1):
            scores[name] = scores.get(name, 0.0) + weight / (K + rank)
            top[name] = min(top.get(name, rank), rank)
    fused = [(name, score + bonus(top[name])) for name, score in scores.items()]
    return sorted(fused, key=lambda item: -item[1])


def bonus(rank: int) -> float:
    """What a best rank of ``rank`` adds."""
    if rank == 1:
        return _FIRST_BONUS
    return _NEAR_FIRST_BONUS if rank <= 3 else 0.0


def hybrid_weights(kinds: Sequence[str]) -> list[float]:
    """The weights of a plain query's lists: those of the original words count twice those of its expansions."""
    return [2.0 if kind == "original" else 1.0 for kind in kinds]


def document_weights(count: int) -> list[float]:
    """The weights of a query document's lists: the first one counts twice."""
    return [2.0 if index == 0 else 1.0 for index in range(count)]


def is_strong(scores: Sequence[float], intent: str = "") -> bool:
    """Whether a keyword search's first hit is so far ahead that its query needs no expansion."""
    if intent or not scores:
        return False
    second = scores[1] if len(scores) > 1 else 0.0
    return scores[0] >= STRONG_SCORE and scores[0] - second >= STRONG_GAP


def blend_weight(rank: int) -> float:
    """The weight of a fused rank (1-based) against the reranker's score."""
    return next((weight for last, weight in _BLEND if rank <= last), _BLEND_REST)


def trace(name: str, lists: Sequence[Ranked], weights: Sequence[float]) -> dict[str, Any]:
    """How ``name`` came to its fused score, for ``--explain``: baseScore, topRankBonus, totalScore, contributions."""
    contributions: list[dict[str, Any]] = []
    for index, ranked in enumerate(lists):
        for rank, (each, score) in enumerate(zip(ranked.names, ranked.scores, strict=True), 1):
            if each == name:
                contributions.append(
                    {
                        "listIndex": index,
                        "source": ranked.source,
                        "queryType": ranked.kind,
                        "query": ranked.query,
                        "rank": rank,
                        "weight": weights[index],
                        "backendScore": score,
                        "rrfContribution": weights[index] / (K + rank),
                    }
                )
    base = sum((item["rrfContribution"] for item in contributions), 0.0)
    added = bonus(min(item["rank"] for item in contributions)) if contributions else 0.0
    return {
        "baseScore": base,
        "topRankBonus": added,
        "totalScore": base + added,
        "contributions": contributions,
    }
