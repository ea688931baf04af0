"""A moment at which the guard may speak: a call that an agent is about to make, or one that has just failed."""

from __future__ import annotations

from os.path import isabs, normpath

from core.tool_kinds import CHANGES, RUNS
from qmd.index.actions.action import key_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from qmd.index.actions.action import Action

BEFORE, FAILED = "before", "failed"
_MOST = 20_000
# Folders of linked work trees, which stand for their repository.
_WORKTREES = ("/.worktrees/", "/.claude/worktrees/", "/worktrees/")


class Moment:
    """One call: ``when`` is BEFORE or FAILED, ``kind`` is ``command``, ``file`` or ``tool``.

    ``subject`` is the command line, the file's absolute path or the tool's name. ``key`` identifies it as
    ``brain_actions`` does, ``name`` is the program, the file's name or the tool. ``normal`` is a command's normal form,
    ``plain_text`` the command without options, "" if it has no variants. ``folder`` is where a command runs, of
    any other call the project. ``error`` is the signature of the failure.
    """

    __slots__ = (
        "error", "folder", "key", "kind", "name", "normal", "plain", "plain_text", "project", "subject", "tool", "when",
    )  # fmt: skip

    def __init__(
        self, when: str, tool: str, kind: str, subject: str, project: str, folder: str = "", error: str = ""
    ) -> None:
        self.when, self.tool, self.kind, self.subject = when, tool, kind, subject
        self.project, self.folder, self.error = project, folder or project, error
        self.plain, self.plain_text, self.normal = 0, "", subject
        if kind == "command":
            from qmd.index.actions import command_forms  # the patterns of each module cost what a moment may take

            parsed = command_forms.command(subject)
            self.name = parsed.tool
            self.key = key_of(parsed.normal)
            self.normal, self.plain_text = parsed.normal, parsed.plain
            self.plain = key_of(parsed.plain) if parsed.plain else 0
            if parsed.folder and not folder:
                self.folder = parsed.folder if isabs(parsed.folder) else normpath(f"{project}/{parsed.folder}")
        else:
            self.key = key_of(subject)
            self.name = subject.replace("\\", "/").rstrip("/").rpartition("/")[2] if kind == "file" else tool


def read(given: Mapping[str, Any]) -> Moment | None:
    """Return the moment of a hook's input, None if the guard has nothing to say at such a call.

    The input is that of ``PreToolUse`` or ``PostToolUseFailure`` (https://code.claude.com/docs/en/hooks): tool_name,
    tool_input, cwd; of a failure also error and is_interrupt. A person's interrupt is no failure.
    """
    event, tool, entered = given.get("hook_event_name"), given.get("tool_name"), given.get("tool_input")
    if event not in ("PreToolUse", "PostToolUseFailure") or not isinstance(tool, str) or not isinstance(entered, dict):
        return None
    if given.get("is_interrupt") is True:
        return None
    when = BEFORE if event == "PreToolUse" else FAILED
    said = given.get("error")
    error = _signature(said) if when == FAILED and isinstance(said, str) else ""
    cwd = given.get("cwd")
    folder = cwd if isinstance(cwd, str) and isabs(cwd) else ""
    if tool.lower() in RUNS:
        command = entered.get("command")
        if isinstance(command, str) and command.strip():
            return Moment(when, tool, "command", command[:_MOST], folder, error=error)
    elif tool.lower() in CHANGES:
        path = entered.get("file_path") or entered.get("notebook_path") or entered.get("path")
        if isinstance(path, str) and path and "\0" not in path:
            whole = path if isabs(path) else f"{folder}/{path}"
            return Moment(when, tool, "file", normpath(whole)[:_MOST], folder, error=error)
    elif tool.startswith("mcp__"):
        return Moment(when, tool, "tool", tool, folder, error=error)
    return None


def _signature(said: str) -> str:
    from qmd.index.actions import error_forms

    said = said[:_MOST]
    if "\x1b" in said:  # the colours of a terminal, which no document has
        from core.text import clean

        said = clean(said)
    return error_forms.error(said.splitlines())


def replayed(action: Action, project: str, when: str, tool: str = "") -> Moment | None:
    """Return the moment that a recorded action was; None for an action that no hook announces."""
    error = action.error if when == FAILED else ""
    if action.kind == "command":
        return Moment(when, tool or "Bash", "command", action.subject, project, action.folder, error)
    if action.kind in ("edit", "create"):
        path = action.subject if isabs(action.subject) else f"{project}/{action.subject}"
        return Moment(when, tool or "Edit", "file", path, project, error=error)
    if action.kind == "error" and action.name.startswith("mcp__"):
        return Moment(when, action.name, "tool", action.name, project, error=error)
    return None


def place(folder: str) -> str:
    """Return a folder, or for one in a linked work tree the folder of its repository."""
    found = folder.rstrip("/")
    for mark in _WORKTREES:
        before, inside, after = found.partition(mark)
        if inside:
            rest = after.partition("/")[2]
            return f"{before}/{rest}" if rest else before
    return found


def same_project(one: str, other: str) -> bool:
    """Return True if a folder is another one, or is within it, also in another work tree."""
    first, second = f"{place(one)}/", f"{place(other)}/"
    return len(first) > 1 and len(second) > 1 and (first.startswith(second) or second.startswith(first))


def same_file(path: str, other: str) -> bool:
    """Return True if two absolute paths are one file, or the same file in two work trees of a repository."""
    return bool(path) and place(path) == place(other)
