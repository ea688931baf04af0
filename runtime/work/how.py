"""``brain how``: how this machine really runs a program, by what succeeded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.errors import BadQuery
from core.text import encodable, one_line
from qmd.index.actions import table
from qmd.index.actions.action import FAILED, OK
from qmd.index.actions.normal_forms import command, programs
from runtime.asking.request import echoed, project_glob
from runtime.validity import CURRENT, UNKNOWN
from runtime.validity.validity import words as holding
from runtime.work.scope import answer, where

if TYPE_CHECKING:
    from core.config import Config
    from core.home import Home
    from qmd.index.actions.action import Action
    from qmd.index.actions.table import Runs
    from runtime.work.scope import Scope

RESULTS = "commands"
# Characters of a command that people and models are shown.
_SHOWN = 240
# Commands of one project before the next project has its turn.
_A_PROJECT = 4


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
    project = project_glob(scope.project) if scope.project else ""
    groups = table.runs(scope.connection, name, scope.since, rest, project)
    if not groups:  # the program is not the first of its command line
        others = table.commands_with(scope.connection, words, scope.since)
        keys = [key for key, text in others.items() if name in programs(text)]
        groups = table.runs_of_keys(scope.connection, keys, scope.since, project)
    newest: dict[str, tuple[bool, int]] = {}
    for group in groups:
        newest[group.project] = max(_last(group), newest.get(group.project, (False, 0)))
    here = {each for each in newest if scope.is_here(each)}

    # Commands of a project by their worth, then projects: fewer comparisons than of both at once.
    groups.sort(key=lambda group: (group.ok, group.worked_at or group.at, group.key), reverse=True)
    order = sorted(newest, key=lambda name: (name in here, newest[name], name), reverse=True)
    places = {name: place for place, name in enumerate(order)}
    found = sorted(groups, key=lambda group: places[group.project])
    if not scope.project:
        found = _spread(found)
    return {
        "tool": echoed(" ".join(words)),
        "runs": sum(each.ok + each.failed + each.unknown for each in groups),
        "failed": sum(each.failed for each in groups),
        "different": len({each.key for each in groups}),
        RESULTS: [_shown(scope, each) for each in found[: scope.limit]],
    }


def _last(group: Runs) -> tuple[bool, int]:
    return group.ok > 0, group.worked_at or group.at


def _spread(groups: list[Runs]) -> list[Runs]:
    """Return the first groups of each project, then the others."""
    counts: dict[str, int] = {}
    first: list[Runs] = []
    rest: list[Runs] = []
    for group in groups:
        counts[group.project] = counts.get(group.project, 0) + 1
        (first if counts[group.project] <= _A_PROJECT else rest).append(group)
    return first + rest


def _shown(scope: Scope, group: Runs) -> dict[str, Any]:
    runs = table.last_runs(scope.connection, group)
    done = next((each for each in runs if each.outcome == OK), runs[0])
    return {
        "command": done.subject,
        "folder": done.folder,
        "ok": group.ok,
        "failed": group.failed,
        "unknown": group.unknown,
        "note": done.note if done.outcome == FAILED else "",
        "validity": _validity(scope, runs),
        **scope.place(done),
    }


def _validity(scope: Scope, runs: list[Action]) -> dict[str, Any]:
    """Return if a command still works, by its newest run with an outcome: a failure contradicts earlier successes."""
    known = [each for each in runs if each.outcome in (OK, FAILED)]
    if not any(each.outcome == OK for each in known):
        return {"state": UNKNOWN, "by": []}
    return {"state": CURRENT, "by": []} if known[0].outcome == OK else scope.contradicted(known[0])


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
        if holds := holding(each["validity"]):
            said.append(f"    ! {one_line(holds, 240)}")
    if envelope["different"] > len(found):
        said += ["", f"{len(found)} of {envelope['different']} different commands; -n shows more"]
    return said
