"""What the tool calls of a session tell: errors and what ended them, commands that worked, files that were changed."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from typing import TYPE_CHECKING

from runtime.distill import phrases
from runtime.distill.distillate import Statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runtime.distill.transcript import Call
    from runtime.distill.words import Sentence

_ERRORS = 14
_COMMANDS = 16
_OF_ONE_CASE = 3
_FILES = 40
_COMMAND_CHARS = 200
_LOOK_AHEAD = 40  # calls after a failure among which its cure is looked for

# Commands that look and change nothing: that they worked is no news.
_LOOKING = frozenset(
    """ls cat cd pwd echo grep rg find head tail wc sed awk which type env printenv date sleep tree less file stat jq
    sort uniq xxd true test [ ps kill pkill history whoami uname open diff read mkdir touch cp mv rm chmod""".split()
)
_GIT_LOOKING = frozenset("status diff log show branch blame remote rev-parse ls-files add fetch".split())
_NOISE = re.compile(r"^(?:Exit code \d+|\[.*\]|Command failed.*|Error:?|stderr:?|Traceback.*)$", re.IGNORECASE)
_WRAPPERS = frozenset(("sudo", "time", "timeout", "env", "nohup", "command", "npx", "bunx", "uv", "poetry", "mise"))
_COUNTS = re.compile(r" \((?:lines [^)]*|\d+ edits?|new|deleted)\)$")


def errors(calls: Sequence[Call], sentences: Sequence[Sentence]) -> list[Statement]:
    """Failures in their order: what failed and how, what was understood, what was changed, whether it then worked."""
    found: list[Statement] = []
    seen: set[tuple[str, str]] = set()
    for index, call in enumerate(calls):
        what = _telling(call.errors)
        if not what or call.refused:
            continue
        key = (head(call.command), re.sub(r"[\d\W]+", "", what.lower())[:60])
        if key in seen:
            continue
        seen.add(key)
        following = calls[index + 1 : index + 1 + _LOOK_AHEAD]
        cure = _cure(call, following)
        turns = [call.turn]
        name = f"`{_short(call.command)}`" if call.kind == "shell" else f"{call.name} {_short(call.argument)}".strip()
        text = f"{name} failed: {what}"
        said = _diagnosis(call, cure, sentences)
        if said is not None:
            text += f" — {said.text}"
            turns.append(said.turn)
        if cure is not None:
            changed = list(dict.fromkeys(_base(each.argument) for each in _between(call, cure, following)))[:3]
            text += f" Fixed{' by changing ' + ', '.join(changed) if changed else ''}:"
            text += f" `{_short(cure.command)}` then worked." if cure.kind == "shell" else " the call then worked."
            turns.append(cure.turn)
        found.append(Statement(text, tuple(dict.fromkeys(turns)), ""))
    # Those that were understood or cured are what one comes back for.
    ranked = sorted(range(len(found)), key=lambda at: (" Fixed" not in found[at].text, "—" not in found[at].text, at))
    return [found[at] for at in sorted(ranked[:_ERRORS])]


def commands(calls: Sequence[Call]) -> list[Statement]:
    """Commands that did something and worked: those that had failed before, then those used most, in their order."""
    worked: dict[str, list[Call]] = {}
    failed: Counter[str] = Counter()
    for call in calls:
        if call.kind != "shell":
            continue
        if call.errors or call.refused:
            failed[head(call.command)] += 1
            continue
        line = _short(call.command)
        if line and not _is_looking(call.command):
            worked.setdefault(line, []).append(call)
    ranked = sorted(
        worked, key=lambda line: (-(failed[head(line)] > 0) - min(len(worked[line]), 4), worked[line][0].order)
    )
    cases: Counter[str] = Counter()
    chosen: list[str] = []
    for line in ranked:
        cases[head(line)] += 1
        if cases[head(line)] <= _OF_ONE_CASE and len(chosen) < _COMMANDS:
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


def head(command: str) -> str:
    """What a command is a case of: program and subcommand (``git push``, ``npm test``), past ``cd`` and wrappers."""
    words: list[str] = []
    for part in re.split(r"\s*(?:&&|\|\||;|\n)\s*", command):
        try:
            words = shlex.split(part.partition("|")[0])
        except ValueError:
            words = part.split()
        while words and ("=" in words[0] or words[0] in _WRAPPERS):
            words = words[1:]
            while words and (words[0].startswith("-") or words[0].isdigit() or words[0] == "run"):
                words = words[1:]
        if words and words[0] not in ("cd", "export", "source", "set"):
            break
    plain = [word for word in words[:4] if not word.startswith("-")]
    return " ".join(plain[:2])


def _is_looking(command: str) -> bool:
    program, _, sub = head(command).partition(" ")
    return not program or program in _LOOKING or (program == "git" and sub in _GIT_LOOKING)


def _telling(lines: Iterable[str]) -> str:
    told = [line.strip() for line in lines if line.strip() and not _NOISE.match(line.strip())]
    loud = [line for line in told if re.search(r"(?i)error|fail|exception|panic|denied|not found|cannot|fatal", line)]
    return " / ".join(dict.fromkeys((loud or told)[:2]))[:300]


def _cure(call: Call, following: Sequence[Call]) -> Call | None:
    """The next call of the same kind on the same thing that worked."""
    for other in following:
        if other.name != call.name or other.errors or other.refused:
            continue
        if call.kind == "shell":
            if head(call.command) and head(other.command) == head(call.command):
                return other
        elif _base(other.argument) == _base(call.argument):
            return other
    return None


def _between(call: Call, cure: Call, following: Iterable[Call]) -> list[Call]:
    return [
        each
        for each in following
        if each.kind == "change" and not each.errors and not each.refused and call.order < each.order < cure.order
    ]


def _diagnosis(call: Call, cure: Call | None, sentences: Iterable[Sentence]) -> Sentence | None:
    """The first sentence after a failure that says what was wrong."""
    end = cure.order if cure is not None else call.order + 6
    for sentence in sentences:
        if call.order < sentence.after <= end and not sentence.thought and phrases.DIAGNOSES.search(sentence.text):
            return sentence
    return None


def _short(command: str) -> str:
    line, more, _ = command.strip().partition("\n")
    line = " ".join(line.replace("`", "'").split())
    if len(line) > _COMMAND_CHARS:
        return line[: _COMMAND_CHARS - 1] + "…"
    return line + " …" if more else line


def _base(argument: str) -> str:
    return _COUNTS.sub("", argument).rpartition("/")[2]


def _paths(call: Call) -> list[str]:
    """The files of a call: one in its line, or several below it where a patch names them."""
    return [name for part in call.argument.split(", ") if (name := _COUNTS.sub("", part.strip()))]


def _relative(name: str, project: str) -> str:
    return name[len(project) + 1 :] if project and name.startswith(project.rstrip("/") + "/") else name
