"""A ``qmd`` command that starts this program."""

from __future__ import annotations

import os
import shutil
import sys
from os.path import abspath, dirname, expanduser, isdir, join, lexists, realpath

from core.errors import BadInput, Refused

NAME = "qmd"
_MARK = "# brain's qmd"
# Kernels read this many bytes of a shebang line and split it at spaces.
_LONGEST = 120


def link(folder: str, *, force: bool = False) -> str:
    """Write the launcher into ``folder`` and return its path.

    Raises BadInput if there is no such folder, Refused if another qmd is there or on PATH, unless ``force``.
    """
    folder = abspath(expanduser(folder))
    if not isdir(folder):
        raise BadInput(f"not a folder: {folder}", f"mkdir -p {folder}")
    path = join(folder, NAME)
    other = _other(path)
    if other and not force:
        raise Refused(f"{other} is another qmd; it would no longer be the one that scripts find", "add --force")
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o755), "w", encoding="utf-8") as stream:
            stream.write(_text())
        os.rename(temporary, path)
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}", f"check: ls -ld {folder}") from None
    return path


def is_ours(path: str) -> bool:
    """Return True if a file is such a launcher."""
    try:
        with open(path, "rb") as stream:
            return _MARK.encode() in stream.read(1000)
    except OSError:
        return False


def _other(path: str) -> str:
    """Return a qmd that is not ours, at ``path`` or where a shell would find it; empty if there is none."""
    if lexists(path) and not is_ours(path):
        return path
    found = shutil.which(NAME)
    return found if found and not is_ours(realpath(found)) else ""


def _text() -> str:
    root = dirname(dirname(realpath(__file__)))
    python = sys.executable
    body = f"import sys\n\nsys.path.insert(0, {root!r})\nfrom qmd.app.main import entry\n\nentry()\n"
    if len(python) < _LONGEST and " " not in python:
        return f"#!{python}\n{_MARK}\n{body}"
    quoted = "'" + python.replace("'", "'\\''") + "'"
    start = f"import sys; sys.path.insert(0, {root!r}); from qmd.app.main import entry; entry()"
    shell = "'" + start.replace("'", "'\\''") + "'"
    return f'#!/bin/sh\n{_MARK}\nexec {quoted} -c {shell} "$@"\n'
