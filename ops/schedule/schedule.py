"""Installation, state and removal of the jobs in this machine's scheduler."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from os.path import join
from typing import TYPE_CHECKING, Any

from core import clock, telemetry
from core.errors import EngineMissing, Internal
from core.files import read_or_none, write_atomic
from ops.install import installed
from ops.schedule import files as schedule_files
from ops.schedule import run as schedule_run
from ops.schedule.jobs import Job, every_job, upcoming
from runtime.explaining import installation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.home import Home
    from ops.schedule.files import Setting

KIND = "schedules"
CRONTAB = "crontab"
_TIMEOUT_S = 15
# launchd removes a job with a delay; until then it accepts no new one of that name.
_TRIES = 5


def detect() -> str:
    """Return the scheduler of this machine: launchd, systemd where the user has a manager that answers, else cron."""
    if sys.platform == "darwin":
        return "launchd"
    return "systemd" if _ask(["systemctl", "--user", "show-environment"])[0] == 0 else "cron"


def chosen(names: Sequence[str]) -> tuple[Job, ...]:
    """Return the jobs of those names in the table's order, all for none. Raises BadInput."""
    from ops.schedule.jobs import job

    wanted = [job(name) for name in names]
    return tuple(each for each in every_job() if not wanted or each in wanted)


def files(scheduler: str, jobs: Sequence[Job], where: Setting) -> list[dict[str, str]]:
    """Return the files that ``install`` writes: [{"path", "content"}]; cron's path is ``crontab``."""
    folder = schedule_files.folder(scheduler)
    made = schedule_files.files(scheduler, jobs, where)
    return [{"path": join(folder, name) if folder else name, "content": content} for name, content in made.items()]


def install(home: Home, scheduler: str, jobs: Sequence[Job], where: Setting) -> list[dict[str, Any]]:
    """Write the files, have the scheduler load them, and record them.

    Jobs of ours that are not among ``jobs`` are removed. Returns [{"path", "changed"}]. Raises Internal if the
    scheduler refuses, EngineMissing where there is none, OSError.
    """
    home.make()
    wanted = files(scheduler, jobs, where)
    paths = {file["path"] for file in wanted}
    stale = [path for path in _ours(home, where) if path not in paths]
    report = [{"path": path, "changed": True} for path in stale]
    _remove(home, stale, where)
    if scheduler == "cron":
        return [*report, _install_crontab(home, wanted[0]["content"], where)]
    changed = []
    for file in wanted:
        data = file["content"].encode()
        if read_or_none(file["path"]) != data:
            write_atomic(file["path"], data)
            changed.append(file["path"])
        installed.add(home, KIND, file["path"], {"scheduler": scheduler})
    if scheduler == "launchd":
        for job in jobs:
            _bootstrap(schedule_files.label(job, where), join(schedule_files.folder(scheduler), _plist(job, where)))
    else:
        _systemctl("daemon-reload")
        timers = [f"{schedule_files.unit(job, where)}.timer" for job in jobs]
        _systemctl("enable", "--now", *timers)
        if changed:
            _systemctl("restart", *timers)
    return report + [{"path": file["path"], "changed": file["path"] in changed} for file in wanted]


def uninstall(home: Home, where: Setting) -> list[dict[str, Any]]:
    """Unload and remove every job of this home; returns [{"path", "changed"}]. Raises OSError, Internal."""
    paths = _ours(home, where)
    _remove(home, paths, where)
    return [{"path": path, "changed": True} for path in paths]


def status(home: Home, scheduler: str, where: Setting) -> dict[str, Any]:
    """{"scheduler", "jobs": [{"name", "file", "installed", "current", "loaded", "running", "last_run", "last_exit",
    "last_outcome", "next_run", "problem"}]}.

    ``loaded``, ``last_exit``, and with systemd the runs, come from the scheduler, None if it does not answer; other
    runs come from the job's own record. Times are ISO 8601, UTC.
    """
    known = {job["file"]: job for job in installation.schedule()["jobs"] if job["file"] != "crontab -l"}
    runs = schedule_run.read(home)
    now = time.time()
    jobs = [_job(home, job, scheduler, where, known, runs.get(job.name), now) for job in every_job()]
    return {"scheduler": scheduler, "jobs": jobs}


def _job(
    home: Home,
    job: Job,
    scheduler: str,
    where: Setting,
    known: Mapping[str, dict[str, Any]],
    run: Mapping[str, Any] | None,
    now: float,
) -> dict[str, Any]:
    (path, content), *others = ((file["path"], file["content"]) for file in files(scheduler, [job], where))
    entry = path if scheduler != "systemd" else others[0][0]  # the timer starts a systemd job
    found: dict[str, Any] = dict(known.get(entry) or {})
    if scheduler == "cron":
        begin, end = schedule_files.marks(where)
        lines = _block(_crontab(), begin, end)
        line = content.splitlines()[1]
        # cron reports nothing of its jobs; a line of another version still starts the same job.
        installed_here = any(f" schedule run {job.name} " in each or each == line for each in lines)
        current = line in lines
        found = {"loaded": installed_here, "last_exit": (run or {}).get("exit_code")}
    else:
        installed_here = os.path.exists(entry)
        pairs = [(path, content), *others]
        current = all(read_or_none(each) == text.encode() for each, text in pairs)
    last = schedule_run.started(run) or (_last_doctor(home) if job.name == "doctor" else None)
    following = upcoming(job, now) if installed_here else None
    if scheduler == "systemd" and installed_here:
        name = schedule_files.unit(job, where)
        last = _systemd_time(name, "LastTriggerUSec") or last
        following = _systemd_time(name, "NextElapseUSecRealtime") or following
    problem = ""
    if "error" in found:
        problem = str(found["error"])
    elif installed_here and found.get("loaded") is False:
        problem = "installed, but the scheduler has not loaded it"
    elif installed_here and not current:
        problem = "not what this version installs"
    return {
        "name": job.name,
        "summary": job.summary,
        "file": entry,
        "installed": installed_here,
        "current": installed_here and current,
        "loaded": found.get("loaded"),
        "last_run": clock.iso(last) if last else None,
        "last_exit": found.get("last_exit"),
        "last_outcome": (run or {}).get("outcome"),
        "deferred": list((run or {}).get("deferred") or ()),
        "next_run": clock.iso(following) if following else None,
        "problem": problem,
    }


def _last_doctor(home: Home) -> float | None:
    """Return when the doctor last ran (epoch seconds), by telemetry: its script leaves no other trace."""
    row = telemetry.last(home, "doctor_run")
    return clock.parse_iso(row["ts"]) if row else None


def _ours(home: Home, where: Setting) -> list[str]:
    """Return every file of this home's jobs: the recorded ones, and those at the places of an installation."""
    recorded = list(installed.read(home)[KIND])
    present = [
        file["path"]
        for scheduler in ("launchd", "systemd")
        for file in files(scheduler, every_job(), where)
        if os.path.lexists(file["path"])
    ]
    begin, end = schedule_files.marks(where)
    if _block(_crontab(), begin, end):
        present.append(CRONTAB)
    return list(dict.fromkeys([*recorded, *present]))


def _remove(home: Home, paths: Sequence[str], where: Setting) -> None:
    reload = False
    for path in paths:
        name = os.path.basename(path)
        if path == CRONTAB:
            _write_crontab(_read_crontab(), where, "")
        else:
            if name.endswith(".plist"):
                _ask(["launchctl", "bootout", f"gui/{os.getuid()}/{name.removesuffix('.plist')}"])
            elif name.endswith(".timer"):
                _ask(["systemctl", "--user", "disable", "--now", name])
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            reload = reload or name.endswith((".timer", ".service"))
        installed.drop(home, KIND, path)
    if reload:
        _ask(["systemctl", "--user", "daemon-reload"])


def _bootstrap(label: str, path: str) -> None:
    domain = f"gui/{os.getuid()}"
    _ask(["launchctl", "bootout", f"{domain}/{label}"])
    _ask(["launchctl", "enable", f"{domain}/{label}"])
    said = ""
    for attempt in range(_TRIES):
        code, said = _ask(["launchctl", "bootstrap", domain, path])
        if code == 0:
            return
        time.sleep(0.2 * (attempt + 1))
    raise Internal(f"launchd does not take {path}: {said.strip()}", f"launchctl bootstrap {domain} {path}")


def _systemctl(*words: str) -> None:
    code, said = _ask(["systemctl", "--user", *words])
    if code:
        raise Internal(f"systemd refuses: {said.strip()}", f"systemctl --user {' '.join(words)}")


def _systemd_time(name: str, what: str) -> float | None:
    """Return a property of a timer, epoch seconds: systemd prints ``@seconds``, or nothing if it has none."""
    code, said = _ask(["systemctl", "--user", "show", "--timestamp=unix", f"--property={what}", f"{name}.timer"])
    value = said.strip().removeprefix(f"{what}=@")
    return float(value) if code == 0 and value.isdigit() else None


def _install_crontab(home: Home, fragment: str, where: Setting) -> dict[str, Any]:
    if shutil.which("crontab") is None:
        raise EngineMissing(
            "neither launchd, nor a systemd user manager, nor crontab is here",
            "brain schedule install --print shows what another scheduler needs",
        )
    before = _read_crontab()
    changed = "\n".join(_block(before, *schedule_files.marks(where))) != "\n".join(fragment.splitlines()[1:-1])
    if changed:
        _write_crontab(before, where, fragment)
    installed.add(home, KIND, CRONTAB, {"scheduler": "cron"})
    return {"path": CRONTAB, "changed": changed}


def _crontab() -> str:
    """Return the user's crontab for reading, "" if there is none or it cannot be read. It must not be written back."""
    try:
        return _read_crontab()
    except Internal:
        return ""


def _read_crontab() -> str:
    """Return the user's crontab, "" only if cron reports that there is none. Raises Internal if it cannot be read."""
    code, said, complaint = _cron("-l")
    if code == 0:
        return said
    if code == 1 and "no crontab for" in complaint:
        return ""
    raise Internal(f"the crontab cannot be read: {complaint.strip() or code}", "crontab -l")


def _cron(word: str, given: str = "") -> tuple[int | None, str, str]:
    """Return (exit code, output, complaint) of crontab; None if it is not there or does not answer. Any bytes pass."""
    try:
        done = subprocess.run(  # noqa: S603  # the user's own cron, no shell
            ["crontab", word],  # noqa: S607
            input=given.encode("utf-8", "surrogateescape"),
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, "", str(error)
    return done.returncode, done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode("utf-8", "replace")


def _block(text: str, begin: str, end: str) -> list[str]:
    """Return the lines between the marks; [] if they are not both there."""
    lines = text.splitlines()
    if begin not in lines or end not in lines[lines.index(begin) :]:
        return []
    first = lines.index(begin)
    return lines[first + 1 : lines.index(end, first)]


def _write_crontab(before: str, where: Setting, fragment: str) -> None:
    """Replace our fragment in ``before``, the crontab as it was read; other lines stay. Raises Internal."""
    begin, end = schedule_files.marks(where)
    lines = before.removesuffix("\n").split("\n") if before else []
    if begin in lines:
        first = lines.index(begin)
        last = lines.index(end, first) if end in lines[first:] else first
        lines[first : last + 1] = fragment.splitlines()
    else:
        lines += fragment.splitlines()
    code, _, complaint = _cron("-", "".join(f"{line}\n" for line in lines))
    if code != 0:
        raise Internal(f"crontab refuses: {complaint.strip() or code}", "crontab -e")


def _plist(job: Job, where: Setting) -> str:
    return f"{schedule_files.label(job, where)}.plist"


def _ask(words: list[str], streams: tuple[str, ...] = ("stdout", "stderr")) -> tuple[int | None, str]:
    """Return (exit code, what it said) of a scheduler's own tool; None if there is no such tool or
    it does not answer.
    """
    try:
        done = subprocess.run(  # noqa: S603  # fixed words and names, no shell
            words, capture_output=True, timeout=_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    return done.returncode, "".join(getattr(done, stream).decode("utf-8", "replace") for stream in streams)
