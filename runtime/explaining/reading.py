"""A document cut into pieces to read, and a session's piece into turns, texts, tool calls and reasoning.

docs/documents.md has the grammar. Lines are counted from 1, from the file's first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

from core.text import one_line
from ingest.session.document import COMPACTED, REASONING
from runtime.distill.transcript import TURN, called
from runtime.explaining.show import body_start

# Characters of a piece: markdown of so many takes about 30 ms.
PIECE = 12_000
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_MOST_PROMPTS = 200
_PEOPLE = ("user", "task")
_PROMPT_LENGTH = 90
_VERBATIM = "command"

Headings = list[tuple[int, re.Match[str]]]


@dataclass(slots=True)
class Part:
    """A stretch of a turn. ``kind`` is ``text``, ``calls`` or ``reasoning``; ``line`` is its first."""

    kind: str
    line: int
    lines: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its lines as one text."""
        return "\n".join(self.lines)

    @property
    def last(self) -> int:
        """The last line."""
        calls = self.calls
        return calls[-1].line + len(calls[-1].notes) if calls else self.line + max(0, len(self.lines) - 1)

    @property
    def failed(self) -> int:
        """How many of the calls failed."""
        return sum(call.failed for call in self.calls)

    @property
    def tools(self) -> str:
        """The names of the tools, each once."""
        return ", ".join(dict.fromkeys(call.name for call in self.calls))


@dataclass(slots=True)
class Call:
    """One tool call; ``notes`` are the lines below it, without their indentation."""

    line: int
    name: str
    argument: str
    notes: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """True if an error is among the notes."""
        return any(note.startswith("! ") for note in self.notes)


@dataclass(slots=True)
class Turn:
    """A section: ``number`` and ``role`` as in its heading, ``at`` ("YYYY-MM-DD HH:MM", UTC); role "" is no turn's."""

    line: int
    number: int = 0
    role: str = ""
    at: str = ""
    parts: list[Part] = field(default_factory=list)
    verbatim: bool = False


@dataclass(slots=True)
class Piece:
    """Lines ``first`` to ``last`` of a document; ``previous`` and ``next`` are the first lines of its neighbours."""

    first: int
    last: int
    number: int
    of: int
    previous: int | None
    next: int | None


def headings(lines: list[str]) -> Headings:
    """Return (index, match) of the lines that begin a turn."""
    likely = [(index, line) for index, line in enumerate(lines) if line[:4] == "## ["]
    return [(index, opened) for index, line in likely if (opened := TURN.match(line))]


def cut(lines: list[str], wanted: int, opened: Headings | None = None) -> Piece:
    """Return the piece that has the line ``wanted``, else the first. A piece ends before a turn or a blank line.

    ``opened`` are the ``headings`` of the lines, if the caller has them.
    """
    starts = _starts(lines, headings(lines) if opened is None else opened)
    number = max((index for index, start in enumerate(starts) if start <= wanted), default=0)
    ends = [*(start - 1 for start in starts[1:]), len(lines)]
    return Piece(
        starts[number],
        ends[number],
        number + 1,
        len(starts),
        starts[number - 1] if number else None,
        starts[number + 1] if number + 1 < len(starts) else None,
    )


def _starts(lines: list[str], opened: Headings) -> list[int]:
    body = body_start(lines)
    found = [body + 1]
    size = 0
    places = (body, *(index for index, _ in opened if index >= body), len(lines))
    for first, end in pairwise(dict.fromkeys(places)):
        # A turn may begin a little early, so that a piece begins with its heading.
        if first > body and size >= PIECE // 2:
            found.append(first + 1)
            size = 0
        whole = sum(map(len, lines[first:end])) + end - first
        if size + whole < PIECE:
            size += whole
        else:
            size = _split(lines, first, end, size, found)
    return found


def _split(lines: list[str], first: int, end: int, size: int, found: list[int]) -> int:
    """Add to ``found`` where pieces begin within a long turn; return the size of the last one."""
    fence = ""
    for index in range(first, end):
        line = lines[index]
        if size >= PIECE and not fence and not line.strip() and not _continues(lines, index + 1):
            found.append(index + 1)
            size = 0
        size += len(line) + 1
        fence = _fence(fence, line)
    return size


def _continues(lines: list[str], index: int) -> bool:
    """Return True if a line belongs to the block before a blank line: it is indented."""
    return index < len(lines) and lines[index].startswith((" ", "\t"))


def _fence(fence: str, line: str) -> str:
    match = _FENCE.match(line) if "```" in line or "~~~" in line else None
    if match is None:
        return fence
    mark, rest = match[1], match[2]
    if not fence:
        return mark if mark[0] == "~" or "`" not in rest else ""
    return "" if mark[0] == fence[0] and len(mark) >= len(fence) and not rest.strip() else fence


def turns(lines: list[str], piece: Piece, title: str = "") -> list[Turn]:
    """Return the turns of a piece; what continues the turn of the piece before has no heading of its own.

    A heading that ends with the ``title``, which is shown already, is left out at the beginning.
    """
    role = next((match[2] for line in reversed(lines[: piece.first - 1]) if (match := TURN.match(line))), "")
    current = Turn(piece.first, role=role, verbatim=role == _VERBATIM)
    found = [current]
    fence, thinking = "", False
    call: Call | None = None
    for number in range(piece.first, piece.last + 1):
        line = lines[number - 1]
        opened = TURN.match(line) if line.startswith("## [") else None
        if opened:
            role = opened[2]
            at = (opened[3] or "").removeprefix(" · ")
            current = Turn(number, int(opened[1]), role, at, verbatim=role == _VERBATIM)
            found.append(current)
            fence, thinking, call = "", False, None
            continue
        if call is not None and line.startswith("  "):
            call.notes.append(line[2:])
            continue
        if role and not fence and line in (REASONING, COMPACTED):
            thinking, call = line == REASONING, None
            continue
        made = called(role, line) if role and not fence and not thinking and not current.verbatim else None
        if made is not None:
            call = Call(number, *made)
            _part(current, "calls", number).calls.append(call)
            continue
        if call is not None and not line.strip():
            continue  # the next line may be a call of the same part
        call = None
        if number == piece.first and title and line.startswith("# ") and line.endswith(title):
            continue
        _part(current, "reasoning" if thinking else "text", number).lines.append(line)
        fence = _fence(fence, line)
    for turn in found:
        turn.parts = [part for part in turn.parts if part.calls or part.text.strip()]
    return [turn for turn in found if turn.parts or turn.number]


def _part(turn: Turn, kind: str, line: int) -> Part:
    if not turn.parts or turn.parts[-1].kind != kind:
        turn.parts.append(Part(kind, line))
    return turn.parts[-1]


def count_prompts(opened: Headings) -> int:
    """Return in how many turns a person speaks, of the ``headings`` of a document."""
    return sum(heading[2] in _PEOPLE for _, heading in opened)


def prompts(lines: list[str], most: int = _MOST_PROMPTS, opened: Headings | None = None) -> list[tuple[int, int, str]]:
    """Return (line, number, first words) of the turns in which a person speaks; of more than ``most``, every nth.

    ``opened`` are the ``headings`` of the lines, if the caller has them.
    """
    known = headings(lines) if opened is None else opened
    spoken = [(index, int(heading[1])) for index, heading in known if heading[2] in _PEOPLE]
    found: list[tuple[int, int, str]] = []
    for index, number in spoken[:: max(1, -(-len(spoken) // most))]:
        words = next((text for text in lines[index + 1 : index + 20] if text.strip()), "")
        found.append((index + 1, number, one_line(words.lstrip("#> \\"), _PROMPT_LENGTH)))
    return found
