"""The tools of ``brain mcp`` about the work: one row a tool, each the envelope of the command of that name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core import clock
from core.config import load
from runtime.asking import agents
from runtime.dates.day_option import parse_day
from runtime.work import files, fix, how

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.home import Home

    Envelope = dict[str, Any]
    # Name, title, description, the argument's name and its description ("" for none), the question, the field with its
    # results, and the envelope's text.
    Row = tuple[str, str, str, str, str, Callable[..., Envelope], str, Callable[[Envelope], list[str]]]

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
    ),
)


def schema(name: str, description: str) -> dict[str, Any]:
    """Return the input schema of a tool with the argument ``name``, "" for none."""
    own: dict[str, Any] = {name: {"type": "string", "description": description}} if name else {}
    required = [name] if name else []
    return {"type": "object", "properties": {**own, **_WITHIN}, "required": required, "additionalProperties": False}


def runner(
    name: str, ask: Callable[..., Envelope], results: str
) -> Callable[[Home, dict[str, Any], dict[str, Any]], Envelope]:
    """Return the function that answers a call of a tool."""

    def run(home: Home, given: dict[str, Any], fields: dict[str, Any]) -> Envelope:
        since = given.get("since")
        envelope = ask(
            home,
            *([given[name]] if name else []),
            project=given.get("project") or "",
            since=parse_day(since, clock.now(), end=False) if since else 0,
            limit=max(1, min(_MOST, int(given["limit"]))),
        )
        fields["n_hits"] = len(envelope[results])
        return envelope

    return run


def text(lines: Callable[[Envelope], list[str]]) -> Callable[[Envelope], str]:
    """Return the function that puts an envelope into words for a model."""
    return lambda envelope: agents.block([agents.code(line, 400) for line in lines(envelope)])
