"""Installation of the skills where agents look for them, with the user's scopes, and their removal.

There are two forms: Claude Code's, with ``paths`` and ``when_to_use``; and the open one
(https://agentskills.io/specification) without them, for other agents that read ``~/.agents/skills``.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from os.path import basename, dirname, expanduser, isdir, join
from shlex import quote
from typing import TYPE_CHECKING, Any

from core.document import render, split
from core.errors import BadInput
from core.files import read_or_none, write_atomic
from core.home import shipped
from core.version import VERSION
from ops.install import installed, program, settings_file
from runtime.explaining.installation import ROOTED, claude_folder, scopes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from core.home import Home

FILE = "SKILL.md"
_PREFIX = "brain-"
# The open form limits a description to this many characters.
_OPEN_DESCRIPTION = 1024
_ANY = "**"
# A command in running text, in a fenced block or in a rule of ``allowed-tools``.
_COMMAND = re.compile(r"(?m)(?:^|(?<=`)|(?<=Bash\())brain (?=[a-z])")
_RULE = re.compile(r"Bash\((.*?\bbrain(?:\.py)?'?) [a-z]")


def names() -> list[str]:
    """Return the skills that ship with this version."""
    folder = shipped("skills")
    return sorted(name for name in os.listdir(folder) if os.path.isfile(join(folder, name, FILE)))


def folder(environ: Mapping[str, str], *, dest: str = "", agents: bool = False) -> str:
    """Return the folder for the skills: ``dest``, else that of other agents, else Claude Code's."""
    if dest:
        return os.path.abspath(expanduser(dest))
    return expanduser("~/.agents/skills") if agents else join(claude_folder(environ), "skills")


def install_command(environ: Mapping[str, str], path: str, record: Mapping[str, Any] | None, *, force: bool) -> str:
    """Return the command that writes the skill at ``path`` again where it is, in the form that ``record`` names."""
    where = dirname(dirname(path))
    agents = bool(record and record["agents"])
    dest = "" if where == folder(environ, agents=agents) else f" --dest {quote(where)}"
    return f"brain skills install{' --agents' * agents}{dest}{' --force' * force}"


def scopes(given: Iterable[str]) -> dict[str, list[str]]:
    """Skill → its globs, from ``NAME=GLOB`` (``ask=~/work/**``; an empty glob is everywhere). Raises BadInput."""
    found: dict[str, list[str]] = {}
    for text in given:
        name, equals, glob = text.partition("=")
        name = name if name.startswith(_PREFIX) else _PREFIX + name
        if not equals or name not in names():
            known = ", ".join(name.removeprefix(_PREFIX) for name in names())
            raise BadInput(f"--scope: expected NAME=GLOB, got {text!r}", f"--scope ask='~/work/**'; skills: {known}")
        globs = found.setdefault(name, [])
        if not _is_glob(glob):
            raise BadInput(f"--scope: {glob!r} has a bracket that nothing closes and would match nothing", "close it")
        if glob.strip():
            globs.append(glob.strip())
    return found


def _is_glob(text: str) -> bool:
    """Return True if every bracket and brace of a glob is closed; Claude Code ignores any other glob."""
    opened = ""
    for character in text:
        if opened == "[":
            opened = "" if character == "]" else opened
        elif character in "[{":
            if opened == "":
                opened = character
        elif character == "}":
            opened = ""
    return not opened


def content(name: str, scope: list[str] | None = None, *, agents: bool = False, command: str = "brain") -> bytes:
    """Return the bytes of a skill's file.

    Args:
        name: one of ``names()``.
        scope: globs that replace the skill's own, [] for everywhere, None to keep the skill's own.
        agents: make the open form instead of Claude Code's.
        command: what an agent's shell runs as ``brain``.
    """
    with open(join(shipped("skills"), name, FILE), encoding="utf-8") as stream:
        meta, body = split(stream.read())
    body = _COMMAND.sub(lambda _: f"{command} ", body)
    meta["allowed-tools"] = _COMMAND.sub(lambda _: f"{command} ", meta["allowed-tools"])
    if scope is not None:
        meta.pop("paths", None)
        if scope:
            meta["paths"] = scope
    if agents:
        when = meta.pop("when_to_use", "")
        where = meta.pop("paths", [])
        said = f"{meta['description']} {when}"
        if where:
            said += f" Only when working below {', '.join(where)}."
        meta["description"] = said[:_OPEN_DESCRIPTION]
    elif rooted := [glob for glob in meta.get("paths", []) if glob.startswith(ROOTED)]:
        meta["when_to_use"] = f"{meta.get('when_to_use', '')} Only when working below {', '.join(rooted)}.".strip()
        meta["paths"] = [*meta["paths"], _ANY]
    meta["metadata"] = {"version": VERSION, **({"paths": ", ".join(where)} if agents and where else {})}
    return render(meta, body)


def commands(data: bytes) -> list[str]:
    """Return what a skill's file runs as ``brain``, by the rules of its ``allowed-tools``; without repeats."""
    rules = _RULE.findall(str(split(data.decode("utf-8", "replace"))[0].get("allowed-tools", "")))
    return list(dict.fromkeys(rules))


def install(
    home: Home,
    where: str,
    given: Mapping[str, list[str]],
    *,
    agents: bool = False,
    force: bool = False,
    user: str = "",
    dry_run: bool = False,
) -> list[dict[str, Any]]:
    """Put every skill below ``where``; without ``force``, a skill that the user has edited stays.

    ``user`` is the agent for which ``brain install`` does it: several share a folder, and the last one takes it back.
    ``dry_run`` writes nothing and reports what would become of each skill.

    Returns for each {"name", "path", "outcome": installed | unchanged | kept, "scopes"}. Raises OSError.
    """
    recorded = installed.read(home)["skills"]
    command = program.agent_command(home)
    report = []
    for name in names():
        path = join(where, name, FILE)
        record = recorded.get(path)
        scope = given.get(name, record.get("scope") if record else None)
        data = content(name, scope, agents=agents, command=command)
        folders = (record or {}).get("folders") or settings_file.missing_folders(path)
        try:
            there = read_or_none(path)
        except (NotADirectoryError, IsADirectoryError):
            raise BadInput(f"there is no place for {path}", "name a folder with --dest") from None
        if there == data:
            outcome = "unchanged"
        elif there is not None and not force and (record is None or _digest(there) != record["sha256"]):
            outcome = "kept"
        else:
            outcome = "installed"
            if not dry_run:
                write_atomic(path, data)
        if outcome != "kept" and not dry_run:
            users = sorted({*(record or {}).get("users", ()), *filter(None, [user])})
            details = {"sha256": _digest(data), "scope": scope, "agents": agents, "users": users, "folders": folders}
            installed.add(home, "skills", path, details)
        report.append({"name": name, "path": path, "outcome": outcome, "scopes": scopes_of(split(data.decode())[0])})
    return report


def uninstall(home: Home, where: str, *, force: bool = False) -> list[dict[str, Any]]:
    """Remove the skills below ``where``; without ``force``, a skill that the user has edited stays."""
    report = []
    folders: set[str] = set()
    for path, record in installed.read(home)["skills"].items():
        if dirname(dirname(path)) != where:
            continue
        there = read_or_none(path)
        kept = there is not None and not force and _digest(there) != record["sha256"]
        if not kept:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            folders.update([dirname(path)], record.get("folders") or ())
            installed.drop(home, "skills", path)
        report.append({"name": basename(dirname(path)), "path": path, "outcome": "kept" if kept else "removed"})
    settings_file.remove_folders(sorted(folders))
    return report


def leave(home: Home, where: str, named: set[str]) -> set[str]:
    """Take agents out of the users of a folder, and its skills with the last one; return the outcomes."""
    left: set[str] = set()
    for path, record in installed.read(home)["skills"].items():
        if dirname(dirname(path)) == where:
            users = sorted({*record.get("users", ())} - named)
            left.update(users)
            installed.add(home, "skills", path, {**record, "users": users})
    return set() if left else {each["outcome"] for each in uninstall(home, where)}


def status(home: Home, where: str) -> list[dict[str, Any]]:
    """Return {"name", "path", "state", "scopes"} for each skill below ``where`` and each recorded one.

    ``state``: current, outdated (``brain skills install`` brings it up to date), edited (its user changed it), missing
    (it was installed and is gone), not installed.
    """
    recorded = installed.read(home)["skills"]
    command = program.agent_command(home)
    paths = dict.fromkeys([*recorded, *(join(where, name, FILE) for name in names())])
    return [
        {"name": basename(dirname(path)), "path": path, **_state(path, recorded.get(path), command)} for path in paths
    ]


def _state(path: str, record: Mapping[str, Any] | None, command: str) -> dict[str, Any]:
    name = basename(dirname(path))
    there = read_or_none(path)
    if there is None:
        return {"state": "missing" if record else "not installed", "scopes": []}
    scopes = scopes_of(split(there.decode("utf-8", "replace"))[0])
    if record is None or _digest(there) != record["sha256"]:
        return {"state": "edited", "scopes": scopes}
    known = isdir(join(shipped("skills"), name))
    current = known and content(name, record.get("scope"), agents=record["agents"], command=command) == there
    return {"state": "current" if current else "outdated", "scopes": scopes}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
