"""Show what answers, and decide if anything does: hits, or only what is nearest.

The search measures evidence before it has read a text. Here the texts are read, so more is known: how much of the
question the best document has, and how rare the rarest word is that none has. Four numbers make one chance by logistic
regression; ``python -m evals.fitting`` fits the weights, docs/retrieval.md has the measurements.
"""

from __future__ import annotations

from math import exp, log10

from runtime.asking.request import echoed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from qmd.search.quoting import Question
    from runtime.asking.ask import Asker, Inquiry

# How many hits are named when nothing clearly answers; so many are read for what they lack.
NEAREST = 3
# The least chance (0–1) for an answer, and the least evidence (0–1) in a small index.
LEAST_CHANCE = 0.6
LEAST_EVIDENCE = 0.16
# Evidence (0–1) that is enough whatever the chance: by words or the fitted table, and by the model itself. Short
# questions about conversations have little chance and good answers.
ENOUGH, ENOUGH_BY_MODEL = 0.24, 0.35
# Fewer passages tell too little of which words are rare: the evidence of the search decides alone. From MANY_PASSAGES
# on ENOUGH counts in full, in between the evidence that is enough grows with the logarithm.
LEAST_PASSAGES, MANY_PASSAGES = 100, 2_000
# A word is named as missing from this rarity (0–1) on.
_RARE = 0.5
# More words of a question tell no more about the chance.
_MOST_WORDS = 6
# The logit of the chance: a constant, and the weights of evidence, share covered, rarest missing word, and words.
_WEIGHTS = (-5.2, 5.6, 2.1, -2.1, 1.1)


class Known:
    """What is known about a question once its first hits are read.

    Attributes:
        covered: the greatest share (0–1) of the question's words, by rarity, that one of the first hits has.
        lacking: the rarity (0–1) of the rarest word that none of them has.
        words: how many words of the question count, at most ``_MOST_WORDS``.
        somewhere: the stems that any of them has.
    """

    __slots__ = ("covered", "lacking", "somewhere", "words")

    def __init__(self, rarities: dict[str, float], held: Sequence[Collection[str]]) -> None:
        """``rarities`` are those of the question's stems; ``held`` has the stems of each hit."""
        self.somewhere = set[str]().union(*held)
        covered = max((sum([rarities[stem] for stem in each]) for each in held), default=0.0)
        self.covered = covered / (sum(rarities.values()) or 1.0)
        self.lacking = max((rarities[stem] for stem in rarities.keys() - self.somewhere), default=0.0)
        self.words = min(sum(rarity > 0 for rarity in rarities.values()), _MOST_WORDS)

    def chance(self, evidence: float) -> float:
        """Return the chance (0–1) that there is an answer; ``evidence`` is the search's (``scoring.evidence``)."""
        constant, *weights = _WEIGHTS
        values = (evidence, self.covered, self.lacking, self.words)
        logit = constant + sum(weight * value for weight, value in zip(weights, values, strict=True))
        return 1 / (1 + exp(-logit))

    def parts(self, evidence: float, chance: float) -> dict[str, float]:
        """Return the chance and what the chance is made of, for people."""
        found = {"value": chance, "evidence": evidence, "covered": self.covered, "lacking": self.lacking}
        return {**{name: round(value, 3) for name, value in found.items()}, "words": self.words}


def decide(asker: Asker, inquiry: Inquiry) -> None:
    """Let each session show the lines that answer, and other hits the place that matches.

    Drop all hits if there is too little evidence for an answer; name the rare words that the best place lacks.
    """
    searcher = asker.open_searcher()
    from qmd.index import catalogue
    from qmd.search import quoting, search

    question = quoting.Question(inquiry.question)
    held: list[Collection[str]] = []
    exchanges: list[Collection[str]] = []
    for hit in inquiry.hits:
        text = search.read(asker.connection, hit)
        readable, piece = text, hit.piece
        if not hit.is_clean:
            from core.redaction import shown

            readable, piece = shown(text), (0, 0)  # places in the text are others there
        reading = quoting.Reading(readable, question)
        if len(held) < NEAREST:
            held.append(reading.mentioned)
            exchanges = exchanges or reading.exchanges()
        hit.quotes = reading.quotes(inquiry.request.budget, piece, meant=hit.near is not None)
        if hit.quotes:
            hit.line, hit.snippet = hit.quotes[0].line, quoting.show(hit.quotes)
        elif not hit.snippet:
            searcher.fill(hit, text)
    ranking = searcher.last
    if ranking is None:
        return
    rarities = _by_stem(question, ranking.rarities())
    # The search counts the passages only if a word matches.
    abstain(inquiry, Known(rarities, held), ranking.passages or catalogue.count_passages(asker.connection))
    best = max(exchanges, key=lambda each: sum([rarities[stem] for stem in each]), default=())
    missing = [question.stems[stem] for stem, rarity in rarities.items() if rarity > _RARE and stem not in best]
    if missing:
        # A question may contain a secret, which is repeated nowhere.
        clean = echoed(inquiry.question)
        inquiry.missing = [word for word in missing if word in clean]


def abstain(inquiry: Inquiry, known: Known, passages: int) -> None:
    """Drop all hits if there is too little evidence for an answer in an index of so many ``passages``.

    A least score of the request is compared with the search's evidence alone, and so is the usual one in a small index.
    A literal question is answered by whatever has a word of its literal part.
    """
    evidence, given = inquiry.evidence, inquiry.request.min_score
    if evidence is None:
        return
    if given is not None or passages < LEAST_PASSAGES:
        least = LEAST_EVIDENCE if given is None else given
        enough = evidence >= least
        said = f"what matches is worth {evidence:.2f}, less than {least:.2f} (--min-score)"
    else:
        chance = known.chance(evidence)
        inquiry.chance = known.parts(evidence, chance)
        by_model = inquiry.meaning is not None and inquiry.meaning.by_model
        enough = evidence >= (ENOUGH_BY_MODEL if by_model else enough_in(passages)) or chance >= LEAST_CHANCE
        said = f"the chance of an answer is {chance:.2f}, less than {LEAST_CHANCE:.2f}"
    if given is None and inquiry.mode == "lex" and (known.lacking > _RARE or not enough):
        from qmd.search.quoting import Question
        from runtime.asking import route

        kind, exact = route.kind(inquiry.question)
        if kind == route.LITERAL:
            enough, said = not known.somewhere.isdisjoint(Question(exact).stems), f"no hit mentions {echoed(exact)}"
    if not enough:
        inquiry.abstained, inquiry.nearest, inquiry.hits = True, inquiry.hits[:NEAREST], []
        inquiry.reason += f"; nothing relevant: {said}"


def enough_in(passages: int) -> float:
    """Return the evidence (0–1) by words or the fitted table that is enough among at least ``LEAST_PASSAGES``."""
    grown = log10(passages / LEAST_PASSAGES) / log10(MANY_PASSAGES / LEAST_PASSAGES)
    return LEAST_EVIDENCE + (ENOUGH - LEAST_EVIDENCE) * min(1.0, grown)


def _by_stem(question: Question, rarities: dict[str, float]) -> dict[str, float]:
    """Return the rarity of each of a question's stems; of a path or name the rarity of its rarest part, else 0."""
    from qmd.index.terms import without_accents

    found = {}
    for stem, word in question.stems.items():
        parts = "".join([each if each.isalnum() else " " for each in without_accents(word.lower())]).split()
        found[stem] = max(rarities.get(part, 0.0) for part in (" ".join(parts), *parts))
    return found
