"""The files of a repository that its ``.gitignore`` files do not ignore, by the rules of gitignore(5)."""

from __future__ import annotations

import os
import stat
from os.path import join
from typing import TYPE_CHECKING

from pathspec import GitIgnoreSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_IGNORE = ".gitignore"
_NEVER = frozenset((".git", ".hg", ".svn"))


def walk(root: str, wanted: Callable[[str], bool]) -> Iterator[tuple[str, os.stat_result]]:
    """Yield (path below ``root`` with ``/``, stat) of each regular file that is not ignored, in order.

    Links and nested repositories are not followed. No git is run: a repository's configuration can name programs.
    Unreadable folders are left out.
    """
    rules = [("", spec)] if (spec := _spec(join(root, ".git", "info", "exclude"))) else []
    yield from _folder(root, "", rules, wanted)


def _folder(
    root: str, below: str, rules: list[tuple[str, GitIgnoreSpec]], wanted: Callable[[str], bool]
) -> Iterator[tuple[str, os.stat_result]]:
    try:
        entries = sorted(os.scandir(join(root, below)), key=lambda entry: entry.name)
    except OSError:
        return
    names = {entry.name for entry in entries}
    if below and ".git" in names:
        return  # a repository of its own
    if _IGNORE in names and (spec := _spec(join(root, below, _IGNORE))):
        rules = [*rules, (below, spec)]
    for entry in entries:
        path = f"{below}/{entry.name}" if below else entry.name
        try:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _NEVER and not _ignored(f"{path}/", rules):
                    yield from _folder(root, path, rules, wanted)
            elif wanted(entry.name) and not _ignored(path, rules):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    yield path, status
        except OSError:
            continue


def _ignored(path: str, rules: list[tuple[str, GitIgnoreSpec]]) -> bool:
    """Return True if the last rule that matches a path ignores it; rules of deeper folders come later."""
    for base, spec in reversed(rules):
        said = spec.check_file(path[len(base) + 1 :] if base else path).include
        if said is not None:
            return said
    return False


def _spec(path: str) -> GitIgnoreSpec | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            lines = stream.read(1 << 20).splitlines()
    except OSError:
        return None
    kept = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue  # git skips invalid patterns as well
        kept.append(line)
    return GitIgnoreSpec.from_lines(kept)
