"""How something else starts this brain: the command line that hooks and schedulers are given."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from os.path import abspath, dirname, isfile, join

from core.home import Home

_ROOT = dirname(dirname(dirname(abspath(__file__))))
# Where a POSIX shell that was started with an empty environment looks for programs.
DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"


def command() -> list[str]:
    """Return the words that start the running brain, absolute: its ``brain`` script, else
    interpreter and ``brain.py``.
    """
    script = join(dirname(abspath(sys.executable)), "brain")
    if isfile(script) and os.access(script, os.X_OK):
        return [script]
    return [abspath(sys.executable), join(_ROOT, "brain.py")]


def environment(home: Home) -> dict[str, str]:
    """What a process that starts with an empty environment must be told to find this home."""
    found = {}
    if home.root != os.path.expanduser("~/.brain"):
        found["BRAIN_HOME"] = home.root
    if home.inbox != join(home.root, "inbox"):
        found["BRAIN_INBOX_DIR"] = home.inbox
    return found


def agent_command(home: Home) -> str:
    """Return what an agent's shell runs as ``brain`` on this home, whatever its PATH.

    It is ``brain`` if the default PATH of a shell leads to this very program, else its absolute path.
    """
    found = shutil.which("brain", path=DEFAULT_PATH)
    if found and not environment(home) and os.path.realpath(found) == os.path.realpath(command()[0]):
        return "brain"
    return shell_line(home)


def shell_line(home: Home, *words: str) -> str:
    """One line of POSIX shell that runs ``brain WORDS`` on this home, whatever the folder and the environment."""
    told = [f"{name}={shlex.quote(value)}" for name, value in environment(home).items()]
    return " ".join([*told, shlex.join([*command(), *words])])
