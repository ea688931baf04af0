"""The telemetry: every line a row, private; and the verdict of the acceptance gate on each week."""

from __future__ import annotations

import fcntl
import os
import stat
from shlex import quote
from typing import TYPE_CHECKING

from core import telemetry
from core.errors import BrainError
from ops.checks.finding import CheckContext, Finding
from ops.stats import acceptance, stats

if TYPE_CHECKING:
    from collections.abc import Iterator


def rows(context: CheckContext) -> Iterator[Finding]:
    """Every line of the telemetry is one row, in rotated files and in those of other machines, too."""
    aside = f"{context.home.usage.removesuffix('.jsonl')}.torn"
    own = [("", path) for path in telemetry.ledgers(context.home)]
    for machine, path in (*own, *stats.machines(context.home).items()):
        try:
            torn = _torn(path)
        except OSError as error:
            yield Finding("telemetry", "error", f"cannot read {path}: {error.strerror}", f"ls -l {quote(path)}")
            continue
        if not torn:
            continue
        said = f"{len(torn)} lines of {path} are no rows (line {', '.join(map(str, torn[:5]))})"
        if machine:  # a copy: the repaired file comes with the next synchronisation
            fix = f"brain doctor --fix; brain sync  (on {machine})"
            yield Finding("telemetry-torn-elsewhere", "notice", said, fix)
        else:
            fix = "brain doctor --fix  (moves them to usage.torn)"
            yield Finding("telemetry-torn", "warning", said, fix, lambda path=path: _set_aside(path, aside))  # type: ignore[misc]


def _torn(path: str) -> list[int]:
    """Return the numbers of the lines that are no rows; [] for a missing file. Raises OSError."""
    try:
        stream = open(path, "rb")  # noqa: SIM115  # closed below
    except FileNotFoundError:
        return []
    with stream:
        return [number for number, line in enumerate(stream, 1) if line.strip() and not _is_row(line)]


def _is_row(line: bytes) -> bool:
    row = telemetry.row_of(line)
    return row is not None and "surface" in row


def mode(context: CheckContext) -> Iterator[Finding]:
    """usage.jsonl has mode 0600."""
    path = context.home.usage
    try:
        found = stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return
    if found != 0o600:
        yield Finding(
            "telemetry-mode",
            "warning",
            f"{path} has mode {found:04o}",
            f"chmod 600 {quote(path)}",
            lambda: _private(path),
        )


def _private(path: str) -> str:
    os.chmod(path, 0o600)
    return f"{path} has mode 0600 now"


def _set_aside(path: str, aside: str) -> str:
    """Move the torn lines out under the writers' lock, so that no appended row is lost."""

    with open(path, "rb+") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        lines = stream.readlines()
        ended = [line if line.endswith(b"\n") else line + b"\n" for line in lines]
        bad = [line for line in ended if line.strip() and not _is_row(line)]
        good = [line for line in ended if not line.strip() or _is_row(line)]
        descriptor = os.open(aside, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with open(descriptor, "ab") as kept:
            kept.writelines(bad)
            kept.flush()
            os.fsync(kept.fileno())
        # Rewrite in place, since writers hold the file open: first the shorter text, then the new end.
        stream.seek(0)
        stream.writelines(good)
        stream.truncate()
        stream.flush()
        os.fsync(stream.fileno())
    return f"moved {len(bad)} torn lines to {aside}"


def gate(context: CheckContext) -> Iterator[Finding]:
    """Every week that is over has its verdict; a negative one is shown until the next."""
    home = context.home
    try:
        for week in acceptance.owed(home, context.now):
            acceptance.judge(home, week, now=context.now)
        weeks = acceptance.verdicts(home)
        latest = acceptance.verdict(home, weeks[-1]) if weeks else None
    except (BrainError, OSError) as error:
        fix = (error.fix if isinstance(error, BrainError) else "") or "brain acceptance"
        yield Finding("acceptance", "warning", f"the week cannot be judged: {error}", fix)
        return
    if latest is not None and latest["verdict"] != acceptance.CONTINUE:
        failed = [each["id"] for each in latest["criteria"] if each["met"] is False]
        failed = failed or [f"{name} not measured" for name in latest.get("unmeasured") or ()]
        yield Finding(
            f"acceptance:{latest['verdict']}",
            "notice",
            f"the verdict on week {latest['week']} is {latest['verdict']}: {', '.join(failed)}",
            f"brain acceptance --week {latest['week']}",
        )
    elif latest is not None and latest.get("conditional"):
        yield Finding(
            "acceptance:unmeasured",
            "notice",
            f"the verdict on week {latest['week']} is conditional: recall was not measured",
            "brain eval build && brain eval run",
        )


CHECKS = (rows, mode, gate)
