"""``brain fix``: what was done after an error when it did not come back, and ``brain friction``: errors that recur."""

from __future__ import annotations

from os.path import isabs, isdir, join
from typing import TYPE_CHECKING, Any

from core import clock
from core.config import EVIDENCE
from core.counting import counted
from core.errors import BadQuery
from core.text import clean, encodable, one_line
from qmd.index.actions import history, table
from qmd.index.actions.action import CHANGES, COMMAND, FAILED, READ
from runtime.asking.request import echoed, project_glob
from runtime.validity import validity
from runtime.work.scope import answer, where

if TYPE_CHECKING:
    from core.config import Config
    from core.home import Home
    from qmd.index.actions.action import Action
    from qmd.index.actions.table import Session
    from runtime.work.scope import Scope

FIXES, ERRORS = "fixes", "errors"
# Lines of a pasted error that are looked up, and characters of the paste.
_LINES, _PASTED = 60, 100_000
# Two errors are alike if they share this part of their words, by how rare the words are.
_ALIKE = 0.6
_MOST_ALIKE = 5
# Characters of an error's part that is looked for within others: a shorter one is in too many.
_PART = 8
# Steps between an error and its end that are shown: the last ones, which helped most likely.
_STEPS = 6
# More actions than these between an error and its end are another piece of work.
_MOST_BETWEEN = 60
_UNFIXED = 3
# The newest failures of one error among which a fix is looked for, and of an error in a list.
_MOST_FAILURES, _LOOKED_AT = 300, 50
# Programs that only look: no step of a fix.
LOOKS = frozenset("ls cat grep rg find sed head tail wc git cd pwd which echo tree stat file diff awk".split())
_GIT_LOOKS = ("git status", "git diff", "git log", "git show", "git branch")
# Errors in fewer sessions are no friction.
LEAST_SESSIONS = 3


def fix(home: Home, config: Config, error: str, **within: Any) -> dict[str, Any]:
    """Return the envelope of ``brain fix``.

    ``fixes`` are the failures with this error, those that ended in a success after which the error did not come back
    first. ``match`` is ``exact`` or ``similar``. ``error`` is a message, or a whole output that holds one.
    """
    # A colour that a program wrote around its words is no part of them: no document has it.
    error = clean(error[:_PASTED]) if "\x1b" in error else encodable(error)
    if not error.strip():
        raise BadQuery("the error is empty", "brain fix \"ModuleNotFoundError: No module named 'x'\"")
    # Errors are redacted before they are indexed, so only a redacted one is the same; an answer repeats it as well.
    wanted = signatures(echoed(error[:_PASTED]))
    about = wanted[0] if wanted else ""
    return answer(home, config, lambda scope: _found(scope, wanted), FIXES, about=about, **within)


def friction(home: Home, config: Config, **within: Any) -> dict[str, Any]:
    """Return the envelope of ``brain friction``: errors in three sessions or more, by agent, and the fix that held."""
    return answer(home, config, _friction, ERRORS, **within)


def signatures(error: str) -> list[str]:
    """Return the signatures to look an error up by: of the line that names the fault, then of each other line."""
    from qmd.index.actions import error_forms

    lines = [line for line in error[:_PASTED].split("\n") if line.strip()]
    # The fault is often at the end of a long output.
    lines = lines if len(lines) <= _LINES else lines[: _LINES // 2] + lines[-_LINES // 2 :]
    found = [error_forms.error(lines), *(error_forms.error([line]) for line in reversed(lines))]
    return list(dict.fromkeys(each for each in found if each))


def alike(scope: Scope, wanted: str) -> list[str]:
    """Return the known signatures that hold ``wanted``, or else share most of their words with it, the best first."""
    from math import log

    known = table.errors(scope.connection)
    if len(wanted) >= _PART and (whole := [each for each in known if wanted.casefold() in each.casefold()]):
        return sorted(whole, key=len)[:_MOST_ALIKE]
    words = [set(_words(each)) for each in known]
    counts: dict[str, int] = {}
    for each in words:
        for word in each:
            counts[word] = counts.get(word, 0) + 1
    weight = {word: log(1 + len(known) / count) for word, count in counts.items()}
    asked = set(_words(wanted))
    rarest = log(1 + len(known))
    found: list[tuple[float, str]] = []
    for error, own in zip(known, words, strict=True):
        shared = sum(weight[word] for word in own & asked)
        if shared:
            share = shared / sum(weight.get(word, rarest) for word in own | asked)
            if share >= _ALIKE:
                found.append((share, error))
    return [error for _, error in sorted(found, reverse=True)[:_MOST_ALIKE]]


def _words(text: str) -> list[str]:
    """Return the words of an error, without the names that it quotes."""
    text = "".join(text.split("'")[::2]) if text.count("'") % 2 == 0 else text
    spaced = "".join(each if each.isalnum() or each in "_.-" else " " for each in text.lower())
    return [word.strip(".-") for word in spaced.split() if word.strip(".-")]


def _found(scope: Scope, wanted: list[str]) -> dict[str, Any]:
    match = "exact"
    failures: list[Action] = []
    met: tuple[str, ...] = ()
    for each in wanted:
        failures = _kept(scope, history.with_error(scope.connection, (each,), scope.since, _MOST_FAILURES))
        if failures:
            met = (each,)
            break
    if not failures and wanted:
        near = alike(scope, wanted[0])
        match = "similar"
        met = tuple(near)
        failures = _kept(scope, history.with_error(scope.connection, near, scope.since, _MOST_FAILURES)) if near else []
    counts = _counts(scope, table.failures_by_document(scope.connection, met, scope.since)) if met else {}
    results = sorted((_result(scope, each) for each in failures), key=_worth, reverse=True)
    unique = {(_identity(each)): each for each in reversed(results)}
    results = [each for each in results if unique.get(_identity(each)) is each]
    # Failures of which nothing is known but that they happened: the newest few say where to look.
    known = [each for each in results if each["held"] or each["steps"]]
    results = known or results[:_UNFIXED]
    return {
        "error_signature": failures[0].error if failures else (wanted[0] if wanted else ""),
        "match": match if failures else None,
        "failures": sum(counts.values()),
        "sessions": len({scope.origin(each).session for each in counts}),
        "fixed": sum(each["held"] for each in results),
        FIXES: [{**each, "validity": _validity(scope, each, failures)} for each in results[: scope.limit]],
    }


def _counts(scope: Scope, documents: dict[int, int]) -> dict[int, int]:
    """Return how often documents failed, of those that the question is about, and read their origins at once."""
    kept = {document: count for document, count in documents.items() if scope.holds(document)}
    scope.load(kept)
    return kept


def _validity(scope: Scope, result: dict[str, Any], failures: list[Action]) -> dict[str, Any]:
    """Return if a fix still holds: the error did not come back in the project, and its files are as they were."""
    if not result["held"] or "owner" in result:
        # Files of another member are on another machine, also if a path of this one is called the same.
        return validity.verdict()
    at = clock.parse_iso(result["date"]) or 0
    for each in failures:  # the newest first
        origin = scope.origin(each.document)
        if each.at > at and origin.project == result["project"] and scope.uri(each.document) != result["uri"]:
            return scope.contradicted(each)
    steps = [step["subject"] for step in result["steps"] if step["kind"] in CHANGES]
    project = result["project"]
    paths = [step if isabs(step) else join(project, step) for step in dict.fromkeys(steps)]
    if not paths or not isdir(project):
        return validity.verdict(known=not paths)
    from runtime.validity.file_changes import changed_files

    changed, are_known = changed_files(paths, at)
    return validity.verdict((), changed, known=are_known)


def _kept(scope: Scope, failures: list[Action]) -> list[Action]:
    kept = [each for each in failures if scope.holds(each.document)]
    scope.load(each.document for each in kept)
    return kept


def _identity(result: dict[str, Any]) -> tuple[Any, ...]:
    """Return what makes two results one: the same command and steps of the same member."""
    steps = tuple(step["subject"] for step in result["steps"])
    return (result["command"], result["project"], result["held"], steps, result.get("owner"))


def _worth(result: dict[str, Any]) -> tuple[bool, bool, bool, str]:
    # What never advises comes after what may.
    return (result["held"], result.get("trust") != EVIDENCE, bool(result["steps"]), result["date"])


def _result(scope: Scope, failure: Action) -> dict[str, Any]:
    ended = None
    steps: list[Action] = []
    if failure.fix is not None and failure.fix - failure.number <= _MOST_BETWEEN:
        *between, ended = history.between(scope.connection, failure.document, failure.number + 1, failure.fix)
        steps = [each for each in between if _helped(each, failure)]
    shown: list[dict[str, Any]] = []
    for each in steps:
        if shown and shown[-1]["kind"] == each.kind and shown[-1]["subject"] == each.subject:
            shown[-1]["times"] += 1
        else:
            shown.append({"kind": each.kind, "subject": each.subject, "line": each.line, "times": 1})
    held = ended is not None and not table.came_back(scope.connection, failure.document, ended.number, failure.error)
    return {
        "command": failure.subject if failure.kind == COMMAND else f"{failure.kind} {failure.subject}",
        "note": failure.note,
        "held": held,
        "steps": shown[-_STEPS:],
        "left_out": max(0, len(shown) - _STEPS),
        "ended": ended.subject if ended is not None and ended.key != failure.key else "",
        **scope.place(failure),
    }


def _helped(action: Action, failure: Action) -> bool:
    """Return True if an action between a failure and its end may have helped.

    What failed at a file was helped by what reads or names the file: other commands came between by chance.
    """
    if action.key == failure.key and action.kind == READ:
        return True
    is_near = failure.kind == COMMAND or action.key == failure.key or (failure.name and failure.name in action.subject)
    return bool(is_near) and _is_step(action)


def _is_step(action: Action) -> bool:
    """Return True if an action may have helped: a change, or a command that does more than look."""
    if action.outcome == FAILED:
        return False
    if action.kind in CHANGES:
        return True
    if action.kind != COMMAND:
        return False
    if action.name == "git":
        return not any(action.subject.startswith(each) or f" {each}" in action.subject for each in _GIT_LOOKS)
    return action.name not in LOOKS or (action.name == "sed" and " -i" in action.subject)


def _friction(scope: Scope) -> dict[str, Any]:
    project = project_glob(scope.project) if scope.project else ""
    frequent = table.frequent_errors(scope.connection, scope.since, LEAST_SESSIONS, project)
    known = table.sessions(scope.connection) if frequent else {}
    shown = [_recurring(scope, known, *each) for each in frequent[: scope.limit]]
    return {"different": len(frequent), ERRORS: shown}


def _recurring(scope: Scope, known: dict[int, Session], error: str, sessions: int, count: int) -> dict[str, Any]:
    """Return one error of ``brain friction``."""
    every = table.failures_by_document(scope.connection, (error,), scope.since)
    documents = {document: failures for document, failures in every.items() if scope.holds(document)}
    # An answer with a document that the redaction policy may hide a part of is cleaned as a whole.
    scope.load(each for each in documents if not known[each].is_clean)
    agents: dict[str, int] = {}
    for document, failures in documents.items():
        source = known[document].source
        agents[source] = agents.get(source, 0) + failures
    newest = _kept(scope, history.with_error(scope.connection, (error,), scope.since, _MOST_FAILURES))
    best = max((_result(scope, each) for each in newest[:_LOOKED_AT]), key=_worth)
    return {
        "error": error,
        "failures": count,
        "sessions": sessions,
        "agents": dict(sorted(agents.items(), key=lambda each: -each[1])),
        "projects": sorted({known[each].project for each in documents} - {""})[:5],
        "fix": {**best, "validity": _validity(scope, best, newest)} if best["held"] else None,
        **scope.place(newest[0]),
    }


def lines(envelope: dict[str, Any]) -> list[str]:
    """Return the envelope of ``fix`` as lines of text."""
    found = envelope[FIXES]
    if not found:
        return ["No session met this error."]
    like = "" if envelope["match"] == "exact" else "Not this very error, but one like it:\n"
    said = [
        f"{like}{envelope['error_signature']}",
        f"met {counted(envelope['failures'], 'time')} in {counted(envelope['sessions'], 'session')};"
        + (f" ended for good {counted(envelope['fixed'], 'time')}" if envelope["fixed"] else " no fix is recorded"),
        "",
    ]
    for each in found:
        said += _fix_lines(each, "")
    return said


def _fix_lines(each: dict[str, Any], indent: str) -> list[str]:
    state = "held" if each["held"] else "came back, or nothing shows that it ended"
    said = [f"{indent}{state} · {where(each)}", f"{indent}  failed: {one_line(each['command'], 160)}"]
    if each["left_out"]:
        said.append(f"{indent}  … {counted(each['left_out'], 'step')} before")
    said += [f"{indent}  {_step(step)}" for step in each["steps"]]
    if each["ended"]:
        said.append(f"{indent}  $ {one_line(each['ended'], 160)}   (worked)")
    elif each["held"]:
        said.append(f"{indent}  then the same succeeded")
    if holds := validity.words(each["validity"]):
        said.append(f"{indent}  ! {one_line(holds, 240)}")
    return said


def _step(step: dict[str, Any]) -> str:
    mark = "$" if step["kind"] == COMMAND else step["kind"]
    often = f"  ({step['times']}×)" if step["times"] > 1 else ""
    return f"{mark} {one_line(step['subject'], 160)}{often}"


def friction_lines(envelope: dict[str, Any]) -> list[str]:
    """Return the envelope of ``friction`` as lines of text."""
    if not envelope[ERRORS]:
        return [f"No error was met in {LEAST_SESSIONS} or more sessions."]
    said: list[str] = []
    for each in envelope[ERRORS]:
        agents = ", ".join(f"{name} {count}" for name, count in each["agents"].items())
        said += [
            each["error"],
            f"  {counted(each['failures'], 'failure')} in {counted(each['sessions'], 'session')} · {agents}",
            f"  last {where(each)}",
        ]
        said += _fix_lines(each["fix"], "  ") if each["fix"] else ["  no fix that held is recorded"]
        said.append("")
    return said
