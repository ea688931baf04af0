"""``brain how``: how this machine really runs a program, by what succeeded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.errors import BadQuery
from core.text import encodable, one_line
from qmd.index.actions import table
from qmd.index.actions.action import FAILED, OK
from qmd.index.actions.normal_forms import command, programs
from runtime.asking.request import echoed
from runtime.work.scope import answer, where

if TYPE_CHECKING:
    from core.config import Config
    from core.home import Home
    from runtime.work.scope import Scope

RESULTS = "commands"
# Characters of a command that people and models are shown.
_SHOWN = 240
# Commands of one project before the next project has its turn.
_A_PROJECT = 4


class _Runs:
    """The runs of one command in one project."""

    __slots__ = ("failed", "last", "ok", "project", "unknown")

    def __init__(self, project: str) -> None:
        self.project = project
        self.ok = self.failed = self.unknown = 0
        # (succeeded, at, document, number) of the newest run, one that succeeded before all.
        self.last = (False, 0, 0, 0)

    def add(self, outcome: str, at: int, document: int, number: int) -> None:
        """Count one run."""
        if outcome == OK:
            self.ok += 1
        elif outcome == FAILED:
            self.failed += 1
        else:
            self.unknown += 1
        self.last = max(self.last, (outcome == OK, at, document, number))


def how(home: Home, config: Config, words: list[str], **within: Any) -> dict[str, Any]:
    """Return the envelope of ``brain how``: commands of a program, those that succeeded first.

    The project in which the question is asked comes first, then the newest; of a project, what succeeded most often.
    Each command has how often it succeeded, failed, and ran without a known outcome. ``within`` is what
    ``runtime.work.scope.answer`` takes.
    """
    words = [each for word in words for each in encodable(word).split()]
    if not words:
        raise BadQuery("no program is named", "brain how pytest")
    return answer(home, config, lambda scope: _found(scope, words), RESULTS, **within)


def _found(scope: Scope, words: list[str]) -> dict[str, Any]:
    parsed = command(" ".join(words))
    name = parsed.tool or words[0]
    rest = [word for word in words if word.rpartition("/")[2] != name]
    rows = list(table.runs(scope.connection, name, scope.since, rest))
    if not rows:  # the program is not the first of its command line
        others = table.runs_with(scope.connection, words, scope.since)
        rows = [row[:5] for row in others if name in programs(row[5])]
    kept = [row for row in rows if scope.holds(row[1])]
    scope.load(row[1] for row in kept)
    groups: dict[tuple[int, str], _Runs] = {}
    for key, document, number, outcome, at in kept:
        project = scope.origin(document).project
        group = groups.get((key, project))
        if group is None:
            group = groups[key, project] = _Runs(project)
        group.add(outcome, at, document, number)
    newest: dict[str, tuple[bool, int, int, int]] = {}
    for group in groups.values():
        newest[group.project] = max(group.last, newest.get(group.project, group.last))

    def worth(group: _Runs) -> tuple[Any, ...]:
        project = group.project
        return (scope.is_here(project), newest[project], project, group.ok > 0, group.ok, group.last)

    found = sorted(groups.values(), key=worth, reverse=True)
    if not scope.project:
        found = _spread(found)
    return {
        "tool": echoed(" ".join(words)),
        "runs": len(kept),
        "failed": sum(each.failed for each in groups.values()),
        "different": len({key for key, _ in groups}),
        RESULTS: [_shown(scope, each) for each in found[: scope.limit]],
    }


def _spread(groups: list[_Runs]) -> list[_Runs]:
    """Return the first groups of each project, then the others."""
    counts: dict[str, int] = {}
    first: list[_Runs] = []
    rest: list[_Runs] = []
    for group in groups:
        counts[group.project] = counts.get(group.project, 0) + 1
        (first if counts[group.project] <= _A_PROJECT else rest).append(group)
    return first + rest


def _shown(scope: Scope, group: _Runs) -> dict[str, Any]:
    done = table.one(scope.connection, group.last[2], group.last[3])
    return {
        "command": done.subject,
        "folder": done.folder,
        "ok": group.ok,
        "failed": group.failed,
        "unknown": group.unknown,
        "note": done.note if done.outcome == FAILED else "",
        **scope.place(done),
    }


def lines(envelope: dict[str, Any]) -> list[str]:
    """Return the envelope as lines of text."""
    found = envelope[RESULTS]
    if not found:
        return [f"No session ran {envelope['tool']}."]
    said = [f"{envelope['tool']}: {envelope['runs']} runs, {envelope['failed']} failed", ""]
    project = None
    for each in found:
        if each["project"] != project:
            project = each["project"]
            said.append(f"{project or '(no project)'}:")
        said.append(f"  $ {one_line(each['command'], _SHOWN)}")
        counts = [f"{each[name]} {name}" for name in ("ok", "failed") if each[name]]
        counts += [f"{each['unknown']} with unknown outcome"] if each["unknown"] else []
        said.append(f"    {', '.join(counts)} · {where({**each, 'project': ''})}")
        if each["note"]:
            said.append(f"    ! {one_line(each['note'], 160)}")
    if envelope["different"] > len(found):
        said += ["", f"{len(found)} of {envelope['different']} different commands; -n shows more"]
    return said
