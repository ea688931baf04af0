"""Tool calls as searchable one-liners: what was run, read, searched and changed, not what came back.

Each function returns markdown list lines: ``- Name: …`` and, indented by two spaces, what belongs to the call. A
payload cannot leave its line or its indented block.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from core.text import clean, one_line

MAX_COMMAND = 20_000
_VALUE = 200
_LINE = 500
_DEPTH = 3
_ERROR_LINES = 5
_ERROR_CHARS = 500
_ERROR_SCAN = 60_000
_TICKS = re.compile("`{3,}")
# A line that says what went wrong; a frame that raises it does not.
_TELLING = re.compile(
    r"(?i)^(?!\s*(?:raise|throw|file|at)\b).*(?:error|exception|fail|fatal|panic|denied|not found|cannot)"
)


def call(name: str, given: Any) -> str:
    """The lines of one call; ``given`` is the tool's input as recorded, normally a dict."""
    arguments = given if isinstance(given, dict) else {}
    formatter = _FORMATS.get(name)
    if formatter is not None:
        lines = formatter(name, arguments)
        if lines:
            return lines
    pairs = arguments or ({"input": given} if given not in (None, "", {}, []) else {})
    return _item(one_line(name, 120) or "tool", _pairs(pairs))


def call_as(kind: str, name: str, arguments: dict[str, Any]) -> str:
    """The lines of a call whose arguments are named as those of Claude Code's tool ``kind``, shown under ``name``."""
    name = one_line(name, 120) or "tool"
    return _FORMATS[kind](name, arguments) or _item(name, _pairs(arguments))


def error_lines(text: str) -> str:
    """The first telling lines of a failure, each as ``  ! …``: five lines, 500 characters.

    Where those do not say what went wrong (the head of a test run, a traceback), the first two later lines that do
    are added.
    """
    kept: list[str] = []
    room = _ERROR_CHARS
    told = False
    extra = 0
    # A progress bar rewrites its line with bare carriage returns: only what was left standing is kept.
    for raw in text[:_ERROR_SCAN].replace("\r\n", "\n").split("\n"):
        if len(kept) >= _ERROR_LINES or room <= 0:
            if told or extra == 2:
                break
            if not _TELLING.search(raw):
                continue
            extra += 1
            kept.append(f"  ! {one_line(raw, _VALUE)}")
            continue
        line = one_line(raw.rpartition("\r")[2] or raw)
        if not any(character.isalnum() for character in line):
            continue
        told = told or _TELLING.search(line) is not None
        if len(line) > room:
            line = line[: max(room - 1, 0)].rstrip() + "…"
        kept.append(f"  ! {line}")
        room -= len(line)
    return "\n".join(kept)


def indented(text: str) -> str:
    """``text`` as a block that belongs to the list item above it."""
    return "\n".join(f"  {line}" if line else "" for line in text.split("\n"))


def fenced(text: str, language: str = "") -> str:
    """``text`` in a code fence longer than any it contains, indented by two spaces."""
    longest = max(map(len, _TICKS.findall(text)), default=0)
    mark = "`" * max(3, longest + 1)
    return f"  {mark}{language}\n{indented(text)}\n  {mark}"


def _item(name: str, rest: str) -> str:
    return f"- {name}: {rest}" if rest else f"- {name}"


def _text(arguments: dict[str, Any], *keys: str, limit: int = _LINE) -> str:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str) and value:
            return one_line(value[: limit * 4] if limit else value, limit)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
    return ""


def _pairs(arguments: dict[Any, Any]) -> str:
    shown: list[str] = []
    for key, value in arguments.items():
        if value is None or value in ("", [], {}):
            continue
        shown.append(f"{one_line(str(key), 60)}={_short(value)}")
    return one_line(", ".join(shown), _LINE)


def _short(value: Any, depth: int = 0) -> str:
    if isinstance(value, str):
        return one_line(value[: 4 * _VALUE], _VALUE)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict) and depth == _DEPTH:
        return "…"
    if isinstance(value, list):
        return one_line("[" + "; ".join(_short(item, depth + 1) for item in value[:10]) + "]", _VALUE)
    if isinstance(value, dict):
        pairs = (f"{one_line(str(key), 60)}: {_short(item, depth + 1)}" for key, item in list(value.items())[:10])
        return one_line("{" + ", ".join(pairs) + "}", _VALUE)
    return one_line(str(value), _VALUE)


def _command(name: str, arguments: dict[str, Any]) -> str:
    command = arguments.get("command")
    if not isinstance(command, str) or not command.strip():
        return ""
    command = clean(command).strip("\n")
    if len(command) > MAX_COMMAND:
        command = f"{command[:MAX_COMMAND]}\n… ({len(command) - MAX_COMMAND} more characters)"
    note = _text(arguments, "description", limit=_VALUE)
    note = f"  # {note}" if note else ""
    if "\n" in command:
        return f"- {name}:{note}\n{fenced(command, 'sh')}"
    return f"- {name}: {command}{note}"


def _file(name: str, arguments: dict[str, Any]) -> str:
    path = _text(arguments, "file_path", "notebook_path", "path", "filePath", "file")
    if not path:
        return ""
    edits = arguments.get("edits")
    if isinstance(edits, list) and len(edits) > 1:
        path = f"{path} ({len(edits)} edits)"
    first, count = arguments.get("offset"), arguments.get("limit")
    if isinstance(first, int) and isinstance(count, int):
        path = f"{path} (lines {first}-{first + count - 1})"
    elif isinstance(first, int):
        path = f"{path} (from line {first})"
    return _item(name, path)


def _search(name: str, arguments: dict[str, Any]) -> str:
    pattern = _text(arguments, "pattern")
    if not pattern:
        return ""
    place = _text(arguments, "path")
    files = _text(arguments, "glob", "include", "type")
    line = f"{pattern} in {place}" if place else pattern
    return _item(name, f"{line} ({files})" if files else line)


def _subagent(name: str, arguments: dict[str, Any]) -> str:
    kind = _text(arguments, "subagent_type", "agent_type", limit=80)
    title = _text(arguments, "description", "name", limit=_VALUE)
    task = _text(arguments, "prompt", limit=_VALUE)
    head = f"{name} ({kind})" if kind else name
    return _item(head, f"{title}: {task}" if title and task else title or task)


def _questions(name: str, arguments: dict[str, Any]) -> str:
    lines: list[str] = []
    asked = arguments.get("questions")
    for entry in asked if isinstance(asked, list) else [arguments]:
        if not isinstance(entry, dict):
            continue
        question = _text(entry, "question", "header", limit=1000)
        options = entry.get("options")
        labels = [
            _text(option, "label", limit=100) if isinstance(option, dict) else _short(option)
            for option in (options if isinstance(options, list) else [])
        ]
        choice = " | ".join(label for label in labels if label)
        if question:
            lines.append(_item(name, f"{question} [{choice}]" if choice else question))
    return "\n".join(lines)


def _plan(name: str, arguments: dict[str, Any]) -> str:
    plan = arguments.get("plan")
    if not isinstance(plan, str) or not plan.strip():
        return f"- {name}"
    return f"- {name}:\n{indented(clean(plan).strip())}"


def _todos(name: str, arguments: dict[str, Any]) -> str:
    todos = arguments.get("todos")
    items = [item for item in todos if isinstance(item, dict)] if isinstance(todos, list) else []
    if not items:
        return ""
    done = sum(1 for item in items if item.get("status") == "completed")
    if not done:
        # The first list is the plan: every item, once. Later ones only say how far it has come.
        return _item(name, one_line("; ".join(_text(item, "content", limit=_VALUE) for item in items), _LINE))
    now = [_text(item, "content", limit=_VALUE) for item in items if item.get("status") == "in_progress"]
    return _item(name, f"{done} of {len(items)} done" + (f", now: {'; '.join(now)}" if now else ""))


def _keys(*keys: str) -> Callable[[str, dict[str, Any]], str]:
    """A formatter that shows the values of ``keys``, in that order, joined by spaces."""

    def formatter(name: str, arguments: dict[str, Any]) -> str:
        values = [value for key in keys if (value := _text(arguments, key))]
        return _item(name, one_line(" ".join(values), _LINE)) if values else ""

    return formatter


_FORMATS: dict[str, Callable[[str, dict[str, Any]], str]] = {
    "Bash": _command,
    "PowerShell": _command,
    "Monitor": _command,
    "Read": _file,
    "Edit": _file,
    "MultiEdit": _file,
    "Write": _file,
    "NotebookRead": _file,
    "NotebookEdit": _file,
    "LS": _file,
    "Glob": _search,
    "Grep": _search,
    "WebSearch": _keys("query"),
    "WebFetch": _keys("url", "prompt"),
    "Task": _subagent,
    "Agent": _subagent,
    "Skill": _keys("skill", "command", "args"),
    "LSP": _keys("operation", "filePath", "line", "query"),
    "ToolSearch": _keys("query"),
    "AskUserQuestion": _questions,
    "ExitPlanMode": _plan,
    "exit_plan_mode": _plan,
    "TodoWrite": _todos,
    "TaskCreate": _keys("subject"),
    "TaskUpdate": _keys("taskId", "status", "subject", "owner"),
    "SendMessage": _keys("to", "recipient", "summary", "message", "content"),
}
