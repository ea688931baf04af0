"""The state of a session, from its document: goals, decisions, files, commands, errors and the next step.

Facts are copied from the document and cite its lines. No model is asked.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from core import document
from core.text import one_line
from runtime.distill import extractive, traces
from runtime.distill.transcript import TURN, called, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runtime.distill.distillate import Statement
    from runtime.distill.transcript import Call

# The kinds of facts, with their headings, in the order in which a reader needs them.
KINDS = {
    "goal": "Goal, in the user's words",
    "asked": "Latest requests, in the user's words",
    "decision": "Decisions",
    "rejected": "Rejected, refused or corrected",
    "error": "Open errors",
    "next": "Where the work was left",
    "file": "Files changed",
    "command": "Commands that worked",
    "fixed": "Errors that were solved",
    "summary": "Summary that the agent worked from after its last compaction",
    "said": "What else the user said",
    "point": "Key points of the agent",
    "ran": "Commands with an outcome that is not recorded",
}
_PEOPLE = ("user", "task")
_LATEST = 3
# Between a question and a person's answer, as ``runtime.distill.extractive`` writes them.
_CHOSEN = " → "
_LAST_WORDS = 1_500
_SAID = 240
# A prompt of which a fact has this part is not repeated.
_COVERED = 0.8
_TODO = re.compile(r"^TodoWrite|^update_plan|^todowrite", re.IGNORECASE)
# As ``runtime.distill.traces.errors`` ends the statement of an error that was solved.
_SOLVED = re.compile(r" Fixed(?: by changing [^:]*)?: .* then worked\.$")
# Beginnings of a statement by which its line is found: the longest that the turn has.
_BEGINNINGS = (80, 40, 20, 10)


class Fact:
    """One fact: its kind (of ``KINDS``), its text, the turn and the line of the document that it rests on.

    ``by_user``: a person said it. ``whole``: the text has several lines, as they are in the document.
    """

    __slots__ = ("by_user", "kind", "line", "text", "turn", "whole")

    def __init__(
        self, kind: str, text: str, turn: int, line: int, *, by_user: bool = False, whole: bool = False
    ) -> None:
        self.kind, self.text, self.turn, self.line = kind, text, turn, line
        self.by_user, self.whole = by_user, whole


class Session:
    """One session's document: frontmatter, turns with their lines, and its facts."""

    def __init__(self, text: str, until: int = 0) -> None:
        """Read the document ``text``; with ``until``, only the turns before that number."""
        self.meta, body = document.split(text)
        head = text.count("\n", 0, len(text) - len(body))
        self._lines = body.split("\n")
        self._head = head
        self._starts: list[tuple[int, int, str]] = []
        for at, line in enumerate(self._lines):
            found = TURN.match(line)
            if found:
                if until and int(found[1]) >= until:
                    self._lines = self._lines[:at]
                    break
                self._starts.append((int(found[1]), at, found[2]))
        self._body = "\n".join(self._lines)

    @property
    def project(self) -> str:
        """The folder in which the session worked."""
        return str(self.meta.get("project") or "")

    def turns(self, *roles: str) -> list[tuple[int, int, str]]:
        """Return (number, line of the document, text) of the turns of these roles."""
        return [
            (number, self._head + at + 1, "\n".join(self._lines[at + 1 : end]).strip("\n"))
            for number, at, role, end in self._spans()
            if role in roles
        ]

    def _spans(self) -> Iterator[tuple[int, int, str, int]]:
        """Yield (number, first line, role, line after the last) of each turn; a note has none."""
        for (number, at, role), (_, end, _) in pairwise([*self._starts, (0, len(self._lines), "")]):
            yield number, at, role, end

    def role(self, number: int) -> str:
        """Return the role of a turn, "" if there is no such turn."""
        return next((role for each, _, role in self._starts if each == number), "")

    def turn_at(self, line: int) -> int:
        """Return the number of the turn that a line of the document belongs to, 0 before the first."""
        return next((number for number, at, _ in reversed(self._starts) if self._head + at + 1 <= line), 0)

    def facts(self) -> list[Fact]:
        """Return what the session holds, by kind, each kind in the session's order."""
        turns = read(self._body)
        calls = [call for turn in turns for call in turn.calls]
        found = extractive.distil(self._body, self.project).sections
        prompts = self.turns(*_PEOPLE)
        facts = [Fact("goal", text, number, line, by_user=True, whole=True) for number, line, text in prompts[:1]]
        latest = prompts[1:][-_LATEST:]
        asked = {number for number, _, _ in latest} | {number for number, _, _ in prompts[:1]}
        earlier = [each for each in found["goals"] if each.turns and each.turns[0] not in asked]
        facts += self._stated("asked", earlier)
        facts += [Fact("asked", text, number, line, by_user=True, whole=True) for number, line, text in latest]
        facts += self._stated("decision", found["decisions"])
        facts += self._stated("rejected", found["rejected"])
        facts += self._stated("error", traces.unresolved(calls))
        facts += self._left(calls)
        facts += self._stated("file", found["files"])
        facts += self._stated("command", found["commands"])
        facts += self._stated("fixed", (each for each in found["errors"] if _SOLVED.search(each.text)))
        summaries = self.turns("compaction")
        others = [
            (number, line, text)
            for number, line, text in prompts
            if number not in asked
            and not any(fact.turn == number and len(fact.text) >= _COVERED * len(text) for fact in facts)
        ]
        facts += [Fact("said", one_line(text, _SAID), number, line, by_user=True) for number, line, text in others]
        aloud = {number: " ".join(_spoken(text).split()) for number, _, text in self.turns("assistant", "commentary")}
        points = self._stated("point", found["points"])
        # A thought of an agent is no finding.
        facts += [fact for fact in points if fact.text[: _BEGINNINGS[1]] in aloud.get(fact.turn, "")]
        facts += [Fact("summary", text, number, line, whole=True) for number, line, text in summaries[-1:]]
        facts += self._stated("ran", found["ran"])
        return facts

    def _left(self, calls: Sequence[Call]) -> list[Fact]:
        """Return where the work was left: the state of a list of tasks, open questions, the agent's last words."""
        facts = []
        todo = next((call for call in reversed(calls) if _TODO.match(call.name)), None)
        if todo is not None:
            facts.append(Fact("next", f"Tasks: {todo.argument}", todo.turn, self.line_of(todo.turn, todo.argument)))
        words = [(number, line, _spoken(text)) for number, line, text in self.turns("assistant")]
        said = next((each for each in reversed(words) if each[2]), None)
        if said is not None:
            number, line, text = said
            facts.append(Fact("next", _last(text), number, line, whole=True))
        return facts

    def _stated(self, kind: str, statements: Iterable[Statement]) -> list[Fact]:
        facts = []
        for each in statements:
            turn = each.turns[-1] if kind in ("file", "command") else each.turns[0] if each.turns else 0
            text = f"{each.text} Why: {each.why}" if each.why else each.text
            line = self.line_of(turn, each.text, changed=kind == "file")
            # An answer is in the agent's turn, at the call that asked.
            by_user = self.role(turn) in _PEOPLE or (kind == "decision" and _CHOSEN in each.text)
            facts.append(Fact(kind, one_line(text, 600), turn, line, by_user=by_user))
        return facts

    def line_of(self, turn: int, text: str, *, changed: bool = False) -> int:
        """Return the line of the document at which a turn has ``text``, at least its heading; 0 without such a turn.

        ``changed``: the text is a file that the turn changed, so that looking at the file does not count.
        """
        for number, at, _, end in self._spans():
            if number == turn:
                start = text.strip("`").partition("`")[0].partition(" — ")[0]
                start = start.rpartition(": ")[2] if text.startswith("Refused by") else start
                lines = [each for each in range(at, end) if not (changed and self._lines[each].startswith("- Read"))]
                for length in _BEGINNINGS:
                    for each in lines:
                        if start[:length].rstrip("….") in self._lines[each]:
                            return self._head + 1 + each
                return self._head + 1 + at
        return 0


def _spoken(text: str) -> str:
    """Return a turn's text without its tool calls and what is thought."""
    kept: list[str] = []
    inside = False
    for line in text.partition("\n### reasoning")[0].split("\n"):
        if line.startswith("### reasoning"):
            break
        if called("assistant", line) is not None:
            inside = True
            continue
        if inside and (line.startswith("  ") or not line):
            continue
        inside = False
        kept.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def _last(text: str) -> str:
    """Return the last paragraphs of a text, in about 1,500 characters."""
    if len(text) <= _LAST_WORDS:
        return text
    kept: list[str] = []
    room = _LAST_WORDS
    for paragraph in reversed(text.split("\n\n")):
        if kept and len(paragraph) > room:
            break
        kept.append(paragraph[-_LAST_WORDS:])
        room -= len(paragraph) + 2
    return "\n\n".join(reversed(kept))


def fields(meta: dict[str, Any]) -> dict[str, str]:
    """Return the fields of a session that a reader needs to place it, as text."""
    names = ("session_id", "source", "title", "project", "git_branch", "date", "ended")
    return {name: str(meta[name]) for name in names if meta.get(name)}
