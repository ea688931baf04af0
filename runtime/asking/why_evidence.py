"""What a distilled document says of a topic: decisions and rejections first, lists of names last.

A rejection is often put in words that name nothing ("no, don't set it"): what it answers is in the turns before it. So
a decision or a rejection is on the topic, too, if the session speaks of the topic in its turn or shortly before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.redaction import excerpt
from core.text import one_line
from runtime.asking.hits import SCHEME
from runtime.distill.distillate import SECTIONS, WORDS
from runtime.distill.transcript import TURN
from runtime.distill.words import stem, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

    from qmd.search.answers import Hit

# Sections by what they are worth as evidence of a decision, best first; a section that is not named is worth the rest.
_RANKS = {
    SECTIONS[key]: rank
    for rank, keys in enumerate(
        (("decisions", "rejected"), ("errors",), ("goals", "points", "questions"), ("commands", "ran", "files"), WORDS)
    )
    for key in keys
}
_LISTS = tuple(SECTIONS[key] for key in WORDS)
GROUNDS = 0
# From this rank on the session itself says more: its distillate has but names.
NAMES = 3
_HEADING = re.compile(r"^## (.+)$")
_ITEM = re.compile(r"^- \S")
_CITED = re.compile(r"\[(\d+)\]")
_PARTS = re.compile(r"[^\W_]+")
# How many turns before a statement's own may say what it is about.
_BEFORE = 2
_SHOWN = 3
_LENGTH = 240


@dataclass(frozen=True, slots=True)
class Said:
    """One statement: its section, its place in the document (characters, and its line), and how far it is on the topic:
    so many of its terms, half a term less where only the session has them."""

    section: str
    start: int
    end: int
    line: int
    turns: tuple[int, ...]
    terms: float

    @property
    def rank(self) -> int:
        """The rank of its section."""
        return _RANKS.get(self.section, NAMES)


def place(connection: apsw.Connection, hit: Hit, topic: str) -> int:
    """Let ``hit``, a distilled document, show what it says of the topic; returns the best rank of that.

    A document that says nothing of it in statements stays as it is. Raises apsw.Error.
    """
    row = connection.execute("SELECT doc FROM content WHERE hash = ?", (hit.hash,)).fetchone()
    text = str(row[0]) if row else ""
    found = statements(text, _session(connection, hit), topic)[:_SHOWN]
    if not found:
        return NAMES
    hit.line = found[0].line
    said = ((each.section, excerpt(text, each.start, each.end, is_clean=hit.is_clean)) for each in found)
    hit.snippet = "\n".join(f"{section}: {one_line(piece, _LENGTH)}" for section, piece in said)
    return found[0].rank


def _session(connection: apsw.Connection, hit: Hit) -> str:
    """The text that a document was distilled from, "" where the index does not have it. Raises apsw.Error."""
    collection, _, path = (hit.field("source_uri") or "").removeprefix(SCHEME).partition("/")
    row = connection.execute(
        "SELECT c.doc FROM documents d JOIN content c ON c.hash = d.hash"
        " WHERE d.collection = ? AND d.path = ? AND d.active = 1",
        (collection, path),
    ).fetchone()
    return str(row[0]) if row else ""


def statements(text: str, session: str, topic: str) -> list[Said]:
    """What a distilled document says of a topic, best first: by section, then by how much of the topic it has.

    ``session`` is the text that it was distilled from, "" where that is not known.
    """
    wanted = _stems(topic)
    turns = _turns(session)
    spoken: dict[int, set[str]] = {}

    def near(turn: int) -> set[str]:
        if turn not in spoken:
            spoken[turn] = wanted & _stems(turns.get(turn, ""))
        return spoken[turn]

    found = []
    for each in _statements(text, wanted):
        terms = each.terms
        if each.rank == GROUNDS:
            around = set[str]().union(*(near(turn - back) for turn in each.turns for back in range(_BEFORE + 1)))
            if 2 * len(around) >= len(wanted):
                terms = max(terms, len(around) - 0.5)
        if terms > 0:
            found.append(replace(each, terms=terms))
    return sorted(found, key=lambda each: (each.rank, -each.terms, each.line))


def _turns(session: str) -> dict[int, str]:
    """The texts of a session's turns by their numbers."""
    found: dict[int, list[str]] = {}
    number = 0
    for line in session.split("\n"):
        opened = TURN.match(line)
        if opened:
            number = int(opened[1])
        found.setdefault(number, []).append(line)
    return {number: "\n".join(lines) for number, lines in found.items()}


def _statements(text: str, wanted: set[str]) -> Iterator[Said]:
    section = ""
    start = 0
    for number, line in enumerate(text.split("\n"), 1):
        end = start + len(line)
        heading = _HEADING.match(line)
        if heading:
            section = heading[1]
        elif section and line and (_ITEM.match(line) or section in _LISTS):
            turns = tuple(int(turn) for turn in _CITED.findall(line))
            yield Said(section, start + 2 * line.startswith("- "), end, number, turns, len(wanted & _stems(line)))
        start = end + 1


def _stems(text: str) -> set[str]:
    """The rough stems of a text's telling words, and of the parts of names such as ``gc.auto``."""
    found = set(words(text))
    found.update(part for word in list(found) for part in _PARTS.findall(word))
    return {stem(word) for word in found}
