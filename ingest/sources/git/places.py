"""Where repositories are: around a folder, below it, and which work trees are of one repository.

A repository is known by the folder that its work trees share (gitrepository-layout(5): ``.git`` is a file
``gitdir: <path>`` in a linked work tree, and ``commondir`` in that path leads to what all share). No git is run.
"""

from __future__ import annotations

import os
from os.path import abspath, basename, dirname, isdir, isfile, join, normpath, realpath
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

DEPTH = 6
_MOST_FOLDERS = 50_000
# What holds other people's repositories, or none; hidden folders are not looked into either.
_NEVER = frozenset(("node_modules", "__pycache__", "site-packages", "venv", "vendor", "target", "dist", "build"))
_POINTER = "gitdir:"
_REF = "ref:"
_BRANCHES = "refs/heads/"
_LONGEST = 4096
_GIT = ".git"


class Worked(tuple[str, ...]):
    """Folders that sessions worked in: a repository is looked for around them, and not below."""

    __slots__ = ()


class Place(NamedTuple):
    """A repository at ``path``: its main work tree, the folder itself where it has none; ``trees`` that led there."""

    path: str
    trees: tuple[str, ...]


class Standing(NamedTuple):
    """``heads``: commits that other work trees stand on without a branch, at most 64.

    ``hidden``: branches (without ``refs/heads/``) that none but excluded work trees have checked out.
    """

    heads: tuple[str, ...]
    hidden: tuple[str, ...]


def places(folders: Iterable[str], *, below: bool) -> tuple[list[Place], list[str]]:
    """(the repositories of some folders, each once, sorted; the folders that have none).

    ``below``: of a folder that is none itself those in it, at most ``DEPTH`` folders down; else the one around.
    """
    tops: dict[str, None] = {}
    without: list[str] = []
    for folder in dict.fromkeys(map(abspath, folders)):
        top = top_of(folder)
        found = list(_below(folder)) if below and top != folder and isdir(folder) else []
        found = found or ([top] if top else [])
        tops |= dict.fromkeys(found)
        if not found:
            without.append(folder)
    shared: dict[str, list[str]] = {}
    for top in tops:
        shared.setdefault(common_of(top), []).append(top)
    held = [Place(_main(common, trees), tuple(sorted(trees))) for common, trees in shared.items()]
    return sorted(held), sorted(without)


def top_of(folder: str) -> str:
    """The work tree that a folder lies in, "" where it lies in none; the folder itself need not be there any more.

    A folder that is a repository without a work tree is its own.
    """
    place = abspath(folder)
    if is_bare(place):
        return place
    while not os.path.lexists(join(place, _GIT)):
        above = dirname(place)
        if above == place:
            return ""
        place = above
    return place


def is_bare(folder: str) -> bool:
    """Whether a folder is a repository without a work tree."""
    if basename(folder) == _GIT or os.path.lexists(join(folder, _GIT)):
        return False
    return isfile(join(folder, "HEAD")) and isdir(join(folder, "objects")) and isdir(join(folder, "refs"))


def common_of(top: str) -> str:
    """What a repository is known by: the folder that all its work trees share, links resolved."""
    return realpath(_linked(top) or _git_folder(top))


def standing(top: str, is_excluded: Callable[[str], bool]) -> Standing:
    """What other work trees of the repository at ``top`` stand on; ``is_excluded`` is asked about their folders.

    A work tree is known by ``worktrees/<name>``: ``gitdir`` says where its ``.git`` lies, ``HEAD`` what it stands on,
    and ``rebase-merge/head-name`` the branch that it is about to move, ``BISECT_START`` the one that it goes back to
    (gitrepository-layout(5), git-rebase(1), git-bisect(1)).
    """
    folder = join(common_of(top), "worktrees")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        names = []
    heads: set[str] = set()
    shown = {"" if is_bare(top) else _branch(_line(join(_git_folder(top), "HEAD")))}
    hidden: set[str] = set()
    for own in (join(folder, name) for name in names):
        head, back = _line(join(own, "HEAD")), _line(join(own, "gitdir"))
        left_out = bool(back) and is_excluded(dirname(normpath(join(own, back))))
        moved = [_line(join(own, each, "head-name")) for each in ("rebase-merge", "rebase-apply")]
        moved.append(_BRANCHES + _line(join(own, "BISECT_START")))
        (hidden if left_out else shown).update((_branch(head), *(_branch(f"{_REF} {name}") for name in moved)))
        if not left_out and len(head) in (40, 64) and set(head) <= set("0123456789abcdef"):
            heads.add(head)
    return Standing(tuple(sorted(heads)[:64]), tuple(sorted(hidden - shown - {""})))


def _branch(head: str) -> str:
    """The branch that a ``HEAD`` names, without ``refs/heads/``; "" where it names a commit, or nothing."""
    kind, _, name = head.partition(" ")
    return name.strip().removeprefix(_BRANCHES) if kind == _REF and name.strip().startswith(_BRANCHES) else ""


def called(top: str) -> str:
    """What a repository is called: as its folder; without a work tree as that without ``.git``, or the one above."""
    if not is_bare(top):
        return basename(top)
    name = basename(top)
    return basename(dirname(top)) if name.startswith(".") else name.removesuffix(_GIT) or name


def _main(common: str, trees: list[str]) -> str:
    """The main work tree where it is there, else the repository itself, else the first of the work trees."""
    own = [tree for tree in trees if not _linked(tree)]
    if own:
        return min(own)
    if basename(common) == _GIT:
        return dirname(common)
    return common if is_bare(common) else min(trees)


def _git_folder(top: str) -> str:
    """Where the repository of a work tree lies."""
    path = join(top, _GIT)
    if not isfile(path):
        return path if os.path.lexists(path) else top
    line = _line(path)
    return normpath(join(top, line[len(_POINTER) :].strip())) if line.startswith(_POINTER) else path


def _linked(top: str) -> str:
    """What a linked work tree shares with others, "" where ``top`` is none: both sides have to say it."""
    if not isfile(join(top, _GIT)):
        return ""
    folder = _git_folder(top)
    said = _line(join(folder, "commondir"))
    common = normpath(join(folder, said)) if said else ""
    if not common or realpath(dirname(dirname(folder))) != realpath(common) or not isdir(common):
        return ""
    back = _line(join(folder, "gitdir"))
    return common if back and realpath(join(folder, back)) == realpath(join(top, _GIT)) else ""


def _line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as stream:
            text = stream.read(_LONGEST).strip("\n")
    except OSError:
        return ""
    return "" if "\0" in text else text.partition("\n")[0].strip()


def _below(root: str) -> Iterator[str]:
    """The repositories below a folder; links are not followed, nor is one looked for within another."""
    waiting = [(root, 0)]
    looked = 0
    while waiting and looked < _MOST_FOLDERS:
        folder, depth = waiting.pop()
        looked += 1
        try:
            with os.scandir(folder) as entries:
                inside = sorted((entry.name for entry in entries if entry.is_dir(follow_symlinks=False)), reverse=True)
        except OSError:
            continue
        for name in inside:
            path = join(folder, name)
            if os.path.lexists(join(path, _GIT)) or is_bare(path):
                yield path
            elif depth + 1 < DEPTH and name not in _NEVER and not name.startswith("."):
                waiting.append((path, depth + 1))
