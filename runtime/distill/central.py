"""The key points of a session: the sentences that cover most of it, its telling words, its tags.

With the local model, sentences are chosen by facility location over their vectors: Lin and Bilmes, "A Class of
Submodular Functions for Document Summarization" (2011). Vectors are rounded to int8, as the index keeps them. All later
arithmetic is in whole numbers, so the order of a sum changes nothing.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from core.errors import BrainError
from qmd.index.terms import has_cjk
from runtime.distill.distillate import Statement
from runtime.distill.transcript import QUOTED
from runtime.distill.words import FUNCTION_WORDS, is_english, is_fragment, stem, straight

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from runtime.distill.distillate import Distillate
    from runtime.distill.words import Sentence

    # Texts to vectors of length 1, one row each.
    Encode = Callable[[Sequence[str]], NDArray[np.float32]]


# Characters of key points: a share of what was said, at least and at most so many.
_SHARE = 0.25
_LEAST = 1_200
_MOST = 9_000
# A path or a piece of code by itself says nothing of it.
_NAMES = re.compile(r"^`[^`]*`[.,;]?$|^[!-~]+$")
# Two ideographs that are neighbours this often are probably a word.
_PAIRS = 3
_SHORT = 3
_CONCEPTS = 40
_TAGS = 8
_THOUGHT = 0.3
# The weight of the model's gain against that of the terms, if there is a model.
_BY_MEANING = 0.5
# A quotation is not the speaker's own, and mostly long.
_QUOTED = 0.5
# An agent's remarks about its own work: there is mostly a better sentence.
_CHATS = re.compile(
    r"^(?:now,? |ok(?:ay)?,? |good[,.]? |great[,.]? )*i (?:now )?have (?:a|the|all|enough|everything)\b"
    r"|^(?:now,? )?i(?:'ll| will| need to| should| can see| see|'m going to)\b|\blet me (?:\w+ly )?(?:verify"
    r"|check|look|see|read"
    r"|run|fix|update|try|find|search)\b",
    re.IGNORECASE,
)
_CHAT = 0.4
_HUMAN = ("user", "task")
_SAID_BY = {"user": 1.3, "task": 1.2, "compaction": 0.6, "subagent": 0.8}


def points(
    said: Sequence[Sentence],
    weight: dict[str, float],
    taken: set[str],
    distillate: Distillate,
    encode: Encode | None = None,
    most: float = _MOST,
) -> list[Statement]:
    """Return sentences that cover the words of most weight, except those that other sections have already.

    With ``encode``, the sentences are also similar to as much of the session as possible. They have at most about
    ``most`` characters.

    Greedy maximisation of covered weight per character, which is submodular: a gain only ever falls, so the best
    candidate is found by re-checking the top of a heap (Minoux, 1978; Lin and Bilmes, 2011, on summaries).
    """
    covered = {
        stem(word)
        for key in ("goals", "decisions", "rejected", "questions")
        for statement in distillate.sections.get(key, [])
        for word in (statement.text + " " + statement.why).lower().split()
    }
    talk = [
        each
        for each in said
        if len(each.words) > 2
        and not each.text.endswith(":")
        and not _NAMES.match(each.text)
        and " ".join(each.words) not in taken
    ]
    room = min(max(_LEAST, _SHARE * sum(len(each.text) for each in said if not each.thought)), _MOST, most)

    def terms(sentence: Sentence) -> float:
        fresh = {stem(word) for word in sentence.words} - covered
        # Exactly rounded: a set has another order in every process, and a distillate must not.
        return math.fsum(weight.get(root, 0.0) for root in fresh)

    def per_character(sentence: Sentence, worth: float) -> float:
        quoted = sentence.voice == QUOTED
        worth *= _THOUGHT if sentence.thought else _QUOTED if quoted else _SAID_BY.get(sentence.role, 1.0)
        if sentence.role not in _HUMAN and _CHATS.search(straight(sentence.text)):
            worth *= _CHAT
        return worth / (len(sentence.text) + 30)

    meaning = None
    if encode is not None and talk:
        everything = {stem(word) for sentence in talk for word in sentence.words} - covered
        meaning = _Meaning(said, lambda each: per_character(each, terms(each)), encode)
        total = math.fsum(weight.get(root, 0.0) for root in everything) or 1.0

    def gain(sentence: Sentence) -> float:
        worth = terms(sentence)
        if meaning is not None:
            worth = (1 - _BY_MEANING) * worth / total + _BY_MEANING * meaning.gain(sentence)
        return per_character(sentence, worth)

    heap = [(-gain(sentence), at) for at, sentence in enumerate(talk)]
    heapq.heapify(heap)
    chosen: list[Sentence] = []
    while heap and room > 0:
        _, at = heapq.heappop(heap)
        sentence = talk[at]
        now = -gain(sentence)
        if not now:
            continue
        if heap and now > heap[0][0]:
            heapq.heappush(heap, (now, at))
            continue
        if len(sentence.text) > room and chosen:
            continue
        chosen.append(sentence)
        room -= len(sentence.text)
        covered.update(stem(word) for word in sentence.words)
        if meaning is not None:
            meaning.take(sentence)
    return [Statement(each.text, (each.turn,)) for each in sorted(chosen, key=lambda each: each.place)]


class _Meaning:
    """Likeness of the sentences that a model has read; of the others it says nothing."""

    def __init__(self, said: Sequence[Sentence], rank: Callable[[Sentence], float], encode: Encode) -> None:
        worth = [rank(each) for each in said]
        first = sorted(range(len(said)), key=lambda at: (-worth[at], at))[:LIMIT]
        read = [said[at] for at in sorted(first)]
        thoughts_only = all(each.thought for each in read)
        represented = [thoughts_only or not each.thought for each in read]
        self._at = {id(each): at for at, each in enumerate(read)}
        self._likeness = Likeness([each.text for each in read], represented, encode)

    def gain(self, sentence: Sentence) -> float:
        at = self._at.get(id(sentence))
        return 0.0 if at is None else self._likeness.gain(at)

    def take(self, sentence: Sentence) -> None:
        at = self._at.get(id(sentence))
        if at is not None:
            self._likeness.take(at)


def concepts(said: Sequence[Sentence], weight: dict[str, float]) -> list[Statement]:
    """Return the words that weigh most, each in its most frequent form, with the turns that say them most."""
    forms: dict[str, Counter[str]] = {}
    turns: dict[str, Counter[int]] = {}
    for sentence in said:
        if sentence.thought:
            continue
        for word in sentence.words:
            root = stem(word)
            forms.setdefault(root, Counter())[word] += 1
            turns.setdefault(root, Counter())[sentence.turn] += 1
    english = is_english(each.text for each in said if each.role == "user")
    forms = {root: words for root, words in forms.items() if _is_concept(words, english)}
    best = sorted(forms, key=lambda root: (-weight[root], root))[:_CONCEPTS]
    return [
        Statement(
            min(forms[root], key=lambda word: (-forms[root][word], word)),
            tuple(sorted(turn for turn, _ in turns[root].most_common(2))),
        )
        for root in best
        if "/" not in root
    ]


def _is_concept(words: Counter[str], english: bool) -> bool:
    """Return True if a word is one to remember; where the language is not English, only what is said again is."""
    if any(word in FUNCTION_WORDS or is_fragment(word) for word in words):
        return False
    if has_cjk(next(iter(words))):
        return words.total() >= _PAIRS
    return english or (words.total() > 1 and len(next(iter(words))) > _SHORT)


def tags(distillate: Distillate) -> list[str]:
    """Return a few words to filter by: technologies, then concepts."""
    named = [
        each.text.lower()
        for key in ("technologies", "concepts")
        for each in distillate.sections.get(key, [])[: _TAGS // 2]
    ]
    return list(dict.fromkeys(named))[:_TAGS]


# So many sentences of a session are read by the model, those with the most telling words: at 7 ms of one core each no
# session takes it longer than a second. Measured with up to all of them: more change nothing for the better.
LIMIT = 128
_SCALE = 127
# Sentences on one subject have a cosine of 0.2 to 0.4 by this kind of model, those that say the same one above this.
_ALIKE = _SCALE * _SCALE // 2


class Likeness:
    """``texts`` that may be chosen or are to be represented; ``represented`` marks the latter."""

    __slots__ = ("_best", "_likes", "_total", "_weights")

    def __init__(self, texts: Sequence[str], represented: Sequence[bool], encode: Encode) -> None:
        import numpy as np

        # Whole numbers of at most 22 bits, which float64 adds up without rounding, by whatever instructions.
        vectors = np.rint(np.asarray(encode(texts), dtype=np.float64) * _SCALE)
        rows = [at for at, wanted in enumerate(represented) if wanted]
        likes = vectors @ vectors[rows].T
        likes[likes < _ALIKE] = 0
        self._likes = likes.astype(np.int64)
        # By the logarithm of its length: a long sentence says more than a short one, and not ten times as much.
        self._weights = np.asarray([len(texts[at]).bit_length() for at in rows], dtype=np.int64)
        self._best = np.zeros(len(rows), dtype=np.int64)
        self._total = int(self._weights.sum()) * _SCALE * _SCALE

    def gain(self, at: int) -> float:
        """Return the share (0 to 1) of the session that text ``at`` represents and no chosen text does."""
        import numpy as np

        if not self._total:
            return 0.0
        more = np.maximum(self._likes[at] - self._best, 0)
        return int((more * self._weights).sum()) / self._total

    def take(self, at: int) -> None:
        """Count the text ``at`` as chosen: similar texts are represented from now on."""
        import numpy as np

        np.maximum(self._best, self._likes[at], out=self._best)


class SentenceReader:
    """The local model as a distiller uses it: loaded with the first text, and only ever the one on this machine.

    ``section`` is the configuration's ``embedding``; it may name the local model.
    """

    def __init__(self, section: Mapping[str, Any]) -> None:
        self._section = section
        self._local: Any = None
        self._failure = ""

    @property
    def failure(self) -> str:
        """Why there is no model, "" while nothing is known against it."""
        return self._failure

    def open(self) -> tuple[str, Encode] | None:
        """Return the model's name, and what encodes by it; None if it cannot be used, and ``failure`` says why."""
        if self._local is None and not self._failure:
            from core.config import embedder
            from qmd.embedding.local import Local
            from qmd.embedding.provider import LOCAL

            section = dict(self._section)
            own = section if embedder(section)[0] == LOCAL else {}
            try:
                local = Local(str(own.get("path") or ""), embedder(own)[1], int(own.get("window") or 0), threads=1)
                local.embed(["one sentence"])
            except BrainError as error:
                self._failure = error.message
            except ImportError as error:
                self._failure = f"{error.name} is not installed"
            else:
                self._local = local
        return None if self._local is None else (self._local.model, self._encode)

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        # Texts of one length are read together: a batch costs as much as its longest.
        order = sorted(range(len(texts)), key=lambda at: (len(texts[at]), at))
        found = self._local.embed([texts[at] for at in order])
        result: NDArray[np.float32] = np.empty_like(found)
        result[order] = found
        return result
