"""Claude Code's hooks: add ours to a settings file and remove them, without changing any other byte.

The vendor's form is: ``{"hooks": {EVENT: [{"hooks": [{"type": "command", "command": …}]}]}}``.
"""

from __future__ import annotations

import json
import os
import shlex
from os.path import exists, expanduser, isfile, join, realpath
from typing import TYPE_CHECKING, Any

from core import clock, telemetry
from core.errors import BadInput
from core.files import read_or_none
from ops.install import hook_edit, installed, program, settings_file
from runtime.explaining.installation import claude_folder
from runtime.hooks.hooks import silenced

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from core.home import Home

# Hook → event → its words. The Stop hook adds a session start that only reports missed transcripts.
HOOKS: dict[str, dict[str, tuple[str, ...]]] = {
    "stop": {
        "Stop": ("stop",),
        "SubagentStop": ("stop",),
        "SessionEnd": ("stop",),
        "PreCompact": ("stop",),
        "SessionStart": ("session-start", "--misses"),
    },
    "session-start": {"SessionStart": ("session-start",)},
    "prompt": {"UserPromptSubmit": ("prompt",)},
    "guard": {"PreToolUse": ("guard",), "PostToolUseFailure": ("guard",)},
}
# Event → the tools at whose calls it fires. Claude Code reads a matcher as a regular expression over the tool's name.
_TOOLS = "Bash|Edit|MultiEdit|Write|NotebookEdit|mcp__.*"
MATCHERS = {"PreToolUse": _TOOLS, "PostToolUseFailure": _TOOLS}
_SHAPE = hook_edit.Shape(matchers=MATCHERS, strict=True)
# Seconds until Claude Code ends a hook: far above the duration of ours, far below a person's patience.
_TIMEOUT_S = 10


def wanted(home: Home, hooks: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Event → the entry that a settings file should have for ``hooks``. Raises BadInput for a hook that is none."""
    entries: dict[str, dict[str, Any]] = {}
    chosen = set(hooks)
    if not chosen:
        raise BadInput("no hook is named", f"some of: {', '.join(HOOKS)}")
    for name in chosen:
        if name not in HOOKS:
            raise BadInput(f"there is no hook {name!r}", f"one of: {', '.join(HOOKS)}")
    # In this order a session start that recalls replaces the one that only reports misses: it does both.
    for name in (name for name in HOOKS if name in chosen):
        for event, words in HOOKS[name].items():
            command = program.shell_line(home, "hook", *words)
            entries[event] = {"type": "command", "command": command, "timeout": _TIMEOUT_S}
    return entries


def settings_path(environ: Mapping[str, str], *, project: bool = False, file: str = "") -> str:
    """Return the settings file: ``file``, else the one of the project in the working directory, else the user's."""
    if file:
        return os.path.abspath(expanduser(file))
    if project:
        return join(os.getcwd(), ".claude", "settings.json")
    return join(claude_folder(environ), "settings.json")


def install(home: Home, path: str, hooks: Iterable[str], *, dry_run: bool = False) -> dict[str, Any]:
    """Make ``path`` hold exactly ``hooks`` of ours; the former file is kept in ``state/backup``.

    ``dry_run`` writes nothing and reports what would change.

    Returns {"file", "changed", "events", "backup"}. Raises BadInput if the file is not one that can be edited.
    """
    entries = wanted(home, hooks)
    is_new = not exists(path)
    folders = settings_file.missing_folders(path)
    report = _edit(home, path, entries, dry_run=dry_run)
    if dry_run:
        return report
    recorded = installed.read(home)["hooks"].get(path, {})
    before = {} if report["changed"] else recorded
    details = {
        "made": recorded.get("made", is_new),
        "folders": recorded.get("folders", folders),
        "events": sorted(entries),
        "hooks": sorted(set(hooks)),
        "since": before.get("since") or clock.iso(clock.now()),
    }
    installed.add(home, "hooks", path, details)
    return report


def uninstall(home: Home, path: str) -> dict[str, Any]:
    """Take every hook of ours out of ``path``; a file that is not there has none. Raises BadInput.

    A file that the installation made goes, too, if nothing else is in it.
    """
    report: dict[str, Any] = {"file": path, "changed": False, "events": [], "backup": None}
    record = installed.read(home)["hooks"].get(path, {})
    if exists(path):
        report = _edit(home, path, {})
    if record.get("made") and (settings_file.read(path) or "").strip() == "{}":
        os.unlink(realpath(path))
        settings_file.remove_folders(record.get("folders") or [])
    installed.drop(home, "hooks", path)
    return report


def status(home: Home, paths: Iterable[str], environ: Mapping[str, str]) -> dict[str, Any]:
    """Return {"files", "last_fired", "off"} for ``paths`` and every settings file that has hooks by the record.

    A file has {"file", "recorded", "since", "events", "problems", "installed"}, and ``gone`` (True) if the program of
    a hook is no longer where the hook says. ``since`` is the time of the
    installation (ISO 8601), None if the record has none. ``last_fired`` is the time of a hook's newest telemetry row,
    None if there is no such row. ``off`` is the kill switch.
    """
    recorded = installed.read(home)["hooks"]
    files = [_state(path, recorded.get(path), home.root) for path in dict.fromkeys([*recorded, *paths])]
    row = telemetry.last(home, "hook")
    return {"files": files, "last_fired": row["ts"] if row else None, "off": bool(silenced(environ))}


def events_of(path: str) -> list[str]:
    """Return the events of a settings file that run a hook of ours; [] if there are none, or it is not settings."""
    return list(_state(path, None)["events"])


def _state(path: str, record: Mapping[str, Any] | None, root: str = "") -> dict[str, Any]:
    state: dict[str, Any] = {"file": path, "recorded": record is not None, "events": [], "problems": []}
    state["since"] = (record or {}).get("since")
    try:
        data = read_or_none(path)
        text = "{}" if data is None else data.decode("utf-8-sig")
        spans = hook_edit.ours(text, _SHAPE)
        found = [(event, json.loads(text[span.start : span.end])) for event, span in spans]
    except (OSError, ValueError, RecursionError) as error:
        state["problems"].append(f"not readable as settings: {error}")
        return state
    state["events"] = sorted({event for event, _ in found})
    if found and json.loads(text).get("disableAllHooks") is True:
        state["problems"].append("disableAllHooks is set: Claude Code runs none of them")
    for command in sorted({str(entry.get("command")) for _, entry in found}):
        missing = missing_program(command)
        if missing:
            state["gone"] = True
            state["problems"].append(f"{missing} is not there any more")
        # A home that was moved took its record along; another home's hooks take the place of this one's.
        if record is not None and realpath(other := program.home_of(command)) != realpath(root):
            state["problems"].append(f"its hooks run for another home: {other}")
    gone = sorted(set((record or {}).get("events", ())) - set(state["events"]))
    if gone:
        state["problems"].append(f"installed once, gone now: {', '.join(gone)}")
    state["installed"] = bool(found)
    return state


def missing_program(command: str) -> str:
    """Return the first absolute path of a shell line that is no file, "" if each of them is."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return next((word for word in words if word.startswith("/") and "=" not in word and not isfile(word)), "")


def _edit(home: Home, path: str, entries: Mapping[str, dict[str, Any]], *, dry_run: bool = False) -> dict[str, Any]:
    changed = False

    def edit(before: str | None) -> str:
        nonlocal changed
        text = "{}\n" if before is None else before
        try:
            after = hook_edit.with_entries(text, entries, _SHAPE)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{path} cannot be edited: {error}", "repair it by hand; nothing was changed") from None
        changed = before is None or after != before
        return after

    backup = None
    if dry_run:
        edit(settings_file.read(path))
    else:
        backup = settings_file.change(home, path, edit)
    return {"file": path, "changed": changed, "events": sorted(entries), "backup": backup}
