"""The command line by which hooks, skills and schedulers start this brain."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from os.path import abspath, dirname, isfile, join

from core.home import Home

_ROOT = dirname(dirname(dirname(abspath(__file__))))
# The search path of a POSIX shell with an empty environment.
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
    """Return the variables by which a process with an empty environment finds this home."""
    found = {}
    if home.root != os.path.expanduser("~/.brain"):
        found["BRAIN_HOME"] = home.root
    if home.inbox != join(home.root, "inbox"):
        found["BRAIN_INBOX_DIR"] = home.inbox
    return found


def home_of(line: str) -> str:
    """Return the home for which a line from ``shell_line`` runs ``brain``."""
    try:
        words = shlex.split(line)
    except ValueError:
        words = []
    given = [word.partition("=")[2] for word in words if word.startswith("BRAIN_HOME=")]
    return os.path.expanduser(given[0] if given else "~/.brain")


def agent_command(home: Home) -> str:
    """Return what an agent's shell runs as ``brain`` on this home, whatever its PATH.

    It is ``brain`` if the default PATH of a shell leads to this very program, else its absolute path.
    """
    found = shutil.which("brain", path=DEFAULT_PATH)
    if found and not environment(home) and os.path.realpath(found) == os.path.realpath(command()[0]):
        return "brain"
    return shell_line(home)


def shell_line(home: Home, *words: str) -> str:
    """Return one line of POSIX shell that runs ``brain WORDS`` on this home, in any folder and environment."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in environment(home).items()]
    return " ".join([*variables, shlex.join([*command(), *words])])
