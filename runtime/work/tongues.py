"""How outcomes are said in languages besides English: ``data/outcomes.json`` has the words, a section a language.

A section has ``words`` or ``script``, by which its language is recognised, and a list of patterns for each way to say
an outcome. ``refuses`` and ``praises`` begin a sentence, ``complains`` comes within its first words; ``ahead`` makes
the others void: nothing has come yet of what is only hoped, asked or planned.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.work.outcomes import FAILED, GIVEN_UP, REJECTED, WORKED

if TYPE_CHECKING:
    from collections.abc import Iterable

_DATA = Path(__file__).parent / "data" / "outcomes.json"
# Occurrences of a language's words, and different ones, from which a session counts as in it; letters of its script.
_OFTEN, _DIFFERENT, _LETTERS = 3, 2, 4
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
# Words before a complaint, and what people say first.
_LEAD = r"^(?:\W*\w+\W+){0,3}?\W*"
_FIRST = r"^\W*(?:(?:ok|okay|ah|oh|ja|oui|sí|si|sim|tak|да|так|evet)[,.! ]+)*"


class Tongue:
    """One language: patterns for each way to say an outcome, by the section's names."""

    def __init__(self, section: dict[str, object]) -> None:
        self.words = frozenset(map(str, _list(section, "words")))
        script = str(section.get("script") or "")
        self.script = re.compile(script) if script else None
        # Scripts without spaces have no ends of words.
        before, after = ("", "") if script else (r"(?<!\w)", r"(?!\w)")

        def pattern(name: str, lead: str = "") -> re.Pattern[str]:
            one_of = "|".join(map(str, _list(section, name)))
            return re.compile(f"{lead}{before}(?:{one_of}){after}", re.IGNORECASE)

        self._works, self._fails, self._gives_up = pattern("works"), pattern("fails"), pattern("gives_up")
        self._rejects, self._ahead = pattern("rejects"), pattern("ahead")
        self._refuses, self._praises = pattern("refuses", _FIRST), pattern("praises", _FIRST)
        self._complains = pattern("complains", "^.{0,6}?" if script else _LEAD)

    def outcome(self, text: str, *, by_person: bool) -> str:
        """Return what a sentence says came of an attempt, "" if it says nothing of that."""
        if by_person and self._refuses.search(text):
            return REJECTED
        if text.rstrip().endswith(("?", "？")):
            return ""
        for pattern, result in (
            (self._gives_up, GIVEN_UP),
            (self._rejects, REJECTED),
            (self._fails, FAILED),
            (self._works, WORKED),
        ):
            if pattern.search(text):
                return "" if self._ahead.search(text) else result
        return ""

    def verdict(self, text: str) -> str:
        """Return what a person's words after some work say came of it, "" if they say nothing of that."""
        if self._complains.search(text):
            return FAILED
        if self._refuses.search(text):
            return REJECTED
        return WORKED if self._praises.search(text) and not self._fails.search(text) else ""


def _list(section: dict[str, object], name: str) -> list[object]:
    found = section.get(name)
    return found if isinstance(found, list) else []


@cache
def tongues() -> dict[str, Tongue]:
    """Return the languages of the vocabulary by their ISO 639-1 codes."""
    return {name: Tongue(section) for name, section in json.loads(_DATA.read_text("utf-8")).items()}


def spoken(texts: Iterable[str]) -> list[Tongue]:
    """Return the languages, besides English, that some of the texts are in."""
    said = list(texts)
    counts = Counter(word for text in said for word in _WORD.findall(text.lower()))
    found: list[Tongue] = []
    for tongue in tongues().values():
        if tongue.script is not None:
            if sum(len(tongue.script.findall(text)) for text in said if not text.isascii()) >= _LETTERS:
                found.append(tongue)
            continue
        mine = [counts[word] for word in tongue.words if word in counts]
        if len(mine) >= _DIFFERENT and sum(mine) >= _OFTEN:
            found.append(tongue)
    return found
