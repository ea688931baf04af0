"""What was installed outside the home: still there, as it was put there, and firing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from core.errors import BrainError
from ops import hooks, installed, skills
from ops.finding import Finding, Patient
from runtime.explain_surfaces import claude_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

_QUIET_DAYS = 7.0


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


CHECKS = (record, hooks_fire, skills_current, schedule)
