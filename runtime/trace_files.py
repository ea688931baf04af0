"""What became of files since a moment: asked of git, which knows, and of the disk where there is no git."""

from __future__ import annotations

import os
from os.path import dirname, isdir, join, realpath, relpath
from typing import TYPE_CHECKING, Any

from core.child import run
from runtime.inbox import project_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_TIMEOUT_S = 10.0
# A repository may hold commands in its configuration; looking at one must not run them.
_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat", "--no-pager")


def since(paths: Iterable[str], moment: int) -> list[dict[str, Any]]:
    """For each absolute path {"path", "state", "commits"}: what happened to it after ``moment`` (epoch seconds).

    ``state``: unchanged, changed (committed since, or not committed yet), gone, unknown (no git there, and its mtime is
    later). ``commits``: how many commits since touched it, None where git does not know.
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


def _state(path: str, commits: int | None, dirty: bool, moment: int) -> str:
    try:
        written = os.stat(path).st_mtime
    except OSError:
        return "gone"
    if commits is None:
        return "unknown" if written > moment else "unchanged"
    # A file that was left uncommitted when the session ended has not changed since.
    return "changed" if commits or (dirty and written > moment) else "unchanged"


def _root(path: str) -> str:
    folder = dirname(path)
    while not isdir(folder) and dirname(folder) != folder:
        folder = dirname(folder)
    return project_of(folder)


def _changes(root: str, paths: list[str], moment: int) -> tuple[dict[str, int], set[str]]:
    """({file: commits since}, files that differ from what is committed), both by name below the root."""
    names = [relpath(realpath(path), realpath(root)) for path in paths]
    log = _git(root, "log", f"--since=@{moment + 1}", "--format=", "--name-only", "-z", "--", *map(_literal, names))
    commits: dict[str, int] = {}
    for name in log:
        commits[name] = commits.get(name, 0) + 1
    status = _git(root, "status", "--porcelain=v1", "-z", "--no-renames", "--", *map(_literal, names))
    return commits, {entry[3:] for entry in status if len(entry) > 3}


def _literal(name: str) -> str:
    return f":(literal,top){name}"


def _git(root: str, *words: str) -> list[str]:
    environ = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        environ.pop(name, None)
    try:
        done = run(["git", *_SAFE, "-C", join(root, ""), *words], timeout_s=_TIMEOUT_S, environ=environ)
    except OSError:
        return []
    if done.code or done.timed_out:
        return []
    return [name.strip("\n") for name in done.stdout.decode("utf-8", "surrogateescape").split("\0") if name.strip("\n")]
