"""Tool calls of the other agents as one-liners like Claude Code's: their tools have other names and the same few kinds.

A tool that is not in the table is shown by its arguments, so that a new one is never lost.
"""

from __future__ import annotations

import json
from typing import Any

from core.text import clean, one_line
from ingest.session import tool_calls
from ingest.session.values import mapping

_SHELLS = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh", "/usr/bin/bash", "/usr/bin/zsh", "powershell")
_MAX_CODE = 4000
_MAX_ANSWER = 2000
_PATCHED = (("*** Update File: ", ""), ("*** Add File: ", " (new)"), ("*** Delete File: ", " (deleted)"))
_PATHS = (
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "target_file",
    "targetFile",
    "relative_workspace_path",
    "relativeWorkspacePath",
    "target_directory",
    "dir_path",
    "directory",
    "uri",
    "file",
    "filename",
)

# Kind of call, as Claude Code's tool for it is called → the names that other agents give it, lower case.
_NAMES = {
    "Bash": """
        bash shell exec_command shell_command local_shell container.exec run_shell_command run_terminal_cmd
        run_terminal_command run_terminal_command_v2 run_terminal execute_command execute powershell terminal
        run_command exec shell_exec
        """,
    "Read": """
        read read_file read_file_v2 view view_image list_dir list_directory list_dir_v2 ls list read_many_files
        """,
    "Edit": """
        edit edit_file edit_file_v2 multiedit multi_edit replace search_replace str_replace str_replace_editor
        apply_diff insert_edit_into_file create create_file write write_file delete_file delete edit_notebook
        reapply undo_edit
        """,
    "Grep": """
        grep grep_search ripgrep ripgrep_raw_search rg search_file_content file_search glob glob_file_search find
        codebase_search semantic_search semantic_search_full search
        """,
    "WebSearch": "web_search websearch google_web_search web_search_call",
    "WebFetch": "web_fetch webfetch fetch read_web_page fetch_url",
    "Task": "task spawn_agent agent subagent delegate task_v2 sessions_spawn",
    "TodoWrite": "todowrite todo_write update_plan write_todos manage_todo_list update_todo",
    "AskUserQuestion": "ask_user ask_question request_user_input askuserquestion question",
    "ExitPlanMode": "exit_plan_mode create_plan",
    "Skill": "skill activate_skill",
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}


def call(name: str, given: Any) -> str:
    """The lines of one call; ``given`` is the tool's input as recorded: a dict, JSON text, or plain text."""
    if type(given) is str:
        given = _decoded(given)
    kind = _KINDS.get(name.lower())
    if name == "apply_patch" or (type(given) is str and given.startswith("*** Begin Patch")):
        text = given if type(given) is str else _first(given, "input", "patch", "patchText") if given else ""
        files = _patched(text if type(text) is str else "")
        if files:
            return _item(name, files)
    if type(given) is not dict:
        return _code(name, given) if type(given) is str and given.strip() else tool_calls.call(name, given)
    if kind == "Bash":
        return _shell(name, given)
    if kind is None:
        return tool_calls.call(name, given)
    return tool_calls.call_as(kind, name, _ARGUMENTS[kind](given) if kind in _ARGUMENTS else given)


def answers(data: dict[str, Any]) -> str:
    """One line of what a person answered to the assistant's questions (``request_user_input``, ``ask_user``), or ""."""
    found = data.get("answers")
    if type(found) is not dict:
        return ""
    said: list[str] = []
    for question, answer in found.items():
        chosen = mapping(answer).get("answers", answer)
        texts = [chosen] if type(chosen) is str else chosen if type(chosen) is list else []
        shown = ", ".join(text for text in texts if type(text) is str).replace("user_note: ", "")
        if shown:
            said.append(f"{question}: {shown}" if len(found) > 1 else shown)
    return one_line("; ".join(said), _MAX_ANSWER)


def command_text(command: Any) -> str:
    """What a command line was: the script where a list only hands it to a shell."""
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


def _item(name: str, rest: str) -> str:
    return f"- {one_line(name, 120) or 'tool'}: {rest}" if rest else f"- {one_line(name, 120) or 'tool'}"


def _shell(name: str, given: dict[str, Any]) -> str:
    command = command_text(_first(given, "command", "cmd", "script", "commands"))
    note = _first(given, "description", "explanation", "justification")
    shown = {"command": command, "description": note}
    return tool_calls.call_as("Bash", name, shown) if command.strip() else tool_calls.call(name, given)


def _patched(text: str) -> str:
    """The files that a patch in Codex's own form names."""
    files: list[str] = []
    for line in text.split("\n"):
        if line.startswith("*** "):
            files += [line.removeprefix(mark).strip() + note for mark, note in _PATCHED if line.startswith(mark)]
    more = f", and {len(files) - 20} more" if len(files) > 20 else ""
    return one_line(", ".join(files[:20]), 2000) + more


def _code(name: str, text: str) -> str:
    """A call whose input is a program or plain text."""
    text = clean(text).strip("\n")
    if len(text) > _MAX_CODE:
        text = f"{text[:_MAX_CODE]}\n… ({len(text) - _MAX_CODE} more characters)"
    return f"{_item(name, '')}:\n{tool_calls.fenced(text)}" if "\n" in text else _item(name, text)


def _path(given: dict[str, Any]) -> dict[str, Any]:
    path = _first(given, *_PATHS)
    shown: dict[str, Any] = {"file_path": path if type(path) is str else None}
    for key in ("offset", "limit", "edits"):
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


def _task(given: dict[str, Any]) -> dict[str, Any]:
    return {
        "subagent_type": _first(given, "subagent_type", "agent_type", "agent", "agentId", "role", "subagentType"),
        "description": _first(given, "description", "name", "task_name", "label"),
        "prompt": _first(given, "prompt", "message", "task", "instructions", "objective"),
    }


def _todos(given: dict[str, Any]) -> dict[str, Any]:
    found = _first(given, "todos", "plan", "items", "todoList", "todo_list")
    items: list[dict[str, Any]] = []
    for entry in found if type(found) is list else []:
        if type(entry) is dict:
            text = _first(entry, "content", "step", "description", "text", "title", "task")
            items.append({"content": text, "status": str(entry.get("status") or "").replace("-", "_")})
    return {"todos": items} if items else given


def _search(given: dict[str, Any]) -> dict[str, Any]:
    query = _first(given, "query", "search_term", "searchTerm", "q", "objective")
    queries = _first(given, "queries", "search_queries")
    if query is None and type(queries) is list:
        query = "; ".join(item for item in queries if type(item) is str)
    return {"query": query}


def _fetch(given: dict[str, Any]) -> dict[str, Any]:
    return {"url": _first(given, "url", "uri"), "prompt": _first(given, "prompt", "objective")}


_ARGUMENTS = {
    "Read": _path,
    "Edit": _path,
    "Grep": _pattern,
    "Task": _task,
    "TodoWrite": _todos,
    "WebSearch": _search,
    "WebFetch": _fetch,
}
