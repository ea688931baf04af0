"""Words and meaning in one order: a weighted sum of two scores, each stretched over its own candidates.

Ranks alone (reciprocal rank fusion) throw away how far ahead the best is, and measured worse than words alone on
conversations; docs/retrieval.md has the figures.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from qmd.vectors.knn import Nearest

# How much meaning counts in prose, and in a collection that is mostly code: names of things are words in the former,
# while code is asked for in other words than it is written in.
PROSE = 0.3
# The table was fitted to the very texts that are asked, the model was not.
PROSE_BY_TABLE = 0.35
CODE = 0.7
# A collection whose texts are code to this share is one of code.
_CODE_SHARE = 0.5
# What answers where and when: words and dates say it better than likeness does.
PROVENANCE = 0.8
# The best passage, span and chunk of a long document are the best of many, and so score higher by chance alone.
_CHANCES = 0.08
# Where the best match of words is less of a perfect one than this, words say less than meaning does.
_FULL = 0.3


def weight(code_share: float, kind: str) -> float:
    """The weight of meaning (0–1) in a collection of which ``code_share`` (0–1) is code.

    ``kind`` is what encoded the question: ``static`` (the fitted table) or ``model``.
    """
    if code_share >= _CODE_SHARE:
        return CODE
    return PROSE_BY_TABLE if kind == "static" else PROSE


def blend(
    lexical: dict[int, float],
    top: float,
    nearest: Nearest,
    weights: dict[int, float],
    default: float,
    passages: dict[int, int],
) -> dict[int, tuple[float, float]]:
    """What words and what meaning add to the score of each document of either kind; the score is the sum, 0–1.

    ``lexical`` are scores that matches of words and dates give, ``top`` what counts as a full one; ``weights`` (0–1) is
    what meaning counts for a document, ``default`` where it has none; ``passages`` is how long documents are.
    """
    width = nearest.top - nearest.floor
    parts: dict[int, tuple[float, float]] = {}
    for document in lexical.keys() | nearest.documents.keys():
        share = weights.get(document, default)
        words = lexical.get(document, 0.0) / top if top else 0.0
        near = nearest.documents.get(document)
        meaning = (near.cosine - nearest.floor) / width if near is not None and width else 0.0
        chances = max(1, passages.get(document, 1)) ** _CHANCES
        parts[document] = ((1.0 - share) * words / chances, share * meaning / chances)
    return parts


def full(top: float, perfect: float) -> float:
    """What of words' scores counts as a full match: the best there is, unless that is too little of a perfect one."""
    return max(top, _FULL * perfect)
