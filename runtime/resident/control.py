"""Starting, finding and ending the resident process of a home, from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from os.path import join
from typing import TYPE_CHECKING, Any

from core.errors import EngineTimeout, Internal, LockContention, Refused
from core.files import FileLock, read_or_none
from runtime.resident import client
from runtime.resident.starting import command, environment, is_due, options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.config import Config
    from core.home import Home

_START_S = 20.0
_STOP_S = 6.0
_POLL_S = 0.05
# Stopping a watch ends its threads and its current run, each within a time of its own.
_PATIENCE_S = 40.0
# A status comes at once; a process without one is hung and is given less time.
_HUNG_S = 5.0


def status(home: Home, patience_s: float = 2.0) -> dict[str, Any]:
    """Return the resident process's status; ``running`` is false if there is none, or it does not answer."""
    found = client.call(home, {"op": "status"}, patience_s)
    if found is not None and found.get("running") is True:
        return found
    pid = holder(home)
    return {"schema": 1, "ok": True, "running": False, "pid": pid, "socket": home.socket}


def holder(home: Home) -> int | None:
    """Return the pid of the process that serves this home, whether or not it answers; None if there is none."""
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


def spawn(home: Home, environ: Mapping[str, str], given: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    """Start ``brain serve``, detached from this process. It ends at once if another one serves the home.

    Raises OSError.
    """
    home.make()
    child = subprocess.Popen(  # noqa: S603  # our own interpreter and code
        [*command(), "serve", *given],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=home.root,
        env=environment(home, environ),
        start_new_session=True,
    )
    # Wait for it, so that it leaves no zombie if this process lives longer.
    threading.Thread(target=child.wait, daemon=True).start()
    return child


def on_demand(home: Home, config: Config, environ: Mapping[str, str], envelope: Mapping[str, Any]) -> bool:
    """Start it for later questions, unless that was tried a moment ago; return True if it was started now.

    ``envelope`` is the answer of the question that found none.
    """
    if not is_due(home, config, environ, envelope) or holder(home) is not None:
        return False
    try:
        spawn(home, environ, options(config) or ())
    except OSError:
        return False  # no process or memory to be had
    return True


def start(home: Home, environ: Mapping[str, str], given: Sequence[str] = ()) -> dict[str, Any]:
    """Start the process if none runs and return its status. Raises Internal if it ends at once, EngineTimeout."""
    found = status(home)
    if found["running"]:
        return {**found, "started": False}
    child = spawn(home, environ, given)
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
    """Let the serving process watch the home as well; return its status, None if no process serves it.

    Raises Refused if it is another version's or environment's, LockContention where it does not answer.
    """
    found = _request(home, "watch")
    if found is None:
        return None
    if found.get("ok") is not True:
        raise Refused(f"the process that serves this home cannot watch: {found.get('message')}", "brain serve --stop")
    return {**status(home), "started": False, "taken": found["taken"]}


def unwatch(home: Home) -> bool:
    """Let the serving process stop watching; return True if it was watching. It goes on serving.

    Raises LockContention if it does not answer: then nobody knows whether it still watches.
    """
    found = _request(home, "unwatch")
    return found is not None and found.get("ended") is True


def _request(home: Home, operation: str) -> dict[str, Any] | None:
    """Return the answer of the process that serves this home, None if there is none. Raises LockContention."""
    found = client.call(home, {"op": "status"}, _HUNG_S)
    if found is not None:
        found = client.call(home, {"op": operation}, _PATIENCE_S)
    if found is None and (pid := holder(home)) is not None:
        raise LockContention(f"process {pid} serves this home and does not answer", "brain serve --stop")
    return found


def stop(home: Home) -> dict[str, Any]:
    """End the process by a message, then SIGTERM, then SIGKILL; return when it is gone. ``stopped`` is false for none.

    Raises Internal if it does not go.
    """
    pid = before = holder(home)
    answer = client.call(home, {"op": "stop"}, 1.0)
    # It may have ended before the first look, or started after it.
    if before is None and answer is not None and isinstance(answer.get("pid"), int):
        before = answer["pid"]
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
