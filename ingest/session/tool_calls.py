"""Tool calls as searchable one-liners: commands, files, searches and changes, not results.

A call becomes markdown list lines: ``- Name: …`` and, indented by two spaces, the text that belongs to the call. A
payload cannot leave its line or its indented block. Agents have other names for the same few kinds of tools: the tables
below map them to the canonical ones, which are Claude Code's. An unknown tool is shown with its arguments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from core.text import clean, one_line
from core.tool_kinds import CHANGES, FILE_ARGUMENTS, READS, RUNS
from ingest.session.values import mapping

# Kinds of tools

_OTHERS = """grep glob ls websearch webfetch task agent skill lsp toolsearch taskcreate taskupdate sendmessage
todowrite update_plan askuserquestion exitplanmode bashoutput killbash killshell taskoutput taskget
list_directory grep_search file_search web_search web_fetch list_files search_files new_task
list_code_definition_names"""

# Name of a tool in lower case → the kind of its calls, for readers of documents.
KINDS = {
    **dict.fromkeys((*_OTHERS.split(), *READS), "other"),
    **dict.fromkeys(RUNS, "shell"),
    **dict.fromkeys(CHANGES, "change"),
}

# A line of text that a reader would take as the call of a tool that runs or changes something.
_DEEDS = "|".join(re.escape(name) for name in sorted(KINDS, key=len, reverse=True) if KINDS[name] != "other")
AS_CALL = re.compile(rf"(?m)^(?=- (?:(?i:{_DEEDS})(?: \([^)\n]*\))?: .|(?:Edit|Write)$))")

MAX_COMMAND = 20_000
_VALUE = 200
_LINE = 500
_DEPTH = 3
_ERROR_LINES = 5
_ERROR_CHARS = 500
_ERROR_SCAN = 60_000
_TICKS = re.compile("`{3,}")
# A line that names an error; a frame of a traceback that raises one does not count.
_NAMES_ERROR = re.compile(
    r"(?i)^(?!\s*(?:raise|throw|file|at)\b).*(?:error|exception|fail|fatal|panic|denied|not found|cannot)"
)


def canonical_lines(name: str, given: Any) -> str:
    """Return the lines of one call of a tool with Claude Code's name and arguments.

    ``given`` is the tool's input as recorded, normally a dict.
    """
    arguments = given if isinstance(given, dict) else {}
    formatter = _FORMATS.get(name)
    if formatter is not None:
        lines = formatter(name, arguments)
        if lines:
            return lines
    pairs = arguments or ({"input": given} if given not in (None, "", {}, []) else {})
    return _item(_shown(name), _pairs(pairs))


def _lines_as(kind: str, name: str, arguments: dict[str, Any]) -> str:
    """Return the lines of a call of ``name`` that has the arguments of the canonical tool ``kind``."""
    name = _shown(name)
    return _FORMATS[kind](name, arguments) or _item(name, _pairs(arguments))


def error_lines(text: str) -> str:
    """Return the first lines of a failure, each as ``  ! …``: five lines, 500 characters.

    If they name no error (the head of a test run, a traceback), the first two later lines that name one are added.
    """
    kept: list[str] = []
    room = _ERROR_CHARS
    is_named = False
    extra = 0
    # A progress bar rewrites its line after a bare carriage return: only the last form is kept.
    for raw in text[:_ERROR_SCAN].replace("\r\n", "\n").split("\n"):
        if len(kept) >= _ERROR_LINES or room <= 0:
            if is_named or extra == 2:
                break
            if not _NAMES_ERROR.search(raw):
                continue
            extra += 1
            kept.append(f"  ! {one_line(raw, _VALUE)}")
            continue
        line = one_line(raw.rpartition("\r")[2] or raw)
        if not any(character.isalnum() for character in line):
            continue
        is_named = is_named or _NAMES_ERROR.search(line) is not None
        if len(line) > room:
            line = line[: max(room - 1, 0)].rstrip() + "…"
        kept.append(f"  ! {line}")
        room -= len(line)
    return "\n".join(kept)


def indented(text: str) -> str:
    """Return ``text`` as a block that belongs to the list item above."""
    return "\n".join(f"  {line}" if line else "" for line in text.split("\n"))


def fenced(text: str, language: str = "") -> str:
    """Return ``text`` in a code fence longer than any in it, indented by two spaces."""
    longest = max(map(len, _TICKS.findall(text)), default=0)
    mark = "`" * max(3, longest + 1)
    return f"  {mark}{language}\n{indented(text)}\n  {mark}"


def _shown(name: str) -> str:
    return one_line(name, 120) or "tool"


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
    if arguments.get("command") == "view":
        path = f"{path} (view)"
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
        # The first list is the plan, with every item. Later lists show only the progress.
        return _item(name, one_line("; ".join(_text(item, "content", limit=_VALUE) for item in items), _LINE))
    now = [_text(item, "content", limit=_VALUE) for item in items if item.get("status") == "in_progress"]
    return _item(name, f"{done} of {len(items)} done" + (f", now: {'; '.join(now)}" if now else ""))


def _keys(*keys: str) -> Callable[[str, dict[str, Any]], str]:
    """Return a formatter that shows the values of ``keys``, in that order, joined by spaces."""

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


# Other agents' tools


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SHELLS = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh", "/usr/bin/bash", "/usr/bin/zsh", "powershell")
_MAX_CODE = 4000
_MAX_ANSWER = 2000
_PATCHED = (("*** Update File: ", ""), ("*** Add File: ", " (new)"), ("*** Delete File: ", " (deleted)"))
_PATHS = (*FILE_ARGUMENTS, "target_directory", "dir_path", "directory", "uri", "file", "filename")

# Canonical name of a tool → names of other agents for it, in lower case.
_NAMES: dict[str, Iterable[str]] = {
    "Bash": RUNS,
    # Claude Code's notebook tools have a form of their own, and a patch names its files itself.
    "Read": READS - {"notebookread"}
    | _words("""
        view_image list_dir list_directory list_dir_v2 ls list read_files list_files list_code_definition_names
        view_file view_file_outline
        """),
    "Edit": CHANGES - {"notebookedit", "apply_patch", "applypatch"} | _words("delete reapply undo_edit"),
    "Grep": _words("""
        grep grep_search ripgrep ripgrep_raw_search rg search_file_content file_search glob glob_file_search find
        codebase_search semantic_search semantic_search_full search search_files
        """),
    "WebSearch": _words("web_search websearch google_web_search web_search_call"),
    "WebFetch": _words("web_fetch webfetch fetch read_web_page fetch_url"),
    "Task": _words("task spawn_agent spawn_subagent agent subagent delegate task_v2 sessions_spawn"),
    "TodoWrite": _words("todowrite todo_write update_plan write_todos manage_todo_list update_todo update_todo_list"),
    "AskUserQuestion": _words("ask_user ask_question request_user_input askuserquestion question"),
    "ExitPlanMode": _words("exit_plan_mode create_plan"),
    "Skill": _words("skill activate_skill"),
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names}


def call_lines(name: str, given: Any) -> str:
    """Return the lines of one call of any agent's tool; ``given`` is its input: a dict, JSON text, or plain text."""
    if type(given) is str:
        given = _decoded(given)
    kind = _KINDS.get(name.lower())
    if name.lower() in ("apply_patch", "applypatch") or (type(given) is str and given.startswith("*** Begin Patch")):
        text = given if type(given) is str else _first(given, "input", "patch", "patchText") if given else ""
        files = _patched(text if type(text) is str else "")
        if files:
            return _item(_shown(name), files)
    if type(given) is not dict:
        return _code(name, given) if type(given) is str and given.strip() else canonical_lines(name, given)
    if kind == "Bash":
        return _shell_call(name, given)
    if kind is None:
        return canonical_lines(name, given)
    return _lines_as(kind, name, _ARGUMENTS[kind](given) if kind in _ARGUMENTS else given)


def answers(data: dict[str, Any]) -> str:
    """Return a person's answers to questions (``request_user_input``, ``ask_user``) as a line, or ""."""
    found = data.get("answers")
    if type(found) is not dict:
        return ""
    lines: list[str] = []
    for question, answer in found.items():
        chosen = mapping(answer).get("answers", answer)
        texts = [chosen] if type(chosen) is str else chosen if type(chosen) is list else []
        shown = ", ".join(text for text in texts if type(text) is str).replace("user_note: ", "")
        if shown:
            lines.append(f"{question}: {shown}" if len(found) > 1 else shown)
    return one_line("; ".join(lines), _MAX_ANSWER)


def command_text(command: Any) -> str:
    """Return a command line; the script alone if a list hands it to a shell."""
    if type(command) is str:
        return command
    if type(command) is not list:
        return ""
    words = [word for word in command if type(word) is str]
    if len(words) == 3 and words[0].removesuffix(".exe").lower() in _SHELLS and words[1].startswith("-"):
        return words[2]
    import shlex

    return shlex.join(words)


def _decoded(text: str) -> Any:
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text


def _first(arguments: dict[str, Any], *keys: str) -> Any:
    return next((arguments[key] for key in keys if arguments.get(key)), None)


def _shell_call(name: str, given: dict[str, Any]) -> str:
    command = command_text(_first(given, "command", "cmd", "script", "commands"))
    note = _first(given, "description", "explanation", "justification")
    shown = {"command": command, "description": note}
    return _lines_as("Bash", name, shown) if command.strip() else canonical_lines(name, given)


def _patched(text: str) -> str:
    """Return the files in a patch of the form ``*** Update File: …``."""
    files: list[str] = []
    for line in text.split("\n"):
        if line.startswith("*** "):
            files += [line.removeprefix(mark).strip() + note for mark, note in _PATCHED if line.startswith(mark)]
    more = f", and {len(files) - 20} more" if len(files) > 20 else ""
    return one_line(", ".join(files[:20]), 2000) + more


def _code(name: str, text: str) -> str:
    """Return the lines of a call with a program or plain text as input."""
    text = clean(text).strip("\n")
    if len(text) > _MAX_CODE:
        text = f"{text[:_MAX_CODE]}\n… ({len(text) - _MAX_CODE} more characters)"
    return f"{_item(_shown(name), '')}:\n{fenced(text)}" if "\n" in text else _item(_shown(name), text)


def _path(given: dict[str, Any]) -> dict[str, Any]:
    path = _first(given, *_PATHS)
    shown: dict[str, Any] = {"file_path": path if type(path) is str else None}
    for key in ("offset", "limit", "edits", "command"):
        shown[key] = given.get(key)
    paths = _first(given, "paths", "include", "files")
    if not shown["file_path"] and type(paths) is list:
        shown["file_path"] = ", ".join(item for item in paths if type(item) is str)
    return shown


def _pattern(given: dict[str, Any]) -> dict[str, Any]:
    place = _first(given, "path", "dir_path", "target_directory", "targetDirectory", "directory", "searchDir")
    places = _first(given, "target_directories", "targetDirectories", "paths")
    if place is None and type(places) is list:
        place = ", ".join(item for item in places if type(item) is str)
    return {
        "pattern": _first(given, "pattern", "query", "regex", "glob_pattern", "globPattern", "search_term"),
        "path": place,
        "glob": _first(given, "glob", "include", "include_pattern", "includePattern", "filePattern"),
    }


def _subagent_task(given: dict[str, Any]) -> dict[str, Any]:
    return {
        "subagent_type": _first(given, "subagent_type", "agent_type", "agent", "agentId", "role", "subagentType"),
        "description": _first(given, "description", "name", "task_name", "label"),
        "prompt": _first(given, "prompt", "message", "task", "instructions", "objective"),
    }


def _todo_list(given: dict[str, Any]) -> dict[str, Any]:
    found = _first(given, "todos", "plan", "items", "todoList", "todo_list")
    items: list[dict[str, Any]] = []
    for entry in found if type(found) is list else []:
        if type(entry) is dict:
            text = _first(entry, "content", "step", "description", "text", "title", "task")
            items.append({"content": text, "status": str(entry.get("status") or "").replace("-", "_")})
    return {"todos": items} if items else given


def _web_query(given: dict[str, Any]) -> dict[str, Any]:
    query = _first(given, "query", "search_term", "searchTerm", "q", "objective")
    queries = _first(given, "queries", "search_queries")
    if query is None and type(queries) is list:
        query = "; ".join(item for item in queries if type(item) is str)
    return {"query": query}


def _web_address(given: dict[str, Any]) -> dict[str, Any]:
    return {"url": _first(given, "url", "uri"), "prompt": _first(given, "prompt", "objective")}


_ARGUMENTS = {
    "Read": _path,
    "Edit": _path,
    "Grep": _pattern,
    "Task": _subagent_task,
    "TodoWrite": _todo_list,
    "WebSearch": _web_query,
    "WebFetch": _web_address,
}
