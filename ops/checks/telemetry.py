"""The behavioural ledger: whole rows, private, and still being written."""

from __future__ import annotations

import os
import stat
from shlex import quote
from typing import TYPE_CHECKING

from core import telemetry
from ops.checks.finding import CheckContext, Finding
from ops.stats import stats

if TYPE_CHECKING:
    from collections.abc import Iterator


def rows(context: CheckContext) -> Iterator[Finding]:
    """Every line of the ledger, of what was rotated out of it, and of what other machines sent is one row."""
    aside = f"{context.home.usage.removesuffix('.jsonl')}.torn"
    for path in telemetry.ledgers(context.home):
        try:
            torn = _torn(path)
        except OSError as error:
            yield Finding("telemetry", "error", f"cannot read {path}: {error.strerror}", f"ls -l {quote(path)}")
            continue
        if torn:
            yield Finding(
                "telemetry-torn",
                "warning",
                _said(path, torn),
                "brain doctor --fix  (moves them to usage.torn)",
                lambda path=path: _set_aside(path, aside),  # type: ignore[misc]
            )
    for name, path in stats.machines(context.home).items():
        try:
            torn = _torn(path)
        except OSError as error:
            yield Finding("telemetry", "error", f"cannot read {path}: {error.strerror}", f"ls -l {quote(path)}")
            continue
        if torn:  # a copy: the repaired file comes with the next synchronisation
            there = f"brain doctor --fix; brain sync  (on {name})"
            yield Finding("telemetry-torn-elsewhere", "notice", _said(path, torn), there)


def _torn(path: str) -> list[int]:
    """The numbers of the lines that are no rows; none of a file that is not there. Raises OSError."""
    try:
        stream = open(path, "rb")  # noqa: SIM115  # closed below
    except FileNotFoundError:
        return []
    with stream:
        return [number for number, line in enumerate(stream, 1) if line.strip() and not _is_row(line)]


def _is_row(line: bytes) -> bool:
    row = telemetry.row_of(line)
    return row is not None and "surface" in row


def _said(path: str, torn: list[int]) -> str:
    return f"{len(torn)} lines of {path} are no rows (line {', '.join(map(str, torn[:5]))})"


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
    """Move the torn lines out under the writers' own lock: nothing that is appended meanwhile is lost."""
    import fcntl

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
        # In place, since writers hold the file open by its name: first the shorter text, then the new end.
        stream.seek(0)
        stream.writelines(good)
        stream.truncate()
        stream.flush()
        os.fsync(stream.fileno())
    return f"moved {len(bad)} torn lines to {aside}"


CHECKS = (rows, mode)
