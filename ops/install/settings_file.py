"""A settings file of another program, changed by one function at a time: links, modes and other writers respected."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from os.path import dirname, exists, join, realpath
from shlex import quote
from typing import TYPE_CHECKING

from core.errors import BadInput, LockContention
from core.files import read_or_none, write_atomic

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.home import Home

_RETRIES = 5
_NEW_MODE = 0o600


def read(path: str) -> str | None:
    """Return the text of a file, None if there is none. Raises BadInput if it is a folder or not UTF-8."""
    try:
        data = read_or_none(realpath(path))
    except (IsADirectoryError, NotADirectoryError):
        raise BadInput(f"{path} is a folder, or lies below a file", "move it away, or name another file") from None
    if data is None:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not UTF-8", "repair it by hand; nothing was changed") from None


def change(home: Home, path: str, edit: Callable[[str | None], str | None], *, mode: int = _NEW_MODE) -> str | None:
    """Replace the text of ``path`` by what ``edit`` makes of it (None: no file); return where the former text is kept.

    The settings are often a link into a repository of dotfiles: the link stays and its target is written. A file keeps
    its mode; a new one gets ``mode``. Raises BadInput, OSError, and LockContention if another program keeps writing.
    """
    target = realpath(path)
    for _ in range(_RETRIES):
        before = read(path)
        after = edit(before)
        if after == before:
            return None
        if before is not None and not os.stat(target).st_mode & stat.S_IWUSR:
            # Another program made it, such as one that manages dotfiles, and would undo the change.
            raise BadInput(f"{path} is read-only", f"change what makes it, or: chmod u+w {quote(path)}")
        backup = None if before is None else _keep(home, before.encode(), os.path.basename(path))
        if read(path) != before:
            continue  # another program wrote meanwhile: apply the change to its text
        if after is None:
            os.unlink(target)
            return backup
        kept = mode if before is None else os.stat(target).st_mode & 0o7777
        write_atomic(target, after.encode())
        os.chmod(target, kept)
        return backup
    raise LockContention(f"{path} is being written by another program", "close it, then run the command again")


def missing_folders(path: str) -> list[str]:
    """Return the folders above a file that do not exist yet, the outermost first."""
    found: list[str] = []
    folder = dirname(realpath(path))
    while folder and not exists(folder):
        found.insert(0, folder)
        folder = dirname(folder)
    return found


def remove_folders(folders: list[str]) -> None:
    """Remove folders that an installation made, the innermost first; those with other files in them stay."""
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def _keep(home: Home, data: bytes, name: str) -> str:
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    stem, dot, end = name.rpartition(".")
    stem, end = (stem, f"{dot}{end}") if stem else (name, "")
    path = join(home.state, "backup", f"{stem}-{stamp}-{hashlib.sha256(data).hexdigest()[:8]}{end}")
    write_atomic(path, data)
    return path
