"""Shell completion: one recorded file per shell, in the folder that the shell searches. No file of the user is edited.

Sources: bash-completion's README (``BASH_COMPLETION_USER_DIR``), fish's manual ("Where to put completions"). zsh
searches no folder of the user by default: ``fpath`` must name the file's folder.
"""

from __future__ import annotations

import hashlib
import os
from os.path import abspath, basename, dirname, expanduser, join, lexists
from typing import TYPE_CHECKING

from core.errors import BadInput, Refused
from core.files import read_or_none, write_atomic
from ops.install import installed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from core.home import Home

SHELLS = ("bash", "zsh", "fish")
_KIND = "completions"


def code(shell: str) -> str:
    """Return the code that has ``shell`` complete ``brain``: argcomplete's."""
    from argcomplete.shell_integration import shellcode

    return shellcode(["brain"], shell=shell).strip("\n") + "\n"


def own_shell(environ: Mapping[str, str]) -> str:
    """Return the user's login shell, where it is one of these. Raises BadInput otherwise."""
    name = basename(environ.get("SHELL") or "")
    if name not in SHELLS:
        raise BadInput("which shell is not known from $SHELL", f"name it, one of: {', '.join(SHELLS)}")
    return name


def place(shell: str, environ: Mapping[str, str]) -> str:
    """Return the file in which ``shell`` looks for what completes ``brain``."""
    data = environ.get("XDG_DATA_HOME") or expanduser("~/.local/share")
    if shell == "bash":
        folder = environ.get("BASH_COMPLETION_USER_DIR") or join(data, "bash-completion")
        return abspath(join(folder.split(":")[0], "completions", "brain"))
    if shell == "fish":
        config = environ.get("XDG_CONFIG_HOME") or expanduser("~/.config")
        return abspath(join(config, "fish", "completions", "brain.fish"))
    return abspath(join(data, "zsh", "site-functions", "_brain"))


def hint(shell: str, path: str) -> str:
    """Return what the user must do so that the shell reads the file."""
    if shell == "zsh":
        return f"in ~/.zshrc, before compinit: fpath=({dirname(path)} $fpath)"
    if shell == "bash":
        return "bash reads it where the package bash-completion is installed; a new shell completes"
    return "a new shell completes"


def install(home: Home, shell: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Write the file and record it; return {"shell", "path", "next"}.

    Raises Refused if another file, or an edited one, is there; OSError, EngineMissing.
    """
    path = place(shell, environ)
    there = read_or_none(path)
    data = code(shell).encode()
    if there is not None and there != data and _digest(there) != _recorded(home, path):
        raise Refused(f"{path} is there already, and not ours", f"mv {path} {path}.old")
    os.makedirs(dirname(path), exist_ok=True)
    write_atomic(path, data)
    installed.add(home, _KIND, path, {"sha256": _digest(data), "shell": shell})
    return {"shell": shell, "path": path, "next": hint(shell, path)}


def uninstall(home: Home) -> dict[str, list[str]]:
    """Remove the installed files; return {"removed", "kept" (edited by the user)}. Raises OSError, EngineMissing."""
    removed: list[str] = []
    kept: list[str] = []
    for path, details in installed.read(home)[_KIND].items():
        there = read_or_none(path)
        if there is not None and _digest(there) == details.get("sha256"):
            os.unlink(path)
            removed.append(path)
        elif lexists(path):
            kept.append(path)
        installed.drop(home, _KIND, path)
    return {"removed": removed, "kept": kept}


def _recorded(home: Home, path: str) -> str | None:
    details = installed.read(home)[_KIND].get(path)
    return str(details["sha256"]) if details and "sha256" in details else None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
