"""The behavioural ledger: whole rows, private, and still being written."""

from __future__ import annotations

import json
import os
import stat
from shlex import quote
from typing import TYPE_CHECKING

from ops.finding import Finding, Patient

if TYPE_CHECKING:
    from collections.abc import Iterator

_NEEDED = ("ts", "event", "surface")


def rows(patient: Patient) -> Iterator[Finding]:
    """Every line of usage.jsonl is one row."""
    path = patient.home.usage
    torn: list[int] = []
    try:
        with open(path, "rb") as stream:
            for number, line in enumerate(stream, 1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                    sound = isinstance(row, dict) and all(name in row for name in _NEEDED)
                except (ValueError, RecursionError):
                    sound = False
                if not sound:
                    torn.append(number)
    except FileNotFoundError:
        return
    except OSError as error:
        yield Finding("telemetry", "error", f"cannot read {path}: {error.strerror}", f"ls -l {quote(path)}")
        return
    if torn:
        some = ", ".join(map(str, torn[:5]))
        yield Finding(
            "telemetry-torn",
            "warning",
            f"{len(torn)} lines of {path} are no rows (line {some})",
            "brain doctor --fix  (moves them to usage.torn)",
            lambda: _set_aside(path, set(torn)),
        )


def mode(patient: Patient) -> Iterator[Finding]:
    """usage.jsonl has mode 0600."""
    path = patient.home.usage
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


def _set_aside(path: str, torn: set[int]) -> str:
    """Move the torn lines out under the writers' own lock: nothing that is appended meanwhile is lost."""
    import fcntl

    aside = f"{path.removesuffix('.jsonl')}.torn"
    with open(path, "rb+") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        lines = stream.readlines()
        ended = [line if line.endswith(b"\n") else line + b"\n" for line in lines]
        bad = [line for number, line in enumerate(ended, 1) if number in torn]
        good = [line for number, line in enumerate(ended, 1) if number not in torn]
        descriptor = os.open(aside, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with open(descriptor, "ab") as kept:
            kept.writelines(bad)
            kept.flush()
            os.fsync(kept.fileno())
        # In place, since writers hold the file open by its name: first the shorter text, then the new end.
        stream.seek(0)
        stream.writelines(good)
        stream.truncate()
        stream.flush()
        os.fsync(stream.fileno())
    return f"moved {len(bad)} torn lines to {aside}"


CHECKS = (rows, mode)
