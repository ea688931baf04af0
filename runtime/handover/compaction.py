"""After a compaction: the commands, files, decisions and errors of a session that its summary does not mention.

A fact counts as mentioned if the summary has the command or the file's name, or if three of its lines in a row have
most of the fact's words.
"""

from __future__ import annotations

import re
from os.path import join
from typing import TYPE_CHECKING

from core.files import read_or_none
from runtime.asking import agents
from runtime.asking.envelope import SCHEME
from runtime.distill import shell
from runtime.distill.words import QUIET, stem, words
from runtime.handover.state import Session

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from core.config import Config
    from runtime.handover.state import Fact

# Kinds in the order in which they are handed back, with the words before them. A person's words come first of a kind.
WORTH = {
    "rejected": "Rejected",
    "decision": "Decided",
    "error": "Open error",
    "command": "Commands that worked",
    "file": "Files changed",
    "fixed": "Solved",
}
# Kinds that are listed in one line.
_LISTS = ("command", "file")
# The part of the room that the lists keep from the sentences before them.
_FOR_LISTS = 0.4
_SAME = 0.6
_LINES = 3
_SENTENCE = 220
_COMMAND = 120
_PART = 100
# Characters of a document that are read: its end, since a hook has little time.
_MOST = 400_000
_LEAST_WORDS = 2
# Characters of a summary by which its turn is known; the first ones are the same in each.
_SIGN = 600
# A command often begins with the way to its folder, which the agent knows.
_MOVES = re.compile(r"^cd \S+ && ")


def document(config: Config, session: str) -> tuple[str, str] | None:
    """Return (uri, text) of the document of a session, None if there is none yet. Raises OSError."""
    for name, folder in config.collections.items():
        if folder.trust == "session" and session and "/" not in session:
            path = f"{session}.md"
            data = read_or_none(join(folder.path, path))
            if data is not None:
                return f"{SCHEME}{name}/{path}", data.decode("utf-8", "replace")
    return None


def at_compaction(text: str, summary: str = "") -> tuple[Session, str]:
    """Return (the session before its last compaction, the summary of that).

    The document may be older than the compaction: then ``summary`` is the one from the transcript, "" if unknown.
    """
    head, body = text[: len(text) - _MOST], text[-_MOST:]
    if head:
        # The frontmatter, then the first whole turn of what is kept.
        body = text[: text.find("\n## [")] + "\n" + body[max(0, body.find("\n## [")) :]
    whole = Session(body)
    found = whole.turns("compaction")
    if not found or (summary and " ".join(summary.split())[:_SIGN] not in " ".join(found[-1][2].split())):
        return whole, summary
    number, _, summary = found[-1]
    return Session(body, until=number), summary


def lost(facts: Iterable[Fact], summary: str) -> list[Fact]:
    """Return the facts of the kinds in ``WORTH`` that a summary does not mention, those worth most first."""
    mentions = Mentions(summary)
    missing = [fact for fact in facts if fact.kind in WORTH and not mentions.has(fact)]
    order = list(WORTH)
    return sorted(missing, key=lambda fact: (order.index(fact.kind), not fact.by_user, -fact.turn))


class Mentions:
    """Mentions in a summary."""

    def __init__(self, summary: str) -> None:
        self._flat = " ".join(summary.split())
        lines = [set(map(stem, words(line))) for line in summary.splitlines()]
        self._windows = [set().union(*lines[at : at + _LINES]) for at in range(len(lines))]

    def has(self, fact: Fact) -> bool:
        """Return True if the summary mentions a fact."""
        if fact.kind == "file":
            return fact.text.strip("`").rpartition("/")[2] in self._flat
        if fact.kind in ("command", "ran"):
            command = fact.text.strip("`").rstrip(" …")
            deed = shell.deed(command) or command
            return " ".join(command.split()) in self._flat or " ".join(deed.split()) in self._flat
        said = {stem(word) for word in words(fact.text) if word.lower() not in QUIET}
        if len(said) < _LEAST_WORDS:
            return " ".join(fact.text.split()) in self._flat
        return any(len(said & window) >= _SAME * len(said) for window in self._windows)


def given_back(facts: Sequence[Fact], room: int) -> tuple[list[str], list[Fact]]:
    """Return (lines for the agent, the facts in them) of the facts worth most, in at most ``room`` characters."""
    listed, _ = _lists(facts, int(room * _FOR_LISTS))
    left = room - sum(len(line) + 1 for line in listed)
    lines: list[str] = []
    given: list[Fact] = []
    for fact in (each for each in facts if each.kind not in _LISTS):
        who = " by the user" if fact.by_user and fact.kind != "error" else ""
        line = f"- {WORTH[fact.kind]}{who}: {_short(fact)} (line {fact.line})"
        if len(line) < left:
            left -= len(line) + 1
            lines.append(line)
            given.append(fact)
    listed, more = _lists(facts, room - sum(len(line) + 1 for line in lines))
    return lines + listed, given + more


def _lists(facts: Sequence[Fact], room: int) -> tuple[list[str], list[Fact]]:
    """Return (a line for each kind that is a list, the facts in it), in at most ``room`` characters."""
    lines: list[str] = []
    given: list[Fact] = []
    kinds = [kind for kind in _LISTS if any(fact.kind == kind for fact in facts)]
    for number, kind in enumerate(kinds):
        listed: list[str] = []
        free = room // (len(kinds) - number) - len(WORTH[kind]) - 5
        for fact in sorted((each for each in facts if each.kind == kind), key=_is_single):
            text = _short(fact)
            if len(text) + 2 <= free and text not in listed:
                free -= len(text) + 2
                listed.append(text)
                given.append(fact)
        if listed:
            lines.append(f"- {WORTH[kind]}: {'; '.join(listed)}")
            room -= len(lines[-1]) + 1
    return lines, given


def _is_single(fact: Fact) -> bool:
    """Return True if a command does one thing once: it has a message or a text of its own."""
    return fact.kind == "command" and any(mark in fact.text for mark in ('"', "'", "…"))


def _short(fact: Fact) -> str:
    text = fact.text.removeprefix("Refused by the user: ")
    if fact.kind == "file":
        return text
    if fact.kind == "command":
        return f"`{agents.code(_MOVES.sub('', text.strip('`')), _COMMAND)}`"
    tried, fails, how = text.partition("` failed: ")
    if not fails:
        return agents.code(text, _SENTENCE)
    why, solved, then = how.rpartition(" Fixed")
    short = f"`{agents.code(_MOVES.sub('', tried.strip('`')), _PART)}` failed: {agents.code(why or then, _PART)}"
    return f"{short} Fixed {agents.code(then, _PART)}" if solved else short
