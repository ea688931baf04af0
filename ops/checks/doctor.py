"""The doctor: run every check, repair, and report the findings where somebody sees them."""

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
from core.child import run
from core.config import load
from core.errors import BrainError, from_os
from core.files import read_or_none, write_atomic
from core.home import make_private
from core.text import one_line
from ops.checks import archive, citations, engine, index, machine, recovery, sources, surfaces, usage
from ops.checks.finding import SEVERITIES, CheckContext, Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.home import Home
    from ops.checks.finding import Check

CHECKS: tuple[Check, ...] = (
    *engine.CHECKS,
    *machine.CHECKS,
    *usage.CHECKS,
    *index.CHECKS,
    *sources.CHECKS,
    *archive.CHECKS,
    *surfaces.CHECKS,
    *citations.CHECKS,
    *recovery.CHECKS,
)
# A notice is work that waits; it is shown, and the doctor is well.
_FAILING = frozenset(("error", "warning"))
_LOG_LINE = 2000
_DAY = 86_400
# A finding as ``report`` logs it, and how much of the log holds the last examination.
_LOGGED = re.compile(r"(?P<at>\S+) (?P<severity>error|warning) (?P<id>\S+): (?P<evidence>.*?)  fix: (?P<fix>.*)")
_TAIL_BYTES = 256 * 1024


def examine(
    home: Home,
    environ: Mapping[str, str],
    *,
    deep: bool = False,
    wedge: bool = True,
    fix: bool = False,
    accept_loss: bool = False,
    progress: Callable[[int, int, str], None] | None = None,
) -> dict[str, Any]:
    """Run every check and return the envelope of ``brain doctor``.

    ``healthy`` is false if an error or a warning is left. ``deep`` adds ``ops.checks.deep``; ``wedge`` adds
    ``ops.checks.wedge``, which runs the program on a scratch home. ``fix`` runs each safe repair and checks again.
    ``accept_loss`` accepts what the archive has lost for good. Raises nothing: a check that fails is a finding.
    """
    started = time.perf_counter()
    now = time.time()
    checks = list(CHECKS)
    if wedge:
        from ops.checks import wedge as contract

        checks += contract.CHECKS
    if deep:
        from ops.checks import deep as deeper

        checks += deeper.CHECKS
    findings, took = _round(home, environ, now, checks, deep, progress)
    repaired: list[dict[str, str]] = []
    if fix and any(finding.repair for finding in findings):
        repaired = [{"id": finding.id, "outcome": _repair(finding)} for finding in findings if finding.repair]
    if accept_loss:
        loss = Finding("archive-lost", "notice", "", "", lambda: archive.accept(home))
        repaired.append({"id": loss.id, "outcome": _repair(loss)})
    if repaired:
        findings, took = _round(home, environ, now, checks, deep, None)
    failures = [finding for finding in findings if finding.severity in _FAILING]
    return {
        "schema": 1,
        "ok": True,
        "healthy": not failures,
        "checks": len(checks),
        "findings": [finding.as_dict() for finding in findings],
        "mended": repaired,
        "slowest": {name: round(seconds * 1000) for name, seconds in took[:3]},
        "took_ms": round((time.perf_counter() - started) * 1000, 1),
    }


def report(home: Home, environ: Mapping[str, str], surface: str, envelope: Mapping[str, Any]) -> None:
    """Record an examination in telemetry, and its failures in the logs and a notification.

    The same finding notifies once a day. Raises nothing: each place works without the others.
    """
    # Logs keep the evidence, and a path may hold a secret: redact it.
    envelope = redaction.shown_value(dict(envelope))
    failures = [finding["id"] for finding in envelope["findings"] if finding["severity"] in _FAILING]
    telemetry.record(
        home, "doctor_run", surface, latency_ms=envelope["took_ms"], exit_code=int(bool(failures)), failures=failures
    )
    stamp = clock.iso(clock.now())
    lines = [
        one_line(
            f"{stamp} {finding['severity']} {finding['id']}: {finding['evidence']}  fix: {finding['fix']}", _LOG_LINE
        )
        for finding in envelope["findings"]
        if finding["severity"] in _FAILING
    ] or [f"{stamp} healthy: {envelope['checks']} checks"]
    for path in (join(home.logs, "doctor.log"), _second_log(home)):
        if path:
            _append(path, lines)
    fresh = _not_reported_today(home, failures) if failures and os.path.isdir(home.state) else []
    if fresh:
        worst = next(finding for finding in envelope["findings"] if finding["id"] == fresh[0])
        more = f" (and {len(fresh) - 1} more)" if len(fresh) > 1 else ""
        notify("Brain", one_line(f"{worst['evidence']}{more}", 200), environ)


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
    found = (match for line in lines if (match := _LOGGED.match(line)) and match["at"] == stamp)
    return {"at": stamp, "findings": [match.groupdict() | {"at": stamp} for match in found]}


def _round(
    home: Home,
    environ: Mapping[str, str],
    now: float,
    checks: list[Check],
    deep: bool,
    progress: Callable[[int, int, str], None] | None,
) -> tuple[list[Finding], list[tuple[str, float]]]:
    context = CheckContext(home, environ, now, deep=deep)
    found: list[Finding] = []
    took: list[tuple[str, float]] = []
    try:
        for number, check in enumerate(checks, 1):
            name = f"{check.__module__.rpartition('.')[2]}.{check.__name__}"
            began = time.perf_counter()
            try:
                found += check(context)
            except BrainError as error:
                found.append(Finding(name, "error", error.message, error.fix or "brain explain"))
            except Exception as error:  # noqa: BLE001  # one broken check must not hide what the others see
                if isinstance(error, OSError) and (known := from_os(error)):
                    found.append(Finding(name, "error", known.message, known.fix))
                    continue
                said = f"the check itself failed: {type(error).__name__}: {error}"
                found.append(Finding(name, "error", said, "report it"))
            took.append((name, time.perf_counter() - began))
            if progress is not None:
                progress(number, len(checks), f"checking: {name}")
    finally:
        context.close()
    found.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return list({(finding.id, finding.evidence): finding for finding in found}.values()), sorted(
        took, key=lambda each: -each[1]
    )


def _repair(finding: Finding) -> str:
    assert finding.repair is not None
    try:
        return finding.repair()
    except BrainError as error:
        return f"failed: {error.message}"
    except OSError as error:
        return f"failed: {from_os(error) or error}"
    except Exception as error:  # noqa: BLE001  # the other repairs must still run
        return f"failed: {type(error).__name__}: {error}"


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


_TIMEOUT_S = 5.0


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
