"""``brain how``: how this machine really runs a program, by what succeeded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.errors import BadQuery
from core.text import encodable, one_line
from qmd.index.actions import table
from qmd.index.actions.action import FAILED, OK
from qmd.index.actions.command_forms import command, programs
from qmd.index.actions.table import Asked
from runtime.asking.request import echoed, project_glob
from runtime.validity import CURRENT, UNKNOWN
from runtime.validity.validity import words as holding
from runtime.work.durations import took
from runtime.work.durations import words as duration
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
    Each command has how often it succeeded, failed, and ran without a known outcome, and how long the run that is shown
    took (``took_ms``, None if its log does not tell). ``within`` is what
    ``runtime.work.scope.answer`` takes.
    """
    words = [each for word in words for each in encodable(word).split()]
    if not words:
        raise BadQuery("no program is named", "brain how pytest")
    return answer(home, config, lambda scope: _found(scope, words), RESULTS, **within)


def _found(scope: Scope, words: list[str]) -> dict[str, Any]:
    parsed = command(" ".join(words))
    name = parsed.tool or words[0]
    rest = tuple(word for word in words if word.rpartition("/")[2] != name)
    project = project_glob(scope.project) if scope.project else ""
    asked = Asked(name, rest, scope.since)
    active = table.activity(scope.connection, asked, project)
    if not active:  # the program is not the first of its command line
        others = table.commands_with(scope.connection, words, scope.since)
        asked = Asked(name, (), scope.since, tuple(key for key, text in others.items() if name in programs(text)))
        active = table.activity(scope.connection, asked, project) if asked.keys else {}
    # The project in which the question was asked comes first, then the one in which the program last succeeded.
    order = sorted(
        active,
        key=lambda each: (
            scope.is_here(each),
            active[each].worked_at > 0,
            active[each].worked_at or active[each].at,
            each,
        ),
        reverse=True,
    )
    found = _spread(scope, asked, order)
    return {
        "tool": echoed(" ".join(words)),
        "runs": sum(each.runs for each in active.values()),
        "failed": sum(each.failed for each in active.values()),
        "different": table.different(scope.connection, asked, project) if active else 0,
        RESULTS: _all_shown(scope, found[: scope.limit]),
    }


def _spread(scope: Scope, asked: Asked, projects: list[str]) -> list[Runs]:
    """Return the first commands of each project, then the others, of as many projects as the limit needs."""
    most = scope.limit if scope.project else _A_PROJECT
    first: list[Runs] = []
    rest: list[Runs] = []
    while projects and len(first) < scope.limit:
        need = max(1, (scope.limit - len(first)) // most + 1)
        chosen, projects = projects[:need], projects[need:]
        groups: dict[str, list[Runs]] = {each: [] for each in chosen}
        for runs in table.runs(scope.connection, asked, chosen):
            groups[runs.project].append(runs)
        for each in chosen:
            groups[each].sort(key=lambda group: (group.ok, group.worked_at or group.at, group.key), reverse=True)
            first += groups[each][:most]
            rest += groups[each][most:]
    return first + rest


def _all_shown(scope: Scope, groups: list[Runs]) -> list[dict[str, Any]]:
    runs = [table.last_runs(scope.connection, group) for group in groups]
    last = [next((each for each in some if each.outcome == OK), some[0]) for some in runs]
    times = took(scope, last)
    return [
        {**_shown(scope, group, some, done), "took_ms": times.get((done.document, done.line))}
        for group, some, done in zip(groups, runs, last, strict=True)
    ]


def _shown(scope: Scope, group: Runs, runs: list[Action], done: Action) -> dict[str, Any]:
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
        if each["took_ms"] is not None:
            counts.append(f"took {duration(each['took_ms'])}")
        said.append(f"    {', '.join(counts)} · {where({**each, 'project': ''})}")
        if each["note"]:
            said.append(f"    ! {one_line(each['note'], 160)}")
        if holds := holding(each["validity"]):
            said.append(f"    ! {one_line(holds, 240)}")
    if envelope["different"] > len(found):
        said += ["", f"{len(found)} of {envelope['different']} different commands; -n shows more"]
    return said
