"""The findings of the doctor where somebody sees them: telemetry, the logs, and a notification."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import sys
import time
from os.path import join
from typing import TYPE_CHECKING, Any

from core import clock, redaction, telemetry
from core.config import load
from core.errors import BrainError
from core.files import read_or_none, write_atomic
from core.home import make_private
from core.processes.child import run
from core.text import one_line
from ops.checks.finding import FAILING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.home import Home

_LOG_EVIDENCE, _LOG_FIX = 1500, 500
# Evidence has no two spaces in a row, so they tell where it ends.
_FIX = "  fix: "
_DAY = 86_400
# A finding as ``report`` logs it, and how much of the log holds the last examination.
_LOGGED = re.compile(rf"(?P<at>\S+) (?P<severity>error|warning) (?P<id>\S+): (?P<evidence>.*?){_FIX}(?P<fix>.*)")
_TAIL_BYTES = 256 * 1024
_TIMEOUT_S = 5.0


def report(home: Home, environ: Mapping[str, str], surface: str, envelope: Mapping[str, Any]) -> None:
    """Record an examination in telemetry, and its failures in the logs and a notification.

    The same finding notifies once a day. Raises nothing: each place works without the others.
    """
    # Logs keep the evidence, and a path may hold a secret: redact it.
    envelope = redaction.shown_value(dict(envelope))
    failures = [finding["id"] for finding in envelope["findings"] if finding["severity"] in FAILING]
    telemetry.record(
        home, "doctor_run", surface, latency_ms=envelope["took_ms"], exit_code=int(bool(failures)), failures=failures
    )
    stamp = clock.iso(clock.now())
    lines = [f"{stamp} {_logged(finding)}" for finding in envelope["findings"] if finding["severity"] in FAILING] or [
        f"{stamp} healthy: {envelope['checks']} checks"
    ]
    for path in (join(home.logs, "doctor.log"), _second_log(home)):
        if path:
            _append(path, lines)
    fresh = _not_reported_today(home, failures) if failures and os.path.isdir(home.state) else []
    if fresh:
        worst = next(finding for finding in envelope["findings"] if finding["id"] == fresh[0])
        more = f" (and {len(fresh) - 1} more)" if len(fresh) > 1 else ""
        notify("Brain", one_line(f"{worst['evidence']}{more}", 200), environ)


def _logged(finding: Mapping[str, Any]) -> str:
    """Return a finding as one line that ``_LOGGED`` reads."""
    said = one_line(f"{finding['severity']} {finding['id']}: {finding['evidence']}", _LOG_EVIDENCE)
    return f"{said}{_FIX}{one_line(finding['fix'], _LOG_FIX)}"


def last_report(home: Home) -> dict[str, Any]:
    """Return the failures that the last examination logged: ``at`` (UTC, None if there was none) and ``findings``.

    Each finding has ``severity``, ``id``, ``evidence`` and ``fix``. Notices are not logged.
    """
    try:
        with open(join(home.logs, "doctor.log"), "rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - _TAIL_BYTES))
            lines = stream.read().decode("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    stamp = lines[-1].partition(" ")[0] if lines else None
    matches = [_LOGGED.match(line) for line in lines]
    # The last line says whether the last examination found anything: another one may have ended in the same second.
    found = [match for match in matches if match and match["at"] == stamp] if matches and matches[-1] else []
    return {"at": stamp, "findings": [match.groupdict() | {"at": stamp} for match in found]}


def _second_log(home: Home) -> str:
    try:
        path = load(home).section("doctor").get("log")
    except BrainError:
        return ""  # an invalid configuration is a finding already
    return os.path.expanduser(path) if isinstance(path, str) else ""


def _append(path: str, lines: list[str]) -> None:
    """Append to a log of ours, mode 0600; a link or another user's file in its place is left alone."""
    try:
        make_private(os.path.dirname(path))
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(path, flags, 0o600)
        with open(descriptor, "a", encoding="utf-8", errors="backslashreplace") as stream:
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid():
                os.fchmod(descriptor, 0o600)
                stream.write("".join(f"{line}\n" for line in lines))
    except (OSError, BrainError):
        return  # a full disk, a link: the exit code and the other places still report the findings


def _not_reported_today(home: Home, failures: list[str]) -> list[str]:
    path = join(home.state, "doctor.json")
    now = time.time()
    try:
        found = json.loads(read_or_none(path) or b"{}")
        reported = {name: float(at) for name, at in found.items() if now - float(at) < _DAY}
    except (OSError, ValueError, TypeError, AttributeError):
        reported = {}
    fresh = [name for name in failures if name not in reported]
    try:
        write_atomic(path, json.dumps({**reported, **dict.fromkeys(fresh, now)}).encode())
    except OSError:
        return []  # without this memory, an hourly doctor would notify every hour
    return fresh


def notification(title: str, text: str, platform: str = sys.platform) -> list[str]:
    """Return the command that shows a notification, [] if there is no program for it.

    The texts are arguments of the script: a file's name must not become a command.
    """
    if platform == "darwin":
        script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"
        return ["/usr/bin/osascript", "-e", script, title, text]
    found = shutil.which("notify-send")
    return [found, "--app-name=brain", "--", title, text] if found else []


def notify(title: str, text: str, environ: Mapping[str, str]) -> bool:
    """Show a desktop notification; return True if a program took it. ``BRAIN_NOTIFY=off`` shows none."""
    argv = notification(title, text)
    if not argv or environ.get("BRAIN_NOTIFY") == "off":
        return False

    try:
        done = run(argv, timeout_s=_TIMEOUT_S, environ=dict(environ))
    except OSError:
        return False
    return done.code == 0 and not done.timed_out
