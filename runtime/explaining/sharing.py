"""A session for somebody else: its turns without secrets, private spans and reasoning, and a count of what is withheld.

Secrets are gone from documents already; the policy is applied again, since the document may be older than the policy.
The user's folder is written as ``~``.
"""

from __future__ import annotations

import re
from collections import Counter
from os.path import expanduser
from typing import TYPE_CHECKING, Any, NamedTuple

from core.counting import counted
from core.document import split
from core.errors import BadInput
from core.redaction import clean, shown
from core.text import printable
from runtime.explaining import reading

if TYPE_CHECKING:
    from collections.abc import Mapping

_MARK = re.compile(r"\[redacted:([a-z0-9_-]+)\]")
# Facts of a session that a colleague needs, by their names in the frontmatter.
_FACTS = ("source", "date", "ended", "project", "git_branch", "models")
_REASONING, _PRIVATE = "reasoning", "private"


class Turn(NamedTuple):
    """One turn: who, when ("" if unknown), and its markdown."""

    role: str
    when: str
    text: str


class Shared(NamedTuple):
    """A session as it may leave the machine. ``withheld`` is kind → how many: secrets by kind, and reasoning."""

    title: str
    facts: dict[str, str]
    turns: list[Turn]
    withheld: dict[str, int]


def share(document: str) -> Shared:
    """Return what a session's document holds for somebody else. Raises BadInput if the document has no turns."""
    meta, body = split(document)
    counts: dict[str, int] = {}
    cleaned = clean(printable(body), counts)
    withheld = Counter(_MARK.findall(cleaned))
    withheld[_PRIVATE] += counts.get(_PRIVATE, 0)  # nothing marks the place of a private span
    lines = cleaned.split("\n")
    found = [turn for turn in reading.turns(lines, reading.Piece(1, len(lines), 1, 1, None, None)) if turn.number]
    if not found:
        raise BadInput("the document is no session: it has no turns", "brain recent lists sessions")
    turns = []
    for turn, after in zip(found, [*(turn.line for turn in found[1:]), len(lines) + 1], strict=True):
        hidden: set[int] = set()
        for thought in (part for part in turn.parts if part.kind == _REASONING):
            withheld[_REASONING] += 1
            withheld.subtract(_MARK.findall(thought.text))  # it is counted as reasoning, whatever is in it
            hidden.update(range(thought.line - 1, thought.last + 1))  # with its heading
        said = "\n".join(lines[number - 1] for number in range(turn.line + 1, after) if number not in hidden)
        turns.append(Turn(turn.role, turn.at, _at_home(said.strip("\n"))))
    title = str(meta.get("title") or "Session")
    facts = {name: _at_home(_line(meta[name])) for name in _FACTS if meta.get(name)}
    return Shared(_at_home(_line(title)), facts, turns, {kind: n for kind, n in sorted(withheld.items()) if n > 0})


def markdown(shared: Shared) -> str:
    """Return a session as one file of markdown."""
    lines = [f"# {shared.title}", ""]
    lines += [f"- {name}: {value}" for name, value in shared.facts.items()]
    lines += [f"- withheld: {summary(shared.withheld)}", ""]
    for turn in shared.turns:
        lines += [f"## {turn.role}{f' · {turn.when}' if turn.when else ''}", "", turn.text, ""]
    return "\n".join(lines)


def summary(withheld: Mapping[str, int]) -> str:
    """Return in words what was withheld."""
    secrets = {kind: count for kind, count in withheld.items() if kind != _REASONING}
    said = []
    if secrets:
        kinds = ", ".join(f"{count} {kind}" for kind, count in secrets.items())
        said.append(f"{counted(sum(secrets.values()), 'secret')} and private spans ({kinds})")
    if withheld.get(_REASONING):
        said.append(f"the reasoning of {counted(withheld[_REASONING], 'turn')}")
    return " and ".join(said) or "nothing"


def _line(value: Any) -> str:
    given = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return " ".join(shown(printable(given)).split())


def _at_home(text: str) -> str:
    user = expanduser("~")
    return re.sub(rf"{re.escape(user)}(?=[/\s\"'`:)]|$)", "~", text) if len(user) > 1 else text
