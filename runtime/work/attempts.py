"""Attempts at something, read from a session: what was asked for or tried, and the sentence that tells how it ended.

A request is an attempt if files were changed for it; the person's next words judge it, or else the agent's last. Within
the work, a sentence about the topic that says what came of something is an attempt of its own.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from core import clock, document
from runtime.distill.transcript import TURN, read
from runtime.distill.words import QUIET, sentences, stem, words
from runtime.work.outcomes import FAILED, GIVEN_UP, NOT_SAID, REJECTED, outcome, verdict
from runtime.work.tongues import spoken as spoken_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runtime.distill.transcript import Turn
    from runtime.distill.words import Sentence
    from runtime.work.tongues import Tongue

# The part of the topic's words that an attempt must have, and words of a pasted plan that are looked for.
SHARE, _MOST_WORDS = 0.6, 24
# Sentences before one that may say what it is about.
_BEFORE = 4
# Sentences after a request that say what it is about, and sentences of the next request that judge the work.
_AFTER, _JUDGING = 6, 2
SAID, ASKED = "said", "request"


class Attempt(NamedTuple):
    """One attempt. ``what`` was tried, ``quote`` says what came of it, ``share`` is how far it is on the topic."""

    share: float
    at: int
    outcome: str
    kind: str
    what: str
    quote: str
    document: int
    turn: int
    line: int
    times: int = 1


def topic_stems(topic: str) -> frozenset[str]:
    """Return the stems by which a topic is recognised; a name with a hyphen counts by its parts."""
    named = (part for word in words(topic) for part in _parts(word) or [word])
    return frozenset(list(dict.fromkeys(map(stem, named)))[:_MOST_WORDS])


def stems(text: str) -> set[str]:
    """Return the stems of a text's telling words, and of the parts of names such as ``auto-compact``."""
    found = set(words(text))
    found.update(part for word in list(found) for part in _parts(word))
    return {stem(word) for word in found}


def _parts(word: str) -> list[str]:
    parts = "".join(each if each.isalnum() else " " for each in word).split()
    return [part for part in parts if len(part) > 1 and part not in QUIET and not part.isdigit()]


def share(wanted: frozenset[str], own: set[str], near: set[str]) -> float:
    """Return how far a text is on the topic, 0 if too little: its own words, and half of those around it."""
    mine = wanted & own
    around = (wanted & near) - mine
    if not wanted or len(mine) + len(around) < ceil(SHARE * len(wanted)):
        return 0.0
    return (len(mine) + len(around) / 2) / len(wanted)


def attempts(text: str, wanted: frozenset[str], identity: int, date: int) -> list[Attempt]:
    """Return the attempts on a topic in a session's document; ``date`` (epoch seconds) is for turns without a time."""
    turns = read(document.split(text)[1])
    spoken = [each for each in sentences(turns) if each.is_own]
    session = _Session(text, identity, date)
    session.tongues = spoken_in(each.text for each in spoken)
    return [*_requests(session, turns, spoken, wanted), *_told(session, spoken, wanted)]


class _Session:
    """A session's document: where its turns begin, and when."""

    def __init__(self, text: str, identity: int, date: int) -> None:
        self.identity = identity
        self._lines = text.split("\n")
        self._date = date
        self._turns: dict[int, tuple[int, int]] = {}
        # The languages of what is said in it, besides English.
        self.tongues: list[Tongue] = []
        for number, line in enumerate(self._lines, 1):
            if line.startswith("## [") and (opened := TURN.match(line)):
                when = opened[3].removeprefix(" · ").replace(" ", "T") if opened[3] else ""
                self._turns[int(opened[1])] = (number, (clock.parse_iso(f"{when}:00Z") if when else None) or date)

    def attempt(self, how_far: float, result: str, kind: str, what: str, quote: Sentence) -> Attempt:
        first, at = self._turns.get(quote.turn, (1, self._date))
        line = self._line(first, quote.text)
        return Attempt(how_far, at, result, kind, what, quote.text, self.identity, quote.turn, line)

    def _line(self, first: int, sentence: str) -> int:
        """Return the line of a turn that holds the beginning of a sentence, the turn's own if none does."""
        beginning = sentence.split("`")[0].split("*")[0][:40].strip()
        for number in range(first, len(self._lines)):
            if self._lines[number].startswith("## ["):
                break
            if beginning and beginning in self._lines[number]:
                return number + 1
        return first


def _told(session: _Session, spoken: Sequence[Sentence], wanted: frozenset[str]) -> Iterator[Attempt]:
    """Yield what single sentences about the topic tell of: failures, what was given up and rejected on the way."""
    for place, each in enumerate(spoken):
        result = outcome(each.text, by_person=each.role == "user", tongues=session.tongues)
        if result not in (FAILED, GIVEN_UP, REJECTED) or not wanted & stems(each.text):
            continue
        before = [one for one in spoken[max(0, place - _BEFORE) : place] if each.turn - one.turn <= 1]
        how_far = share(wanted, stems(each.text), set[str]().union(*(stems(one.text) for one in before)))
        if how_far:
            about = next((one.text for one in reversed(before) if wanted & stems(one.text)), each.text)
            yield session.attempt(how_far, result, SAID, about, each)


def _requests(
    session: _Session, turns: Sequence[Turn], spoken: Sequence[Sentence], wanted: frozenset[str]
) -> Iterator[Attempt]:
    """Yield the requests about the topic that work followed, each with what was said of it at the end."""
    by_turn: dict[int, list[Sentence]] = {}
    for each in spoken:
        by_turn.setdefault(each.turn, []).append(each)
    asked: list[Sentence] = []
    work: list[Turn] = []
    for turn in [*turns, None]:
        if turn is not None and turn.role not in ("user", "task"):
            work.append(turn)
            continue
        following = by_turn.get(turn.number, []) if turn is not None else []
        if asked and any(call.kind == "change" and not call.errors for each in work for call in each.calls):
            replies = [one for each in work for one in by_turn.get(each.number, [])]
            paths = stems(" ".join(call.argument for each in work for call in each.calls if call.kind == "change"))
            near = paths.union(*(stems(one.text) for one in replies[:_AFTER]))
            how_far = share(wanted, set[str]().union(*(stems(one.text) for one in asked)), near)
            quote, result = _judged(following[:_JUDGING], replies, session.tongues)
            if how_far and wanted & (near | stems(asked[0].text)):
                yield session.attempt(how_far, result, ASKED, " ".join(one.text for one in asked), quote or asked[0])
        asked, work = following, []


def _judged(
    following: Iterable[Sentence], replies: Sequence[Sentence], tongues: Sequence[Tongue]
) -> tuple[Sentence | None, str]:
    """Return the sentence that says what came of a request's work, and the outcome: the person's word counts first."""
    for each in following:
        if result := verdict(each.text, tongues):
            return each, result
    for each in reversed(replies):
        if result := outcome(each.text, by_person=False, tongues=tongues):
            return each, result
    return (replies[-1] if replies else None), NOT_SAID
