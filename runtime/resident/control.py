"""Starting, finding and ending the resident process of a home, from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from os.path import abspath, dirname, join
from typing import TYPE_CHECKING, Any

from core.errors import EngineTimeout, Internal, LockContention, Refused
from core.files import read_or_none
from core.locks import FileLock
from runtime.resident import client

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.home import Home

_ROOT = dirname(dirname(dirname(abspath(__file__))))
_CODE = "import sys; sys.path.insert(0, sys.argv.pop(1)); import brain; brain.entry()"
_TRIED = "serve.tried"
# A process that could not be started is not started anew by each question.
_AGAIN_S = 60.0
_START_S = 20.0
_STOP_S = 6.0
_POLL_S = 0.05
# Giving up a watch ends its threads and the run that is under way, each of which has its time for that.
_PATIENCE_S = 40.0
# Who it is, it says at once: where it does not, it is not waited for as long as that.
_HUNG_S = 5.0


def status(home: Home, patience_s: float = 2.0) -> dict[str, Any]:
    """What the resident process says of itself; ``running`` false where there is none, or where it does not answer."""
    found = client.call(home, {"op": "status"}, patience_s)
    if found is not None and found.get("running") is True:
        return found
    pid = holder(home)
    return {"schema": 1, "ok": True, "running": False, "pid": pid, "socket": home.socket}


def holder(home: Home) -> int | None:
    """The pid of the process that serves this home, whether or not it answers; None where there is none."""
    path = join(home.state, "serve.lock")
    if not os.path.exists(path):
        return None
    try:
        with FileLock(path, wait_s=0.0):
            return None
    except LockContention:
        try:
            return int(read_or_none(join(home.state, "serve.pid")) or b"0")
        except ValueError:
            return 0


def command() -> list[str]:
    """The words that start brain as this process was: the same interpreter, the same code."""
    return [sys.executable, "-P", "-c", _CODE, _ROOT]


def words_after(line: Sequence[str]) -> list[str]:
    """What follows ``command()`` in another process's command line, nothing where that begins otherwise."""
    return list(line[5:]) if list(line[1:4]) == ["-P", "-c", _CODE] else []


def spawn(home: Home, environ: Mapping[str, str], options: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    """Start ``brain serve``, detached from everything of ours. Another one that is there already makes it end at once.

    Raises OSError.
    """
    home.make()
    child = subprocess.Popen(  # noqa: S603  # our own interpreter and code
        [*command(), "serve", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=home.root,
        env={**environ, "BRAIN_HOME": home.root, "BRAIN_INBOX_DIR": home.inbox, "BRAIN_SURFACE": "launchd"},
        start_new_session=True,
    )
    # Where this process outlives it, it is not to lie about as a zombie.
    threading.Thread(target=child.wait, daemon=True).start()
    return child


def on_demand(home: Home, environ: Mapping[str, str]) -> bool:
    """Start it for the questions to come, unless that was tried a moment ago; whether it was started now."""
    mark = join(home.state, _TRIED)
    try:
        if time.time() - os.stat(mark).st_mtime < _AGAIN_S:
            return False
    except OSError:
        home.make()
    try:
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        os.utime(mark)
        if holder(home) is not None:
            return False
        spawn(home, environ)
    except OSError:
        return False  # a home that cannot be written to has none
    return True


def start(home: Home, environ: Mapping[str, str], options: Sequence[str] = ()) -> dict[str, Any]:
    """Have one running, and say what ``status`` says. Raises Internal where it ends at once, EngineTimeout."""
    found = status(home)
    if found["running"]:
        return {**found, "started": False}
    child = spawn(home, environ, options)
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        code = child.poll()
        found = status(home, 0.5)
        if found["running"]:
            return {**found, "started": found["pid"] == child.pid}
        if code is not None:
            raise Internal(f"it ended at once, with {code}", "brain serve  (in the foreground, to see why)")
        time.sleep(_POLL_S)
    raise EngineTimeout(f"it does not answer within {_START_S:g} s", "brain serve --stop, then brain serve")


def watch(home: Home) -> dict[str, Any] | None:
    """Have the process that serves this home watch it as well; its status, None where no process serves it.

    Raises Refused where it is another version's or environment's, LockContention where it does not answer.
    """
    found = _told(home, "watch")
    if found is None:
        return None
    if found.get("ok") is not True:
        raise Refused(f"the process that serves this home cannot watch: {found.get('message')}", "brain serve --stop")
    return {**status(home), "started": False, "taken": found["taken"]}


def unwatch(home: Home) -> bool:
    """Have the process that serves this home watch no more; whether it did. It goes on serving.

    Raises LockContention where it does not answer: then nobody knows whether it still watches.
    """
    found = _told(home, "unwatch")
    return found is not None and found.get("ended") is True


def _told(home: Home, operation: str) -> dict[str, Any] | None:
    """The answer of the process that serves this home, None where there is none. Raises LockContention."""
    found = client.call(home, {"op": "status"}, _HUNG_S)
    if found is not None:
        found = client.call(home, {"op": operation}, _PATIENCE_S)
    if found is None and (pid := holder(home)) is not None:
        raise LockContention(f"process {pid} serves this home and does not answer", "brain serve --stop")
    return found


def stop(home: Home) -> dict[str, Any]:
    """End it: told, then by SIGTERM, then by SIGKILL; returns when it is gone. ``stopped`` false where there was none.

    Raises Internal where it does not go.
    """
    pid = before = holder(home)
    told = client.call(home, {"op": "stop"}, 1.0)
    # It may be gone before anybody looks, or have come since.
    if before is None and told is not None and isinstance(told.get("pid"), int):
        before = told["pid"]
    for number, patience in ((0, _STOP_S), (signal.SIGTERM, _STOP_S), (signal.SIGKILL, _STOP_S)):
        if pid and number:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pid = holder(home)
        deadline = time.monotonic() + patience
        while (pid := holder(home)) is not None and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        if pid is None:
            return {"schema": 1, "ok": True, "stopped": before is not None, "pid": before}
    raise Internal(f"process {pid} does not end", f"kill -9 {pid}")
