"""The installations outside the home: still there, unchanged, and firing."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

import apsw

from core import clock
from core.config import machine_of
from core.errors import BrainError
from core.files import read_or_none
from core.processes import child
from ops.checks.finding import CheckContext, Finding
from ops.install import hooks, installed, installing, skills, wired_files
from ops.install.agents import BY_NAME, SKILLS
from qmd.index import catalogue
from runtime.explaining.installation import claude_folder
from runtime.hooks.hooks import SOURCE as HOOKED
from runtime.resident import control

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_QUIET_DAYS = 7.0
_STARTING_S = 1.0
_COMMAND_S = 20.0


def record(context: CheckContext) -> Iterator[Finding]:
    """The record of installations can be read."""
    try:
        installed.read(context.home)
    except BrainError as error:
        yield Finding("installed", "error", error.message, error.fix)


def hooks_fire(context: CheckContext) -> Iterator[Finding]:
    """Hooks that were installed are in force, run a program that exists, and fire in sessions (`hook_days`)."""
    try:
        found = hooks.status(context.home, [], context.environ)
    except BrainError:
        return  # reported by ``record``
    for file in found["files"]:
        for problem in file["problems"]:
            yield Finding("hooks", "warning", f"{file['file']}: {problem}", "brain hooks install")
        # A hook misses no session that ended before the hook was installed.
        since = max(file["since"] or "", found["last_fired"] or "")
        quiet = clock.DAY * context.threshold("hook_days", _QUIET_DAYS)
        if _newest_session(context, _project(context, file["file"])) > (clock.parse_iso(since) or 0) + quiet:
            said = f"sessions go on, and no hook of {file['file']} has fired since {since or 'they were installed'}"
            yield Finding("hooks-silent", "warning", said, "brain hooks status; brain hooks install")


def skills_current(context: CheckContext) -> Iterator[Finding]:
    """Installed skills are there and up to date."""
    try:
        recorded = installed.read(context.home)["skills"]
        if not recorded:
            return
        found = skills.status(context.home, skills.folder(context.environ))
    except (BrainError, OSError):
        return  # reported by ``record``
    for skill in found:
        if skill["state"] in ("missing", "outdated"):
            path = skill["path"]
            fix = skills.install_command(context.environ, path, recorded.get(path), force=False)
            yield Finding(f"skill:{skill['name']}", "notice", f"{path} is {skill['state']}", fix)


def skills_run(context: CheckContext) -> Iterator[Finding]:
    """Each command that an installed skill names runs from an empty environment, as an agent may start it."""
    try:
        recorded = installed.read(context.home)["skills"]
        found = skills.status(context.home, skills.folder(context.environ))
    except (BrainError, OSError):
        return  # reported by ``record``
    naming: dict[str, list[dict[str, Any]]] = {}
    for skill in found:
        if skill["state"] not in ("missing", "not installed"):
            for command in skills.commands(read_or_none(skill["path"]) or b""):
                naming.setdefault(command, []).append(skill)
    for command, chosen in naming.items():
        if why := _why_not(f"{command} --version"):
            more = f" and {len(chosen) - 1} more" if len(chosen) > 1 else ""
            said = f"{chosen[0]['path']}{more} names `{command}`, which an agent cannot run: {why}"
            edited = any(skill["state"] == "edited" for skill in chosen)
            # Skills lie in a folder for each kind of agent, and one command writes one folder.
            fixes = dict.fromkeys(
                skills.install_command(context.environ, path, recorded.get(path), force=edited)
                for path in (skill["path"] for skill in chosen)
            )
            yield Finding("skills-run", "warning", said, "; ".join(fixes))


def agents_wired(context: CheckContext) -> Iterator[Finding]:
    """Each agent that was wired has its entries, skills and hooks still, and they name this installation."""
    try:
        record = installed.read(context.home)["files"]
        parts = [part for details in record.values() for part in wired_files.parts_of(details)]
        names = dict.fromkeys(part.agent for part in parts if part.agent in BY_NAME)
        found = installing.status(context.home, [BY_NAME[name] for name in names], context.environ)
    except (BrainError, OSError, KeyError, TypeError):
        return  # reported by ``record``
    for agent in found:
        bad = [row for row in agent["wired"] if row["kind"] != SKILLS and row["outcome"] in installing.BAD]
        if bad:
            more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
            said = f"{agent['title']}: {bad[0]['path']}{more}: {bad[0].get('why') or bad[0]['outcome']}"
            force = " --force" * any(row["outcome"] in ("edited", "foreign") for row in bad)
            yield Finding(f"agent:{agent['name']}", "notice", said, f"brain install {agent['name']}{force}")


def agents_run(context: CheckContext) -> Iterator[Finding]:
    """Each command that a wired file runs starts from an empty environment; a server is started as it is written."""
    try:
        commands = installing.commands(context.home)
    except (BrainError, OSError, KeyError, TypeError):
        return  # reported by ``record``
    # Hooks are asked for their help: a real run would be a row of telemetry that no agent caused.
    lines = {command if command.endswith(" mcp") else f"{command} --help": command for command in commands}
    for line, command in lines.items():
        if why := _why_not(line):
            more = f" and {len(commands[command]) - 1} more" if len(commands[command]) > 1 else ""
            said = f"{commands[command][0]}{more} runs `{command}`, which fails in an empty environment: {why}"
            yield Finding("agents-run", "warning", said, "brain install --auto")


def _why_not(line: str) -> str:
    """Return the error of a shell line that runs from an empty environment, "" for none."""
    done = child.run(["/bin/sh", "-c", line], timeout_s=_COMMAND_S, environ={}, folder="/")
    if done.timed_out:
        return f"it did not end within {_COMMAND_S:g} s"
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return (lines[-1] if lines else f"exit code {done.code}") if done.code else ""


def schedule(context: CheckContext) -> Iterator[Finding]:
    """Installed jobs are loaded, and their last run succeeded."""
    for job in context.report.get("schedule", {}).get("jobs", ()):
        if "error" in job:
            yield Finding("schedule", "warning", f"{job['file']}: {job['error']}", "brain schedule install")
        elif job["loaded"] is False:
            yield Finding("schedule", "warning", f"{job['name']} is installed but not loaded", "brain schedule install")
        elif job["last_exit"] and job["last_exit"] not in (1, 67) and "doctor" not in job["name"]:
            yield Finding(
                "schedule", "warning", f"{job['name']} ended with {job['last_exit']}", "brain schedule status"
            )
    try:
        recorded = installed.read(context.home)["schedules"]
    except BrainError:
        return
    gone = [path for path in recorded if path.startswith("/") and not os.path.exists(path)]
    if gone:
        yield Finding("schedule", "warning", f"installed once, gone now: {gone[0]}", "brain schedule install")


def completions(context: CheckContext) -> Iterator[Finding]:
    """The shell completion is where it was installed."""
    try:
        recorded = installed.read(context.home)["completions"]
    except BrainError:
        return  # reported by ``record``
    for path, details in recorded.items():
        if not os.path.exists(path):
            fix = f"brain completion install {details.get('shell') or ''}".rstrip()
            yield Finding("completion", "notice", f"{path} was installed, and is gone", fix)


def watch(context: CheckContext) -> Iterator[Finding]:
    """A process watches this home if the configuration asks for that, and its runs succeed."""

    wanted = False
    with contextlib.suppress(BrainError):  # an invalid configuration is a finding of its own
        wanted = context.config.section("serve").get("watch") is True
    found = control.status(context.home)
    if not found["running"] and found["pid"] is not None:  # it may be starting
        time.sleep(_STARTING_S)
        found = control.status(context.home)
    role = (found.get("roles") or {}).get("watch") or {}
    if not found["running"] and found["pid"] is not None:
        said = f"process {found['pid']} serves this home and does not answer"
        yield Finding("resident", "warning", said, "brain serve --stop")
    elif wanted and not role.get("watching"):
        said = f"{context.config.path} says that this home is watched, and nobody watches it"
        yield Finding("watch", "notice", said, "brain watch --start")
    for name, each in (found.get("roles") or {}).items():
        if fault := each.get("fault"):
            said = f"process {found['pid']}: {name} failed at {fault['at']}: {fault['message']}"
            yield Finding("resident-role", "warning", said, "brain serve --stop")
    for folder, why in (role.get("problems") or {}).items():
        said = f"{folder} cannot be watched: {why}; it is looked at every 15 minutes"
        yield Finding("watch-folder", "notice", said, "raise fs.inotify.max_user_watches")
    last = role.get("last")
    if last and last["exit_code"] not in (0, 70) and last["exit_code"] > 0:
        said = f"while watching, brain {last['command']} ended with {last['exit_code']} at {last['ended']}"
        yield Finding("watch-run", "warning", said, f"brain {last['command']}")


def _project(context: CheckContext, settings: str) -> str:
    """Return the project of a settings file, "" if the file is the user's or lies in no ``.claude`` folder."""
    folder = os.path.dirname(settings)
    is_project = os.path.basename(folder) == ".claude" and folder != claude_folder(context.environ)
    return os.path.dirname(folder) if is_project else ""


def _newest_session(context: CheckContext, project: str) -> int:
    """Return when the newest session of Claude Code on this machine ended (epoch seconds), 0 if there is none.

    Args:
        project: an absolute folder; only sessions of this folder and of folders below count. "" for all sessions.
    """

    if not context.has_index:
        return 0
    try:
        for _, _, path, _, _, ended, _, source, folder in catalogue.walk(context.index, ("source", "project")):
            mine = source == HOOKED and ended <= context.now and not machine_of(path)
            if mine and (not project or f"{folder or ''}/".startswith(f"{project}/")):
                return int(ended)
    except (BrainError, apsw.Error):
        pass  # reported by the check of the index
    return 0


CHECKS = (
    record,
    hooks_fire,
    skills_current,
    skills_run,
    agents_wired,
    agents_run,
    schedule,
    completions,
    watch,
)
