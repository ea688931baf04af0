"""Fate of files after a moment: git reports it; without git, the disk does."""

from __future__ import annotations

import hashlib
import os
from os.path import dirname, isdir, join, realpath, relpath
from typing import TYPE_CHECKING, Any

from ingest.repositories import NoLog, git, top_of

if TYPE_CHECKING:
    from collections.abc import Iterable

# Bytes of a file that are compared with git's copy.
_LARGEST = 64 << 20


def since(paths: Iterable[str], moment: int) -> list[dict[str, Any]]:
    """For each absolute path {"path", "state", "commits"}: what happened to it after ``moment`` (epoch seconds).

    ``state``: unchanged, changed (committed since, or not committed yet), gone, unknown (no git there, and its mtime is
    later; or a path of another machine, with a folder of a user that is not on this one). ``commits``: how many commits
    since touched it, None if git does not know.
    """
    found = []
    by_root: dict[str, list[str]] = {}
    order = list(paths)
    for path in order:
        by_root.setdefault(_root(path), []).append(path)
    changes = {root: _changes(root, inside, moment) for root, inside in by_root.items() if root}
    for path in order:
        root = _root(path)
        commits, dirty = changes.get(root, ({}, set()))
        name = relpath(realpath(path), realpath(root)) if root else ""
        count = commits.get(name, 0) if root else None
        found.append({"path": path, "state": _state(path, count, name in dirty, moment), "commits": count})
    return found


def changed_files(paths: Iterable[str], moment: int) -> tuple[list[str], bool]:
    """Return (files that changed after ``moment`` or are gone; True if all are known to be as they were then)."""
    states = since(paths, moment)
    changed = [each["path"] for each in states if each["state"] in ("changed", "gone")]
    return changed, bool(states) and all(each["state"] == "unchanged" for each in states)


def _state(path: str, commits: int | None, dirty: bool, moment: int) -> str:
    try:
        written = os.stat(path).st_mtime
    except OSError:
        return "unknown" if _is_elsewhere(path) else "gone"
    if commits is None:
        return "unknown" if written > moment else "unchanged"
    # A file that was left uncommitted when the session ended has not changed since.
    return "changed" if commits or (dirty and written > moment) else "unchanged"


def _is_elsewhere(path: str) -> bool:
    """Return True if not even the first two folders of a path, such as ``/home/ana``, are on this machine."""
    return not isdir(os.sep.join(path.split(os.sep)[:3]))


def _root(path: str) -> str:
    folder = dirname(path)
    while not isdir(folder) and dirname(folder) != folder:
        folder = dirname(folder)
    return top_of(folder)


def _changes(root: str, paths: list[str], moment: int) -> tuple[dict[str, int], set[str]]:
    """Return ({file: commits since}, files that differ from what git has of them), both by name below the root."""
    names = [relpath(realpath(path), realpath(root)) for path in paths]
    commits: dict[str, int] = {}
    for name in _names(root, "log", f"--since=@{moment + 1}", "--format=", "--name-only", "-z", "--", *names):
        commits[name] = commits.get(name, 0) + 1
    # Not `git status`: that runs the filters which the repository's configuration names.
    listed = (entry.partition("\t") for entry in _names(root, "ls-files", "--stage", "-z", "--", *names))
    blobs = {name: fields.split()[1] for fields, _, name in listed if len(fields.split()) == 3}
    return commits, {name for name, blob in blobs.items() if _blob(join(root, name)) != blob}


def _blob(path: str) -> str:
    """Return the object id that git gives a file of these bytes (SHA-1 repositories), "" if it cannot be read."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(_LARGEST)
    except OSError:
        return ""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _names(root: str, *words: str) -> list[str]:
    try:
        said = git(root, *words)
    except NoLog:
        return []
    return [name.strip("\n") for name in said.decode("utf-8", "surrogateescape").split("\0") if name.strip("\n")]
