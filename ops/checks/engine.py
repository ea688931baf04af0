"""The program: it starts, its engine is whole, and its dependencies load."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from core.processes.child import run
from ops.checks.finding import CheckContext, Finding
from ops.install import program
from runtime.resident import starting

if TYPE_CHECKING:
    from collections.abc import Iterator

_TIMEOUT_S = 10.0


def engine(context: CheckContext) -> Iterator[Finding]:
    """SQLite with FTS5 and sqlite-vec load; a qmd that was named is there."""
    found = context.report["engine"]
    if "error" in found:
        yield Finding("engine", "error", str(found["error"]), str(found.get("fix") or "make venv"))
        return
    if found.get("fts5") is None:
        yield Finding("engine-fts5", "error", "this SQLite has no FTS5", "pip install --force-reinstall apsw")
    vec = found.get("sqlite_vec") or {}
    if "error" in vec or not vec.get("version"):
        message = str(vec.get("error") or "sqlite-vec is not installed")
        yield Finding("engine-vec", "error", message, "pip install --force-reinstall sqlite-vec")
    named = context.environ.get("BRAIN_QMD") or "builtin"
    if named != "builtin" and not shutil.which(named):
        yield Finding("engine-qmd", "error", f"BRAIN_QMD names {named}, which is no executable", "unset BRAIN_QMD")


def starts(context: CheckContext) -> Iterator[Finding]:
    """``brain --version`` runs, by the command line that hooks and schedules are given."""

    command = [*program.command(), "--version"]
    try:
        done = run(command, timeout_s=_TIMEOUT_S, environ=dict(context.environ))
    except OSError as error:
        yield Finding("start", "error", f"{command[0]}: {error.strerror}", "make venv")
        return
    if done.timed_out or done.code:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()[:1]
        why = "does not end" if done.timed_out else f"ends with {done.code}"
        yield Finding("start", "error", f"{' '.join(command)} {why}: {''.join(said)}", "make venv")


def processes(context: CheckContext) -> Iterator[Finding]:
    """No command of the brain runs for hours (`process_hours`)."""
    import psutil

    mine = os.getpid()
    for process in psutil.process_iter(["pid", "ppid", "cmdline", "create_time", "status"]):
        words = process.info["cmdline"] or []
        if process.info["pid"] == mine or process.info["status"] == psutil.STATUS_ZOMBIE:
            continue
        if not _is_ours(words, context.home.root, process):
            continue
        hours = (context.now - (process.info["create_time"] or context.now)) / 3600
        if hours > context.threshold("process_hours", 6):
            yield Finding(
                "process",
                "warning",
                f"process {process.info['pid']} ({' '.join(words[-3:])[:80]}) has been running for {hours:.0f} hours",
                f"kill {process.info['pid']}",
            )


_LASTING = frozenset(("serve", "watch", "mcp"))


def _is_ours(words: list[str], root: str, process: object) -> bool:
    """Return True if a command line runs a command on this home that should end by itself."""
    import psutil

    names = ["brain", *after] if (after := starting.words_after(words)) else [os.path.basename(word) for word in words]
    at = next((index for index, name in enumerate(names) if name in ("brain", "brain.py")), -1)
    if at < 0 or at + 1 >= len(names) or names[at + 1] in _LASTING or names[at + 1 : at + 3] == ["qmd", "mcp"]:
        return False
    try:
        environ = process.environ()  # type: ignore[attr-defined]
    except (psutil.Error, OSError):
        return False
    return os.path.realpath(environ.get("BRAIN_HOME") or os.path.expanduser("~/.brain")) == os.path.realpath(root)


CHECKS = (engine, starts, processes)
