"""A scheduled run of one job: one at a time, when it is due, expensive steps not on the battery.

The last run of each job is kept in ``state/schedule.json``, the output of its steps in ``logs/schedule.log``.
"""

from __future__ import annotations

import json
import os
import time
from os.path import expanduser, isdir, join
from typing import TYPE_CHECKING, Any

from core import clock
from core.errors import INTERNAL, LOCKED, OK, TIMEOUT, BrainError, EngineMissing, LockContention
from core.files import FileLock, read_or_none, write_atomic
from core.home import PRIVATE_FILE, make_private
from core.processes import child
from core.processes.speed import on_battery
from core.text import one_line
from ops.install import program
from ops.schedule.files import Setting, command_line
from ops.schedule.jobs import FINDINGS, Job, Step, due

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.home import Home

# Set by the user's `brain schedule run`: run although it is not due, and on the battery.
NOW = "_BRAIN_SCHEDULE_NOW"
# The PATH that launchd, systemd and cron give a job: they read no shell profile.
_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
_LOG_BYTES = 1 << 20
_LINE = 300
_LOCK_WAIT_S = 10
# Tries while another run holds the lock: each one waits, and a daily job cannot wait for tomorrow.
_TRIES = 3
_FULL_S = 4 * 3600


def read(home: Home) -> dict[str, dict[str, Any]]:
    """Job → {"started", "ended", "exit_code", "outcome", "steps", "deferred"}; a damaged file says nothing."""
    try:
        found = json.loads(read_or_none(_state(home)) or b"{}")
    except ValueError:
        return {}  # the next run writes it again
    return {str(name): run for name, run in found.items() if isinstance(run, dict)} if isinstance(found, dict) else {}


def started(run: Mapping[str, Any] | None) -> float | None:
    """When a run of ``read`` began (epoch seconds), None if none is known."""
    return clock.parse_iso(str(run.get("started") or "")) if run else None


def scheduled(home: Home, job: Job, environ: Mapping[str, str]) -> dict[str, Any]:
    """Run a job for the scheduler; return {"job", "outcome", "exit_code", "steps", "deferred"}.

    ``outcome``: done, failed, deferred (every step waits for the power line), not due, overlap. Raises EngineMissing
    where the home has gone: a scheduled job never makes one.
    """
    if not isdir(home.root):
        raise EngineMissing(f"the home is not there: {home.root}", "brain init, or brain schedule uninstall")
    try:
        with FileLock(join(home.state, f"schedule-{job.name}.lock"), 0):
            return _run(home, job, environ)
    except LockContention:
        return _outcome(job, "overlap", OK)


def by_hand(job: Job, where: Setting) -> dict[str, Any]:
    """Run ``job`` by its exact command line, in an environment as empty as the scheduler's.

    Returns {"job", "command", "exit_code", "output"} (output: the end of it, both streams). Raises OSError.
    """
    words = command_line(job, where)
    environ = {"PATH": _PATH, "HOME": expanduser("~"), **where.environment, NOW: "1"}
    done = child.run(words, timeout_s=_FULL_S, environ=environ, folder="/")
    said = (done.stdout + done.stderr).decode("utf-8", "replace")
    code = TIMEOUT if done.timed_out else done.code
    return {"job": job.name, "command": words, "exit_code": code, "output": said[-20_000:]}


def _run(home: Home, job: Job, environ: Mapping[str, str]) -> dict[str, Any]:
    now = time.time()
    anyway = bool(environ.get(NOW))
    if not anyway and not due(job, started(read(home).get(job.name)), now):
        return _outcome(job, "not due", OK)
    saving = not anyway and on_battery()
    steps = [step for step in job.steps if step.cheap or not saving]
    deferred = [_said(step) for step in job.steps if step not in steps]
    if not steps:
        return _outcome(job, "deferred", OK, deferred=deferred)
    passed_on = {name: value for name, value in environ.items() if name != NOW}
    done = [_step(home, job, step, passed_on) for step in steps]
    bad = next((step["exit_code"] for step in done if not step["fine"]), None)
    findings = any(step["exit_code"] == FINDINGS for step in done)
    code = bad if bad is not None else FINDINGS if findings else OK
    report = _outcome(job, "done" if bad is None else "failed", code, done, deferred)
    entry = {**report, "started": clock.iso(now), "ended": clock.iso(time.time())}
    with FileLock(join(home.state, "schedule.lock"), _LOCK_WAIT_S):
        write_atomic(_state(home), json.dumps({**read(home), job.name: entry}, ensure_ascii=False, indent=1).encode())
    return report


def _step(home: Home, job: Job, step: Step, environ: Mapping[str, str]) -> dict[str, Any]:
    began = time.perf_counter()
    code, said = LOCKED, ""
    for _ in range(_TRIES):
        if code != LOCKED:
            break
        try:
            done = child.run(
                [*program.command(), *step.words], timeout_s=step.timeout_s, environ=environ, folder=home.root
            )
            code = TIMEOUT if done.timed_out else done.code
            said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
        except OSError as error:
            code, said = INTERNAL, f"cannot be started: {error.strerror}"
    took = round(time.perf_counter() - began, 1)
    fine = code in step.fine
    _log(home, f"{clock.iso(time.time())} {job.name}: {_said(step)}: {code} in {took} s", said)
    line = one_line(said.splitlines()[-1] if said else "", _LINE)
    return {"command": _said(step), "exit_code": code, "fine": fine, "took_s": took, "said": line}


def _said(step: Step) -> str:
    return "brain " + " ".join(step.words)


def _outcome(
    job: Job,
    outcome: str,
    code: int,
    steps: list[dict[str, Any]] | None = None,
    deferred: list[str] | None = None,
) -> dict[str, Any]:
    return {
        "job": job.name,
        "outcome": outcome,
        "exit_code": code,
        "steps": steps or [],
        "deferred": deferred or [],
    }


def _state(home: Home) -> str:
    return join(home.state, "schedule.json")


def _log(home: Home, head: str, said: str) -> None:
    """Append to the log, mode 0600; above a megabyte it replaces the previous log."""
    path = join(home.logs, "schedule.log")
    try:
        make_private(home.logs)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE_FILE)
        with open(descriptor, "a", encoding="utf-8", errors="backslashreplace") as stream:
            indented = "".join(f"  {line}\n" for line in said.splitlines()[-50:])
            stream.write(f"{head}\n{indented}")
            size = stream.tell()
        if size > _LOG_BYTES:
            os.replace(path, f"{path}.1")
    except (OSError, BrainError):
        return  # a full disk must not keep a job from running; its exit code is in the state, or in telemetry
