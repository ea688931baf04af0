"""What was installed outside the home: still there, as it was put there, and firing."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from core.errors import BrainError
from ops import hooks, installed, skills
from ops.finding import Finding, Patient
from runtime.explain_surfaces import claude_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

_QUIET_DAYS = 7.0
_STARTING_S = 1.0


def record(patient: Patient) -> Iterator[Finding]:
    """What was installed can be read."""
    try:
        installed.read(patient.home)
    except BrainError as error:
        yield Finding("installed", "error", error.message, error.fix)


def hooks_fire(patient: Patient) -> Iterator[Finding]:
    """Hooks that were installed are in force, run a program that exists, and fire while sessions go on."""
    try:
        found = hooks.status(patient.home, [], patient.environ)
    except BrainError:
        return  # said by the check of the record
    for file in found["files"]:
        for problem in file["problems"]:
            yield Finding("hooks", "warning", f"{file['file']}: {problem}", "brain hooks install")
    if not found["files"]:
        return
    newest = _newest_session(patient)
    fired = found["last_fired"]
    from core.clock import parse_iso

    last = parse_iso(fired) if fired else 0
    if newest and (last or 0) < newest - 86_400 * patient.threshold("hook_days", _QUIET_DAYS):
        yield Finding(
            "hooks-silent",
            "warning",
            f"hooks are installed, sessions go on, and no hook has fired since {fired or 'ever'}",
            "brain hooks status; brain hooks install",
        )


def skills_current(patient: Patient) -> Iterator[Finding]:
    """Skills that were installed are there and up to date."""
    try:
        if not installed.read(patient.home)["skills"]:
            return
        found = skills.status(patient.home, os.path.join(claude_folder(patient.environ), "skills"))
    except (BrainError, OSError):
        return  # said by the check of the record
    for skill in found:
        if skill["state"] in ("missing", "outdated"):
            yield Finding(
                f"skill:{skill['name']}", "notice", f"{skill['path']} is {skill['state']}", "brain skills install"
            )


def schedule(patient: Patient) -> Iterator[Finding]:
    """Jobs that were installed are loaded, and ended well when they last ran."""
    for job in patient.report.get("schedule", {}).get("jobs", ()):
        if "error" in job:
            yield Finding("schedule", "warning", f"{job['file']}: {job['error']}", "brain schedule install")
        elif job["loaded"] is False:
            yield Finding("schedule", "warning", f"{job['name']} is installed but not loaded", "brain schedule install")
        elif job["last_exit"] and job["last_exit"] not in (1, 67) and "doctor" not in job["name"]:
            yield Finding(
                "schedule", "warning", f"{job['name']} ended with {job['last_exit']}", "brain schedule status"
            )
    try:
        recorded = installed.read(patient.home)["schedules"]
    except BrainError:
        return
    gone = [path for path in recorded if path.startswith("/") and not os.path.exists(path)]
    if gone:
        yield Finding("schedule", "warning", f"installed once, gone now: {gone[0]}", "brain schedule install")


def completions(patient: Patient) -> Iterator[Finding]:
    """What completes brain in a shell is where it was put."""
    try:
        recorded = installed.read(patient.home)["completions"]
    except BrainError:
        return  # said by the check of the record
    for path, details in recorded.items():
        if not os.path.exists(path):
            fix = f"brain completion install {details.get('shell') or ''}".rstrip()
            yield Finding("completion", "notice", f"{path} was installed, and is gone", fix)


def watch(patient: Patient) -> Iterator[Finding]:
    """What was to be watched is, by a process that can and whose runs end well."""
    from runtime.resident import control

    wanted = False
    with contextlib.suppress(BrainError):  # an invalid configuration is a finding of its own
        wanted = patient.config.section("serve").get("watch") is True
    found = control.status(patient.home)
    if not found["running"] and found["pid"] is not None:  # it may be about to
        time.sleep(_STARTING_S)
        found = control.status(patient.home)
    role = (found.get("roles") or {}).get("watch") or {}
    if not found["running"] and found["pid"] is not None:
        said = f"process {found['pid']} serves this home and does not answer"
        yield Finding("resident", "warning", said, "brain serve --stop")
    elif wanted and not role.get("watching"):
        said = f"{patient.config.path} says that this home is watched, and nobody watches it"
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


def _newest_session(patient: Patient) -> int:
    import apsw

    if not patient.has_index:
        return 0
    try:
        row = patient.index.execute(
            "SELECT max(f.ended) FROM brain_facts f WHERE f.fields ->> '$.source' = 'claude'"
        ).fetchone()
    except (BrainError, apsw.Error):
        return 0  # said by the check of the index
    return int(row[0] or 0) if row else 0


CHECKS = (record, hooks_fire, skills_current, schedule, completions, watch)
