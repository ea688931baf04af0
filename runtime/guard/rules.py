"""Lines of the guard: one function for each kind of line, from sure evidence alone.

A rule takes a moment and the memory, and returns a line or None. Whatever it says is copied from the record, with the
document and the line that hold it. When the evidence differs with itself, the rule says nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core import clock
from qmd.index.actions import history
from runtime.asking import agents
from runtime.asking.envelope import uri
from runtime.guard.moment import BEFORE, FAILED, place, same_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from qmd.index.actions.action import Action
    from qmd.index.catalogue import Document
    from runtime.guard.memory import Memory
    from runtime.guard.moment import Moment

    Found = list[tuple[Action, Document]]

# Kinds of lines, as the ledger counts them.
DEAD_END, FIX, INVOCATION, DECISION = "dead end", "fix", "invocation", "decision"
# Sessions whose first run of a command failed before that counts, unless another command was the remedy.
_DEAD_SESSIONS = 2
# Runs by another start of the program that succeeded, before it counts as the one that works here.
_WORKED = 2
_COMMANDS_BETWEEN, _FILES_BETWEEN = 2, 2
_PART = 130
# By which a shell or a runner says that there is no such program.
_NOT_THERE = ("command not found", "not found: ", "No module named", "not recognized", ": not found")
_LEAST_RULE = 12
# How a runner echoes the command that it runs: no failure's words.
_ECHOES = ("$ ", "> ", "+ ")


class Line:
    """One line for an agent: its kind, text, the key by which it is given once a session, and where it comes from.

    Its words are the record's, not those of the call at hand: that may hold a secret. ``about`` is the recorded call.
    """

    __slots__ = ("about", "at", "is_clean", "key", "kind", "line", "text", "uri")

    def __init__(self, kind: str, key: str, text: str, past: Action, document: Document) -> None:
        self.kind, self.key, self.text = kind, f"{kind} {key}", text
        self.uri, self.line, self.at = uri(document.collection, document.path), past.line, past.at
        self.about, self.is_clean = past.subject, document.is_clean


def first_run(moment: Moment, memory: Memory) -> Line | None:
    """A command that failed when it was first run in each of the last sessions, and what then helped."""
    if moment.when != BEFORE or moment.kind != "command":
        return None
    runs = history.runs(memory.connection, moment.key)
    if len(runs) == history.MOST:
        runs = [past for past in runs if past.document != runs[-1].document]  # its first run may be cut off
    firsts = _first_runs(_here(moment, memory.own(runs)))
    failed: Found = []
    for past, document in firsts:
        if past.outcome != "failed":
            break
        failed.append((past, document))
    if not failed:
        return None
    past, document = failed[0]
    remedy = _remedy(past, memory, unchanged=len(failed) >= _DEAD_SESSIONS, edits=False)
    if remedy is None:
        from runtime.guard import wording

        is_dead = (
            len(failed) >= _DEAD_SESSIONS
            and len({each.error for each, _ in failed}) == 1
            and wording.is_telling(past.error)
        )
        if not is_dead or any(each.fix is not None for each, _ in failed) or len(failed) < len(firsts):
            return None
        remedy = "nor did it succeed later in those sessions"
    count = f"in each of the last {len(failed)} sessions here" if len(failed) > 1 else "in the last session here"
    said = f", with {_quoted(past.note)}" if past.note and not past.note.startswith(_ECHOES) else ""
    last = "last " if len(failed) > 1 else ""
    text = f"the first run of {_code(past.subject)} failed {count}{said}, {last}on {_day(past.at)}; {remedy}"
    return Line(DEAD_END, str(moment.key), text, past, document)


def invocation(moment: Moment, memory: Memory) -> Line | None:
    """A program that is not there by this name, and the start of the program that works in this folder."""
    if moment.kind != "command" or not moment.name or (moment.when == FAILED and not _is_absent(moment.error)):
        return None
    failed = history.failures_of(memory.connection, moment.name)
    if moment.when == BEFORE and not any(_is_absent(past.note) for past in failed):
        return None  # nearly always: the runs of a common program need not be read
    from runtime.guard import wording

    start = wording.start(moment.subject)
    by_start: dict[str, Found] = {}
    for past, document in _here(moment, memory.own(history.runs_of(memory.connection, moment.name))):
        by_start.setdefault(wording.start(past.subject), []).append((past, document))
    mine = by_start.pop(start, [])
    absent = any(_is_absent(past.note) for past, _ in mine)
    if any(past.outcome == "ok" for past, _ in mine) or (moment.when == BEFORE and not absent):
        return None
    for runs in by_start.values():  # the start that was used last comes first
        worked = [(past, document) for past, document in runs if past.outcome == "ok"]
        if len(worked) < _WORKED or any(_is_absent(past.note) for past, _ in runs):
            continue
        past, document = worked[0]
        text = (
            f"{_code(start if mine else moment.name)} is not there in this folder; {len(worked)} runs succeeded as"
            f" {_code(past.subject)}, last on {_day(past.at)}"
        )
        return Line(INVOCATION, f"{start} {moment.name}", text, past, document)
    return None


def fix(moment: Moment, memory: Memory) -> Line | None:
    """Fix that helped against this very error here before, if the error did not come back after it."""
    if moment.when != FAILED or not moment.error:
        return None
    from runtime.guard import wording

    if not wording.is_telling(moment.error):
        return None
    known = memory.own(history.failures(memory.connection, moment.error))
    known = [(past, document) for past, document in known if past.kind in ("command", "error")]
    if moment.kind == "command":
        known = _here(moment, [each for each in known if each[0].name == moment.name])
    else:
        known = [
            each for each in known if each[0].name == moment.tool and place(each[0].folder) == place(moment.project)
        ]
    for past, document in known:
        remedy = _remedy(past, memory, unchanged=False, edits=True)
        if remedy is None or past.fix is None:
            continue
        if any(each.error == past.error for each in memory.after(past, past.fix)):
            continue
        sessions = len({each.id for _, each in known})
        count = f"in {sessions} sessions here, last" if sessions > 1 else "here"
        return Line(FIX, moment.error, f"this error came up {count} on {_day(past.at)}; {remedy}", past, document)
    return None


def decision(moment: Moment, memory: Memory) -> Line | None:
    """The one rule in force that a person gave about this file, command or tool."""
    if moment.when != BEFORE:
        return None
    found = [each for each in memory.own(_about(moment, memory)) if _governs(moment, memory, *each)]
    noted = [each for each in found if memory.trust(each[1]) == "note"]
    chosen = noted or found
    if not chosen:
        return None
    past, document = chosen[0]
    if noted and len({each.kind for each, _ in noted}) > 1:
        return None  # one note decides for it, one against: a person has to settle that
    if noted:
        verb = "decided" if past.kind == "decision" else "rejected"
        why = f", because {_quoted(past.note)}" if past.note else ""
        text = f"your user {verb} on {_day(past.at)}: {_quoted(past.subject)}{why}"
    elif past.kind == "rejection":
        what = "an edit of this file" if moment.kind == "file" else f"this call of {_code(past.name)}"
        text = f"on {_day(past.at)} the user refused {what} and said: {_quoted(past.note)}"
    else:
        text = f"on {_day(past.at)} the user was asked and chose: {_quoted(past.subject)}"
    return Line(DECISION, f"{document.id}:{past.number}", text, past, document)


# In the order in which they are tried: the first line is the one that is given.
RULES: tuple[Callable[[Moment, Memory], Line | None], ...] = (decision, first_run, invocation, fix)


def _here(moment: Moment, found: Iterable[tuple[Action, Document]]) -> Found:
    """Return the runs in the folder of a moment, or in the same folder of another work tree."""
    folder = place(moment.folder)
    return [(past, document) for past, document in found if folder and place(past.folder) == folder]


def _first_runs(found: Found) -> Found:
    """Return the first run with a known outcome of each session, the newest session first."""
    firsts: dict[int, tuple[Action, Document]] = {}
    for past, document in found:  # the newest first: the last one of a session stays
        if past.outcome in ("ok", "failed"):
            firsts[document.id] = (past, document)
    return sorted(firsts.values(), key=lambda each: -each[1].ended)


def _remedy(past: Action, memory: Memory, *, unchanged: bool, edits: bool) -> str | None:
    """Return what helped after a failure, in words; None if nothing did, or too much was done to know.

    ``unchanged``: the same command, run again without a change in between, is a remedy. ``edits``: so are edits, which
    help against an error at hand. Before a call they tell nothing: the code is in another state by now.
    """
    from runtime.guard import wording

    done = memory.between(past)
    if not done:
        return None
    last, between = done[-1], [each for each in done[:-1] if each.outcome != "failed"]
    files = list(dict.fromkeys(each.name for each in between if each.kind in ("edit", "create")))
    commands = [each for each in between if each.kind == "command" and _acts(each.subject)]
    if last.kind == "command" and last.key != past.key:
        is_other = wording.start(last.subject) != wording.start(past.subject) or wording.is_misuse(past.note)
        if files or len(commands) > _COMMANDS_BETWEEN or not is_other:
            return None  # other options alone may have run less of it
        return f"then {_code(last.subject)} succeeded"
    if not files and not commands:
        return "run again unchanged, it then succeeded" if unchanged else None
    if files and not edits:
        return None
    if len(commands) > _COMMANDS_BETWEEN or len(files) > _FILES_BETWEEN or (files and commands):
        return None
    if files:
        return f"after a change of {', '.join(_code(name) for name in files)} it was gone"
    return f"after {' and '.join(_code(each.subject) for each in commands)} it was gone"


def _about(moment: Moment, memory: Memory) -> list[Action]:
    """Return decisions and rejections that may be about the subject of a moment."""
    if moment.kind == "tool":
        return history.refusals(memory.connection, moment.tool)
    if moment.kind == "file":
        return history.statements(memory.connection, [moment.name])
    words = " ".join(moment.subject.split())
    return history.statements(memory.connection, [words]) if " " in words else []


def _governs(moment: Moment, memory: Memory, past: Action, document: Document) -> bool:
    """Return True if a statement is a rule of a person, in force, about exactly the subject of a moment."""
    from runtime.guard import wording

    if document.field("superseded_by"):
        return False
    said = f"{past.subject} {past.note}"
    project = document.field("project") or past.folder
    if memory.trust(document) == "note":
        if not project or place(project) != place(moment.project):
            return False
        return _names(moment, said)
    if memory.trust(document) != "session" or not past.name:
        return False
    if past.kind == "decision":
        return place(project) == place(moment.project) and _names(moment, said)
    if len(past.note) < _LEAST_RULE or not wording.is_rule(past.note):
        return False
    target = past.subject.partition(": ")[2]
    if moment.kind == "file":
        return any(same_file(wording.file_of(each), moment.subject) for each in target.split(", "))
    if moment.kind == "tool":
        return place(project) == place(moment.project)
    return place(project) == place(moment.project) and " ".join(moment.subject.split()) == " ".join(target.split())


def _names(moment: Moment, said: str) -> bool:
    """Return True if a text names a file by its path in the project or by a name of its own, or quotes a command."""
    from runtime.guard import wording

    if moment.kind == "file":
        inside = moment.subject.removeprefix(moment.project.rstrip("/") + "/")
        wanted = {moment.subject, inside}
    else:
        wanted = {" ".join(moment.subject.split())}
    return any(wording.names(said, each) for each in wanted if each)


def _acts(command: str) -> bool:
    from runtime.distill import shell

    return shell.acts(command)


def _is_absent(text: str) -> bool:
    """Return True if a failure says that there is no program of that name."""
    return any(words in text for words in _NOT_THERE)


def _code(text: str) -> str:
    """Return a command or a name between backticks, without the way to the folder, which is the one at hand."""
    step, moved, rest = text.partition(" && ")
    said = rest if moved and step.startswith("cd ") else text
    return f"`{agents.code(said, _PART).replace('`', '')}`"


def _quoted(text: str) -> str:
    return f'"{agents.code(text, _PART)}"'


def _day(at: int) -> str:
    return clock.iso(at)[:10]
