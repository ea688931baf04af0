"""Processes of our own: an arm or an index run in a process of its own, so that its memory and faults are its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import Internal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = str(Path(__file__).resolve().parent.parent.parent)
_WORKER = "import sys; sys.path.insert(0, sys.argv.pop(1)); from evals.arms.worker import main; main()"
PROGRAM = "import sys; sys.path.insert(0, sys.argv.pop(1)); import brain; brain.entry()"


def environment(home: str, scratch: bool = True) -> dict[str, str]:
    """This process's variables, with ``home`` as the brain; of a ``scratch`` home nothing else is the user's."""
    environ = {**os.environ, "BRAIN_HOME": home, "BRAIN_SURFACE": "terminal"}
    for name in ("BRAIN_INBOX_DIR", "BRAIN_QMD"):
        if scratch:
            environ.pop(name, None)
    if scratch:
        environ.update(TZ="UTC", CLAUDE_CONFIG_DIR=os.path.join(home, "none"))
    return environ


def work(job: Mapping[str, Any], environ: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Run ``evals.arms.worker`` on ``job``; yields what it says, a value a line, as it says it.

    Raises Internal where it ends otherwise than well. Leaving the iteration early ends the process.
    """
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as given:
        given.write(json.dumps(job).encode())
        given.seek(0)
        child = subprocess.Popen(  # noqa: S603  # this program, arguments of our own
            [sys.executable, "-P", "-c", _WORKER, ROOT],
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=said,
            env=dict(environ),
        )
        assert child.stdout is not None
        try:
            for line in child.stdout:
                if line.endswith(b"\n"):
                    yield json.loads(line)
            code = child.wait()
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
            child.stdout.close()
        if code:
            said.seek(0)
            last = said.read()[-2000:].decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise Internal(f"evaluating {job.get('arm') or job['op']} ended with {code}: {last}", "run it again")


def program(words: list[str], environ: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    """``brain`` with ``words``, a whole process."""
    return subprocess.run(  # noqa: S603  # this program, arguments of our own
        [sys.executable, "-P", "-c", PROGRAM, ROOT, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=dict(environ),
        check=False,
    )
