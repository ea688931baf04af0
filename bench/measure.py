"""One process, timed whole: from before it is spawned until it has been waited for."""

from __future__ import annotations

import compileall
import functools
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
DATA = ROOT / "bench" / "data"
NOWHERE = DATA / "no-sessions"

_ROOMS = ("core", "ingest", "qmd", "runtime", "web", "tui", "cli", "ops", "evals")
# ru_maxrss is in KiB on Linux, in bytes on macOS (getrusage(2)).
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


class Failed(Exception):
    """A measured process did not end as it must; its output says why."""


class Run(NamedTuple):
    """``wall_s`` and ``cpu_s`` (user + system) in seconds, ``peak`` resident memory in bytes, stdout in ``output``."""

    wall_s: float
    cpu_s: float
    peak: int
    code: int
    output: bytes

    def answer(self) -> Any:
        """The one JSON object that a command with ``--json`` printed. Raises ValueError where it is none."""
        return json.loads(self.output)


def run(
    argv: Sequence[str], environ: dict[str, str], ok: tuple[int, ...] = (0,), stdin: Path | str = os.devnull
) -> Run:
    """Run ``argv`` in the checkout, with the file ``stdin`` as its input, and account for it.

    Raises Failed where it ends with a code not in ``ok``.

    A child's peak memory is never less than this process's own was (exec(2) hands it on): each suite runs in a process
    of its own and keeps its data in files. stdout goes to a file too: a pipe would make the child wait for its reader.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, open(stdin, "rb") as given:
        ends = [
            (os.POSIX_SPAWN_DUP2, given.fileno(), 0),
            (os.POSIX_SPAWN_DUP2, out.fileno(), 1),
            (os.POSIX_SPAWN_DUP2, err.fileno(), 2),
        ]
        started = time.perf_counter()
        child = os.posix_spawn(argv[0], list(argv), environ, file_actions=ends)
        _, status, usage = os.wait4(child, 0)
        wall = time.perf_counter() - started
        code = os.waitstatus_to_exitcode(status)
        out.seek(0)
        output = out.read()
        if code not in ok:
            err.seek(0)
            said = (err.read() or output).decode("utf-8", "replace").strip()
            raise Failed(f"`{' '.join(argv[1:])[:200]}` ended with {code}: {said[-2000:]}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _RSS_UNIT, code, output)


def floor(environ: dict[str, str]) -> float:
    """Seconds that the same interpreter takes to do nothing: what no Python program can be faster than."""
    return run([sys.executable, "-c", "pass"], environ).wall_s


@functools.cache
def program() -> list[str]:
    """The argv that starts ``brain``: the installed script of this interpreter where it runs this checkout."""
    script = Path(sys.executable).with_name("brain")
    if os.access(script, os.X_OK):
        probe = [sys.executable, "-P", "-c", "import brain; print(brain.__file__)"]
        try:
            found = run(probe, environment(NOWHERE)).output.decode().strip()
        except Failed:
            found = ""
        if found and os.path.samefile(found, ROOT / "brain.py"):
            return [str(script)]
    return [sys.executable, "-c", "import brain; brain.entry()"]


def environment(home: Path) -> dict[str, str]:
    """A plain user's variables, whatever was set for this process; no sessions but those that are named."""
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    return {
        **kept,
        "HOME": str(DATA),
        "BRAIN_HOME": str(home),
        "BRAIN_SERVE": "off",
        "CLAUDE_CONFIG_DIR": str(NOWHERE),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }


def compile_checkout() -> None:
    """Byte-compile the checkout, so that no measured process has to.

    With PYTHONDONTWRITEBYTECODE set, or in a read-only checkout, every cold start would compile again.
    """
    for room in _ROOMS:
        compileall.compile_dir(str(ROOT / room), quiet=1)
    compileall.compile_file(str(ROOT / "brain.py"), quiet=1)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least ``share`` (0–1) of them do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]


def median(values: Sequence[float]) -> float:
    """The lower middle value."""
    return percentile(values, 0.5)


def relative(path: Path) -> str:
    """A path as it is written from the checkout."""
    return os.path.relpath(path, ROOT)
