"""Claude Code's hooks: add ours to a settings file and remove them, without changing any other byte.

The vendor's form is: ``{"hooks": {EVENT: [{"hooks": [{"type": "command", "command": …}]}]}}``.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import time
from os.path import exists, expanduser, isfile, join, realpath
from typing import TYPE_CHECKING, Any

from core import clock, telemetry
from core.errors import BadInput, LockContention
from core.files import read_or_none, write_atomic
from ops.install import installed, json_edit, program
from runtime.explaining.installation import claude_folder, is_hook
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
# Seconds until Claude Code ends a hook: far above the duration of ours, far below a person's patience.
_TIMEOUT_S = 10
_RETRIES = 5


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


def settings_file(environ: Mapping[str, str], *, project: bool = False, file: str = "") -> str:
    """Return the settings file: ``file``, else the one of the project in the working directory, else the user's."""
    if file:
        return os.path.abspath(expanduser(file))
    if project:
        return join(os.getcwd(), ".claude", "settings.json")
    return join(claude_folder(environ), "settings.json")


def install(home: Home, path: str, hooks: Iterable[str]) -> dict[str, Any]:
    """Make ``path`` hold exactly ``hooks`` of ours; the former file is kept in ``state/backup``.

    Returns {"file", "changed", "events", "backup"}. Raises BadInput if the file is not one that can be edited.
    """
    entries = wanted(home, hooks)
    report = _edit(home, path, entries)
    before = {} if report["changed"] else installed.read(home)["hooks"].get(path, {})
    details = {
        "events": sorted(entries),
        "hooks": sorted(set(hooks)),
        "since": before.get("since") or clock.iso(clock.now()),
    }
    installed.add(home, "hooks", path, details)
    return report


def uninstall(home: Home, path: str) -> dict[str, Any]:
    """Take every hook of ours out of ``path``; a file that is not there has none. Raises BadInput."""
    report: dict[str, Any] = {"file": path, "changed": False, "events": [], "backup": None}
    if exists(path):
        report = _edit(home, path, {})
    installed.drop(home, "hooks", path)
    return report


def status(home: Home, paths: Iterable[str], environ: Mapping[str, str]) -> dict[str, Any]:
    """Return {"files", "last_fired", "off"} for ``paths`` and every settings file that has hooks by the record.

    A file has {"file", "recorded", "since", "events", "problems", "installed"}. ``since`` is the time of the
    installation (ISO 8601), None if the record has none. ``last_fired`` is the time of a hook's newest telemetry row,
    None if there is no such row. ``off`` is the kill switch.
    """
    recorded = installed.read(home)["hooks"]
    files = [_state(path, recorded.get(path)) for path in dict.fromkeys([*recorded, *paths])]
    row = telemetry.last(home, "hook")
    return {"files": files, "last_fired": row["ts"] if row else None, "off": bool(silenced(environ))}


def events_of(path: str) -> list[str]:
    """Return the events of a settings file that run a hook of ours; [] if there are none, or it is not settings."""
    return list(_state(path, None)["events"])


def _state(path: str, record: Mapping[str, Any] | None) -> dict[str, Any]:
    state: dict[str, Any] = {"file": path, "recorded": record is not None, "events": [], "problems": []}
    state["since"] = (record or {}).get("since")
    try:
        data = read_or_none(path)
        text = "{}" if data is None else data.decode("utf-8-sig")
        found = [(event, json.loads(text[span.start : span.end])) for event, span in _ours(text)]
    except (OSError, ValueError, RecursionError) as error:
        state["problems"].append(f"not readable as settings: {error}")
        return state
    state["events"] = sorted({event for event, _ in found})
    if found and json.loads(text).get("disableAllHooks") is True:
        state["problems"].append("disableAllHooks is set: Claude Code runs none of them")
    for command in sorted({str(entry.get("command")) for _, entry in found}):
        missing = _missing_program(command)
        if missing:
            state["problems"].append(f"{missing} is not there any more")
    gone = sorted(set((record or {}).get("events", ())) - set(state["events"]))
    if gone:
        state["problems"].append(f"installed once, gone now: {', '.join(gone)}")
    state["installed"] = bool(found)
    return state


def _missing_program(command: str) -> str:
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return next((word for word in words if word.startswith("/") and "=" not in word and not isfile(word)), "")


def _edit(home: Home, path: str, entries: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    target = realpath(path)  # settings are often a link into a repository of dotfiles: keep the link
    for _ in range(_RETRIES):
        before = _read(target)
        text = before.decode("utf-8") if before is not None else "{}\n"
        changed = _with(text, entries, path)
        events = sorted(entries)
        if before is not None and changed == text:
            return {"file": path, "changed": False, "events": events, "backup": None}
        backup = _keep(home, before)
        if _read(target) != before:
            continue  # another program wrote meanwhile: apply the change to its text
        mode = os.stat(target).st_mode & 0o777 if before is not None else 0o600
        write_atomic(target, changed.encode())
        os.chmod(target, mode)
        return {"file": path, "changed": True, "events": events, "backup": backup}
    raise LockContention(f"{path} is being written by another program", "close it, then run the command again")


def _read(path: str) -> bytes | None:
    try:
        data = read_or_none(path)
    except IsADirectoryError:
        raise BadInput(f"{path} is a folder", "name the settings file in it: --settings FILE") from None
    if data is not None:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            raise BadInput(f"{path} is not UTF-8", "repair it by hand; nothing was changed") from None
    return data


def _keep(home: Home, data: bytes | None) -> str | None:
    if data is None:
        return None
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    path = join(home.state, "backup", f"settings-{stamp}-{hashlib.sha256(data).hexdigest()[:8]}.json")
    write_atomic(path, data)
    return path


def _with(text: str, entries: Mapping[str, dict[str, Any]], path: str) -> str:
    """Return ``text`` with exactly ``entries`` as the hooks of ours. Raises BadInput if it has not
    the documented form.
    """
    try:
        present: dict[str, dict[str, Any]] = {}
        for event, span in reversed(_ours(text)):
            entry = json.loads(text[span.start : span.end])
            if event in entries and entries[event] == entry and event not in present:
                present[event] = entry
            else:
                text = _without(text, event, span.start)
        for event, entry in entries.items():
            if event not in present:
                text = _adding(text, event, entry)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} cannot be edited: {error}", "repair it by hand; nothing was changed") from None
    json.loads(text.removeprefix("\ufeff"))  # write JSON, or nothing
    return text


def _ours(text: str) -> list[tuple[str, json_edit.Span]]:
    """Return (event, where) of each hook entry of ours, in the order of the text. Raises ValueError."""
    return [
        (event, entry)
        for event, groups in _events(text).items()
        for group in json_edit.items(text, groups.value)
        if (hooks := _group(text, group).get("hooks")) is not None
        for entry in json_edit.items(text, hooks.value)
        if is_hook(json.loads(text[entry.start : entry.end]))
    ]


def _events(text: str) -> dict[str, json_edit.Span]:
    hooks = json_edit.members(text, _top(text)).get("hooks")
    return json_edit.members(text, hooks.value) if hooks else {}


def _group(text: str, span: json_edit.Span) -> dict[str, json_edit.Span]:
    return json_edit.members(text, span.value)


def _top(text: str) -> int:
    mark = len(text) - len(text.removeprefix("\ufeff"))
    return mark + json_edit.start(text[mark:])


def _adding(text: str, event: str, entry: dict[str, Any]) -> str:
    unit = json_edit.indentation(text)
    top = _top(text)
    members = json_edit.members(text, top)
    group = {**({"matcher": MATCHERS[event]} if event in MATCHERS else {}), "hooks": [entry]}
    if "hooks" not in members:
        addition = f'"hooks": {json_edit.dump({event: [group]}, unit)}'
        return json_edit.insert(text, top, list(members.values()), addition, 0)
    events = _events(text)
    if event not in events:
        addition = f"{json.dumps(event)}: {json_edit.dump([group], unit)}"
        return json_edit.insert(text, members["hooks"].value, list(events.values()), addition, 1)
    groups = json_edit.items(text, events[event].value)
    return json_edit.insert(text, events[event].value, groups, json_edit.dump(group, unit), 2)


def _without(text: str, event: str, start: int) -> str:
    """Return ``text`` without the hook entry that begins at ``start``, and without containers that become empty."""
    members = json_edit.members(text, _top(text))
    events = _events(text)
    groups = json_edit.items(text, events[event].value)
    at = next(index for index, group in enumerate(groups) if group.start <= start < group.end)
    entries = json_edit.items(text, _group(text, groups[at])["hooks"].value)
    if len(entries) > 1:
        return json_edit.remove(text, entries, [entry.start for entry in entries].index(start))
    if len(groups) > 1:
        return json_edit.remove(text, groups, at)
    if len(events) > 1:
        return json_edit.remove(text, list(events.values()), list(events).index(event))
    return json_edit.remove(text, list(members.values()), list(members).index("hooks"))
