"""Scores: BM25 of a document, of its best passage and of the tightest span in it; the blend with meaning; evidence.

Every constant of the ranking is in the table below, with its unit and its source. docs/retrieval.md has the
measurements behind those that were fitted (R in the table).
"""

from __future__ import annotations

from math import log, log10

from qmd.index.terms import is_cjk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from qmd.index.terms import Terms
    from qmd.vectors.knn import Nearest

# BM25. Source: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009.
K1 = 1.2  # how soon one more occurrence of a term stops to count
B = 0.75  # share (0-1) of the length normalisation
TITLE_WEIGHT = 2.0  # occurrences that one in the title counts for (R)
INNER_WEIGHT = 0.5  # and one inside a camel-case identifier, where FTS5 nominates passages (R)

# Nomination: how many rows are scored at three scales.
NOMINATED_DOCUMENTS = 30  # documents, at least (R)
NOMINATED_PASSAGES = 60  # passages, at least (R)
NOMINATED_BY_DATE = 500  # documents of the days that a question names, from which the best are nominated
ROW_BUDGET = 12_000  # rows that the nominating terms may match together, the rarest first; one term is always taken

# A span is a run of matches inside a passage (R).
SPAN_MAX = 90  # tokens: no span is wider
SPAN_PAD = 12  # tokens that are added to the width of each span
SPAN_AVERAGE = 40  # tokens: the average length for BM25
SPANS_IN_PASSAGE = 5  # spans of the average length in a passage of 200 words; the collection for their idf
SPAN_MATCHES = 64  # matches of one passage that are looked at; a passage may repeat one word without end

# The blend of words and meaning: the weight (0-1) of meaning (R, except for code: no other weight was measured).
PROSE = 0.3  # names of things are words
PROSE_BY_TABLE = 0.35  # the fitted table has seen the very texts that are asked, the model has not
CODE = 0.7  # code is asked for in other words than it is written in
CODE_SHARE = 0.5  # a collection with this share of code lines is one of code
PROVENANCE = 0.8  # factor for questions of where and when: words and dates tell those better than likeness
CHANCES = 0.08  # exponent: the best passage of a long document is the best of many, and so scores higher by chance
FULL = 0.3  # share of a perfect match by words below which words say less than meaning
BY_MEANING = 0.7  # for a question in other words than the answer's: words match by chance (R)
OTHER_WORDS = 0.15  # share of a perfect match by words up to which it is one
OWN_WORDS = 0.3  # and from which on it is none; between both shares the weight changes evenly

# Evidence that there is an answer at all (0-1). Questions about another corpus mostly stay below 0.16 (R).
CHANCE = 0.05  # what ten times as many passages add to the share by chance
WORDS_ALONE = 0.02  # doubt that is allowed if no vector takes part
MOST_DOUBT = 0.08  # what a vector far from everything takes away at most: models do not know each name
FEW_PASSAGES = 20  # in fewer, every word is rare: words are weighed by how rare they are in general
COVERED = 0.73  # what the covered part of the question counts then

# A word that is rare in general (``qmd/search/stems.py``), in fewer than FEW_PASSAGES.
TELLING = 5  # letters from which on such a word is seldom in a document by chance
TELLING_CJK = 2  # and characters, for Chinese, Japanese and Korean
ENOUGH = 0.3  # what a document with such a word covers at least; ``evidence`` of it is just enough for an answer


class Scored:
    """A candidate's points, and where its evidence is: a ``passage``'s id (0 for none) and a ``token`` in it.

    The best points of a passage and of a span may come from two passages; ``evidence_points`` is the best sum of both
    in one passage, which is ``passage``.
    """

    __slots__ = (
        "date_points", "document_points", "evidence_points", "name_points", "passage", "passage_points", "span_points",
        "token",
    )  # fmt: skip

    def __init__(self) -> None:
        self.document_points = self.passage_points = self.span_points = self.date_points = self.name_points = 0.0
        self.evidence_points = 0.0
        self.passage = self.token = 0

    def add_passage(self, whole: float, span: float, passage: int, token: int) -> None:
        """Count a passage with its points and those of its best span, which is at ``token``."""
        if whole + span > self.evidence_points:
            self.evidence_points, self.passage, self.token = whole + span, passage, token
        self.passage_points = max(self.passage_points, whole)
        self.span_points = max(self.span_points, span)

    @property
    def word_points(self) -> float:
        """Return the points for words: of the document, its best passage and its best span."""
        return self.document_points + self.passage_points + self.span_points

    @property
    def match_points(self) -> float:
        """Return the points for words and for the date."""
        return self.word_points + self.date_points

    @property
    def points(self) -> float:
        """Return all points: for words, for the date, and for the name that is asked for."""
        return self.match_points + self.name_points

    def parts(self) -> dict[str, float]:
        """Return the summands, for people."""
        found = {
            "document": round(self.document_points, 3),
            "passage": round(self.passage_points, 3),
            "span": round(self.span_points, 3),
            "date": round(self.date_points, 3),
        }
        return {**found, "name": round(self.name_points, 3)} if self.name_points else found


def idf(rows: float, frequency: float) -> float:
    """Return the weight of a term that ``frequency`` of ``rows`` rows have; above 0 even where all have it."""
    frequency = min(frequency, rows)
    return log(1 + (rows - frequency + 0.5) / (frequency + 0.5))


def bm25(frequencies: Sequence[float], weights: Sequence[float], relative_length: float) -> float:
    """Return the points of a row in which term i occurs ``frequencies[i]`` times; its length is in average lengths."""
    norm = K1 * (1 - B + B * relative_length)
    points = 0.0
    for frequency, weight in zip(frequencies, weights, strict=True):
        if frequency:
            points += weight * frequency * (K1 + 1) / (frequency + norm)
    return points


def best_span(matches: Sequence[tuple[int, int]], weights: Sequence[float]) -> tuple[float, int, int]:
    """Return (points, first, last token) of the best run of ``matches``, which are (position, term) in order."""
    best = (0.0, 0, 0)
    slope = K1 * B / SPAN_AVERAGE
    base = K1 * (1 - B) + slope * SPAN_PAD
    matches = matches[:SPAN_MATCHES]
    for index, (first, _) in enumerate(matches):
        counts: dict[int, int] = {}
        bound = 0.0
        for position, term in matches[index:]:
            if position - first > SPAN_MAX:
                break
            if term not in counts:
                bound += weights[term] * (K1 + 1)
            counts[term] = counts.get(term, 0) + 1
            if bound > best[0]:
                norm = base + slope * (position - first)
                points = 0.0
                for each, count in counts.items():
                    points += weights[each] * count / (count + norm)
                if points * (K1 + 1) > best[0]:
                    best = (points * (K1 + 1), first, position)
    return best


def evidence(
    share: float,
    passages: int,
    cosine: float | None = None,
    level: float | None = None,
    *,
    whole: bool = True,
    covered: float | None = None,
) -> float:
    """Return how much speaks for there being an answer at all (0-1).

    Args:
        share: the best document's points by words, as a share (0-1) of a perfect match (``Ranking.rank``).
        passages: how many the index has; in more, more match by chance. 0 if no word matches.
        cosine: that of the nearest chunk; None if no vector took part.
        level: the cosine that questions reach without an answer; None if it is not known.
        whole: every document has its vectors. Otherwise vectors are not held against words.
        covered: the part of the question's words that one document has (``covered``); words are judged by it then.
    """
    found = share - CHANCE * log10(passages / 100) if passages else share
    words = found + WORDS_ALONE if covered is None else COVERED * covered
    if cosine is None or level is None:
        return min(1.0, max(0.0, words))
    meant = found + max(cosine - level, -MOST_DOUBT)
    return min(1.0, max(0.0, meant if whole else max(meant, words)))


def meaning_weight(code_share: float, kind: str) -> float:
    """Return the weight of meaning (0-1) in a collection of which ``code_share`` (0-1) is code.

    ``kind`` is what encoded the question: ``static`` (the fitted table) or ``model``.
    """
    if code_share >= CODE_SHARE:
        return CODE
    return PROSE_BY_TABLE if kind == "static" else PROSE


def blend(
    points: dict[int, float],
    full: float,
    nearest: Nearest,
    weights: dict[int, float],
    default: float,
    passages: dict[int, int],
    share: float,
) -> dict[int, tuple[float, float]]:
    """Return what words and what meaning add to each document's score; the score is their sum (0-1).

    Both scores are stretched over their own candidates. Ranks alone (reciprocal rank fusion) would lose how far ahead
    the best is; they measured worse than words alone on conversations.

    Args:
        points: each document's points for words and dates.
        full: the points that count as a full match by words (``full_match``).
        nearest: what is near by meaning.
        weights: the weight (0-1) of meaning for each document.
        default: the same for a document without one.
        passages: how many passages each document has.
        share: the best document's points as a share (0-1) of a perfect match by words.
    """
    width = nearest.top - nearest.floor
    other_words = min(1.0, max(0.0, (OWN_WORDS - share) / (OWN_WORDS - OTHER_WORDS)))
    parts: dict[int, tuple[float, float]] = {}
    for document in points.keys() | nearest.documents.keys():
        weight = weights.get(document, default)
        weight += max(0.0, BY_MEANING - weight) * other_words
        words = points.get(document, 0.0) / full if full else 0.0
        near = nearest.documents.get(document)
        meaning = (near.cosine - nearest.floor) / width if near is not None and width else 0.0
        chances = max(1, passages.get(document, 1)) ** CHANCES
        parts[document] = ((1.0 - weight) * words / chances, weight * meaning / chances)
    return parts


def full_match(best: float, perfect: float) -> float:
    """Return the points that count as a full match by words: the best, unless they are too few of a perfect match's."""
    return max(best, FULL * perfect)


def covered(terms: Terms, held: Collection[set[int]]) -> float:
    """Return the greatest share (0-1) of a question's ``terms``, by their rarity in general, that one document has.

    ``held`` is a set of terms a document. A document frequency says little in six documents, in which each word is
    rare. A document with a long word that is rare in general covers ``ENOUGH`` at least: names of things, and the words
    of all other languages, are seldom chance.
    """
    from qmd.search.stems import RARITY, UNKNOWN

    weights, telling = [0.0] * len(terms.count), set[int]()
    for words, index in zip(terms.stems, terms.term, strict=True):
        # The commonest of a term's forms counts, and the rarest word of a phrase.
        found = terms.count[index] * max(RARITY.get(word, UNKNOWN) for word in words)
        weights[index] = min(weights[index] or found, found)
        said = "".join(words)
        least = TELLING if said.isascii() or not any(map(is_cjk, said)) else TELLING_CJK
        if len(said) >= least and not RARITY.keys() >= set(words):
            telling.add(index)
    whole = sum(weights) or 1.0
    share = max((sum(weights[index] for index in document) for document in held), default=0.0) / whole
    return max(share, ENOUGH) if any(not telling.isdisjoint(document) for document in held) else share
