"""One process, timed whole: from before it is spawned until it has been waited for."""

from __future__ import annotations

import compileall
import functools
import json
import math
import os
import sys
import tempfile
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


# A program's peak memory is never less than what the process held that starts it (exec(2) hands it on): a small
# process is between the benchmark and each program. It writes seconds, cpu seconds, peak and status to descriptor 3.
_STARTER = """
import os, sys, time
os.set_inheritable(3, False)
count = int(sys.argv[1])
argv, environ = sys.argv[2 + count :], dict(pair.split("=", 1) for pair in sys.argv[2 : 2 + count])
started = time.perf_counter()
child = os.posix_spawn(argv[0], argv, environ)
_, status, usage = os.wait4(child, 0)
wall = time.perf_counter() - started
os.write(3, f"{wall} {usage.ru_utime + usage.ru_stime} {usage.ru_maxrss} {status}".encode())
"""


def run(
    argv: Sequence[str], environ: dict[str, str], ok: tuple[int, ...] = (0,), stdin: Path | str = os.devnull
) -> Run:
    """Run ``argv`` in the checkout, with the file ``stdin`` as its input, and account for it.

    Raises Failed where it ends with a code not in ``ok``.

    stdout goes to a file: a pipe would make the child wait for its reader.
    """
    pairs = [f"{name}={value}" for name, value in environ.items()]
    starter = [sys.executable, "-I", "-S", "-c", _STARTER, str(len(pairs)), *pairs, *argv]
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        tempfile.TemporaryFile() as figures,
        open(stdin, "rb") as given,
    ):
        ends = [(os.POSIX_SPAWN_DUP2, end.fileno(), number) for number, end in enumerate((given, out, err, figures))]
        os.waitpid(os.posix_spawn(starter[0], starter, environ, file_actions=ends), 0)
        out.seek(0)
        err.seek(0)
        figures.seek(0)
        output, said, found = out.read(), err.read(), figures.read().split()
    code = os.waitstatus_to_exitcode(int(found[3])) if found else None
    if code is None or code not in ok:
        message = (said or output).decode("utf-8", "replace").strip()
        raise Failed(f"`{' '.join(argv[1:])[:200]}` ended with {code}: {message[-2000:]}")
    return Run(float(found[0]), float(found[1]), int(found[2]) * _RSS_UNIT, code, output)


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
