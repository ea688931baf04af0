"""Traces of work in a session: errors and their fixes, commands that worked, changed files, named technologies."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from core.text import one_line
from qmd.index.actions import command_forms
from runtime.distill import phrases, shell
from runtime.distill.distillate import Statement
from runtime.distill.words import listed, straight

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runtime.distill.transcript import Call, Turn
    from runtime.distill.words import Sentence


_ERRORS = 14
_COMMANDS = 16
_UNPROVED = 10
_OF_ONE_CASE = 3
_FILES = 40
_LINES, _FAILURE = 3, 400  # lines, and characters, of a failure
_SOON = 6
_AGENT = ("assistant", "commentary", "subagent")
_LOOK_AHEAD = 40  # calls after a failure among which its cure is looked for

# Lines of a failure that say nothing of it.
_NOISE = re.compile(
    r"^(?:(?:Command )?(?:exited with |Exit )code:? -?\d+|\[.*\]|Command (?:failed|aborted).*|Error:?|stderr:?"
    r"|stdout:?|Traceback.*"
    r"|\(no output\)|[=\-_*~#\s]+|=+ [^\d=]* =+|.*\bPASSED\b.*|Debugger (?:attached|listening).*"
    r"|Waiting for the debugger.*"
    r"|(?:\[[\w:.-]+\] )?[$>] .*|platform \w+ -- .*|(?:rootdir|plugins|configfile|cachedir|collecting|hint):? .*"
    r"|npm warn .*"
    r"|.*\bELIFECYCLE\b.*)$",
    re.IGNORECASE,
)
_LOUD = re.compile(
    r"[\w)]\.\w+[:(]\d+|error|fail|exception|panic|denied|not found|cannot|can't|could not|fatal|invalid|unexpected"
    r"|undefined|unknown|unable|no such|no matches|missing|refused|rejected|timed? ?out|conflict|unresolved|killed"
    r"|not (?:permitted|allowed|defined|recognized|supported)",
    re.IGNORECASE,
)
# A tool's hints about its own use, and interrupted calls: nothing went wrong with the work.
_PROTOCOL = re.compile(
    r"has not been read yet|has been (?:unexpectedly )?modified since|String to replace not found"
    r"|Found \d+ (?:matches|occurrences)"
    r"|[Cc]ould not find the exact text|[Nn]o changes (?:made|to make)|No such tool|requested permissions"
    r"|haven't granted"
    r"|InputValidationError|Unknown skill|Agent type '|EISDIR|exceeds maximum allowed|[Ii]nterrupted by user"
    r"|^Cancelled|[Oo]peration aborted"
    r"|execution was aborted|File does not exist|old_string|Invalid tool parameters"
)
# A failure by which a program says that it was called in a wrong way: then another call is the fix.
_MISUSED = re.compile(
    r"unknown (?:option|flag|argument|command)|unrecognized|invalid (?:option|flag|choice)|no such (?:option|command)"
    r"|usage:|unexpected argument|requires? an argument|no upstream branch|command not found|No module named"
    r"|parse error near|did you mean|not a (?:git )?command",
    re.IGNORECASE,
)
_MOST_CHANGED = 3  # more changed files than these are another piece of work
_COUNTS = re.compile(r" \((?:lines [^)]*|\d+ edits?|new|deleted)\)$")


def errors(calls: Sequence[Call], sentences: Sequence[Sentence]) -> list[Statement]:
    """Failures in their order: what failed and how, what was understood, what was changed, whether it then worked.

    A search that finds nothing, a file that is not where it was looked for, a tool that was not used as it wants are no
    failures of the work.
    """
    found: list[Statement] = []
    seen: set[tuple[str, str]] = set()
    for index, call in enumerate(calls):
        what = _failure(call)
        if not what:
            continue
        key = _failure_key(call, what)
        if key in seen:
            continue
        seen.add(key)
        following = calls[index + 1 : index + 1 + _LOOK_AHEAD]
        cure = _cure(call, following)
        turns = [call.turn]
        text = f"{f'`{shell.short(call.command)}`' if call.kind == 'shell' else _named(call)} failed: {what}"
        said = _diagnosis(call, cure, following, sentences)
        if said is not None:
            text += f" — {said.text}"
            turns.append(said.turn)
        if cure is not None:
            text += "" if text.endswith((".", "!", "…")) else "."
            text += _cured(call, cure, what, calls[index + 1 :])
            turns.append(cure.turn)
        found.append(Statement(text, tuple(dict.fromkeys(turns)), ""))
    # Those that were understood or cured are what one comes back for.
    ranked = sorted(range(len(found)), key=lambda at: (" Fixed" not in found[at].text, "—" not in found[at].text, at))
    return [found[at] for at in sorted(ranked[:_ERRORS])]


def unresolved(calls: Sequence[Call]) -> list[Statement]:
    """Return failures that no later call of the session resolved, in their order; of equal ones the last."""
    found: dict[tuple[str, str], Statement] = {}
    for index, call in enumerate(calls):
        what = _failure(call)
        if not what or _cure(call, calls[index + 1 :]) is not None:
            continue
        key = _failure_key(call, what)
        found.pop(key, None)
        found[key] = Statement(
            f"{f'`{shell.short(call.command)}`' if call.kind == 'shell' else _named(call)} failed: {what}", (call.turn,)
        )
    return list(found.values())


def commands(calls: Sequence[Call], proved: bool = True) -> list[Statement]:
    """Return commands that did something and worked: those that had failed before, then the commonest, in their order.

    With ``proved`` their success is known. Without, a pipe or a ``;`` hides their success, and each action comes once.
    """
    worked: dict[str, list[Call]] = {}
    done = {
        shell.deed(each.command)
        for each in calls
        if each.kind == "shell" and not each.errors and not each.refused and shell.is_proved(each.command)
    }
    failed: Counter[str] = Counter()
    for call in calls:
        if call.kind != "shell":
            continue
        if call.errors or call.refused:
            failed[shell.head(call.command)] += 1
            continue
        if not shell.acts(call.command) or shell.is_proved(call.command) != proved:
            continue
        if not proved:
            deed = shell.deed(call.command)
            if not deed or deed in done:
                continue
            done.add(deed)
        if line := shell.short(call.command):
            worked.setdefault(line, []).append(call)
    heads = {line: shell.head(worked[line][0].command) for line in worked}
    ranked = sorted(
        worked, key=lambda line: (-(failed[heads[line]] > 0) - min(len(worked[line]), 4), worked[line][0].order)
    )
    cases: Counter[str] = Counter()
    chosen: list[str] = []
    for line in ranked:
        cases[heads[line]] += 1
        if cases[heads[line]] <= _OF_ONE_CASE and len(chosen) < (_COMMANDS if proved else _UNPROVED):
            chosen.append(line)
    chosen.sort(key=lambda line: worked[line][0].order)
    return [Statement(f"`{line}`", tuple(dict.fromkeys(call.turn for call in worked[line]))) for line in chosen]


def files(calls: Iterable[Call], project: str) -> list[Statement]:
    """Files that were written, by the number of changes; paths relative to the project where they lie in it."""
    turns: dict[str, list[int]] = {}
    for call in calls:
        if call.kind == "change" and call.argument and not call.errors and not call.refused:
            for name in _paths(call):
                turns.setdefault(_relative(name, project), []).append(call.turn)
    ranked = sorted(turns, key=lambda name: -len(turns[name]))[:_FILES]
    return [Statement(f"`{name}`", tuple(dict.fromkeys(turns[name]))) for name in ranked]


def _failure(call: Call) -> str:
    """How a call failed, in its own words; "" if it did not, or where that says nothing of the work."""
    if call.refused or not call.errors or any(_PROTOCOL.search(line) for line in call.errors):
        return ""
    if call.kind == "shell":
        if not shell.acts(call.command):
            return ""
    elif call.kind == "other" and not call.name.startswith("mcp__"):
        return ""
    return _telling(call.errors)


def _named(call: Call) -> str:
    return one_line(f"{call.name} {call.argument}", shell.COMMAND_CHARS)


def _telling(lines: Iterable[str]) -> str:
    shown = list(dict.fromkeys(line.strip() for line in lines if line.strip() and not _NOISE.match(line.strip())))
    loud = [line for line in shown if _LOUD.search(line)]
    return one_line(" / ".join((loud or shown)[:_LINES]), _FAILURE)


def _cure(call: Call, following: Sequence[Call]) -> Call | None:
    """Return the next call that tries the same again, and does not fail."""
    for other in following:
        if other.name != call.name or other.errors or other.refused:
            continue
        if call.kind == "shell":
            if shell.is_like(call.command, other.command):
                return other
        elif _COUNTS.sub("", other.argument) == _COUNTS.sub("", call.argument):
            return other
    return None


def _cured(call: Call, cure: Call, what: str, following: Sequence[Call]) -> str:
    """Return how a failure ended, as " Fixed …" only if nothing speaks against it.

    The very same has to have worked, or the failure was about how the command was called. A run of something else, such
    as fewer tests, shows no fix, and neither does a failure that came back.
    """
    changed = list(dict.fromkeys(_base(each.argument) for each in _between(call, cure, following)))
    files = ", ".join(changed) if len(changed) <= _MOST_CHANGED else f"{len(changed)} files"
    cured = f"`{shell.short(cure.command)}`" if cure.kind == "shell" else "the call"
    if cure.kind == "shell" and not shell.is_proved(cure.command):
        # Behind a pipe nobody knows how it ended.
        return f" Then{f' changed {files} and' if changed else ''} ran {cured}."
    key = _failure_key(call, what)
    later = ((each, _failure(each)) for each in following if each.order > cure.order)
    if any(again and _failure_key(each, again) == key for each, again in later):
        return f" {cured[:1].upper()}{cured[1:]} then worked, but the failure came back."
    is_same = cure.kind != "shell" or _same_command(call.command, cure.command)
    if not is_same and (changed or not _MISUSED.search(what)):
        return f" Then{f' changed {files} and' if changed else ''} ran {cured}, which worked."
    return f" Fixed{f' by changing {files}' if changed else ''}: {cured} then worked."


def _failure_key(call: Call, what: str) -> tuple[str, str]:
    """Return what makes two failures one; ``what`` is how the call failed."""
    return shell.head(call.command) or call.name, re.sub(r"[\d\W]+", "", what.lower())[:60]


def _same_command(one: str, other: str) -> bool:
    """Return True if two command lines do the same to the same, whatever their options."""
    first, second = command_forms.command(one), command_forms.command(other)
    return first.normal == second.normal or bool(first.plain and first.plain == second.plain)


def _between(call: Call, cure: Call, following: Iterable[Call]) -> list[Call]:
    return [
        each
        for each in following
        if each.kind == "change" and not each.errors and not each.refused and call.order < each.order < cure.order
    ]


def _diagnosis(
    call: Call, cure: Call | None, following: Sequence[Call], sentences: Iterable[Sentence]
) -> Sentence | None:
    """Return the first sentence after a failure, and before the next one, that says what was wrong."""
    end = cure.order if cure is not None else call.order + _SOON
    end = min([end, *(each.order for each in following if _failure(each))])
    for sentence in sentences:
        if not call.order < sentence.after <= end or not sentence.is_own or sentence.role not in _AGENT:
            continue
        if sentence.turn - call.turn > 2 or sentence.text.endswith((":", "?")) or len(sentence.words) < 3:
            continue
        if phrases.DIAGNOSES.search(straight(sentence.text)):
            return sentence
    return None


def _base(argument: str) -> str:
    return _COUNTS.sub("", argument).rpartition("/")[2]


def _paths(call: Call) -> list[str]:
    """Return the files of a call: one in its line, or several below it where a patch names them."""
    return [name for part in call.argument.split(", ") if (name := _COUNTS.sub("", part.strip()))]


def _relative(name: str, project: str) -> str:
    return name[len(project) + 1 :] if project and name.startswith(project.rstrip("/") + "/") else name


_MOST = 16
_WORD = re.compile(r"[A-Za-z][\w+#.-]*[\w+#]|[A-Za-z]")

_BY_ENDING = {
    "py": "Python", "ts": "TypeScript", "tsx": "React", "jsx": "React", "js": "JavaScript", "mjs": "JavaScript",
    "go": "Go", "rs": "Rust", "java": "Java", "kt": "Kotlin", "swift": "Swift", "rb": "Ruby", "php": "PHP",
    "c": "C", "h": "C", "cc": "C++", "cpp": "C++", "hpp": "C++", "cs": "C#", "scala": "Scala", "ex": "Elixir",
    "exs": "Elixir", "hs": "Haskell", "lua": "Lua", "dart": "Dart", "vue": "Vue", "svelte": "Svelte", "sql": "SQL",
    "css": "CSS", "scss": "Sass", "html": "HTML", "tf": "Terraform", "sh": "shell", "ipynb": "Jupyter", "zig": "Zig",
}  # fmt: skip
# Names that are no other word of English where they stand alone.
_KNOWN = {name.lower(): name for name in listed("technologies")}
_ALIASES = {"postgres": "PostgreSQL", "golang": "Go", "wasm": "WebAssembly", "nextjs": "Next.js", "nodejs": "Node.js"}


def named(turns: Iterable[Turn]) -> list[Statement]:
    """Return the technologies of a session, those that most turns name first, each with the first turns that do."""
    found: dict[str, list[int]] = {}
    for turn in turns:
        names: set[str] = set()
        for call in turn.calls:
            if call.kind == "change":
                ending = call.argument.partition(" ")[0].rpartition(".")[2].lower()
                if ending in _BY_ENDING:
                    names.add(_BY_ENDING[ending])
        lines = [*turn.texts, *(call.command for call in turn.calls if call.kind == "shell")]
        for line in lines:
            for match in _WORD.finditer(line[:4000]):
                word = match[0].lower()
                if word in _ALIASES:
                    names.add(_ALIASES[word])
                elif word in _KNOWN:
                    names.add(_KNOWN[word])
        for name in sorted(names):
            found.setdefault(name, []).append(turn.number)
    best = sorted(found, key=lambda name: (-len(found[name]), name))[:_MOST]
    return [Statement(name, tuple(found[name][:2])) for name in best]
