"""The files for each scheduler, made from the table of jobs.

launchd.plist(5), systemd.timer(5) and crontab(5) are the formats. ``python -m ops.schedule.files`` writes the examples
in ``launchd/``.
"""

from __future__ import annotations

import hashlib
import os
import plistlib
import shlex
import sys
from dataclasses import dataclass, field
from os.path import expanduser, isfile, join
from typing import TYPE_CHECKING, Any

from core.errors import BadInput
from core.home import checkout
from ops.install import program
from ops.schedule.jobs import FINDINGS, Job, every_job

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from core.home import Home

_NICE = 10
# Variables that the program reads and a scheduler does not pass on.
_PASSED_ON = ("BRAIN_QMD", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
EXAMPLES = {"launchd": "launchd", "systemd": join("launchd", "systemd"), "cron": join("launchd", "crontab")}


@dataclass(frozen=True, slots=True)
class Setting:
    """How jobs are started here.

    ``command`` are the words that start brain; ``scripts`` is the folder of job scripts, "" for none. ``tag`` is a part
    of the jobs' names, so that two homes have different jobs; "" for the default home."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(hash=False)
    scripts: str = ""
    tag: str = ""


def setting(home: Home, environ: Mapping[str, str]) -> Setting:
    """Return the setting of the running brain on ``home``. Raises BadInput if a scheduler's file cannot hold a path."""
    variables = program.environment(home)
    tag = hashlib.sha256(home.root.encode()).hexdigest()[:8] if "BRAIN_HOME" in variables else ""
    variables |= {name: environ[name] for name in _PASSED_ON if environ.get(name)}
    if "BRAIN_QMD" in variables:
        variables["PATH"] = environ.get("PATH", os.defpath)  # another engine needs its own interpreter
    variables["BRAIN_SURFACE"] = "launchd"
    command = tuple(program.command())
    for text in (*command, *variables.values()):
        if any(ord(character) < 32 for character in text):
            raise BadInput(f"a scheduler's file cannot hold the path {text!r}", "move it to a folder with a plain name")
    root = checkout() or ""
    there = root and all(isfile(join(root, job.script)) for job in every_job() if job.script)
    return Setting(command, variables, root if there else "", tag)


def command_line(job: Job, where: Setting) -> list[str]:
    """Return the exact words by which a scheduler starts ``job``."""
    if where.scripts and job.script:
        return ["/bin/bash", join(where.scripts, job.script)]
    return [*where.command, "schedule", "run", job.name, "--scheduled"]


def label(job: Job, where: Setting) -> str:
    """Return the name of ``job`` to launchd."""
    return ".".join(["com.brain", *([where.tag] if where.tag else []), job.name])


def unit(job: Job, where: Setting) -> str:
    """Return the name of ``job`` to systemd, without its suffix."""
    return "-".join(["brain", *([where.tag] if where.tag else []), job.name])


def folder(scheduler: str) -> str:
    """Return where a scheduler of the user's reads its files; "" for cron, which has none."""
    if scheduler == "launchd":
        return expanduser("~/Library/LaunchAgents")
    if scheduler == "systemd":
        return join(expanduser(os.environ.get("XDG_CONFIG_HOME") or "~/.config"), "systemd", "user")
    return ""


def files(scheduler: str, jobs: Iterable[Job], where: Setting) -> dict[str, str]:
    """File name → content. cron's one is called ``crontab``, and is a fragment of the user's."""
    made: dict[str, str] = {}
    for job in jobs:
        if scheduler == "launchd":
            made[f"{label(job, where)}.plist"] = plist(job, where)
        elif scheduler == "systemd":
            made[f"{unit(job, where)}.service"] = service(job, where)
            made[f"{unit(job, where)}.timer"] = timer(job)
    if scheduler == "cron":
        made["crontab"] = crontab(jobs, where)
    return made


def plist(job: Job, where: Setting) -> str:
    """Return launchd's property list of ``job``.

    ``StartCalendarInterval`` runs a job that sleep missed once on waking (``StartInterval`` would not). ``RunAtLoad``
    runs a job that was missed while the machine was off; a run that is not due ends at once.
    """
    at: list[dict[str, int]] = [{"Minute": minute} for minute in job.minutes]
    if job.hour is not None:
        at = [{"Hour": job.hour, **each} for each in at]
    content: dict[str, Any] = {
        "Label": label(job, where),
        "ProgramArguments": command_line(job, where),
        "EnvironmentVariables": dict(where.environment),
        "StartCalendarInterval": at,
        "RunAtLoad": True,
        "ProcessType": "Background",
        "Nice": _NICE,
        "LowPriorityIO": True,
        "Umask": 0o077,
    }
    return plistlib.dumps(content, sort_keys=True).decode()


def service(job: Job, where: Setting) -> str:
    """Return systemd's service of ``job``."""
    variables = "".join(
        f"Environment={_quoted(f'{name}={value}')}\n" for name, value in sorted(where.environment.items())
    )
    words = " ".join(_quoted(word.replace("$", "$$")) for word in command_line(job, where))
    # A job with findings has not failed.
    success = "SuccessExitStatus=1\n" if any(FINDINGS in step.fine for step in job.steps) else ""
    return (
        f"[Unit]\nDescription=brain: {job.summary}\n\n"
        f"[Service]\nType=oneshot\nExecStart={words}\n{variables}{success}"
        f"Nice={_NICE}\nIOSchedulingClass=idle\nCPUSchedulingPolicy=batch\nUMask=0077\n"
    )


def timer(job: Job) -> str:
    """Return systemd's timer of ``job``. ``Persistent`` runs a job later that sleep or a
    switched-off machine missed.
    """
    hour = "*" if job.hour is None else f"{job.hour:02}"
    at = ",".join(f"{minute:02}" for minute in job.minutes)
    return (
        f"[Unit]\nDescription=brain: {job.summary}\n\n"
        f"[Timer]\nOnCalendar=*-*-* {hour}:{at}:00\nPersistent=true\nAccuracySec=1min\n\n"
        "[Install]\nWantedBy=timers.target\n"
    )


def crontab(jobs: Iterable[Job], where: Setting) -> str:
    """Return a fragment of a crontab, between two marks.

    cron runs no missed job later, so each job is called every hour and ends at once if no run is due.
    """
    variables = [f"{name}={shlex.quote(value)}" for name, value in sorted(where.environment.items())]
    lines = []
    for job in jobs:
        words = shlex.join(command_line(job, where))
        command = " ".join(["env", *variables, "nice", "-n", str(_NICE), words]).replace("%", "\\%")
        at = ",".join(map(str, job.minutes))
        lines.append(f"{at} * * * * {command} >/dev/null 2>&1")
    begin, end = marks(where)
    return "\n".join([begin, *lines, end, ""])


def marks(where: Setting) -> tuple[str, str]:
    """Return the lines before and after our fragment of a crontab."""
    name = f"brain {where.tag}".rstrip()
    return f"# {name}: begin (written by `brain schedule install`)", f"# {name}: end"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def examples() -> dict[str, str]:
    """Path in the repository → content: the files of an invented machine, for reading."""
    mac = Setting(("/Users/you/brain/.venv/bin/brain",), {"BRAIN_SURFACE": "launchd"}, "/Users/you/brain")
    linux = Setting(("/home/you/brain/.venv/bin/brain",), {"BRAIN_SURFACE": "launchd"}, "/home/you/brain")
    made: dict[str, str] = {}
    for scheduler, place in EXAMPLES.items():
        for name, content in files(scheduler, every_job(), mac if scheduler == "launchd" else linux).items():
            made[place if scheduler == "cron" else join(place, name)] = content
    return made


def main() -> int:
    """Write the examples into the checkout."""
    root = checkout()
    if root is None:
        sys.stderr.write("this is not a checkout\n")
        return 1
    for path, content in examples().items():
        os.makedirs(os.path.dirname(join(root, path)), exist_ok=True)
        with open(join(root, path), "w", encoding="utf-8") as stream:
            stream.write(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
