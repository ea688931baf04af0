"""BM25 at three scales: the whole document, its best passage, and the tightest span of matches inside a passage.

The measurements behind the constants are in docs/retrieval.md.
"""

from __future__ import annotations

from math import log, log10

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009.
K1 = 1.2
B = 0.75
TITLE_WEIGHT = 2.0

# A span is a run of matches no wider than SPAN_MAX tokens; its length counts SPAN_PAD more, against SPAN_AVERAGE.
SPAN_MAX = 90
SPAN_PAD = 12
SPAN_AVERAGE = 40
# Spans of SPAN_AVERAGE tokens in a passage of 200: the collection that span frequencies are counted in.
SPANS_IN_PASSAGE = 5
# What ten times as many passages add to the share by chance, and the doubt that is allowed where words alone can tell.
_CHANCE = 0.05
_WORDS_ALONE = 0.02
# What a vector that is far from everything takes away at most: a model does not know each name that words find.
_MOST_DOUBT = 0.08
# In fewer passages none of the words is common: how rare they are in general tells then, and what is covered counts so
# much (docs/retrieval.md).
FEW_PASSAGES = 20
_COVERED = 0.73
# Matches of one passage that are looked at; a passage of the same word over and over has more.
_SPAN_MATCHES = 64


def idf(rows: float, frequency: float) -> float:
    """The weight of a term that ``frequency`` of ``rows`` rows have; above 0 even where all have it."""
    frequency = min(frequency, rows)
    return log(1 + (rows - frequency + 0.5) / (frequency + 0.5))


def bm25(frequencies: Sequence[float], weights: Sequence[float], relative_length: float) -> float:
    """The score of a row in which term i occurs ``frequencies[i]`` times; length relative to the average row's."""
    norm = K1 * (1 - B + B * relative_length)
    score = 0.0
    for frequency, weight in zip(frequencies, weights, strict=True):
        if frequency:
            score += weight * frequency * (K1 + 1) / (frequency + norm)
    return score


def best_span(matches: Sequence[tuple[int, int]], weights: Sequence[float]) -> tuple[float, int, int]:
    """(score, first, last token position) of the best run of ``matches``, which are (position, term) in order."""
    best = (0.0, 0, 0)
    base, slope = K1 * (1 - B), K1 * B / SPAN_AVERAGE
    matches = matches[:_SPAN_MATCHES]
    for index, (first, _) in enumerate(matches):
        counts: dict[int, int] = {}
        bound = 0.0
        for position, term in matches[index:]:
            width = position - first
            if width > SPAN_MAX:
                break
            if term in counts:
                counts[term] += 1
            else:
                counts[term] = 1
                bound += weights[term] * (K1 + 1)
            if bound > best[0]:
                norm = base + slope * (width + SPAN_PAD)
                score = 0.0
                for each, count in counts.items():
                    score += weights[each] * count * (K1 + 1) / (count + norm)
                if score > best[0]:
                    best = (score, first, position)
    return best


def evidence(
    share: float,
    passages: int,
    cosine: float | None,
    level: float | None,
    *,
    whole: bool = True,
    covered: float | None = None,
) -> float:
    """How much speaks for there being an answer at all, 0–1; questions about another corpus mostly stay below 0.16.

    ``share`` is the best document's part of what endless matches of every term would give; in more passages more match
    by chance, in fewer less (0 where no word matches). ``cosine`` is the nearest chunk's, ``level`` what it is where
    there is no answer; None where not known. ``whole`` says that every document has its vectors: where one has not,
    the vectors of the others are not held against what words say. ``covered`` is the part of the question's words, by
    how rare they are in general, that one document has: where it is known, words alone are judged by it.
    """
    found = share - _CHANCE * log10(passages / 100) if passages else share
    words = found + _WORDS_ALONE if covered is None else _COVERED * covered
    if cosine is None or level is None:
        return min(1.0, max(0.0, words))
    meant = found + max(cosine - level, -_MOST_DOUBT)
    return min(1.0, max(0.0, meant if whole else max(meant, words)))
