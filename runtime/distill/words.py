"""Sentences and words of a session, the language they are in, and how much each word says within the document.

Function words identify a language. They are no concepts in any language.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from qmd.index.terms import STOP, has_cjk, is_cjk
from runtime.distill.phrases import CONTINUATION
from runtime.distill.transcript import OWN, voices

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runtime.distill.transcript import Turn


# Capitals of Latin, Greek and Cyrillic begin a sentence; other scripts have stops of their own.
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]*_»]*\s+(?=[\"'(\[*_`«¿¡]*[A-Z0-9À-ÖØ-ÞĀ-ŽΑ-ΩЀ-Я])|(?<=[。！？।؟])")
_DECORATION = re.compile(r"^(?:[#>\s]+|[-*+]\s+|\d{1,3}[.)]\s+)+")
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_TABLE = re.compile(r"^\s*\|")
_WORD = re.compile(r"[^\W_](?:[\w.'-]*[^\W_])?")
SENTENCE_LIMIT = 400
# Korean parts its words.
_HANGUL = re.compile("[\u1100-\u11ff\uac00-\ud7af]")
_SHORTEST = 8
_SHORTEST_CJK = 4  # a character is a syllable or a word there
# A line that ends without one, and is this long, goes on in the next where that begins in lower case: it was wrapped.
_ENDS = re.compile(r"[.!?:;)\]`'\"]\s*$")
_WRAPPED = 40

# An agent announces its calls; the calls themselves say the same.
_NARRATES = re.compile(
    r"^(?:now |first,? |next,? |ok(?:ay)?[,.!]? |great[,.!]? |perfect[,.!]? |good[,.!]? |so |then |and )*"
    r"(?:let me|let's (?:check|see|look|verify|start|begin)|i'll (?:help|start|now|also|check|look|read|create"
    r"|update|run|use)"
    r"|i'm going to|i will now)\b",
    re.IGNORECASE,
)


def listed(name: str) -> list[str]:
    """Return the words of ``data/<name>.txt``."""
    return (Path(__file__).parent / "data" / f"{name}.txt").read_text("utf-8").split()


# Common words that say little on their own, beyond the function words of qmd.index.terms.
QUIET = STOP | frozenset(listed("plain_words"))


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a turn; ``place`` counts the sentences of the session, ``after`` the calls before it."""

    text: str
    turn: int
    role: str
    place: int
    after: int
    words: tuple[str, ...]
    thought: bool = False
    voice: str = OWN

    @property
    def is_own(self) -> bool:
        """True if the speaker said it aloud, in words of their own."""
        return self.voice == OWN and not self.thought


def sentences(turns: Iterable[Turn]) -> list[Sentence]:
    """Return all sentences of the conversation in their order; summaries and thoughts of a machine are ``thought``."""
    found: list[Sentence] = []
    for turn in turns:
        if turn.role in ("command", "recap"):
            continue
        thought = turn.role == "compaction"
        said = zip(turn.texts, turn.after, voices(turn.role, turn.texts), strict=True)
        for line, after, voice in _unwrapped(said):
            found += (
                Sentence(text, turn.number, turn.role, len(found) + at, after, tuple(words(text)), thought, voice)
                for at, text in enumerate(split(line))
            )
        last = turn.after[-1] if turn.after else 0
        for line in turn.reasoning:
            found += (
                Sentence(text, turn.number, turn.role, len(found) + at, last, tuple(words(text)), True)
                for at, text in enumerate(split(line))
            )
    return found


def _unwrapped(lines: Iterable[tuple[str, int, str]]) -> Iterator[tuple[str, int, str]]:
    """Yield the lines, those joined again that an editor or a terminal broke in the middle of a sentence."""
    held: tuple[str, int, str] | None = None
    for line, after, voice in lines:
        if held is not None and held[2] == voice and _goes_on(held[0], line):
            held = (f"{held[0].rstrip()} {line}", held[1], voice)
            continue
        if held is not None:
            yield held
        held = (line, after, voice)
    if held is not None:
        yield held


def _goes_on(line: str, following: str) -> bool:
    return len(line) >= _WRAPPED and following[:1].islower() and not _ENDS.search(line)


def split(line: str) -> Iterator[str]:
    """Yield the sentences of one line of markdown, without its decoration; tables and scraps give none."""
    if _TABLE.match(line):
        return
    bare = _EMPHASIS.sub(r"\2", _DECORATION.sub("", line)).strip()
    if len(bare) > 20 * SENTENCE_LIMIT:
        return  # a log or data that was pasted: no sentence of anybody's
    for text in _SENTENCE.split(bare):
        text = text.strip()
        if len(text) >= (_SHORTEST_CJK if has_cjk(text) else _SHORTEST) and any(map(str.isalpha, text)):
            if _NARRATES.match(straight(text)) or CONTINUATION.search(straight(text)):
                continue
            yield text if len(text) <= SENTENCE_LIMIT else text[: SENTENCE_LIMIT - 1].rstrip() + "…"


def straight(text: str) -> str:
    """Return the text with typewriter apostrophes, as every pattern here has them."""
    return text.replace("’", "'")


def words(text: str) -> Iterator[str]:
    """Yield the telling words of a text, lower case; what is said with any subject is left out."""
    text = straight(text)
    may_have_cjk = not text.isascii()
    for found in _WORD.findall(text):
        if may_have_cjk and has_cjk(found) and not _HANGUL.search(found):
            yield from _pairs(found)
            continue
        word = found.lower().removesuffix("'s")
        if 1 < len(word) < 60 and word not in QUIET and not word.isdigit():
            yield word


def _pairs(text: str) -> Iterator[str]:
    """Overlapping pairs of the characters of scripts that put no space between words; what is Latin there, whole."""
    run = ""
    for character in f"{text} ":
        if is_cjk(character) and (not run or is_cjk(run[-1])):
            run += character
            continue
        if run and is_cjk(run[-1]):
            yield from (run[at : at + 2] for at in range(len(run) - 1)) if len(run) > 1 else [run]
            run = ""
        elif run and (is_cjk(character) or character == " "):
            if len(run) > 1 and run.lower() not in QUIET:
                yield run.lower()
            run = ""
        if character != " ":
            run += character


@lru_cache(1 << 14)
def stem(word: str) -> str:
    """Return a word's rough stem, so that forms of one word count as one."""
    for ending in ("ingly", "edly", "ing", "ies", "ied", "es", "ed", "ly", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def weights(all_sentences: Iterable[Sentence]) -> dict[str, float]:
    """Return how much each stem says of this session: frequent over several turns, damped by the logarithm.

    ``(1 + log tf) * (1 + log turns)``: a word said in many turns is a theme, one said often in one turn a detail.
    """
    counts: Counter[str] = Counter()
    where: dict[str, set[int]] = {}
    for sentence in all_sentences:
        for word in sentence.words:
            root = stem(word)
            counts[root] += 1
            where.setdefault(root, set()).add(sentence.turn)
    return {root: (1 + math.log(count)) * (1 + math.log(len(where[root]))) for root, count in counts.items()}


# German, French, Spanish, Portuguese, Italian, Dutch, Polish, Russian and Ukrainian, Swedish: what most sentences hold.
FUNCTION_WORDS = frozenset(listed("function_words")) - {
    "den",
    "die",
    "hat",
    "son",
    "sin",
    "plus",
    "pour",
    "over",
    "on",
    "per",
    "vid",
    "far",
    "men",
    "under",
    "var",
    "ten",
}
_OTHER_SCRIPTS = 0.2


def is_english(texts: Iterable[str]) -> bool:
    """Return True if the text has as many function words of English as of other languages, or too few to decide."""
    english = foreign = letters = strange = 0
    for text in texts:
        letters += sum(map(str.isalpha, text))
        strange += 0 if text.isascii() else sum(each.isalpha() and ord(each) > 0x36F for each in text)
        for word in text.lower().split():
            word = word.strip(".,!?:;\"'()¿¡«»")
            english += word in STOP
            foreign += word in FUNCTION_WORDS and word not in STOP
    return foreign <= english and strange <= _OTHER_SCRIPTS * letters


def is_fragment(word: str) -> bool:
    """Return True if a word of a script without spaces is a pair that need be no word: any but two ideographs."""
    return any(map(is_cjk, word)) and (len(word) != 2 or not all("\u4e00" <= each <= "\u9fff" for each in word))
