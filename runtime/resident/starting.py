"""Starting the resident process from a question that found none, in a millisecond and without an import.

The question has been answered by then, and its process ends at once. Whatever takes longer is for the new process:
whether the machine can spare it (``runtime.resident.thrift``), and whether another one serves the home already.
"""

from __future__ import annotations

import os
import sys
import time
from os.path import abspath, dirname, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from core.config import Config
    from core.home import Home

_ROOT = dirname(dirname(dirname(abspath(__file__))))
_CODE = "import sys; sys.path.insert(0, sys.argv.pop(1)); import brain; brain.entry()"
# Its time is that of the last start; a start that was refused moves it into the future.
_TRIED = "serve.tried"
# The pause after a start: not every question starts the process again.
_AGAIN_S = 60.0
_STANDARD = (0, 1, 2)


def command() -> list[str]:
    """Return the words that start brain as this process was: the same interpreter, the same code."""
    return [sys.executable, "-P", "-c", _CODE, _ROOT]


def words_after(line: Sequence[str]) -> list[str]:
    """Return the words after ``command()`` in another process's command line, [] if it begins otherwise."""
    return list(line[5:]) if list(line[1:4]) == ["-P", "-c", _CODE] else []


def environment(home: Home, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the process that serves ``home``."""
    return {**environ, "BRAIN_HOME": home.root, "BRAIN_INBOX_DIR": home.inbox, "BRAIN_SURFACE": "launchd"}


def options(config: Config) -> list[str] | None:
    """Return the options of ``brain serve`` with which a question starts it, None if questions do not start it."""
    return {"auto": ["--auto"], "on-demand": []}.get(config.serve)


def is_due(home: Home, config: Config, environ: Mapping[str, str], envelope: Mapping[str, Any]) -> bool:
    """Return True if the question that got ``envelope`` should start the process, and note that it does.

    With ``serve: auto`` only a home with vectors has something to gain.
    """
    if environ.get("BRAIN_SERVE") == "off" or options(config) is None:
        return False
    if config.serve == "auto" and not envelope["freshness"]["semantic"]["as_of"]:
        return False
    mark = join(home.state, _TRIED)
    try:
        if time.time() - os.stat(mark).st_mtime < _AGAIN_S:
            return False
    except OSError:
        home.make()
    return _note(home, 0.0)


def postpone(home: Home, pause_s: float) -> None:
    """Let no question start the process for ``pause_s`` seconds."""
    _note(home, pause_s - _AGAIN_S)


def _note(home: Home, ahead_s: float) -> bool:
    mark = join(home.state, _TRIED)
    instant = time.time() + ahead_s
    try:
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        os.utime(mark, (instant, instant))
    except OSError:
        return False  # a home that cannot be written to has no resident process
    return True


def after(home: Home, config: Config, environ: Mapping[str, str], envelope: Mapping[str, Any]) -> bool:
    """Start the process for later questions if it ``is_due``; return True if it was started.

    Only for a process that ends now, as nobody waits for the child. ``detach`` is for the child.
    """
    if not is_due(home, config, environ, envelope):
        return False
    null = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in _STANDARD]
    words = [*command(), "serve", *(options(config) or ()), "--detached"]
    try:
        os.posix_spawn(sys.executable, words, environment(home, environ), file_actions=null)
    except OSError:
        return False  # no process or memory to be had: the next question is answered as this one was
    return True


def detach(home: Home) -> None:
    """Leave the terminal, the folder and the open files of the process that started this one.

    An inherited file could be a lock or a pipe, which would stay held as long as this process lives.
    """
    os.setsid()
    os.chdir(home.root)
    for name in os.listdir("/dev/fd"):
        number = int(name)
        try:
            if number not in _STANDARD and os.get_inheritable(number):
                os.close(number)
        except OSError:
            continue  # the descriptor of the listing itself
