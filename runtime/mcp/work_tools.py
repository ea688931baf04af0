"""The tools of ``brain mcp`` about the work: one row a tool, each the envelope of the command of that name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core import clock
from core.config import load
from runtime.asking import agents
from runtime.dates.day_option import parse_day
from runtime.work import blame, cost, files, fix, how, restore_span, tried

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.home import Home

    Envelope = dict[str, Any]
    # Name, title, description, the argument's name and its description ("" for none), the question, the field with its
    # results, the envelope's text, and the other properties of the input, whose names the question takes.
    Row = tuple[str, str, str, str, str, Callable[..., Envelope], str, Callable[[Envelope], list[str]], dict[str, Any]]

_MOST = 50
_WITHIN: dict[str, Any] = {
    "project": {"type": "string", "description": "Only this project: a folder's name, a path or a glob"},
    "since": {"type": "string", "description": "Only what was done since: 7d, 2026-05-01"},
    "limit": {"type": "number", "default": 5, "description": "How many results at most (1-50)"},
}


def _how(home: Home, given: str, **within: Any) -> Envelope:
    return how.how(home, load(home), [given], **within)


def _fix(home: Home, given: str, **within: Any) -> Envelope:
    return fix.fix(home, load(home), given, **within)


def _friction(home: Home, **within: Any) -> Envelope:
    return fix.friction(home, load(home), **within)


def _files(home: Home, given: str, **within: Any) -> Envelope:
    return files.files(home, load(home), given, **within)


def _blame(home: Home, given: str, **within: Any) -> Envelope:
    return blame.blame(home, load(home), given, **within)


def _tried(home: Home, given: str, **within: Any) -> Envelope:
    return tried.tried(home, load(home), given, **within)


def _cost(home: Home, **within: Any) -> Envelope:
    return cost.cost(home, load(home), **within)


def _restore_span(home: Home, given: str, **within: Any) -> Envelope:
    number = int(within.pop("number", 0))
    return restore_span.restore_span(home, load(home), given, number=number, only_list=not number, **within)[0]


ROWS: tuple[Row, ...] = (
    (
        "brain_how",
        "How a program is run here",
        "The commands with which sessions on this machine ran a program and succeeded, by project, with how often each"
        " failed. Ask before you guess how to test, build or deploy.",
        "tool",
        "A program, and words that the command holds: pytest, npm run build",
        _how,
        how.RESULTS,
        how.lines,
        {},
    ),
    (
        "brain_fix",
        "What ended an error",
        "What was done after this error when it did not come back: how often, where, and with which command. Ask when"
        " a command fails.",
        "error",
        "The error's message, or the whole output that holds it",
        _fix,
        fix.FIXES,
        fix.lines,
        {},
    ),
    (
        "brain_files",
        "The files of a topic",
        "The files that the work on a topic changed and read, those first that it changed.",
        "topic",
        "A few words, not the whole question",
        _files,
        files.FILES,
        files.lines,
        {},
    ),
    (
        "brain_tried",
        "Was this tried?",
        "Earlier attempts at something: what came of each (worked, failed, rejected, given up), with the line that says"
        " so, and whether it still holds. Ask before you propose an approach.",
        "topic",
        "The approach in a few words",
        _tried,
        tried.TRIES,
        tried.lines,
        {},
    ),
    (
        "brain_blame",
        "Why a file is as it is",
        "The sessions that changed, read or named a file: what was asked, why it was changed, what was decided, and"
        " which of its lines are theirs. Ask before you change code whose history matters.",
        "path",
        "A file; PATH:LINE or PATH:FIRST-LAST puts the sessions first that wrote these lines",
        _blame,
        blame.SESSIONS,
        blame.lines,
        {},
    ),
    (
        "brain_restore_span",
        "What an edit replaced",
        "The edits of a file, newest first, with their numbers; with a number, the text that this edit replaced."
        " Nothing is written.",
        "path",
        "The file that was edited",
        _restore_span,
        restore_span.EDITS,
        restore_span.shown_lines,
        {
            "number": {"type": "number", "description": "The edit whose text is wanted, as it is listed without this"},
            "session": {"type": "string", "description": "Only edits of the session with this id, or its beginning"},
        },
    ),
    (
        "brain_friction",
        "Errors that keep coming back",
        "Errors that at least three sessions met, the agents that met them, and the fix that held.",
        "",
        "",
        _friction,
        fix.ERRORS,
        fix.friction_lines,
        {},
    ),
    (
        "brain_cost",
        "What sessions cost",
        "The tokens that sessions took, by project, model, session or day, and their price where the user has"
        " configured one. Only for questions about usage.",
        "",
        "",
        _cost,
        cost.GROUPS,
        cost.lines,
        {"by": {"type": "string", "enum": list(cost.BY), "default": "project", "description": "What a group is"}},
    ),
)


def schema(name: str, description: str, more: dict[str, Any]) -> dict[str, Any]:
    """Return the input schema of a tool with the argument ``name``, "" for none, and the properties ``more``."""
    own: dict[str, Any] = {name: {"type": "string", "description": description}} if name else {}
    required = [name] if name else []
    return {
        "type": "object",
        "properties": {**own, **more, **_WITHIN},
        "required": required,
        "additionalProperties": False,
    }


def runner(
    name: str, ask: Callable[..., Envelope], results: str, more: dict[str, Any]
) -> Callable[[Home, dict[str, Any], dict[str, Any]], Envelope]:
    """Return the function that answers a call of a tool."""

    def run(home: Home, given: dict[str, Any], fields: dict[str, Any]) -> Envelope:
        since = given.get("since")
        envelope = ask(
            home,
            *([given[name]] if name else []),
            project=given.get("project") or "",
            since=parse_day(since, clock.now(), end=False) if since else 0,
            **{key: given[key] for key in more if given.get(key)},
            limit=max(1, min(_MOST, int(given["limit"]))),
        )
        fields["n_hits"] = len(envelope[results])
        return envelope

    return run


def text(lines: Callable[[Envelope], list[str]]) -> Callable[[Envelope], str]:
    """Return the function that puts an envelope into words for a model."""
    return lambda envelope: agents.block([agents.code(line, 400) for line in lines(envelope)])
