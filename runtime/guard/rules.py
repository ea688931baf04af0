"""Lines of the guard: one function for each kind of line, from sure evidence alone.

A rule takes a moment and the memory, and returns a line or None. Whatever it says is copied from the record, with the
document and the line that hold it. When the evidence differs with itself, the rule says nothing.
"""

from __future__ import annotations

from os.path import isabs

from core import clock
from qmd.index.actions import history
from runtime.asking import agents
from runtime.asking.envelope import uri
from runtime.guard.moment import BEFORE, FAILED, place, same_file, same_project

TYPE_CHECKING = False
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
# Sessions in which one command helped against an error, before that counts in another project.
_HELD = 2
# Actions after a failure among which its replacement is looked for.
_SOON = 3
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
    if not runs and moment.plain:  # the same with other options
        runs = [each for each in memory.runs_of(moment.name) if each.plain == moment.plain]
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
    """A program that is not there by this name, and the start of the program that works in this project."""
    if moment.kind != "command" or not moment.name or (moment.when == FAILED and not _is_absent(moment.error)):
        return None
    failed = memory.failures_of(moment.name)
    if moment.when == BEFORE and not any(_is_absent(past.note) for past in failed):
        return None  # nearly always: the runs of a common program need not be read
    from runtime.guard import wording

    runs = memory.own(memory.runs_of(moment.name))
    runs = [(past, document) for past, document in runs if same_project(past.folder, moment.folder)]
    for begin in (wording.start, wording.program):
        start = begin(moment.subject)
        by_start: dict[str, Found] = {}
        for past, document in runs:
            by_start.setdefault(begin(past.subject), []).append((past, document))
        mine = by_start.pop(start, [])
        absent = [(past, document) for past, document in mine if _is_absent(past.note)]
        if any(past.outcome == "ok" for past, _ in mine) or (moment.when == BEFORE and not absent):
            continue
        if begin is wording.program and not all(wording.names(past.note, start) for past, _ in absent):
            continue  # something else was not there
        for others in by_start.values():  # the start that was used last comes first
            worked = [(past, document) for past, document in others if past.outcome == "ok"]
            if len(worked) < _WORKED or any(_is_absent(past.note) for past, _ in others):
                continue
            past, document = worked[0]
            text = (
                f"{_code(start if mine else moment.name)} is not there in this project; {len(worked)} runs succeeded"
                f" as {_code(past.subject)}, last on {_day(past.at)}"
            )
            return Line(INVOCATION, f"{start} {moment.name}", text, past, document)
        if absent and (replaced := _replaced(absent, memory)) is not None:
            past, document = absent[0]
            text = f"{_code(start)} was not there in this project on {_day(past.at)}; then {_code(replaced)} succeeded"
            return Line(INVOCATION, f"{start} {moment.name}", text, past, document)
    return None


def _replaced(absent: Found, memory: Memory) -> str | None:
    """Return the command of another name that did the same right after a program was not there, None without one.

    It has the same arguments, and its name the same letters: ``docker compose up -d`` for ``docker-compose up -d``.
    """
    from runtime.guard import wording

    for past, _ in absent:
        letters = wording.letters(past.subject)
        for each in memory.after(past, past.number)[:_SOON]:
            if each.kind == "command" and each.outcome == "ok" and wording.letters(each.subject) == letters:
                return each.subject
    return None


def fix(moment: Moment, memory: Memory) -> Line | None:
    """Fix that helped against this very error here before, if the error did not come back after it."""
    if moment.when != FAILED or not moment.error:
        return None
    from runtime.guard import wording

    if not wording.is_telling(moment.error):
        return None
    known = memory.own(history.with_error(memory.connection, (moment.error,)))
    known = [(past, document) for past, document in known if past.kind in ("command", "error")]
    name = moment.name if moment.kind == "command" else moment.tool
    known = [(past, document) for past, document in known if past.name == name]
    where = moment.folder if moment.kind == "command" else moment.project
    here = [(past, document) for past, document in known if same_project(past.folder, where)]
    for past, document in here:
        remedy = _held(past, memory)
        if remedy is None:
            continue
        sessions = len({each.id for _, each in here})
        count = f"in {sessions} sessions here, last" if sessions > 1 else "here"
        return Line(FIX, moment.error, f"this error came up {count} on {_day(past.at)}; {remedy}", past, document)
    return None if here else _elsewhere(moment, memory, known)


def _elsewhere(moment: Moment, memory: Memory, known: Found) -> Line | None:
    """The one command that helped against this error in several sessions of other projects."""
    held: dict[str, Found] = {}
    for past, document in known:
        done = memory.between(past)
        changed = any(each.kind in ("edit", "create") and each.outcome != "failed" for each in done)
        if not changed and (remedy := _held(past, memory)) is not None:
            held.setdefault(remedy, []).append((past, document))
    if len(held) != 1:
        return None  # nothing helped, or one thing here and another there
    ((remedy, found),) = held.items()
    sessions = len({document.id for _, document in found})
    if sessions < _HELD:
        return None
    past, document = found[0]
    text = f"this error came up in {sessions} sessions of other projects, last on {_day(past.at)}; each time {remedy}"
    return Line(FIX, moment.error, text, past, document)


def _held(past: Action, memory: Memory) -> str | None:
    """Return what helped after a failure, in words, if the failure did not come back in its session."""
    remedy = _remedy(past, memory, unchanged=False, edits=True)
    if remedy is None or past.fix is None:
        return None
    return None if any(each.error == past.error for each in memory.after(past, past.fix)) else remedy


def misuse(moment: Moment, memory: Memory) -> Line | None:
    """An option that the program has refused, in a command that has it again."""
    if moment.when != BEFORE or moment.kind != "command" or " -" not in moment.subject:
        return None
    failed = memory.failures_of(moment.name)
    if not failed:
        return None  # nearly always: the patterns need not be compiled
    from runtime.guard import wording

    options = wording.options(moment.normal)
    for past, document in memory.own(each for each in failed if wording.is_misuse(each.note)):
        refused = [each for each in options if wording.names(past.note, each) and each in wording.options(past.subject)]
        if not refused or wording.subcommand(past.subject) != wording.subcommand(moment.subject):
            continue
        later = memory.own(memory.runs_of(moment.name))
        if any(
            each.outcome == "ok" and each.at >= past.at and refused[0] in wording.options(each.subject)
            for each, _ in later
        ):
            return None  # another version of it knows the option
        remedy = _remedy(past, memory, unchanged=False, edits=False)
        if remedy is None:
            continue
        text = f"{_code(past.name)} refused {_code(refused[0])} on {_day(past.at)}, with {_quoted(past.note)}; {remedy}"
        return Line(DEAD_END, f"{past.name} {refused[0]}", text, past, document)
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
    if len(noted) > 1 and _contradicts(chosen[0], noted[1:]):
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


def _contradicts(newest: tuple[Action, Document], others: Found) -> bool:
    """Return True if a note for something meets one against it, or notes contradict each other in their words."""
    from runtime.validity import CONTRADICTED, validity

    settled = _together(newest[1])
    others = [each for each in others if (each[1].field("session_id") or "") not in settled]
    if any(each.kind != newest[0].kind for each, _ in others):
        return True
    claims = [
        validity.Claim(document.id, "", past.at, [(1, past.subject)], negative=past.kind == "rejection")
        for past, document in (newest, *others)
    ]
    return any(side.state == CONTRADICTED for side in validity.judge(claims).get(newest[1].id, ()))


def _together(document: Document) -> list[str]:
    """Return the ids of notes that hold with this one, as a person said; the newer of two notes names the older."""
    found = document.fields.get("holds_with")
    return [str(each) for each in found] if isinstance(found, list) else []


# In the order in which they are tried: the first line is the one that is given.
RULES: tuple[Callable[[Moment, Memory], Line | None], ...] = (decision, first_run, invocation, misuse, fix)


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
        from runtime.guard import wording

        # The rest fills a list of its own: nearly every statement may have a pattern or the outermost folder.
        named = history.statements_about(memory.connection, [moment.name])
        others = history.statements_about(memory.connection, [*wording.folders(_inside(moment)), "*"])
        found = {(past.document, past.number): past for past in (*named, *others)}
        return sorted(found.values(), key=lambda past: (past.at, past.document, past.number), reverse=True)
    words = {" ".join(text.split()) for text in (moment.subject, moment.normal, moment.plain_text)}
    words.add(" ".join(moment.normal.split()[:2]))
    return history.statements_about(memory.connection, sorted(word for word in words if " " in word))


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
        return _names(moment, memory, said)
    if memory.trust(document) != "session" or not past.name:
        return False
    if past.kind == "decision":
        return place(project) == place(moment.project) and _names(moment, memory, said)
    if len(past.note) < _LEAST_RULE or not wording.is_rule(past.note):
        return False
    target = past.subject.partition(": ")[2]
    if moment.kind == "file":
        return any(same_file(wording.file_of(each), moment.subject) for each in target.split(", "))
    if moment.kind == "tool":
        return place(project) == place(moment.project)
    return place(project) == place(moment.project) and _is_command(moment, target)


def _is_command(moment: Moment, target: str) -> bool:
    from qmd.index.actions import command_forms

    return moment.normal == command_forms.command(target).normal


def _names(moment: Moment, memory: Memory, said: str) -> bool:
    """Return True if a text names a file, or a rule in it the file's folder or pattern; or if it quotes a command.

    A file is named by its path in the project. Its name alone counts if no other file of the project has the name.
    """
    from runtime.guard import wording

    if moment.kind != "file":
        wanted = {" ".join(text.split()) for text in (moment.subject, moment.normal, moment.plain_text)}
        quoted = [each for each in wanted if " " in each and wording.names(said, each)]
        quoted = quoted or [each for each in wording.quoted(said) if f"{moment.normal} ".startswith(f"{each} ")]
        return any(not wording.is_recommended(said, each) for each in quoted)
    inside = _inside(moment)
    if any(wording.names(said, each) for each in (moment.subject, inside)):
        return True
    if not wording.is_rule(said):
        return False
    if any(wording.names_folder(said, each) for each in wording.folders(inside)) or wording.matches(said, inside):
        return True
    return wording.names(said, moment.name) and "/" in inside and not _has_twin(moment, memory)


def _has_twin(moment: Moment, memory: Memory) -> bool:
    """Return True if sessions touched another file of the same name in the project."""
    touched = history.of_file(memory.connection, moment.name)
    paths = {each.subject if isabs(each.subject) else f"{each.folder}/{each.subject}" for each in touched}
    return any(not same_file(path, moment.subject) and same_project(path, moment.project) for path in paths)


def _inside(moment: Moment) -> str:
    """Return the path of a moment's file in its project, the whole path if the file is elsewhere."""
    return moment.subject.removeprefix(moment.project.rstrip("/") + "/")


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
