"""``brain install``: the agents on this machine, wired with what each of them can take, by the table of agents.

Three mechanisms share the work: settings files (``wired_files``), skills, and Claude Code's hooks. Each keeps its own
record, so that status, the doctor and teardown find all of it.
"""

from __future__ import annotations

import os
import shutil
from functools import partial
from os.path import dirname, expanduser, realpath
from shlex import join, quote
from typing import TYPE_CHECKING, Any

from core.errors import BadInput, BrainError
from ops.install import agents, forms, hooks, installed, parts, program, settings_file, skills, wired_files
from ops.install.agents import AGENTS, BY_NAME, Agent, Wiring
from ops.install.forms import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from core.home import Home

_CLAUDE_HOOKS = tuple(hooks.HOOKS)
_LAUNCHER = "~/.local/bin/brain"
_PROGRAM_MODE = 0o755
# What a wiring can be found as, from good to bad: the first line of an agent says the worst.
BAD = ("failed", "foreign", wired_files.EDITED, wired_files.MISSING, "outdated", "gone")


def chosen(names: Iterable[str], environ: Mapping[str, str], *, everything: bool = False) -> list[Agent]:
    """Return the named agents; without names those on this machine, or all. Raises BadInput for an unknown name."""
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in BY_NAME:
            raise BadInput(f"there is no agent {name!r}", f"one of: {', '.join(BY_NAME)}")
    if wanted:
        return [BY_NAME[name] for name in wanted]
    return [agent for agent in AGENTS if everything or agents.is_here(agent, environ)]


def install(
    home: Home, which: Iterable[Agent], environ: Mapping[str, str], *, force: bool = False, dry_run: bool = False
) -> dict[str, Any]:
    """Wire agents and return {"agents", "launcher"}; a failure of one wiring is in its report and stops no other.

    ``dry_run`` writes nothing and reports what would become of each.
    """
    report = []
    for agent in which:
        rows = []
        settled: dict[str, list[wired_files.Outcome]] = {}  # one file may hold several things, put there at once
        for wiring in agent.wirings:
            for path in agents.targets(wiring, environ):
                act = _installer(home, agent, wiring, path, environ, settled, force=force, dry_run=dry_run)
                rows.append(_attempt(wiring, path, act))
        report.append({**_head(agent, environ), "wired": rows})
    return {"agents": report, "launcher": launcher(home, environ, dry_run=dry_run, force=force)}


def uninstall(home: Home, names: Iterable[str], environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Take agents' wirings out, those of every agent without names; return the rows of what was done."""
    named = {agent.name for agent in chosen(names, environ, everything=True)}
    is_all = not list(names)
    rows: list[dict[str, Any]] = []
    record = installed.read(home)
    folders: set[str] = set()
    for path, details in record["files"].items():
        old = wired_files.parts_of(details)
        folders.update(details.get("folders") or ())
        left = [] if is_all else [part for part in old if part.agent not in named]
        if len(left) < len(old):
            kinds = ", ".join(dict.fromkeys(part.kind for part in old if part not in left))
            rows.append(_taken(kinds, path, partial(_settled, home, path, left)))
    for folder in dict.fromkeys(dirname(dirname(path)) for path in record["skills"]):
        users = _users(record, folder)
        if users and (is_all or users & named):
            rows.append(_taken(agents.SKILLS, folder, partial(_leave, home, folder, named)))
    # One file's record has the folder that several files lie in.
    settings_file.remove_folders(sorted(folders, key=len))
    if "claude" in named:
        path = hooks.settings_path(environ)
        if path in record["hooks"]:
            rows.append(_taken(agents.RECALL, path, partial(_unhooked, home, path)))
    return rows


def status(home: Home, which: Iterable[Agent], environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the agents with the state of each wiring: current, outdated, edited, missing, foreign, gone, absent.

    ``gone`` means that the program of an entry is no longer where the entry says.
    """
    record = installed.read(home)
    report = []
    for agent in which:
        rows = []
        for wiring in agent.wirings:
            for path in agents.targets(wiring, environ):
                act = partial(_state, home, agent, wiring, path, record)
                rows.append(_attempt(wiring, path, act))
        report.append({**_head(agent, environ), "wired": rows})
    return report


def commands(home: Home) -> dict[str, list[str]]:
    """Return the shell lines that wired files run → the files, for the doctor: each is tried as it is written."""
    found: dict[str, list[str]] = {}
    for path, details in installed.read(home)["files"].items():
        for part in wired_files.parts_of(details):
            for command in _commands(part):
                found.setdefault(command, []).append(path)
    return found


def launcher(home: Home, environ: Mapping[str, str], *, dry_run: bool = False, force: bool = False) -> dict[str, Any]:
    """Put ``brain`` on the PATH of shells, where nothing else has the name; return {"path", "outcome", "on_path"}."""
    part = _launcher_part(home)

    def act(path: str) -> str:
        done = wired_files.settle(home, path, [part], force=force, dry_run=dry_run, mode=_PROGRAM_MODE)
        return done[0].outcome

    return _launched(home, environ, act, same="unchanged", force=force)


def launcher_status(home: Home, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return {"path", "outcome", "on_path"} of ``brain`` for shells, with the states that ``status`` names."""
    part = _launcher_part(home)
    files = installed.read(home)["files"]
    return _launched(home, environ, lambda path: _state_of_part(path, part, files.get(path)), same=forms.SAME)


def _launched(
    home: Home, environ: Mapping[str, str], act: Callable[[str], str], *, same: str, force: bool = False
) -> dict[str, Any]:
    """Return the report of a ``brain`` that is not ours to write, else of what ``act`` does or finds.

    ``same`` is the outcome if this very program has the name already.
    """
    path = expanduser(_LAUNCHER)
    search = environ.get("PATH") or os.defpath
    on_path = dirname(path) in search.split(os.pathsep)
    own = realpath(program.command()[0])
    there = "" if path in installed.read(home)["files"] else shutil.which("brain", path=search)
    if there and realpath(there) == own:
        return {"path": there, "outcome": same, "on_path": True}
    if realpath(path) == own:
        return {"path": path, "outcome": same, "on_path": on_path}
    if there and realpath(there) != realpath(path) and not force:
        return {"path": there, "outcome": forms.FOREIGN, "on_path": True}
    try:
        return {"path": path, "outcome": act(path), "on_path": on_path}
    except (BrainError, OSError) as error:
        return {"path": path, "outcome": "failed", "why": str(error), "on_path": False}


def _launcher_part(home: Home) -> Part:
    exports = "".join(f"export {name}={quote(value)}\n" for name, value in program.environment(home).items())
    text = f"#!/bin/sh\n# Written by `brain install`, taken back by `brain uninstall`.\n{exports}"
    text += f'exec {join(program.command())} "$@"\n'
    return Part("launcher", "launcher", "file", (), text)


def _installer(
    home: Home,
    agent: Agent,
    wiring: Wiring,
    path: str,
    environ: Mapping[str, str],
    settled: dict[str, list[wired_files.Outcome]],
    *,
    force: bool,
    dry_run: bool,
) -> Callable[[], str]:
    """Return the function that does one wiring and returns its outcome."""
    if wiring.form == "skills":
        return partial(_skilled, home, agent, path, force=force, dry_run=dry_run)
    if wiring.form == "claude":
        return partial(_hooked, home, path, dry_run=dry_run)

    def act() -> str:
        if path not in settled:
            record = installed.read(home)["files"].get(path)
            own = [
                parts.part(home, agent, each)
                for each in agent.wirings
                if each.form in forms.FORMS and path in agents.targets(each, environ)
            ]
            others = [part for part in wired_files.parts_of(record) if part.agent != agent.name] if record else []
            settled[path] = wired_files.settle(home, path, [*others, *own], force=force, dry_run=dry_run)
        own_key = (agent.name, wiring.kind)
        return next(each.outcome for each in settled[path] if (each.part.agent, each.part.kind) == own_key)

    return act


def _skilled(home: Home, agent: Agent, folder: str, *, force: bool, dry_run: bool) -> str:
    is_open = agent.name != "claude"
    done = skills.install(home, folder, {}, agents=is_open, force=force, user=agent.name, dry_run=dry_run)
    outcomes = {each["outcome"] for each in done}
    return next((name for name in ("kept", "installed") if name in outcomes), "unchanged").replace("installed", "wired")


def _hooked(home: Home, path: str, *, dry_run: bool) -> str:
    return "wired" if hooks.install(home, path, _CLAUDE_HOOKS, dry_run=dry_run)["changed"] else "unchanged"


def _unhooked(home: Home, path: str) -> str:
    return "removed" if hooks.uninstall(home, path)["changed"] else "unchanged"


def _users(record: Mapping[str, Any], folder: str) -> set[str]:
    return {
        user
        for path, details in record["skills"].items()
        if dirname(dirname(path)) == folder
        for user in details.get("users") or ()
    }


def _leave(home: Home, folder: str, named: set[str]) -> str:
    done = skills.leave(home, folder, named)
    return next((name for name in ("kept", "removed") if name in done), "unchanged")


def _state(home: Home, agent: Agent, wiring: Wiring, path: str, record: Mapping[str, Any]) -> str:
    if wiring.form == "skills":
        states = [each["state"] for each in skills.status(home, path) if dirname(dirname(each["path"])) == path]
        worst = next((name for name in ("missing", "edited", "outdated", "current") if name in states), "absent")
        return "absent" if set(states) == {"not installed"} else worst
    if wiring.form == "claude":
        found = next(file for file in hooks.status(home, [path], {})["files"] if file["file"] == path)
        if found["problems"]:
            return "gone" if found.get("gone") else wired_files.MISSING
        if not found["installed"]:
            return forms.ABSENT
        # `brain hooks install` leaves the choice of hooks to the user.
        names = record["hooks"].get(path, {}).get("hooks") or _CLAUDE_HOOKS
        return forms.OTHER if hooks.install(home, path, names, dry_run=True)["changed"] else forms.SAME
    return _state_of_part(path, parts.part(home, agent, wiring), record["files"].get(path))


def _state_of_part(path: str, part: Part, recorded: Mapping[str, Any] | None) -> str:
    state = wired_files.state(path, part, recorded)
    if state in ("current", "outdated") and recorded:
        old = [each for each in wired_files.parts_of(recorded) if (each.agent, each.kind) == (part.agent, part.kind)]
        if any(hooks.missing_program(command) for each in old for command in _commands(each)):
            return "gone"
    return state


def _commands(part: Part) -> list[str]:
    """Return the shell lines that start a program in a part's value."""
    value = part.value["entries"] if part.form == "hooks" else part.value
    return list(dict.fromkeys(forms.command_lines(value)))


def _attempt(wiring: Wiring, path: str, act: Callable[[], str]) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": wiring.kind, "path": path}
    try:
        return {**row, "outcome": act()}
    except (BrainError, OSError) as error:
        return {**row, "outcome": "failed", "why": str(error), "fix": getattr(error, "fix", "")}


def _taken(kind: str, path: str, act: Callable[[], str]) -> dict[str, Any]:
    return _attempt(Wiring(kind, path, ""), path, act)


def _settled(home: Home, path: str, left: list[Part]) -> str:
    found = [each.outcome for each in wired_files.settle(home, path, left)]
    return next((name for name in (wired_files.EDITED, forms.FOREIGN, "removed") if name in found), "unchanged")


def _head(agent: Agent, environ: Mapping[str, str]) -> dict[str, Any]:
    found = agents.is_here(agent, environ)
    return {"name": agent.name, "title": agent.title, "found": found, "lacks": agent.lacks, "then": agent.then}
